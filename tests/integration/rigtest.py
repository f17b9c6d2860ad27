# SPDX-License-Identifier: MIT
"""What the integration tests share. They run in the rig, as user dev in a login session (tests/rig/meson-test), on real parts,
and print TAP.

    from rigtest import *

    @test("claude's version comes from inside")
    def _(t):
        ...assert...

    main()

A test waits for events with a bound (wait_for, Launch.expect) and never just for time to pass. It cleans up after itself with
t.cleanup(function, ...), which runs also when it fails."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOME = Path.home()
RUNTIME = Path(os.environ.get("XDG_RUNTIME_DIR", "/run/user/%d" % os.getuid()))
LAUNCHES = RUNTIME / "claude-profile"
BASE = HOME / ".claude-profiles"
DATA = HOME / ".local/share/claude-profile"
TREE = Path(__file__).resolve().parent.parent.parent
PROGRAM = "claude-profile"

# Isolation "container": krun needs a /dev/kvm.
ENV = dict(os.environ, CLAUDE_PROFILE_SANDBOX_ISOLATION="container")

tests = []


class Skip(Exception):
    pass


class Test:
    def __init__(self):
        self.cleanups = []

    def cleanup(self, function, *args, **kw):
        self.cleanups.append((function, args, kw))

    def run_cleanups(self):
        """All of them, also when one fails."""
        while self.cleanups:
            function, args, kw = self.cleanups.pop()
            try:
                function(*args, **kw)
            except Exception:
                note("while cleaning up: " + traceback.format_exc())

    def tempdir(self, parent=None, prefix="test-"):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent or HOME))
        self.cleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def profile(self, name, sandboxed=True):
        """A new profile; name should be the test file's own."""
        path = BASE / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        if sandboxed:
            (path / ".sandbox").touch()
        self.cleanup(shutil.rmtree, path, ignore_errors=True)
        self.cleanup(shutil.rmtree, DATA / "profiles" / name, ignore_errors=True)
        return path

    def repository(self, parent=None):
        path = self.tempdir(parent)
        run("git", "init", "-q", str(path))
        run("git", "-C", str(path), "commit", "-q", "--allow-empty", "-m", "first",
            env=dict(ENV, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.invalid", GIT_COMMITTER_NAME="a",
                     GIT_COMMITTER_EMAIL="a@example.invalid"))
        return path

    def program(self, text, directory=None, name="program"):
        """An executable script of Python, as file name in a directory of its own unless one is given."""
        path = Path(directory or self.tempdir()) / name
        path.write_text("#!/usr/bin/python3 -I\n" + text)
        path.chmod(0o755)
        return path

    def podman(self, change="", record=None):
        """A stand-in for CLAUDE_PROFILE_PODMAN_BIN that becomes the real podman. `change` is Python that may edit the list args
        when podman is asked to run a container (args[0] == "run"); each call is a line of JSON in the file `record`."""
        lines = ["import json, os, sys", "args = sys.argv[1:]"]
        if record:
            lines += ["fds = []",
                      "for fd in sorted(map(int, os.listdir('/proc/self/fd'))):",
                      "    try:",
                      "        fds.append([fd, os.readlink('/proc/self/fd/%d' % fd)])",
                      "    except OSError:",
                      "        pass",
                      "environ = open('/proc/self/environ', 'rb').read().decode(errors='surrogateescape').split('\\0')[:-1]",
                      "with open(%r, 'a') as f:" % str(record),
                      "    f.write(json.dumps({'args': args, 'fds': fds, 'environ': environ, 'cwd': os.getcwd()}) + '\\n')"]
        lines += ["if args[0] == 'run':", "    pass"]
        lines += ["    " + line for line in change.strip().splitlines()]
        lines += ["os.execv('/usr/bin/podman', ['podman'] + args)"]
        return self.program("\n".join(lines) + "\n", name="podman")

    def ssh_agent(self, keys=1, path=None):
        """A real ssh-agent with ed25519 keys; returns an Agent."""
        agent = Agent(self, path)
        for _ in range(keys):
            agent.add_key()
        return agent


