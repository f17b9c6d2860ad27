#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The whole bridge program against stand-ins for agents and supervisor. Usage: test-bridge.py PROGRAM [TEST…]"""

import contextlib
import os
import select
import signal
import socket
import struct
import threading
import time
import unittest

import bridge_harness as h
from bridge_case import PROGRAM, SLACK, BridgeTest
from bridge_harness import PLAIN, Agent, Bridge, Scope, read_all, read_exactly


class Handshake(BridgeTest):
    def test_in_pieces(self):
        c = self.bridge.connect()
        for byte in self.bridge.line() + b"he":
            c.sendall(bytes([byte]))
        a = self.agent.accept()
        self.assertEqual(read_exactly(a, 2), b"he")
        c.sendall(b"llo")
        self.assertEqual(read_exactly(a, 3), b"llo")

    def test_line_and_more_at_once(self):
        more = os.urandom(300000)
        c = self.bridge.connect(self.bridge.line())
        a = self.agent.accept()
        c.sendall(more)
        self.assertEqual(read_exactly(a, len(more)), more)
        c.close()
        self.assertEqual(a.recv(1), b"")
        a.close()
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual(e["BRIDGE_BYTES_IN"], str(len(more)))
        self.assertEqual(e["BRIDGE_BYTES_OUT"], "0")
        self.assertEqual(e["BRIDGE_SERVICE"], h.PLAIN)
        self.assertEqual(e["PEER_UID"], "0")
        self.assertEqual(e["PEER_CGROUP"], self.scope.inner)
        self.assertIn("BRIDGE_DURATION_USEC", e)

    def test_refused_without_a_byte(self):
        rows = [
            (b"\n", "malformed-line"),
            (b"gpg\n", "malformed-line"),
            (self.bridge.line(token="0" * 64), "bad-token"),
            (self.bridge.line(token=h.TOKEN[:-1]), "bad-token"),
            (self.bridge.line(token=h.TOKEN + "0"), "bad-token"),
            (b" ssh-0\n", "bad-token"),
            (self.bridge.line("nonsense"), "unknown-service"),
            (self.bridge.line("screenshot"), "unknown-service"),
            (self.bridge.line("clipboard"), "service-not-enabled"),
            (self.bridge.line("open"), "service-not-enabled"),
            (self.bridge.line("chrome"), "service-not-enabled"),
            (self.bridge.line("ssh-1"), "service-not-enabled"),
            (b"x" * 4097, "line-too-long"),
            (b"x" * 100000, "line-too-long"),
            (h.TOKEN.encode() + b" ssh-0\0\n", "nul-in-line"),
            (b"GET / HTTP/1.1\r\nHost: rebind.invalid\r\nOrigin: https://rebind.invalid\r\n\r\n", "bad-token"),
            (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 7\r\n\r\n\x00\x00\x00\x01\x0b\r\n", "bad-token"),
        ]
        for data, reason in rows:
            with self.subTest(data=data[:80]):
                e = self.expect_refused(self.bridge.connect(data), reason)
                self.assertEqual(e["PEER_UID"], "0")
                self.assertEqual(e["PEER_CGROUP"], self.scope.inner)
        self.assertFalse(select.select([self.agent.socket], [], [], 0)[0])

    def test_names_in_the_journal(self):
        e = self.expect_refused(self.bridge.connect(self.bridge.line("x\x1b[2J" + "y" * 500)), "unknown-service")
        self.assertTrue(e["BRIDGE_SERVICE"].startswith("x\\x1b[2Jyyy"))
        self.assertLessEqual(len(e["BRIDGE_SERVICE"]), 201)
        # Whoever writes the token twice does not get it written down.
        e = self.expect_refused(self.bridge.connect(self.bridge.line("ssh-0 " + h.TOKEN)), "unknown-service")
        self.assertNotIn("BRIDGE_SERVICE", e)

    def test_closed_early(self):
        c = self.bridge.connect(b"0123")
        c.shutdown(socket.SHUT_WR)
        self.expect_refused(c, "closed-early")
        c = self.bridge.connect()
        c.shutdown(socket.SHUT_WR)
        self.expect_refused(c, "closed-early")

    def dribble(self, c, start):
        """Sends a byte when nothing else happens; the time of the end."""
        while True:
            if select.select([c], [], [], 0.3)[0]:
                self.assertEqual(read_all(c), b"")
                return time.monotonic() - start
            try:
                c.sendall(b"0")
            except OSError:
                pass
            self.assertLess(time.monotonic() - start, 5 + 2 * SLACK)

    def assert_five(self, took):
        self.assertGreater(took, 4.95)
        self.assertLess(took, 5 + SLACK)

    def test_five_seconds_for_the_whole_line(self):
        silent_start = time.monotonic()
        silent = self.bridge.connect()
        late = self.bridge.connect()
        dribbling = self.bridge.connect(b"0")
        self.assertFalse(select.select([silent, late, dribbling], [], [], 0.7)[0])
        late.sendall(b"0")
        self.assert_five(self.dribble(dribbling, silent_start))
        self.assertEqual(read_all(late), b"")
        self.assert_five(time.monotonic() - silent_start)
        self.assertEqual(read_all(silent), b"")
        self.assert_five(time.monotonic() - silent_start)
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "line-timeout", 3)
        self.expect_served()


