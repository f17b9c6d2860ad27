#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands that make, show, change and remove profiles, on pipes as scripts call them."""

import concurrent.futures
import fcntl
import json
import os
import subprocess
import sys

import tap
from profiles_home import Home

PROGRAM = os.path.abspath(sys.argv[1])


def test_help_and_version():
    """--help of the program and of each command fits a screen; nothing to do is a usage error"""
    with Home(PROGRAM) as h:
        texts = [h.good("--help"), h.good("-h")]
        assert texts[0] == texts[1]
        commands = [line.split()[0] for line in texts[0].splitlines() if line.startswith("  ") and line[2] != "-"]
        commands = [c for c in commands if c != "claude-profile"]
        assert {"add", "list", "remove", "links", "env", "sandbox", "run", "shell"} <= set(commands), commands
        for command in commands:
            texts.append(h.good(command, "--help"))
            assert texts[-1].startswith(f"Usage: claude-profile {command}")
            assert "--help" in texts[-1]
        for text in texts:
            assert len(text.splitlines()) <= 24 and max(map(len, text.splitlines())) <= 80, text

        assert h.good("--version").startswith("claude-profile 0.")
        done = h.run()
        assert done.returncode == 2 and done.stderr == texts[0] and done.stdout == ""
        assert h.tree() == ["bin", "bin/claude", "run", "work"]


def test_usage_errors():
    """unknown options, too many and too few arguments, contradictions: status 2, nothing is touched"""
    with Home(PROGRAM) as h:
        calls = (["--nosuch"], ["-p"], ["-"], ["--"], ["add"], ["add", "a", "b"], ["add", "--nosuch", "a"],
                 ["add", "-x", "a"], ["add", "--sandbox=1", "a"], ["list", "a"], ["list", "--jso"], ["remove"], ["links"],
                 ["links", "a", "commands", "x"], ["links", "a", "nosuch"], ["links", "a", "--link", "--unlink"],
                 ["sandbox", "a", "--on", "--off"], ["run"], ["run", "--nosuch", "a"], ["run", "-p", "a"],
                 ["shell"], ["shell", "a", "-x"], ["env", "a", "--set"], ["env", "a", "--set", "A"],
                 ["env", "a", "--set", "1A=x"], ["env", "a", "--set", "=x"], ["env", "a", "--unset", "A=1"],
                 ["env", "a", "--set", "A=1", "--unset", "A"], ["env", "a", "--set", "CLAUDE_CONFIG_DIR=x"],
                 ["env", "a", "--set", "CLAUDE_SANDBOX_X=x"], ["env", "a", "--set", "CLAUDE_PROFILE_SANDBOX=0"],
                 ["env", "a", "--set", b"A=\xff"])
        for call in calls:
            h.bad(*call, status=2)
        assert h.tree() == ["bin", "bin/claude", "run", "work"]

        # What was meant as a value is not shown.
        for call in (["--set", "1SECRET=SECRET"], ["--set", "SECRET"], ["--set", "CLAUDE_CONFIG_DIR=SECRET"],
                     ["--set", b"A=SECRET\xff"]):
            assert "SECRET" not in h.bad("env", "a", *call, status=2)
        assert "\\x1b[31m" in h.bad("list", "\x1b[31mred", status=2)


def test_limits():
    """-p: what is no limit, or none that it could be, is named before anything is made; on the host there is nothing to limit"""
    with Home(PROGRAM) as h:
        names = "CPUQuota, CPUWeight, IOWeight, MemoryHigh, MemoryLow, MemoryMax, MemoryMin, MemorySwapMax, TasksMax"
        for verb in ("run", "shell"):
            for given, says in (("Foo=1", names), ("memorymax=1G", names), ("ExecStart=/bin/sh", names), ("=1", names), ("", names),
                                ("\x1b[31m=1", "\\x1b[31m"), ("MemoryMax", "expected MemoryMax= and a size such as 512M or 8G"),
                                ("MemoryMax=1Q", "expected MemoryMax= and a size"), ("TasksMax=0", "expected TasksMax= and a number"),
                                ("CPUQuota=2", "expected CPUQuota= and a percentage"), ("CPUWeight=0", "1 to 10000, or idle")):
                h.bad(verb, "-p", given, "a", status=2, says=[says])
                h.bad(verb, "-p", "MemoryMax=1G", f"--property={given}", "-p", "TasksMax=5", "a", status=2, says=[says])
        assert h.tree() == ["bin", "bin/claude", "run", "work"]

        h.good("add", "a")
        for args in (["run", "-p", "MemoryMax=1G", "a"], ["shell", "-p", "MemoryMax=1G", "a", "--", "true"],
                     ["run", "--dry-run", "-p", "MemoryMax=1G", "a"]):
            h.bad(*args, says=["runs on the host", "claude-profile sandbox a --on"])
        assert not h.was_launched()
        # Behind the name it is claude's.
        h.good("run", "a", "exit", "0", "-p", "MemoryMax=1Q")
        assert h.record()["argv"][1:] == ["exit", "0", "-p", "MemoryMax=1Q"]