class Agent:
    def __init__(self, t, path=None):
        self.dir = t.tempdir("/tmp")
        self.path = str(path or self.dir / "agent.sock")
        self.process = None
        self.keys = []
        t.cleanup(self.stop)
        self.start()

    def start(self):
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", self.path], stdout=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(self.path), what="the agent's socket")
        for key in self.keys:
            self.load(key)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass

    def add_key(self):
        key = self.dir / ("key%d" % len(self.keys))
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key.name, "-f", str(key))
        self.keys.append(key)
        self.load(key)

    def load(self, key):
        run("ssh-add", "-q", str(key), env=dict(ENV, SSH_AUTH_SOCK=self.path))


def test(name):
    def decorate(f):
        tests.append((name, f))
        return f
    return decorate


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [(name, f) for name, f in tests if only in name]
    print("TAP version 13")
    print("1..%d" % len(chosen))
    failed = 0
    for number, (name, f) in enumerate(chosen, 1):
        t = Test()
        verdict, remark = "ok", ""
        begin = time.monotonic()
        try:
            f(t)
        except Skip as e:
            remark = " # SKIP %s" % e
        except Exception:
            verdict = "not ok"
            failed += 1
            note(traceback.format_exc())
            # Of a program that speaks TAP, meson shows no more than what is on standard error.
            print("not ok %d - %s\n%s" % (number, name, traceback.format_exc()), file=sys.stderr, flush=True)
        t.run_cleanups()
        print("%s %d - %s%s" % (verdict, number, name, remark))
        note("%.1f s" % (time.monotonic() - begin))
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


def note(text):
    for line in str(text).rstrip().splitlines():
        print("# " + line)
    sys.stdout.flush()


def run(*argv, check=True, timeout=60, **kw):
    """Runs a program to its end; its output as text. A failure shows what it said."""
    kw.setdefault("env", ENV)
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    if "input" not in kw:
        kw.setdefault("stdin", subprocess.DEVNULL)
    p = subprocess.run([str(a) for a in argv], text=True, errors="surrogateescape", timeout=timeout, **kw)
    if check and p.returncode != 0:
        raise AssertionError("%r: status %d\n%s%s" % (argv, p.returncode, p.stdout, p.stderr))
    return p


def shell(profile, *command, cwd, env=None, **kw):
    """A sandboxed launch with a command, to its end."""
    return run(PROGRAM, "shell", profile, "--", *command, cwd=cwd, env=dict(ENV, **(env or {})), **kw)


def raw(*argv, cwd, env=None, timeout=120, **kw):
    """Like run(), with bytes in and out and any status."""
    if "input" not in kw:
        kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, cwd=cwd, env=dict(ENV, **(env or {})), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, **kw)


def at_once(jobs, most=4):
    """Calls the functions, a few at a time; their results in order. The first exception comes out when all have ended."""
    with ThreadPoolExecutor(most) as pool:
        futures = [pool.submit(job) for job in jobs]
    return [f.result() for f in futures]


def tree(*roots):
    """What lies there: path → type, mode and, of a file, its size."""
    found = {}
    for root in map(Path, roots):
        for path in (root, *root.rglob("*")) if root.exists() else ():
            try:
                st = path.lstat()
            except FileNotFoundError:
                continue
            found[str(path)] = (oct(st.st_mode), st.st_size if path.is_file() else None)
    return found


