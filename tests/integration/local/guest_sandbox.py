# SPDX-License-Identifier: MIT
"""A sandbox for the guest program without podman, and a stand-in for the bridge.

The entry point runs for real: as PID 1 of a PID namespace, as root, in a root directory of its own whose
/usr is this machine's. The test's own process looks in through /proc/<pid>/root, so it needs no tools inside
but a shell.
"""

import atexit
import contextlib
import functools
import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

UID = 1000
TOKEN = "0123456789abcdef" * 4
RUN = "/run/claude-sandbox"
SSH_SOCKET = f"{RUN}/ssh-agent-0.sock"
GPG_SOCKET = "/home/appuser/.gnupg/S.gpg-agent"
PATIENCE = 20  # seconds after which an event is taken as never coming

# Runs inside the new namespaces, as root: $1 the root directory, $2 the directory of the program, $3 the launch
# directory. $MOUNTS is what one test wants mounted besides.
SETUP = r"""
set -e
root=$1 bin=$2 launch=$3
mount --make-rprivate /
for d in usr bin sbin lib lib64; do
        [ ! -e "/$d" ] || [ -L "$root/$d" ] || { mkdir -p "$root/$d"; mount --rbind "/$d" "$root/$d"; }
done
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=0755 tmpfs "$root/run/claude-sandbox"
mkdir "$root/run/claude-sandbox/bin" "$root/run/claude-sandbox/launch"
mount --bind "$bin" "$root/run/claude-sandbox/bin"
mount --bind "$launch" "$root/run/claude-sandbox/launch"
[ -z "$MOUNTS" ] || eval "$MOUNTS"
unset MOUNTS
"""

DIRECT = 'exec chroot "$root" env -C /work {program}'
ON_TERMINAL = 'exec setsid --ctty chroot "$root" env -C /work {program}'
# As under a microVM's init: the entry point is not PID 1, and what it leaves behind can be looked at.
BELOW_INIT = (
    'chroot "$root" env -C /work {program} || status=$?; '
    '(cd "$root/proc"; echo "left:" $(for p in [0-9]*; do [ "$p" = 1 ] || [ ! -r $p/cmdline ] || '
    'tr "\\0" " " <$p/cmdline; done | grep -o "tail -s 100[0-9]" || true)); exit ${{status:-0}}'
)


def until(predicate, what):
    """Waits for something that sends no event: looks again until it holds."""
    deadline = time.monotonic() + PATIENCE
    tick = select.poll()
    while not predicate():
        assert time.monotonic() < deadline, f"never came: {what}"
        tick.poll(2)


@functools.cache
def program_directory(program):
    """What the launcher mounts: the program and a link for each applet."""
    directory = tempfile.mkdtemp(prefix="guest-bin-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.chmod(directory, 0o755)
    shutil.copy(program, f"{directory}/claude-sandbox-guest")
    for applet in ("bridge-connect", "wl-paste", "google-chrome", "google-chrome-stable"):
        os.symlink("claude-sandbox-guest", f"{directory}/{applet}")
    return directory


class Bridge:
    """Listens on a port of the loopback and treats every connection as `mode` says.

    echo    the handshake is checked, then what comes goes back
    greet   says "OK greeting" first, as a gpg-agent does, then echoes
    refuse  closes after the line, without a byte
    hold    reads the line and keeps the connection open
    say:A   reads one more line, a question, notes it in `questions`, says A and closes
    unix:P  passes on to the Unix socket P
    """

    def __init__(self, mode="echo", port=0):
        self.mode = mode
        self.lines = []
        self.questions = []
        self.errors = []
        self.held = []
        self.changed = threading.Condition()
        self.socket = socket.create_server(("127.0.0.1", port), backlog=2048)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def text(self, services="ssh-0,gpg"):
        return f"address=127.0.0.1\nport={self.port}\ntoken={TOKEN}\nservices={services}\n"

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def wait_for(self, n):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.lines) >= n, PATIENCE), f"{len(self.lines)} of {n} came"

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        data = b""
        while b"\n" not in data:
            more = client.recv(65536)
            if not more:
                client.close()
                return
            data += more

        line, rest = data.split(b"\n", 1)
        with self.changed:
            self.lines.append(line.decode())
            self.changed.notify_all()
        if not re.fullmatch(rf"{TOKEN} (ssh-[0-7]|gpg|clipboard|open)", line.decode()):
            self.errors.append(line)
            client.close()
            return

        try:
            self._answer(client, rest)
        except OSError:
            pass

    def _answer(self, client, rest):
        if self.mode == "hold":
            with self.changed:
                self.held.append(client)
            return
        if self.mode == "refuse":
            client.close()
            return
        if self.mode.startswith("say:"):
            while b"\n" not in rest:
                rest += client.recv(65536)
            self.questions.append(rest.decode())
            client.sendall(self.mode[4:].encode("latin-1"))
            client.shutdown(socket.SHUT_WR)
            client.close()
            return
        if self.mode.startswith("unix:"):
            self._pass_on(client, rest, self.mode[5:])
            return
        if self.mode == "greet":
            client.sendall(b"OK greeting\n")
        client.sendall(rest)
        while more := client.recv(65536):
            client.sendall(more)
        client.shutdown(socket.SHUT_WR)
        client.close()

    @staticmethod
    def _pass_on(client, rest, path):
        agent = socket.socket(socket.AF_UNIX)
        agent.connect(path)
        agent.sendall(rest)
        peers = {client: agent, agent: client}
        while peers:
            for end in select.select(list(peers), [], [])[0]:
                data = end.recv(65536)
                if data:
                    peers[end].sendall(data)
                else:
                    with contextlib.suppress(OSError):
                        peers.pop(end).shutdown(socket.SHUT_WR)
        client.close()
        agent.close()


