#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The whole bridge program between a guest and an ssh-agent that the test plays. Usage: test-bridge-ssh.py PROGRAM [TEST…]"""

import base64
import contextlib
import hashlib
import os
import select
import socket
import struct
import time
import unittest

import bridge_harness as h
from bridge_case import SANITIZED, SLACK, BridgeTest
from bridge_harness import LIST, NO_KEYS, Agent, read_all, read_exactly

FAILURE = b"\0\0\0\1\5"
SUCCESS = b"\0\0\0\1\6"
REMOVE_ALL = b"\0\0\0\1\x13"
MESSAGE_MAX = 256 << 10
KEYS = [(b"key one", b"work"), (b"key two", b"home"), (b"key three", b"me@work")]


def string(b):
    return struct.pack(">I", len(b)) + b


def frame(kind, body=b""):
    return string(bytes([kind]) + body)


def sign(key, data=b"data"):
    return frame(13, string(key) + string(data) + b"\0\0\0\0")


def listing(keys):
    return frame(12, struct.pack(">I", len(keys)) + b"".join(string(k) + string(c) for k, c in keys))


SIGNATURE = frame(14, string(b"a signature"))


def login(key, user, method=b"publickey", more=b""):
    """What ssh has signed to log in (RFC 4252, 7)."""
    return (string(b"s" * 32) + b"\x32" + string(user) + string(b"ssh-connection") + string(method) + b"\1" +
            string(b"ssh-ed25519") + string(key) + more)


def sshsig(namespace):
    return b"SSHSIG" + string(namespace) + string(b"") + string(b"sha512") + string(b"h" * 64)


def fingerprint(key):
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def read_frame(s):
    length = read_exactly(s, 4)
    return length + read_exactly(s, struct.unpack(">I", length)[0])


def unread(s):
    """How much of what was sent there the other side has not read."""
    mine, other = ("0100007F:%04X" % port for port in (s.getsockname()[1], s.getpeername()[1]))
    with open("/proc/net/tcp") as f:
        for line in f:
            fields = line.split()
            if fields[1:3] == [other, mine]:
                return int(fields[4].split(":")[1], 16)
    return 0


class SshTest(BridgeTest):
    service = "ssh-0"

    def start(self, data=b""):
        """A connection and the agent's end of it."""
        c = self.bridge.connect(self.line() + data)
        return c, self.agent.accept()

    def nothing_at(self, *sockets, timeout=0.1):
        self.assertEqual(select.select(sockets, [], [], timeout)[0], [])

    def answer(self, a, request, answer):
        self.assertEqual(read_frame(a), request)
        a.sendall(answer)

    def get_signature(self, c, a, key, data, keys=KEYS):
        c.sendall(sign(key, data))
        self.answer(a, LIST, listing(keys))
        self.answer(a, sign(key, data), SIGNATURE)
        self.assertEqual(read_frame(c), SIGNATURE)

    def expect_end(self, c, reason):
        """An end that came after some service."""
        self.assertEqual(read_all(c), b"")
        c.close()
        e = self.journal.wait(lambda e: e.get("BRIDGE_REASON") == reason)[0]
        self.assertEqual((e["MESSAGE_ID"], e["BRIDGE_SERVICE"]), (h.SERVED, "ssh-0"))
        self.journal.entries.remove(e)
        return e


