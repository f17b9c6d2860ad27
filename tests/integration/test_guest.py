# SPDX-License-Identifier: MIT
"""Inside a sandbox: who runs there, what is mounted and kept, which images serve, and which setting counts."""

from rigtest import *

PROFILE = "t-guest"


def lines(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def home_file(t, name, text, mode=0o644):
    """A file of dev's home that no other test needs."""
    path = HOME / name
    assert not path.exists(), path
    made = [p for p in path.parents if not p.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    t.cleanup(lambda: [p.rmdir() for p in made])
    t.cleanup(path.unlink)
    return path


def image(t, name, text, context=None):
    """An image on the base of the sandbox's: podman copies a new image once to give its files other owners, so it is a small one."""
    tag = "localhost/t-guest:" + name
    run("podman", "build", "--quiet", "--network=none", "--pull=never", "--tag", tag, "--file", "-", context or t.tempdir(),
        input="FROM localhost/rig-base:trixie\n" + text, timeout=120)
    t.cleanup(run, "podman", "rmi", "--force", tag)
    return {"CLAUDE_PROFILE_SANDBOX_IMAGE": tag}


LOOK = r"""
echo user=$(id -un) $(id -u) $(id -g) $(id -G)
echo home=$HOME $USER $LOGNAME $SHELL
echo passwd=$(getent passwd 1000)
echo owner=$(stat -c '%U %a' ~ ~/.claude ~/.ssh /run/claude-sandbox)
echo write=$(touch ~/x ~/.local/x ~/.claude/x /tmp/x && echo yes)
echo first=$(cat /proc/1/comm) $$
echo parent=$PPID
echo session=$(ps -o pid= -o pgid= -p $$)
echo root=$(cat /etc/shadow 2>/dev/null | wc -c)
echo path=$PATH
echo claude=$(command -v claude) $(readlink ~/.local/bin/claude)
echo applet=$(command -v bridge-connect)
echo cap=$(grep CapEff /proc/self/status | cut -f2)
echo fds=$(ulimit -n)
echo signals=$(grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2)
"""


@test("the command is appuser, uid 1000, in its home, and not the first process")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    p = shell(PROFILE, "bash", "-c", LOOK, cwd=work, env={"SSH_AUTH_SOCK": "", "GIT_DIR": "/x"})
    found = lines(p.stdout)
    assert found["user"].startswith("appuser 1000 1000 1000"), found
    assert found["home"] == "/home/appuser appuser appuser /bin/bash", found
    assert found["passwd"].startswith("appuser:") and ":1000:1000:" in found["passwd"] and ":/home/appuser:" in found["passwd"], found
    assert found["owner"].split()[::2] == ["appuser"] * 4 and found["owner"].endswith("appuser 700"), found
    assert found["write"] == "yes", p
    assert found["first"].split()[0] == "claude-sandbox-" and found["first"].split()[1] != "1" and found["parent"] == "1", found
    pid, group = found["session"].split()
    assert pid == group, found
    assert found["root"] == "0" and int(found["cap"], 16) == 0, found
    assert found["path"].split(":")[:2] == ["/run/claude-sandbox/bin", "/home/appuser/.local/bin"], found
    assert len(set(found["path"].split(":"))) == len(found["path"].split(":")), found
    assert found["claude"] == "/home/appuser/.local/bin/claude /opt/claude-host/claude", found
    assert found["applet"] == "/run/claude-sandbox/bin/bridge-connect", found
    assert set(found["signals"]) <= set("0 "), found


@test("nothing of the host's is inside: processes, home, keys, sockets, launch directories")
def _(t):
    t.profile(PROFILE)
    home_file(t, ".ssh/id_test", "a private key\n", 0o600)
    home_file(t, ".netrc", "a password\n", 0o600)
    other = Launch(t, PROFILE, "sh", "-c", "echo ready; exec tail -f /dev/null", cwd=t.tempdir())
    other.expect("ready")
    script = r"""
        echo processes=$(cat /proc/[0-9]*/cmdline | tr '\0' ' ')
        echo homes=$(ls -A /home) $(ls -A %s)
        echo runtime=$(ls -A /run/user 2>&1)
        echo keys=$(find / -xdev \( -name id_test -o -name .netrc -o -name '*.sock' -o -name launch.json -o -name cleanup.json \) 2>/dev/null)
        echo hidden=$(ls /home/dev/.claude-profiles /home/dev/.local 2>/dev/null)
    """ % HOME
    work = t.tempdir()
    found = lines(shell(PROFILE, "sh", "-c", script, cwd=work).stdout)
    assert "systemd" not in found["processes"] and "podman" not in found["processes"] and other.id not in found["processes"], found
    assert found["homes"].split() == ["appuser", "dev", work.name], found
    assert "/run/user" in found["runtime"] and "No such file" in found["runtime"] or found["runtime"] == "", found
    assert found["keys"] == "" and found["hidden"] == "", found


ORPHANS = r"""
import os, time
def orphan():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execlp("sh", "sh", "-c", "exit 3")
        os._exit(0)
    os.wait()
for _ in range(50):
    orphan()
def children_of_first():
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = open("/proc/%s/stat" % name).read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if parent == "1" and int(name) != os.getpid():
            found.append(state)
    return found
deadline = time.monotonic() + 20
while children_of_first() and time.monotonic() < deadline:
    os.sched_yield()
print("left", children_of_first(), flush=True)
for ignore in ("", "trap '' TERM HUP INT; "):
    os.spawnlp(os.P_NOWAIT, "setsid", "setsid", "sh", "-c", ignore + "exec tail -f /dev/null")
os._exit(9)
"""


@test("orphans are reaped by the first process, and what is left at the end does not hinder it")
def _(t):
    t.profile(PROFILE)
    p = shell(PROFILE, "python3", "-c", ORPHANS, cwd=t.tempdir(), check=False)
    assert p.returncode == 9 and p.stdout == "left []\n", p
    assert_no_traces(PROFILE)


@test("a shell that kills itself, its group, or what started it")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    cases = (("kill -9 $$", 137), ("kill -9 0", 137), ("tail -f /dev/null & kill -9 -1; wait $!; exit $?", 137), ("kill -9 1; kill -TERM 1; exit 4", 4), ("kill -STOP $$; exit 5", 5),
             ("trap 'exit 6' TERM; kill $$; exit 1", 6), ("sh -c 'kill -9 $PPID'; exit 1", 137))
    results = at_once([lambda c=c: shell(PROFILE, "bash", "-c", c[0], cwd=work, check=False) for c in cases])
    for (command, status), p in zip(cases, results):
        assert p.returncode == status, (command, p)
    assert_no_traces(PROFILE)


@test("what is made inside belongs to the host's user outside")
def _(t):
    profile = t.profile(PROFILE)
    work = t.repository()
    shell(PROFILE, "sh", "-c", "umask; mkdir -p a/b; echo x > a/b/c; ln -s c a/b/l; install -m 755 /bin/true a/run; mkfifo a/p; "
          "git add a/b/c; git -c user.name=x -c user.email=x@y commit -qm x; echo y > ~/.claude/made; echo z > ~/.ssh/made", cwd=work)
    for path in (*work.rglob("*"), profile / "made", DATA / "profiles" / PROFILE / "ssh/made"):
        st = path.lstat()
        assert (st.st_uid, st.st_gid) == (os.getuid(), os.getgid()), path
    assert (work / "a/run").stat().st_mode & 0o777 == 0o755 and (work / "a/b/c").stat().st_mode & 0o777 == 0o644
    (work / "a/b/host").write_text("host\n")
    assert shell(PROFILE, "sh", "-c", "cat a/b/host; echo more >> a/b/host; rm a/b/c", cwd=work).stdout == "host\n"
    assert (work / "a/b/host").read_text() == "host\nmore\n" and not (work / "a/b/c").exists()


@test("known hosts: the host's as a copy, the profile's own kept between launches and apart from other profiles'")
def _(t):
    t.profile(PROFILE)
    t.profile(PROFILE + "2")
    work = t.tempdir()
    key = t.tempdir() / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    public = " ".join((key.parent / "key.pub").read_text().split()[:2])
    home_file(t, ".ssh/known_hosts", "host.example.invalid %s\n" % public, 0o600)
    script = r"""
        ssh-keygen -F host.example.invalid -f /etc/ssh/ssh_known_hosts >/dev/null && echo global=found
        (echo x >> /etc/ssh/ssh_known_hosts) 2>/dev/null || echo global_write=no
        echo before=$(ls -A ~/.ssh)
        echo 'own.example.invalid %s' >> ~/.ssh/known_hosts
        echo 'other.example.invalid %s' >> ~/.ssh/known_hosts
        ssh-keygen -R other.example.invalid >/dev/null 2>&1; echo renamed=$?
        echo after=$(ls -A ~/.ssh)
    """ % (public, public)
    first = lines(shell(PROFILE, "sh", "-c", script, cwd=work).stdout)
    assert first == {"global": "found", "global_write": "no", "before": "", "renamed": "0", "after": "known_hosts known_hosts.old"}, first
    assert (HOME / ".ssh/known_hosts").read_text() == "host.example.invalid %s\n" % public
    look = "cat ~/.ssh/known_hosts; ls -ld ~/.ssh"
    assert "own.example.invalid" in shell(PROFILE, "sh", "-c", look, cwd=work).stdout
    other = shell(PROFILE + "2", "sh", "-c", look, cwd=work, check=False).stdout
    assert "own.example.invalid" not in other and other.startswith("drwx------"), other


GITCONFIG = """[user]
\tname = Home
\temail = home@example.invalid
[alias]
\tshow-me = !echo alias works
[core]
\tpager = less
[include]
\tpath = ~/.gitconfig-more
[includeIf "gitdir:%s/"]
\tpath = ~/.gitconfig-work
"""


@test("git: the host's configuration as a copy, the identity as git resolves it there; the repository's own wins")
def _(t):
    t.profile(PROFILE)
    parent = t.tempdir()
    inside, outside, own = t.repository(parent), t.repository(), t.repository(parent)
    home_file(t, ".gitconfig-more", "[color]\n\tui = never\n")
    home_file(t, ".gitconfig-work", '[user]\n\tname = "Wörk \\"quoted\\" \\\\ ; #"\n\temail = work@example.invalid\n[commit]\n\tgpgsign = true\n')
    home_file(t, ".gitconfig", GITCONFIG % ("~/" + str(parent.relative_to(HOME))))
    run("git", "-C", own, "config", "user.name", "Own")
    script = ("git commit -q --allow-empty -m x && git log -1 --format='%an <%ae> %G?'; git show-me; git config --global x.y z 2>/dev/null || echo kept; "
              "test -w ~/.gitconfig || echo read-only")
    for place, who in ((inside, 'Wörk "quoted" \\ ; # <work@example.invalid>'), (outside, "Home <home@example.invalid>"),
                       (own, "Own <work@example.invalid>")):
        p = shell(PROFILE, "sh", "-c", script, cwd=place)
        assert p.stdout == "%s N\nalias works\nkept\nread-only\n" % who, p
        assert run("git", "-C", place, "log", "-1", "--format=%an <%ae>").stdout.strip() == who
    # A linked worktree of the repository, which lies elsewhere: as git has it on the host.
    linked = t.tempdir() / "linked"
    run("git", "-C", inside, "worktree", "add", "-q", linked)
    host = run("git", "-C", linked, "config", "user.name").stdout
    assert shell(PROFILE, "git", "config", "user.name", cwd=linked).stdout == host


@test("git: an identity in ~/.config/git/config, none at all, a configuration that git cannot read")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    ask = "git config user.name || echo none; ls -A ~/.gitconfig 2>/dev/null || echo absent"
    assert shell(PROFILE, "sh", "-c", ask, cwd=work).stdout == "none\nabsent\n"
    path = home_file(t, ".config/git/config", "[user]\n\tname = Xdg\n")
    assert shell(PROFILE, "sh", "-c", ask, cwd=work).stdout == "Xdg\nabsent\n"
    path.write_text("[user\n")
    p = shell(PROFILE, "sh", "-c", "echo runs", cwd=work)
    assert p.stdout == "runs\n" and "git" in p.stderr, p


@test("the host's claude is copied once a version and mounted read-only; without one the image's runs and may update itself")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    versions = t.tempdir() / "claude/versions"
    versions.mkdir(parents=True)
    for version in ("0.0.1-test", "0.0.2-test"):
        (versions / version).write_text("#!/bin/sh\necho %s $DISABLE_AUTOUPDATER; test -w $0 || echo read-only; cat < /dev/stdin\n" % version)
        (versions / version).chmod(0o755)
        t.cleanup((DATA / "claude" / version).unlink, missing_ok=True)
    link = t.tempdir() / "claude"
    link.symlink_to(versions / "0.0.1-test")
    env = dict(ENV, CLAUDE_PROFILE_CLAUDE_BIN=str(link))
    copy = DATA / "claude/0.0.1-test"
    assert run(PROGRAM, PROFILE, cwd=work, env=env).stdout == "0.0.1-test 1\nread-only\n"
    made = copy.stat()
    assert copy.read_bytes() == (versions / "0.0.1-test").read_bytes() and made.st_mode & 0o777 == 0o755
    assert run(PROGRAM, PROFILE, cwd=work, env=env).stdout == "0.0.1-test 1\nread-only\n"
    assert copy.stat().st_ino == made.st_ino and not list((DATA / "claude").glob(".*"))
    # The user updates while a launch runs: it keeps its own, the next one gets the new one.
    running = Launch(t, PROFILE, cwd=work, env={"CLAUDE_PROFILE_CLAUDE_BIN": str(link)}, verb=("run",))
    running.expect("0.0.1-test 1")
    link.unlink()
    link.symlink_to(versions / "0.0.2-test")
    (versions / "0.0.1-test").unlink()
    assert run(PROGRAM, PROFILE, cwd=work, env=env).stdout == "0.0.2-test 1\nread-only\n"
    assert copy.exists()
    running.send("more\n")
    running.expect("more")
    running.process.stdin.close()
    assert running.wait() == 0
    # A copy that is not whole is made anew.
    (DATA / "claude/0.0.2-test").write_text("torn")
    assert run(PROGRAM, PROFILE, cwd=work, env=env).stdout == "0.0.2-test 1\nread-only\n"
    # No claude on the host, or one that is no native executable of a version.
    script = "command -v claude; echo ${DISABLE_AUTOUPDATER-unset}; ls /opt/claude-host 2>/dev/null || true"
    for value in ("/nonexistent", "/bin/true", "no-such-claude"):
        assert shell(PROFILE, "sh", "-c", script, cwd=work, env={"CLAUDE_PROFILE_CLAUDE_BIN": value}).stdout == "/usr/local/bin/claude\nunset\n"


@test("what is absent on the host is absent inside, and nothing is made of it")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    for name in (".gitconfig", ".ssh/known_hosts"):
        assert not (HOME / name).exists()
    before = {p.name for p in HOME.iterdir()}
    script = "ls -d ~/.gitconfig /etc/ssh/ssh_known_hosts /opt/claude-host ~/.gnupg 2>/dev/null; echo ${SSH_AUTH_SOCK-none} ${GNUPGHOME-none}; ls -A /run/claude-sandbox"
    p = shell(PROFILE, "sh", "-c", script, cwd=work, env={"CLAUDE_PROFILE_CLAUDE_BIN": "/nonexistent"})
    assert p.stdout == "none none\nbin\nlaunch\n", p
    assert {p.name for p in HOME.iterdir()} == before
    # Not even a terminal's type, or the profile's variables.
    env = {k: v for k, v in ENV.items() if k not in ("TERM", "COLORTERM", "LANG")}
    assert run(PROGRAM, "shell", PROFILE, "--", "sh", "-c", "echo ${TERM-none} ${COLORTERM-none}", cwd=work, env=env).stdout.split()[1] == "none"
    assert not (BASE / PROFILE / ".env").exists() or (BASE / PROFILE / ".env").read_text() == ""


@test("without a bridge the guest's helpers fail quietly")
def _(t):
    t.profile(PROFILE)
    p = shell(PROFILE, "sh", "-c", "bridge-connect ssh-0 </dev/null; echo $?; bridge-connect gpg </dev/null; echo $?; ls /run/claude-sandbox/bridge",
              cwd=t.tempdir(), check=False)
    assert re.fullmatch(r"[1-9]\d*\n[1-9]\d*\n", p.stdout), p
    assert "bridge-connect" not in p.stderr, p


# --- images ---------------------------------------------------------------------------------------------------

@test("an image with another user, entry point, home and path")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    for user in ("root", "nobody", "1234:1234"):
        env = image(t, "user", "USER %s\nENTRYPOINT [\"/bin/false\"]\nCMD [\"/bin/false\"]\nWORKDIR /nonexistent\n"
                    "ENV HOME=/root USER=root PATH=/usr/bin:/bin LISTEN_FDS=3 CLAUDE_CONFIG_DIR=/elsewhere IMAGE_SAYS=hello\n" % user)
        p = shell(PROFILE, "sh", "-c", "id -un; id -u; pwd; echo $HOME $USER $PATH ${LISTEN_FDS-none} $CLAUDE_CONFIG_DIR $IMAGE_SAYS; touch made", cwd=work, env=env)
        assert p.stdout == ("appuser\n1000\n%s\n/home/appuser appuser /run/claude-sandbox/bin:/home/appuser/.local/bin:/usr/bin:/bin "
                            "none /home/appuser/.claude hello\n" % work), p
        assert (work / "made").stat().st_uid == os.getuid()
        assert run(PROGRAM, PROFILE, "--version", cwd=work, env=dict(ENV, **env)).stdout == run("claude", "--version").stdout


@test("an image whose uid 1000 is somebody else, and one with an appuser of another number")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    context = t.tempdir()
    for name, text in (("node", "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/srv/node:/bin/sh\n"),
                       ("number", "root:x:0:0:root:/root:/bin/sh\nappuser:x:1500:1500::/home/other:/bin/sh\n"), ("empty", "")):
        (context / "passwd").write_text(text)
        env = image(t, name, "COPY --chmod=0644 passwd /etc/passwd\n", context)
        p = shell(PROFILE, "sh", "-c", "id -un; id -u; echo $HOME ~ ~appuser; getent passwd 1000 | cut -d: -f1,6; cd; touch x && echo written", cwd=work, env=env)
        assert p.stdout.splitlines() == ["appuser", "1000", "/home/appuser /home/appuser /home/appuser", "appuser:/home/appuser", "written"], (name, p)


@test("a plain Debian, without appuser and without any tool, is a sandbox, too")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    env = {"CLAUDE_PROFILE_SANDBOX_IMAGE": "localhost/rig-base:trixie"}
    p = shell(PROFILE, "sh", "-c", "id -un; id -u; id -gn; echo $HOME; stat -c %U ~; cd && touch x && echo written; command -v git || echo no git; claude --version",
              cwd=work, env=env)
    assert p.stdout == "appuser\n1000\nappuser\n/home/appuser\nappuser\nwritten\nno git\n%s" % run("claude", "--version").stdout, p
    assert run(PROGRAM, PROFILE, "--version", cwd=work, env=dict(ENV, **env)).stdout == run("claude", "--version").stdout
    p = shell(PROFILE, cwd=work, env=env, input="echo $0 $(id -un); exit 3\n", check=False)
    assert p.returncode == 3 and p.stdout.endswith("bash appuser\n"), p


# --- settings -------------------------------------------------------------------------------------------------

@test("a variable counts before the profile's file, that before the main file, that before the default; empty is unset")
def _(t):
    t.profile(PROFILE)
    t.profile(PROFILE + "2")
    work = t.tempdir()
    config = t.tempdir() / "claude-profile"
    (config / "profiles").mkdir(parents=True)
    versions = t.tempdir() / "claude/versions"
    versions.mkdir(parents=True)
    (versions / "0.0.3-test").write_text('#!/bin/sh\ncase $1 in --append-*) shift 2;; *) set -- "$1";; esac\necho "[$*]"\n')
    (versions / "0.0.3-test").chmod(0o755)
    t.cleanup((DATA / "claude/0.0.3-test").unlink, missing_ok=True)
    main_file, profile_file = config / "claude-profile.conf", config / "profiles" / (PROFILE + ".conf")
    variable = "CLAUDE_PROFILE_SANDBOX_SKIP_PERMISSIONS"
    on, off = "[--dangerously-skip-permissions]\n", "[]\n"

    def launched(profile, value=None):
        env = {k: v for k, v in ENV.items() if k != "CLAUDE_PROFILE_SANDBOX_ISOLATION"}
        env.update({"XDG_CONFIG_HOME": str(config.parent), "CLAUDE_PROFILE_CLAUDE_BIN": str(versions / "0.0.3-test")},
                   **({} if value is None else {variable: value}))
        return run(PROGRAM, profile, cwd=work, env=env).stdout

    main_file.write_text("[Sandbox]\nIsolation=container\n")
    assert launched(PROFILE) == on
    main_file.write_text("# a comment\n[Sandbox]\nIsolation = container\nSkipPermissions=no\n")
    assert launched(PROFILE) == off and launched(PROFILE, "") == off and launched(PROFILE, "1") == on
    profile_file.write_text("[Sandbox]\nSkipPermissions=yes\n")
    assert launched(PROFILE) == on and launched(PROFILE, "0") == off and launched(PROFILE + "2") == off
    # The sandbox itself is a setting, and so is its isolation.
    profile_file.write_text("[Sandbox]\nSandbox=0\n")
    host = dict(ENV, XDG_CONFIG_HOME=str(config.parent))
    assert run(PROGRAM, "shell", PROFILE, "--", "id", "-un", cwd=work, env=host).stdout == "dev\n"
    assert run(PROGRAM, "shell", PROFILE, "--", "id", "-un", cwd=work, env=dict(host, CLAUDE_PROFILE_SANDBOX="1")).stdout == "appuser\n"
    profile_file.write_text("[Sandbox]\nIsolation=krun\n")
    p = run(PROGRAM, "shell", PROFILE, "--", "true", cwd=work, check=False,
            env={k: v for k, v in host.items() if k != "CLAUDE_PROFILE_SANDBOX_ISOLATION"})
    assert p.returncode == 1 and "/dev/kvm" in p.stderr, p
    profile_file.write_text("[Sandbox]\nImage=localhost/rig-base:trixie\n")
    assert run(PROGRAM, "shell", PROFILE, "--", "sh", "-c", "command -v git || echo none", cwd=work, env=host).stdout == "none\n"
    profile_file.write_text("[Sandbox]\nSkipPermissions=perhaps\n")
    p = run(PROGRAM, "shell", PROFILE, "--", "true", cwd=work, env=host, check=False)
    assert p.returncode == 1 and "%s:2: SkipPermissions=perhaps" % profile_file in p.stderr, p


# --- with a bridge --------------------------------------------------------------------------------------------

SOCKETS = r"""
stat -c '%n %F %a %U' /run/claude-sandbox /run/claude-sandbox/ssh-agent-0.sock /run/claude-sandbox/bridge ~/.gnupg ~/.gnupg/S.gpg-agent
cut -d= -f1 /run/claude-sandbox/bridge | tr '\n' ' '; echo
sed -n s/^token=//p /run/claude-sandbox/bridge > /tmp/token
wc -c < /tmp/token
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -c -F -f /tmp/token
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c -F -f /tmp/token
echo $SSH_AUTH_SOCK $GNUPGHOME ${CLAUDE_SANDBOX_FORWARDS-none} $((CLAUDE_SANDBOX_BRIDGE_PORT > 0))
bridge-connect gpg </dev/null | cut -d, -f1
ssh-add -l | cut -d' ' -f3,4
bridge-connect ssh-1 </dev/null; echo $?
bridge-connect clipboard </dev/null; echo $?
"""


@test("forwarded sockets and the bridge's file are appuser's alone, the token is in no environment, and the agents answer")
def _(t):
    t.profile(PROFILE)
    t.cleanup(run, "gpgconf", "--kill", "gpg-agent", check=False)
    directory = t.tempdir("/tmp", prefix="tést, ")
    agent = t.ssh_agent(path=directory / "agent.sock")
    p = shell(PROFILE, "bash", "-c", SOCKETS, cwd=t.tempdir(),
              env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "CLAUDE_PROFILE_SANDBOX_GPG_AGENT": "1", "SSH_AUTH_SOCK": agent.path})
    assert p.stdout.splitlines() == [
        "/run/claude-sandbox directory 700 appuser",
        "/run/claude-sandbox/ssh-agent-0.sock socket 600 appuser",
        "/run/claude-sandbox/bridge regular file 600 appuser",
        "/home/appuser/.gnupg directory 700 appuser",
        "/home/appuser/.gnupg/S.gpg-agent socket 600 appuser",
        "address port token services ",
        "65", "0", "0",
        "/run/claude-sandbox/ssh-agent-0.sock /home/appuser/.gnupg none 1",
        "OK Pleased to meet you",
        "key0 (ED25519)",
        "1", "1",
    ], p
    assert_no_traces(PROFILE)


main()
