# SPDX-License-Identifier: MIT
"""What bench-bridge.py measures: the bridge and its peers, each in a control group of its own, and floods."""

import contextlib
import os
import pathlib
import re
import resource
import select
import socket
import subprocess
import threading
import time

import bridge_harness as h
from guest_sandbox import until

PROXYD = "/lib/systemd/systemd-socket-proxyd"
PAGE = os.sysconf("SC_PAGE_SIZE")

# Slab caches that grow and shrink with what else happens: file systems', and those of connections that have ended.
OTHERS = re.compile(r"ext4|jbd2|btrfs|xfs|ovl|fuse|squashfs|proc_inode|kernfs|shmem|radix_tree|buffer_head|bio|extent|tw_sock")


class Group:
    """A control group with a program and all its children in it."""

    def __init__(self, name, mount):
        self.path = pathlib.Path(mount) / ("bench-%d-%s" % (os.getpid(), name))
        self.process = None

    def __enter__(self):
        self.path.mkdir()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        if self.process:
            self.process.wait()
        until(self.remove, "the end of %s" % self.path)

    def remove(self):
        try:
            self.path.rmdir()
        except OSError:
            return False
        return True

    def spawn(self, argv, **options):
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **options)
        self.take(self.process)
        return self.process

    def take(self, process):
        self.process = process
        (self.path / "cgroup.procs").write_text(str(process.pid))

    def pids(self):
        return [int(line) for line in (self.path / "cgroup.procs").read_text().split()]

    def pin(self, cpus):
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for task in os.listdir("/proc/%d/task" % pid):
                    os.sched_setaffinity(int(task), cpus)

    def cpu(self):
        """Seconds, of those that have ended too."""
        return int(re.search(r"usage_usec (\d+)", (self.path / "cpu.stat").read_text())[1]) / 1e6

    def private_memory(self):
        """Bytes that are nobody else's."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                text = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
                total += sum(int(n) for n in re.findall(r"^Private_\w+: +(\d+)", text, re.M)) * 1024
        return total


class Bridge:
    name = "bridge"

    def __init__(self, program, scope):
        self.harness = h.Bridge(program, scope).wait_ready()
        self.group = Group(self.name, scope.mount)
        self.where = (str(self.harness.address[1]), self.harness.line("gpg").decode().strip())
        self.backend_path = self.harness.paths["gpg"]
        self.directory = pathlib.Path(self.harness.directory)
        # Both services lead to the same backend; the bridge takes what passes to an ssh-agent apart.
        os.symlink(self.backend_path, self.harness.paths["ssh-0"])

    def __enter__(self):
        self.group.__enter__().take(self.harness.process)
        return self

    def __exit__(self, *_):
        self.harness.stop()
        self.group.__exit__()


class Peer:
    """Something else that passes connections on to `path`, from a port of its own."""

    def __init__(self, path, scope):
        self.path = path
        self.group = Group(self.name, scope.mount)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.where = (str(self.listener.getsockname()[1]), "")

    def __enter__(self):
        self.start(self.group.__enter__())
        self.listener.close()
        until(self.answers, "an answer of %s" % self.name)
        return self

    def __exit__(self, *_):
        self.group.__exit__()

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", int(self.where[0]))).close()
        except ConnectionRefusedError:
            return False
        return True


class Proxyd(Peer):
    name = "proxyd"

    def start(self, group):
        fd = self.listener.fileno()
        group.spawn(["sh", "-c", "exec 3<&%d; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"" % fd, "sh", PROXYD,
                     "--connections-max=5000", self.path], pass_fds=[fd], preexec_fn=more_descriptors)


class Socat(Peer):
    name = "socat"

    def start(self, group):
        self.listener.close()
        group.spawn(["socat", "TCP-LISTEN:%s,bind=127.0.0.1,fork,nodelay,reuseaddr,backlog=4096" % self.where[0],
                     "UNIX-CONNECT:%s" % self.path], preexec_fn=more_descriptors)


class Bare(Peer):
    """Not a program that anybody would use: the least that a relay can do, which is the floor for all of them."""
    name = "bare"

    def __init__(self, path, scope, program):
        super().__init__(path, scope)
        self.program = program

    def start(self, group):
        fd = self.listener.fileno()
        group.spawn([self.program, str(fd), self.path], pass_fds=[fd])


def more_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))


class Flood:
    """So many bad clients at once, until left: silent, with a wrong token, or sending a byte now and then."""

    FIRST = {"silent": b"", "wrong": b"0" * 64 + b" gpg\n", "dribbling": b"0"}

    def __init__(self, bridge, kind, n):
        self.kind = kind
        self.lives = []
        self.ended = threading.Event()
        more_descriptors()
        self.clients = {}
        for _ in range(n):
            c = bridge.harness.connect(self.FIRST[kind])
            c.setblocking(False)
            self.clients[c.fileno()] = c, time.monotonic()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for c, _ in self.clients.values():
            c.close()

    def run(self):
        """Notes when each is dropped; those that dribble say something every 300 ms."""
        poll = select.epoll()
        for fd in self.clients:
            poll.register(fd, select.EPOLLIN)
        while self.clients and not self.ended.is_set():
            for fd, _ in poll.poll(0.3):
                poll.unregister(fd)
                c, since = self.clients.pop(fd)
                c.close()
                self.lives.append(time.monotonic() - since)
            for c, _ in self.clients.values() if self.kind == "dribbling" else ():
                with contextlib.suppress(OSError):
                    c.send(b"0")

    def longest_life(self):
        """Waits for the last one's end."""
        self.thread.join(30)
        return float("inf") if self.clients else max(self.lives)


class Journal:
    """Stands for journald: counts."""

    def __enter__(self):
        self.n = 0
        self.harness = h.Journal()
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.harness.close()

    def read(self):
        with contextlib.suppress(OSError):
            while self.harness.socket.recv(65536):
                self.n += 1


def sockets_used():
    return int(re.search(r"sockets: used (\d+)", pathlib.Path("/proc/net/sockstat").read_text())[1])


def kernel_memory():
    """Bytes in slab caches, socket buffers, page tables and stacks."""
    total = 0
    for line in pathlib.Path("/proc/slabinfo").read_text().splitlines()[2:]:
        name, objects, _, size = line.split()[:4]
        if not OTHERS.search(name):
            total += int(objects) * int(size)
    meminfo = dict(re.findall(r"^(\w+): +(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M))
    total += (int(meminfo["KernelStack"]) + int(meminfo["PageTables"])) * 1024
    sockets = pathlib.Path("/proc/net/sockstat").read_text()
    return total + int(re.search(r"^TCP: .* mem (\d+)", sockets, re.M)[1]) * PAGE
