#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of profiles, wherever they come from, and places of profiles (cases Y01, Y02, Y04)."""

import os
import sys

import tap
from profiles_home import Home

PROGRAM = os.path.abspath(sys.argv[1])

REFUSED = ["../x", "..", ".", "", "a/b", "/etc", "a\nb", "a%2f..", "..／x", "-rf", "x" * 300, " a", "a ", "a b",
           "x@y", "é", "a:b", ".a", "_a", "a\\b", "a\x1b[31m", b"a\xff", "a" + "-" * 57, "shared-settings.json", "a.service",
           "a.scope", "a.slice", "a.socket"]
ACCEPTED = ["my-team", "my_team", "a.b", "Work", "work", "con", "a.", "0", "x" * 100, "a" + "-" * 56, "a.Service"]

COMMANDS = [["add"], ["add", "--sandbox"], ["remove", "--yes"], ["links"], ["links", "--link"], ["env"],
            ["env", "--set", "A=1"], ["sandbox"], ["sandbox", "--on"], ["run"], ["shell"]]


def test_as_argument():
    """Y02: an invalid name is status 2 before any file is touched, whatever the command, and shown escaped"""
    with Home(PROGRAM) as h:
        # Whoever looked at a setting first would stumble here.
        h.write(".config/claude-profile/claude-profile.conf", "[Sandbox]\nRAM=broken\n")
        before = h.tree()
        for name in REFUSED:
            for command in COMMANDS:
                dashed = ["--"] if name in ("-rf", "") else []
                message = h.bad(*command, *dashed, name, status=2, says=["cannot be the name of a profile"])
                assert len(message.splitlines()) == 1 and len(message) < 600, message
            if name and name != "-rf":  # those are options, as the first word
                h.bad(name, "exit", "0", status=2, says=["cannot be the name of a profile"])
        assert h.tree() == before and not h.was_launched()
        assert '"a\\x0ab"' in h.bad("run", "a\nb", status=2)
        assert '"a\\x1b[31m"' in h.bad("a\x1b[31m", status=2)
        assert '"a\\xff"' in h.bad(b"a\xff", status=2)


def test_from_the_environment():
    """Y02: no name of a profile is taken from the environment; a base that leads astray is refused by name"""
    with Home(PROGRAM) as h:
        before = h.tree()
        for name in REFUSED:
            if isinstance(name, bytes):
                continue
            env = {variable: name for variable in ("CLAUDE_PROFILE", "CLAUDE_PROFILE_NAME", "CLAUDE_PROFILE_DEFAULT",
                                                   "CLAUDE_PROFILE_PROFILE")}
            done = h.run(env=env)
            assert done.returncode == 2 and done.stderr.startswith("Usage: "), done
        for base in ("../x", "x", "./x", "/a/../b", "~other/x", "-"):
            h.bad("list", env={"CLAUDE_PROFILE_PROFILES_BASE": base},
                  says=[f"CLAUDE_PROFILE_PROFILES_BASE={base}: expected"])
        assert h.tree() == before and not h.was_launched()


def test_on_disk():
    """Y02: a directory with an invalid name is no profile for any command"""
    with Home(PROGRAM) as h:
        h.base.mkdir()
        made = [n for n in REFUSED if isinstance(n, str) and n not in ("", ".", "..") and "/" not in n and len(n) < 256]
        for name in made:
            (h.base / name).mkdir()
        h.good("add", "good")
        before = h.tree()

        done = h.run("list")
        assert done.returncode == 0 and done.stdout == "good\tunauthenticated\thost\tmarker\n", done
        assert "\x1b" not in done.stderr and "a\\x0ab: not the name of a profile" in done.stderr
        # Hidden ones are nobody's business, the others are told.
        assert len(done.stderr.splitlines()) == len([n for n in made if not n.startswith(".")])
        for name in made:
            for command in (["run"], ["remove", "--yes"], ["env", "--set", "A=1"]):
                h.bad(*command, *(["--"] if name == "-rf" else []), name, status=2)
        assert h.tree() == before and not h.was_launched()


def test_accepted():
    """Y01: what the rule allows works throughout, and differs from its neighbours"""
    with Home(PROGRAM) as h:
        for name in ACCEPTED:
            h.good("add", name)
            h.good("env", name, "--set", f"MINE={name}")
        assert [line.split("\t")[0] for line in h.good("list").splitlines()] == sorted(ACCEPTED)
        for name in ACCEPTED:
            h.good(name, "x")
            record = h.record()
            assert record["environ"]["CLAUDE_CONFIG_DIR"] == str(h.base / name)
            assert record["environ"]["MINE"] == name and record["argv"][1:] == ["x"]
            h.good("remove", "-y", name)
        assert os.listdir(h.base) == []


