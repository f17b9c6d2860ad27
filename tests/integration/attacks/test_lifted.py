# SPDX-License-Identifier: MIT
"""Guards that the host lifts: while a guest writes, opens and keeps whatever it can get, in tight loops, the host saves the guarded files in
every way that programs save them. What the guest kept must be worthless, the guards must be back, and what it got in while they were
off must be in the launch's file `lifted` and in the journal."""

import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from rigtest import *  # noqa: E402

PROFILE = "t-lifted"
GUEST_PROFILE = "/home/appuser/.claude"
GIT = dict(ENV, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.invalid", GIT_COMMITTER_NAME="a",
           GIT_COMMITTER_EMAIL="a@example.invalid")
EVENTS = int(os.environ.get("LIFTED_EVENTS", 25))

# Inside. Lines from the test say what to do; an answer is a line, too. The loops are processes of their own: one that writes, one that
# takes hold of everything without writing, and answers the signal by using what it has.
GUEST = r'''
import os, signal, socket, sys, threading
files, directories, flood_at = eval(sys.argv[1])
children = []

def attempt(f, *a, **kw):
    try:
        return f(*a, **kw)
    except OSError:
        return None

def write_fd(fd, text):
    attempt(os.write, fd, text)
    os.close(fd)

def write(hits):
    while True:
        for path in files:
            fd = attempt(os.open, path, os.O_WRONLY | os.O_APPEND)
            if fd is not None:
                if attempt(os.write, fd, b"\n# EVIL\n") and path.endswith(".git/config"):
                    attempt(os.write, hits, b"x")
                os.close(fd)
        for d in directories:
            attempt(os.mkdir, d)

def hold():
    """Of each inode that it has not seen yet: descriptors of three kinds, one more of them on its way through a socket, a link."""
    seen, held, links = set(), [], 0
    sockets = socket.socketpair()

    def use(*_):
        for fd, path, is_dir in held:
            if is_dir:
                new = attempt(os.open, "pre-push", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
                if new is not None:
                    write_fd(new, b"\n# KEPT\n")
                fd = attempt(os.open, "config", os.O_WRONLY | os.O_APPEND, dir_fd=fd)
                if fd is not None:
                    write_fd(fd, b"\n# KEPT\n")
                continue
            attempt(os.write, fd, b"\n# KEPT\n")
            new = attempt(os.open, "/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_APPEND)
            if new is not None:
                write_fd(new, b"\n# KEPT\n")
        sockets[0].setblocking(False)
        while True:
            try:
                fds = socket.recv_fds(sockets[0], 1, 8)[1]
            except OSError:
                break
            for fd in fds:
                attempt(os.write, fd, b"\n# KEPT\n")
                os.close(fd)
        for i in range(links):
            fd = attempt(os.open, "linked-%d" % i, os.O_WRONLY | os.O_APPEND)
            if fd is not None:
                write_fd(fd, b"\n# KEPT\n")
            attempt(os.unlink, "linked-%d" % i)
        n = len(held)
        for fd, *_ in held:
            os.close(fd)
        held.clear()
        os.write(answers, b"%d\n" % n)

    signal.signal(signal.SIGUSR1, use)
    os.write(answers, b"ready\n")
    while True:
        for path in files + directories:
            fd = attempt(os.open, path, os.O_PATH)
            if fd is None:
                continue
            st = os.fstat(fd)
            is_dir = path in directories
            if st.st_ino in seen or len(held) > 500:
                os.close(fd)
                continue
            seen.add(st.st_ino)
            held.append((fd, path, is_dir))
            if is_dir:
                continue
            for flags in (os.O_RDONLY, os.O_RDWR | os.O_APPEND):
                fd = attempt(os.open, path, flags)
                if fd is not None:
                    held.append((fd, path, False))
                    if flags & os.O_RDWR:
                        attempt(socket.send_fds, sockets[1], [b"x"], [fd])
            if attempt(os.link, path, "linked-%d" % links) is None and os.path.exists("linked-%d" % links):
                links += 1

def flood():
    n = 0
    while True:
        name = flood_at + "/flood-%d-%d" % (os.getpid(), n % 100)
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        os.unlink(name)
        n += 1

def start(f, *a):
    pid = os.fork()
    if pid == 0:
        f(*a)
    children.append(pid)
    return pid

answered, answers = os.pipe()
hit, hits = os.pipe()
os.set_blocking(hits, False)
os.set_blocking(hit, False)
start(write, hits)
holder = start(hold)
os.read(answered, 100)
print("begun", flush=True)
for line in sys.stdin:
    line = line.strip()
    if line == "use":
        os.kill(holder, signal.SIGUSR1)
        print("held", os.read(answered, 100).decode().strip(), flush=True)
    elif line == "hits":
        print("hits", len(attempt(os.read, hit, 1 << 20) or b""), flush=True)
    elif line == "flood":
        for _ in range(2):
            start(flood)
        print("flooding", flush=True)
    elif line == "drain":
        for pid in children[2:]:
            os.kill(pid, signal.SIGKILL)
        print("drained", flush=True)
for pid in children:
    os.kill(pid, signal.SIGKILL)
'''