class Messages(SshTest):
    def test_in_pieces_and_bundles(self):
        """B07: one answer for each request, in order, byte for byte the agent's."""
        c, a = self.start()
        for byte in LIST:
            self.nothing_at(a, timeout=0)
            c.sendall(bytes([byte]))
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_frame(c), NO_KEYS)

        c.sendall(LIST * 2)
        self.answer(a, LIST, listing(KEYS))
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_exactly(c, len(listing(KEYS)) + len(NO_KEYS)), listing(KEYS) + NO_KEYS)

        large = sign(b"key one", os.urandom(200000))
        for i in range(0, len(large), 512):
            c.sendall(large[i:i + 512])
            if i == 32 * 512:
                self.answer(a, LIST, listing(KEYS))
        self.answer(a, large, SIGNATURE)
        self.assertEqual(read_frame(c), SIGNATURE)

        c.sendall(LIST)
        self.assertEqual(read_frame(a), LIST)
        a.sendall(NO_KEYS[:3])
        self.nothing_at(a, timeout=0)
        a.sendall(NO_KEYS[3:])
        self.assertEqual(read_frame(c), NO_KEYS)

    def test_each_of_its_own_kind(self):
        """Of all types the agent sees two, and of the extensions two."""
        c, a = self.start()
        for kind in range(256):
            c.sendall(frame(kind, b"\0\0\0\4body"))
            self.assertEqual(read_frame(c), FAILURE, kind)
        for name in (b"restrict-destination-v00@openssh.com", b"query\0", b""):
            c.sendall(frame(27, string(name)))
            self.assertEqual(read_frame(c), FAILURE, name)
        self.nothing_at(a)
        for request in (LIST, frame(27, string(b"query")), frame(27, string(b"session-bind@openssh.com") + b"x" * 100)):
            c.sendall(request)
            self.answer(a, request, SUCCESS)
            self.assertEqual(read_frame(c), SUCCESS)
        c.close()
        self.assertEqual(read_all(a), b"")
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual((e["BRIDGE_REASON"], e["BRIDGE_REQUESTS_REFUSED"]), ("served", "259"))
        self.assertNotIn("BRIDGE_SIGNATURES", e)

    def test_no_answer_overtakes_another(self):
        c, a = self.start(LIST + REMOVE_ALL + frame(22, string(b"password")) + LIST + REMOVE_ALL)
        self.nothing_at(c)
        self.answer(a, LIST, listing(KEYS))
        expected = listing(KEYS) + FAILURE * 2
        self.assertEqual(read_exactly(c, len(expected)), expected)
        self.nothing_at(c)
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_exactly(c, len(NO_KEYS + FAILURE)), NO_KEYS + FAILURE)

    def test_lengths(self):
        for bad in (b"\0\0\0\0", b"\0\0\0\0\x0b", struct.pack(">I", MESSAGE_MAX + 1) + b"\x0b", b"\xff" * 5,
                    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            c, a = self.start(LIST + bad + LIST)
            self.answer(a, LIST, NO_KEYS)
            # What came before is answered, and nothing else.
            self.assertEqual(read_exactly(c, len(NO_KEYS)), NO_KEYS)
            self.expect_end(c, "bad-message")
            self.assertEqual(read_all(a), b"")
            a.close()
        c, a = self.start()
        c.sendall(frame(17, b"x" * (MESSAGE_MAX - 1)) + LIST)
        self.assertEqual(read_frame(c), FAILURE)
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_frame(c), NO_KEYS)
        largest = sign(b"key one", b"x" * (MESSAGE_MAX - 1 - 4 - 7 - 4 - 4))
        c.sendall(largest)
        self.answer(a, LIST, listing(KEYS))
        self.answer(a, largest, SIGNATURE)
        self.assertEqual(read_frame(c), SIGNATURE)

    def test_answers_that_are_none(self):
        for bad in (b"\0\0\0\0", struct.pack(">I", MESSAGE_MAX + 1) + b"\x0c", NO_KEYS + b"\0"):
            c, a = self.start(LIST)
            self.answer(a, LIST, bad)
            received = read_all(c)
            self.assertIn(received, (b"", NO_KEYS))
            self.assertEqual(read_all(a), b"")
            self.journal.wait(lambda e: e.get("BRIDGE_REASON") == "broken-off")
            self.journal.entries.clear()
        c, a = self.start()
        a.sendall(NO_KEYS)
        self.expect_end(c, "broken-off")

    def test_ends(self):
        # The guest says its last, and gets its answers.
        c, a = self.start(LIST + REMOVE_ALL + LIST)
        c.shutdown(socket.SHUT_WR)
        self.answer(a, LIST, listing(KEYS))
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_all(a), b"")
        self.assertEqual(read_all(c), listing(KEYS) + FAILURE + NO_KEYS)
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "served" and e["BRIDGE_BYTES_IN"] == "15")

        # The agent goes: idle, owing an answer, and in the middle of one.
        c, a = self.start(LIST)
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_frame(c), NO_KEYS)
        a.close()
        self.expect_end(c, "served")
        c, a = self.start(LIST)
        read_frame(a)
        a.close()
        self.expect_end(c, "broken-off")
        c, a = self.start(LIST)
        read_frame(a)
        a.sendall(listing(KEYS)[:20])
        self.assertEqual(read_exactly(c, 20), listing(KEYS)[:20])
        a.close()
        self.expect_end(c, "broken-off")
        # It answers and goes at once: the answer counts.
        c, a = self.start(LIST)
        self.answer(a, LIST, listing(KEYS))
        a.close()
        self.assertEqual(read_all(c), listing(KEYS))

        # The guest goes, in the middle of a request, long or short, and while the agent thinks.
        for part in (LIST[:4], sign(b"key one", b"x" * 200000)[:100000]):
            c, a = self.start(part)
            if len(part) > 4:
                self.answer(a, LIST, listing(KEYS))
                read_exactly(a, len(part))
            c.close()
            self.assertEqual(read_all(a), b"")
            self.journal.wait(lambda e: e.get("BRIDGE_REASON") == "broken-off")
            self.journal.entries.clear()
        c, a = self.start(sign(b"key one"))
        self.answer(a, LIST, listing(KEYS))
        self.assertEqual(read_frame(a), sign(b"key one"))
        h.reset(c)
        self.assertEqual(read_all(a), b"")

    def test_agent_away_and_back(self):
        """B10: a connection for each, made afresh; nothing hangs while the agent is away, others go on."""
        c, a = self.start()
        self.agent.close()
        for _ in range(3):
            start = time.monotonic()
            e = self.expect_refused(self.bridge.connect(self.line() + LIST), "backend-gone")
            self.assertLess(time.monotonic() - start, SLACK)
            self.assertEqual(e["BRIDGE_SERVICE"], "ssh-0")
        c.sendall(LIST)
        self.answer(a, LIST, NO_KEYS)
        self.assertEqual(read_frame(c), NO_KEYS)
        self.agent = Agent(self.agent.path)
        self.expect_served()