def test_add():
    """add copies settings.json and CLAUDE.md, links what there is in ~/.claude, and makes nothing else"""
    with Home(PROGRAM) as h:
        h.good("add", "bare")
        assert sorted(os.listdir(h.base / "bare")) == []
        assert (h.base / "bare").stat().st_mode & 0o7777 == 0o700 and h.base.stat().st_mode & 0o7777 == 0o700

        h.write("dotfiles/settings.json", '{"a": 1}\n', 0o644)
        h.write(".claude/CLAUDE.md", "be brief\n", 0o644)
        h.write(".claude/statusline.sh", "#!/bin/sh\n", 0o755)
        h.write(".claude/.credentials.json", "{}")
        h.write(".claude/commands/x.md", "x")
        h.write(".claude/hooks/x.sh", "x")
        os.symlink("../dotfiles/settings.json", h.path / ".claude/settings.json")
        out = h.good("add", "--sandbox", "work")
        assert "work" in out and "sandbox" in out

        p = h.base / "work"
        assert sorted(os.listdir(p)) == [".sandbox", "CLAUDE.md", "commands", "hooks", "settings.json", "statusline.sh"]
        for name in ("commands", "hooks", "statusline.sh"):
            assert os.readlink(p / name) == f"{h.path}/.claude/{name}"
        for name, text in (("settings.json", '{"a": 1}\n'), ("CLAUDE.md", "be brief\n"), (".sandbox", "")):
            assert not (p / name).is_symlink() and (p / name).read_text() == text
            assert (p / name).stat().st_mode & 0o7777 == 0o600
        assert sorted(os.listdir(h.base)) == ["bare", "work"]


def test_add_refusals():
    """add refuses names of commands, what is there, and leaves nothing behind when a step fails"""
    with Home(PROGRAM) as h:
        for command in ("add", "list", "run", "shell", "env", "sandbox", "links", "remove"):
            h.bad("add", command, says=[command, "command"])
        assert not h.base.exists()

        h.good("add", "work")
        h.bad("add", "work", says=["there already"])
        (h.base / "dangling").symlink_to("nowhere")
        (h.base / "file").touch()
        h.bad("add", "dangling", says=["there already"])
        h.bad("add", "file", says=["there already"])

        (h.path / ".claude").mkdir()
        os.mkfifo(h.path / ".claude/settings.json")
        h.bad("add", "other", says=["settings.json", "not a regular file"])
        assert sorted(os.listdir(h.base)) == ["dangling", "file", "work"]


def test_commands_accept_a_profile_named_like_one():
    """run, shell, env, sandbox, links and remove take an existing profile that is named like a command"""
    with Home(PROGRAM) as h:
        (h.base / "list").mkdir(parents=True)
        h.good("env", "list", "--set", "A=1")
        h.good("run", "list", "exit", "0")
        assert h.record()["environ"]["CLAUDE_CONFIG_DIR"] == str(h.base / "list")
        h.good("shell", "list", "--", "true")
        h.good("links", "list")
        h.good("sandbox", "list", "--on")
        assert "list\t" in h.good("list")
        h.good("remove", "list", "--yes")
        assert not (h.base / "list").exists()