class Peers(BridgeTest):
    def foreign(self, uid=0):
        """Another process, with the right token."""
        pid = os.fork()
        if pid == 0:
            try:
                os.setuid(uid)
                os._exit(read_all(self.bridge.connect(self.bridge.line())) != b"")
            finally:
                os._exit(2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_other_user(self):
        self.foreign(65534)
        e = self.journal.wait(lambda e: e["BRIDGE_REASON"] == "foreign-uid")[0]
        self.assertEqual(e["PEER_UID"], "65534")
        self.assertEqual(e["PEER_CGROUP"], self.scope.inner)

    def test_other_process(self):
        self.scope.join(self.scope.home)
        self.foreign()
        self.scope.join(self.scope.inner)
        e = self.journal.wait(lambda e: e["BRIDGE_REASON"] == "foreign-cgroup")[0]
        self.assertEqual(e["PEER_UID"], "0")
        self.assertEqual(e["PEER_CGROUP"], self.scope.home)

    def test_silent_foreigner(self):
        self.scope.join(self.scope.home)
        start = time.monotonic()
        c = self.bridge.connect()
        self.assertEqual(read_all(c), b"")
        self.assertLess(time.monotonic() - start, 1 + SLACK)
        self.scope.join(self.scope.inner)
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "foreign-cgroup")

    def test_gone(self):
        h.reset(self.bridge.connect(self.bridge.line()))
        # Either it was gone before it could be asked whose it is, or it became a relay that ended.
        self.journal.read(h.WAIT)
        self.assertIn(self.journal.entries[0]["BRIDGE_REASON"], ("peer-gone", "closed-early", "broken-off"))
        self.agent.close()
        self.agent = Agent(self.agent.path)
        self.expect_served()

    def test_foreign_flood_does_not_reach_the_places(self):
        waiting = [self.bridge.connect(b"0") for _ in range(60)]
        self.scope.join(self.scope.home)
        for _ in range(300):
            c = self.bridge.connect(b"0")
            self.assertEqual(read_all(c), b"")
            c.close()
        self.scope.join(self.scope.inner)
        self.assertFalse(select.select(waiting, [], [], 0)[0])
        self.expect_served()


