#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bridge's services clipboard, open and chrome: the whole bridge program, the whole supervisor program, and stand-ins for the
host's wl-paste and for claude's native-messaging host. No systemd: so the supervisor cannot start a browser here.
Usage: test-bridge-services.py BRIDGE SUPERVISOR [TEST…]

BRIDGE sends its keepalives after 0.3 s instead of 20 s, SUPERVISOR sums refusals up after 0.5 s instead of 10 s."""

import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import bridge_harness as h
from bridge_harness import Agent, Bridge, Journal, Scope, read_all, read_exactly

BRIDGE = sys.argv.pop(1)
SUPERVISOR = sys.argv.pop(1)
with open(BRIDGE, "rb") as f:
    SANITIZED = b"__asan_init" in f.read()  # keeps what was freed for a while
KEEPALIVE = b'{"method":"claude_profile_keepalive","params":{}}'
KEEPALIVE_SECONDS = 0.3
REFUSALS_TOLD_MAX, REFUSALS_SECONDS = 5, 0.5
PNG = b"\x89PNG\r\n\x1a\n"
MIB = 1 << 20


class ServiceTest(unittest.TestCase):
    services = ("clipboard", "open", "chrome")
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.scope = Scope()

    @classmethod
    def tearDownClass(cls):
        cls.scope.remove()

    def setUp(self):
        self.scope.join(self.scope.inner)
        self.journal = Journal()
        self.bridge = Bridge(BRIDGE, self.scope, services=self.services, **self.options).wait_ready()

    def tearDown(self):
        self.bridge.stop()
        self.journal.read()
        for e in self.journal.entries:
            self.assertNotIn(h.TOKEN, e["RAW"])
        self.journal.close()
        self.scope.join(self.scope.home)

    def ask(self, service, line):
        c = self.bridge.connect(self.bridge.line(service) + line)
        answer = read_all(c)
        c.close()
        return answer

    def ended(self, reason):
        """The journal's entry for the end of a connection."""
        e = self.journal.wait(lambda e: e.get("BRIDGE_REASON") == reason)[0]
        self.journal.entries.remove(e)
        return e