class Signatures(SshTest):
    def entry(self):
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SIGNED)[0]
        self.journal.entries.remove(e)
        self.assertEqual((e["CLAUDE_PROFILE"], e["CLAUDE_LAUNCH"], e["BRIDGE_SERVICE"]), (h.PROFILE, h.ID, "ssh-0"))
        return {k[7:]: v for k, v in e.items() if k.startswith("BRIDGE_") and k != "BRIDGE_SERVICE"}

    def test_each_is_in_the_journal(self):
        key, comment = KEYS[0]
        known = {"KEY_FINGERPRINT": fingerprint(key), "KEY_COMMENT": comment.decode()}
        bound = login(key, b"me", b"publickey-hostbound-v00@openssh.com", string(b"host key"))
        rows = [
            (login(key, b"git"), {"SIGNATURE_PURPOSE": "user-authentication", "SIGNATURE_USER": "git"}),
            (bound, {"SIGNATURE_PURPOSE": "user-authentication", "SIGNATURE_USER": "me"}),
            (login(key, b"\x1b[2J\n" + b"x" * 300), {"SIGNATURE_PURPOSE": "user-authentication",
                                                      "SIGNATURE_USER": "\\x1b[2J\\x0a" + "x" * 189 + "…"}),
            (sshsig(b"git"), {"SIGNATURE_PURPOSE": "sshsig", "SIGNATURE_NAMESPACE": "git"}),
            (b"anything", {"SIGNATURE_PURPOSE": "other"}),
            (b"x" * 100000, {"SIGNATURE_PURPOSE": "other"}),
            # In the data the key may be spelled in another way: it is a login all the same.
            (login(b"another key", b"git"), {"SIGNATURE_PURPOSE": "user-authentication", "SIGNATURE_USER": "git"}),
        ]
        c, a = self.start()
        for data, expected in rows:
            with self.subTest(data=data[:60]):
                self.get_signature(c, a, key, data)
                self.assertEqual(self.entry(), dict(known, **expected))
        # One that the agent does not list does not sign: its fingerprint could be a made-up one, of another spelling of a key.
        c.sendall(sign(b"unlisted", b"x"))
        self.answer(a, LIST, listing(KEYS))
        self.assertEqual(read_frame(c), FAILURE)
        # One with a comment that is no good.
        self.get_signature(c, a, b"odd", b"x", [(b"odd", b"\x1b]0;x\7\xff\n" + b"y" * 300)])
        self.assertTrue(self.entry()["KEY_COMMENT"].startswith("\\x1b]0;x\\x07\\xff\\x0ayyy"))
        # None was made: none is told.
        c.sendall(sign(key))
        self.answer(a, LIST, listing(KEYS))
        self.answer(a, sign(key), FAILURE)
        self.assertEqual(read_frame(c), FAILURE)
        c.close()
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual(e["BRIDGE_SIGNATURES"], str(len(rows) + 1))
        self.assertFalse([e for e in self.journal.entries if e["MESSAGE_ID"] == h.SIGNED])

    def test_what_is_not_listed_does_not_sign(self):
        """The agent never hears of it: it might take the key for one that it has, under a fingerprint that nobody knows."""
        for answer in (FAILURE, NO_KEYS, frame(12, b"\0\0\0\2" + string(b"key one"))):
            c, a = self.start(sign(b"key one"))
            self.answer(a, LIST, answer)
            self.assertEqual(read_frame(c), FAILURE)
            self.nothing_at(a, timeout=0)

    def get_signatures(self, n, c, a):
        for _ in range(n):
            self.get_signature(c, a, b"key one", b"")
            self.journal.read()

    def signed(self):
        self.journal.read()
        return len([e for e in self.journal.entries if e["MESSAGE_ID"] == h.SIGNED])

    def test_each_has_its_entry_however_many(self):
        """What the journal has no room for waits for it: one connection's requests, and those of others, which come in between.
        Everything else goes on meanwhile."""
        start = time.monotonic()
        c, a = self.start()
        self.get_signatures(h.BURST + 20, c, a)
        self.assertGreater(time.monotonic() - start, 20 / h.PER_SECOND - 0.1)
        others = [self.start(sign(b"key two")) for _ in range(10)]
        gone, gone_agent = self.start(sign(b"key two"))
        gone.close()
        self.expect_served()
        for other, agent in others:
            self.answer(agent, LIST, listing(KEYS))
            self.answer(agent, sign(b"key two"), SIGNATURE)
            self.assertEqual(read_frame(other), SIGNATURE)
            self.journal.read()
        gone_agent.close()
        self.assertEqual(self.signed(), h.BURST + 20 + len(others))

    def test_what_is_not_signed_costs_no_room(self):
        c, a = self.start()
        for _ in range(2 * h.BURST):
            c.sendall(sign(b"unlisted"))
            self.answer(a, LIST, listing(KEYS))
            self.assertEqual(read_frame(c), FAILURE)
        start = time.monotonic()
        self.get_signatures(h.BURST - h.PER_SECOND, c, a)
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(self.signed(), h.BURST - h.PER_SECOND)

    def test_without_a_journal(self):
        """A signature that cannot be told is not handed out. Then there is a journal again."""
        os.rename(h.JOURNAL, h.JOURNAL + ".away")
        c, a = self.start(sign(b"key one"))
        self.answer(a, LIST, listing(KEYS))
        self.answer(a, sign(b"key one"), SIGNATURE)
        self.assertEqual(read_all(c), b"")
        os.rename(h.JOURNAL + ".away", h.JOURNAL)
        self.assertEqual(self.signed(), 0)
        c, a = self.start()
        self.get_signature(c, a, b"key one", b"")
        self.entry()

    def test_an_agent_that_answers_before_it_is_asked(self):
        """While the request waits for room in the journal."""
        c, a = self.start()
        self.get_signatures(h.BURST, c, a)
        waiting = [self.start(sign(b"key one")) for _ in range(3 * h.PER_SECOND)]
        for _, a in waiting:
            self.answer(a, LIST, listing(KEYS))
        c, a = waiting[-1]
        a.sendall(SIGNATURE)
        self.assertEqual(read_all(c), b"")

    def begin_long(self, n):
        """So many requests to sign of which the agent has all but the last byte."""
        request = sign(b"key one", b"x" * 20000)
        begun = []
        for _ in range(n):
            c, a = self.start(request[:-1])
            self.answer(a, LIST, listing(KEYS))
            self.assertEqual(read_exactly(a, len(request) - 1), request[:-1])
            begun.append((c, a))
        return begun

    def test_room_cannot_be_saved_up(self):
        """By requests that lack their end: there is room for so many of them only when they are complete."""
        begun = self.begin_long(h.BURST + 30)
        start = time.monotonic()
        for c, _ in begun:
            c.sendall(b"x")
        for c, a in begun:
            read_exactly(a, 1)
            a.sendall(SIGNATURE)
            self.assertEqual(read_frame(c), SIGNATURE)
            self.journal.read()
        self.assertGreater(time.monotonic() - start, 30 / h.PER_SECOND - 0.1)
        self.assertEqual(self.signed(), len(begun))

    def test_room_cannot_be_saved_up_at_the_agent(self):
        """By requests that it lets wait, for somebody to touch a key: no other comes in for them."""
        pairs = [self.start(sign(b"key one")) for _ in range(h.BURST + 10)]
        for _, a in pairs:
            self.answer(a, LIST, listing(KEYS))
        asked = []
        while len(asked) < h.BURST - 10:
            ready = select.select([a for _, a in pairs if a not in asked], [], [], h.WAIT)[0]
            self.assertTrue(ready)
            asked += ready
        self.assertEqual(select.select([a for _, a in pairs if a not in asked], [], [], 1)[0], [])
        for c, a in sorted(pairs, key=lambda p: p[1] not in asked):
            self.answer(a, sign(b"key one"), SIGNATURE)
            self.assertEqual(read_frame(c), SIGNATURE)
            self.journal.read()
        self.assertEqual(self.signed(), len(pairs))

    def test_no_room_for_too_long(self):
        """A request that the agent has not seen is refused, and the connection goes on; of one that has begun it is the end."""
        long, long_agent = self.begin_long(1)[0]
        # Each that waits gets its turn, in the order of coming, until those in front have taken ten seconds.
        waiting = [self.start(sign(b"key two")) for _ in range(h.BURST + 11 * h.PER_SECOND)]
        for _, a in waiting:
            self.answer(a, LIST, listing(KEYS))
        long.sendall(b"x")
        c, a = waiting[-1]
        c.settimeout(3 * h.WAIT)
        self.assertEqual(read_frame(c), FAILURE)
        c.sendall(LIST)
        self.answer(a, LIST, listing(KEYS))
        self.assertEqual(read_frame(c), listing(KEYS))
        self.assertEqual(read_all(long), b"")
        self.assertEqual(read_all(long_agent), b"")

    def test_no_flood_hides_one(self):
        c, a = self.start()
        for _ in range(400):
            self.expect_refused_quietly(self.bridge.connect(b"GET / HTTP/1.1\r\n\r\n"))
            self.journal.read()
        self.get_signature(c, a, b"key two", login(b"key two", b"root"))
        self.assertEqual(self.entry()["SIGNATURE_USER"], "root")

    def test_signatures_hide_no_other_kind(self):
        """They take all the room that there is for them, and somebody tries a wrong token meanwhile: that is told by itself."""
        c, a = self.start()
        self.get_signatures(h.BURST, c, a)
        self.expect_refused_quietly(self.bridge.connect(b"GET / HTTP/1.1\r\n\r\n"))
        e = self.journal.wait(lambda e: e.get("BRIDGE_REASON") == "bad-token")[0]
        self.assertNotIn("BRIDGE_COUNT", e)