def wait_for(condition, timeout=15, what="the condition"):
    """The first true value of condition(), looked at every 20 ms."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        last = time.monotonic() >= deadline  # looking may take long itself: the last look begins at the deadline, not before
        value = condition()
        if value:
            return value
        if last:
            raise AssertionError("%s did not come within %s s" % (what, timeout))
        pause.wait(0.02)


def systemctl(*argv, **kw):
    return run("systemctl", "--user", *argv, **kw)


def assert_units_verify():
    """What systemd-analyze says of the installed units. A template that binds to a scope can never resolve, hence no recursion."""
    units = sorted(str(p) for p in Path("/usr/lib/systemd/user").glob("claude-*"))
    assert len(units) >= 3, units
    p = run("systemd-analyze", "--user", "verify", "--recursive-errors=no", *units)
    assert not (p.stdout + p.stderr).strip(), p.stdout + p.stderr


def unit_property(unit, name):
    return systemctl("show", "--property", name, "--value", unit).stdout.strip()


def journal(*matches, since=None):
    """Journal entries of the user as dictionaries, newest last."""
    import json
    run("journalctl", "--sync", check=False)
    argv = ["journalctl", "--user", "--output=json", "--all", "--quiet", *matches]
    if since is not None:
        argv.append("--since=@%.6f" % since)
    return [json.loads(line) for line in run(*argv).stdout.splitlines()]


def has_landlock():
    """Whether this kernel has it, and lets the rig use it: landlock_create_ruleset(2), asked for its version."""
    import ctypes
    return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


def running_launches(profile):
    """The ids of a profile's launch directories."""
    if not LAUNCHES.is_dir():
        return set()
    pattern = re.compile(re.escape(profile) + "-([0-9a-f]{8})")
    return {m.group(1) for m in map(pattern.fullmatch, os.listdir(LAUNCHES)) if m}


