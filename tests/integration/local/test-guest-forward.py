#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The forwarder and bridge-connect, against a stand-in for the bridge."""

import hashlib
import os
import pathlib
import socket
import stat
import sys
import threading

import tap
from guest_sandbox import GPG_SOCKET, RUN, SSH_SOCKET, TOKEN, UID, Bridge, Sandbox, read_all

PROGRAM = os.path.abspath(sys.argv[1])
FORWARDS = f"{SSH_SOCKET}=ssh-0,{GPG_SOCKET}=gpg"
WAIT = "echo ready; exec tail -f /dev/null"


def serve(mode="echo", **options):
    """A running sandbox with its sockets bound, and its bridge."""
    bridge = options.pop("bridge", None) or Bridge(mode)
    sandbox = Sandbox(PROGRAM, WAIT, forwards=FORWARDS, bridge=bridge, **options)
    sandbox.expect("ready\n")
    return sandbox, bridge


def echo(client, data):
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)
    return read_all(client)


def test_private():
    """the sockets are there before the command: 0600 in 0700 directories, the guest user's; so is the bridge file"""
    script = f"stat -c '%a %u %g %n' {SSH_SOCKET} {RUN} {GPG_SOCKET} /home/appuser/.gnupg {RUN}/bridge; cat {RUN}/bridge"
    bridge = Bridge()
    with Sandbox(PROGRAM, script, forwards=FORWARDS, bridge=bridge) as s:
        assert s.wait() == 0, s.output
        lines = s.output.decode().split("\n", 5)
    assert [line.rsplit(" ", 1)[0] for line in lines[:5]] == [
        "600 1000 1000", "700 1000 1000", "600 1000 1000", "700 1000 1000", "600 1000 1000"], lines
    assert lines[5] == bridge.text()


def test_handshake():
    """each socket asks for its service, with the token; bytes and half-closes pass both ways"""
    s, bridge = serve()
    with s:
        for path, service in ((SSH_SOCKET, "ssh-0"), (GPG_SOCKET, "gpg")):
            with s.connect(path) as client:
                assert echo(client, f"hello {service}".encode()) == f"hello {service}".encode()
                assert bridge.lines[-1] == f"{TOKEN} {service}"
    assert not bridge.errors


def test_server_first():
    """a service that speaks first is heard before the client says a word"""
    s, _ = serve("greet")
    with s, s.connect(GPG_SOCKET) as client:
        assert client.recv(100) == b"OK greeting\n"
        client.sendall(b"BYE\n")
        assert client.recv(100) == b"BYE\n"


def test_large():
    """16 MiB each way arrive as they were sent"""
    s, _ = serve()
    data = os.urandom(1 << 20) * 16
    with s, s.connect() as client:
        threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)), daemon=True).start()
        assert hashlib.sha256(read_all(client)).digest() == hashlib.sha256(data).digest()


def test_concurrent():
    """200 connections at once keep their bytes apart"""
    s, bridge = serve()
    with s:
        clients = [s.connect() for _ in range(200)]
        for i, client in enumerate(clients):
            client.sendall(b"%d" % i)
        bridge.wait_for(200)
        for i, client in enumerate(clients):
            assert client.recv(100) == b"%d" % i
        for i, client in enumerate(clients):
            assert echo(client, b"again %d" % i) == b"again %d" % i
            client.close()


def test_refused():
    """a bridge that refuses closes the client's connection, without a byte"""
    s, _ = serve("refuse")
    with s, s.connect() as client:
        assert read_all(client) == b""


def test_absent_and_back():
    """without a bridge a connection is closed at once; when it is back the next one works"""
    s, bridge = serve()
    with s:
        bridge.close()
        for _ in range(3):
            with s.connect() as client:
                assert read_all(client) == b""
        bridge = Bridge(port=bridge.port)
        with s.connect() as client:
            assert echo(client, b"back") == b"back"


def test_no_bridge():
    """a launch without a bridge forwards nothing, and says so where something was asked for"""
    with Sandbox(PROGRAM, f"echo ${{SSH_AUTH_SOCK-none}}; test ! -e {SSH_SOCKET}", forwards=FORWARDS) as s:
        assert s.wait() == 0 and b"There is no bridge" in s.output and s.output.endswith(b"none\n"), s.output
    with Sandbox(PROGRAM, "echo ${SSH_AUTH_SOCK-none}") as s:
        assert s.wait() == 0 and s.output == b"none\n", s.output


def test_limit():
    """when all places are taken further clients wait, and are served when one is free"""
    bridge = Bridge("hold")
    how = 'ulimit -n 128; exec chroot "$root" env -C /work {program}'
    s, _ = serve(bridge=bridge, how=how)
    with s:
        clients = [s.connect() for _ in range(20)]
        for client in clients:
            client.sendall(b"x")
        bridge.wait_for(16)  # (128 - 64) / 4
        assert len(pathlib.Path(f"/proc/{s.pid}/fd").exists() and os.listdir(f"/proc/{s.pid}/fd")) < 128
        bridge.mode = "echo"
        with bridge.changed:
            assert bridge.changed.wait_for(lambda: len(bridge.held) == 16, 20) and len(bridge.lines) == 16
        for client in clients[:16]:
            client.close()
        for held in bridge.held:
            held.close()
        for client in clients[16:]:
            assert echo(client, b"y") == b"xy"


