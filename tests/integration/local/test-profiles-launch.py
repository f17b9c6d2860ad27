#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Launches on the host: what claude is started with, and when it is not."""

import os
import subprocess
import sys

import tap
from profiles_home import Home

PROGRAM = os.path.abspath(sys.argv[1])


def test_plain():
    """claude gets its arguments untouched, the directory, standard input, and CLAUDE_CONFIG_DIR on top"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        for args in ([], ["-p"], ["-p", "a b", "", "--", "--help", "-h", "\n", "ü"], ["--version"], ["--", "x"],
                     ["add"], ["--sandbox"], ["x" * 100000]):
            for call in (["work"], ["run", "work"], ["run", "--", "work"]):
                h.good(*call, *args)
                record = h.record()
                assert record["argv"] == [str(h.bin / "claude"), *args], record["argv"]
                assert record["cwd"] == str(h.work)
                expected = {**h.env, "CLAUDE_CONFIG_DIR": str(h.base / "work")}
                assert record["environ"] == expected, record["environ"]
        assert h.good("work", "cat", data="piped\n") == "piped\n"
        h.good("work", env={"CLAUDE_CONFIG_DIR": "/elsewhere", "CLAUDE_PROFILE_SANDBOX": "0"})
        assert h.record()["environ"]["CLAUDE_CONFIG_DIR"] == str(h.base / "work")


def test_shared_settings():
    """shared-settings.json reaches claude as a file of the user's alone, filled in; its own --settings wins; a broken one stops all"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.good("work", "x")
        assert h.record()["argv"] == [str(h.bin / "claude"), "x"]
        shared = h.base / "shared-settings.json"
        shared.write_text('{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1/{profile}"}]}]}, "n": 1.0}')
        h.good("work", "x", "--", "--settings")
        argv = h.record()["argv"]
        assert argv[1] == "--settings" and argv[3:] == ["x", "--", "--settings"], argv
        assert open(argv[2]).read() == shared.read_text().replace("{profile}", "work")
        assert os.stat(argv[2]).st_mode & 0o777 == 0o600
        p = h.run("work", "--settings", "mine")
        assert p.returncode == 0 and h.record()["argv"][1:] == ["--settings", "mine"]
        assert "Your --settings is used instead of" in p.stderr, p.stderr
        shared.write_text('{"permissions":\n{"deny":["x",]}}')
        p = h.run("work", "x")
        assert p.returncode == 1 and "shared-settings.json: line 2, column 14:" in p.stderr, p.stderr


def test_status():
    """no process stays in between: claude's status is the caller's, signals included"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        for n in (0, 1, 2, 7, 125, 255):
            assert h.run("work", "exit", str(n)).returncode == n
        assert h.run("work", "kill", "9").returncode == -9
        with subprocess.Popen([PROGRAM, "work", "exit", "0"], env=h.env, cwd=h.work) as process:
            assert process.wait(20) == 0
        assert h.record()["pid"] == process.pid


def test_descriptors():
    """P12: claude has 0, 1, 2 and nothing else; closed ones are /dev/null; the directory is the real one"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        work = os.open(h.work, os.O_RDONLY | os.O_DIRECTORY)

        def open_many():
            os.dup2(work, 7)
            for fd in (3, 4, 5, 6, 8, 9, 200):
                os.dup2(7, fd)
            os.chdir("/proc/self/fd/7")
        h.good("work", env={"PWD": "/proc/self/fd/7"}, preexec_fn=open_many, close_fds=False)
        record = h.record()
        assert sorted(record["fds"]) == ["0", "1", "2"], record["fds"]
        assert record["cwd"] == str(h.work) and record["environ"]["PWD"] == str(h.work), record
        os.close(work)

        # A true PWD is left alone, though it leads through a link.
        (h.path / "through").symlink_to(h.work)
        h.good("work", env={"PWD": str(h.path / "through")}, cwd=h.path / "through")
        assert h.record()["environ"]["PWD"] == str(h.path / "through")

        def close_all():
            for fd in (0, 1, 2):
                os.close(fd)
        with subprocess.Popen([PROGRAM, "work"], env=h.env, cwd=h.work, preexec_fn=close_all) as process:
            assert process.wait(20) == 0
        assert h.record()["fds"] == {"0": "/dev/null", "1": "/dev/null", "2": "/dev/null"}


