# SPDX-License-Identifier: MIT
"""Sessions as people have them: the real claude with agent, settings, briefing and servers; two at once; git with what a host's
configuration can be; known hosts; networks and owners that must stay apart. The Messages API is a stand-in."""

import json
import socket

from messages_stub import GUEST_ADDRESS, MessagesStub, host_address
from rigtest import *
from sshd import Sshd

PROFILE = "t-session"


def home_file(t, name, text):
    path = HOME / name
    assert not path.exists(), path
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(text)
    t.cleanup(path.unlink)
    return path


def state(root):
    """All of a place but for contents: owner, group, mode, labels, times."""
    found = {}
    for path in [root, *root.rglob("*")]:
        st = path.lstat()
        found[str(path)] = (st.st_uid, st.st_gid, st.st_mode, st.st_size, st.st_mtime_ns,
                            [(n, os.getxattr(path, n, follow_symlinks=False)) for n in os.listxattr(path, follow_symlinks=False)])
    return found


@test("the real claude: its Bash uses the forwarded ssh-agent, settings (J02: with a mark) and briefing have arrived, the nearest server wins (J15)")
def _(t):
    profile = t.profile(PROFILE)
    agent = t.ssh_agent()
    top = t.tempdir()
    work = top / "p"
    run("git", "init", "-q", work)
    for place, mark in ((top, "\ufeff"), (work, "")):
        (place / ".mcp.json").write_text(mark + json.dumps({"mcpServers": {
            "s": {"command": "sh", "args": ["-c", "echo %s ${A:-x} >>%s/started; R=a/; echo ${R%%/} >>%s/started" % (place.name, work, work)]},
            "only-" + place.name: {"command": "sh", "args": ["-c", "echo only-%s >>%s/started" % (place.name, work)]}}}))
    text = (top / ".mcp.json").read_text()
    shared = BASE / "shared-settings.json"
    t.cleanup(shared.unlink, missing_ok=True)
    shared.write_text('\ufeff{"env":{"T_FROM_SETTINGS":"arrived at {profile}"},"enableAllProjectMcpServers":true}\r\n')
    stub = MessagesStub("ssh-add -l; echo $T_FROM_SETTINGS; printf data | ssh-keygen -q -Y sign -n file -f <(ssh-add -L | head -n 1)")
    t.cleanup(stub.close)
    (profile / ".env").write_text(stub.environment)
    (profile / ".env").chmod(0o600)
    p = run(PROGRAM, PROFILE, "-p", "go", cwd=work, timeout=120,
            env=dict(ENV, CLAUDE_PROFILE_SANDBOX_SSH_AGENT="1", SSH_AUTH_SOCK=agent.path))
    assert "key0" in p.stdout and "BEGIN SSH SIGNATURE" in p.stdout and "arrived at " + PROFILE in p.stdout, p
    system = json.dumps([r.get("system") for r in stub.requests])
    assert "You work in a sandbox, a container" in system and "- %s (work root)" % work in system and "SSH_AUTH_SOCK" in system, system[:2000]
    started = (work / "started").read_text().splitlines()
    assert "p x" in started and "only-p" in started and "only-" + top.name in started and top.name + " x" not in started, started
    assert "a" in started and (top / ".mcp.json").read_text() == text, started
    assert shared.read_bytes().startswith(b"\xef\xbb\xbf")