class Relays(BridgeTest):
    def test_half_close(self):
        c = self.bridge.connect(self.bridge.line())
        a = self.agent.accept()
        c.sendall(b"question")
        c.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(a), b"question")
        a.sendall(b"answer")
        a.close()
        self.assertEqual(read_all(c), b"answer")
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual((e["BRIDGE_BYTES_IN"], e["BRIDGE_BYTES_OUT"], e["BRIDGE_REASON"]), ("8", "6", "served"))

    def test_sockets_stay_on_the_loopback(self):
        """Whoever has one of them can connect it anew."""
        self.assertEqual(self.bridge.listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16), b"lo\0")

    def test_ends_of_large_messages_do_not_wait(self):
        """TCP may gather whole segments in bulk. The end of a message is sent all the same, and not when the other side's delayed
        acknowledgement comes, 40 ms later."""
        c = self.bridge.connect(self.bridge.line() + b"x")
        a = self.agent.accept()
        read_exactly(a, 1)
        start = time.monotonic()
        for size in (16385, 70000, 150001, 300007, 1000003):
            message = b"y" * size
            for _ in range(60):
                sender = threading.Thread(target=a.sendall, args=(message,))
                sender.start()
                left = size
                while left > 0:
                    left -= len(c.recv(min(left, 65536)))
                c.sendall(b"x")
                read_exactly(a, 1)
                sender.join()
        self.assertLess(time.monotonic() - start, 1.5 + SLACK)
        c.close()

    def test_urgent_data(self):
        """TCP's: splice(2) stops before it. It is left out, as for whoever reads it with recv(2), and nothing spins."""
        c = self.bridge.connect(self.bridge.line() + b"x")
        a = self.agent.accept()
        read_exactly(a, 1)
        for size in (1, 100000):
            data = b"y" * size
            c.sendall(data)
            c.send(b"!", socket.MSG_OOB)
            c.sendall(data)
            self.assertEqual(read_exactly(a, 2 * size), 2 * data)
        cpu = self.bridge.cpu()
        self.assertEqual(select.select([a], [], [], 0.5)[0], [])
        self.assertLess(self.bridge.cpu() - cpu, 0.1)
        c.close()
        self.assertEqual(read_all(a), b"")

    def test_agent_closes_first(self):
        c = self.bridge.connect(self.bridge.line())
        a = self.agent.accept()
        a.sendall(b"greeting")
        a.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(c), b"greeting")
        c.sendall(b"late")
        c.close()
        self.assertEqual(read_all(a), b"late")

    def test_dead_agent_and_its_return(self):
        """B10: a connection for each, made afresh; nothing hangs while the agent is away, others go on."""
        c = self.bridge.connect(self.bridge.line())
        a = self.agent.accept()
        self.agent.close()
        for _ in range(3):
            start = time.monotonic()
            e = self.expect_refused(self.bridge.connect(self.bridge.line()), "backend-gone")
            self.assertLess(time.monotonic() - start, SLACK)
            self.assertEqual(e["BRIDGE_SERVICE"], h.PLAIN)
        c.sendall(b"still")
        self.assertEqual(read_exactly(a, 5), b"still")

        with open(self.agent.path, "w"):
            pass
        self.expect_refused(self.bridge.connect(self.bridge.line()), "backend-gone")
        self.agent = Agent(self.agent.path)
        self.expect_served()
        # By way of a link that is pointed elsewhere.
        other = Agent(self.agent.path + ".2")
        self.agent.close()
        os.symlink(other.path, self.agent.path)
        self.agent.socket = other.socket
        self.expect_served()

    def test_agent_dies_in_the_middle(self):
        c = self.bridge.connect(self.bridge.line() + b"request")
        a = self.agent.accept()
        read_exactly(a, 3)
        a.close()
        self.assertEqual(read_all(c), b"")
        self.expect_served()

    def test_agent_that_does_not_accept(self):
        stuck = Agent(self.bridge.paths[h.PLAIN] + ".stuck", backlog=0)
        os.rename(stuck.path, self.bridge.paths[h.PLAIN])
        filler = []
        while True:
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            filler.append(s)
            try:
                s.connect(self.bridge.paths[h.PLAIN])
            except BlockingIOError:
                break
        start = time.monotonic()
        c = self.bridge.connect(self.bridge.line() + b"hello")
        busy = self.bridge.cpu()
        self.expect_refused(c, "backend-gone")
        self.assertLess(time.monotonic() - start, 2 + SLACK)
        self.assertLess(self.bridge.cpu() - busy, 0.2)

        # It recovers in time for the next.
        c = self.bridge.connect(self.bridge.line() + b"hello")
        self.assertFalse(select.select([c], [], [], 0.1)[0])
        for s in filler[:-1]:
            stuck.accept().close()
        a = stuck.accept()
        self.assertEqual(read_exactly(a, 5), b"hello")
        stuck.socket.close()
        for s in filler:
            s.close()

    def test_client_that_resets(self):
        c = self.bridge.connect(self.bridge.line() + b"x")
        a = self.agent.accept()
        read_exactly(a, 1)
        h.reset(c)
        self.assertEqual(read_all(a), b"")
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual(e["BRIDGE_REASON"], "broken-off")

    def test_stop(self):
        c = self.bridge.connect(self.bridge.line() + b"x")
        a = self.agent.accept()
        read_exactly(a, 1)
        waiting = self.bridge.connect(b"0")
        self.bridge.wait_status(lambda s: "1 open" in s)
        start = time.monotonic()
        self.bridge.process.terminate()
        self.assertEqual(self.bridge.process.wait(timeout=h.WAIT), 0)
        self.assertLess(time.monotonic() - start, SLACK)
        self.assertEqual(read_all(c), b"")
        self.assertEqual(read_all(waiting), b"")
        e = self.journal.wait(lambda e: e["BRIDGE_REASON"] == "launch-ended" and e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual(e["BRIDGE_BYTES_IN"], "1")

    def count_bad_tokens(self):
        for _ in range(h.BURST + 100):
            self.expect_refused_quietly(self.bridge.connect(b"GET / HTTP/1.1\r\n\r\n"))
            self.journal.read()

    def bad_tokens_were_told(self):
        self.journal.read()
        return any(e["BRIDGE_REASON"] == "bad-token" and "BRIDGE_COUNT" in e for e in self.journal.entries)

    @staticmethod
    def fill_journal():
        """Each of these may have only so much on its way; and then it has so many messages."""
        full = False
        while not full:
            full = True
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    s.sendto(b"BRIDGE_REASON=x\n", h.JOURNAL)
                    full = False

    def test_stop_says_first_what_there_is_to_say(self):
        """Then it closes what is open, which may be so much that it does not come to the end of that: of requests that nobody wants
        there are a few MiB on each of these."""
        agent = Agent(self.bridge.paths["ssh-0"])
        clients = []
        for _ in range(64):
            c = self.bridge.connect(self.bridge.line("ssh-0"))
            c.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    c.send(h.LIST * 10000)
            clients.append(c)
        self.count_bad_tokens()
        poll = select.poll()
        for s in (self.journal.socket, *clients):
            poll.register(s, select.POLLIN)
        self.bridge.process.terminate()
        while True:
            ready = poll.poll(1000 * h.WAIT)
            self.assertTrue(ready)
            if all(fd == self.journal.socket.fileno() for fd, _ in ready):
                self.journal.read()
            else:
                break
        os.kill(self.bridge.process.pid, signal.SIGSTOP)  # as if that were all of its time
        told = self.bad_tokens_were_told()
        os.kill(self.bridge.process.pid, signal.SIGCONT)
        self.assertEqual(self.bridge.process.wait(timeout=h.WAIT), 0)
        self.assertTrue(told)
        agent.close()

    def test_stop_waits_for_the_journal(self):
        """Not for long, where there is none that reads."""
        for reads in (True, False):
            with self.subTest(reads=reads):
                c = self.bridge.connect(self.bridge.line() + b"x")
                a = self.agent.accept()
                self.count_bad_tokens()
                self.fill_journal()
                start = time.monotonic()
                self.bridge.process.terminate()
                self.assertEqual(select.select([c], [], [], 0.1)[0], [])
                if reads:
                    self.journal.read()
                self.assertEqual(self.bridge.process.wait(timeout=h.WAIT), 0)
                self.assertLess(time.monotonic() - start, 1 + SLACK)
                self.assertEqual(self.bad_tokens_were_told(), reads)
                self.journal.entries.clear()
                a.close()
                self.bridge.spawn().wait_ready()


class Lingering(BridgeTest):
    """An agent has answered and gone, and the guest says more before it has read all of the answer."""

    LINGERING_MAX = 64
    ANSWER = struct.pack(">IB", 100001, 12) + b"a" * 100000

    def setUp(self):
        super().setUp()
        self.agents = {PLAIN: self.agent, "ssh-0": Agent(self.bridge.paths["ssh-0"])}

    def tearDown(self):
        self.agents["ssh-0"].close()
        super().tearDown()

    def begin(self, service=PLAIN):
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        c.settimeout(h.WAIT)
        c.connect(self.bridge.address)
        c.sendall(self.bridge.line(service) + h.LIST)
        a = self.agents[service].accept()
        self.assertEqual(read_exactly(a, 5), h.LIST)
        a.sendall(self.ANSWER)
        a.close()
        self.assertEqual(read_exactly(c, 1000), self.ANSWER[:1000])
        c.sendall(h.LIST)
        self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)
        self.journal.entries.clear()
        return c

    @staticmethod
    def is_reset(c):
        """Says more until that is answered by a reset, but not for long."""
        deadline = time.monotonic() + h.WAIT
        c.settimeout(h.WAIT)
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() < deadline:
                c.send(b"x")
                select.select([c], [], [], 0.05)
            return False
        return True

    def test_answer_comes_whole(self):
        for service in (PLAIN, "ssh-0"):
            with self.subTest(service=service):
                c = self.begin(service)
                c.sendall(h.LIST)
                self.assertEqual(read_all(c), self.ANSWER[1000:])
                c.close()

    def test_not_for_ever(self):
        c = self.begin()
        start = time.monotonic()
        self.assertEqual(read_all(c), self.ANSWER[1000:])
        self.assertTrue(self.is_reset(c))
        self.assertGreater(time.monotonic() - start, 3)

    def test_not_too_much(self):
        c = self.begin()
        self.assertEqual(read_all(c), self.ANSWER[1000:])
        with self.assertRaises((ConnectionResetError, BrokenPipeError)):
            for _ in range(100):
                c.sendall(b"x" * 100000)

    def test_not_too_many(self):
        first = self.begin()
        others = [self.begin() for _ in range(self.LINGERING_MAX - 1)]
        cpu = self.bridge.cpu()
        self.assertEqual(read_all(others[0]), self.ANSWER[1000:])
        self.begin()
        # The oldest, and not because its time has come: then that of the next would have, too.
        self.assertTrue(self.is_reset(first))
        others[1].sendall(h.LIST)
        self.assertEqual(read_all(others[1]), self.ANSWER[1000:])
        self.assertLess(self.bridge.cpu() - cpu, 0.3)


    def end_unread(self, service):
        """The guest has said its last, does not read, and the connection has ended for us."""
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        c.settimeout(h.WAIT)
        c.connect(self.bridge.address)
        c.sendall(self.bridge.line(service) + h.LIST)
        c.shutdown(socket.SHUT_WR)
        a = self.agents[service].accept()
        self.assertEqual(read_exactly(a, 5), h.LIST)
        a.sendall(self.ANSWER)
        a.close()
        self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)
        self.journal.entries.clear()
        return c

    def check_bound(self, service):
        unread = [self.end_unread(service) for _ in range(self.LINGERING_MAX + 10)]
        whole = [read_all(c) == self.ANSWER for c in unread]
        n = whole.count(False)
        self.assertTrue(5 <= n <= 10, n)  # one may have had room for all
        self.assertEqual(whole, n * [False] + (len(unread) - n) * [True])

    def test_what_nobody_reads_is_bounded(self):
        """Each is megabytes in the kernel. The rest has what it was promised."""
        self.check_bound(PLAIN)

    def test_what_nobody_reads_of_an_agent_is_bounded(self):
        self.check_bound("ssh-0")

    def test_what_nobody_reads_is_not_for_us_to_watch(self):
        c = self.end_unread(PLAIN)
        cpu = self.bridge.cpu()
        self.assertEqual(select.select([self.journal.socket], [], [], 1.5)[0], [])
        self.assertLess(self.bridge.cpu() - cpu, 0.05)
        descriptors = len(os.listdir("/proc/%d/fd" % self.bridge.process.pid))
        self.assertEqual(read_all(c), self.ANSWER)
        deadline = time.monotonic() + h.WAIT
        while len(os.listdir("/proc/%d/fd" % self.bridge.process.pid)) == descriptors:
            self.assertLess(time.monotonic(), deadline)
            select.select([self.journal.socket], [], [], 0.1)


