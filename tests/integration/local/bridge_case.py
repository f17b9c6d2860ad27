# SPDX-License-Identifier: MIT
"""A test of the whole bridge program: one that runs, an agent behind it, a journal, and nothing secret in what it says."""

import sys
import time
import unittest

import bridge_harness as h
from bridge_harness import Agent, Bridge, Journal, Scope, read_all, read_exactly

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/src/bridge/claude-sandbox-bridge"
with open(PROGRAM, "rb") as f:
    SANITIZED = b"__asan_init" in f.read()
SLACK = 2.0  # seconds that a busy machine may lose


class BridgeTest(unittest.TestCase):
    options = {}
    service = h.PLAIN

    @classmethod
    def setUpClass(cls):
        cls.scope = Scope()

    @classmethod
    def tearDownClass(cls):
        cls.scope.remove()

    def setUp(self):
        self.scope.join(self.scope.inner)
        self.journal = Journal()
        self.bridge = Bridge(PROGRAM, self.scope, **self.options).wait_ready()
        self.agent = Agent(self.bridge.paths[self.service])

    def tearDown(self):
        self.agent.socket.close()
        self.bridge.stop()
        self.journal.read()
        for e in self.journal.entries:
            self.assertNotIn(h.TOKEN, e["RAW"])
        for s in self.bridge.notified:
            self.assertNotIn(h.TOKEN, s)
        self.journal.close()
        self.scope.join(self.scope.home)

    def line(self):
        return self.bridge.line(self.service)

    def expect_served(self):
        """One whole connection, and how long it took."""
        start = time.monotonic()
        c = self.bridge.connect(self.line() + h.LIST)
        a = self.agent.accept()
        self.assertEqual(read_exactly(a, len(h.LIST)), h.LIST)
        a.sendall(h.NO_KEYS)
        self.assertEqual(read_exactly(c, len(h.NO_KEYS)), h.NO_KEYS)
        took = time.monotonic() - start
        c.close()
        a.close()
        return took

    def expect_refused(self, c, reason):
        self.assertEqual(read_all(c), b"")
        c.close()
        e = self.journal.wait(lambda e: e["BRIDGE_REASON"] == reason)[0]
        self.assertEqual(e["MESSAGE_ID"], h.REFUSED)
        self.assertEqual(e["BRIDGE_OUTCOME"], "refused")
        self.assertEqual(e["CLAUDE_PROFILE"], h.PROFILE)
        self.assertEqual(e["CLAUDE_LAUNCH"], h.ID)
        self.journal.entries.remove(e)
        return e

    def expect_refused_quietly(self, c):
        self.assertEqual(read_all(c), b"")
        c.close()
