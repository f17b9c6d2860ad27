# SPDX-License-Identifier: MIT
"""A program that runs where a test needs one (in a sandbox, as another user, in a container), and does what the test says.

    there = Elsewhere.in_launch(t, launch)
    there.ask(("127.0.0.1", port), b"...")["received"]

This file is both ends: a test imports it, and its text is the program that runs elsewhere. An address is (host, port), or the path of
a Unix socket."""

import ast
import fcntl
import os
import select
import socket
import struct
import sys
import threading
import time
import traceback

LIST_KEYS = b"\0\0\0\1\x0b"
SIOCOUTQ = 0x5411

held = []


def connect(address, timeout=10):
    s = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    s.settimeout(timeout)
    s.connect(address)
    if not isinstance(address, str):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def read_all(s):
    """Until the end; what came and how it ended."""
    received = b""
    while True:
        try:
            piece = s.recv(65536)
        except ConnectionResetError:
            return received, "reset"
        except TimeoutError:
            return received, "timeout"
        if not piece:
            return received, "closed"
        received += piece


def ask(address, data=b"", timeout=10, half_close=False):
    """Sends and reads until the other side closes."""
    begin = time.monotonic()
    try:
        s = connect(address, timeout)
    except OSError as e:
        return {"received": b"", "end": type(e).__name__, "took": time.monotonic() - begin}
    with s:
        try:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        received, end = read_all(s)
    return {"received": received, "end": end, "took": time.monotonic() - begin}


def ask_at_once(questions, **kw):
    """(address, data) of each; the answers in order."""
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(lambda q: ask(*q, **kw), questions))


def frame_from(s):
    """One message of the agent protocol."""
    frame = b""
    while len(frame) < 4 or len(frame) < 4 + struct.unpack(">I", frame[:4])[0]:
        piece = s.recv(4 - len(frame) if len(frame) < 4 else 4 + struct.unpack(">I", frame[:4])[0] - len(frame))
        if not piece:
            raise EOFError("end after %r" % frame)
        frame += piece
    return frame


def frames(address, pieces, answers, first=b"", timeout=10):
    """Sends the pieces one by one, each when the one before has been taken, and reads so many messages. `first` goes before all, like
    a handshake."""
    with connect(address, timeout) as s:
        if first:
            s.sendall(first)
        for piece in pieces:
            s.sendall(piece)
            until_taken(s)
        return [frame_from(s) for _ in range(answers)]


def until_taken(s, timeout=10):
    """Until the other side has read all that was sent, or reads no more."""
    deadline = time.monotonic() + timeout
    end = select.poll()
    end.register(s, select.POLLRDHUP)
    while struct.unpack("i", fcntl.ioctl(s, SIOCOUTQ, b"\0\0\0\0"))[0] and not end.poll(1):
        if time.monotonic() >= deadline:
            raise TimeoutError("nobody reads")


def list_keys(address, first=b"", timeout=10):
    """The answer to a request for the keys, or why there is none, and how long that took."""
    begin = time.monotonic()
    try:
        answer = frames(address, [LIST_KEYS], 1, first, timeout)[0]
    except (OSError, EOFError) as e:
        answer = type(e).__name__
    return {"answer": answer, "took": time.monotonic() - begin}


def time_requests(address, first, seconds=0.0, at_least=1):
    """One request after the other, each with a connection of its own: how long each took."""
    took = []
    begin = time.monotonic()
    while len(took) < at_least or time.monotonic() - begin < seconds:
        r = list_keys(address, first)
        if not isinstance(r["answer"], bytes):
            raise AssertionError("request %d: %s after %.3f s" % (len(took), r["answer"], r["took"]))
        took.append(r["took"])
    return took


def hold(address, n, data=b"", first=b"", pace=None):
    """Opens connections and keeps them. With `pace`, a request with that handshake goes between every 50, which is answered when what
    came before it was accepted: the queue of a port that pasta shows holds 128. Returns how long the requests took."""
    took = []
    for i in range(n):
        s = connect(address)
        held.append(s)
        if first or data:
            s.sendall(first + data)
        if pace and i % 50 == 49:
            took += time_requests(address, pace)
    return took


def talk(n, data):
    """On one of those that are held: sends, and reads one message."""
    held[n].sendall(data)
    begin = time.monotonic()
    frame_from(held[n])
    return time.monotonic() - begin


def trickle(data, skip=0):
    """Sends a little on each that is held, whatever becomes of it."""
    for s in held[skip:]:
        try:
            s.sendall(data)
        except OSError:
            pass


def ended(skip=0, timeout=0.0, at_least=0):
    """Of those that are held, how many the other side has ended, and all that it ever said on them. Waits for so many."""
    deadline = time.monotonic() + timeout
    poll = select.poll()
    waiting = {s.fileno(): s for s in held[skip:]}
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    received, n = b"", 0
    while True:
        for fd, _ in poll.poll(max(0, deadline - time.monotonic()) * 1000 if n < at_least else 0):
            try:
                piece = waiting[fd].recv(4096)
            except OSError:
                piece = b""
            received += piece
            if not piece:
                poll.unregister(fd)
                n += 1
        if n >= at_least or time.monotonic() >= deadline:
            return n, received


def drop():
    while held:
        held.pop().close()