class Sealed(BridgeTest):
    options = {"filtered": True}

    @staticmethod
    def filters(pid):
        with open("/proc/%s/status" % pid) as f:
            return [int(line.split()[1]) for line in f if line.startswith("Seccomp_filters:")][0]

    def test_adds_to_what_its_unit_forbids(self):
        """The unit test `seal` says what; that it is done, and that it can go on like this, is seen here."""
        self.assertEqual(self.filters(self.bridge.process.pid), self.filters("self") + 2)
        self.expect_served()

    def test_names_of_control_groups(self):
        """They are looked up when somebody has connected: here, in the launch's scope and outside of it."""
        later = self.scope.path + "/later"
        os.mkdir(self.scope.mount + later)
        try:
            for place, reason in ((self.scope.inner, "bad-token"), (later, "bad-token"), (self.scope.home, "foreign-cgroup")):
                self.scope.join(place)
                e = self.expect_refused(self.bridge.connect(self.bridge.line(token="f" * 64)), reason)
                self.assertEqual(e["PEER_CGROUP"], place)
        finally:
            self.scope.join(self.scope.inner)
            os.rmdir(self.scope.mount + later)


class SealedWithoutLandlock(BridgeTest):
    options = {"filtered": True, "landlock": False}

    def test_goes_on(self):
        self.expect_served()
        self.bridge.process.terminate()
        self.assertEqual(self.bridge.process.stderr.read().count(b"There is no Landlock here"), 1)


