#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a guest can do to the bridge, and cannot. Usage: test-bridge-abuse.py PROGRAM [TEST…]"""

import contextlib
import fcntl
import os
import re
import resource
import select
import socket
import statistics
import struct
import termios
import threading
import time
import unittest

import bridge_harness as h
from bridge_case import SANITIZED, SLACK, BridgeTest
from bridge_harness import read_all, read_exactly
from socket_memory import socket_memory

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../units/claude-bridge@.service.in")

# The most memory that the program itself may ever have had, in KiB, whatever is done to it: 3 MiB to be there, 2 MiB for 4,096
# relays, and 256 of them may be stalled with a read's worth each.
PEAK_MAX = 10 * 1024


def queued(s, what):
    """Bytes that wait to be read there, or for the other end to read them."""
    return struct.unpack("i", fcntl.ioctl(s, what, bytes(4)))[0]


class AbuseTest(BridgeTest):
    service = "gpg"  # bytes pass unread

    def tearDown(self):
        peak = self.bridge.rss("VmHWM") if self.bridge.process.poll() is None else 0
        super().tearDown()
        print("its own memory at most: %d KiB" % peak)
        if not SANITIZED:
            self.assertLess(peak, PEAK_MAX)

    def fill(self, s):
        """Sends until nobody takes any more, or it has been ended."""
        s.setblocking(False)
        try:
            while True:
                s.send(b"x" * 1000000)
        except OSError:
            s.settimeout(h.WAIT)


