# SPDX-License-Identifier: MIT
"""Secrets stay where they belong: the bridge's token and the profile's variables in two files of mode 0600 and in the command's
environment, what is typed and shown on the terminal nowhere."""

import secrets
import stat

from rigtest import *

PROFILE = "t-secrets"
STORAGE = [HOME / ".local/share/containers", RUNTIME / "containers", RUNTIME / "libpod", RUNTIME / "crun", RUNTIME / "netns"]
WAIT = "echo ready; while read -r line; do eval \"$line\"; done"


# Runs as root, which sees all. What is looked for comes by standard input: sudo writes arguments into the journal.
SEARCH = """
import os, sys
kind, since, *roots = sys.argv[1:]
wanted = [line.encode() for line in sys.stdin.read().splitlines()]
found = set()
def holds(data):
    return any(w in data for w in wanted)
if kind == "environments":
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            comm, data = open("/proc/%s/comm" % pid).read().strip(), open("/proc/%s/environ" % pid, "rb").read()
        except OSError:
            continue
        if holds(data):
            found.add(comm)
elif kind == "files":
    for root in roots:
        for path, _, names in os.walk(root):
            for name in names:
                file = os.path.join(path, name)
                try:
                    st = os.lstat(file)
                    if st.st_mode >> 12 == 8 and st.st_ctime > float(since) - 5 and holds(open(file, "rb").read()):
                        found.add("%o %s" % (st.st_mode & 0o777, file))
                except OSError:
                    pass
for line in sorted(found):
    print(line)
"""


def as_root(kind, wanted, since=0, roots=()):
    return run("sudo", "python3", "-c", SEARCH, kind, str(since), *roots, input="\n".join(wanted), timeout=120).stdout.splitlines()


def in_files(roots, since, wanted):
    """Files below `roots`, changed since then, that hold one of the strings: path → mode."""
    return {Path(path): int(mode, 8) for mode, path in (line.split(" ", 1) for line in as_root("files", wanted, since, map(str, roots)))}


def in_arguments():
    """The command lines of all processes of the machine, the guest's included."""
    text = ""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text += path.read_bytes().replace(b"\0", b" ").decode(errors="replace") + "\n"
        except OSError:
            pass
    return text


def whole_journal(since):
    return run("sudo", "sh", "-c", "journalctl --sync; exec journalctl --quiet --all --output=export --since=@%.6f" % since).stdout


def places(launch, since):
    """Where a secret must not be, as (what, text)."""
    name = "claude-" + launch.name
    yield "arguments", in_arguments()
    yield "podman inspect", run("podman", "inspect", name).stdout
    yield "podman ps", run("podman", "ps", "--all", "--no-trunc", "--format", "json").stdout + run("podman", "ps", "--all", "--no-trunc").stdout
    yield "podman events", run("podman", "events", "--stream=false", "--since", "10m", check=False).stdout
    yield "units", systemctl("show", "*").stdout + systemctl("show").stdout
    yield "unit files", systemctl("cat", launch.scope, "claude-sandbox@%s.service" % PROFILE, check=False).stdout
    yield "status", systemctl("status", "--no-pager", "claude-*", check=False).stdout
    yield "journal", whole_journal(since)


def search(launch, since, wanted, known):
    """Asserts that none of `wanted` is anywhere; that `known`, which is no secret, is found shows that the search works."""
    for what, text in places(launch, since):
        for secret in wanted:
            assert secret not in text, (what, secret, [line for line in text.splitlines() if secret in line][:3])
        if what not in ("podman events",):
            assert known in text, (what, known)
    assert not in_files(STORAGE, since, wanted), in_files(STORAGE, since, wanted)
    assert in_files(STORAGE, since, [known]), "nothing of the launch is in podman's files"