class Selected(SshTest):
    options = {"ssh_keys": ["*work", fingerprint(b"key four")]}

    def test_list(self):
        keys = KEYS + [(b"key four", b""), (b"key five", b"work\0home")]
        chosen = [KEYS[0], KEYS[2], (b"key four", b"")]
        c, a = self.start(LIST)
        self.answer(a, LIST, listing(keys))
        self.assertEqual(read_frame(c), listing(chosen))
        # In pieces, and one of the largest size.
        large = [(b"%05d" % i, b"work" if i % 100 == 0 else b"none") for i in range(15000)]
        for list_, expected in ((keys, chosen), (large, large[::100])):
            c.sendall(LIST)
            self.assertEqual(read_frame(a), LIST)
            answer = listing(list_)
            for cut in (answer[:3], answer[3:7], answer[7:30], answer[30:]):
                a.sendall(cut)
            self.assertEqual(read_frame(c), listing(expected))
        # What is no list is none.
        for answer in (FAILURE, SUCCESS, frame(12, b"\0\0\0\1" + string(b"key one"))):
            c.sendall(LIST)
            self.answer(a, LIST, answer)
            self.assertEqual(read_frame(c), FAILURE)

    def test_sign(self):
        """Without a list of the guest's own before; the agent never hears of a key that is not selected."""
        rows = [(b"key one", True), (b"key two", False), (b"key three", True), (b"key four", False), (b"key five", False)]
        for key, ok in rows:
            c, a = self.start(sign(key))
            self.answer(a, LIST, listing(KEYS))
            if ok:
                self.answer(a, sign(key), SIGNATURE)
            self.assertEqual(read_frame(c), SIGNATURE if ok else FAILURE, key)
            self.nothing_at(a, timeout=0)
            c.close()
            self.assertEqual(read_all(a), b"")
        # What the list says now counts, not what it said before.
        c, a = self.start(sign(b"key two"))
        self.answer(a, LIST, listing([(b"key two", b"work"), (b"key one", b"home")]))
        self.answer(a, sign(b"key two"), SIGNATURE)
        self.assertEqual(read_frame(c), SIGNATURE)
        c.sendall(sign(b"key one"))
        self.answer(a, LIST, listing([(b"key two", b"work"), (b"key one", b"home")]))
        self.assertEqual(read_frame(c), FAILURE)