def left_behind(profile, id, port=None):
    """Whatever still exists of a launch, as a list of lines: processes, units, port, container, launch directory."""
    found = []
    name = "%s-%s" % (profile, id)
    scope = "claude-sandbox-%s.scope" % name
    for p in Path("/proc").glob("[0-9]*"):
        try:
            if scope in (p / "cgroup").read_text():
                found.append("process %s %s" % (p.name, (p / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            pass
    units = systemctl("list-units", "--all", "--plain", "--no-legend", scope, "claude-bridge@%s.*" % name.replace("\\", "\\\\")).stdout
    found += ["unit " + line for line in units.splitlines()]
    if (LAUNCHES / name).exists():
        found.append("launch directory")
    containers = run("podman", "ps", "--all", "--quiet", "--filter", "label=claude-profile.launch=" + id).stdout
    found += ["container " + line for line in containers.splitlines()]
    if port:
        listening = run("ss", "--no-header", "--tcp", "--listening", "--numeric", "sport", "=", ":%d" % port).stdout
        found += ["port " + line for line in listening.splitlines()]
    return found


def traces(profile):
    """Whatever exists of any launch of a profile, its supervisor included, as a list of lines."""
    found = []
    for p in Path("/proc").glob("[0-9]*"):
        try:
            if re.search("/claude-(sandbox-%s-[0-9a-f]{8}\\.scope|(sandbox|bridge)@%s[-.])" % (re.escape(profile), re.escape(profile)),
                         (p / "cgroup").read_text()):
                found.append("process %s %s" % (p.name, (p / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            pass
    units = systemctl("list-units", "--all", "--plain", "--no-legend", "claude-sandbox-%s-????????.scope" % profile,
                      "claude-sandbox@%s.*" % profile, "claude-bridge@%s-????????.*" % profile).stdout
    found += ["unit " + line for line in units.splitlines()]
    if LAUNCHES.is_dir():
        found += ["file " + name for name in os.listdir(LAUNCHES) if re.fullmatch(
            r"(\.new-)?%s(-[0-9a-f]{8}|\.sock)" % re.escape(profile), name)]
    containers = run("podman", "ps", "--all", "--format={{.Names}}", "--filter", "label=claude-profile.profile=" + profile).stdout
    found += ["container " + line for line in containers.splitlines()]
    return found


def assert_no_traces(profile, timeout=12):
    rest = [None]

    def none():
        rest[:] = traces(profile)
        return not rest
    try:
        wait_for(none, timeout, "the end of all of " + profile)
    except AssertionError as e:
        raise AssertionError("%s; left:\n%s" % (e, "\n".join(rest)))


class Launch:
    """A sandboxed launch that runs beside the test: `claude-profile shell <profile> -- <command>`. tty: True, or the terminal's
    rows and columns."""

    def __init__(self, t, profile, *command, cwd, env=None, verb=("shell",), tty=False, wait=True):
        self.profile = profile
        before = running_launches(profile)
        argv = [PROGRAM, *verb, profile, *(["--", *command] if "shell" in verb else command)]
        self.output = b""
        self.errors = tempfile.TemporaryFile()
        if tty:
            self.master, slave = pty.openpty()
            if tty is not True:
                self.resize(*tty)
            self.process = subprocess.Popen(argv, cwd=cwd, env=dict(ENV, **(env or {})), stdin=slave, stdout=slave, stderr=slave,
                                            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
            os.close(slave)
            self.out = self.master
        else:
            self.master = None
            self.process = subprocess.Popen(argv, cwd=cwd, env=dict(ENV, **(env or {})), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.errors)
            self.out = self.process.stdout.fileno()
        t.cleanup(self.end)
        self.id = None
        if wait:
            self.id = wait_for(lambda: self.process.poll() is not None or running_launches(profile) - before, 30, "a launch directory")
            assert self.process.poll() is None, "the launch ended: " + self.stderr()
            self.id = next(iter(self.id))

    @property
    def name(self):
        return "%s-%s" % (self.profile, self.id)

    @property
    def scope(self):
        return "claude-sandbox-%s.scope" % self.name

    @property
    def socket(self):
        return "claude-bridge@%s.socket" % self.name

    @property
    def bridge(self):
        return "claude-bridge@%s.service" % self.name

    @property
    def directory(self):
        return LAUNCHES / self.name

    def bridge_file(self):
        """What the guest is told: address, port, token, services."""
        text = wait_for(lambda: (self.directory / "guest/bridge").exists() and (self.directory / "guest/bridge").read_text(), 30,
                        "the bridge's file")
        return dict(line.split("=", 1) for line in text.splitlines())

    @property
    def port(self):
        return int(self.bridge_file()["port"])

    @property
    def token(self):
        return self.bridge_file()["token"]

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def send(self, text):
        if isinstance(text, str):
            text = text.encode()
        os.write(self.master if self.master is not None else self.process.stdin.fileno(), text)

    def expect(self, what, timeout=60):
        """Reads output until the regular expression `what` is in it; the match."""
        if isinstance(what, str):
            what = what.encode()
        deadline = time.monotonic() + timeout
        while True:
            m = re.search(what, self.output)
            if m:
                self.output = self.output[m.end():]
                return m
            left = deadline - time.monotonic()
            ready = select.select([self.out], [], [], max(0, left))[0] if left > 0 else []
            try:
                data = os.read(self.out, 65536) if ready else b""
            except OSError:
                data = b""
            if not data:
                raise AssertionError("%r did not come (status %s); output %r, errors %s" %
                                     (what, self.process.poll(), self.output, self.stderr()))
            self.output += data

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number):
        os.kill(self.process.pid, number)

    def pids(self, comm=None):
        """The processes of the launch, by their command's name."""
        found = []
        for p in Path("/proc").glob("[0-9]*"):
            try:
                if self.scope in (p / "cgroup").read_text() and comm in (None, (p / "comm").read_text().strip()):
                    found.append(int(p.name))
            except OSError:
                pass
        return found

    def wait(self, timeout=30):
        return self.process.wait(timeout)

    def assert_gone(self, timeout=12, port=None):
        """Nothing of the launch is left, within the bound."""
        begin = time.monotonic()
        rest = [True]

        def gone():
            self.process.poll()  # reaps the launcher, whose parent we are
            rest[:] = left_behind(self.profile, self.id, port)
            return not rest
        try:
            wait_for(gone, timeout, "the end of launch " + self.name)
        except AssertionError as e:
            raise AssertionError("%s; left:\n%s" % (e, "\n".join(rest)))
        return time.monotonic() - begin

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.master is not None:
            os.close(self.master)
        if self.process.stdin:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        if self.process.stdout:
            self.process.stdout.close()
        self.errors.close()
