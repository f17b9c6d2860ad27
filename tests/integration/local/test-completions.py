#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completion in interactive bash, zsh and fish: keys are typed on a terminal, and the shells' own completion does the rest.

Each is skipped where there is no such shell. claude-profile is the real one where a shell asks it what could be typed; what has been
typed in the end shows a stand-in.
"""

import contextlib
import os
import pathlib
import shlex
import shutil
import sys

import tap
from profiles_home import Home, Terminal

PROGRAM = os.path.abspath(sys.argv[1])
COMPLETIONS = pathlib.Path(__file__).resolve().parents[3] / "completions"

STAND_IN = """#!/bin/sh
# A stand-in for claude-profile.
[ "$1" = __complete ] && exec %s "$@"
printf "<%%s>" "$@"
echo "$#"
""" % shlex.quote(PROGRAM)

# What is typed behind "claude-profile ", and what claude-profile is called with then.
CASES = (
    ("remo\ta\t", "<remove><a.b-c_d>2"),
    ("x\t", "<x-y.z>1"),
    ("build --ba\tf\t", "<build><--base><fedora>3"),
    ("build --base=f\t", "<build><--base=fedora>2"),
    ("build --base=\tf\t", "<build><--base=fedora>2"),
    ("run --property=MemoryH\t1G wor\t", "<run><--property=MemoryHigh=1G><work>3"),
    ("stop 0123\t", "<stop><0123abcd>2"),
    ("logs wo\t", "<logs><work>2"),
    ("links work sk\t", "<links><work><skills>3"),
    ("env work --uns\t", "<env><work><--unset>3"),
    ("settings --j\t", "<settings><--json>2"),
    ("work noti\t", "<work><notice.txt>2"),
    ("run -p CPUQ\t150% x-\t", "<run><-p><CPUQuota=150%><x-y.z>4"),
    ("run x-\t-p noti\t", "<run><x-y.z><-p><notice.txt>4"),
    ("shell work -- only-o\tnoti\t", "<shell><work><--><only-one-such-program><notice.txt>5"),
)


@contextlib.contextmanager
def scene():
    """A home with profiles, a running launch, a file, and a program."""
    with Home(PROGRAM) as h:
        for name in ("work", "a.b-c_d", "x-y.z"):
            h.good("add", name)
        (h.base / "no profile\x1b[31m").mkdir()
        (h.work / "notice.txt").touch()
        h.script(h.bin / "only-one-such-program", "#!/bin/sh\n")
        h.script(h.bin / "claude-profile", STAND_IN)
        h.env["SHELL"] = "/bin/sh"
        with h.launch_running("work"):
            yield h


def check(shell, argv, start):
    """Types all of it into the shell."""
    if not shutil.which(shell):
        raise tap.Skip(f"there is no {shell} here")
    with scene() as h, Terminal(h, *argv(h), program=shell, env={"COLUMNS": "80"}) as t:
        t.send(start(h) + "echo rea''dy\r")
        t.expect("ready")
        for typed, expected in CASES:
            t.output = ""
            t.send(f"claude-profile {typed}\r")
            t.expect(expected)
        # More than one: all are listed, profiles too, and nothing of what is no profile.
        t.output = ""
        t.send("claude-profile \t\t")
        for word in ("sandbox-cache", "settings", "a.b-c_d", "x-y.z", "work"):
            t.expect(word)
        assert "no profile" not in t.output, t.output


def test_bash():
    """bash completes commands, profiles, launches, options and their values, files and programs"""
    check("bash", lambda h: ["--norc", "--noprofile", "-i"],
          lambda h: f"PS1='$ '; bind 'set completion-query-items 0'; bind 'set page-completions off'; "
                    f"source {COMPLETIONS}/claude-profile.bash\r")


def test_zsh():
    """zsh completes commands, profiles, launches, options and their values, files and programs"""
    # Not the completions of all other programs: to look through them takes seconds.
    check("zsh", lambda h: ["-f", "-i"],
          lambda h: f"PS1='$ '; LISTMAX=0; fpath=({COMPLETIONS} ${{fpath:#*/(vendor-completions|Completion/[^BZU]*)}}); "
                    f"autoload -U compinit; compinit -u -D\r")


def test_fish():
    """fish completes commands, profiles, launches, options and their values, files and programs"""
    def start(h):
        directory = h.path / ".config/fish/completions"
        directory.mkdir(parents=True)
        shutil.copy(COMPLETIONS / "claude-profile.fish", directory)
        return "set fish_greeting\r"
    check("fish", lambda h: ["--private"], start)


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.run(TESTS)