class Sandbox:
    """One run of the entry point. `command` is a list, or the text of a shell script."""

    def __init__(self, program, command, *, environment=(), image_environment=(), forwards="", bridge=None,
                 gpg_keys=None, go=True, how=DIRECT, mounts="", root=None, pass_fds=(), files=True,
                 user_namespace=False, **popen):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="guest-"))
        self.directory.chmod(0o755)
        self.root = self.directory / "root"
        self.launch = self.directory / "launch"
        self.work = self.root / "work"
        self.output = b""
        self._make_root()
        if root:
            root(self.root)

        self.launch.mkdir()
        if isinstance(command, str):
            command = ["sh", "-c", command]
        self._files = {
            "environment": "".join(f"{e}\0" for e in environment),
            "command": "".join(f"{c}\0" for c in command),
        }
        if bridge:
            self._files["bridge"] = bridge if isinstance(bridge, str) else bridge.text()
        if gpg_keys is not None:
            self._files["gpg-keys"] = gpg_keys
        if files:
            self.put_files()
        if go:
            self.go()

        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.STDOUT)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "TERM": "xterm", "container": "test",
               "CLAUDE_SANDBOX_FORWARDS": forwards, "MOUNTS": mounts}
        env.update(e.split("=", 1) for e in image_environment)
        start = how.format(program=f"{RUN}/bin/claude-sandbox-guest")
        wrapper = [sys.executable, pathlib.Path(__file__).with_name("userns.py")] if user_namespace else []
        self.process = subprocess.Popen(
            [*wrapper, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SETUP + start, "sh",
             self.root, program_directory(program), self.launch],
            env=env, pass_fds=pass_fds, **popen)

    def _make_root(self):
        for d in ("dev", "proc", "run/claude-sandbox", "etc", "home", "work", "opt", "root"):
            (self.root / d).mkdir(parents=True)
        for d in ("tmp", "work"):
            (self.root / d).mkdir(exist_ok=True)
            (self.root / d).chmod(0o1777)
        for d in ("bin", "sbin", "lib", "lib64"):
            if os.path.islink(f"/{d}"):
                (self.root / d).symlink_to(os.readlink(f"/{d}"))
        (self.root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (self.root / "etc/group").write_text("root:x:0:\n")

    def put_files(self):
        for name, text in self._files.items():
            file = self.launch / name
            file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
            file.chmod(0o600)
            os.chown(file, UID, UID)

    def go(self):
        (self.launch / "go.new").touch()
        (self.launch / "go.new").rename(self.launch / "go")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def pid(self):
        """PID 1 of the sandbox, as seen from here."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        until(lambda: pathlib.Path(path).read_text().strip(), "the sandbox's first process")
        return int(pathlib.Path(path).read_text().split()[0])

    def inside(self, path):
        """A path of the sandbox, mounts included, as seen from here."""
        return f"/proc/{self.pid}/root{path}"

    def signal(self, sig):
        os.kill(self.pid, sig)

    def expect(self, text, fd=None):
        """Reads the output up to and including `text`; returns what came before it."""
        text = text.encode() if isinstance(text, str) else text
        fd = self.process.stdout.fileno() if fd is None else fd
        deadline = time.monotonic() + PATIENCE
        while text not in self.output:
            ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"never came: {text!r}; so far {self.output!r}"
            try:
                more = os.read(fd, 65536)
            except OSError:
                more = b""
            assert more, f"ended before {text!r}; so far {self.output!r}"
            self.output += more
        before, self.output = self.output.split(text, 1)
        return before

    def wait(self):
        """The exit status; what is still to be read goes to `output`."""
        if self.process.stdout:
            self.output += self.process.communicate(timeout=PATIENCE)[0]
        status = self.process.wait(PATIENCE)
        return status if status >= 0 else 128 - status

    def connect(self, path=SSH_SOCKET):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.inside(path))
        return client


def read_all(client):
    pieces = []
    while more := client.recv(65536):
        pieces.append(more)
    return b"".join(pieces)