class Floods(AbuseTest):
    def test_places(self):
        """64 that dribble; the next good one takes its turn when the oldest has had its quarter of a second."""
        self.expect_served()
        waiting = [self.bridge.connect(b"0") for _ in range(64)]
        took = self.expect_served()
        self.assertLess(took, 0.25 + SLACK)
        # From then on each newcomer replaces the oldest.
        more = [self.bridge.connect(b"0") for _ in range(3)]
        for c in waiting[:3]:
            self.assertEqual(read_all(c), b"")
        self.assertFalse(select.select(waiting[3:] + more, [], [], 0)[0])
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "crowded-out", 3)
        self.assertLess(self.expect_served(), SLACK)

    def test_two_thousand_silent_ones(self):
        quiet = sorted(self.expect_served() for _ in range(20))[10]
        silent = [self.bridge.connect() for _ in range(2000)]
        took = [self.expect_served() for _ in range(20)]
        self.assertLess(min(took), 0.1)
        self.assertLess(max(took), SLACK)
        # They come up a second later, all at once, and go again.
        start = time.monotonic()
        worst = 0.0
        while time.monotonic() - start < 1.5:
            worst = max(worst, self.expect_served())
        self.assertLess(worst, SLACK)
        for c in silent:
            self.assertEqual(read_all(c), b"")
        print("quiet %.0f us, among 2,000 silent ones %.0f us, worst %.0f us" % (
            quiet * 1e6, sorted(took)[10] * 1e6, worst * 1e6))

    def test_two_thousand_dribbling_ones(self):
        """Each sends a byte again and again, from the first moment on, and each is gone after 5 s, those that had to wait for
        their turn too; a good one is served as if they were not there."""
        quiet = statistics.median(self.expect_served() for _ in range(20))
        born = {}
        full = threading.Event()
        speaker = threading.Thread(target=self.dribble, args=(born, full))
        speaker.start()
        for _ in range(2000):
            c = self.bridge.connect(b"0")
            born[c.fileno()] = c, time.monotonic()
        full.set()
        took = [self.expect_served()]
        lives = []
        poll = select.epoll()
        for fd in born:
            poll.register(fd, select.EPOLLIN)
        while born:
            for fd, _ in poll.poll(0.1):
                c, since = born.pop(fd)
                self.assertEqual(read_all(c), b"")
                lives.append(time.monotonic() - since)
                c.close()
            took += [self.expect_served() for _ in range(20)]
        speaker.join()
        print("quiet %.0f us, among 2,000 dribbling ones %.0f us, worst %.0f ms; the longest of those lived %.2f s" % (
            quiet * 1e6, statistics.median(took) * 1e6, max(took) * 1e3, max(lives)))
        self.assertLess(statistics.median(took), 0.1)
        self.assertLess(max(took), 0.25 + SLACK)
        self.assertLess(max(lives), 5 + SLACK)

    @staticmethod
    def dribble(clients, full):
        """Goes round the clients, until all have come and gone."""
        while clients or not full.is_set():
            for c, _ in list(clients.values()):
                with contextlib.suppress(OSError):
                    c.send(b"0")
            select.select([], [], [], 0.05)

    def test_wrong_ones(self):
        wrong = [self.bridge.connect(b"GET / HTTP/1.1\r\n\r\n") for _ in range(2000)]
        self.assertLess(self.expect_served(), SLACK)
        for c in wrong:
            self.assertEqual(read_all(c), b"")

    def unread_without_owner(self):
        """Connections of the bridge's that it has closed, with something that waits for their peers."""
        port = "0100007F:%04X" % self.bridge.address[1]
        with open("/proc/net/tcp") as f:
            rows = [line.split() for line in f]
        return sum(r[1] == port and r[4][:8] != "00000000" and r[9] == "0" for r in rows)

    def test_readers_that_never_read(self):
        """Those that are stuck for longest go when there are too many; what else is open goes on."""
        good = self.bridge.connect(self.line())
        good_agent = self.agent.accept()
        pairs = []
        for i in range(300):
            c = self.bridge.connect(self.line())
            a = self.agent.accept()
            pairs.append((c, a))
        # The kernel's buffers grow while they are filled.
        deadline = time.monotonic() + h.WAIT
        while self.journal.reasons()["stalled"] < 44:
            self.assertLess(time.monotonic(), deadline)
            for i, (c, a) in enumerate(pairs):
                self.fill(c if i % 2 else a)
        self.bridge.wait_status(lambda s: "257 open" in s)
        good.sendall(b"hello")
        self.assertEqual(read_exactly(good_agent, 5), b"hello")
        busy = self.bridge.cpu()
        self.assertFalse(select.select([good, good_agent], [], [], 1)[0])
        self.assertLess(self.bridge.cpu() - busy, 0.1)
        # What the others had not read is not in the kernel's memory any more, where nobody would count it.
        self.assertEqual(self.unread_without_owner(), 0)
        # One that is left still delivers everything, and at once.
        c, a = pairs[-1]
        a.settimeout(h.WAIT)
        self.assertEqual(len(read_exactly(a, 1000000)), 1000000)
        for c, a in pairs:
            c.close()
            a.close()

    def test_journal_budget(self):
        for _ in range(1000):
            c = self.bridge.connect(b"GET / HTTP/1.1\r\n\r\n")
            read_all(c)
            c.close()
        summary = [e for e in self.wait_summary() if e["BRIDGE_REASON"] == "bad-token"]
        single = self.journal.reasons()["bad-token"]
        self.assertLessEqual(single, 200 + 20 * 15)
        self.assertEqual(single + sum(int(e["BRIDGE_COUNT"]) for e in summary), 1000)
        self.assertIn("CLAUDE_LAUNCH", summary[0])

    def test_no_flood_hides_another_kind(self):
        for _ in range(300):
            self.expect_refused_quietly(self.bridge.connect(b"GET / HTTP/1.1\r\n\r\n"))
            self.journal.read()
        self.assertLess(self.journal.reasons()["bad-token"], 300)
        self.expect_refused_quietly(self.bridge.connect(self.bridge.line("ssh-1")))
        self.expect_served()
        self.scope.join(self.scope.home)
        self.expect_refused_quietly(self.bridge.connect(self.line()))
        self.scope.join(self.scope.inner)
        self.assertEqual(self.journal.wait(lambda e: e["BRIDGE_REASON"] == "foreign-cgroup")[0]["PEER_UID"], "0")
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "service-not-enabled")
        self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)

    def wait_summary(self):
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            self.journal.read(0.5)
            found = [e for e in self.journal.entries if e["MESSAGE_ID"] == h.SUPPRESSED]
            if found:
                return found
        raise AssertionError("no summary")

    def test_ever_new_places(self):
        """Who has no token, but a thousand control groups to come from, each of which the journal wants to have named: that takes a
        twentieth of the bridge's time, so good clients do not wait for it, and the first are named."""
        top = "%s/places-%d" % (self.scope.home.rstrip("/"), os.getpid())
        places = ["%s/%d" % (top, i) for i in range(900)]
        for place in (top, *places):
            os.mkdir(self.scope.mount + place)
        try:
            cpu, start = self.bridge.cpu(), time.monotonic()
            for place in places[:120]:
                self.scope.join(place)
                self.expect_refused_quietly(self.bridge.connect(b"x"))
                self.journal.read()
            cpu, took = self.bridge.cpu() - cpu, time.monotonic() - start
        finally:
            self.scope.join(self.scope.inner)
            for place in (*places, top):
                os.rmdir(self.scope.mount + place)
        foreign = [e["PEER_CGROUP"] for e in self.journal.entries if e["BRIDGE_REASON"] == "foreign-cgroup"]
        print("%d places in %.2f s, %d of them named; %.2f s of the processor" % (len(foreign), took, sum(p in places for p in foreign), cpu))
        self.assertGreater(len(foreign), 100)
        self.assertIn(foreign[0], places)
        self.assertTrue(all(p in places or p.isdigit() for p in foreign))
        if not SANITIZED:
            self.assertLess(cpu, 0.2 + took / 5)

    def test_journal_that_does_not_read(self):
        """Its queue is full: connections go on at once, and what could not be told comes in the summary."""
        full = self.fill_queue(h.JOURNAL, b"MESSAGE=full\n")
        for _ in range(100):
            self.expect_served()
        self.assertLess(self.expect_served(), SLACK)
        self.bridge.wait_status(lambda s: "0 open, 101 served" in s)
        for _ in range(full):
            self.assertEqual(self.journal.socket.recv(100), b"MESSAGE=full\n")
        summary = self.wait_summary()
        self.assertEqual([(e["BRIDGE_REASON"], e["BRIDGE_COUNT"]) for e in summary], [("served", "101")])

    def fill_queue(self, path, text):
        """Puts as much into the queue of a socket as there is room, and says how many."""
        n = 0
        while True:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
                s.setblocking(False)
                s.connect(path)
                before = n
                try:
                    while True:
                        s.send(text)
                        n += 1
                except BlockingIOError:
                    if n == before:
                        return n

    def test_no_journal(self):
        os.rename(h.JOURNAL, h.JOURNAL + ".away")
        for _ in range(300):
            self.expect_served()
        os.rename(h.JOURNAL + ".away", h.JOURNAL)
        # Nothing is lost but the detail.
        self.bridge.wait_status(lambda s: "0 open, 300 served" in s)
        self.bridge.process.terminate()
        self.bridge.process.wait(timeout=h.WAIT)
        summary = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SUPPRESSED)
        self.assertEqual([(e["BRIDGE_REASON"], e["BRIDGE_COUNT"]) for e in summary], [("served", "300")])

    def test_status(self):
        for _ in range(50):
            self.expect_served()
        self.bridge.wait_status(lambda s: "0 open, 50 served, 0 refused" in s)
        self.assertLessEqual(len(self.bridge.notified), 5)

    def test_manager_that_does_not_read(self):
        """Stopped, or busy with a reload: connections go on at once, and it learns how things stand as soon as it reads again. Not
        even the end waits for it."""
        path = self.bridge.directory + "/notify"
        start = time.monotonic()
        self.fill_queue(path, b"STATUS=full")
        served = 0
        while time.monotonic() - start < 2.5:
            self.assertLess(self.expect_served(), SLACK)
            served += 1
        select.select([], [], [], 1.2)  # the last change, too, is told in vain
        self.bridge.wait_status(lambda s: "0 open, %d served" % served in s)
        # tearDown() ends it, and waits.
        self.fill_queue(path, b"STATUS=full")


