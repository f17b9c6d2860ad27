#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bridge beside systemd-socket-proxyd and socat, in one run. Usage: bench-bridge.py BRIDGE LOAD GUEST [ROUNDS [SCALE]]

Wants root, socat, and a machine that does nothing else. Each measurement goes round all of them before the next round, so that
whatever else the machine does meets all three; what counts is the median over the rounds, and the median of their ratios in each
round. Round trips go round several times in each, since a machine that is not one's own changes its pace within seconds. The others do
without a handshake and without checking anybody. SCALE, 1 by default, makes each measurement shorter: 0.05 shows in a minute
that everything works, and its numbers mean nothing. docs/benchmarks.md says how each figure is taken.
"""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration/local"))

import bridge_harness as h  # noqa: E402
from bench_parts import Bare, Bridge, Flood, Group, Journal, Proxyd, Socat, kernel_memory, sockets_used  # noqa: E402
from guest_sandbox import GPG_SOCKET, Sandbox, until  # noqa: E402

LOAD = None
HELD = 1000
FLOOD = 2000
TURNS = 4  # of round trips, in each round
ENTRIES = 1000  # so many entries in the journal are too many
ONE_CORE = {0}
CORES = os.sched_getaffinity(0)
SHELL_CHAIN = """#!/bin/sh
{{ printf '%s gpg\\n' {token}; exec cat; }} | exec socat - TCP:127.0.0.1:{port}
"""


def load(*arguments):
    """The numbers that one run of the load generator prints."""
    done = subprocess.run([LOAD, *map(str, arguments)], stdout=subprocess.PIPE, check=True, timeout=300)
    return [int(n) for n in done.stdout.split()]


@contextlib.contextmanager
def cores(cpus, groups):
    """Everybody on these processors: the relay, its backend, and the clients, who inherit it from us."""
    for group in groups:
        group.pin(cpus)
    os.sched_setaffinity(0, cpus)
    yield
    os.sched_setaffinity(0, CORES)
    for group in groups:
        group.pin(CORES)


class Results:
    """Figures by name and by who was measured."""

    def __init__(self):
        self.values = {}

    def add(self, name, who, value):
        self.values.setdefault(name, {}).setdefault(who, []).append(value)

    def median(self, name, who):
        return statistics.median(self.values[name][who]) if who in self.values.get(name, {}) else None

    def ratio(self, name, who, other):
        """The median of the ratios of figures that were taken one after the other."""
        of = self.values[name]
        return statistics.median(a / b for a, b in zip(of[who], of[other])) if other in of else None


class Bench:
    def __init__(self, rounds, scale):
        self.rounds = rounds
        self.scale = scale
        self.journal = None
        self.entries = 0
        self.results = Results()
        self.failed = 0

    def times(self, n):
        return max(20, int(n * self.scale))

    # What is measured of each in turn

    def round_trips(self, who, where, groups):
        with cores(ONE_CORE, groups):
            for size in (1, 400):
                median, _ = load("rtt", *where, size, self.times(20000 // TURNS))
                self.results.add("round trip of %d bytes, one core, µs" % size, who, median / 1000)
            agent = (where[0], where[1].replace(" gpg", " ssh-0"))
            median, _ = load("agent", *agent, 400, self.times(20000 // TURNS))
            self.results.add("round trip of an agent's 400 bytes, one core, µs", who, median / 1000)
            median, _ = load("connect", *where, 400, self.times(4000 // TURNS))
            self.results.add("connection to first reply, one core, µs", who, median / 1000)

    def rates(self, who, where):
        before = self.journal.n
        for clients in (1, 8, 64):
            replied, failed, nsec = load("rate", *where, clients, max(200, int(2000 * self.scale)))
            self.results.add("connections per second, %d clients" % clients, who, replied / nsec * 1e9)
            self.failed += failed if who == "bridge" else 0
        self.entries += self.journal.n - before

    def bulk(self, who, where, relay):
        mib = max(64, int(2048 * self.scale))
        for way, name in (("up", "to the backend"), ("down", "from the backend")):
            before = relay.cpu()
            nsec, = load(way, *where, mib)
            self.results.add("throughput %s, GiB/s" % name, who, mib / 1024 / nsec * 1e9)
            self.results.add("processor time per GiB %s, s" % name, who, (relay.cpu() - before) / mib * 1024)

    def measure(self, peers, bare, backend):
        for n in range(self.rounds):
            print("round %d of %d, load %.2f" % (n + 1, self.rounds, os.getloadavg()[0]), flush=True)
            for _ in range(TURNS):
                for peer in (*peers, bare):
                    self.round_trips(peer.name, peer.where, [peer.group, backend])
            for peer in peers:
                self.rates(peer.name, peer.where)
            for turn in range(TURNS):
                for peer in peers:
                    if turn == 0 or peer.name != "socat":  # which takes long, and so makes strangers of neighbours
                        self.bulk(peer.name, peer.where, peer.group)

    # Many connections that are held

    @contextlib.contextmanager
    def held(self, where):
        """What the kernel's memory grew by while the connections are held, in bytes."""
        before, sockets = kernel_memory(), sockets_used()
        with subprocess.Popen([LOAD, "hold", *where, str(HELD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
            if p.stdout.readline() != b"held\n":
                raise SystemExit("could not hold %d connections" % HELD)
            yield kernel_memory() - before
            p.stdin.close()
        until(lambda: sockets_used() <= sockets + HELD // 100, "the end of the held connections")

    def memory(self, peers, port, path):
        ends = []
        for where in ((port, ""), (path, "")):
            with self.held(where) as grown:
                ends.append(grown)
        ends = statistics.mean(ends)
        for peer in peers:
            own = peer.group.private_memory()
            with self.held(peer.where) as grown:
                self.results.add("own memory of an idle relay, KiB", peer.name,
                                 (peer.group.private_memory() - own) / HELD / 1024)
                self.results.add("kernel memory of an idle relay, KiB", peer.name, (grown - ends) / HELD / 1024)
                # The clock is the load on connections of nobody's: first for what is due soon, such as the bridge's status.
                load("rate", path, "", 1, 1500)
                idle = peer.group.cpu()
                load("rate", path, "", 1, max(1000, int(5000 * self.scale)))
                self.results.add("processor time of %d idle relays in 5 s, s" % HELD, peer.name, peer.group.cpu() - idle)

    # A good client among bad ones

    def among(self, bridge):
        n = self.times(400)
        quiet = load("connect", *bridge.where, 400, n)[0]
        for kind in ("silent", "wrong", "dribbling"):
            with Flood(bridge, kind, FLOOD) as flood:
                self.results.add("good client among %d %s, × its quiet time" % (FLOOD, kind), "bridge",
                                 load("connect", *bridge.where, 400, n)[0] / quiet)
                if kind == "dribbling":
                    self.results.add("longest life of a dribbling one, s", "bridge", flood.longest_life())

    # The guest's end

    def guest(self, bridge, program, directory):
        script = directory / "chain"
        script.write_text(SHELL_CHAIN.format(token=h.TOKEN, port=bridge.where[0]))
        script.chmod(0o700)
        path = directory / "chain.sock"
        chain = subprocess.Popen(["socat", "UNIX-LISTEN:%s,fork,backlog=128" % path, "EXEC:%s" % script])
        text = "address=127.0.0.1\nport=%s\ntoken=%s\nservices=gpg\n" % (bridge.where[0], h.TOKEN)
        with Sandbox(program, "echo ready; exec tail -f /dev/null", forwards=GPG_SOCKET + "=gpg", bridge=text) as sandbox:
            sandbox.expect("ready\n")
            for _ in range(self.rounds):
                for who, where, n in (("bridge", sandbox.inside(GPG_SOCKET), 1000), ("socat", path, 100)):
                    self.results.add("guest: connection to first reply, µs", who,
                                     load("connect", where, "", 400, self.times(n))[0] / 1000)
        chain.kill()
        chain.wait()


def at_most(limit):
    return lambda value: ("at most %g" % limit, value <= limit)


def at_least(limit):
    return lambda value: ("at least %g" % limit, value >= limit)


# Name → of whom (None: the figure itself) the ratio is, and what it must be.
TARGETS = {
    "round trip of 1 bytes, one core, µs": ("proxyd", None),
    "round trip of 400 bytes, one core, µs": ("proxyd", at_most(0.85)),
    "round trip of an agent's 400 bytes, one core, µs": ("proxyd", at_most(0.85)),
    "connection to first reply, one core, µs": ("proxyd", at_most(1.15)),
    "connections per second, 1 clients": ("proxyd", None),
    "connections per second, 8 clients": ("proxyd", None),
    "connections per second, 64 clients": ("proxyd", at_least(1)),
    "throughput to the backend, GiB/s": ("proxyd", at_least(1)),
    "throughput from the backend, GiB/s": ("proxyd", at_least(1)),
    "processor time per GiB to the backend, s": ("proxyd", at_most(1)),
    "processor time per GiB from the backend, s": ("proxyd", at_most(1)),
    "own memory of an idle relay, KiB": (None, at_most(1)),
    "kernel memory of an idle relay, KiB": (None, at_most(8)),
    "processor time of %d idle relays in 5 s, s" % HELD: (None, at_most(0)),
    "good client among %d silent, × its quiet time" % FLOOD: (None, at_most(2)),
    "good client among %d wrong, × its quiet time" % FLOOD: (None, at_most(2)),
    "good client among %d dribbling, × its quiet time" % FLOOD: (None, at_most(2)),
    "longest life of a dribbling one, s": (None, at_most(5.5)),
    "guest: connection to first reply, µs": ("socat", at_most(0.05)),
}


def show(value):
    return "" if value is None else "%.3g" % value if value < 1000 else "%d" % value


def table(results):
    row = "| %-55s | %8s | %8s | %8s | %8s | %8s | %6s | %-14s | %-3s |"
    print(row % ("", "bridge", "proxyd", "socat", "bare", "direct", "ratio", "target", "met"))
    print("| --- | --: | --: | --: | --: | --: | --: | --- | --- |")
    for name, (peer, target) in TARGETS.items():
        values = [results.median(name, who) for who in ("bridge", "proxyd", "socat", "bare", "direct")]
        ratio = results.ratio(name, "bridge", peer) if peer else None
        wanted, met = target(ratio if peer else values[0]) if target else ("", None)
        print(row % (name, *map(show, values), "%.2f" % ratio if ratio is not None else "", wanted,
                     {None: "", True: "yes", False: "NO"}[met]))


def main():
    global LOAD
    program, LOAD, guest = (os.path.abspath(p) for p in sys.argv[1:4])
    bench = Bench(int(sys.argv[4]) if len(sys.argv) > 4 else 5, float(sys.argv[5]) if len(sys.argv) > 5 else 1.0)

    h.enter_namespace()
    scope = h.Scope()
    scope.join(scope.inner)
    with contextlib.ExitStack() as stack:
        bench.journal = stack.enter_context(Journal())
        bridge = stack.enter_context(Bridge(program, scope))
        backend = stack.enter_context(Group("backend", scope.mount))
        path = bridge.backend_path
        # It is an agent as far as the bridge can tell, so nothing here knows that it measures.
        port = backend.spawn([LOAD, "backend", path], stdout=subprocess.PIPE).stdout.readline().decode().strip()
        peers = [bridge, stack.enter_context(Proxyd(path, scope)), stack.enter_context(Socat(path, scope))]

        direct = type("Direct", (), {"name": "direct", "where": (port, ""), "group": backend})
        bench.memory(peers, port, path)
        bench.measure([*peers, direct], stack.enter_context(Bare(path, scope, os.path.join(os.path.dirname(LOAD), "bare"))), backend)
        bench.among(bridge)
        bench.guest(bridge, guest, bridge.directory)
        print()
        table(bench.results)
        print("\nWhile connections per second were measured: %d of the bridge's failed, %d entries in the journal (target: none, and less "
              "than %d)." % (bench.failed, bench.entries, ENTRIES))
    scope.remove()
    sys.exit(bench.failed > 0 or bench.entries >= ENTRIES)


if __name__ == "__main__":
    main()