def test_foreign_activation():
    """B13: socket activation that was meant for somebody else, or for us, does not reach claude"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        foreign = {"LISTEN_FDS": "3", "LISTEN_PID": "1", "LISTEN_FDNAMES": "a:b:c", "LISTEN_PIDFDID": "1"}
        h.good("work", env=foreign)
        assert not set(foreign) & set(h.record()["environ"])
        done = subprocess.run(["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" work 3</dev/null', PROGRAM],
                              env=h.env, cwd=h.work, check=False)
        assert done.returncode == 0
        record = h.record()
        assert not set(foreign) & set(record["environ"]) and sorted(record["fds"]) == ["0", "1", "2"]


def test_variables():
    """E01-E08: the profile's variables come on top of the caller's; remarks name file and line, never values"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.write(".claude-profiles/work/.env",
                '\ufeffexport A=1\r\nB="l1\\nl2"\r\nLANG=C\r\nodd SECRET\r\nN=SECRET # x\r\n'
                'CLAUDE_PROFILE_SANDBOX=1\r\nA=2\r\n')
        done = h.run("work", env={"KEPT": "yes", "A": "0"})
        environ = h.record()["environ"]
        assert done.returncode == 0
        expected = {**h.env, "KEPT": "yes", "A": "2", "B": "l1\nl2", "LANG": "C", "N": "SECRET # x",
                    "CLAUDE_CONFIG_DIR": str(h.base / "work")}
        assert environ == expected, environ
        lines = done.stderr.splitlines()
        assert [line.split(".env: line ")[1].split(":")[0] for line in lines] == ["4", "5", "6", "7"], lines
        assert all(line.startswith(f"claude-profile: warning: {h.base}/work/.env: line ") for line in lines)
        assert "SECRET" not in done.stderr


def test_variables_refused():
    """E03, E04, E08: what stops a launch, by file, line and name, and nothing of the file applies"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        path = h.base / "work/.env"
        for text, says in ((b'A=1\nB="SECRET\n', "line 2: B: "), (b"A='SECRET' SECRET\n", "line 1: A: "),
                           (b"CLAUDE_CONFIG_DIR=/SECRET\n", "line 1: CLAUDE_CONFIG_DIR: "),
                           (b"CLAUDE_SANDBOX_TOKEN=SECRET\n", "line 1: CLAUDE_SANDBOX_TOKEN: "),
                           (b"\xff\xfeA\0=\0001\0\n\0", "UTF-8"), (b"A=SECRET\0\n", "UTF-8"),
                           (b"BIG=" + b"x" * 131072, "BIG: takes 131077 bytes")):
            path.write_bytes(text)
            for call in (["work"], ["shell", "work", "--", "true"]):
                assert "SECRET" not in h.bad(*call, says=[str(path), says])
        path.unlink()
        path.symlink_to(h.write("planted", "A=1\n"))
        h.bad("work", says=[str(path), "is a link"])
        assert not h.was_launched()

        path.unlink()
        path.write_bytes(b"".join(b"V%d=%s\n" % (i, b"x" * 100000) for i in range(30)))
        h.bad("work", says=["more than the kernel takes"])


def test_variables_steer_nothing_of_ours():
    """E08: PATH, SHELL and their like in .env change neither which claude is found nor what we do"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.script(h.write("fakebin/claude", ""), f"#!/bin/sh\ntouch {h.path}/planted\n")
        h.write(".claude-profiles/work/.env", f"PATH={h.path}/fakebin\nHOME=/nowhere\nXDG_DATA_HOME={h.path}/fakedata\n"
                                              f"BASH_ENV={h.path}/fakebin/claude\nSHELL={h.path}/fakebin/claude\n")
        h.good("work")
        environ = h.record()["environ"]
        assert environ["PATH"] == f"{h.path}/fakebin" and environ["HOME"] == "/nowhere"
        h.good("shell", "work", "--", "true")
        h.good("shell", "work", env={"SHELL": "/bin/true"})
        assert not (h.path / "planted").exists() and not (h.path / "fakedata").exists()