class Stuck(AbuseTest):
    """Ends that stop taking bytes, or die with bytes under way."""

    def test_backend_dies_in_the_middle_of_a_frame(self):
        """What it sent before comes through; others do not notice."""
        other = self.bridge.connect(self.line())
        other_agent = self.agent.accept()
        for reset in (False, True):
            c = self.bridge.connect(self.line())
            a = self.agent.accept()
            self.fill(c)
            a.sendall(b"\x00\x00\x10\x00half of a frame")
            self.assertEqual(read_exactly(c, 19)[4:], b"half of a frame")
            if reset:
                read_exactly(a, 100000)
            a.close()
            self.assertEqual(read_all(c), b"")
            c.close()
            self.journal.wait(lambda e: e["BRIDGE_REASON"] == "broken-off", 1 + reset)
        other.sendall(b"hello")
        self.assertEqual(read_exactly(other_agent, 5), b"hello")

    def test_client_that_never_reads_its_replies(self):
        """It asks again and again: the agent is stopped, not the bridge filled."""
        c = self.bridge.connect(self.line())
        a = self.agent.accept()
        while select.select([], [a], [], 0.2)[1]:
            self.fill(a)
        stuck = self.bridge.rss()
        for _ in range(200):
            self.assertLess(self.expect_served(), SLACK)
        cpu = self.bridge.cpu()
        self.assertFalse(select.select([a], [a], [], 1)[1])
        self.assertLess(self.bridge.cpu() - cpu, 0.1)
        if not SANITIZED:
            self.assertLess(self.bridge.rss() - stuck, 256)
        c.close()
        self.assertEqual(read_all(a), b"")

    def test_many_come_and_go(self):
        """Whatever becomes of them, nothing is left of them."""
        self.mixed(200)
        before = self.bridge.rss()
        self.mixed(2000)
        grown = self.bridge.rss() - before
        print("after 10,000 connections: %d KiB more" % grown)
        if not SANITIZED:
            self.assertLess(grown, 256)

    def mixed(self, n):
        for i in range(n):
            self.expect_served()
            for data in (b"", b"0", b"wrong\n"):
                h.reset(self.bridge.connect(data))
            c = self.bridge.connect(self.line() + b"x" * 1000)
            a = self.agent.accept()
            (h.reset if i % 2 else lambda s: s.close())(c)
            a.close()
            self.journal.read()


