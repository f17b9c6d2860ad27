# SPDX-License-Identifier: MIT
"""What a sandbox may ask of the host's ssh-agents: to list keys and to sign, with the keys that are selected; and what the journal
tells of it. With the programs that people use: ssh-add, ssh, git."""

import base64
import hashlib
import struct

from elsewhere import Elsewhere, FakeAgent, LIST_KEYS
from rigtest import *
from sshd import Sshd

PROFILE = "t-filter"
INSIDE = "/run/claude-sandbox/ssh-agent-0.sock"
FAILURE = b"\0\0\0\1\5"
SIGNED = "279a61ccb42646efaeef397914ed52f2"


def with_agent(path, keys=None):
    env = {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": str(path)}
    if keys:
        env["CLAUDE_PROFILE_SANDBOX_SSH_KEYS"] = keys
    return env


def start(t, path, keys=None):
    """A launch with a program inside that does what it is told."""
    t.profile(PROFILE)
    work = t.tempdir()
    launch = Launch(t, PROFILE, *Elsewhere.ARGV, cwd=work, env=with_agent(path, keys))
    return launch, Elsewhere.in_launch(launch), work


def finish(launch):
    launch.process.stdin.close()
    assert launch.wait() == 0, launch.stderr()
    assert_no_traces(PROFILE)


def string(b):
    return struct.pack(">I", len(b)) + b


def public_key(agent, n=0):
    return agent.keys[n].with_suffix(".pub").read_text()


def blob(agent, n=0):
    return base64.b64decode(public_key(agent, n).split()[1])


def fingerprint_of(key):
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def fingerprint(agent, n=0):
    return fingerprint_of(blob(agent, n))


def listed(agent):
    return run("ssh-add", "-L", env=dict(ENV, SSH_AUTH_SOCK=agent.path)).stdout


def signatures(launch_or_profile, **fields):
    match = "CLAUDE_LAUNCH=" + launch_or_profile.id if isinstance(launch_or_profile, Launch) else "CLAUDE_PROFILE=" + launch_or_profile
    return [e for e in journal("MESSAGE_ID=" + SIGNED, match) if all(e.get(k) == v for k, v in fields.items())]


def new_key(t, name, comment):
    """A key pair in a directory of its own."""
    path = t.tempdir() / name
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path)
    return path


@test("ssh-add -D, -d, -x, -X, -t, -c, -s and a key: each fails soon, and the host's agent has what it had")
def _(t):
    agent = t.ssh_agent(2)
    before = listed(agent)
    launch, there, work = start(t, agent.path)
    key = new_key(t, "key", "planted")
    for suffix in ("", ".pub"):
        (work / ("planted" + suffix)).write_text(key.with_suffix(suffix).read_text())
        (work / ("planted" + suffix)).chmod(0o600)
    (work / "mine.pub").write_text(public_key(agent))
    (work / "known_hosts").write_text("host.example.invalid " + public_key(agent))
    (work / "askpass").write_text("#!/bin/sh\necho password\n")
    (work / "askpass").chmod(0o755)
    ask = ["env", "SSH_ASKPASS=%s/askpass" % work, "SSH_ASKPASS_REQUIRE=force", "DISPLAY=x"]
    cases = [
        ["ssh-add", "-D"],
        ["ssh-add", "-d", str(work / "mine.pub")],
        ask + ["ssh-add", "-x"],
        ask + ["ssh-add", "-X"],
        ["ssh-add", str(work / "planted")],
        ["ssh-add", "-t", "60", str(work / "planted")],
        ["ssh-add", "-c", str(work / "planted")],
        ask + ["ssh-add", "-s", "/usr/lib/libc.so"],
        ask + ["ssh-add", "-e", "/usr/lib/libc.so"],
        ["ssh-add", "-H", str(work / "known_hosts"), "-h", "host.example.invalid", str(work / "planted")],
    ]
    for argv in cases:
        begin = time.monotonic()
        p = there.run_program(argv)
        note("%s: %s" % (" ".join(argv), p["output"].strip().splitlines()[-1:]))
        assert p["status"] != 0 and time.monotonic() - begin < 5, (argv, p)
        assert listed(agent) == before, argv
    p = there.run_program(["ssh-add", "-L"])
    assert p["output"] == before, p
    finish(launch)
    served = [e for e in journal("CLAUDE_LAUNCH=" + launch.id) if "BRIDGE_REQUESTS_REFUSED" in e]
    assert len(served) >= len(cases), [e["MESSAGE"] for e in served]