def test_claude_not_found():
    """no claude, none that can be executed: a message with the remedy, also where a relative PATH would find one"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        empty = {"PATH": "/nowhere:/usr/bin"}
        h.bad("work", env=empty, says=['no "claude" in PATH', "CLAUDE_PROFILE_CLAUDE_BIN"])
        for path in ("", ".", ":", "../bin", f"/nowhere::../bin:.:{h.path}/nowhere"):
            h.bad("work", env={"PATH": path}, cwd=h.bin, says=['no "claude" in PATH'])
        (h.path / "x").mkdir()
        h.write("x/claude", "#!/bin/sh\n", 0o644)
        h.bad("work", env={"PATH": f"{h.path}/x"}, says=["no program that you may execute"])
        h.good("work", env={"PATH": f"{h.path}/x:{h.bin}"})
        h.record()

        setting = "CLAUDE_PROFILE_CLAUDE_BIN"
        h.good("work", "y", env={**empty, setting: str(h.bin / "claude")})
        assert h.record()["argv"][1:] == ["y"]
        h.bad("work", env={setting: "/nowhere/claude"}, says=["no /nowhere/claude", setting])
        h.bad("work", env={setting: str(h.bin)}, says=["no program that you may execute"])
        h.bad("work", env={setting: "bin/claude"}, says=[f"{setting}=bin/claude: expected"])
        h.script(h.write("x/broken", ""), "#!/nowhere/interpreter\n")
        h.bad("work", env={setting: str(h.path / "x/broken")}, says=["interpreter"])
        h.script(h.write("x/nothing", ""), "just text\n")
        h.bad("work", env={setting: str(h.path / "x/nothing")}, says=["neither a program nor a script"])
        assert not h.was_launched()


def test_no_loop():
    """a claude in PATH that is a link to us, or a script that calls us, is passed over, and refused where it is set"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        (h.path / "first").mkdir()
        (h.path / "first/claude").symlink_to(PROGRAM)
        h.script(h.write("second/claude", ""), f'#!/bin/sh\nexec {PROGRAM} work "$@"\n')
        h.script(h.write("third/claude", ""), f'#!/bin/sh\nclaude-profile work "$@"\n')
        wrappers = f"{h.path}/first:{h.path}/second:{h.path}/third"
        h.good("work", "-p", env={"PATH": f"{wrappers}:{h.env['PATH']}"})
        assert h.record()["argv"][1:] == ["-p"]
        env = {**h.env, "PATH": f"{h.path}/second:{h.env['PATH']}"}
        subprocess.run([h.path / "second/claude", "-p"], env=env, cwd=h.work, check=True, timeout=20)
        assert h.record()["argv"][1:] == ["-p"]

        h.bad("work", env={"PATH": f"{wrappers}:/usr/bin:/bin"}, says=["/first/claude", "CLAUDE_PROFILE_CLAUDE_BIN"])
        for name in ("first", "second", "third"):
            h.bad("work", env={"CLAUDE_PROFILE_CLAUDE_BIN": f"{h.path}/{name}/claude"}, says=[f"/{name}/claude"])
        assert not h.was_launched()


def test_home_directory():
    """J13: a launch in the home directory warns, however one got there; elsewhere there is nothing to say"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        (h.work / "home").symlink_to(h.path)
        for cwd in (h.path, h.work / "home"):
            done = h.run("work", cwd=cwd)
            assert done.returncode == 0 and h.was_launched()
            assert "warning" in done.stderr and "~/.claude" in done.stderr and len(done.stderr.splitlines()) == 1
        for cwd in (h.work, "/", h.base / "work"):
            h.good("work", cwd=cwd)
        h.good("shell", "work", "--", "true", cwd=h.path)


def test_status_line():
    """a status line that a sandbox may have written is warned of, on the host and only there"""
    with Home(PROGRAM) as h:
        h.write(".claude/statusline.sh", "#!/bin/sh\n", 0o755)
        h.good("add", "work")
        line = h.base / "work/statusline.sh"
        assert line.is_symlink()
        marker = h.write(".local/share/claude-profile/profiles/work/sandboxed", "")
        h.good("work")
        line.unlink()
        h.good("work")
        for plant in (lambda: line.write_text("#!/bin/sh\n"), lambda: line.symlink_to("/tmp/x"),
                      lambda: line.symlink_to("../../.claude/statusline.sh"), line.mkdir):
            plant()
            done = h.run("work")
            assert done.returncode == 0 and str(line) in done.stderr and "warning" in done.stderr, done
            line.rmdir() if line.is_dir() and not line.is_symlink() else line.unlink()

        # It counts that there was a sandbox, or may be one: not where this launch runs.
        line.write_text("#!/bin/sh\n")
        marker.unlink()
        h.good("work")
        h.good("sandbox", "work", "--on")
        done = h.run("work", env={"CLAUDE_PROFILE_SANDBOX": "0"})
        assert done.returncode == 0 and str(line) in done.stderr


def test_marker_fails_safe():
    """a marker of any kind, and one that cannot be looked for, keeps claude from the host"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        marker = h.base / "work/.sandbox"
        for make in (lambda: marker.symlink_to("/nowhere"), marker.mkdir, marker.touch):
            make()
            done = h.run("work")
            assert done.returncode != 0 and not h.was_launched(), done
            marker.rmdir() if marker.is_dir() else marker.unlink()
        h.bad("work", env={"CLAUDE_PROFILE_SANDBOX": "1", "XDG_RUNTIME_DIR": ""})
        assert not h.was_launched()


def test_shell():
    """shell runs a command, or the user's shell, with what claude would get"""
    with Home(PROGRAM) as h:
        h.good("add", "work")
        h.good("env", "work", "--set", "A=1")
        out = h.good("shell", "work", "--", "sh", "-c", 'echo "$A $CLAUDE_CONFIG_DIR $*"', "-", "x", "--", "-y")
        assert out == f"1 {h.base}/work x -- -y\n"
        assert h.good("shell", "work", "echo", "-n", "x") == "x"
        assert h.run("shell", "work", "--", "sh", "-c", "exit 7").returncode == 7
        assert h.good("shell", "work", data="echo $A\n", env={"SHELL": "/bin/sh"}) == "1\n"
        h.bad("shell", "work", "--", "no-such-\x1bcommand", says=["no-such-\\x1bcommand"])


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.run(TESTS)