def test_unknown_profiles():
    """an unknown profile is named with the remedy and the name that was probably meant"""
    with Home(PROGRAM) as h:
        h.bad("work", says=['no profile "work"', "claude-profile add work"])
        assert not h.base.exists()
        h.good("add", "work")
        h.good("add", "personal")
        for typo, meant in (("wrok", "work"), ("wok", "work"), ("Work", "work"), ("pers", "personal"),
                            ("personnal", "personal")):
            h.bad(typo, says=[f'Did you mean "{meant}"?'])
            h.bad("env", typo, says=[f'Did you mean "{meant}"?'])
        assert "Did you mean" not in h.bad("other")
        h.bad("lsit", says=['Did you mean the command "list"?', "claude-profile add lsit"])
        assert "Did you mean" not in h.bad("env", "lsit")
        assert not h.was_launched()


def test_odd_places():
    """a profile that is a link, a file or a FIFO is refused; a base may be a link, and lie anywhere"""
    with Home(PROGRAM) as h:
        h.base.mkdir()
        h.write("elsewhere/.env", "A=1\n")
        (h.base / "link").symlink_to(h.path / "elsewhere")
        (h.base / "dangling").symlink_to("nowhere")
        (h.base / "file").touch()
        os.mkfifo(h.base / "fifo")
        for name in ("link", "dangling", "file", "fifo"):
            for command in (["remove", "--yes"], ["links"], ["env"], ["env", "--set", "A=1"], ["sandbox", "--on"],
                            ["run"], ["shell"]):
                h.bad(*command, name, says=[f"/{name} is a link or no directory"])
        assert not h.was_launched() and (h.path / "elsewhere/.env").read_text() == "A=1\n"

        other = h.path / "a b, c: \"d\" $e %f"
        (h.path / "to").symlink_to(other)
        other.mkdir()
        for base in (other, h.path / "to", f"{other}//x/./", "~/new/er"):
            env = {"CLAUDE_PROFILE_PROFILES_BASE": str(base)}
            h.good("add", "work", env=env)
            h.good("work", env=env)
            at = h.record()["environ"]["CLAUDE_CONFIG_DIR"]
            assert os.path.isdir(at) and at.endswith("/work") and "//" not in at and "/./" not in at, at
            h.good("remove", "work", "-y", env=env)


def test_without_a_user_manager():
    """Y04: launches on the host and all commands need no runtime directory, and use no foreign one"""
    with Home(PROGRAM) as h:
        foreign = h.path / "foreign"
        foreign.mkdir()
        foreign.chmod(0o777)
        for runtime in ("", "/nowhere/at/all", str(foreign), "relative"):
            env = {"XDG_RUNTIME_DIR": runtime}
            h.good("add", "work", env=env)
            h.good("env", "work", "--set", "A=1", env=env)
            h.good("list", env=env)
            h.good("work", env=env)
            h.record()
            h.good("remove", "work", "-y", env=env)
        assert list(foreign.iterdir()) == []


def test_settings_errors():
    """a setting that cannot be read stops every command but help, by variable or file and line; odd lines warn"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        for call in (["work"], ["list"], ["env", "work"], ["add", "x"], ["remove", "-y", "work"]):
            h.bad(*call, env={"CLAUDE_PROFILE_SANDBOX": "maybe"},
                  says=["CLAUDE_PROFILE_SANDBOX=maybe: expected yes or no"])
        conf = h.write(".config/claude-profile/claude-profile.conf", "[Sandbox]\n\nCPUs=none\n")
        h.bad("work", says=[f"{conf}:3: CPUs=none: expected a number"])
        h.good("work", "--help", env={"XDG_CONFIG_HOME": "/nowhere"})
        h.record()
        h.good("env", "--help")

        conf.write_text("[Sandbox]\nCpus=1\n")
        done = h.run("work")
        assert done.returncode == 0 and f"{conf}:2: Cpus: unknown key, ignored (did you mean CPUs=?)" in done.stderr
        h.record()
        conf.unlink()
        h.write(".config/claude-profile/profiles/work.conf", f"[Sandbox]\nClaudeBin={h.path}/nowhere/claude\n")
        h.bad("work", says=[f"no {h.path}/nowhere/claude", "CLAUDE_PROFILE_CLAUDE_BIN"])
        h.good("list")


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.run(TESTS)