def test_list():
    """list shows login, place and override: tabs in a pipe, JSON for scripts; what is odd is named and left out"""
    with Home(PROGRAM) as h:
        done = h.run("list")
        assert done.returncode == 0 and done.stdout == "" and "claude-profile add" in done.stderr
        assert json.loads(h.good("list", "--json")) == []

        for name in ("b", "a-1", "Z"):
            h.good("add", name)
        h.good("sandbox", "b", "--on")
        h.write(".claude-profiles/a-1/.credentials.json", "{}")
        h.write(".claude-profiles/Z/.credentials.json", "")
        h.write(".claude-profiles/shared-settings.json", "{}")
        assert h.good("list").splitlines() == ["Z\tunauthenticated\thost\tmarker", "a-1\tauthenticated\thost\tmarker",
                                               "b\tunauthenticated\tsandbox\tmarker"]
        assert json.loads(h.good("list", "--json"))[1] == {
            "name": "a-1", "path": str(h.base / "a-1"), "authenticated": True, "sandbox": False, "marker": False,
            "override": None}

        override = h.good("list", env={"CLAUDE_PROFILE_SANDBOX": "1"}).splitlines()
        assert override[0] == "Z\tunauthenticated\tsandbox\tCLAUDE_PROFILE_SANDBOX in the environment"
        h.write(".config/claude-profile/profiles/b.conf", "[Sandbox]\nSandbox=no\n")
        row = json.loads(h.good("list", "--json"))[2]
        assert row["marker"] is True and row["sandbox"] is False and row["override"].endswith("/profiles/b.conf:2")

        h.write(".config/claude-profile/profiles/b.conf", "[Sandbox]\nRAM=much\n")
        (h.base / "x\n\x1b[31m").mkdir()
        (h.base / "link").symlink_to("Z")
        done = h.run("list")
        assert done.returncode == 0 and len(done.stdout.splitlines()) == 3, done
        assert "b\tunauthenticated\tunknown\tmarker" in done.stdout
        assert "profiles/b.conf:2: RAM=much: expected" in done.stderr
        assert "x\\x0a\\x1b[31m: not the name of a profile" in done.stderr and "/link: a link" in done.stderr


def test_settings():
    """settings shows each setting and where it is from: tabs in a pipe, JSON for scripts; what is wrong stops it by name"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.write(".config/claude-profile/claude-profile.conf", "[Sandbox]\nRAM=8G\nCPUs=2\n")
        h.write(".config/claude-profile/profiles/work.conf", "[Sandbox]\n\nCPUs=3\nSSHKeys=work *\n")
        env = {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "CLAUDE_PROFILE_SANDBOX_FORWARD_ENV": "A,B"}
        lines = dict(line.split("\t", 1) for line in h.good("settings", "work", env=env).splitlines())
        assert lines["RAM"] == f"8192\t{h.config}/claude-profile.conf:2", lines
        assert lines["CPUs"] == f"3\t{h.config}/profiles/work.conf:3", lines
        assert lines["SSHAgent"] == "yes\tenvironment" and lines["ForwardEnv"] == "A,B\tenvironment", lines
        assert lines["SSHKeys"].startswith("work *\t") and lines["Sandbox"] == "\tdefault", lines
        assert f"CPUs\t2\t{h.config}/claude-profile.conf:3\n" in h.good("settings")

        rows = {row["key"]: row for row in json.loads(h.good("settings", "work", "--json", env=env))}
        assert rows["CPUs"] == {"key": "CPUs", "variable": "CLAUDE_PROFILE_SANDBOX_CPUS", "value": 3, "source": "profile-file",
                                "path": f"{h.config}/profiles/work.conf", "line": 3}
        assert rows["SSHAgent"]["value"] is True and rows["ForwardEnv"]["value"] == ["A", "B"], rows
        assert rows["Sandbox"] == {"key": "Sandbox", "variable": "CLAUDE_PROFILE_SANDBOX", "value": None, "source": "default"}

        odd = {"CLAUDE_PROFILE_SANDBOX_REPORT_PATHS": "a\tb,\x1b[31m"}
        lines = h.good("settings", "work", env=odd).splitlines()
        assert "ReportPaths\ta\\x09b,\\x1b[31m\tenvironment" in lines, lines

        h.bad("settings", "wrok", says=['no profile "wrok"', '"work"'])
        h.bad("settings", "../x", status=2)
        h.bad("settings", "work", "x", status=2)
        h.bad("settings", env={"CLAUDE_PROFILE_SANDBOX_CPUS": "\x1b[31m"}, says=["CLAUDE_PROFILE_SANDBOX_CPUS=\\x1b[31m: expected"])


def test_links():
    """links shows, makes and removes links; all skips what has no counterpart, naming a missing one fails"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        p = h.base / "work"
        h.write(".claude/commands/x", "x")
        h.write(".claude/hooks/x", "x")
        h.write(".claude-profiles/work/hooks/own", "own")

        done = h.run("links", "work", "--link")
        assert done.returncode == 1 and "hooks has files of its own" in done.stderr, done
        assert os.readlink(p / "commands") == f"{h.path}/.claude/commands"
        assert not (p / "skills").exists() and "skills" in done.stdout
        h.bad("links", "work", "skills", "--link", says=["no ", ".claude/skills"])

        (p / "hooks/own").unlink()
        assert "linked" in h.good("links", "work", "hooks", "--link")
        assert h.good("links", "work").splitlines() == [f"commands   linked to {h.path}/.claude/commands",
                                                        "skills     not there",
                                                        f"hooks      linked to {h.path}/.claude/hooks"]

        # A link to elsewhere is no link of ours; it can be replaced, and never leads our writing astray.
        (p / "commands").unlink()
        (p / "commands").symlink_to("/tmp/\x1b[31m")
        assert "commands   a link to somewhere else: /tmp/\\x1b[31m" in h.good("links", "work")
        h.good("links", "work", "commands", "--link")
        assert os.readlink(p / "commands") == f"{h.path}/.claude/commands"

        h.good("links", "work", "--unlink")
        assert sorted(os.listdir(p)) == []
        assert (h.path / ".claude/commands/x").exists()
        h.write(".claude-profiles/work/skills", "a file")
        h.write(".claude/skills/x", "x")
        h.bad("links", "work", "skills", "--link", says=["in the way"])