class Scene:
    """A repository with a remote, a profile, and a launch whose guest attacks all the time."""

    def __init__(self, t):
        self.t = t
        self.profile = t.profile(PROFILE)
        self.parent = t.tempdir()
        self.root = self.parent / "work"
        seed = t.repository()
        run("git", "clone", "-q", "--bare", seed, self.parent / "remote.git")
        run("git", "clone", "-q", self.parent / "remote.git", self.root)
        (self.root / ".git/hooks").mkdir(exist_ok=True)
        (self.root / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
        (self.profile / "settings.json").write_text("{}\n")
        (self.profile / ".env").write_text("A=b\n")
        self.host_files = [self.root / ".git/config", self.root / ".git/hooks/pre-commit", self.profile / ".env",
                           self.profile / "settings.json", self.profile / ".sandbox"]
        guest_files = [str(p).replace(str(self.profile), GUEST_PROFILE) for p in self.host_files]
        self.directories = [self.root / ".git/hooks", self.root / ".git"]
        argument = repr((guest_files, list(map(str, self.directories)), str(self.root / ".git")))
        self.launch = Launch(t, PROFILE, "python3", "-c", GUEST, argument, cwd=self.root)
        self.launch.expect("begun")

    def ask(self, what, answer):
        self.launch.send(what + "\n")
        return self.launch.expect(answer)

    def lifted(self):
        path = self.launch.directory / "lifted"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def texts(self):
        """Of every file that is guarded, and of every hook."""
        hooks = self.root / ".git/hooks"
        return {p: p.read_text(errors="replace") for p in (*self.host_files, *(hooks.iterdir() if hooks.is_dir() else ())) if p.is_file()}

    def wait_lifted(self, path, n, **expected):
        """Until the n-th entry about the path is there, and the guest runs."""
        def there():
            assert self.launch.process.poll() is None, self.launch.stderr()
            return [e for e in self.lifted() if e["path"] == str(path)][n:]
        entries = wait_for(there, what="an entry about %s" % path)
        for key, value in expected.items():
            assert entries[-1][key] == value, entries
        return entries

    def count(self, path):
        return len([e for e in self.lifted() if e["path"] == str(path)])

    def attack(self, path, save, **expected):
        """The host saves; then the guest uses all that it got hold of. Nothing of that is on the host, and what it wrote meanwhile is told."""
        before = self.count(path)
        save()
        self.wait_lifted(path, before, **expected)
        held = int(self.ask("use", rb"held (\d+)").group(1))
        for file, text in self.texts().items():
            assert "KEPT" not in text, (file, text)
            if "EVIL" in text:
                guarded = [str(file), str(file.parent)]
                assert any(e["path"] in guarded for e in self.lifted()), (file, text)
        leftover = [p for d in (self.root / ".git", self.profile) for p in d.iterdir() if re.fullmatch(r"\..*\.[0-9a-f]{16}", p.name)]
        assert not leftover, leftover
        return held

    def clean(self):
        """The host's files without the guest's marks, in place."""
        for path, text in self.texts().items():
            if "EVIL" in text:
                path.write_text(text.replace("\n# EVIL\n", ""))


scene = None


def git(*argv):
    scene.clean()
    return run("git", "-C", scene.root, *argv, env=GIT)


def replace(path, text):
    """As editors save."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.rename(path)


@test("git config, push -u, remote add, checkout --track")
def _(t):
    global scene
    scene = Scene(Test())
    config = scene.root / ".git/config"
    git("branch", "topic")
    for argv in (("config", "x.y", "z"), ("push", "-q", "-u", "origin", "topic"), ("remote", "add", "other", "/nowhere"),
                 ("checkout", "-q", "-b", "x", "--track", "origin/topic"), ("config", "--unset", "x.y")):
        scene.attack(config, lambda: git(*argv), gone=False, same_content=False)


@test("an editor's ways to save, with the same content and another")
def _(t):
    config = scene.root / ".git/config"
    scene.clean()
    text = config.read_text()

    def with_backup():
        config.rename(config.with_name("config~"))
        config.write_text(text)
        config.with_name("config~").unlink()

    scene.attack(config, lambda: replace(config, text), gone=False)
    scene.attack(config, with_backup, gone=False)
    scene.attack(scene.profile / ".env", lambda: replace(scene.profile / ".env", "A=c\n"), gone=False)


@test("claude saves its settings, somebody removes them, and .env: they are there again, empty, and guarded")
def _(t):
    settings, env = scene.profile / "settings.json", scene.profile / ".env"
    scene.clean()
    settings.write_text('{"enabledPlugins":{"p@m":true}}\n')
    claude = dict(os.environ, CLAUDE_CONFIG_DIR=str(scene.profile), DISABLE_AUTOUPDATER="1")
    scene.attack(settings, lambda: run("claude", "plugin", "disable", "p@m", "--scope", "user", env=claude, cwd=scene.root), gone=False)
    assert json.loads(settings.read_text().replace("\n# EVIL\n", "")) == {"enabledPlugins": {"p@m": False}}
    scene.attack(settings, settings.unlink, gone=False)
    assert settings.read_text().replace("\n# EVIL\n", "") in ("", "{}\n"), settings.read_text()
    scene.attack(env, env.unlink, gone=False)
    assert env.stat().st_mode & 0o777 == 0o600 and env.read_text().replace("\n# EVIL\n", "") == ""


@test("rm -rf .git/hooks, also with a new directory in its place")
def _(t):
    hooks = scene.root / ".git/hooks"

    def again():
        shutil.rmtree(hooks, ignore_errors=True)
        hooks.mkdir(exist_ok=True)
        (hooks / "pre-commit").write_text("#!/bin/sh\n")

    scene.attack(hooks, again)
    # What the guest put there was replaced together with the directory, and is in `lifted`.
    before = scene.count(hooks)
    shutil.rmtree(hooks, ignore_errors=True)
    scene.wait_lifted(hooks, before)
    scene.attack(hooks, again)
    wait_for(hooks.is_dir, what="the hooks")
    for path in hooks.iterdir():
        if path.name != "pre-commit":
            path.unlink()


@test("env --set writes in place; sandbox --off removes the marker, and the guest cannot make it anew unseen")
def _(t):
    env, marker = scene.profile / ".env", scene.profile / ".sandbox"
    scene.clean()
    before, inode = scene.count(env), env.stat().st_ino
    for i in range(20):
        run(PROGRAM, "env", PROFILE, "--set", "N=%d" % i)
    assert env.stat().st_ino == inode and scene.count(env) == before
    assert "N=19" in env.read_text() and "EVIL" not in env.read_text()

    scene.attack(marker, lambda: run(PROGRAM, "sandbox", PROFILE, "--off"), gone=True)
    scene.attack(marker, lambda: run(PROGRAM, "sandbox", PROFILE, "--on"))


@test("a second sandbox on the directory above, which moves things away")
def _(t):
    p = shell(PROFILE, "sh", "-c", "mv work/.git work/.moved; mv work elsewhere; rm -rf work/.git/hooks; echo x >>work/.git/config; ls -A work",
              cwd=scene.parent, env={"CLAUDE_PROFILE_SANDBOX": "1"})
    assert ".git" in p.stdout.split(), (p.stdout, p.stderr)
    scene.attack(scene.root / ".git/config", lambda: git("config", "x.second", "z"))


@test("two launches in one place: what one supervisor puts in place lifts the other's guards, and they come to agree")
def _(t):
    config, rounds = scene.root / ".git/config", 5
    other = Launch(t, PROFILE, "bash", "-c", "echo begun; while read -r x; do (echo '# EVIL' >>.git/config) 2>&1; done", cwd=scene.root,
                   env={"CLAUDE_PROFILE_SANDBOX": "1"})
    other.expect("begun")
    before = scene.count(config)
    for i in range(rounds):
        scene.attack(config, lambda: git("config", "x.two", str(i)))
        other.send("\n")
        other.expect("Read-only")
    told = [e for e in (other.directory / "lifted").read_text().splitlines() if "config" in e]
    note("%d and %d entries for %d saves" % (scene.count(config) - before, len(told), rounds))
    assert rounds <= len(told) <= 3 * rounds and scene.count(config) - before <= 3 * rounds
    other.process.stdin.close()
    other.wait()


@test("the supervisor is killed: its successor finds what was lifted in the meantime")
def _(t):
    config = scene.root / ".git/config"
    pid = unit_property("claude-sandbox@%s.service" % PROFILE, "MainPID")

    def save():
        os.kill(int(pid), signal.SIGKILL)
        git("config", "x.killed", "z")

    scene.attack(config, save)
    assert unit_property("claude-sandbox@%s.service" % PROFILE, "MainPID") != pid


@test("a flood of names from the guest costs little, and hides nothing")
def _(t):
    def cpu():
        pid = unit_property("claude-sandbox@%s.service" % PROFILE, "MainPID")
        fields = Path("/proc/%s/stat" % pid).read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    scene.ask("flood", "flooding")
    begin, used = time.monotonic(), cpu()
    for i in range(5):
        scene.attack(scene.root / ".git/config", lambda: git("config", "x.flood", str(i)))
    took, used = time.monotonic() - begin, cpu() - used
    scene.ask("drain", "drained")
    note("the supervisor used %.2f s of %.2f s" % (used, took))
    assert used < 0.5 * took, (used, took)


@test("how long a guard is off, and what gets in")
def _(t):
    config = scene.root / ".git/config"
    scene.ask("hits", "hits")
    first = scene.count(config)
    for i in range(EVENTS):
        before = scene.count(config)
        git("config", "x.n", str(i))
        scene.wait_lifted(config, before)
    off = [e["off_usec"] for e in scene.lifted() if e["path"] == str(config)][first:]
    hits = int(scene.ask("hits", rb"hits (\d+)").group(1))
    note("%d times off: median %.1f ms, longest %.1f ms; the guest wrote %d times" %
         (len(off), statistics.median(off) / 1000, max(off) / 1000, hits))
    assert len(off) >= EVENTS


@test("the journal has it, and the launch ends well")
def _(t):
    entries = journal("CLAUDE_LAUNCH=" + scene.launch.id)
    changed = {e["CHANGED"] for e in entries if "CHANGED" in e}
    assert str(scene.root / ".git/config") in changed and str(scene.profile / ".env") in changed, changed
    scene.launch.process.stdin.close()
    assert scene.launch.wait() == 0, scene.launch.stderr()
    scene.t.run_cleanups()
    assert_no_traces(PROFILE)


@test("a guard that cannot be put back ends the launch, and says why")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    launch = Launch(t, PROFILE, "sh", "-c", "echo begun; exec tail -f /dev/null", cwd=work)
    launch.expect("begun")
    config = work / ".git/config"
    config.rename(work / "elsewhere")
    config.symlink_to(work / "elsewhere")
    assert launch.wait() != 0
    assert "guard" in launch.stderr() and "link" in launch.stderr() and str(config) in launch.stderr(), launch.stderr()
    launch.assert_gone()


main()