class GpgAgent(BridgeTest):
    service = "ssh-0"  # that goes on meanwhile

    def supervisor(self):
        return Agent(self.bridge.supervisor_path)

    def answer(self, s, line):
        c = s.accept()
        self.assertEqual(read_exactly(c, 30), b'{"request":"start-gpg-agent"}\n')
        c.sendall(line)
        return c

    def test_started(self):
        s = self.supervisor()
        clients = [self.bridge.connect(self.bridge.line("gpg") + b"%d" % i) for i in range(3)]
        c = s.accept()
        self.assertEqual(read_exactly(c, 30), b'{"request":"start-gpg-agent"}\n')
        # Meanwhile everything else goes on.
        self.expect_served()
        gpg = Agent(self.bridge.paths["gpg"])
        c.sendall(b'{"ok":')
        c.sendall(b'true}\n')
        got = set()
        for _ in clients:
            a = gpg.accept()
            got.add(read_exactly(a, 1))
            a.close()
        self.assertEqual(got, {b"0", b"1", b"2"})
        for c in clients:
            self.assertEqual(read_all(c), b"")
        # One request for all of them.
        self.assertFalse(select.select([s.socket], [], [], 0)[0])
        gpg.close()
        s.close()

    def test_not_started(self):
        s = self.supervisor()
        for line in (b'{"ok":false}\n', b'nonsense\n', b"x" * 300, b'{"ok":true}\nmore'):
            c = self.bridge.connect(self.bridge.line("gpg"))
            # Too soon after the last failure it fails at once, without a question.
            while s.socket not in select.select([s.socket, c], [], [], h.WAIT)[0]:
                self.expect_refused_quietly(c)
                select.select([s.socket], [], [], 0.1)
                c = self.bridge.connect(self.bridge.line("gpg"))
            self.answer(s, line)
            self.expect_refused(c, "backend-gone")
        s.close()

    def test_started_but_not_there(self):
        s = self.supervisor()
        c = self.bridge.connect(self.bridge.line("gpg"))
        self.answer(s, b'{"ok":true}\n')
        self.expect_refused(c, "backend-gone")
        self.assertFalse(select.select([s.socket], [], [], 0)[0])
        s.close()

    def test_no_supervisor(self):
        self.expect_refused(self.bridge.connect(self.bridge.line("gpg")), "backend-gone")

    def test_supervisor_that_hangs_up(self):
        s = self.supervisor()
        c = self.bridge.connect(self.bridge.line("gpg"))
        s.accept().close()
        self.expect_refused(c, "backend-gone")
        s.close()


