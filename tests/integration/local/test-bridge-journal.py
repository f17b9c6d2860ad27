#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the journal holds after much mixed use: some thousand connections to all services, refused ones included. That each is told
once, alone or in a summary, each signature alone, and nothing of what passed. An hour's worth of events, in a few seconds; with
MIXED_USE_SECONDS=3600 in the environment they come in bursts over an hour. The agent, the native host and the supervisor are
stand-ins. Usage: test-bridge-journal.py PROGRAM [TEST…]"""

import collections
import os
import random
import re
import socket
import struct
import threading
import time
import unittest

import bridge_harness as h
from bridge_case import BridgeTest
from bridge_harness import read_all, read_exactly

CONNECTIONS = 4000
FIRST = 100  # of these each has its entry: budget is left
BURST = 300  # connections, one after the other
SECONDS = float(os.environ.get("MIXED_USE_SECONDS", "0"))
MARK = b"PAYLOAD-of-the-guest-or-the-host"
FAILURE, REMOVE_ALL = b"\0\0\0\1\5", b"\0\0\0\1\x13"
SIGNED = struct.pack(">I", 1 + len(MARK)) + b"\x0e" + MARK
KEY = struct.pack(">I", len(MARK)) + MARK
KEYS = struct.pack(">IBI", 5 + len(KEY) + 8, 12, 1) + KEY + b"\0\0\0\4work"
SIGN = struct.pack(">IB", 1 + 2 * len(KEY) + 4, 13) + KEY + KEY + b"\0\0\0\0"

# What there may be in an entry, and how it looks.
COMMON = {"MESSAGE": r"[ -~…]{1,400}", "MESSAGE_ID": r"[0-9a-f]{32}", "PRIORITY": r"[56]", "SYSLOG_IDENTIFIER": r"claude-sandbox-bridge",
          "CLAUDE_PROFILE": re.escape(h.PROFILE), "CLAUDE_LAUNCH": h.ID}
END = {"BRIDGE_SERVICE": r"[a-z0-9-]{1,40}", "BRIDGE_OUTCOME": r"served|refused", "BRIDGE_REASON": r"[a-z-]+", "PEER_UID": r"\d+",
       "PEER_CGROUP": r"/[^\x00-\x1f]*", "BRIDGE_BYTES_IN": r"\d+", "BRIDGE_BYTES_OUT": r"\d+", "BRIDGE_DURATION_USEC": r"\d+",
       "BRIDGE_SIGNATURES": r"\d+", "BRIDGE_REQUESTS_REFUSED": r"\d+"}
FIELDS = {
    h.SERVED: END,
    h.REFUSED: END,
    h.SUPPRESSED: {k: END[k] for k in ("BRIDGE_SERVICE", "BRIDGE_OUTCOME", "BRIDGE_REASON")} | {"BRIDGE_COUNT": r"\d+"},
    h.SIGNED: {"BRIDGE_SERVICE": r"ssh-0", "BRIDGE_KEY_FINGERPRINT": r"SHA256:[A-Za-z0-9+/]{43}", "BRIDGE_KEY_COMMENT": r"work",
               "BRIDGE_SIGNATURE_PURPOSE": r"other"},
}


class StandIn:
    """Answers one connection after the other on a Unix socket."""

    def __init__(self, path, serve):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(100)
        self.serve = serve
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            with c:
                c.settimeout(h.WAIT)
                self.serve(c)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def serve_echo(c):
    while data := c.recv(65536):
        c.sendall(data)


def serve_agent(c):
    while header := c.recv(4):
        body = read_exactly(c, struct.unpack(">I", header)[0])
        c.sendall(KEYS if body == b"\x0b" else SIGNED)


def serve_supervisor(c):
    line = c.recv(65536)
    if b'"paste"' not in line:
        c.sendall(b'{"ok":true}\n')
        return
    fd = os.memfd_create("clipboard")
    os.write(fd, MARK)
    socket.send_fds(c, [b'{"ok":true}\n'], [fd])
    os.close(fd)


class Mixed(BridgeTest):
    options = {"services": ("ssh-0", "gpg", "clipboard", "open", "chrome")}
    service = "gpg"
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.agent.close()
        os.mkdir(self.bridge.paths["chrome"], 0o700)
        self.stand_ins = [StandIn(path, serve) for path, serve in (
            (self.bridge.paths["gpg"], serve_echo), (self.bridge.paths["ssh-0"], serve_agent),
            (self.bridge.paths["chrome"] + "/1.sock", serve_echo), (self.bridge.supervisor_path, serve_supervisor))]

    def tearDown(self):
        for s in self.stand_ins:
            s.close()
        super().tearDown()

    def talk(self, service, question, answer):
        c = self.bridge.connect(self.bridge.line(service) + question)
        self.assertEqual(read_exactly(c, len(answer)), answer)
        c.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(c), b"")
        c.close()

    def dropped(self, data):
        c = self.bridge.connect(data)
        self.assertEqual(read_all(c), b"")
        c.close()

    def closed_early(self, data):
        self.bridge.connect(data).close()

    def from_outside(self, data):
        self.scope.join(self.scope.home)
        self.dropped(data)
        self.scope.join(self.scope.inner)

    def kinds(self):
        """Service, reason, and how to get there."""
        frame = struct.pack("<I", len(MARK)) + MARK
        line = self.bridge.line
        return [
            ("gpg", "served", self.talk, "gpg", MARK, MARK),
            ("ssh-0", "served", self.talk, "ssh-0", h.LIST, KEYS),
            ("ssh-0", "served", self.talk, "ssh-0", SIGN, SIGNED),
            ("ssh-0", "served", self.talk, "ssh-0", REMOVE_ALL + h.LIST, FAILURE + KEYS),
            ("ssh-0", "bad-message", self.dropped, line("ssh-0") + bytes(4) + MARK),
            ("clipboard", "served", self.talk, "clipboard", b"-n -t text/plain\n", b"OK\n" + MARK),
            ("clipboard", "request-refused", self.talk, "clipboard", b"--watch " + MARK + b"\n", b"ERR refused\n"),
            ("open", "served", self.talk, "open", b"https://claude.ai/chrome?" + MARK + b"\n", b"OK\n"),
            ("open", "request-refused", self.talk, "open", b"https://x.example/" + MARK + b"\n", b"NO\n"),
            ("chrome", "served", self.talk, "chrome", frame, frame),
            ("chrome", "bad-frame", self.dropped, line("chrome") + bytes(4) + MARK),
            (None, "bad-token", self.dropped, line(token="0" * 64) + MARK),
            (None, "malformed-line", self.dropped, MARK + b"\n"),
            (None, "nul-in-line", self.dropped, h.TOKEN.encode() + b" gpg\0" + MARK + b"\n"),
            (None, "line-too-long", self.dropped, h.TOKEN.encode() + b" " + MARK * 200),
            (None, "unknown-service", self.dropped, line("no-such") + MARK),
            (None, "unknown-service", self.dropped, line("x-" + h.TOKEN) + MARK),
            (None, "service-not-enabled", self.dropped, line("ssh-1") + MARK),
            (None, "closed-early", self.closed_early, MARK),
            (None, "foreign-cgroup", self.from_outside, line("gpg") + MARK),
        ]

    def use(self, n, chosen):
        kinds = self.kinds()
        for _ in range(n):
            kind = self.random.choice(kinds)
            kind[2](*kind[3:])
            chosen[kind[:2]] += 1
            self.signed += SIGN in kind
            self.journal.read()

    def use_in_bursts(self, n, chosen):
        start = time.monotonic()
        for done in range(0, n, BURST):
            self.use(min(BURST, n - done), chosen)
            until = start + SECONDS * (done + BURST) / n
            while (left := until - time.monotonic()) > 0:
                self.journal.read(left)

    def wait_ended(self, n):
        """The status says so, at the latest when a second has passed."""
        self.bridge.wait_status(lambda s: (m := re.search(r"(\d+) served, (\d+) refused", s)) and int(m[1]) + int(m[2]) == n)
        self.journal.read()

    def told(self):
        """Kind of end → number of entries of its own, number in summaries. Of those that close early some are gone before they can be
        asked whose they are."""
        ends = collections.defaultdict(lambda: [0, 0])
        for e in self.journal.entries:
            if e["MESSAGE_ID"] != h.SIGNED:
                service = e.get("BRIDGE_SERVICE")
                kind = service if service in self.options["services"] else None, e["BRIDGE_REASON"].replace("peer-gone", "closed-early")
                ends[kind]["BRIDGE_COUNT" in e] += int(e.get("BRIDGE_COUNT", 1))
        return ends

    def check_entry(self, e):
        raw = e.pop("RAW")
        self.assertNotIn(MARK.decode(), raw)
        self.assertNotIn(h.TOKEN, raw)
        for name, value in e.items():
            self.assertRegex(value, "^(?:%s)$" % (COMMON | FIELDS[e["MESSAGE_ID"]])[name])
        e["RAW"] = raw

    def test_mixed_use(self):
        self.random, self.signed, chosen = random.Random(3), 0, collections.Counter()
        start = time.monotonic()
        self.use(FIRST, chosen)
        self.wait_ended(FIRST)
        self.assertEqual({k: [n, 0] for k, n in chosen.items()}, dict(self.told()))

        self.use_in_bursts(CONNECTIONS - FIRST, chosen)
        self.wait_ended(CONNECTIONS)
        self.bridge.process.terminate()
        self.bridge.process.wait(timeout=h.WAIT)
        self.journal.read()
        seconds = time.monotonic() - start

        for e in self.journal.entries:
            self.check_entry(e)
        self.assertEqual(dict(chosen), {k: sum(n) for k, n in self.told().items()})
        self.assertEqual(self.signed, sum(e["MESSAGE_ID"] == h.SIGNED for e in self.journal.entries))
        summaries = sum("BRIDGE_COUNT" in e for e in self.journal.entries)
        print("%d connections, %d signatures in %.1f s: %d entries, %d of them summaries" % (
            CONNECTIONS, self.signed, seconds, len(self.journal.entries), summaries))
        self.assertGreater(summaries, 0)
        self.assertLessEqual(len(self.journal.entries) - summaries, h.BURST + h.PER_SECOND * (seconds + 1))
        self.assertLessEqual(summaries, (len(chosen) + 1) * (seconds / 10 + 1))


if __name__ == "__main__":
    h.enter_namespace()
    unittest.main(verbosity=2, warnings="ignore")