def test_sandbox():
    """sandbox shows and sets the marker; a linked one is replaced, not followed; an override is told"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        marker = h.base / "work/.sandbox"
        assert "on the host" in h.good("sandbox", "work")
        assert "in a sandbox" in h.good("sandbox", "work", "--on")
        assert marker.read_bytes() == b"" and marker.stat().st_mode & 0o7777 == 0o600
        assert "on the host" in h.good("sandbox", "work", "--off") and not marker.exists()
        h.good("sandbox", "work", "--off")

        canary = h.write("canary", "untouched")
        for target in (canary, "/nowhere/at/all"):
            marker.symlink_to(target)
            assert "in a sandbox" in h.good("sandbox", "work")
            h.good("sandbox", "work", "--on")
            assert not marker.is_symlink() and marker.read_bytes() == b""
            marker.unlink()
            marker.symlink_to(target)
            h.good("sandbox", "work", "--off")
            assert not os.path.lexists(marker)
        assert canary.read_text() == "untouched"
        marker.mkdir()
        assert "in a sandbox" in h.good("sandbox", "work")
        h.good("sandbox", "work", "--off")
        assert sorted(os.listdir(h.base / "work")) == []

        for args, value, contradicts in ((["--on"], "0", True), (["--on"], "1", False), (["--off"], "1", True),
                                         (["--off"], "no", False)):
            out = h.good("sandbox", "work", *args, env={"CLAUDE_PROFILE_SANDBOX": value})
            assert "CLAUDE_PROFILE_SANDBOX in the environment decides" in out, out
            assert ("not the marker" in out) == contradicts, out
            assert os.path.lexists(marker) == (args == ["--on"])
        assert "decides" in h.good("sandbox", "work", env={"CLAUDE_PROFILE_SANDBOX": "1"})
        assert "decides" not in h.good("sandbox", "work", env={"CLAUDE_PROFILE_SANDBOX": ""})


def test_env():
    """env shows and changes .env: 0600, whole or not at all, other lines kept"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        path = h.base / "work/.env"
        assert h.good("env", "work") == "" and not path.exists()
        done = h.run("env", "work", "--unset", "A")
        assert done.returncode == 0 and "A is not in" in done.stderr and not path.exists()

        h.good("env", "work", "--set", "A=1", "--set", "B= x # y", "--set=C=l1\nl2")
        assert path.read_text() == 'A=1\nB=" x # y"\nC="l1\\nl2"\n' and path.stat().st_mode & 0o7777 == 0o600
        assert h.good("env", "work") == 'A=1\nB=" x # y"\nC="l1\\nl2"\n'

        path.write_text('# mine\nexport A=1\n\nB=2 # kept\nodd\n')
        path.chmod(0o644)
        h.good("env", "work", "--set", "A=2", "--unset", "B", "--set", "D=")
        assert path.read_text() == '# mine\nexport A=2\n\nodd\nD=\n' and path.stat().st_mode & 0o7777 == 0o600
        done = h.run("env", "work")
        assert done.stdout == "A=2\nD=\n" and ".env: line 4: no assignment" in done.stderr

        # A broken line is named; changing it is the cure.
        path.write_text('A="SECRET\nB=1\n')
        assert "SECRET" not in h.bad("env", "work", says=[".env: line 1: A: the quote"])
        done = h.run("env", "work", "--set", "B=2")
        assert done.returncode == 0 and "line 1: A" in done.stderr and "SECRET" not in done.stderr
        h.good("env", "work", "--set", "A=x")
        assert path.read_text() == "A=x\nB=2\n"

        path.write_bytes(b"\xff\xfeA\0=\0001\0\n\0")
        h.bad("env", "work", says=[".env", "UTF-8"])
        h.bad("env", "work", "--set", "A=1", says=[".env", "UTF-8"])
        assert path.read_bytes() == b"\xff\xfeA\0=\0001\0\n\0"
        assert sorted(os.listdir(path.parent)) == [".env"]


