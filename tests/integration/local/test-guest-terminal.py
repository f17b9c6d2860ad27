#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The entry point on a terminal: size, foreground group, keys, hang-up."""

import contextlib
import fcntl
import os
import signal
import struct
import sys
import termios

import tap
from guest_sandbox import DIRECT, ON_TERMINAL, Sandbox

PROGRAM = os.path.abspath(sys.argv[1])
ROWS, COLUMNS = 37, 113


class Terminal:
    """A sandbox whose standard input, output and error are a terminal; we are its keyboard and screen."""

    def __init__(self, command, how=ON_TERMINAL):
        self.keyboard, terminal = os.openpty()
        self.resize(ROWS, COLUMNS)
        self.sandbox = Sandbox(PROGRAM, command, how=how, stdin=terminal, stdout=terminal, stderr=terminal,
                               start_new_session=True)
        os.close(terminal)

    def __enter__(self):
        self.sandbox.__enter__()
        return self

    def __exit__(self, *args):
        self.sandbox.__exit__(*args)
        self.hang_up()

    def resize(self, rows, columns):
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.keyboard, text)

    def expect(self, text):
        return self.sandbox.expect(text, self.keyboard)

    def hang_up(self):
        with contextlib.suppress(OSError):
            os.close(self.keyboard)

    def wait(self):
        return self.sandbox.wait()


def test_terminal():
    """the command has the terminal: its size, as its controlling terminal, in the foreground"""
    script = "stty size; tty; : </dev/tty && echo controls; cut -d' ' -f5,8 /proc/self/stat; read line; echo got $line"
    for how in (ON_TERMINAL, DIRECT):  # DIRECT: nobody has made it the controlling terminal yet
        with Terminal(script, how) as t:
            t.expect(f"{ROWS} {COLUMNS}\r\n")
            assert t.expect("\r\n").startswith(b"/dev/pts/")
            t.expect("controls\r\n")
            group, foreground = t.expect("\r\n").split()
            assert group == foreground and group != b"1", (group, foreground)
            t.type(b"a line\n")
            t.expect("got a line\r\n")
            assert t.wait() == 0


def test_ctrl_c():
    """Ctrl-C and Ctrl-\\ reach the command once"""
    script = ("stty -echo; trap 'echo INT' INT; trap 'echo QUIT' QUIT; trap 'echo end; exit 4' USR1; echo ready;"
              "while :; do read x; done")
    for key, name in ((b"\x03", "INT"), (b"\x1c", "QUIT")):
        with Terminal(script) as t:
            t.expect("ready\r\n")
            t.type(key)
            t.expect(f"{name}\r\n")
            t.sandbox.signal(signal.SIGUSR1)
            assert t.expect("end\r\n") == b""
            assert t.wait() == 4


def test_interrupted():
    """a command without a handler ends by Ctrl-C with 130"""
    with Terminal("echo ready; exec tail -f /dev/null") as t:
        t.expect("ready\r\n")
        t.type(b"\x03")
        assert t.wait() == 130


def test_signal_from_outside():
    """a signal that podman passes in reaches the command once, on a terminal too"""
    script = "trap 'echo INT' INT; trap 'echo end; exit 4' USR1; echo ready; while :; do read x; done"
    with Terminal(script) as t:
        t.expect("ready\r\n")
        t.sandbox.signal(signal.SIGINT)
        t.expect("INT\r\n")
        t.sandbox.signal(signal.SIGUSR1)
        assert t.expect("end\r\n") == b""
        assert t.wait() == 4


def test_resize():
    """a new size of the window is told once, though podman tells it a second time"""
    script = "trap 'echo W $(stty size)' WINCH; trap 'echo end; exit 4' USR1; echo ready; while :; do read x; done"
    with Terminal(script) as t:
        t.expect("ready\r\n")
        t.resize(20, 50)
        t.sandbox.signal(signal.SIGWINCH)
        t.expect("W 20 50\r\n")
        t.sandbox.signal(signal.SIGUSR1)
        assert t.expect("end\r\n") == b""
        assert t.wait() == 4


def test_ctrl_z():
    """Ctrl-Z stops nothing for good"""
    with Terminal("stty -echo; echo ready; exec cat") as t:
        t.expect("ready\r\n")
        t.type(b"\x1a")
        t.type(b"still here\n")
        t.expect("still here\r\n")
        t.type(b"\x04")
        assert t.wait() == 0


def test_foreground_lost():
    """a command whose child took the foreground and kept it gets it back when it reads"""
    script = ("stty -echo; python3 -c 'import os, signal; signal.signal(signal.SIGTTOU, signal.SIG_IGN);"
              " os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid())'; echo ready; read x; echo got $x")
    with Terminal(script) as t:
        t.expect("ready\r\n")
        t.type(b"line\n")
        t.expect("got line\r\n")
        assert t.wait() == 0


def test_job_control():
    """an interactive shell has job control"""
    with Terminal("PS1='> ' exec bash --norc --noprofile --noediting -i") as t:
        t.expect("> ")
        t.type(b"sh -c 'echo $((6 * 7)); exec tail -f /dev/null'\n")
        t.expect("42\r\n")
        t.type(b"\x1a")
        t.expect("Stopped")
        t.expect("> ")
        t.type(b"exec sh -c 'exit 6'\n")  # a plain exit would be refused: there is a stopped job
        assert t.wait() == 6


def test_hang_up():
    """a terminal that goes away is a SIGHUP for the command"""
    with Terminal("trap 'echo hup >/work/hup; exit 5' HUP; echo ready; while :; do tail -f /dev/null & wait; done") as t:
        t.expect("ready\r\n")
        t.hang_up()
        assert t.wait() == 5
        assert (t.sandbox.work / "hup").read_text() == "hup\n"


def test_output_after_end():
    """everything that was written before the end is on the screen"""
    with Terminal("seq 20000; echo last") as t:
        t.expect("last\r\n")
        assert t.wait() == 0


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.need_root()
    tap.run(TESTS)
