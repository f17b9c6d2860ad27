# SPDX-License-Identifier: MIT
"""Debian 12, systemd 252: the units, and the life of scope, socket, supervisor and bridge. podman is 4.3 behind a stand-in
(podman-4), the image a static busybox: what is shown here is systemd's part, not podman's."""

import io
import socket
import tarfile

from rigtest import *

PROFILE = "t-bookworm"
IMAGE = "localhost/busybox:latest"
ENV.update(CLAUDE_PROFILE_PODMAN_BIN=str(TREE / "tests/integration/podman-4"), CLAUDE_PROFILE_SANDBOX_IMAGE=IMAGE)
APPLETS = ["sh", "cat", "true", "id", "echo", "tail", "sleep", "env", "ls", "nc", "printf"]
LIST_KEYS = b"\0\0\0\1\x0b"
SERVE = "echo ready; while :; do bridge-connect ssh-0; echo end; done"


def ensure_image():
    if run("podman", "image", "exists", IMAGE, check=False).returncode == 0:
        return
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for directory in ("bin", "etc", "tmp", "home"):
            member = tarfile.TarInfo(directory)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        tar.add("/bin/busybox", "bin/busybox")
        for name in APPLETS:
            member = tarfile.TarInfo("bin/" + name)
            member.type, member.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(member)
    subprocess.run(["podman", "import", "-q", "-", IMAGE], input=archive.getvalue(), check=True, stdout=subprocess.DEVNULL)


def launch(t, command="echo ready; exec cat", **kw):
    ensure_image()
    t.profile(PROFILE)
    agent = t.ssh_agent()
    l = Launch(t, PROFILE, "/bin/sh", "-c", command, cwd=t.tempdir(),
               env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path}, **kw)
    l.agent = agent
    l.expect("ready", 120)
    return l


@test("systemd is 252, and systemd-analyze finds nothing wrong with the installed units")
def _(t):
    assert run("systemctl", "--version").stdout.split()[1] == "252"
    assert_units_verify()


@test("a launch: scope in its slice, supervisor, socket; the bridge starts with the first connection and serves the agent")
def _(t):
    l = launch(t, SERVE)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(l.agent.path)
        s.sendall(LIST_KEYS)
        answer = s.recv(65536)
    l.send(LIST_KEYS)
    l.expect(re.escape(answer))
    for unit in (l.scope, l.socket, l.bridge, "claude-sandbox@%s.service" % PROFILE):
        assert unit_property(unit, "ActiveState") == "active", unit
    assert unit_property(l.scope, "Slice") == "claude-sandbox-t\\x2dbookworm.slice"
    assert unit_property(l.scope, "Delegate") == "yes"
    assert l.id in unit_property("claude-sandbox@%s.service" % PROFILE, "StatusText")
    pid = unit_property(l.bridge, "MainPID")
    assert run("sudo", "ls", "-A", "/run/user/%d/credentials" % os.getuid(), check=False)
    assert "NoNewPrivs:\t1" in Path("/proc/%s/status" % pid).read_text()
    assert "CapBnd:\t0000000000000000" in Path("/proc/%s/status" % pid).read_text()
    assert "Seccomp:\t2" in Path("/proc/%s/status" % pid).read_text()
    assert any("Landlock" in e.get("MESSAGE", "") for e in journal("_PID=" + pid)) != has_landlock()
    port = l.port
    l.signal(signal.SIGTERM)
    l.assert_gone(12, port)


@test("the generator gives a profile's slice its limits, sandbox --on does so at once, and -p limits a launch")
def _(t):
    t.profile(PROFILE, sandboxed=False)
    conf = HOME / ".config/claude-profile/profiles" / (PROFILE + ".conf")
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text("[Sandbox]\nMemoryMax=1.5G\nMemoryHigh=12.5%\nCPUWeight=idle\nTasksMax=321\n")
    t.cleanup(conf.unlink)
    run(PROGRAM, "sandbox", PROFILE, "--on")
    sandboxes = "claude-sandbox-t\\x2dbookworm.slice"
    for name, value in (("MemoryMax", str(3 << 29)), ("TasksMax", "321"), ("CPUWeight", "idle"), ("SourcePath", str(conf)),
                        ("Description", "Claude sandboxes of profile " + PROFILE)):
        assert unit_property(sandboxes, name) == value, (name, unit_property(sandboxes, name))
    ensure_image()
    l = Launch(t, PROFILE, "/bin/sh", "-c", "echo ready; exec cat", cwd=t.tempdir(), verb=("shell", "-p", "MemoryMax=512M", "-p", "MemoryHigh=50%"))
    l.expect("ready", 120)
    assert unit_property(l.scope, "MemoryMax") == str(512 << 20) and unit_property(l.scope, "TasksMax") == "321"
    assert unit_property(l.scope, "MemoryHigh") not in ("infinity", unit_property(sandboxes, "MemoryHigh"))
    l.signal(signal.SIGTERM)
    l.assert_gone(12)


@test("the bridge refuses a connection of ours from outside of the launch, and says whose it was")
def _(t):
    l = launch(t)
    since = time.time()
    with socket.create_connection(("127.0.0.1", l.port)) as s:
        s.settimeout(5)
        try:
            s.sendall(("%s ssh-0\n" % l.token).encode())
            assert s.recv(1) == b""
        except ConnectionError:
            pass
    entry = wait_for(lambda: [e for e in journal("CLAUDE_LAUNCH=" + l.id, since=since) if "BRIDGE_REASON" in e], 5, "the entry")[-1]
    assert entry["PEER_UID"] == str(os.getuid()), entry


for number in (signal.SIGTERM, signal.SIGKILL):
    @test("the launcher gets %s: nothing is left" % signal.Signals(number).name)
    def _(t, number=number):
        l = launch(t, "trap 'exit 3' TERM; echo ready; tail -f /dev/null & while :; do wait; done")
        port = l.port
        l.signal(number)
        l.assert_gone(12, port)


@test("stopping the supervisor ends the launch by way of its launcher")
def _(t):
    l = launch(t, "trap 'echo bye; exit 3' TERM; echo ready; tail -f /dev/null & while :; do wait; done")
    port = l.port
    systemctl("stop", "claude-sandbox@%s.service" % PROFILE)
    l.expect("bye")
    assert l.wait() == 3
    l.assert_gone(12, port)


@test("the bridge is killed: the next connection starts it")
def _(t):
    l = launch(t, SERVE)
    for _ in range(3):
        l.send(LIST_KEYS)
        l.expect(b"\\0\\0\\0.\x0c\\0\\0\\0\x01")
        os.kill(int(unit_property(l.bridge, "MainPID")), signal.SIGKILL)
        l.expect("end")


@test("a host launch runs claude with its profile, and no process stays in between")
def _(t):
    profile = t.profile("t-bookworm-host", sandboxed=False)
    claude = t.tempdir() / "claude"
    claude.write_text("#!/bin/sh\necho \"$CLAUDE_CONFIG_DIR|$GREETING|$*|$$\"\nexit 7\n")
    claude.chmod(0o755)
    (profile / ".env").write_text("GREETING='hello there'\n")
    (profile / ".env").chmod(0o600)
    p = subprocess.Popen([PROGRAM, "t-bookworm-host", "-p", "x y"], env=dict(ENV, CLAUDE_PROFILE_CLAUDE_BIN=str(claude)),
                         stdout=subprocess.PIPE, text=True)
    out = p.communicate(timeout=30)[0]
    assert out == "%s|hello there|-p x y|%d\n" % (profile, p.pid), out
    assert p.returncode == 7


main()