def test_env_refuses_links():
    """a .env that is a link or no file is neither read nor written"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        path = h.base / "work/.env"
        canary = h.write("canary", "CANARY=1\n")
        path.symlink_to(canary)
        h.bad("env", "work", says=["link"])
        h.bad("env", "work", "--set", "A=1", says=["link"])
        assert canary.read_text() == "CANARY=1\n" and path.is_symlink()
        path.unlink()
        os.mkfifo(path)
        h.bad("env", "work", says=["not a regular file"])
        h.bad("env", "work", "--set", "A=1", says=["not a regular file"])


def test_env_in_place():
    """while a launch runs .env is written in place, else replaced; and commands take turns"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.good("env", "work", "--set", "A=1", "--set", "LONG=" + "x" * 1000)
        path = h.base / "work/.env"
        inode = path.stat().st_ino
        with h.launch_running("work"):
            done = h.run("env", "work", "--set", "A=2", "--unset", "LONG")
            assert done.returncode == 0 and "keeps the variables it began with" in done.stderr, done
            assert path.read_text() == "A=2\n" and path.stat().st_ino == inode
            done = h.run("env", "work", "--set", "A=2", env={"XDG_RUNTIME_DIR": ""})
            assert done.returncode == 0
        keep = os.open(path, os.O_RDONLY)
        h.good("env", "work", "--set", "A=3")
        assert path.read_text() == "A=3\n" and path.stat().st_ino != inode and os.read(keep, 100) == b"A=2\n"
        os.close(keep)

        # Twenty at once: no change is lost, none is half.
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            assert set(pool.map(lambda i: h.good("env", "work", "--set", f"K{i}={i}"), range(20))) == {""}
        assert sorted(h.good("env", "work").split()) == sorted(["A=3"] + [f"K{i}={i}" for i in range(20)])
        assert sorted(os.listdir(path.parent)) == [".env"]


