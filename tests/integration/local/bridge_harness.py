# SPDX-License-Identifier: MIT
"""Starts the bridge as the user manager would, with a port, a sock_diag socket, a manifest and a journal of the test's own.

Needs to be root, for a mount namespace (the journal's socket) and a control group (the launch's scope). Every wait has a
bound; nothing sleeps for luck.
"""

import collections
import ctypes
import errno
import json
import os
import resource
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

TOKEN = "0123456789abcdef" * 4
PROFILE = "a.b-c"
ID = "%08x" % os.getpid()  # others may run tests at the same time
PLAIN = "gpg"  # a service that passes any bytes
LIST = b"\0\0\0\1\x0b"  # what an ssh-agent is asked for its keys, and the answer of one that has none
NO_KEYS = b"\0\0\0\5\x0c\0\0\0\0"
SIGNED = "279a61ccb42646efaeef397914ed52f2"
WAIT = 10.0
BURST, PER_SECOND = 200, 20  # entries in the journal: at once, and after that
NETLINK_SOCK_DIAG = 4
LANDLOCK_CREATE_RULESET = 444  # with every architecture
JOURNAL = "/run/systemd/journal/socket"
SERVED = "aea2a4c9987e42e4843f915ab144c408"
REFUSED = "2fc7d2193e544122bf2855c6c38ce197"
SUPPRESSED = "aadaae314307401eb52c9971931bad2f"


def skip(why):
    """Leaves with the status that meson takes for a skipped test, unless skipping is forbidden."""
    print("skipped:", why)
    sys.exit(1 if os.environ.get("CLAUDE_PROFILE_TEST_NO_SKIP") == "1" else 77)


def enter_namespace():
    """Goes on in a mount namespace of its own, where /run/systemd/journal is the test's."""
    if os.geteuid() != 0:
        skip("needs root")
    if os.environ.get("BRIDGE_TEST_NAMESPACE") != "1":
        os.environ["BRIDGE_TEST_NAMESPACE"] = "1"
        try:
            os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", *sys.orig_argv])
        except OSError as e:
            skip("no unshare: %s" % e)
    os.makedirs(os.path.dirname(JOURNAL), exist_ok=True)
    if subprocess.call(["mount", "-t", "tmpfs", "tmpfs", os.path.dirname(JOURNAL)]) != 0:
        skip("cannot mount")


def cgroup_mount():
    with open("/proc/self/mounts") as f:
        for line in f:
            _, where, kind = line.split()[:3]
            if kind == "cgroup2":
                return where
    return skip("no cgroup2")


def filter_nothing(landlock=True):
    """A filter of system calls that allows all, where the bridge's unit has one that does not. Or all but Landlock, as an old kernel."""
    libc = ctypes.CDLL(None)
    steps = [(0x06, 0, 0, 0x7fff0000)]  # BPF_RET, SECCOMP_RET_ALLOW
    if not landlock:  # load the call's number, compare, SECCOMP_RET_ERRNO
        steps = [(0x20, 0, 0, 0), (0x15, 0, 1, LANDLOCK_CREATE_RULESET), (0x06, 0, 0, 0x00050000 | errno.ENOSYS)] + steps
    filter_ = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(filter_))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP


def has_landlock():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) > 0  # its version


class Scope:
    """A control group named like a launch's scope; the test moves itself in, so that its connections count as the guest's."""

    def __init__(self):
        self.mount = cgroup_mount()
        with open("/proc/self/cgroup") as f:
            self.home = [line[3:].strip() for line in f if line.startswith("0::")][0]
        self.path = self.home.rstrip("/") + "/claude-sandbox-%s-%s.scope" % (PROFILE, ID)
        self.inner = self.path + "/guest"
        try:
            os.makedirs(self.mount + self.inner, exist_ok=True)
        except OSError as e:
            skip("cannot make a control group: %s" % e)

    def join(self, path):
        with open(self.mount + path + "/cgroup.procs", "w") as f:
            f.write("0")

    def remove(self):
        self.join(self.home)
        for path in (self.inner, self.path):
            deadline = time.monotonic() + WAIT
            while True:
                try:
                    os.rmdir(self.mount + path)
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise


class Journal:
    def __init__(self):
        self.entries = []
        if os.path.exists(JOURNAL):
            os.unlink(JOURNAL)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(JOURNAL)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)

    def read(self, timeout=0.0):
        while select.select([self.socket], [], [], timeout)[0]:
            raw = self.socket.recv(65536).decode()
            entry = dict(line.split("=", 1) for line in raw.splitlines())
            entry["RAW"] = raw
            self.entries.append(entry)
            timeout = 0.0

    def wait(self, match, count=1):
        """Waits for `count` entries that `match`, and returns them."""
        deadline = time.monotonic() + WAIT
        while True:
            found = [e for e in self.entries if match(e)]
            if len(found) >= count:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError("no such entry among %r" % self.entries[-5:])
            self.read(left)

    def reasons(self):
        self.read()
        return collections.Counter(e["BRIDGE_REASON"] for e in self.entries if "BRIDGE_COUNT" not in e)

    def close(self):
        self.socket.close()
        os.unlink(JOURNAL)


