#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The entry point and its command: status, identity, bytes, signals, the dead."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import inotify
import tap
from guest_sandbox import BELOW_INIT, DIRECT, TOKEN, UID, Bridge, Sandbox, until

PROGRAM = os.path.abspath(sys.argv[1])


def outcome(command, **options):
    with Sandbox(PROGRAM, command, **options) as s:
        return s.wait(), s.output.decode(errors="replace")


def expect(command, status, *texts, **options):
    got, output = outcome(command, **options)
    assert got == status, f"{command}: status {got}, expected {status}; {output}"
    for text in texts:
        assert text in output, f"{command}: {text!r} is not in {output!r}"
    return output


def is_ready_for_signals(pid):
    """Whether the process is the entry point by now and has blocked its signals."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    blocked = int(re.search(r"SigBlk:\t(\w+)", status)[1], 16)
    return status.startswith("Name:\tclaude-sandbox-") and blocked >> (signal.SIGTERM - 1) & 1


def test_statuses():
    """exit statuses 0, 7, 255, and 128+n of a shell that kills itself"""
    for command, status in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137),
                            ("kill -TERM $$", 143), ("kill -SEGV $$", 139)):
        expect(command, status)


def test_cannot_run():
    """a missing program is 127, one that cannot be executed 126, each named"""
    def root(r):
        (r / "opt/data").write_text("x")
        (r / "opt/no-loader").write_text("#!/opt/no-such-interpreter\n")
        (r / "opt/no-loader").chmod(0o755)
        (r / "opt/plain").write_text("exit 9\n")
        (r / "opt/plain").chmod(0o755)

    expect(["no-such-program"], 127, "'no-such-program'", "no such program")
    expect(["/opt/none", "x"], 127, "'/opt/none'")
    expect([""], 127, "''")
    expect(["a\033[2Jb"], 127, r"a\x1b[2Jb")
    expect(["/opt/data"], 126, "'/opt/data'", root=root)
    expect(["/opt"], 126, "'/opt'")
    expect(["/opt/data/x"], 127, "'/opt/data/x'", root=root)
    expect(["/opt/no-loader"], 127, "'/opt/no-loader'", "interpreter or loader", root=root)
    expect(["/opt/plain"], 9, root=root)
    expect(["sh", "-c", "x" * 200000], 126, "'sh'", "too long")


def test_identity():
    """the command is appuser, in no other group, not PID 1, and may gain privileges by sudo"""
    output = expect("id -u; id -g; id -G; id -un; echo ~ $HOME $USER $LOGNAME; pwd; grep -E 'NoNewPrivs|CapPrm|CapAmb|SigBlk|"
                    "SigIgn|SigCgt' /proc/self/status; test $$ != 1; umask", 0)
    lines = output.splitlines()
    assert lines[:3] == ["1000"] * 3, output
    assert lines[3] == "appuser", output
    assert lines[4] == "/home/appuser /home/appuser appuser appuser", output
    assert lines[5] == "/work", output
    fields = dict(line.split(":\t") for line in lines[6:-1])
    assert int(fields["SigBlk"], 16) == 0 and int(fields["SigIgn"], 16) == 0, output
    assert int(fields["CapPrm"], 16) == 0 and int(fields["CapAmb"], 16) == 0 and fields["NoNewPrivs"] == "0", output
    assert lines[-1] == "0022", output


def test_descriptors():
    """descriptors 0, 1 and 2 and nothing else, whatever was inherited; closed ones are /dev/null"""
    extra = [os.open("/etc", os.O_RDONLY) for _ in range(5)]
    try:
        output = expect("for i in $(seq 0 99); do [ ! -e /proc/$$/fd/$i ] || echo $i; done", 0, pass_fds=extra)
        assert output.split() == ["0", "1", "2"], output
    finally:
        for fd in extra:
            os.close(fd)

    with Sandbox(PROGRAM, "readlink /proc/$$/fd/0 /proc/$$/fd/2; cat", how=DIRECT + " <&- 2>&-") as s:
        assert s.wait() == 0 and s.output == b"/dev/null\n/dev/null\n", s.output


def test_bytes():
    """every byte of environment and arguments arrives"""
    pem = "-----BEGIN CERTIFICATE-----\n" + "\n".join("x" * 64 for _ in range(40)) + "\n"
    environment = ['J=\n{\n "k": "v"\n}', 'Q="a"b\\c', "U=grüß 日本", f"PEM={pem}", "EMPTY=", "RAW=\udcff\udcfe", "E=a=b"]
    arguments = ['"', "", "--", "a b", "l1\nl2", "$HOME", "\udcff", "-x"]
    with Sandbox(PROGRAM, ["sh", "-c", 'cat /proc/$$/environ; printf "\\1"; printf "%s\\0" "$@"', "sh", *arguments],
                 environment=environment) as s:
        assert s.wait() == 0, s.output
        env, args = s.output.split(b"\1")
    env = env.decode("utf-8", "surrogateescape").split("\0")
    for assignment in environment:
        assert assignment in env, assignment
    assert args.decode("utf-8", "surrogateescape").split("\0")[:-1] == arguments


def test_environment():
    """the contract's variables win, the plumbing and the token stay out"""
    output = expect("tr '\\0' '\\n' </proc/$$/environ", 0,
                    environment=["HOME=/nowhere", "TWICE=launch", "PATH=/usr/bin:/from/launch", "SSH_AUTH_SOCK=/host/agent"],
                    image_environment=["TWICE=image", "IMAGE=1", "LISTEN_FDS=3", "LISTEN_PID=1", "NOTIFY_SOCKET=/x",
                                       "CLAUDE_SANDBOX_BRIDGE_PORT=1", "HOME=/root", "COLORTERM=truecolor"],
                    forwards="/run/claude-sandbox/ssh-agent-1.sock=ssh-1,/home/appuser/.gnupg/S.gpg-agent=gpg",
                    bridge=Bridge())
    env = [line for line in output.splitlines() if not line.startswith("claude-sandbox: ")]
    names = [e.split("=")[0] for e in env]
    assert len(names) == len(set(names)), env
    for expected in ("HOME=/home/appuser", "USER=appuser", "LOGNAME=appuser", "SHELL=/bin/bash", "TWICE=launch", "IMAGE=1",
                     "TERM=xterm", "COLORTERM=truecolor", "CLAUDE_SANDBOX_BRIDGE_PORT=1",
                     "PATH=/run/claude-sandbox/bin:/home/appuser/.local/bin:/usr/bin:/from/launch",
                     "SSH_AUTH_SOCK=/run/claude-sandbox/ssh-agent-1.sock", "GNUPGHOME=/home/appuser/.gnupg"):
        assert expected in env, (expected, env)
    assert not {"CLAUDE_SANDBOX_FORWARDS", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"} & set(names), names
    assert TOKEN not in output


def test_go():
    """nothing is read before the launcher's go; that it is opened can be seen"""
    with Sandbox(PROGRAM, "echo ran", go=False, files=False) as s:
        with inotify.Watch(s.launch, inotify.IN_OPEN) as watch:
            s.pid  # pylint: disable=pointless-statement
            s.put_files()
            watch.drain()
            s.go()
            names = watch.until("go")
            before = [name for name in names[:names.index("go")] if name not in ("go.new", "")]
            assert not before, f"opened before go: {before}"
        assert s.wait() == 0 and s.output == b"ran\n", s.output


def test_signal_while_waiting():
    """a stop that comes before the go ends the sandbox"""
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        with Sandbox(PROGRAM, "echo ran", go=False) as s:
            until(lambda: is_ready_for_signals(s.pid), "the entry point")
            s.signal(sig)
            assert s.wait() == 128 + sig and s.output == b"", s.output


def test_bad_launch():
    """a launch directory that is not as agreed ends the sandbox with 125 and a reason"""
    expect([], 125, "names no command")
    expect("true", 125, "bridge", bridge="address=127.0.0.1\n")
    expect("true", 125, "CLAUDE_SANDBOX_FORWARDS", forwards="/run/x")
    with Sandbox(PROGRAM, "true", go=False) as s:
        (s.launch / "environment").write_text("NO_NUL=1")
        s.go()
        assert s.wait() == 125 and b"environment" in s.output, s.output
    with Sandbox(PROGRAM, "true", go=False) as s:
        (s.launch / "environment").unlink()
        (s.launch / "environment").symlink_to("command")
        s.go()
        assert s.wait() == 125 and b"environment" in s.output, s.output


def test_signals():
    """TERM HUP INT QUIT USR1 USR2 CONT WINCH are passed on, each once"""
    for name in ("TERM", "HUP", "INT", "QUIT", "USR1", "USR2", "CONT", "WINCH"):
        script = f"trap 'echo got' {name}; trap 'echo bye; exit 3' TERM; echo ready; while :; do tail -f /dev/null & wait; done"
        if name == "TERM":
            script = script.replace("trap 'echo got' TERM; ", "")
        with Sandbox(PROGRAM, script) as s:
            s.expect("ready\n")
            s.signal(getattr(signal, f"SIG{name}"))
            if name != "TERM":
                s.expect("got\n")
                s.signal(signal.SIGTERM)
            assert s.wait() == 3 and s.output == b"bye\n", (name, s.output)


def test_signal_without_handler():
    """a command without a handler dies of the signal, and its group with it"""
    with Sandbox(PROGRAM, "tail -f /dev/null & echo ready; wait") as s:
        s.expect("ready\n")
        s.signal(signal.SIGTERM)
        assert s.wait() == 143, s.output


def test_stopped():
    """a command that is stopped goes on, since nobody else could continue it"""
    for name in ("STOP", "TSTP", "TTIN", "TTOU"):
        expect(f"kill -{name} $$; echo went on", 0, "went on")


def test_zombies():
    """orphans are reaped while the command runs"""
    script = "for i in $(seq 50); do setsid sh -c 'sh -c \"exit 3\" & exit 0'; done; echo ready; read x"
    with Sandbox(PROGRAM, script, stdin=-1) as s:
        s.expect("ready\n")
        children = pathlib.Path(f"/proc/{s.pid}/task/{s.pid}/children")
        until(lambda: len(children.read_text().split()) == 1, "PID 1 with the command as its only child")
        s.process.stdin.close()
        s.process.stdin = None
        s.wait()


def test_left_behind():
    """what the command leaves behind ends with it, also where the entry point is not PID 1"""
    script = "tail -s 1001 -f /dev/null & setsid tail -s 1002 -f /dev/null & setsid sh -c 'setsid tail -s 1003 -f /dev/null & tail -s 1004 -f /dev/null' & echo started; exit 5"
    expect(script, 5)
    assert expect(script, 5, how=BELOW_INIT).split("left:")[1].strip() == ""


def test_user_namespace():
    """in a user namespace that forbids setgroups() the command runs all the same"""
    with Sandbox(PROGRAM, "id -u; id -g; cat /proc/self/setgroups", user_namespace=True) as s:
        assert s.wait() == 0 and s.output.split() == [b"1000", b"1000", b"deny"], s.output


def test_version():
    """--version prints the build id that the file itself carries; an unknown applet is refused"""
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()
    assert version[0] == "claude-sandbox-guest" and bytes.fromhex(version[2]) in pathlib.Path(PROGRAM).read_bytes()
    assert subprocess.run([PROGRAM, "no-such-applet"], capture_output=True, check=False).returncode == 2
    refused = subprocess.run([PROGRAM, "entry"], capture_output=True, check=False, user=UID)
    assert refused.returncode == 125 and b"root" in refused.stderr
    outside = subprocess.run([PROGRAM], capture_output=True, check=False)
    assert outside.returncode == 125 and b"Not in a sandbox" in outside.stderr


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.need_root()
    tap.run(TESTS)
