#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands on a terminal: questions, colour, columns."""

import os
import re
import subprocess
import sys

import tap
from profiles_home import Home, Terminal

PROGRAM = os.path.abspath(sys.argv[1])


def test_add_asks():
    """add asks for each directory that there is in ~/.claude; yes is the default, nonsense asks again"""
    with Home(PROGRAM) as h:
        h.write(".claude/commands/x", "x")
        h.write(".claude/skills/x", "x")
        with Terminal(h, "add", "work") as t:
            t.answer("commands? [Y/n] ", "\r")
            t.answer("skills? [Y/n] ", "perhaps\r")
            t.answer("skills? [Y/n] ", "No\r")
            assert t.end() == 0 and "hooks" not in t.output, t.output
        assert sorted(os.listdir(h.base / "work")) == ["commands"]


def test_add_gives_up():
    """the end of input, or a signal, at a question leaves nothing behind"""
    with Home(PROGRAM) as h:
        h.write(".claude/commands/x", "x")
        for key, status in (("\x04", 1), ("\x03", -2)):
            with Terminal(h, "add", "work") as t:
                t.answer("[Y/n] ", key)
                assert t.end() == status
        assert not h.base.exists()


def test_add_without_somebody_to_ask():
    """without a terminal on both ends nobody is asked, and the default holds"""
    with Home(PROGRAM) as h:
        h.write(".claude/commands/x", "x")
        h.good("add", "work", data="n\n")
        assert (h.base / "work/commands").is_symlink()
        # Standard output may go elsewhere: questions are on standard error.
        with Terminal(h, "add", "other", stdout=subprocess.DEVNULL) as t:
            t.answer("[Y/n] ", "n\r")
            assert t.end() == 0
        assert not (h.base / "other/commands").exists()


def test_remove_asks():
    """remove asks, and no is the default; --yes asks nothing"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        for answer, status in (("\r", 1), ("n\r", 1), ("\x04", 1), ("\x03", -2)):
            with Terminal(h, "remove", "work") as t:
                t.answer("[y/N] ", answer)
                assert t.end() == status, t.output
            assert (h.base / "work").exists()
        with Terminal(h, "remove", "work") as t:
            t.answer(f"Remove {h.base}/work", "y\r")
            assert t.end() == 0 and "removed" in t.output
        assert not (h.base / "work").exists()
        h.good("add", "work")
        with Terminal(h, "remove", "work", "--yes") as t:
            assert t.end() == 0 and "?" not in t.output


def test_remove_looks_twice():
    """a launch that began while remove was asking keeps the profile"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        with Terminal(h, "remove", "work") as t:
            t.expect("[y/N] ")
            with h.launch_running("work"):
                t.send("y\r")
                assert t.end() == 1 and "is running" in t.output, t.output
        assert (h.base / "work").exists()


def test_list_for_people():
    """list aligns its columns, in colour; none with NO_COLOR; nothing is wider than 80"""
    with Home(PROGRAM) as h:
        for name in ("a", "a-longer-name", "work"):
            h.good("add", name)
        h.good("sandbox", "work", "--on")
        h.write(".claude-profiles/work/.credentials.json", "{}")
        texts = []
        for env in ({}, {"NO_COLOR": "1"}, {"NO_COLOR": ""}):
            with Terminal(h, "list", env=env) as t:
                assert t.end() == 0
                texts.append(t.output.replace("\r\n", "\n"))
        plain = ("PROFILE        LOGIN  RUNS IN\n"
                 "a              no     host\n"
                 "a-longer-name  no     host\n"
                 "work           yes    sandbox\n")
        assert texts[1] == plain, texts[1]
        assert "\x1b[" in texts[0] and texts[0] == texts[2]
        assert re.sub(r"\x1b\[[0-9;]*m", "", texts[0]) == plain

        with Terminal(h, "list", env={"NO_COLOR": "1", "CLAUDE_PROFILE_SANDBOX": "1"}) as t:
            assert t.end() == 0
            lines = t.output.splitlines()
            assert lines[1] == "a              no     sandbox, set by CLAUDE_PROFILE_SANDBOX (marked: host)", t.output
            assert lines[3] == "work           yes    sandbox, set by CLAUDE_PROFILE_SANDBOX", t.output
            assert max(map(len, lines)) <= 80, t.output
        h.write(".config/claude-profile/profiles/work.conf", "[Sandbox]\nSandbox=no\n")
        with Terminal(h, "list", env={"NO_COLOR": "1"}) as t:
            assert t.end() == 0
            last = t.output.splitlines()[3]
            assert last == "work           yes    host, set by profiles/work.conf:2 (marked: sandbox)", last


def test_settings_for_people():
    """settings aligns its columns, files below the configuration directory; long values come last; harmless to the terminal"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.write(".config/claude-profile/profiles/work.conf", "[Sandbox]\nReportPaths=a\x1b[31m\n")
        with Terminal(h, "settings", "work", env={"NO_COLOR": "1", "CLAUDE_PROFILE_SANDBOX_GH": "1"}) as t:
            assert t.end() == 0
            lines = t.output.splitlines()
        assert lines[0] == "SETTING          FROM                  VALUE", lines
        assert "GH               environment           yes" in lines and "SSHKeys          default               (not set)" in lines, lines
        assert "ReportPaths      profiles/work.conf:2  a\\x1b[31m" in lines, lines


def test_env_is_harmless():
    """env shows control characters of a value escaped on a terminal, as they are in a pipe"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.good("env", "work", "--set", "A=\x1b[31mred\x07")
        with Terminal(h, "env", "work") as t:
            assert t.end() == 0 and t.output == "A=\\x1b[31mred\\x07\r\n", t.output
        assert h.good("env", "work") == "A=\x1b[31mred\x07\n"


def test_claude_has_the_terminal():
    """claude gets the terminal itself"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        with Terminal(h, "work", "stay") as t:
            t.expect("here")
            fds = h.record()["fds"]
            assert fds["0"] == fds["1"] == fds["2"] and fds["0"].startswith("/dev/pts/"), fds
            t.send("\x03")
            assert t.end() == -2


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.run(TESTS)