class Agent:
    """A Unix socket that stands for an agent; `handler` gets each connection in turn, on the test's own thread."""

    def __init__(self, path, backlog=4096):
        self.path = path
        if os.path.exists(path):
            os.unlink(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(path)
        self.socket.listen(backlog)
        self.socket.settimeout(WAIT)

    def accept(self):
        c, _ = self.socket.accept()
        c.settimeout(WAIT)
        return c

    def close(self):
        self.socket.close()
        os.unlink(self.path)


class Bridge:
    def __init__(self, program, scope, services=("ssh-0", "gpg"), address="127.0.0.1", ssh_keys=None,
                 chrome="chrome", **options):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="bridge-test.")
        # `chrome` has a directory, `clipboard` and `open` have nothing.
        self.paths = {s: os.path.join(self.directory, chrome if s == "chrome" else s + ".sock")
                      for s in services if s not in ("clipboard", "open")}
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.bind((address, 0))
        self.listener.listen(4096)
        self.address = ("127.0.0.1", self.listener.getsockname()[1])
        self.diag = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.directory + "/notify")
        os.mkdir(self.directory + "/claude-profile")
        self.supervisor_path = "%s/claude-profile/%s.sock" % (self.directory, PROFILE)
        manifest = {"profile": PROFILE, "id": ID, "cgroup": scope.path, "token": TOKEN,
                    "services": [dict({"name": s}, **({"path": self.paths[s]} if s in self.paths else {})) for s in services]}
        if ssh_keys:
            manifest["ssh-keys"] = ssh_keys
        with open(self.directory + "/launch", "w") as f:
            json.dump(manifest, f)
        self.spawn(**options)

    def spawn(self, descriptors=None, environment=None, listen_pid="$$", diag=True, filtered=False,
              landlock=True):
        fds = [self.listener.fileno()] + ([self.diag.fileno()] if diag else [])
        env = {"CREDENTIALS_DIRECTORY": self.directory, "NOTIFY_SOCKET": self.directory + "/notify",
               "XDG_RUNTIME_DIR": self.directory, "LISTEN_FDS": str(len(fds)), "PATH": os.environ["PATH"]}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        if filtered and "ASAN_OPTIONS" in env:
            env["ASAN_OPTIONS"] += ":detect_leaks=0"  # that reads /proc
        elif filtered:
            env["ASAN_OPTIONS"] = "detect_leaks=0"
        env.update(environment or {})

        def prepare():
            for i, fd in enumerate(fds):
                os.dup2(fd, 400 + i)
            for i in range(len(fds)):
                os.dup2(400 + i, 3 + i)
            os.closerange(3 + len(fds), 4096)
            if filtered:
                filter_nothing(landlock)
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.notified = []
        self.process = subprocess.Popen(["sh", "-c", "LISTEN_PID=%s exec \"$@\"" % listen_pid, "sh", self.program],
                                        preexec_fn=prepare, env=env, close_fds=False, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        return self

    def wait_ready(self):
        self.wait_status(lambda s: "READY=1" in s)
        return self

    def wait_status(self, match):
        deadline = time.monotonic() + WAIT
        while True:
            for s in self.notified:
                if match(s):
                    return s
            left = deadline - time.monotonic()
            if left <= 0 or self.process.poll() is not None:
                raise AssertionError("no such status: %r; %r" % (self.notified[-3:], self.process.poll()))
            if select.select([self.notify], [], [], min(left, 0.5))[0]:
                self.notified.append(self.notify.recv(4096).decode())

    def connect(self, data=b"", source=None):
        c = socket.create_connection(self.address, timeout=WAIT, source_address=source)
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if data:
            c.sendall(data)
        return c

    def line(self, service=PLAIN, token=TOKEN):
        return ("%s %s\n" % (token, service)).encode()

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def runs(self):
        """How often it was given a processor, when it waits for something next."""
        deadline = time.monotonic() + WAIT
        while self.state() != "S":
            if time.monotonic() > deadline:
                raise AssertionError("it never sleeps")
        with open("/proc/%d/schedstat" % self.process.pid) as f:
            return int(f.read().split()[2])

    def state(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    def rss(self, field="VmRSS"):
        """KiB of memory; of VmHWM, the most that it ever had."""
        with open("/proc/%d/status" % self.process.pid) as f:
            return [int(line.split()[1]) for line in f if line.startswith(field)][0]

    def stop(self, expect=0):
        if self.process.poll() is None:
            self.process.terminate()
        _, err = self.process.communicate(timeout=WAIT)
        for s in (self.listener, self.diag, self.notify):
            s.close()
        shutil.rmtree(self.directory)
        if self.process.returncode != expect:
            raise AssertionError("exit status %d: %s" % (self.process.returncode, err.decode()))
        return err.decode()


def read_all(c):
    data = b""
    while True:
        try:
            piece = c.recv(65536)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece


def read_exactly(c, n):
    data = b""
    while len(data) < n:
        piece = c.recv(n - len(data))
        if not piece:
            raise AssertionError("end after %r" % data)
        data += piece
    return data


def reset(c):
    """Closes with RST."""
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