@test("the token and the profile's variables: in no argument, container, podman's file, unit, journal or file that others can read")
def _(t):
    profile = t.profile(PROFILE)
    value, key = secrets.token_hex(24), secrets.token_hex(12)
    (profile / ".env").write_text("T_SECRET=%s\nT_%s=1\n" % (value, key.upper()))
    (profile / ".env").chmod(0o600)
    since = time.time()
    launch = Launch(t, PROFILE, "bash", "-c", WAIT, cwd=t.tempdir(), env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": t.ssh_agent().path})
    launch.expect("ready")
    # The secrets are in use: the guest has the variable, the bridge is up and has served.
    launch.send("echo has-$T_SECRET; ssh-add -l\n")
    launch.expect("has-" + value)
    launch.expect("ED25519")
    token = launch.token
    wanted = [token, value, key.upper()]
    search(launch, since, wanted, launch.id)

    # In environments: the command's own only.
    assert as_root("environments", wanted) == ["bash"]

    # In files: below /run, /tmp and the like only this launch's own, and systemd's credential for the bridge; nobody else may read them.
    temporary = ["/run/user", "/tmp", "/var/tmp", "/dev/shm", "/var/log", "/etc"]
    holders = in_files(temporary, since, wanted)
    credentials = {p: mode for p, mode in holders.items() if "credentials" in p.parts}
    assert holders.keys() - credentials.keys() == {launch.directory / "guest/environment", launch.directory / "guest/bridge",
                                                   launch.directory / "launch.json"}, holders
    assert all(mode == 0o600 for p, mode in holders.items() if p not in credentials), holders
    assert all(mode in (0o400, 0o600) for mode in credentials.values()), holders
    for path in (launch.directory, launch.directory / "guest", LAUNCHES):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    as_mallory = run("sudo", "-u", "mallory", "sh", "-c", "cat %s/*/guest/* %s/*/launch.json" % (LAUNCHES, LAUNCHES), check=False)
    assert as_mallory.returncode != 0 and as_mallory.stdout == "", as_mallory

    launch.send("exit 0\n")
    assert launch.wait() == 0
    launch.assert_gone()
    wait_for(lambda: not in_files(["/run", "/tmp", "/dev/shm"], since, wanted), 12, "the end of the last copy")
    assert not in_files(STORAGE, since, wanted)
    text = whole_journal(since)
    assert not any(w in text for w in wanted)


@test("a launch that fails, and one that is killed, do not tell either")
def _(t):
    profile = t.profile(PROFILE)
    value = secrets.token_hex(24)
    (profile / ".env").write_text("T_SECRET=%s\n" % value)
    since = time.time()
    p = shell(PROFILE, "true", cwd=t.tempdir(), env={"CLAUDE_PROFILE_SANDBOX_IMAGE": "no-such-image:x"}, check=False)
    assert value not in p.stderr + p.stdout
    for number in (signal.SIGKILL, signal.SIGTERM):
        launch = Launch(t, PROFILE, "bash", "-c", WAIT, cwd=t.tempdir())
        launch.expect("ready")
        launch.signal(number)
        launch.wait()
        launch.assert_gone()
    text = whole_journal(since)
    assert value not in text and launch.id in text
    assert not in_files([*STORAGE, "/run", "/tmp"], since, [value])


@test("what is typed and shown is in no log: a made-up secret, and 50 MB")
def _(t):
    t.profile(PROFILE)
    typed, shown, filler = (secrets.token_hex(16) for _ in range(3))
    since = time.time()

    launch = Launch(t, PROFILE, "bash", "-c", "echo ready; read -r x; echo \"got $x\"; read -r y; for x in %s %s; do echo $x | rev; done; yes $(echo %s | rev) | head -c 50000000; echo; echo done; read -r z"
                    % (shown[::-1], filler[::-1], filler[::-1]), cwd=t.tempdir(), tty=(24, 80))
    launch.expect("ready")
    launch.send(typed + "\n")
    launch.expect("got " + typed)
    before = len(whole_journal(since))
    launch.send("\n")
    launch.expect(shown)
    size = 0
    while not launch.output.endswith(b"done\r\n"):
        data = os.read(launch.master, 1 << 20)
        size += len(data)
        launch.output = launch.output[-100:] + data
    assert size > 50000000
    logs = run("podman", "logs", "claude-" + launch.name, check=False)
    assert logs.returncode != 0 and logs.stdout == "" and typed not in logs.stderr, logs
    grown = len(whole_journal(since)) - before
    assert grown < 20000, grown
    found = in_files([*STORAGE, "/run", "/tmp", "/var/log"], since, [typed, shown, filler])
    assert not found, found
    launch.send("\n")
    assert launch.wait() == 0
    launch.assert_gone()
    text = whole_journal(since)
    assert launch.id in text and typed not in text and shown not in text and filler not in text
    assert len(text) < 200000, len(text)


main()