def dribble(address, data, seconds, timeout=20):
    """Sends the bytes evenly over that time, until the other side ends it; when that was, and what it said."""
    begin = time.monotonic()
    with connect(address) as s:
        for i, byte in enumerate(data):
            pause = begin + seconds * i / len(data) - time.monotonic()
            if pause > 0 and select.select([s], [], [], pause)[0]:
                break
            try:
                s.sendall(bytes([byte]))
            except OSError:
                break
        s.settimeout(timeout)
        received, end = read_all(s)
        return {"received": received, "end": end, "took": time.monotonic() - begin, "sent": i}


def run_program(argv, timeout=30, **kw):
    import subprocess
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                       timeout=timeout, **kw)
    return {"status": p.returncode, "output": p.stdout}


def outcome(argv, timeout=60, **kw):
    """What a program prints and how it ends; of much output its hash. None: there is no such program."""
    import hashlib
    import subprocess
    begin = time.monotonic()
    try:
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **kw)
    except FileNotFoundError:
        return None
    return {"status": p.returncode, "size": len(p.stdout), "sha256": hashlib.sha256(p.stdout).hexdigest(),
            "output": p.stdout[:4096], "errors": p.stderr[:4096].decode(errors="replace"), "took": time.monotonic() - begin}


def native(path, texts, answers, timeout=10):
    """Sends native-messaging frames in one write, and reads so many, or up to the end; how it ended, or what was wrong."""
    received = []
    try:
        with connect(path, timeout) as s:
            s.sendall(b"".join(struct.pack("<I", len(text)) + text for text in texts))
            while len(received) < answers:
                frame = b""
                while len(frame) < 4 or len(frame) < 4 + struct.unpack("<I", frame[:4])[0]:
                    piece = s.recv(4 - len(frame) if len(frame) < 4 else 4 + struct.unpack("<I", frame[:4])[0] - len(frame))
                    if not piece:
                        return received, "closed"
                    frame += piece
                received.append(frame[4:])
    except OSError as e:
        return received, type(e).__name__
    return received, "read"


def addresses():
    """Of the gateway, and of this place itself."""
    found = []
    with open("/proc/net/route") as f:
        for line in f.readlines()[1:]:
            gateway = int(line.split()[2], 16)
            if gateway:
                found.append(socket.inet_ntoa(struct.pack("<I", gateway)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            found.append(s.getsockname()[0])
        except OSError:
            pass
    return found


def raise_limit():
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def serve():
    """The other end of Elsewhere: calls functions by name until its input ends."""
    for line in sys.stdin:
        name, args, kw = ast.literal_eval(line)
        try:
            answer = (True, globals()[name](*args, **kw))
        except BaseException:
            answer = (False, traceback.format_exc())
        print(repr(answer), flush=True)


class Elsewhere:
    """Calls functions of this file in another process, by pipes to and from it."""

    ARGV = ["python3", "-u", "-c", "import ast, sys; exec(ast.literal_eval(sys.stdin.readline()))"]

    def __init__(self, to_fd, from_fd, errors=lambda: ""):
        self.to_fd = to_fd
        self.from_fd = from_fd
        self.errors = errors
        self.buffer = b""
        with open(__file__) as f:
            self.send(f.read())
        self.raise_limit()

    def send(self, value):
        os.write(self.to_fd, (repr(value) + "\n").encode())

    @classmethod
    def start(cls, t, *before, **kw):
        """As a child, by a command that runs the one it is given (such as sudo)."""
        import subprocess
        import tempfile
        errors = tempfile.TemporaryFile()
        p = subprocess.Popen([*map(str, before), *cls.ARGV], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, **kw)

        def end():
            p.stdin.close()
            try:
                p.wait(15)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()

        def said():
            errors.seek(0)
            return errors.read().decode(errors="replace")
        t.cleanup(end)
        there = cls(p.stdin.fileno(), p.stdout.fileno(), said)
        there.process = p
        there.end = end
        return there

    @classmethod
    def in_launch(cls, launch):
        """In a sandbox whose command is ARGV."""
        return cls(launch.process.stdin.fileno(), launch.out, launch.stderr)

    def call(self, name, *args, patience=120, **kw):
        self.send((name, args, kw))
        deadline = time.monotonic() + patience
        while b"\n" not in self.buffer:
            if not select.select([self.from_fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("no answer to %s within %s s; %s" % (name, patience, self.errors()))
            piece = os.read(self.from_fd, 1 << 20)
            if not piece:
                raise AssertionError("%s: the other end is gone; %s" % (name, self.errors()))
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        ok, value = ast.literal_eval(line.decode())
        if not ok:
            raise AssertionError("elsewhere: " + value)
        return value

    def __getattr__(self, name):
        if name not in globals():
            raise AttributeError(name)
        return lambda *args, **kw: self.call(name, *args, **kw)


class FakeAgent:
    """Stands in for an ssh-agent: counts the connections it gets, and answers every message with `answer`, in the pieces that `pieces`
    makes of it, each sent when the one before has been read."""

    EMPTY = b"\0\0\0\5\x0c\0\0\0\0"

    def __init__(self, t, path, answer=EMPTY, pieces=lambda answer: [answer]):
        self.path = str(path)
        self.answer = answer
        self.pieces = pieces
        self.connections = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(4096)
        t.cleanup(self.close)
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        # Closing alone would leave the thread in accept().
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def serve(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve_one, args=(s,), daemon=True).start()

    def serve_one(self, s):
        with s:
            try:
                while True:
                    frame_from(s)
                    for piece in self.pieces(self.answer):
                        s.sendall(piece)
                        until_taken(s)
            except (OSError, EOFError):
                pass


if __name__ == "__main__":
    serve()