def make_socket(root, listening):
    directory = root / "home/appuser/.gnupg"
    directory.mkdir(parents=True)
    for d in (directory.parent, directory):
        os.chown(d, UID, UID)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(directory / "S.gpg-agent"))
    if listening:
        server.listen()
    else:
        server.close()
    return server


def test_stale():
    """a socket that was left behind is replaced"""
    s, _ = serve(root=lambda root: make_socket(root, listening=False))
    with s, s.connect(GPG_SOCKET) as client:
        assert stat.S_IMODE(os.lstat(s.inside(GPG_SOCKET)).st_mode) == 0o600
        assert echo(client, b"new") == b"new"


def test_live():
    """a socket that somebody serves is left alone, and said to be"""
    servers = []
    with Sandbox(PROGRAM, "echo ${SSH_AUTH_SOCK-none} ${GNUPGHOME-none}", forwards=FORWARDS, bridge=Bridge(),
                 root=lambda root: servers.append(make_socket(root, listening=True))) as s:
        assert s.wait() == 0 and b"Cannot forward /home/appuser/.gnupg/S.gpg-agent" in s.output, s.output
        assert s.output.endswith(f"{SSH_SOCKET} none\n".encode()), s.output
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(s.root / "home/appuser/.gnupg/S.gpg-agent"))
        servers[0].accept()[0].close()


def test_shared_directory():
    """a directory that others use is not made private, and no socket put there; nor over a file"""
    with Sandbox(PROGRAM, "stat -c %a /tmp; cat /work/file", forwards="/tmp/a.sock=ssh-0,/work/file=ssh-1,/tmp/d/x=ssh-2",
                 bridge=Bridge(), root=lambda root: (root / "work/file").write_text("kept\n")) as s:
        assert s.wait() == 0, s.output
        assert s.output.count(b"Cannot forward") == 2 and s.output.endswith(b"1777\nkept\n"), s.output
        assert stat.S_IMODE(os.lstat(s.root / "tmp/d").st_mode) == 0o700


def connect_inside(script, bridge, **options):
    with Sandbox(PROGRAM, script, bridge=bridge, **options) as s:
        return s.wait(), s.output


def test_bridge_connect():
    """bridge-connect passes standard input and output on, files, pipes and /dev/null alike"""
    bridge = Bridge()
    status, output = connect_inside("printf 'a b' | bridge-connect ssh-0; echo; "
                                    f"{RUN}/bin/claude-sandbox-guest bridge-connect gpg </etc/passwd >out;"
                                    "cmp /etc/passwd out && echo same; echo first >out; "
                                    "printf more | bridge-connect gpg >>out; cat out", bridge)
    assert status == 0 and output == b"a b\nsame\nfirst\nmore", output
    assert bridge.lines == [f"{TOKEN} ssh-0", f"{TOKEN} gpg", f"{TOKEN} gpg"] and not bridge.errors

    status, output = connect_inside("head -c 20000000 /dev/zero | bridge-connect ssh-0 | wc -c", bridge)
    assert status == 0 and output == b"20000000\n", output

    status, output = connect_inside("bridge-connect gpg </dev/null", Bridge("greet"))
    assert status == 0 and output == b"OK greeting\n", output


def test_bridge_connect_socket():
    """bridge-connect works between sockets, and leaves them as they were"""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    with Sandbox(PROGRAM, ["bridge-connect", "ssh-0"], bridge=Bridge(), stdin=theirs, stdout=theirs) as s:
        ours.sendall(b"over a socket")
        ours.shutdown(socket.SHUT_WR)
        assert s.process.wait(20) == 0
        assert ours.recv(100) == b"over a socket" and os.get_blocking(theirs.fileno())


def test_bridge_connect_refused():
    """bridge-connect ends quietly with 1 when refused, though its input stays open; without a bridge, too"""
    for mode in ("refuse", None):
        bridge = Bridge(mode or "echo")
        if not mode:
            bridge.close()
        with Sandbox(PROGRAM, ["bridge-connect", "ssh-0"], bridge=bridge, stdin=-1) as s:
            assert s.process.wait(20) == 1 and s.process.stdout.read() == b""
    assert connect_inside("bridge-connect ssh-0", None) == (1, b"")
    assert connect_inside("bridge-connect 'ssh-0 x'", Bridge()) == (1, b"")
    status, output = connect_inside("bridge-connect", None)
    assert status == 2 and output.startswith(b"Usage"), output


def test_bridge_connect_deaf_reader():
    """bridge-connect ends when nobody reads what it writes"""
    status, output = connect_inside("yes | { bridge-connect ssh-0; echo $? >&2; } | head -n 1", Bridge())
    assert status == 0 and sorted(output.split()) == [b"1", b"y"], output


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.need_root()
    tap.run(TESTS)
