# SPDX-License-Identifier: MIT
"""A home directory of its own with a stand-in for claude, and claude-profile in it: on pipes, or on a terminal."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE = 60  # seconds: a bound for what never takes one

# Writes down what it was started with, and ends as its first argument says.
CLAUDE = """#!%s -IS
import json, os, signal, sys
fds = {}
for fd in os.listdir("/proc/self/fd"):
    try:
        fds[fd] = os.readlink("/proc/self/fd/" + fd)
    except OSError:
        pass  # the one that listed them
with open("/proc/self/environ", "rb") as f:
    environ = f.read().decode(errors="surrogateescape").split("\\0")[:-1]
record = {"argv": sys.argv, "environ": environ, "fds": fds, "cwd": os.getcwd(), "pid": os.getpid()}
with open(os.path.join(os.path.dirname(sys.argv[0]), "record"), "w") as f:
    json.dump(record, f)
if sys.argv[1:2] == ["exit"]:
    sys.exit(int(sys.argv[2]))
if sys.argv[1:2] == ["kill"]:
    os.kill(os.getpid(), int(sys.argv[2]))
if sys.argv[1:2] == ["cat"]:
    sys.stdout.write(sys.stdin.read())
if sys.argv[1:2] == ["stay"]:
    os.write(1, b"here\\n")
    signal.pause()
"""


class Home:
    """Use as a context. `self.path` is the home directory; below it lie bin/claude and work/."""

    def __init__(self, program):
        self.program = program
        self._directory = tempfile.TemporaryDirectory(prefix="claude-profile-home-")
        self.path = pathlib.Path(os.path.realpath(self._directory.name))
        self.base = self.path / ".claude-profiles"
        self.bin = self.path / "bin"
        self.work = self.path / "work"
        self.runtime = self.path / "run"
        self.config = self.path / ".config/claude-profile"
        self.data = self.path / ".local/share/claude-profile"
        self.bin.mkdir()
        self.work.mkdir()
        self.runtime.mkdir(mode=0o700)
        self.script(self.bin / "claude", CLAUDE % sys.executable)
        self.env = {"HOME": str(self.path), "PATH": f"{self.bin}:/usr/bin:/bin", "LANG": "C.UTF-8",
                    "XDG_RUNTIME_DIR": str(self.runtime)}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._directory.cleanup()

    @staticmethod
    def script(path, text):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def write(self, name, text, mode=0o600):
        """A file below the home directory, with the directories above it."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    def run(self, *args, env=None, cwd=None, data=None, **options):
        """Runs claude-profile on pipes. The result has returncode, stdout, stderr (text)."""
        return subprocess.run([self.program, *args], env={**self.env, **(env or {})}, cwd=cwd or self.work,
                              input=data or "", capture_output=True, text=True, timeout=PATIENCE, check=False,
                              errors="surrogateescape", **options)

    def good(self, *args, **options):
        """The same; it must succeed and have nothing to say on standard error."""
        done = self.run(*args, **options)
        assert done.returncode == 0 and done.stderr == "", f"{args}: {done}"
        return done.stdout

    def bad(self, *args, status=1, says=(), **options):
        """The same; it must fail with this status and a message that holds each of these texts."""
        done = self.run(*args, **options)
        assert done.returncode == status, f"{args}: {done}"
        assert done.stderr.startswith("claude-profile: ") and done.stderr.endswith("\n"), done.stderr
        for text in says:
            assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
        return done.stderr

    def record(self):
        """What claude was started with, once."""
        path = self.bin / "record"
        record = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        record["environ"] = dict(entry.split("=", 1) for entry in record["environ"])
        return record

    def was_launched(self):
        return (self.bin / "record").exists()

    @contextlib.contextmanager
    def launch_running(self, profile):
        """As long as this lasts a sandboxed launch of the profile seems to run: its directory is there and locked."""
        path = self.runtime / "claude-profile" / f"{profile}-0123abcd"
        path.mkdir(parents=True, mode=0o700)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(fd)
            path.rmdir()

    def tree(self):
        """Everything below the home directory but the stand-in's record."""
        return sorted(str(p.relative_to(self.path)) for p in self.path.rglob("*") if p.name != "record")


class Terminal:
    """claude-profile, or another program, on a pseudo terminal of 80 columns. Use as a context."""

    def __init__(self, home, *args, env=None, stdout=None, program=None):
        self.output = ""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen([program or home.program, *args], env={**home.env, "TERM": "xterm", **(env or {})},
                                         cwd=home.work, stdin=slave, stdout=stdout or slave, stderr=slave,
                                         start_new_session=True,
                                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)
        os.close(self._master)

    def _read(self, until):
        ready, _, _ = select.select([self._master], [], [], max(0, until - time.monotonic()))
        assert ready, f"nothing more comes behind {self.output!r}"
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other end is closed
            data = b""
        self.output += data.decode(errors="replace")
        return bool(data)

    def expect(self, text):
        """Reads until the text has come."""
        until = time.monotonic() + PATIENCE
        while text not in self.output:
            assert self._read(until), f"{text!r} is not in {self.output!r}"

    def send(self, text):
        os.write(self._master, text.encode())

    def answer(self, question, text):
        """Waits for the question, answers it, and forgets what was shown so far."""
        self.expect(question)
        self.output = ""
        self.send(text)

    def end(self):
        """Reads to the end. The exit status."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self._process.wait(PATIENCE)
