# SPDX-License-Identifier: MIT
"""The host's ssh-agents in a sandbox: listed and signing, restarted and moved, dead ones and none, frames however they are cut; and
the bridge killed below it all."""

import base64
import socket
import struct

import elsewhere
from elsewhere import Elsewhere, FakeAgent, LIST_KEYS
from rigtest import *
from sshd import Sshd

PROFILE = "t-ssh"
INSIDE = "/run/claude-sandbox/ssh-agent-0.sock"
SECOND = "/run/claude-sandbox/ssh-agent-1.sock"
ONEPASSWORD = HOME / ".1password/agent.sock"
FAILS_WITHIN = 2


def with_agent(path):
    return {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": str(path)}


def start(t, path, **kw):
    """A launch with a program inside that does what it is told."""
    t.profile(PROFILE)
    launch = Launch(t, PROFILE, *Elsewhere.ARGV, cwd=t.tempdir(), env=with_agent(path), **kw)
    return launch, Elsewhere.in_launch(launch)


def finish(launch):
    launch.process.stdin.close()
    assert launch.wait() == 0, launch.stderr()
    assert_no_traces(PROFILE)


def public_key(agent, n=0):
    return agent.keys[n].with_suffix(".pub").read_text()


def fingerprint(agent, n=0):
    return run("ssh-keygen", "-l", "-f", agent.keys[n]).stdout.split()[1]


def blob(agent, n=0):
    return base64.b64decode(public_key(agent, n).split()[1])


def has_key(answer, agent):
    return isinstance(answer["answer"], bytes) and blob(agent) in answer["answer"]


def onepassword(t, make):
    """An agent where 1Password has its own."""
    assert not ONEPASSWORD.parent.exists(), "%s is in the way" % ONEPASSWORD.parent
    ONEPASSWORD.parent.mkdir(mode=0o700)
    t.cleanup(shutil.rmtree, ONEPASSWORD.parent, ignore_errors=True)
    return make(ONEPASSWORD)


def dead_socket(path):
    """One that nobody listens at, as a killed agent leaves it."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))


@test("ssh-add -l lists the host's key, ssh-keygen -Y sign signs with it, and the host verifies")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent(2)
    work = t.tempdir()
    (work / "message").write_text("signed inside\n")
    script = """set -e
        ssh-add -l
        stat -c '%a %U %F' "$SSH_AUTH_SOCK" "$(dirname "$SSH_AUTH_SOCK")"
        ssh-add -L | grep key1 > key1.pub
        ssh-keygen -q -Y sign -f key1.pub -n file message"""
    p = shell(PROFILE, "bash", "-c", script, cwd=work, env=with_agent(agent.path))
    lines = p.stdout.splitlines()
    assert [line.split()[1] for line in lines[:2]] == [fingerprint(agent, 0), fingerprint(agent, 1)], p.stdout
    assert lines[2:] == ["600 appuser socket", "700 appuser directory"], lines
    (work / "signers").write_text("dev@example.invalid " + public_key(agent, 1))
    with open(work / "message") as message:
        said = run("ssh-keygen", "-Y", "verify", "-f", work / "signers", "-I", "dev@example.invalid", "-n", "file",
                   "-s", work / "message.sig", stdin=message).stdout
    assert said.startswith("Good") and fingerprint(agent, 1) in said, said
    with open(work / "signers") as other:
        p = run("ssh-keygen", "-Y", "verify", "-f", work / "signers", "-I", "dev@example.invalid", "-n", "file",
                "-s", work / "message.sig", stdin=other, check=False)
    assert p.returncode != 0, "a signature of something else must not verify"
    assert_no_traces(PROFILE)


@test("git clones over ssh, with the host's key")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent()
    origin = t.repository()
    work = t.tempdir()
    sshd = Sshd(t, work, [public_key(agent)])
    p = shell(PROFILE, "env", "GIT_SSH_COMMAND=" + sshd.command, "git", "clone", "-q", "ssh://dev@host%s" % origin, "copy", cwd=work,
              env=with_agent(agent.path), check=False)
    assert p.returncode == 0, (p, sshd.said())
    assert fingerprint(agent) in sshd.said(), sshd.said()
    assert run("git", "-C", work / "copy", "log", "--format=%s").stdout == "first\n"
    assert_no_traces(PROFILE)


@test("the agent is restarted: while it is away requests fail soon, then they work again")
def _(t):
    agent = t.ssh_agent()
    launch, there = start(t, agent.path)
    assert has_key(there.list_keys(INSIDE), agent)
    away = {
        "the socket is gone": lambda: None,
        "the socket is dead": lambda: dead_socket(agent.path),
        "a plain file is in its place": lambda: Path(agent.path).touch(),
    }
    for how, make in away.items():
        agent.stop()
        make()
        for _ in range(3):
            answer = there.list_keys(INSIDE)
            note("%s: a request fails after %.0f ms" % (how, answer["took"] * 1000))
            assert not isinstance(answer["answer"], bytes) and answer["took"] < FAILS_WITHIN, (how, answer)
        Path(agent.path).unlink(missing_ok=True)
        agent.start()
        answer = there.list_keys(INSIDE)
        assert has_key(answer, agent), (how, answer)
    # With the real client, too, which must not hang either.
    agent.stop()
    begin = time.monotonic()
    assert there.run_program(["ssh-add", "-l"])["status"] != 0
    assert time.monotonic() - begin < FAILS_WITHIN
    agent.start()
    assert fingerprint(agent) in there.run_program(["ssh-add", "-l"])["output"]
    finish(launch)


@test("the agent is another one: its link is re-pointed")
def _(t):
    one, two = t.ssh_agent(), t.ssh_agent()
    link = t.tempdir() / "agent.link"
    link.symlink_to(one.path)
    launch, there = start(t, link)
    assert has_key(there.list_keys(INSIDE), one)
    one.stop()
    answer = there.list_keys(INSIDE)
    assert not isinstance(answer["answer"], bytes) and answer["took"] < FAILS_WITHIN, answer
    (link.parent / "new").symlink_to(two.path)
    os.replace(link.parent / "new", link)
    answer = there.list_keys(INSIDE)
    assert has_key(answer, two) and not has_key(answer, one), answer
    finish(launch)


@test("an agent that dies in the middle of a connection ends that connection only")
def _(t):
    agent = t.ssh_agent()
    launch, there = start(t, agent.path)
    there.hold(INSIDE, 3)
    for n in range(3):
        there.talk(n, LIST_KEYS)
    agent.process.kill()
    n, received = there.ended(timeout=5, at_least=3)
    assert (n, received) == (3, b""), (n, received)
    agent.stop()
    agent.start()
    assert has_key(there.list_keys(INSIDE), agent)
    finish(launch)


@test("no agent: no socket, a note, and the launch goes on")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    since = time.time()
    plain = work / "plain"
    plain.write_text("no agent\n")
    dead_socket(work / "dead.sock")
    silent = socket.socket(socket.AF_UNIX)
    silent.bind(str(work / "silent.sock"))
    silent.listen()
    t.cleanup(silent.close)
    script = "echo agent ${SSH_AUTH_SOCK-none}; ls /run/claude-sandbox; test ! -e /run/claude-sandbox/bridge"
    cases = {"unset": None, "empty": "", "a plain file": plain, "a directory": work, "relative": "agent.sock", "nothing": work / "none",
             "a dead socket": work / "dead.sock", "a silent socket": work / "silent.sock", "a character device": "/dev/null"}
    env = {k: v for k, v in ENV.items() if k != "SSH_AUTH_SOCK"}
    env["CLAUDE_PROFILE_SANDBOX_SSH_AGENT"] = "1"

    def launch(value):
        return run(PROGRAM, "shell", PROFILE, "--", "bash", "-c", script, cwd=work,
                   env=env if value is None else dict(env, SSH_AUTH_SOCK=str(value)))
    for (name, _), p in zip(cases.items(), at_once([lambda v=v: launch(v) for v in cases.values()])):
        assert p.stdout.startswith("agent none\n") and "ssh-agent" not in p.stdout, (name, p.stdout)
        assert "No ssh-agent answers" in p.stderr, (name, p.stderr)
    assert not [e for e in journal("CLAUDE_PROFILE=" + PROFILE, since=since) if "BRIDGE_OUTCOME" in e]
    # Asked for or not, nothing is said when there is one; and without being asked, nothing is forwarded.
    agent = t.ssh_agent()
    assert "ssh-agent" not in shell(PROFILE, "true", cwd=work, env=with_agent(agent.path)).stderr
    assert shell(PROFILE, "bash", "-c", script, cwd=work, env={"SSH_AUTH_SOCK": agent.path}).stdout.startswith("agent none\n")
    assert_no_traces(PROFILE)


@test("another user's agent: not used at the start, nor when it takes the place of ours; it gets no byte")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    # Where everybody may connect, as an attacker would have it: the mode of the socket is not what protects.
    place = Path(run("sudo", "-u", "mallory", "mktemp", "-d", "/tmp/agent.XXXXXX").stdout.strip())
    t.cleanup(run, "sudo", "rm", "-rf", place)
    listener = subprocess.Popen(["sudo", "-u", "mallory", "python3", "-c", """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
os.chmod(sys.argv[1], 0o666)
os.chmod(os.path.dirname(sys.argv[1]), 0o755)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    try:
        received = c.recv(100)
    except ConnectionError:
        received = b""
    print(received.hex() or "nothing", flush=True)
    c.close()
""", str(place / "agent.sock")], stdout=subprocess.PIPE, text=True)
    t.cleanup(listener.stdout.close)
    t.cleanup(listener.wait)
    t.cleanup(run, "sudo", "kill", str(listener.pid))
    assert listener.stdout.readline() == "ready\n"

    p = shell(PROFILE, "bash", "-c", "echo agent ${SSH_AUTH_SOCK-none}", cwd=work, env=with_agent(place / "agent.sock"))
    assert p.stdout == "agent none\n" and "No ssh-agent answers" in p.stderr, p
    assert listener.stdout.readline() == "nothing\n"

    agent = t.ssh_agent()
    link = t.tempdir() / "agent.link"
    link.symlink_to(agent.path)
    launch, there = start(t, link)
    assert has_key(there.list_keys(INSIDE), agent)
    (link.parent / "new").symlink_to(place / "agent.sock")
    os.replace(link.parent / "new", link)
    answer = there.list_keys(INSIDE)
    assert not isinstance(answer["answer"], bytes) and answer["took"] < FAILS_WITHIN, answer
    assert listener.stdout.readline() == "nothing\n"
    finish(launch)


@test("a dead agent first in line is skipped")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    agent = onepassword(t, lambda path: t.ssh_agent(path=path))
    dead = t.tempdir() / "dead.sock"
    dead_socket(dead)
    for first in (dead, work / "none", ""):
        p = shell(PROFILE, "bash", "-c", "echo $SSH_AUTH_SOCK; ls /run/claude-sandbox/*.sock; ssh-add -l", cwd=work, env=with_agent(first))
        lines = p.stdout.splitlines()
        assert lines[:2] == [INSIDE, INSIDE] and len(lines) == 3 and fingerprint(agent) in lines[2], p
        assert "No ssh-agent" not in p.stderr, p
    assert_no_traces(PROFILE)


@test("an agent with keys comes before an empty one; both are there; one that is named twice is there once")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    empty = t.ssh_agent(keys=0)
    agent = onepassword(t, lambda path: t.ssh_agent(path=path))
    script = "echo $SSH_AUTH_SOCK; ssh-add -l; SSH_AUTH_SOCK=%s ssh-add -l" % SECOND
    p = shell(PROFILE, "bash", "-c", script, cwd=work, env=with_agent(empty.path), check=False)
    assert p.stdout.splitlines()[0] == INSIDE and fingerprint(agent) in p.stdout.splitlines()[1], p
    assert "no identities" in p.stdout.splitlines()[2], p
    # Two with keys: in the order of the candidates.
    empty.add_key()
    p = shell(PROFILE, "bash", "-c", script, cwd=work, env=with_agent(empty.path))
    assert fingerprint(empty) in p.stdout.splitlines()[1] and fingerprint(agent) in p.stdout.splitlines()[2], p
    link = t.tempdir() / "link"
    link.symlink_to(agent.path)
    for again in (agent.path, link):
        p = shell(PROFILE, "bash", "-c", "ls /run/claude-sandbox/*.sock", cwd=work, env=with_agent(again))
        assert p.stdout.split() == [INSIDE], p
    assert_no_traces(PROFILE)


def sign_request(key, data):
    def string(b):
        return struct.pack(">I", len(b)) + b
    body = b"\x0d" + string(key) + string(data) + struct.pack(">I", 0)
    return struct.pack(">I", len(body)) + body


@test("B07: messages in pieces and in bundles get the answers that the agent itself gives")
def _(t):
    agent = t.ssh_agent()
    launch, there = start(t, agent.path)
    small = sign_request(blob(agent), b"some data")
    large = sign_request(blob(agent), bytes(range(256)) * 781 + b"the rest" * 8)
    assert len(large) > 200000
    cases = [
        ("a request byte by byte", [bytes([b]) for b in LIST_KEYS], 1),
        ("two requests in one write", [LIST_KEYS * 2], 2),
        ("cut between two and inside the third", [LIST_KEYS * 2 + small[:3], small[3:40], small[40:]], 3),
        ("the length alone", [small[:4], small[4:]], 1),
        ("a large request in pieces of 512", [large[i:i + 512] for i in range(0, len(large), 512)], 1),
        ("a large request in one write, a small one behind it", [large + LIST_KEYS], 2),
    ]
    for name, pieces, answers in cases:
        direct = elsewhere.frames(agent.path, pieces, answers)
        through = there.frames(INSIDE, pieces, answers)
        assert direct == through, (name, direct, through)
        assert all(a[4] in (12, 14) for a in through), (name, through)
    # One message goes out and is answered before the next: no connection for each.
    there.hold(INSIDE, 1)
    for _ in range(50):
        there.talk(0, LIST_KEYS)
    finish(launch)


@test("B07: an answer that comes in pieces arrives whole")
def _(t):
    answer = struct.pack(">I", 5 + 100000) + b"\x0c\0\0\0\0" + os.urandom(100000)
    for cut in (3, 4, 5):
        path = t.tempdir("/tmp") / "agent.sock"
        agent = FakeAgent(t, path, pieces=lambda a: [a[:cut], a[cut:cut + 2], a[cut + 2:]])
        if cut == 3:
            launch, there = start(t, path)
            link = path
        else:
            os.replace(path, link)
        assert there.list_keys(INSIDE)["answer"] == agent.EMPTY
        agent.answer = answer
        assert there.frames(INSIDE, [LIST_KEYS], 1) == [answer]
        assert there.frames(INSIDE, [LIST_KEYS * 2], 2) == [answer] * 2
    finish(launch)


@test("the bridge is killed ten times in a row: only its open connections are lost")
def _(t):
    agent = t.ssh_agent()
    launch, there = start(t, agent.path)
    port = launch.port
    seen = set()
    for n in range(10):
        there.hold(INSIDE, 3)
        for i in range(3):
            there.talk(i, LIST_KEYS)
        pid = int(unit_property(launch.bridge, "MainPID"))
        assert pid and pid not in seen
        seen.add(pid)
        os.kill(pid, signal.SIGKILL)
        answer = there.list_keys(INSIDE)
        assert has_key(answer, agent), (n, answer)
        note("the next bridge answers after %.0f ms" % (answer["took"] * 1000))
        gone, received = there.ended(timeout=5, at_least=3)
        assert (gone, received) == (3, b""), (n, gone, received)
        there.drop()
    # Other signals, other than of the manager's, do no more.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        pid = int(unit_property(launch.bridge, "MainPID"))
        os.kill(pid, number)
        wait_for(lambda: unit_property(launch.bridge, "MainPID") != str(pid), 5, "the bridge's end by signal %d" % number)
        assert has_key(there.list_keys(INSIDE), agent), number
    # Two requests for each bridge, in a burst, find the next one as well.
    os.kill(int(unit_property(launch.bridge, "MainPID")), signal.SIGKILL)
    assert len(there.time_requests(INSIDE, b"", at_least=20)) == 20
    assert launch.port == port and launch.process.poll() is None
    assert unit_property(launch.socket, "ActiveState") == "active"
    pids = {e["_PID"] for e in journal("-u", launch.bridge) if e.get("BRIDGE_OUTCOME") == "served"}
    assert len(pids) >= 11, pids
    finish(launch)


@test("B13: a killed launch's remains do not hinder the next one's agent; a live socket of somebody else's is left alone")
def _(t):
    agent = t.ssh_agent()
    launch, there = start(t, agent.path)
    launch.signal(signal.SIGKILL)
    second, there = start(t, agent.path)
    assert has_key(there.list_keys(INSIDE), agent)
    launch.assert_gone()
    finish(second)

    # A socket on the supervisor's path: a dead one is replaced, a live one never.
    path = LAUNCHES / (PROFILE + ".sock")
    dead_socket(path)
    p = shell(PROFILE, "ssh-add", "-l", cwd=t.tempdir(), env=with_agent(agent.path))
    assert fingerprint(agent) in p.stdout, p
    assert_no_traces(PROFILE)
    FakeAgent(t, path)
    t.cleanup(path.unlink, missing_ok=True)
    inode = path.stat().st_ino
    p = shell(PROFILE, "true", cwd=t.tempdir(), env=with_agent(agent.path), check=False)
    assert p.returncode == 1 and "supervisor" in p.stderr, p
    assert path.stat().st_ino == inode
    path.unlink()
    assert_no_traces(PROFILE)
    assert shell(PROFILE, "true", cwd=t.tempdir(), env=with_agent(agent.path)).returncode == 0
    assert_no_traces(PROFILE)


main()