@test("messages of every type: the bridge answers, and the agent sees two of them")
def _(t):
    agent = t.ssh_agent()
    before = listed(agent)
    launch, there, _ = start(t, agent.path)
    for body in (b"", string(b""), string(b"password"), string(blob(agent)), b"\0" * 300):
        requests = [string(bytes([kind]) + body) for kind in range(256) if (kind, body) != (11, b"")]
        assert there.frames(INSIDE, [b"".join(requests)], len(requests)) == [FAILURE] * len(requests), body
    assert listed(agent) == before
    # Between two that the agent answers, each in its place.
    answer = there.frames(INSIDE, [LIST_KEYS], 1)
    remove_all = string(b"\x13")
    assert there.frames(INSIDE, [remove_all + LIST_KEYS + remove_all * 2 + LIST_KEYS], 5) == [FAILURE] + answer + [FAILURE] * 2 + answer
    # B02: what a browser would send ends the connection, without a byte.
    for bad in (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\0\0\0\0", struct.pack(">I", (256 << 10) + 1) + b"\x0b"):
        assert there.ask(INSIDE, bad)["received"] == b"", bad
    assert listed(agent) == before
    finish(launch)


@test("ssh -A: the agent can be used on the machine that one has logged in to, and not more than here")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent()
    before = listed(agent)
    work = t.tempdir()
    sshd = Sshd(t, work, [public_key(agent)])
    p = shell(PROFILE, "bash", "-c", sshd.command + " -A dev@host 'ssh-add -L; ssh-add -D; echo status $?'", cwd=work,
              env=with_agent(agent.path))
    assert before in p.stdout and "status 1" in p.stdout, (p, sshd.said())
    assert listed(agent) == before
    entry, = signatures(PROFILE, BRIDGE_SIGNATURE_PURPOSE="user-authentication", BRIDGE_KEY_FINGERPRINT=fingerprint(agent))
    assert (entry["BRIDGE_SIGNATURE_USER"], entry["BRIDGE_KEY_COMMENT"]) == ("dev", "key0"), entry
    assert fingerprint(agent) in entry["MESSAGE"] and "dev" in entry["MESSAGE"], entry
    assert_no_traces(PROFILE)


def repositories(t):
    """A bare one, and one to push from."""
    origin = t.tempdir() / "origin.git"
    run("git", "init", "-q", "--bare", origin)
    work = t.repository()
    run("git", "-C", work, "remote", "add", "origin", "ssh://dev@host%s" % origin)
    return origin, work


def push(work, sshd, agent, keys, branch):
    return shell(PROFILE, "env", "GIT_SSH_COMMAND=" + sshd.command, "git", "push", "-q", "origin", "HEAD:refs/heads/" + branch, cwd=work,
                 env=with_agent(agent.path, keys), check=False)


@test("git push with a selection: the right key works, the wrong profile's fails as if it did not exist")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent(2)
    origin, work = repositories(t)
    sshd = Sshd(t, work, [public_key(agent, 0)])
    for branch, keys in {"all": None, "print": fingerprint(agent, 0), "comment": "key0", "pattern": "none,*0"}.items():
        p = push(work, sshd, agent, keys, branch)
        assert p.returncode == 0, (branch, p, sshd.said())
        assert run("git", "-C", origin, "branch", "--list", branch).stdout.strip() == branch
    logins = signatures(PROFILE, BRIDGE_KEY_FINGERPRINT=fingerprint(agent, 0), BRIDGE_SIGNATURE_USER="dev")
    assert len(logins) == 4, logins

    # An agent that never had the right key.
    other = t.ssh_agent(0)
    other.load(agent.keys[1])
    expected = push(work, sshd, other, None, "never")
    assert expected.returncode != 0 and "Permission denied" in expected.stderr, expected
    accepted = sshd.said().count("Accepted publickey")
    for keys in (fingerprint(agent, 1), "key1", "*1,nothing"):
        p = push(work, sshd, agent, keys, "never")
        assert (p.returncode, p.stdout, p.stderr) == (expected.returncode, expected.stdout, expected.stderr), p
    assert sshd.said().count("Accepted publickey") == accepted
    assert "never" not in run("git", "-C", origin, "branch", "--list").stdout

    # Whoever knows the key, and asks for it by name, gets no further.
    launch, there, _ = start(t, agent.path, "key1")
    answer = there.list_keys(INSIDE)["answer"]
    assert blob(agent, 1) in answer and blob(agent, 0) not in answer, answer
    request = [string(b"\x0d" + string(blob(agent, n)) + string(b"data") + b"\0\0\0\0") for n in range(2)]
    assert there.frames(INSIDE, [request[0]], 1) == [FAILURE]
    assert there.frames(INSIDE, [request[1]], 1)[0][4] == 14
    assert [e["BRIDGE_KEY_COMMENT"] for e in signatures(launch)] == ["key1"]
    finish(launch)


@test("a selection that fits no key: the launch says so, and the sandbox sees none")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent()
    p = shell(PROFILE, "ssh-add", "-l", cwd=t.tempdir(), env=with_agent(agent.path, "nobody@*"), check=False)
    assert "no identities" in p.stdout and "No ssh-agent holds a key that SSHKeys= selects" in p.stderr, p
    p = shell(PROFILE, "true", cwd=t.tempdir(), env=with_agent(agent.path, "SHA256:abc"), check=False)
    assert p.returncode == 1 and "CLAUDE_PROFILE_SANDBOX_SSH_KEYS=SHA256:abc: expected fingerprints" in p.stderr, p
    assert_no_traces(PROFILE)


@test("git commit -S with an ssh key: the journal has its namespace")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent()
    work = t.repository()
    (work / "key.pub").write_text(public_key(agent))
    (work / "signers").write_text("a@example.invalid " + public_key(agent))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "gpg.format=ssh", "-c",
           "user.signingkey=%s/key.pub" % work]
    shell(PROFILE, *git, "commit", "-q", "--allow-empty", "-S", "-m", "signed", cwd=work, env=with_agent(agent.path))
    p = run(*git, "-C", work, "-c", "gpg.ssh.allowedSignersFile=%s/signers" % work, "verify-commit", "HEAD")
    assert "Good" in p.stderr, p
    entry, = signatures(PROFILE, BRIDGE_SIGNATURE_PURPOSE="sshsig", BRIDGE_KEY_FINGERPRINT=fingerprint(agent))
    assert entry["BRIDGE_SIGNATURE_NAMESPACE"] == "git" and "BRIDGE_SIGNATURE_USER" not in entry, entry
    assert_no_traces(PROFILE)