class Idle(AbuseTest):
    def test_a_thousand_idle_relays(self):
        self.expect_served()
        before = self.bridge.rss()
        pairs = []
        for i in range(1000):
            c = self.bridge.connect(self.line())
            pairs.append((c, self.agent.accept()))
        self.bridge.wait_status(lambda s: "1000 open" in s)
        runs = self.bridge.runs()
        each = (self.bridge.rss() - before) * 1024 / 1000
        print("an idle relay: %d bytes" % each)
        if not SANITIZED:
            self.assertLess(each, 1024)
        self.assertFalse(select.select([pairs[0][0]], [], [], 3)[0])
        self.assertEqual(self.bridge.runs(), runs)
        for c, a in pairs[::100]:
            c.sendall(b"x")
            self.assertEqual(read_exactly(a, 1), b"x")
        for c, a in pairs:
            c.close()
            a.close()


class Most(AbuseTest):
    def test_as_many_as_there_may_be(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
        pairs = []
        for _ in range(4096):
            c = self.bridge.connect(self.line())
            pairs.append((c, self.agent.accept()))
            self.journal.read()
        self.expect_refused(self.bridge.connect(self.line()), "too-many")
        self.expect_refused(self.bridge.connect(b"wrong\n"), "malformed-line")
        # All of them have something to say at once, three times; it must not cost more for each because they are many.
        cpu = self.bridge.cpu()
        for _ in range(3):
            for c, a in pairs:
                c.sendall(b"x")
            for c, a in pairs:
                self.assertEqual(read_exactly(a, 1), b"x")
        cpu = self.bridge.cpu() - cpu
        print("a byte by each of 4,096 at once: %.0f us each" % (cpu / 3 / 4096 * 1e6))
        if not SANITIZED:
            self.assertLess(cpu, 2)
        for s in pairs.pop():
            s.close()
        self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)
        self.expect_served()
        for c, a in pairs:
            c.close()
            a.close()