def test_remove():
    """remove deletes the profile and its data, follows no link, and asks for --yes without a terminal"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.good("add", "other")
        canary = h.write("outside/canary", "untouched")
        p = h.base / "work"
        (p / "link").symlink_to(h.path / "outside")
        h.write(".claude-profiles/work/a/b/c", "x")
        (p / "a/closed").mkdir(mode=0o000)
        os.mkfifo(p / "fifo")
        h.write(".local/share/claude-profile/profiles/work/ssh/known_hosts", "x")
        h.write(".local/share/claude-profile/profiles/other/sandboxed", "")
        h.write(".config/claude-profile/profiles/work.conf", "[Sandbox]\n")

        h.bad("remove", "work", says=["--yes"])
        assert p.exists()
        out = h.good("remove", "work", "-y")
        assert "removed" in out and "profiles/work.conf" in out
        assert sorted(os.listdir(h.base)) == ["other"]
        assert sorted(os.listdir(h.data / "profiles")) == ["other"]
        assert canary.read_text() == "untouched" and (h.config / "profiles/work.conf").exists()
        h.bad("remove", "work", "--yes", says=["no profile"])


def test_remove_refusals():
    """remove refuses while a launch runs, in a sandbox or on the host, and what is no directory"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        with h.launch_running("work"):
            h.bad("remove", "work", "--yes", says=["running", "systemctl --user stop claude-sandbox@work"])
        with h.launch_running("work-2"):
            h.good("add", "work-2")
        (h.runtime / "claude-profile/work-0123abcd").mkdir()  # a remain: nobody holds it

        with subprocess.Popen([PROGRAM, "work", "stay"], env=h.env, cwd=h.work, stdout=subprocess.PIPE) as claude:
            assert claude.stdout.readline() == b"here\n"
            h.bad("remove", "work", "--yes", says=[str(claude.pid), "claude"])
            claude.kill()
        assert (h.base / "work").exists()
        h.good("remove", "work", "--yes")

        (h.path / "elsewhere").mkdir()
        (h.base / "link").symlink_to(h.path / "elsewhere")
        h.bad("remove", "link", "--yes", says=["link"])
        assert (h.path / "elsewhere").exists() and (h.base / "link").is_symlink()


def test_remove_under_fire():
    """remove works while somebody keeps writing there, and on a deep tree"""
    writer = """
import os, sys
os.chdir(sys.argv[1])
os.write(1, b"x")
i = 0
while os.getppid() == int(sys.argv[2]):
    i += 1
    try:
        os.makedirs("d/%d" % (i % 50), exist_ok=True)
        open("d/%d/f" % (i % 50), "w").close()
        os.symlink("../../..", "d/l%d" % (i % 50))
    except OSError:
        if not os.path.exists("."):
            break
"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        canary = h.write(".claude-profiles/other/canary", "untouched")
        with subprocess.Popen([sys.executable, "-c", writer, h.base / "work", str(os.getpid())],
                              stdout=subprocess.PIPE) as process:
            process.stdout.read(1)
            done = h.run("remove", "work", "--yes")
            process.kill()
        # Who writes faster than we can delete leaves a remain that is named; a profile it is no more.
        assert not (h.base / "work").exists()
        left = [name for name in os.listdir(h.base) if name != "other"]
        assert (done.returncode == 0) == (not left), (done, left)
        assert done.returncode == 0 or left[0] in done.stderr
        assert canary.read_text() == "untouched"

        h.good("add", "deep")
        path = str(h.base / "deep")
        fd = os.open(path, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=fd)
            below = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        os.close(fd)
        h.good("remove", "deep", "--yes")


def test_lock_is_bounded():
    """a command that keeps the lock stops the others for moments only, with a message"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.good("env", "work", "--set", "A=1")
        fd = os.open(h.data / "lock", os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        calls = (["env", "work", "--set", "A=2"], ["sandbox", "work", "--on"], ["remove", "work", "-y"], ["work"])
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for message in pool.map(lambda call: h.bad(*call, says=["lock"]), calls):
                assert message.startswith("claude-profile: Another claude-profile is changing profiles")
        os.close(fd)
        assert not h.was_launched() and h.good("env", "work") == "A=1\n"


def test_write_errors():
    """what cannot be written to standard output is an error"""
    with Home(PROGRAM) as h, open("/dev/full", "w", encoding="utf-8") as full:
        h.good("add", "work")
        for call in (["--help"], ["--version"], ["list"], ["list", "--json"], ["add", "--help"], ["sandbox", "work"]):
            done = subprocess.run([PROGRAM, *call], env=h.env, stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
            assert done.returncode == 1 and "No space left" in done.stderr, (call, done)


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.run(TESTS)