class Supervisor:
    """The real one, for a launch whose launcher is this test: it holds the launch, and has written down the programs."""

    def __init__(self, directory, paste=None, program="wl-paste", browser=None, environment=()):
        self.directory = directory
        launch = "%s/claude-profile/%s-%s" % (directory, h.PROFILE, h.ID)
        os.chmod(directory, 0o700)
        os.chmod(directory + "/claude-profile", 0o700)
        os.mkdir(launch, 0o700)
        self.lock = os.open(launch, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        programs = {"environment": ["PATH=/usr/bin:/bin", *environment]}
        if paste:
            programs.update({"paste": paste, "paste-program": program})
        if browser:
            programs["browser"] = browser
        with open(launch + "/programs.json", "w") as f:
            json.dump(programs, f)
        self.path = "%s/claude-profile/%s.sock" % (directory, h.PROFILE)
        env = {"XDG_RUNTIME_DIR": directory, "HOME": directory, "PATH": os.environ["PATH"]}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(directory + "/supervisor-notify")
        notify.settimeout(h.WAIT)
        env["NOTIFY_SOCKET"] = directory + "/supervisor-notify"
        self.process = subprocess.Popen([SUPERVISOR, h.PROFILE], env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while b"READY=1" not in notify.recv(4096):
            pass
        notify.close()
        self.holder = self.connect()
        self.holder.sendall(b'{"request":"hold","id":"%s","directory":"/"}\n' % h.ID.encode())
        assert read_exactly(self.holder, 12) == b'{"ok":true}\n'

    def connect(self):
        c = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        c.settimeout(h.WAIT)
        c.connect(self.path)
        return c

    def ask(self, **request):
        """The answer, and the descriptors that came with it."""
        c = self.connect()
        c.sendall(json.dumps(request).encode() + b"\n")
        data, fds, _, _ = socket.recv_fds(c, 4096, 4)
        c.close()
        return json.loads(data), fds

    def wait_no_child(self):
        deadline = time.monotonic() + h.WAIT
        while True:
            with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as f:
                if not f.read():
                    return
            if time.monotonic() > deadline:
                raise AssertionError("the supervisor still has a child")
            select.select([], [], [], 0.02)

    def stop(self):
        self.holder.sendall(b'{"request":"done","status":0}\n')
        self.holder.close()
        self.process.terminate()
        _, err = self.process.communicate(timeout=h.WAIT)
        os.close(self.lock)
        if self.process.returncode != 0:
            raise AssertionError("the supervisor's status: %d; %s" % (self.process.returncode, err.decode()))
        return err.decode()


class Clipboard(ServiceTest):
    options = {"filtered": True}  # as in its unit: it asks by the supervisor's socket, and reads a descriptor that it is given

    def use(self, script, program="wl-paste", **options):
        """A stand-in for the host's program, and the supervisor that runs it. It notes each call in the file log."""
        self.log = self.bridge.directory + "/log"
        path = self.bridge.directory + "/" + program
        with open(path, "w") as f:
            f.write("#!/bin/sh\necho \"$$ $*\" >>%s\n%s\n" % (self.log, script))
        os.chmod(path, 0o755)
        self.path = path
        self.supervisor = Supervisor(self.bridge.directory, paste=path, program=program, **options)
        return path

    def tearDown(self):
        if hasattr(self, "supervisor"):
            self.messages = self.supervisor.stop()
            self.assertNotIn("ERROR: AddressSanitizer", self.messages)
        super().tearDown()

    def calls(self):
        try:
            with open(self.log) as f:
                return [line.split(" ", 1) for line in f.read().splitlines()]
        except FileNotFoundError:
            return []

    def test_text(self):
        self.use("printf 'a'")
        self.assertEqual(self.ask("clipboard", b"\n"), b"OK\na")
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"OK\na")
        self.assertEqual(self.ask("clipboard", b"-n --type text/plain;charset=utf-8\nmore"), b"OK\na")
        self.assertEqual([c[1] for c in self.calls()],
                         ["", "--no-newline", "--no-newline --type text/plain;charset=utf-8"])
        e = self.ended("served")
        self.assertEqual((e["BRIDGE_SERVICE"], e["BRIDGE_BYTES_OUT"]), ("clipboard", "4"))

    def test_nothing_and_newlines(self):
        self.use("[ \"$*\" = --list-types ] && printf 'text/plain\\nimage/png\\n'; exit 0")
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"OK\ntext/plain\nimage/png\n")
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"OK\n")

    def test_length(self):
        self.use("[ \"$*\" ] || exit 3; printf '12\\n4'")
        self.assertEqual(self.ask("clipboard", b"-n --with-length\n"), b"OK 4\n12\n4")
        self.assertEqual(self.ask("clipboard", b"--with-length\n"), b"ERR exit 3\n")

    def test_line_in_pieces(self):
        self.use("printf '%s' \"$*\"")
        c = self.bridge.connect()
        for byte in self.bridge.line("clipboard") + b"-t image/x-y\n":
            c.sendall(bytes([byte]))
        self.assertEqual(read_all(c), b"OK\n--type image/x-y")
        c.close()
        # The end of what the guest sends is not the end of the connection.
        c = self.bridge.connect(self.bridge.line("clipboard") + b"-l\n")
        c.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(c), b"OK\n--list-types")
        c.close()

    def test_pictures(self):
        """C03: byte-equal, also with a line feed at the end; what is none is not delivered as one."""
        picture = PNG + os.urandom(20 * MIB) + b"\n"
        file = self.bridge.directory + "/picture"
        with open(file, "wb") as f:
            f.write(picture)
        self.use("cat %s" % file)
        self.assertEqual(self.ask("clipboard", b"-t image/png\n") == b"OK\n" + picture, True)
        with open(file, "wb") as f:
            f.write(b"hello")
        self.assertEqual(self.ask("clipboard", b"-t image/png\n"), b"ERR wrong type\n")
        self.assertEqual(self.ask("clipboard", b"-t text/plain\n"), b"OK\nhello")
        self.ended("failed")

    def test_refused_never_reaches_the_host(self):
        self.use("echo never")
        for line in (b"--watch id", b"-w id", b"-p", b"-l --watch id", b"-t application/pdf", b"-t image/$(id)", b"x", b"-t",
                     b"-l\r", b"-l\0", b"\0", b"\xff\xfe", b"-l\t", b"-t " + b"a" * 4000):
            with self.subTest(line=line[:40]):
                self.assertEqual(self.ask("clipboard", line + b"\n"), b"ERR refused\n")
                e = self.ended("request-refused")
                self.assertEqual((e["BRIDGE_OUTCOME"], e["MESSAGE_ID"]), ("refused", h.REFUSED))
        self.assertEqual(self.ask("clipboard", b"x" * 5000), b"ERR refused\n")
        self.assertEqual(self.calls(), [])

    def test_line_that_does_not_end(self):
        c = self.bridge.connect(self.bridge.line("clipboard") + b"-l")
        c.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(c), b"")
        self.ended("closed-early")
        start = time.monotonic()
        c = self.bridge.connect(self.bridge.line("clipboard"))
        self.assertEqual(read_all(c), b"")
        self.assertTrue(4.5 < time.monotonic() - start < 8)
        self.ended("line-timeout")

    def test_silent_ones(self):
        """Those that never ask have few places, for five seconds."""
        self.use("echo ok")
        silent = [self.bridge.connect(self.bridge.line("clipboard")) for _ in range(64)]
        c = self.bridge.connect(self.bridge.line("clipboard") + b"-n\n")
        self.assertEqual(read_all(c), b"")
        self.ended("too-many")
        for s in silent:
            self.assertEqual(read_all(s), b"")
            s.close()
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"OK\nok\n")

    def test_statuses(self):
        self.use("echo words; echo words >&2; case $* in --list-types) exit 1;; --no-newline) exit 77;; *) kill -9 $$;; esac")
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"ERR exit 1\n")
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"ERR exit 77\n")
        self.assertEqual(self.ask("clipboard", b"\n"), b"ERR exit 137\n")
        e = self.ended("failed")
        self.assertEqual((e["BRIDGE_OUTCOME"], e["MESSAGE_ID"]), ("served", h.SERVED))

    def test_missing(self):
        os.unlink(self.use("true"))
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"ERR missing\n")

    def test_hangs(self):
        """C01: the child and what it has started are killed; meanwhile everything else goes on."""
        self.use("case $* in --list-types) echo quick;; *) printf x; tail -f /dev/null & echo $! >>%s.child; wait;; esac"
                 % (self.bridge.directory + "/log"))
        start = time.monotonic()
        slow = [self.bridge.connect(self.bridge.line("clipboard") + b"-n\n") for _ in range(2)]
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"OK\nquick\n")
        self.assertLess(time.monotonic() - start, 8)
        for c in slow:
            c.settimeout(20)
            self.assertEqual(read_all(c), b"ERR timeout\n")
            c.close()
        self.assertTrue(9 < time.monotonic() - start < 14)
        pids = [c[0] for c in self.calls()]
        with open(self.log + ".child") as f:
            pids += f.read().split()
        # The answer comes when they have been told to end (SIGKILL), which takes each of them a moment.
        for pid in pids:
            self.assertTrue(self.ends(int(pid)), pid)
        self.supervisor.wait_no_child()

    @staticmethod
    def ends(pid):
        """Whether a process has ended, or does soon. A killed orphan is a zombie until the machine's PID 1 gets to it."""
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            return bool(select.select([pidfd], [], [], h.WAIT)[0])
        finally:
            os.close(pidfd)

    def test_floods(self):
        """More than 64 MiB is too much, and not a byte of it is delivered; exactly so much passes. Memory stays bounded."""
        self.use("case $* in --no-newline) exec head -c %d /dev/zero;; --list-types) exec yes;; "
                 "*) exec head -c %d /dev/zero;; esac" % (64 * MIB, 64 * MIB + 1))
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"ERR too large\n")
        self.assertEqual(self.ask("clipboard", b"\n"), b"ERR too large\n")
        c = self.bridge.connect(self.bridge.line("clipboard") + b"-n\n")
        n = 0
        while True:
            piece = c.recv(MIB)
            if not piece:
                break
            n += len(piece)
        self.assertEqual(n, 3 + 64 * MIB)
        c.close()
        self.assertLess(self.bridge.rss(), 64 * 1024)
        with open("/proc/%d/status" % self.supervisor.process.pid) as f:
            self.assertLess([int(line.split()[1]) for line in f if line.startswith("VmHWM")][0], 64 * 1024)

    def test_few_at_once(self):
        """C02: a limit. A reader that never reads has one of the places until it has stood still for ten seconds, and the
        rest of the bridge does not feel it."""
        self.use("case $* in --list-types) head -c %d /dev/zero;; *) echo ok;; esac" % (30 * MIB))
        stuck = [self.bridge.connect(self.bridge.line("clipboard") + b"-l\n") for _ in range(4)]
        for c in stuck:
            self.assertEqual(read_exactly(c, 3), b"OK\n")
        start = time.monotonic()
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"ERR busy\n")
        self.ended("too-many")
        # A descriptor of the bridge for each of them, no memory.
        self.assertLess(self.bridge.rss(), 64 * 1024)
        deadline = start + 25
        while self.ask("clipboard", b"-n\n") == b"ERR busy\n":
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.2)
        self.assertGreater(time.monotonic() - start, 8)
        # What was cut short does not end like a whole answer.
        for c in stuck:
            with self.assertRaises(ConnectionResetError):
                while c.recv(MIB):
                    pass
            c.close()

    def test_guest_that_goes(self):
        self.use("case $* in --list-types) tail -f /dev/null;; *) echo ok;; esac")
        for _ in range(4):
            c = self.bridge.connect(self.bridge.line("clipboard") + b"-l\n")
            while not self.calls():
                select.select([], [], [], 0.02)
            h.reset(c)
            os.unlink(self.log)
        self.supervisor.wait_no_child()
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"OK\nok\n")

    def test_clean_child(self):
        """Nothing of the supervisor's: descriptors, environment, working directory's name aside."""
        self.use("ls /proc/self/fd; env | sort; cat /proc/self/status | grep SigBlk", environment=["WAYLAND_DISPLAY=wayland-7"])
        out = self.ask("clipboard", b"\n").decode().splitlines()
        self.assertEqual(out[0], "OK")
        self.assertEqual([line for line in out[1:] if line.isdigit()], ["0", "1", "2", "3"])  # the last is the listing's own
        names = [line.split("=")[0] for line in out if "=" in line]
        self.assertEqual(set(names) - {"PWD", "_", "SHLVL", "OLDPWD"}, {"PATH", "WAYLAND_DISPLAY"})
        self.assertIn("SigBlk:\t0000000000000000", out)

    def test_xclip(self):
        self.use("case $* in '-selection clipboard -o -t TARGETS') printf 'TARGETS\\nUTF8_STRING\\nimage/png\\n';; "
                 "'-selection clipboard -o -t UTF8_STRING') printf 'text';; "
                 "'-selection clipboard -o -t image/png') printf '\\211PNG\\r\\n\\032\\n';; *) exit 1;; esac", program="xclip")
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"OK\ntext/plain;charset=utf-8\nimage/png\n")
        self.assertEqual(self.ask("clipboard", b"\n"), b"OK\ntext\n")
        self.assertEqual(self.ask("clipboard", b"-n\n"), b"OK\ntext")
        self.assertEqual(self.ask("clipboard", b"-t text/plain\n"), b"OK\ntext\n")
        self.assertEqual(self.ask("clipboard", b"-t image/png\n"), b"OK\n" + PNG)
        self.assertEqual(self.ask("clipboard", b"-t image/gif\n"), b"ERR exit 1\n")

    def test_no_supervisor(self):
        self.assertEqual(self.ask("clipboard", b"-l\n"), b"ERR failed\n")
        self.ended("backend-gone")

    def test_supervisor_judges_again(self):
        """A bridge in a guest's hands asks for what it likes."""
        self.use("echo ok")
        good, fds = self.supervisor.ask(request="paste", id=h.ID, arguments="-l")
        self.assertEqual((good, len(fds)), ({"ok": True}, 1))
        self.assertEqual(os.pread(fds[0], 100, 0), b"ok\n")
        # Sealed: nobody changes it any more.
        for attempt in (lambda: os.pwrite(fds[0], b"x", 0), lambda: os.ftruncate(fds[0], 0), lambda: os.ftruncate(fds[0], 99)):
            self.assertRaises(PermissionError, attempt)
        os.close(fds[0])
        for arguments in ("--watch id", "-p", "-t application/pdf", "-l\nx", "a" * 5000):
            self.assertEqual(self.supervisor.ask(request="paste", id=h.ID, arguments=arguments),
                             ({"ok": False, "reason": "refused"}, []))
        for other in ("00000000", "ffffffff"):
            self.assertEqual(self.supervisor.ask(request="paste", id=other, arguments="-l"),
                             ({"ok": False, "reason": "refused"}, []))
        self.assertEqual(self.supervisor.ask(request="open", id=h.ID, url="https://clau.de/chrome"), ({"ok": False}, []))
        self.assertEqual(len(self.calls()), 1)


    def read_messages(self, match, count):
        """Until so many lines of the supervisor's match."""
        deadline = time.monotonic() + h.WAIT
        text = getattr(self, "text", "")
        while len(re.findall(match, text)) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.supervisor.process.stderr], [], [], left)[0]:
                raise AssertionError("not said: %s in %r" % (match, text[-500:]))
            text += os.read(self.supervisor.process.stderr.fileno(), 65536).decode()
        self.text = text

    def test_refusals_do_not_fill_the_log(self):
        """A bridge in a guest's hands asks again and again: a few are told, the others counted, and those of other launches not hidden."""
        self.use("echo ok")
        other = self.supervisor.connect()
        other.sendall(b'{"request":"hold","id":"0000beef","directory":"/"}\n')
        self.assertEqual(read_exactly(other, 12), b'{"ok":true}\n')
        floods, start = 600, time.monotonic()
        for i in range(floods // 2):
            self.supervisor.ask(request="paste", id=h.ID, arguments="--watch id")
            self.supervisor.ask(request="open", id=h.ID, url="https://evil.example/%d" % i)
            if i == REFUSALS_TOLD_MAX:
                for id in ("0000beef", "ffffffff"):
                    self.supervisor.ask(request="open", id=id, url="https://evil.example/")
        self.read_messages("launch (0000beef|ffffffff) asked", 2)
        # It tells how many by itself, when a while has passed.
        self.read_messages("more requests of the bridge of launch %s were refused" % h.ID, 1)
        # And the rest at the latest when the launch ends.
        for _ in range(3 * REFUSALS_TOLD_MAX):
            self.supervisor.ask(request="paste", id=h.ID, arguments="--watch id")
        floods += 3 * REFUSALS_TOLD_MAX
        took = time.monotonic() - start
        other.sendall(b'{"request":"done","status":0}\n')
        other.close()
        text = self.text + self.supervisor.stop()
        del self.supervisor
        told = len(re.findall("launch %s asked" % h.ID, text))
        counted = [int(n) for n in re.findall("([0-9]+) more requests of the bridge of launch %s" % h.ID, text)]
        self.assertEqual(told + sum(counted), floods)
        self.assertLessEqual(told, REFUSALS_TOLD_MAX * (took / REFUSALS_SECONDS + 1))
        self.assertLessEqual(len(counted), took / REFUSALS_SECONDS + 2)
        self.assertNotIn("evil", text)


class Open(ServiceTest):
    """With a stand-in for the supervisor, which writes down what it is asked."""

    def setUp(self):
        super().setUp()
        self.supervisor = Agent(self.bridge.supervisor_path)

    def tearDown(self):
        self.supervisor.close()
        super().tearDown()

    def test_opened_or_not(self):
        for answer, expected, reason in ((b'{"ok":true}\n', b"OK\n", "served"), (b'{"ok":false}\n', b"NO\n", "failed"),
                                         (b"nonsense\n", b"NO\n", "failed"), (b"", b"NO\n", "failed")):
            c = self.bridge.connect(self.bridge.line("open") + b"https://clau.de/chrome/tab?x=$HOME&y='z'\n")
            s = self.supervisor.accept()
            line = s.makefile("rb").readline()
            self.assertEqual(json.loads(line), {"request": "open", "id": h.ID, "url": "https://clau.de/chrome/tab?x=$HOME&y='z'"})
            s.sendall(answer)
            s.close()
            self.assertEqual(read_all(c), expected)
            c.close()
            self.assertEqual(self.ended(reason)["BRIDGE_SERVICE"], "open")

    def test_refused_never_reaches_the_supervisor(self):
        for url in (b"http://clau.de/chrome", b"https://claude.ai/chromebook-ad", b"https://claude.ai/chrome/../settings",
                    b"https://claude.ai@evil.example/chrome", b"https://clau.de/chrome/%2e%2e/x", b"--version",
                    b'https://clau.de/chrome","id":"00000000', b"https://clau.de/chrome\0", b"https://clau.de/chrome\r", b"",
                    b" https://clau.de/chrome", b"https://clau.de/chrome x", b"\xff", b"https://clau.de/chrome/" + b"a" * 3000):
            with self.subTest(url=url[:50]):
                self.assertEqual(self.ask("open", url + b"\n"), b"NO\n")
                e = self.ended("request-refused")
                self.assertNotIn("clau", e["RAW"].replace("CLAUDE_", "").replace("claude-sandbox", ""))
        self.assertFalse(select.select([self.supervisor.socket], [], [], 0)[0])

    def test_few_at_once(self):
        waiting = [self.bridge.connect(self.bridge.line("open") + b"https://clau.de/chrome\n") for _ in range(4)]
        asked = [self.supervisor.accept() for _ in waiting]
        self.assertEqual(self.ask("open", b"https://clau.de/chrome\n"), b"NO\n")
        self.ended("too-many")
        # One place becomes free.
        asked[0].sendall(b'{"ok":true}\n')
        answered = select.select(waiting, [], [], h.WAIT)[0][0]
        self.assertEqual(read_all(answered), b"OK\n")
        c = self.bridge.connect(self.bridge.line("open") + b"https://clau.de/chrome\n")
        s = self.supervisor.accept()
        s.sendall(b'{"ok":true}\n')
        self.assertEqual(read_all(c), b"OK\n")
        for s in asked + waiting:
            s.close()


def frame(text):
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    return struct.pack("<I", len(text)) + text


def read_frame(s):
    n, = struct.unpack("<I", read_exactly(s, 4))
    return read_exactly(s, n)


class NativeHost(threading.Thread):
    """A stand-in for claude's native-messaging host: a socket that speaks the framing. Like the real one's extension it answers a
    method that it does not know by naming it, to all of its clients, and like Chrome's it ends when nothing came for a while."""

    def __init__(self, directory, name, idle=None, mode=0o600):
        super().__init__(daemon=True)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self.path = "%s/%s.sock" % (directory, name)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        os.chmod(self.path, mode)
        self.listener.listen(64)
        self.idle = idle
        self.clients = []
        self.frames = []
        self.stopping, self.stopped = socket.socketpair()
        self.aged = threading.Event()
        self.start()

    def run(self):
        buffers = {}
        last = time.monotonic()
        while True:
            timeout = None if self.idle is None else max(0, last + self.idle - time.monotonic())
            ready = select.select([self.listener, self.stopped, *self.clients], [], [], timeout)[0]
            if not ready:
                self.aged.set()
            if not ready or self.stopped in ready:
                break
            if self.listener in ready:
                c = self.listener.accept()[0]
                self.clients.append(c)
                buffers[c] = b""
            for c in [c for c in self.clients if c in ready]:
                piece = c.recv(1 << 20)
                if not piece:
                    self.clients.remove(c)
                    c.close()
                    continue
                last = time.monotonic()
                buffers[c] += piece
                while len(buffers[c]) >= 4 and len(buffers[c]) >= 4 + struct.unpack("<I", buffers[c][:4])[0]:
                    n = struct.unpack("<I", buffers[c][:4])[0]
                    text, buffers[c] = buffers[c][4:4 + n], buffers[c][4 + n:]
                    self.handle(json.loads(text))
        for s in (self.listener, *self.clients):
            s.close()

    def handle(self, request):
        self.frames.append(request)
        if request["method"] == "echo":
            answer = frame({"result": request["params"]})
        else:
            answer = frame({"error": {"content": [{"type": "text", "text": "Unknown method: " + request["method"]}]}})
        for c in self.clients:
            c.sendall(answer)

    def keepalives(self):
        return sum(f["method"] == "claude_profile_keepalive" for f in self.frames)

    def end(self):
        self.stopping.send(b"x")
        self.join(h.WAIT)
        assert not self.is_alive()


class Chrome(ServiceTest):
    def connect(self):
        return self.bridge.connect(self.bridge.line("chrome"))

    def raw_host(self, name="1"):
        os.makedirs(self.bridge.paths["chrome"], mode=0o700, exist_ok=True)
        return Agent("%s/%s.sock" % (self.bridge.paths["chrome"], name))

    def echo(self, c, text):
        c.sendall(frame({"method": "echo", "params": text}))
        self.assertEqual(json.loads(read_frame(c)), {"result": text})

    def test_pieces(self):
        """N01: the same bytes, in both directions, however they are cut."""
        a = self.raw_host()
        two = frame(b"{}") * 2
        big = frame(b"x" * 65536) + frame(os.urandom(1 << 20))
        for data, step in ((frame(b"{}"), 1), (two, 8), (two, 3), (big, 4096), (big, len(big))):
            c = self.connect()
            s = a.accept()
            for source, sink in ((c, s), (s, c)):
                source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
                sender = threading.Thread(target=lambda: [source.sendall(data[i:i + step]) for i in range(0, len(data), step)])
                sender.start()
                self.assertEqual(read_exactly(sink, len(data)) == data, True)
                sender.join()
            c.close()
            self.assertEqual(s.recv(1), b"")
            s.close()
            self.ended("served")
        a.close()

    def test_last_words(self):
        """A host answers a frame that it does not take, and goes: the guest gets the answer."""
        a = self.raw_host()
        answer = frame(b'{"error":"too large"}')
        c = self.connect()
        s = a.accept()
        c.setblocking(False)
        rest = frame(b"x" * (32 << 20))
        while select.select([], [c], [], 0.3)[1]:
            rest = rest[c.send(rest):]
        self.assertTrue(rest)
        # Both come at once.
        os.kill(self.bridge.process.pid, signal.SIGSTOP)
        s.sendall(answer)
        s.close()
        os.kill(self.bridge.process.pid, signal.SIGCONT)
        c.settimeout(h.WAIT)
        self.assertEqual(read_exactly(c, len(answer)), answer)
        c.close()
        self.ended("broken-off")
        a.close()

    def test_last_words_are_long(self):
        """More than is read at a time, and the guest has said more when the host has gone."""
        a = self.raw_host()
        answer = frame(b"y" * 100000)
        c = self.connect()
        s = a.accept()
        os.kill(self.bridge.process.pid, signal.SIGSTOP)
        s.sendall(answer)
        s.close()
        c.sendall(frame(b"{}"))
        os.kill(self.bridge.process.pid, signal.SIGCONT)
        self.assertTrue(read_exactly(c, len(answer)) == answer)
        self.assertEqual(c.recv(1), b"")
        c.close()
        self.ended("broken-off")
        a.close()

    def test_guest_that_has_said_all_and_goes(self):
        """The host neither reads nor writes nor closes: the guest's end is enough, or 64 of them would be all that there are."""
        a = self.raw_host()
        for _ in range(3):
            c = self.connect()
            c.sendall(frame(b"{}"))
            s = a.accept()
            self.assertEqual(read_frame(s), frame(b"{}")[4:])
            c.shutdown(socket.SHUT_WR)
            self.assertEqual(s.recv(1), b"")
            h.reset(c)
            self.ended("broken-off")
            self.assertEqual(s.recv(1), b"")
        a.close()

    def test_cut_off(self):
        """N01: of a header that was cut nothing is passed on; the end is, and the journal knows."""
        a = self.raw_host()
        for data, arrives in ((b"\2\0\0", b""), (frame(b"{}") + b"\2", frame(b"{}")), (frame(b"x" * 100)[:50], None)):
            c = self.connect()
            s = a.accept()
            c.sendall(data)
            c.shutdown(socket.SHUT_WR)
            self.assertEqual(read_all(s), data if arrives is None else arrives)
            s.close()
            self.assertEqual(read_all(c), b"")
            c.close()
            self.ended("bad-frame")
        a.close()

    def test_bad_lengths(self):
        a = self.raw_host()
        for header in (0, 64 * MIB + 1, 0xffffffff):
            for from_guest in (True, False):
                c = self.connect()
                s = a.accept()
                source, sink = (c, s) if from_guest else (s, c)
                source.sendall(frame(b"{}") + struct.pack("<I", header) + b"rest")
                self.assertEqual(read_all(sink), frame(b"{}"))
                self.ended("bad-frame")
                c.close()
                s.close()
        a.close()

    def test_both_ways_at_once(self):
        """N03: both send much before they read; nothing locks up, nothing is buffered whole. One frame of 64 MiB, then 64 of one."""
        a = self.raw_host()
        c = self.connect()
        s = a.accept()
        frames = [64 * MIB] + [MIB] * 64
        before = self.bridge.rss()
        peak = [0]

        def send(sock):
            block = b"z" * MIB
            for n in frames:
                sock.sendall(struct.pack("<I", n))
                for _ in range(n // MIB):
                    sock.sendall(block)

        def drain(sock):
            n = 0
            while n < sum(frames) + 4 * len(frames):
                n += len(sock.recv(MIB))
                peak[0] = max(peak[0], self.bridge.rss())

        for sock in (c, s):
            sock.settimeout(60)
        senders = [threading.Thread(target=send, args=(sock,)) for sock in (c, s)]
        for t in senders:
            t.start()
        # Nobody reads yet: both stand still, and another connection does not mind.
        select.select([], [], [], 0.5)
        self.assertTrue(all(t.is_alive() for t in senders))
        other = self.connect()
        o = a.accept()
        other.sendall(frame(b"{}"))
        self.assertEqual(read_frame(o), b"{}")
        readers = [threading.Thread(target=drain, args=(sock,)) for sock in (c, s)]
        for t in readers:
            t.start()
        for t in senders + readers:
            t.join(60)
            self.assertFalse(t.is_alive())
        self.assertLess(peak[0] - before, (64 if SANITIZED else 4) * 1024, "KiB more")
        for sock in (c, s, other, o):
            sock.close()
        a.close()

    def test_keepalive(self):
        """A native host that ends when nothing comes for longer than a keepalive lives on, and the guest sees none of it."""
        host = NativeHost(self.bridge.paths["chrome"], "7", idle=8 * KEEPALIVE_SECONDS)
        first, second = self.connect(), self.connect()
        deadline = time.monotonic() + h.WAIT
        while len(host.clients) < 2:
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.02)
        self.echo(first, "a")
        self.assertEqual(json.loads(read_frame(second)), {"result": "a"})  # it answers all of its clients
        ready = select.select([first, second], [], [], 12 * KEEPALIVE_SECONDS)[0]
        self.assertEqual(ready, [])
        self.assertFalse(host.aged.is_set())
        self.assertGreaterEqual(host.keepalives(), 3)
        # In one stream with what the guest asks: in order, whole.
        for i in range(20):
            first.sendall(frame({"method": "echo", "params": i}))
            select.select([], [], [], KEEPALIVE_SECONDS / 7)
        self.assertEqual([json.loads(read_frame(first))["result"] for _ in range(20)], list(range(20)))
        # An unknown method of the guest's own is answered.
        first.sendall(frame({"method": "other", "params": {}}))
        self.assertIn("Unknown method: other", read_frame(first).decode())
        host.end()
        first.close()
        second.close()

    def test_no_keepalive_within_a_frame(self):
        a = self.raw_host()
        c = self.connect()
        s = a.accept()
        whole = frame(b"x" * 100)
        c.sendall(whole[:50])
        self.assertEqual(read_exactly(s, 50), whole[:50])
        self.assertEqual(select.select([s], [], [], 4 * KEEPALIVE_SECONDS)[0], [])
        c.sendall(whole[50:])
        self.assertEqual(read_exactly(s, 54), whole[50:])
        self.assertEqual(read_frame(s), KEEPALIVE)
        for sock in (c, s):
            sock.close()
        a.close()

    def test_no_busy_loop(self):
        """A host that never reads while the guest sends, and has gone half: the bridge waits, it does not spin."""
        a = self.raw_host()
        c = self.connect()
        s = a.accept()
        s.shutdown(socket.SHUT_WR)
        c.setblocking(False)
        try:
            while True:
                c.send(frame(b"x" * 60000))
        except BlockingIOError:
            pass
        before = self.bridge.cpu()
        select.select([], [], [], 1)
        self.assertLess(self.bridge.cpu() - before, 0.3)
        s.close()
        c.close()
        a.close()

    def test_no_busy_loop_without_a_host(self):
        """It has gone, which epoll says again whenever it is asked anew; the guest has not. A keepalive finds it out."""
        a = self.raw_host()
        c = self.connect()
        before = self.bridge.cpu()
        a.accept().close()
        self.assertEqual(c.recv(1), b"")
        self.ended("broken-off")
        self.assertLess(self.bridge.cpu() - before, 0.1)
        c.close()
        a.close()

    def test_restart(self):
        """N05: dead ones are skipped; between two browsers the end comes at once; the next one is found."""
        directory = self.bridge.paths["chrome"]
        dead = NativeHost(directory, "11")
        dead.end()
        with open(directory + "/33.sock", "w"):
            pass
        os.symlink("/nonexistent", directory + "/44.sock")
        live = NativeHost(directory, "22")
        c = self.connect()
        self.echo(c, "before")
        live.end()
        self.assertEqual(read_all(c), b"")
        c.close()
        start = time.monotonic()
        c = self.connect()
        self.assertEqual(read_all(c), b"")
        self.assertLess(time.monotonic() - start, 2)
        self.assertEqual(self.ended("backend-gone")["BRIDGE_OUTCOME"], "refused")
        c.close()
        again = NativeHost(directory, "55")
        c = self.connect()
        self.echo(c, "after")
        c.close()
        again.end()

    def test_unsafe_directory(self):
        directory = self.bridge.paths["chrome"]
        host = NativeHost(directory, "1")
        for mode in (0o777, 0o750, 0o701):
            os.chmod(directory, mode)
            c = self.connect()
            self.assertEqual(read_all(c), b"")
            c.close()
            self.ended("backend-unsafe")
        os.chmod(directory, 0o700)
        os.chown(directory, 1, -1)
        c = self.connect()
        self.assertEqual(read_all(c), b"")
        self.ended("backend-unsafe")
        c.close()
        os.chown(directory, 0, -1)
        os.rename(directory, directory + "-real")
        os.symlink(directory + "-real", directory)
        c = self.connect()
        self.assertEqual(read_all(c), b"")
        self.ended("backend-unsafe")
        c.close()
        os.unlink(directory)
        os.rename(directory + "-real", directory)
        c = self.connect()
        self.echo(c, "safe again")
        c.close()
        host.end()

    def test_not_too_many(self):
        """A guest does not use the user's browser up."""
        host = NativeHost(self.bridge.paths["chrome"], "1")
        held = [self.connect() for _ in range(64)]
        one_more = self.connect()
        self.assertEqual(read_all(one_more), b"")
        self.ended("too-many")
        one_more.close()
        held.pop().close()
        self.ended("served")
        c = self.connect()
        self.echo(c, "again")
        for c in [*held, c]:
            c.close()
        host.end()

    def test_none(self):
        c = self.connect()
        self.assertEqual(read_all(c), b"")
        self.ended("backend-gone")
        c.close()


class SealedChrome(Chrome):
    """As in its unit: it may list the directory above that of the native hosts, and no other."""

    def setUp(self):
        self.above = tempfile.mkdtemp(prefix="bridge-test.")
        os.mkdir(self.above + "/here")
        os.symlink("here", self.above + "/link")
        self.options = {"filtered": True, "chrome": self.above + "/link/chrome"}
        super().setUp()

    def tearDown(self):
        super().tearDown()
        shutil.rmtree(self.above)

    def expect_echo(self, text):
        c = self.connect()
        self.echo(c, text)
        c.close()

    def test_directory_that_comes_and_goes(self):
        directory = self.bridge.paths["chrome"]
        c = self.connect()
        self.assertEqual(read_all(c), b"")
        c.close()
        host = NativeHost(directory, "1")
        self.expect_echo("made after the start")
        os.rename(directory, directory + "-old")
        other = NativeHost(directory, "2")
        self.expect_echo("put into its place")
        self.assertTrue(other.frames)
        self.assertEqual(len(host.frames), 1)
        other.end()
        host.end()

    def test_no_other_directory(self):
        """The same path leads elsewhere since: it can be entered, as all could, but not be listed."""
        host = NativeHost(self.above + "/there/chrome", "1")
        os.unlink(self.above + "/link")
        os.symlink("there", self.above + "/link")
        if h.has_landlock():
            c = self.connect()
            self.assertEqual(read_all(c), b"")
            c.close()
            self.ended("backend-gone")
        host.end()


if __name__ == "__main__":
    h.enter_namespace()
    unittest.main(verbosity=2, warnings="ignore")