@test("two launches of one profile in one repository: neither touches the other's copies, whatever changes on the host between them")
def _(t):
    t.profile(PROFILE)
    top = t.tempdir()
    work = top / "r"
    run("git", "init", "-q", work)
    files = [home_file(t, ".ssh/known_hosts", ""), home_file(t, ".gitconfig", ""), BASE / "shared-settings.json", top / ".mcp.json"]
    t.cleanup(files[2].unlink)

    def write(word):
        files[0].write_text("%s.invalid ssh-ed25519 AAAA\n" % word)
        files[1].write_text("[user]\n\tname = %s\n\temail = x@%s.invalid\n" % (word, word))
        files[2].write_text('{"env":{"WHICH":"%s"}}' % word)
        files[3].write_text('{"mcpServers":{},"x":"%s"}' % word)

    look = "cat /etc/ssh/ssh_known_hosts ~/.gitconfig %s; git config user.email" % files[3]
    expected = "%s.invalid ssh-ed25519 AAAA\n[user]\n\tname = %s\n\temail = x@%s.invalid\n" + '{"mcpServers":{},"x":"%s"}' + "x@%s.invalid\n"
    write("one")
    one = Launch(t, PROFILE, "sh", "-c", "%s; echo ready; read x; %s; echo done" % (look, look), cwd=work)
    one.expect(re.escape(expected % (("one",) * 5)) + "ready")
    before = state(one.directory)
    write("two")
    assert shell(PROFILE, "sh", "-c", look, cwd=work).stdout == expected % (("two",) * 5)
    two = Launch(t, PROFILE, "sh", "-c", "echo ready; read x", cwd=work)
    two.expect("ready")
    assert not {os.stat(f).st_ino for f in one.directory.rglob("*")} & {os.stat(f).st_ino for f in two.directory.rglob("*")}
    assert state(one.directory) == before
    two.send("\n")
    assert two.wait() == 0
    assert state(one.directory) == before
    one.send("\n")
    one.expect(re.escape(expected % (("one",) * 5)) + "done")
    assert one.wait() == 0
    one.assert_gone()


@test("git: a nested submodule (G05), a bare repository's worktree (G03), includes that are a loop (G08), a signature that cannot be made")
def _(t):
    t.profile(PROFILE)
    config = home_file(t, ".gitconfig", "[user]\n\tname = dev\n\temail = dev@example.invalid\n[protocol \"file\"]\n\tallow = always\n")
    inner, middle, above = (t.repository() for _ in range(3))
    run("git", "-C", middle, "submodule", "--quiet", "add", inner, "inner")
    run("git", "-C", middle, "commit", "-q", "-m", "inner")
    run("git", "-C", above, "submodule", "--quiet", "add", middle, "libs/sub")
    run("git", "-C", above, "submodule", "--quiet", "update", "--init", "--recursive")
    config.write_text(config.read_text() + "[commit]\n\tgpgsign = true\n")
    place = above / "libs/sub/inner"
    assert (place / ".git").read_text().startswith("gitdir: ../")
    script = "git status --porcelain && git commit -q --allow-empty -m inside && git branch x && git log -1 --format='%s %an'; ls -A ../.. 2>&1 | grep -c inner"
    assert shell(PROFILE, "sh", "-c", script, cwd=place, check=False).stdout == "inside dev\n0\n"
    assert run("git", "-C", place, "log", "-1", "--format=%s", "x").stdout == "inside\n"

    layout = t.tempdir()
    run("git", "clone", "-q", "--bare", inner, layout / ".bare")
    (layout / ".git").write_text("gitdir: ./.bare\n")
    run("git", "-C", layout, "worktree", "add", "-q", "main")
    (layout / "main/sub").mkdir()
    assert shell(PROFILE, "sh", "-c", script, cwd=layout / "main/sub", check=False).stdout == "inside dev\n0\n"
    assert run("git", "-C", layout / "main", "log", "-1", "--format=%s", "x").stdout == "inside\n"

    config.write_text("[include]\n\tpath = .gitconfig-a\n")
    home_file(t, ".gitconfig-a", "[include]\n\tpath = .gitconfig\n")
    p = shell(PROFILE, "echo", "runs", cwd=inner)
    assert p.stdout == "runs\n" and "git" in p.stderr, p