class Start(unittest.TestCase):
    def setUp(self):
        self.scope = Scope()

    def tearDown(self):
        self.scope.remove()

    def start(self, **options):
        return Bridge(PROGRAM, self.scope, **options)

    def fails(self, text, **options):
        b = self.start(**options)
        self.assertEqual(b.process.wait(timeout=h.WAIT), 1)
        self.assertIn(text, b.stop(expect=1))

    def test_foreign_activation(self):
        self.fails("No listening socket", listen_pid="1")

    def test_no_activation(self):
        self.fails("Cannot take the sockets over", environment={"LISTEN_FDS": "0"})

    def test_not_only_loopback(self):
        self.fails("Cannot use the listening socket", address="0.0.0.0")

    def test_no_credential(self):
        self.fails("Cannot read the manifest", environment={"CREDENTIALS_DIRECTORY": "/nonexistent"})

    def test_without_sock_diag_socket(self):
        b = self.start(diag=False).wait_ready()
        self.assertIn("No sock_diag socket", b.stop())

    def test_not_dumpable(self):
        b = self.start().wait_ready()
        with open("/proc/%d/limits" % b.process.pid) as f:
            self.assertRegex(f.read(), r"Max core file size +0 +0")
        self.assertEqual(os.stat("/proc/%d/environ" % b.process.pid).st_uid, 0)
        b.stop()

    def test_crash_and_restart(self):
        """The port stays with the manager; whoever waits there is served by the next bridge."""
        self.scope.join(self.scope.inner)
        first = self.start().wait_ready()
        agent = Agent(first.paths[h.PLAIN])
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        waiting = first.connect(first.line() + b"hello")
        second = first.spawn().wait_ready()
        a = agent.accept()
        self.assertEqual(read_exactly(a, 5), b"hello")
        waiting.close()
        agent.close()
        second.stop()


if __name__ == "__main__":
    h.enter_namespace()
    unittest.main(verbosity=2, warnings="ignore")
