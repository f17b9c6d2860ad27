#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wl-paste and google-chrome inside, against a stand-in for the bridge."""

import os
import sys

import tap
from guest_sandbox import TOKEN, Bridge, Sandbox

PROGRAM = os.path.abspath(sys.argv[1])


def inside(script, bridge):
    """Status and all output of a script."""
    with Sandbox(PROGRAM, script + " 2>&1", bridge=bridge) as s:
        status = s.wait()
        return status, s.output.decode("latin-1")


def ask(command, answer):
    """What a program makes of an answer, and what it had asked."""
    bridge = Bridge("say:" + answer)
    status, output = inside(command, bridge)
    assert not bridge.errors
    return status, output, bridge.questions


def test_paste_asks():
    """wl-paste asks in one form, however its options are written, as getopt(3) does"""
    rows = (
        ("wl-paste", "--with-length\n"),
        ("wl-paste -l", "--with-length -l\n"),
        ("wl-paste --list", "--with-length -l\n"),
        ("wl-paste -nt image/png", "--with-length -n -t image/png\n"),
        ("wl-paste --type=text/html --no-newline", "--with-length -n -t text/html\n"),
        ("wl-paste -timage/png -l", "--with-length -l -t image/png\n"),
    )
    for command, question in rows:
        status, output, questions = ask(command, "OK 3\na\nb")
        assert (status, output, questions) == (0, "a\nb", [question]), (command, status, output, questions)


def test_paste_answers():
    """wl-paste prints what came only if it is whole, and fails with the host's status"""
    unavailable = 'Clipboard content is not available as requested type "image/png"\nUse "wl-paste --list-types" to view available types.\n'
    rows = (
        ("wl-paste", "OK 0\n", 0, ""),
        ("wl-paste -t image/png", "OK 5\n\x89PN\0\n", 0, "\x89PN\0\n"),
        ("wl-paste", "OK 6\nshort", 1, "wl-paste: the host's clipboard: cut short\n"),
        ("wl-paste", "OK 3\nlonger", 1, "wl-paste: the host's clipboard: cut short\n"),
        ("wl-paste", "OK x\nabc", 1, "wl-paste: the host's clipboard: cut short\n"),
        ("wl-paste", "OK -1\nabc", 1, "wl-paste: the host's clipboard: cut short\n"),
        ("wl-paste", "OK\nabc", 1, "wl-paste: the host's clipboard: failed\n"),
        ("wl-paste", "what\n", 1, "wl-paste: the host's clipboard: failed\n"),
        ("wl-paste", "ERR exit 1\n", 1, "Nothing is copied\n"),
        ("wl-paste -l", "ERR exit 7\n", 7, "Nothing is copied\n"),
        ("wl-paste", "ERR exit 256\n", 1, "Nothing is copied\n"),
        ("wl-paste", "ERR exit 0\n", 1, "Nothing is copied\n"),
        ("wl-paste -t image/png", "ERR exit 1\n", 1, unavailable),
        ("wl-paste -t image/png", "ERR wrong type\n", 1, unavailable),
        ("wl-paste -t image/png", "ERR refused\n", 1, unavailable),
        ("wl-paste", "ERR timeout\n", 1, "wl-paste: the host's clipboard: timeout\n"),
        ("wl-paste", "no end of line", 1, ""),
        ("wl-paste", "x" * 1000 + "\n", 1, ""),
        ("wl-paste", "", 1, ""),
    )
    for command, answer, status, output in rows:
        got = ask(command, answer)
        assert got[:2] == (status, output), (command, answer[:30], got)


def test_paste_refuses():
    """wl-paste does not ask for what cannot be had"""
    for command in ("wl-paste --watch id", "wl-paste -p", "wl-paste -s seat", "wl-paste --bogus", "wl-paste -t", "wl-paste x",
                    "wl-paste -t 'image/png --watch'", "wl-paste -t \"image/png\n\"", "wl-paste --help", "wl-paste --version"):
        status, output, questions = ask(command, "OK 0\n")
        assert status == 1 and output and questions == [], (command, status, output, questions)


def test_paste_large():
    """64 MiB pass, and a reader that goes away ends it"""
    bridge = Bridge("say:OK 67108864\n" + "z" * (64 << 20))
    status, output = inside("wl-paste | tail -c 3; wl-paste | wc -c; { wl-paste; echo $?; } | head -c 2", bridge)
    assert status == 0 and output.startswith("zzz67108864\nzz"), output


def test_browser():
    """google-chrome asks for the first address of the web, and succeeds only on OK"""
    rows = (
        ("google-chrome https://clau.de/chrome", "OK\n", 0, ["https://clau.de/chrome\n"]),
        ("google-chrome-stable --new-window http://a.example/ https://b.example/", "OK\n", 0, ["http://a.example/\n"]),
        ("google-chrome https://clau.de/chrome", "NO\n", 1, ["https://clau.de/chrome\n"]),
        ("google-chrome https://clau.de/chrome", "OK", 1, ["https://clau.de/chrome\n"]),
        ("google-chrome https://clau.de/chrome", "OKAY\n", 1, ["https://clau.de/chrome\n"]),
        ("google-chrome https://clau.de/chrome", "", 1, ["https://clau.de/chrome\n"]),
        ("google-chrome", "OK\n", 1, []),
        ("google-chrome -version file:///etc/passwd", "OK\n", 1, []),
        ("google-chrome \"https://clau.de/chrome\nmore\"", "OK\n", 1, []),
    )
    for command, answer, status, questions in rows:
        got = ask(command, answer)
        assert got == (status, "", questions), (command, answer, got)


def test_quiet_without_bridge():
    """without a bridge, or refused by it, each fails without a word"""
    for bridge in (None, Bridge("refuse")):
        for command in ("wl-paste", "wl-paste -l", "google-chrome https://clau.de/chrome", "google-chrome-stable https://clau.de/chrome"):
            assert inside(command, bridge) == (1, ""), command
    gone = Bridge()
    gone.close()
    assert inside("wl-paste; google-chrome https://clau.de/chrome", gone) == (1, "")


def test_handshake():
    """the token goes first"""
    bridge = Bridge("say:OK 0\n")
    assert inside("wl-paste && google-chrome https://clau.de/chrome; true", bridge) == (0, "")
    assert bridge.lines == [f"{TOKEN} clipboard", f"{TOKEN} open"], bridge.lines


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.need_root()
    tap.run(TESTS)