@test("G10: known hosts of every form are known inside, a new one is refused without a question, and the host's file stays as it is")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    sshd = Sshd(t, work, [], "HostCertificate %s/host-cert.pub\n" % (work / "keys"))
    keys = work / "keys"
    keys.mkdir()
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / "ca")
    shutil.copy(sshd.dir / "host.pub", keys / "host.pub")
    run("ssh-keygen", "-q", "-s", keys / "ca", "-I", "host", "-h", "-n", "x.corp.invalid", keys / "host.pub")
    public, authority = ((d / f).read_text().split()[:2] for d, f in ((sshd.dir, "host.pub"), (keys, "ca.pub")))
    lists = t.tempdir()
    (lists / "hashed").write_text("hashed.invalid %s\n" % " ".join(public))
    run("ssh-keygen", "-q", "-H", "-f", lists / "hashed")
    known = home_file(t, ".ssh/known_hosts", "%s@cert-authority *.corp.invalid %s\n[port.invalid]:2222 %s\ncrlf.invalid %s\r\n" %
                      ((lists / "hashed").read_text(), " ".join(authority), " ".join(public), " ".join(public)))
    known.chmod(0o600)
    before = (known.read_bytes(), known.stat().st_mtime_ns, known.stat().st_ino)
    proxy = next(o for o in sshd.options if o.startswith("ProxyCommand="))
    script = ("for h in hashed.invalid x.corp.invalid '[port.invalid]:2222' crlf.invalid new.invalid; do echo $(ssh -o BatchMode=yes -o \"$0\" "
              "-o HostKeyAlias=\"$h\" -o UpdateHostKeys=yes git@h.invalid 2>&1 </dev/null | tail -n 1); done")
    p = shell(PROFILE, "bash", "-c", script, proxy, cwd=work)
    said = p.stdout.splitlines()
    assert len(said) == 5 and all("Permission denied" in line for line in said[:4]) and said[4] == "Host key verification failed.", p
    assert (known.read_bytes(), known.stat().st_mtime_ns, known.stat().st_ino) == before


def listening(address):
    s = socket.socket()
    s.bind((address, 0))
    s.listen()
    return s


def reaches(address, port):
    with socket.socket() as s:
        s.settimeout(3)
        return s.connect_ex((address, port)) == 0


@test("P08, P10: no port of the guest's is reachable from the host, none of the host's loopback from the guest; old files keep owner, mode and labels")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    for name, mode in (("plain", 0o644), ("tight", 0o600), ("tool", 0o755), ("group", 0o664)):
        (work / name).write_text(name)
        (work / name).chmod(mode)
    run("sudo", "chgrp", "mail", work / "group")
    (work / "link").symlink_to("plain")
    ours = listening("127.0.0.1")
    t.cleanup(ours.close)
    before = state(work)
    script = r"""
import socket, subprocess, sys
held = [socket.socket(), socket.socket()]
held[0].bind(("0.0.0.0", 0)); held[1].bind(("127.0.0.1", 0))
for s in held: s.listen()
gateway = subprocess.run("ip route 2>/dev/null | sed -n 's/^default via \\([^ ]*\\).*/\\1/p'", shell=True, text=True, capture_output=True).stdout.strip()
reached = []
for address in ["127.0.0.1", "169.254.1.2", "host.containers.internal", gateway or "127.0.0.1"]:
    c = socket.socket(); c.settimeout(3)
    try:
        c.connect((address, int(sys.argv[1]))); reached.append(address)
    except OSError: pass
print("ports", *(s.getsockname()[1] for s in held), "reached", reached, flush=True)
input()
open("new", "w").close()
print(subprocess.run("id -u; git status --porcelain; git config --get-all safe.directory", shell=True, text=True, capture_output=True).stdout.split(), flush=True)
"""
    launch = Launch(t, PROFILE, "python3", "-c", script, str(ours.getsockname()[1]), cwd=work)
    m = launch.expect(r"ports (\d+) (\d+) reached (.*)\n")
    assert m[3] == b"[]", m[0]
    for port in (int(m[1]), int(m[2])):
        for address in ("127.0.0.1", host_address(), GUEST_ADDRESS):
            assert not reaches(address, port), (address, port)
    assert reaches("127.0.0.1", ours.getsockname()[1])
    launch.send("\n")
    m = launch.expect(r"\[(.*)\]\n")
    words = re.findall(r"'([^']*)'", m[1].decode())
    assert words[0] == "1000" and "new" in words and "*" not in words, words
    assert launch.wait() == 0
    after = state(work)
    assert (work / "new").stat().st_uid == os.getuid() and (work / "new").stat().st_gid == os.getgid()
    changed = [p for p in before if after.get(p, ())[:3] + after.get(p, ())[5:] != before[p][:3] + before[p][5:]]
    assert not changed, changed


main()
