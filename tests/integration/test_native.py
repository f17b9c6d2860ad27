# SPDX-License-Identifier: MIT
"""The copy of the host's claude that sandboxes run: blocks shared where the file system can, made once however many launches begin at
once, and removed when nobody needs it. The versions are stand-ins, scripts of some size."""

from rigtest import *

PROFILE = "t-native"
COPIES = DATA / "claude"
SIZE = 40 << 20


def version(t, directory, name, size=4096):
    """A claude of that version: a script that ends before its padding."""
    path = directory / "claude/versions" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"#!/bin/sh\necho %s; cat\nexit\n" % name.encode() + os.urandom(size))
    path.chmod(0o755)
    t.cleanup((COPIES / name).unlink, missing_ok=True)
    return path


def settings(path):
    return {"CLAUDE_PROFILE_CLAUDE_BIN": str(path)}


def launch(path, work):
    return run(PROGRAM, PROFILE, cwd=work, env=dict(ENV, **settings(path)), input="")


def extents(path):
    """How many extents the file has, and how many of them are shared, as FIEMAP tells."""
    run("sync", path)
    rows = [line for line in run("sudo", "/usr/sbin/filefrag", "-v", path).stdout.splitlines() if re.match(r"\s*\d+:", line)]
    return len(rows), sum("shared" in row for row in rows)


def mount_over(t, kind, place):
    """A file system of that kind on a loop device, which a container has no nodes for."""
    disk = t.tempdir() / "disk"
    with open(disk, "wb") as f:
        f.truncate(512 << 20)
    run("/usr/sbin/mkfs." + kind, "-q", disk)
    if not os.path.exists("/dev/loop-control"):
        run("sudo", "mknod", "/dev/loop-control", "c", "10", "237")
    number = int(re.search(r"\d+", run("sudo", "/usr/sbin/losetup", "--find").stdout)[0])
    device = "/dev/t-native-loop%d" % number
    run("sudo", "mknod", device, "b", "7", str(number))
    t.cleanup(run, "sudo", "rm", device)
    run("sudo", "/usr/sbin/losetup", device, disk)
    t.cleanup(run, "sudo", "/usr/sbin/losetup", "--detach", device)
    run("sudo", "mount", device, place)
    t.cleanup(run, "sudo", "umount", place)
    run("sudo", "chown", "dev:dev", place)


@test("on btrfs and on XFS the copy shares its blocks with the host's claude, elsewhere it has its own")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    launch(version(t, work.parent / "t-native-plain", "0.1.0-test"), work)
    t.cleanup(shutil.rmtree, work.parent / "t-native-plain")
    n, shared = extents(COPIES / "0.1.0-test")
    assert n > 0 and shared == 0, (n, shared)
    for kind in ("btrfs", "xfs"):
        inner = Test()
        try:
            mount_over(inner, kind, DATA)
            path = version(inner, DATA / "host", "0.1.0-test", 1 << 20)
            assert launch(path, work).stdout == "0.1.0-test\n"
            copy = COPIES / "0.1.0-test"
            assert copy.stat().st_ino != path.stat().st_ino and copy.read_bytes() == path.read_bytes()
            n, shared = extents(copy)
            assert n == shared > 0, (kind, n, shared)
            note("%s: %d of %d extents are shared" % (kind, shared, n))
        finally:
            inner.run_cleanups()


@test("a plain copy says on a terminal how far it is, and nowhere else; launches at once and an update meanwhile have each its own version")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    one, two = (version(t, work, name, SIZE) for name in ("0.2.1-test", "0.2.2-test"))
    work = t.tempdir()
    on_terminal = Launch(t, PROFILE, cwd=work, env=settings(one), verb=("run",), tty=True, wait=False)
    on_terminal.expect(r"Copying claude 0\.2\.1-test, once for all sandboxes: \d+ %")
    on_terminal.expect("0.2.1-test\r\n")
    assert "Copying" not in on_terminal.output.decode(errors="replace")

    # The user has updated: four first launches of the new version at once, one of which is on a terminal no more than the others.
    got = at_once([lambda: launch(two, work)] * 4)
    assert [p.stdout for p in got] == ["0.2.2-test\n"] * 4, got
    assert not any("Copying" in p.stderr for p in got), got
    # The one that runs keeps its version, under its name.
    assert (COPIES / "0.2.1-test").exists() and not list(COPIES.glob(".*")), sorted(os.listdir(COPIES))
    on_terminal.send("still here\n")
    on_terminal.expect("still here\r\nstill here")
    on_terminal.send(b"\x04")
    assert on_terminal.wait() == 0
    launch(two, work)
    assert not (COPIES / "0.2.1-test").exists() and (COPIES / "0.2.2-test").exists()


@test("a launch that is killed while it copies: nothing takes the half for the whole, and the next launch removes it")
def _(t):
    t.profile(PROFILE)
    path = version(t, t.tempdir(), "0.3.1-test", 4 * SIZE)
    work = t.tempdir()
    p = subprocess.Popen([PROGRAM, PROFILE], cwd=work, env=dict(ENV, **settings(path)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    wait_for(lambda: list(COPIES.glob(".0.3.1-test.*")), what="a copy that has begun")
    p.kill()
    p.wait()
    assert not (COPIES / "0.3.1-test").exists() and list(COPIES.glob(".0.3.1-test.*"))
    assert launch(path, work).stdout == "0.3.1-test\n"
    assert not list(COPIES.glob(".*"))
    assert_no_traces(PROFILE)


main()
