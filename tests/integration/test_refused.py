# SPDX-License-Identifier: MIT
"""Who gets nothing from the bridge: without a token, from elsewhere with the right one, too slow, too many. Each is closed without a byte,
and the journal says who it was."""

import collections
import socket

from elsewhere import Elsewhere, FakeAgent
from rigtest import *

PROFILE, OTHER = "t-refused", "t-refused-b"
SERVED = "aea2a4c9987e42e4843f915ab144c408"
REFUSED = "2fc7d2193e544122bf2855c6c38ce197"
SUMMARY = "aadaae314307401eb52c9971931bad2f"
MALLORY = 1001
SILENT = 2000
DELAY_MAX = 0.1
BURST, PER_SECOND = 200, 20
FOR_SIGNATURES = 60  # entries that connections leave to signatures, and to ends of a new kind
CLOSED = ("closed", "reset")


class Bridged:
    """A launch with a program inside, and an agent that counts who comes through to it."""

    def __init__(self, t, profile=PROFILE):
        if not (BASE / profile).exists():
            t.profile(profile)
        self.profile = profile
        self.agent = FakeAgent(t, t.tempdir("/tmp") / "agent.sock")
        self.since = time.time()
        self.launch = Launch(t, profile, *Elsewhere.ARGV, cwd=t.tempdir(),
                             env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": self.agent.path})
        self.there = Elsewhere.in_launch(self.launch)
        self.address = ("127.0.0.1", self.launch.port)
        self.token = self.launch.token
        self.cgroup = run("cat", "/proc/%d/cgroup" % self.launch.process.pid).stdout.strip().rsplit("0::")[1].removesuffix("/launcher")
        assert self.cgroup.endswith(self.launch.scope), self.cgroup
        self.known = 0

    def line(self, service="ssh-0", token=None):
        return ("%s %s\n" % (self.token if token is None else token, service)).encode()

    def assert_serves(self):
        before = self.agent.connections
        assert self.there.list_keys(self.address, self.line())["answer"] == self.agent.EMPTY
        assert self.agent.connections == before + 1

    def entries(self, message_id):
        return [e for e in journal("-u", "claude-bridge@%s-*" % self.profile, "MESSAGE_ID=" + message_id, since=self.since)
                if e["CLAUDE_LAUNCH"] == self.launch.id]

    def next_refused(self, n):
        """The entries about the next n refused connections, in the order of their ends."""
        entries = wait_for(lambda: (lambda e: e if len(e) >= self.known + n else None)(self.entries(REFUSED)), 10,
                           "%d entries about refused connections" % n)
        assert len(entries) == self.known + n, [e["MESSAGE"] for e in entries[self.known:]]
        found, self.known = entries[self.known:], self.known + n
        for e in found:
            assert e["CLAUDE_PROFILE"] == self.profile and e["BRIDGE_OUTCOME"] == "refused", e
            assert self.token not in repr(e), "the token is in the journal"
        return found

    def assert_refused(self, rows, ask, uid, cgroup, cgroup_inside=False):
        """rows: (data, reason or reasons), each sent by ask(address, data)."""
        reached = self.agent.connections
        for data, _ in rows:
            answer = ask(self.address, data)
            assert answer["received"] == b"" and answer["end"] in CLOSED, (data[:80], answer)
        for (data, reasons), e in zip(rows, self.next_refused(len(rows))):
            assert e["BRIDGE_REASON"] in (reasons if isinstance(reasons, tuple) else (reasons,)), (data[:80], e)
            assert e["PEER_UID"] == str(uid), (data[:80], e)
            assert e["PEER_CGROUP"] == cgroup or cgroup_inside and e["PEER_CGROUP"].startswith(cgroup + "/"), (data[:80], e)
        assert self.agent.connections == reached, "something came through to the agent"

    def assert_refused_inside(self, rows):
        self.assert_refused(rows, self.there.ask, os.getuid(), self.cgroup, cgroup_inside=True)

    def another_inside(self, t):
        """A process of this user's in the launch's scope, put there by root. It must end before the launch does."""
        there = Elsewhere.start(t)
        run("sudo", "tee", "/sys/fs/cgroup%s/launcher/cgroup.procs" % self.cgroup, input=str(there.process.pid))
        assert own_cgroup(there.process.pid) == self.cgroup + "/launcher"
        return there

    def finish(self):
        self.launch.process.stdin.close()
        assert self.launch.wait() == 0, self.launch.stderr()


def own_cgroup(pid="self"):
    return Path("/proc/%s/cgroup" % pid).read_text().strip().rsplit("0::")[1]


def session(user):
    """A command's first part: it runs in a login session of another user."""
    return ["sudo", "systemd-run", "--quiet", "--collect", "--pipe", "--wait", "--uid=" + user, "--property=PAMName=login",
            "--property=WorkingDirectory=~"]


def container(t, user, *options):
    """A program in a podman container of a user's, made of nothing but the machine's /usr."""
    root = t.tempdir("/tmp")
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to("usr/" + name)
    (root / "usr").mkdir()
    if user:
        run("sudo", "chown", "-hR", user + ":", root)
        t.cleanup(run, "sudo", "rm", "-rf", root)
    return Elsewhere.start(t, *(session(user) if user else []), "podman", "run", "--rm", "--interactive", "--pids-limit=0", *options,
                           "--volume=/usr:/usr:ro", "--rootfs", root)


@test("from inside, in every way wrong: closed without a byte, logged with who it was; and a good one is served")
def _(t):
    b = Bridged(t)
    b.assert_serves()
    wrong = b.token[:-1] + ("0" if b.token[-1] != "0" else "1")
    b.assert_refused_inside([
        (b"\n", "malformed-line"),
        (b"ssh-0\n", "malformed-line"),
        (b.token.encode() + b"\n", "malformed-line"),
        (b" ssh-0\n", "bad-token"),
        (b.line(token="0" * 64), "bad-token"),
        (b.line(token=wrong), "bad-token"),
        (b.line(token=b.token[:-1]), "bad-token"),
        (b.line(token=b.token + "0"), "bad-token"),
        (b.line(token=b.token.upper() if b.token.upper() != b.token else wrong), "bad-token"),
        (b" " + b.line(), "bad-token"),
        (b.line("no-such-service"), "unknown-service"),
        (b.line("ssh-00"), "unknown-service"),
        (b.line("SSH-0"), "unknown-service"),
        (b.line("ssh-0 "), "unknown-service"),
        (b.line("ssh-0\r"), "unknown-service"),
        (b.line("../ssh-0"), "unknown-service"),
        (b.line("ssh-1"), "service-not-enabled"),
        (b.line("gpg"), "service-not-enabled"),
        (b.line("x" * 5000), "line-too-long"),
        (b"x" * 5000, "line-too-long"),
        (b"0" * 300000, "line-too-long"),
        (b.token.encode() + b" ssh-0\0\n", "nul-in-line"),
        (b"\0" + b.line(), "nul-in-line"),
        (os.urandom(64).replace(b"\n", b"") + b"\0\n", "nul-in-line"),
    ])
    # One that says half a line and no more.
    b.assert_refused([(b.line()[:-1], "closed-early"), (b"", "closed-early")], lambda a, d: b.there.ask(a, d, half_close=True),
                     os.getuid(), b.cgroup, cgroup_inside=True)
    b.assert_serves()

    e = b.entries(SERVED)[-1]
    assert (e["BRIDGE_SERVICE"], e["BRIDGE_OUTCOME"], e["BRIDGE_REASON"], e["PEER_UID"]) == ("ssh-0", "served", "served", str(os.getuid())), e
    assert e["PEER_CGROUP"].startswith(b.cgroup + "/guest/"), e
    assert (e["BRIDGE_BYTES_IN"], e["BRIDGE_BYTES_OUT"]) == ("5", str(len(b.agent.EMPTY))) and int(e["BRIDGE_DURATION_USEC"]) > 0, e
    assert e["_SYSTEMD_USER_UNIT"] == b.launch.bridge and e["CLAUDE_PROFILE"] == PROFILE and e["CLAUDE_LAUNCH"] == b.launch.id, e
    status = wait_for(lambda: (lambda s: s if "2 served, 26 refused" in s else None)(unit_property(b.launch.bridge, "StatusText")), 5,
                      "the count in the status")
    assert status == "Launch %s of %s: 0 open, 2 served, 26 refused." % (b.launch.id, PROFILE), status
    assert status in systemctl("status", "--no-pager", b.launch.bridge).stdout

    # A name that comes from the guest cannot colour the log, nor have the token written down.
    for name in ("x\x1b[2J" + "y" * 500, "ssh-0 " + b.token):
        assert b.there.ask(b.address, b.line(name))["received"] == b""
    said, hidden = b.next_refused(2)
    assert said["BRIDGE_SERVICE"].startswith("x\\x1b[2Jyyy") and len(said["BRIDGE_SERVICE"]) < 300, said
    assert "BRIDGE_SERVICE" not in hidden, hidden
    b.there.hold(b.address, 2, first=b.line())
    wait_for(lambda: "2 open, 2 served, 28 refused" in unit_property(b.launch.bridge, "StatusText"), 5, "open ones in the status")

    b.finish()
    wait_for(lambda: len(b.entries(SERVED)) == 4, 10, "entries about those that the launch's end ended")
    everything = run("sudo", "journalctl", "--quiet", "--output=export", "--all", "--since=@%.6f" % b.since).stdout
    assert b.launch.id in everything and b.token not in everything, "the token is in the journal"
    assert_no_traces(PROFILE)


@test("from outside, with the right token: other processes of this user, of mallory and root, containers of both")
def _(t):
    b = Bridged(t)
    b.assert_serves()
    with_all = [(b.line() + b"\0\0\0\1\x0b", "foreign-cgroup"), (b"x", "foreign-cgroup"), (b"", "foreign-cgroup")]
    other_user = [(data, "foreign-uid") for data, _ in with_all]

    local = Elsewhere.start(t)
    b.assert_refused(with_all, local.ask, os.getuid(), own_cgroup())
    service = Elsewhere.start(t, "systemd-run", "--user", "--quiet", "--collect", "--pipe", "--wait", "--unit=t-refused-peer")
    b.assert_refused(with_all, service.ask, os.getuid(), unit_property("t-refused-peer.service", "ControlGroup"))
    # Beside the launch, in its slice, below a scope of nearly its name.
    near = Elsewhere.start(t, "systemd-run", "--user", "--quiet", "--scope", "--collect", "--slice=" +
                           unit_property(b.launch.scope, "Slice"), "--unit=claude-sandbox-%s-%s0.scope" % (PROFILE, b.launch.id))
    b.assert_refused(with_all, near.ask, os.getuid(), b.cgroup.removesuffix(".scope") + "0.scope")

    mallory = Elsewhere.start(t, "sudo", "-u", "mallory")
    b.assert_refused(other_user, mallory.ask, MALLORY, own_cgroup())
    root = Elsewhere.start(t, "sudo")
    b.assert_refused(other_user, root.ask, 0, own_cgroup())

    def assert_refused_to(there, reason, uid, cgroup):
        rows = [(data, reason) for data, _ in with_all]
        for data, _ in rows:
            answer = there.ask(b.address, data)
            assert answer["received"] == b"" and answer["end"] in CLOSED, answer
        for e in b.next_refused(len(rows)):
            assert (e["BRIDGE_REASON"], e["PEER_UID"]) == (reason, str(uid)) and re.search(cgroup, e["PEER_CGROUP"]), e
    assert_refused_to(container(t, None, "--network=host"), "foreign-cgroup", os.getuid(), "libpod|podman")
    assert_refused_to(container(t, "mallory", "--network=host"), "foreign-uid", MALLORY, "user-1001.slice/.*(libpod|podman)")
    # A container that is shown the port, as a microVM's sandbox sees every port of the loopback.
    shown = container(t, None, "--network=pasta:-T,%d" % b.address[1])
    assert_refused_to(shown, "foreign-cgroup", os.getuid(), ".")
    # One that is not cannot even try.
    hidden = container(t, None, "--network=pasta")
    assert hidden.ask(b.address, b.line())["end"] == "ConnectionRefusedError"
    b.assert_serves()
    b.finish()
    assert_no_traces(PROFILE)


@test("B02: a web page's requests are closed, without echo or effect, from inside and from outside")
def _(t):
    b = Bridged(t)
    b.assert_serves()
    keys = "\0\0\0\1\x0b"
    requests = [
        "GET / HTTP/1.1\r\nHost: rebind.invalid:%d\r\nOrigin: https://rebind.invalid\r\n\r\n" % b.address[1],
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % b.address[1],
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nssh-0\n" + keys,
        # Not even with the token in its body, or in its address.
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 76\r\n\r\n%s ssh-0\n%s" % (b.token, keys),
        "GET /%s ssh-0\n%s" % (b.token, keys),
        "OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://a.invalid\r\nAccess-Control-Request-Method: POST\r\n\r\n",
        "GET /chat HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: https://a.invalid\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + "x" * 32 + "\n",
    ]
    rows = [(r.encode("latin-1"), ("bad-token", "nul-in-line")) for r in requests]
    b.assert_refused_inside(rows)
    b.assert_refused([(data, "foreign-cgroup") for data, _ in rows], Elsewhere.start(t).ask, os.getuid(), own_cgroup())
    b.assert_serves()
    b.finish()
    assert_no_traces(PROFILE)


def listen_too(port):
    """A second listener on a port, as anybody of the same user can have where the first one has SO_REUSEPORT. None: refused."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", port))
        s.listen()
    except OSError:
        s.close()
        return None
    return s


@test("B05: launches share nothing: no token of one serves at another's port, whoever sends it; an ended one's port is closed at once")
def _(t):
    a, same, other = all_three = [Bridged(t, profile) for profile in (PROFILE, PROFILE, OTHER)]
    for what in ("address", "token", "cgroup"):
        assert len({getattr(x, what) for x in all_three}) == 3, what
    assert len({x.launch.directory for x in all_three}) == 3

    # From inside, another launch's port cannot be reached, by no address that leads out.
    for x in all_three:
        x.assert_serves()
        ways = ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "169.254.1.1", "169.254.1.2", "host.containers.internal", *x.there.addresses()]
        questions = [((way, y.address[1]), y.line() + b"\0\0\0\1\x0b") for way in ways for y in all_three if y is not x]
        for question, answer in zip(questions, x.there.ask_at_once(questions, timeout=1)):
            assert answer["received"] == b"" and answer["end"] not in CLOSED, (question, answer)

    # Whoever reaches it all the same, from a process in another launch's scope, is told apart by scope, then by token.
    expected = {y: [] for y in all_three}
    for x in all_three:
        inside = x.another_inside(t)
        for y in all_three:
            for z in all_three:
                reached = y.agent.connections
                answer = inside.list_keys(y.address, y.line(token=z.token))["answer"]
                if x is y is z:
                    assert answer == y.agent.EMPTY and y.agent.connections == reached + 1, answer
                else:
                    assert answer in ("EOFError", "ConnectionResetError") and y.agent.connections == reached, answer
                    expected[y].append(("bad-token" if x is y else "foreign-cgroup", x.cgroup + "/launcher"))
        inside.end()
    for y in all_three:
        assert [(e["BRIDGE_REASON"], e["PEER_CGROUP"]) for e in y.next_refused(8)] == expected[y]
    bridges = {e["_PID"] for x in all_three for e in x.entries(SERVED)}
    assert len(bridges) == 3, bridges

    with listen_too(0) as shared, listen_too(shared.getsockname()[1]) as second:
        assert shared.getsockname() == second.getsockname(), "that is how it would be"
    for x in all_three:
        assert not listen_too(x.address[1]), "another process of this user can take half of the connections"

    local = Elsewhere.start(t)
    a.finish()
    begin = time.monotonic()
    wait_for(lambda: local.ask(a.address, timeout=0.1)["end"] == "ConnectionRefusedError", 1, "the closed port")
    note("the port was closed %.0f ms after the launcher's end" % ((time.monotonic() - begin) * 1000))
    for x in (same, other):
        x.assert_serves()
        x.assert_refused_inside([(x.line(token=a.token), "bad-token")])
        x.finish()
    for profile in (PROFILE, OTHER):
        assert_no_traces(profile)


@test("a line that dribbles in over 6 s is dropped after 5, one that takes 3 s is served")
def _(t):
    b = Bridged(t)
    b.assert_serves()
    second = b.another_inside(t)
    slow, good = at_once([lambda: b.there.dribble(b.address, b.line(), 6),
                          lambda: second.dribble(b.address, b.line() + b"\0\0\0\1\x0b", 3, timeout=1)])
    assert slow["received"] == b"" and slow["end"] in CLOSED, slow
    assert 4.8 < slow["took"] < 5.5, slow
    assert good["received"] == b.agent.EMPTY and good["end"] == "timeout", good
    second.end()
    e, = b.next_refused(1)
    assert e["BRIDGE_REASON"] == "line-timeout" and e["PEER_UID"] == str(os.getuid()) and e["PEER_CGROUP"].startswith(b.cgroup + "/"), e
    assert 4.8e6 < int(e["BRIDGE_DURATION_USEC"]) < 5.5e6, e
    b.finish()
    assert_no_traces(PROFILE)


def assert_no_delay(name, usual, measure):
    """A busy machine delays now and then; the product would do so every time."""
    usual = sorted(usual)[len(usual) // 2]
    for _ in range(3):
        took = sorted(measure())
        note("%s: %d requests, usually %.1f ms; now half %.1f, most %.1f ms" %
             (name, len(took), usual * 1000, took[len(took) // 2] * 1000, took[-1] * 1000))
        if took[-1] - usual <= DELAY_MAX:
            return
    raise AssertionError("a good connection was delayed by %.0f ms" % ((took[-1] - usual) * 1000))


@test("2,000 silent connections from inside do not delay a good one")
def _(t):
    b = Bridged(t)
    b.assert_serves()
    usual = b.there.time_requests(b.address, b.line(), at_least=29)

    def measure():
        b.there.drop()
        b.there.time_requests(b.address, b.line())  # when pasta is done with those, too
        # All that time, and while the kernel gives up waiting for a first byte, one after the other.
        return b.there.hold(b.address, SILENT, pace=b.line()) + b.there.time_requests(b.address, b.line(), 2.5)
    assert_no_delay("silent ones from inside", usual, measure)
    _, received = b.there.ended()
    assert received == b""
    b.there.drop()
    b.assert_serves()
    b.finish()
    assert_no_traces(PROFILE)


@test("2,000 silent connections from elsewhere do not delay a good one; the journal is told of each or of their number, and not flooded")
def _(t):
    b = Bridged(t)
    b.assert_serves()
    usual = b.there.time_requests(b.address, b.line(), at_least=29)
    before = sum(int(e.get("BRIDGE_COUNT", 1)) for m in (SERVED, SUMMARY) for e in b.entries(m))
    assert before == 30, before
    foreigners = [Elsewhere.start(t), Elsewhere.start(t, "sudo", "-u", "mallory")]
    begin = time.monotonic()
    rounds = [0]
    good = [30]

    def flood(there):
        there.hold(b.address, SILENT // 2)
        n, received = there.ended(timeout=20, at_least=SILENT // 2)
        assert (n, received) == (SILENT // 2, b""), (n, received)
        there.drop()

    def measure():
        rounds[0] += 1
        took, *_ = at_once([lambda: b.there.time_requests(b.address, b.line(), 2.5)] + [lambda f=f: flood(f) for f in foreigners])
        good[0] += len(took)
        return took
    assert_no_delay("silent ones from elsewhere", usual, measure)
    b.assert_serves()
    good[0] += 1

    def told():
        single = collections.Counter((e["BRIDGE_REASON"], e.get("PEER_UID")) for m in (SERVED, REFUSED) for e in b.entries(m))
        summed = collections.Counter()
        for e in b.entries(SUMMARY):
            summed[e["BRIDGE_REASON"]] += int(e["BRIDGE_COUNT"])
        return single, summed

    def complete():
        single, summed = told()
        return single, summed, sum(single.values()) + summed.total() == good[0] + SILENT * rounds[0]
    single, summed, _ = wait_for(lambda: (lambda c: c if c[2] else None)(complete()), 15, "the whole number in the journal")
    note("one by one: %s; in summaries: %s" % (dict(single), dict(summed)))
    seconds = time.monotonic() - begin
    assert BURST - FOR_SIGNATURES <= sum(single.values()) <= 30 + BURST + PER_SECOND * seconds, (single, seconds)
    for reason, uid in (("foreign-cgroup", os.getuid()), ("foreign-uid", MALLORY)):
        assert single[reason, str(uid)] > 0 and single[reason, str(uid)] + summed[reason] == SILENT // 2 * rounds[0], (single, summed)
    wait_for(lambda: "%d served, %d refused" % (good[0], SILENT * rounds[0]) in unit_property(b.launch.bridge, "StatusText"), 5,
             "the numbers in the status")
    b.finish()
    assert_no_traces(PROFILE)


@test("half-open connections from inside that trickle on do not starve a relay, nor, for long, a new one")
def _(t):
    b = Bridged(t)
    b.there.hold(b.address, 1, first=b.line())
    usual = [b.there.talk(0, b"\0\0\0\1\x0b") for _ in range(10)]
    n = 200
    b.there.hold(b.address, n, b.token[:1].encode(), pace=b.line())

    def measure():
        took = []
        for _ in range(10):
            b.there.trickle(b"0", skip=1)
            took.append(b.there.talk(0, b"\0\0\0\1\x0b"))
        return took
    assert_no_delay("a relay beside 200 half-open ones", usual, measure)
    fresh = b.there.time_requests(b.address, b.line(), at_least=10)
    note("new ones: at most %.0f ms" % (max(fresh) * 1000))
    assert max(fresh) < 2, fresh
    gone, received = b.there.ended(skip=1, timeout=8, at_least=n)
    assert (gone, received) == (n, b""), (gone, received)
    b.there.talk(0, b"\0\0\0\1\x0b")
    reasons = collections.Counter(e["BRIDGE_REASON"] for e in b.next_refused(n))
    note(dict(reasons))
    assert set(reasons) <= {"crowded-out", "line-timeout", "line-too-long"} and reasons["crowded-out"] >= n - 64, reasons
    b.finish()
    assert_no_traces(PROFILE)


def assert_longer_turns(pid):
    """Its unit lets it ask for them. Linux before 6.12 gives all the same, and tells nothing."""
    usual, own = (re.findall(r"runtime parameter: (\d+)", run("chrt", "-p", p).stdout) for p in (os.getpid(), pid))
    note("turns of %s ns, the bridge's of %s" % (usual, own))
    assert not usual or int(own[0]) > int(usual[0]), (usual, own)


@test("a bridge in a guest's hands: from its place there is no bus, no manager, no abstract socket of the host's and no loopback")
def _(t):
    tmux = Path("/tmp/tmux-%d" % os.getuid())
    tmux.mkdir(mode=0o700)
    t.cleanup(shutil.rmtree, tmux)
    b = Bridged(t)
    b.assert_serves()
    pid = unit_property(b.launch.bridge, "MainPID")
    assert_longer_turns(pid)
    name = "\0t-refused-%d" % os.getpid()  # an X server has one beside that in /tmp/.X11-unix
    with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX) as terminals:
        s.bind(name)
        s.listen()
        terminals.bind(str(tmux / "default"))
        terminals.listen()
        # In the mounts and the network of a process, as this user. Without executing anything: a bridge's mounts do not allow that.
        attack = """
import os, socket, sys
fd = os.pidfd_open(int(sys.argv[4]))
os.setns(fd, os.CLONE_NEWNS | os.CLONE_NEWNET)
os.setresuid(*[int(sys.argv[2])] * 3)
uid = int(sys.argv[2])
for address in (sys.argv[1].replace("@", chr(0)), "/tmp/tmux-%d/default" % uid, "/run/user/%d/bus" % uid, "/run/user/%d/systemd/private" % uid):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(address)
        print("reached")
    except OSError as e:
        print("no")
s = socket.socket(socket.AF_INET)
try:
    s.connect(("127.0.0.1", int(sys.argv[3])))
    print("reached")
except OSError as e:
    print("no")
"""
        arguments = ["sudo", "python3", "-c", attack, name.replace("\0", "@"), str(os.getuid()), str(b.launch.port)]
        p = run(*arguments, str(os.getpid()))
        assert p.stdout.split() == ["reached"] * 5, p
        b.next_refused(1)
        p = run(*arguments, pid)
        assert p.stdout.split() == ["no"] * 5, p
    b.finish()
    assert_no_traces(PROFILE)


# A process of this user's in another's place.
ENTER = """
import os, select, socket, subprocess, sys
if sys.argv[2]:
    subprocess.run(["sudo", "tee", "/sys/fs/cgroup%s/cgroup.procs" % sys.argv[2]], input=b"%d" % os.getpid(), stdout=subprocess.DEVNULL, check=True)
"""

ASK_SUPERVISOR = ENTER + """
for line in sys.argv[3:]:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(sys.argv[1])
    s.sendall(line.encode() + b"\\n")
    print(s.recv(200).decode().strip() or "closed")
"""


# From a bridge's place: takes what connections there are, says how many were left to it, and keeps them until its input ends.
HOG_SUPERVISOR = ENTER + """
mine = []
for _ in range(600):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    mine.append(s)
while select.select(mine, [], [], 2)[0]:
    for s in select.select(mine, [], [], 0)[0]:
        mine.remove(s)
print(len(mine), flush=True)
sys.stdin.read()
"""


@test("the supervisor hears only those whom it concerns: no other process of this user, no other launch, speaks for a launch")
def _(t):
    a, b = Bridged(t), Bridged(t)
    path = str(LAUNCHES / (PROFILE + ".sock"))
    new = "0badcafe"

    def lines(id):
        return ['{"request":"hold","id":"%s","directory":"/x"}' % id, '{"request":"paste","id":"%s","arguments":"-l"}' % id,
                '{"request":"open","id":"%s","url":"https://claude.ai/chrome"}' % id, '{"request":"start-gpg-agent"}']

    def ask(cgroup, *asked):
        return run("python3", "-c", ASK_SUPERVISOR, path, cgroup, *asked).stdout.split()
    no = '{"ok":false}'
    # From no launch at all, then from another launch's place.
    assert ask("", *lines(a.launch.id), *lines(new)) == [no] * 8
    assert ask(b.cgroup + "/launcher", *lines(a.launch.id)[:3], *lines(new)[:3]) == [no] * 6
    status = unit_property("claude-sandbox@%s.service" % PROFILE, "StatusText")
    assert status.startswith("2 launches") and new not in status, status
    assert not [e for e in journal("CLAUDE_LAUNCH=" + new, since=a.since)]
    # A bridge in a guest's hands that takes every connection it can get: launches of the profile begin and go on.
    b.assert_serves()
    place = own_cgroup(unit_property(b.launch.bridge, "MainPID"))
    with subprocess.Popen(["python3", "-c", HOG_SUPERVISOR, path, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hog:
        assert int(hog.stdout.readline()) == 16
        another = Bridged(t)
        for launch in (another, a, b):
            launch.assert_serves()
        another.finish()
        hog.stdin.close()
    a.finish()
    b.finish()
    assert_no_traces(PROFILE)


main()