class Amounts(SshTest):
    def test_readers_that_never_read(self):
        """Answers that nobody takes stay few: those that are stuck for longest go."""
        large = frame(12, b"\0\0\0\0" + b"x" * 200000)
        pairs = []
        for _ in range(300):
            c = socket.socket()
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(self.bridge.address)
            c.sendall(self.line() + LIST * 100)
            pairs.append((c, self.agent.accept()))
        agents = {a for _, a in pairs}
        while asking := select.select(agents, [], [], 1)[0]:
            for a in asking:
                try:
                    self.answer(a, LIST, large)
                except (AssertionError, OSError):
                    agents.remove(a)  # its connection was ended
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "stalled", 44)
        self.bridge.wait_status(lambda s: "256 open" in s)
        self.idle()
        self.expect_served()

    def test_guests_that_send_ahead(self):
        """What waits for its turn is bounded, for each and in all."""
        before = self.bridge.rss()
        pairs = []
        for _ in range(300):
            c, a = self.start(LIST)
            c.setblocking(False)
            for _ in range(3):
                try:
                    while True:
                        c.send(LIST * 10000)
                except OSError:
                    pass
            pairs.append((c, a))
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "stalled", 44)
        self.idle()
        if not SANITIZED:
            self.assertLess(self.bridge.rss() - before, 300 * 34 + 1000)
        # One that is left gets all its answers.
        c, a = pairs[-1]
        c.settimeout(h.WAIT)
        for _ in range(1000):
            self.answer(a, LIST, NO_KEYS)
            self.assertEqual(read_frame(c), NO_KEYS)

    def idle(self):
        busy = self.bridge.cpu()
        self.nothing_at(self.agent.socket, timeout=1)
        self.assertLess(self.bridge.cpu() - busy, 0.1)

    def test_a_thousand_idle_ones(self):
        """After they have listed and signed, too, nothing is kept."""
        self.expect_served()
        before = self.bridge.rss()
        pairs = []
        for _ in range(1000):
            c, a = self.start(LIST)
            self.answer(a, LIST, listing(KEYS))
            self.assertEqual(read_frame(c), listing(KEYS))
            self.get_signature(c, a, b"key one", b"x" * 300)
            pairs.append((c, a))
            self.journal.read()
        each = (self.bridge.rss() - before) * 1024 / 1000
        print("an idle connection: %d bytes" % each)
        if not SANITIZED:
            self.assertLess(each, 1024)
        # The last that it does of itself: once a second, when there is something new.
        self.bridge.wait_status(lambda s: "1000 open" in s)
        cpu = self.bridge.cpu()
        self.nothing_at(pairs[0][0], timeout=1)
        self.assertEqual(self.bridge.cpu(), cpu)
        for s in (s for pair in pairs for s in pair):
            s.close()

    def stand_still(self, size):
        """A dialogue that stands still in both directions: the agent has answered more than the guest reads, and does not take the
        end of a request of that size."""
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.connect(self.bridge.address)
        c.sendall(self.line())
        a = self.agent.accept()
        for s in (c, a):
            s.setblocking(False)
        request = frame(27, string(b"query") + b"x" * size)
        deadline = time.monotonic() + h.WAIT
        while request or unread(c):
            self.assertLess(time.monotonic(), deadline)
            with contextlib.suppress(BlockingIOError):
                request = request[c.send(request):]
            select.select([], [], [], 0.005)
            if request or unread(c):
                with contextlib.suppress(BlockingIOError):
                    a.recv(2000)
        while select.select([], [a], [], 0.1)[1]:
            with contextlib.suppress(BlockingIOError):
                a.send(frame(6, b"y" * 250000)[:4096])
        return c, a

    def test_agent_that_goes_while_nothing_moves(self):
        """Nobody waits for room at it, then: that would be told again and again. The end of the request may or may not wait there, by its
        size, so there are many sizes."""
        many = [self.start() for _ in range(70)]  # those behind get small buffers
        for size in range(121000, 136000, 3000):
            c, a = self.stand_still(size)
            a.shutdown(socket.SHUT_RDWR)
            cpu = self.bridge.cpu()
            select.select([], [], [], 0.15)
            self.assertLess(self.bridge.cpu() - cpu, 0.05, size)
            c.close()
            a.close()
        for s in (s for pair in many for s in pair):
            s.close()

    def test_many_refused(self):
        """They are answered in bundles, not in a packet each."""
        c, a = self.start()
        cpu = self.bridge.cpu()
        for _ in range(10):
            c.sendall(REMOVE_ALL * 20000)
            self.assertEqual(read_exactly(c, 5 * 20000), FAILURE * 20000)
        cpu = self.bridge.cpu() - cpu
        print("a refused request: %.2f us" % (cpu / 200000 * 1e6))
        if not SANITIZED:
            self.assertLess(cpu, 0.4)
        self.nothing_at(a)
        c.close()
        e = self.journal.wait(lambda e: e["MESSAGE_ID"] == h.SERVED)[0]
        self.assertEqual(e["BRIDGE_REQUESTS_REFUSED"], "200000")

    def test_large_ones_ahead_of_their_turn(self):
        """Less than is read at once, but much where there are thousands: those that hold it for longest go."""
        pairs = [self.start(LIST) for _ in range(300)]
        for c, a in pairs:
            self.assertEqual(read_exactly(a, len(LIST)), LIST)
            c.sendall(sign(b"key one", b"x" * 100000)[:16000])
        self.journal.wait(lambda e: e["BRIDGE_REASON"] == "stalled", 44)
        self.bridge.wait_status(lambda s: "256 open" in s)
        for s in (s for pair in pairs for s in pair):
            s.close()

    def test_requests_that_never_end(self):
        """What is kept of each is its head at most."""
        before = self.bridge.rss()
        pairs = [self.start(struct.pack(">I", 200000) + b"\x0d") for _ in range(200)]
        for _ in range(3):
            for c, _ in pairs:
                c.sendall(b"\0" * 4000)
        self.expect_served()
        if not SANITIZED:
            self.assertLess(self.bridge.rss() - before, 200 * 20 + 1000)
        for s in (s for pair in pairs for s in pair):
            s.close()


if __name__ == "__main__":
    h.enter_namespace()
    unittest.main(verbosity=2, warnings="ignore")