class Full(AbuseTest):
    """As many as there may be, full in both directions, with what the kernel takes for each without that any of them is stalled."""

    def connect(self):
        """One whose client has no room of its own."""
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.connect(self.bridge.address)
        c.sendall(self.line())
        return c, self.agent.accept()

    def grow(self, c, a):
        """Lets the kernel give the connection what a fast one gets."""
        data, left = b"x" * (1 << 20), 8 << 20
        a.setblocking(False)
        c.setblocking(False)
        while left > 0:
            with contextlib.suppress(BlockingIOError):
                a.send(data)
            with contextlib.suppress(BlockingIOError):
                left -= len(c.recv(1 << 20))

    @staticmethod
    def room(s, taken, unsure):
        """How much can be sent before the bridge itself holds any of it, in steps of less than it reads at once. `taken` tells whether
        all that was sent so far is; of what is, that many of the last steps it may hold."""
        step, n = b"x" * (8 << 10), 0
        while True:
            s.sendall(step)
            n += len(step)
            deadline = time.monotonic() + 0.3
            while not taken(n):
                if time.monotonic() > deadline:
                    return n - (1 + unsure) * len(step)
                select.select([], [], [], 0.005)

    def test_memory(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
        pairs = []
        while len(pairs) < 64:
            c = self.bridge.connect(self.line())
            pairs.append((c, self.agent.accept()))
        pairs += [self.connect() for _ in range(36)]
        for c, a in pairs[:64]:
            self.grow(c, a)
            self.fill(c)
            self.fill(a)
        c, a = pairs[-1]
        rooms = [self.room(c, lambda n: queued(a, termios.FIONREAD) == n, 0),
                 self.room(a, lambda n: queued(a, termios.TIOCOUTQ) == 0, 1)]
        self.assertGreater(min(rooms), 0)
        while len(pairs) < 4096:
            pairs.append(self.connect())
        for pair in pairs[64:-1]:
            for s, n in zip(pair, rooms):
                s.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    s.send(b"x" * n)
        self.bridge.wait_status(lambda s: "4096 open" in s)
        self.expect_refused(self.bridge.connect(self.line()), "too-many")
        for pair in pairs[64:250]:
            for s in pair:
                self.fill(s)
        memory = socket_memory(self.bridge.process.pid)
        pipes = 2 * 256 * (256 << 10)  # at most: a pipe for each direction of one that is stalled
        print("room of each: %s; sockets: %d MiB, pipes at most %d MiB" % (rooms, memory >> 20, pipes >> 20))
        with open(UNIT) as f:
            limit = int(re.search(r"^MemoryMax=(\d+)G", f.read(), re.M)[1]) << 30
        self.assertLess(memory + pipes + (PEAK_MAX << 10), limit)
        for pair in pairs:
            for s in pair:
                s.close()


class Exhausted(AbuseTest):
    options = {"descriptors": 40}

    def test_out_of_descriptors(self):
        held = [self.bridge.connect(self.line()) for _ in range(60)]
        agents = []
        while select.select([self.agent.socket], [], [], 0.2)[0]:
            agents.append(self.agent.accept())
        self.assertGreater(len(agents), 5)
        cpu = self.bridge.cpu()
        self.assertFalse(select.select([self.agent.socket], [], [], 1)[0])
        self.assertLess(self.bridge.cpu() - cpu, 0.1)
        # What is open works, in bulk too; and when some go, others come in.
        data = os.urandom(1 << 20)
        pair = next((c, a) for c in held for a in agents if self.talks(c, a))
        pid = os.fork()
        if pid == 0:
            pair[0].sendall(data)
            os._exit(0)
        self.assertEqual(read_exactly(pair[1], len(data)), data)
        os.waitpid(pid, 0)
        for s in held + agents:
            s.close()
        while select.select([self.agent.socket], [], [], 0.5)[0]:
            self.agent.accept().close()
        self.expect_served()

    @staticmethod
    def talks(c, a):
        try:
            c.sendall(b"?")
        except OSError:
            return False
        if not select.select([a], [], [], 0.05)[0]:
            return False
        return a.recv(1) == b"?"

if __name__ == "__main__":
    h.enter_namespace()
    unittest.main(verbosity=2, warnings="ignore")