@test("a certificate goes with its key: listed by the key's fingerprint, and good for a login")
def _(t):
    t.profile(PROFILE)
    authority = new_key(t, "ca", "authority")
    agent = t.ssh_agent(0)
    key = agent.dir / "key0"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "certified", "-f", key)
    run("ssh-keygen", "-q", "-s", authority, "-I", "id", "-n", "dev", key.with_suffix(".pub"))
    agent.keys.append(key)
    agent.load(key)
    before = listed(agent)
    assert len(before.splitlines()) == 2, before
    work = t.tempdir()
    (work / "ca.pub").write_text(authority.with_suffix(".pub").read_text())
    sshd = Sshd(t, work, [], config="TrustedUserCAKeys %s/ca.pub\n" % work)
    script = "ssh-add -L; %s dev@host echo logged in" % sshd.command
    p = shell(PROFILE, "bash", "-c", script, cwd=work, env=with_agent(agent.path, fingerprint(agent)), check=False)
    assert p.stdout == before + "logged in\n", (p, sshd.said())
    entry, = signatures(PROFILE, BRIDGE_KEY_FINGERPRINT=fingerprint(agent))
    assert (entry["BRIDGE_SIGNATURE_PURPOSE"], entry["BRIDGE_SIGNATURE_USER"]) == ("user-authentication", "dev"), entry
    assert_no_traces(PROFILE)


@test("keys of hardware: listed, and selected, as bytes")
def _(t):
    # There is no such hardware here: the agent is a stand-in that lists two keys of its kind.
    ed25519 = string(b"sk-ssh-ed25519@openssh.com") + string(bytes(range(32))) + string(b"ssh:")
    point = base64.b64decode("BIy3DOBIBEompjzCvRoA4wW+oEao8p+KtBmZnedAZVgAyXuV0DqiBhA3qQYDytBPhhJLArSrLsOebaASZ4bYiGM=")
    ecdsa = string(b"sk-ecdsa-sha2-nistp256@openssh.com") + string(b"nistp256") + string(point) + string(b"ssh:")
    answer = string(b"\x0c" + struct.pack(">I", 2) + string(ed25519) + string(b"token") + string(ecdsa) + string(b"other token"))
    path = t.tempdir("/tmp") / "agent.sock"
    FakeAgent(t, path, answer)
    t.profile(PROFILE)
    for keys, shown in ((None, (ed25519, ecdsa)), ("token", (ed25519,)), (fingerprint_of(ecdsa), (ecdsa,)), ("*token", (ed25519, ecdsa))):
        p = shell(PROFILE, "ssh-add", "-l", cwd=t.tempdir(), env=with_agent(path, keys))
        assert [line.split()[1] for line in p.stdout.splitlines()] == [fingerprint_of(k) for k in shown], (keys, p)
    assert_no_traces(PROFILE)


main()
