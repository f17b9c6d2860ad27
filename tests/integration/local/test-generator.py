#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The user generator on everything that can lie in a home directory. What the manager makes of its units: test_units.py, in the rig."""

import ctypes
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import tap

PROGRAM = os.path.abspath(sys.argv[1])
PATIENCE = 60  # seconds: a bound for what takes a moment
NOBODY = 65534
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # the manager's directories are in memory, too
OUTPUTS = ("normal", "early", "late")
PREFIX = "claude-sandbox-generator: "


class Home:
    """A home directory and three output directories. Root's rights would hide what cannot be read, so as nobody where we are root."""

    def __init__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="claude-profile-generator-", dir=MEMORY)
        self.path = pathlib.Path(os.path.realpath(self._directory.name))
        self.base = self.path / "home/.claude-profiles"
        self.config = self.path / "home/.config/claude-profile"
        self.base.mkdir(parents=True)
        (self.config / "profiles").mkdir(parents=True)
        self.outputs = [self.path / name for name in OUTPUTS]
        for path in self.outputs:
            path.mkdir()
        self.env = {"HOME": str(self.path / "home")}
        self.user = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        subprocess.run(["chmod", "-R", "u+rwX", self.path], check=False)
        self._directory.cleanup()

    def profile(self, name, marker=True):
        path = self.base / name
        path.mkdir()
        if marker:
            (path / ".sandbox").touch()
        return path

    def settings(self, text, name=None):
        path = self.config / f"profiles/{name}.conf" if name else self.config / "claude-profile.conf"
        path.write_bytes(text if isinstance(text, bytes) else ("[Sandbox]\n" + text).encode())
        return path

    def give_away(self):
        if os.geteuid() == 0:
            self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", self.path], check=True)

    def start(self, env=None):
        return subprocess.Popen([PROGRAM, *map(str, self.outputs)], env=self.env if env is None else env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", **self.user)

    def run(self, env=None, status=0):
        """Runs it. What it said, line by line without its name; nothing that could drive a terminal or make another line."""
        self.give_away()
        process = self.start(env)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == status and out == "", (process.returncode, out, err)
        lines = err.splitlines()
        for line in lines:
            assert line.startswith(PREFIX) and line.isprintable(), line
        return [line[len(PREFIX):].removeprefix("warning: ") for line in lines]

    def units(self):
        """Path below the output directory → text; the early and the late one stay empty, and nothing unfinished is left."""
        assert not os.listdir(self.outputs[1]) and not os.listdir(self.outputs[2])
        files = [p for p in self.outputs[0].rglob("*") if not p.is_dir()]
        assert all(p.is_file() and not p.is_symlink() and not p.name.startswith(".") for p in files), files
        return {str(p.relative_to(self.outputs[0])): p.read_text(encoding="utf-8") for p in files}


def names_of(*profiles):
    """The files for these profiles."""
    return {f"claude-sandbox-{name}.slice".replace(name, name.replace("-", "\\x2d")) for name in profiles} | {
        f"claude-sandbox@{name}.service.d/10-claude-profile.conf" for name in profiles}


def test_sandboxed_and_host():
    """a sandboxed profile gets its slice and the drop-in for its supervisor; one on the host gets nothing"""
    with Home() as h:
        h.profile("work")
        h.profile("host", marker=False)
        (h.profile("dangling", marker=False) / ".sandbox").symlink_to("nowhere")
        (h.profile("loop", marker=False) / ".sandbox").symlink_to(".sandbox")
        (h.profile("directory", marker=False) / ".sandbox").mkdir()
        os.mkfifo(h.profile("fifo", marker=False) / ".sandbox")
        assert h.run() == []
        units = h.units()
        assert set(units) == names_of("work", "dangling", "loop", "directory", "fifo"), units
        assert "\nDescription=Claude sandboxes of profile work\n" in units["claude-sandbox-work.slice"]
        assert f"profile work ({h.base}/work)\n" in units["claude-sandbox@work.service.d/10-claude-profile.conf"]
        assert "SourcePath" not in units["claude-sandbox-work.slice"]


def test_what_decides():
    """Sandbox= and CLAUDE_PROFILE_SANDBOX decide before the marker, as for a launch"""
    with Home() as h:
        h.profile("marked")
        h.profile("plain", marker=False)
        h.profile("off")
        h.profile("on", marker=False)
        h.settings("Sandbox=no\n", "off")
        h.settings("Sandbox=yes\n", "on")
        for env, main, expected in (({}, "", {"marked", "on"}), ({}, "Sandbox=yes\n", {"marked", "plain", "on"}),
                                    ({}, "Sandbox=no\n", {"on"}), ({"CLAUDE_PROFILE_SANDBOX": "0"}, "Sandbox=yes\n", set()),
                                    ({"CLAUDE_PROFILE_SANDBOX": "1"}, "", {"marked", "plain", "off", "on"})):
            h.settings(main)
            for path in h.outputs[0].iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            assert h.run({**h.env, **env}) == []
            assert set(h.units()) == names_of(*expected), (env, main)


def test_limits():
    """limits of the profile's own file are its slice's; those of claude-profile.conf and of the environment are a launch's"""
    with Home() as h:
        h.profile("work")
        h.profile("other")
        h.settings("MemoryMax=9G\nTasksMax=9\n")
        path = h.settings("MemoryMax=1.5G\nMemoryHigh=25%\nCPUQuota=12.5%\nCPUWeight=idle\nTasksMax=infinity\nRAM=2G\n", "work")
        assert h.run({**h.env, "CLAUDE_PROFILE_SANDBOX_MEMORY_MAX": "3G"}) == []
        units = h.units()
        text = units["claude-sandbox-work.slice"]
        assert text.split("[Slice]\n")[1] == "CPUQuota=12.50%\nCPUWeight=idle\nMemoryHigh=25%\nMemoryMax=1536M\nTasksMax=infinity\n", text
        assert f"SourcePath={path}\n" in text
        assert units["claude-sandbox-other.slice"].endswith("\n[Slice]\n")


def test_names_y01():
    """Y01: each accepted name has units of its own; what cannot be a name is named once, and the others get theirs"""
    good = ["my-team", "my_team", "a.b", "Work", "work", "a-b", "my-", "a..b", "9", "x" * 100]
    bad = ["a b", "x@y", "é", "-lead", "a:b", "x.service", "x.slice", "y" * 101, "a\nb", "a\x1b[31m", "%i", "$HOME", "a\\x2db", os.fsdecode(b"\xff")]
    with Home() as h:
        for name in good + bad:
            h.profile(name)
        said = h.run()
        assert set(h.units()) == names_of(*good)
        assert len(said) == len(bad) and all("not the name of a profile" in line for line in said), said
        assert any("a\\x0ab" in line for line in said) and any("\\xff" in line for line in said), said


def test_directories_with_percent_and_dollar():
    """Y01: "%", "$" and a line's end in names of directories make no specifier and no line of a unit"""
    with Home() as h:
        odd = h.path / "home/50% of $HOME/%h\nExecStart=x"
        odd.mkdir(parents=True)
        config = h.path / "home/%t $x"
        (config / "claude-profile/profiles").mkdir(parents=True)
        (odd / "work").mkdir()
        (odd / "work/.sandbox").touch()
        (config / "claude-profile/profiles/work.conf").write_text("[Sandbox]\nTasksMax=7\n")
        assert h.run({**h.env, "CLAUDE_PROFILE_PROFILES_BASE": str(odd), "XDG_CONFIG_HOME": str(config)}) == []
        units = h.units()
        drop_in = units["claude-sandbox@work.service.d/10-claude-profile.conf"]
        assert "/50%% of $HOME/%%h\\x0aExecStart=x/work)\n" in drop_in and "\nExecStart" not in drop_in, drop_in
        assert f"SourcePath={h.path}/home/%%t $x/claude-profile/profiles/work.conf\n" in units["claude-sandbox-work.slice"]


def test_environment_y05():
    """Y05: an almost empty environment, and none at all, is no error"""
    with Home() as h:
        h.profile("work")
        for env in ({}, {"HOME": ""}, {"HOME": "relative"}, {"XDG_CONFIG_HOME": "/nonexistent"}):
            said = h.run(env)
            assert len(said) == 1 and "HOME is not set" in said[0], said
            assert h.units() == {}
        assert h.run({"HOME": "/nonexistent"}) == [] and h.units() == {}
        said = h.run({**h.env, "CLAUDE_PROFILE_PROFILES_BASE": "no path", "CLAUDE_PROFILE_SANDBOX": "perhaps", "CLAUDE_PROFILE_SANDBOX_RAM_MIB": "x"})
        assert len(said) == 2 and set(h.units()) == names_of("work"), said


def test_profiles_y05():
    """Y05: pipes, link loops, what cannot be read, broken settings of claude's: one line each, and the good ones get their units"""
    with Home() as h:
        h.profile("good")
        (h.profile("broken") / "settings.json").write_text("{")
        os.mkfifo(h.base / "pipe")
        (h.base / "loop").symlink_to("loop")
        (h.base / "link").symlink_to("good")
        (h.base / "file").touch()
        (h.base / ".hidden").mkdir()
        with socket.socket(socket.AF_UNIX) as s:
            os.chdir(h.base)
            s.bind("socket")
            os.chdir("/")
        h.profile("closed").chmod(0)
        said = h.run()
        assert set(h.units()) == names_of("good", "broken")
        assert len(said) == 2, said
        assert any(re.search("/link: a link, which is no profile", line) for line in said), said
        assert any(re.search("/closed: cannot tell whether it is sandboxed: Permission denied", line) for line in said), said


def test_base_y05():
    """Y05: a directory of profiles that is a pipe, a loop, a file, or cannot be read: one line, status 0"""
    with Home() as h:
        shutil.rmtree(h.base)
        for make in (lambda: os.mkfifo(h.base), lambda: h.base.symlink_to(h.base.name), h.base.touch, lambda: h.base.mkdir(mode=0o300)):
            make()
            said = h.run()
            assert len(said) == 1 and f"{h.base}: cannot be read" in said[0], said
            h.base.rmdir() if h.base.is_dir() and not h.base.is_symlink() else h.base.unlink()
        assert h.run() == [] and h.units() == {}


def test_settings_files_y05():
    """Y05: configuration that is a pipe, a loop, too big or nonsense: one line for each fault, and what is right counts"""
    with Home() as h:
        h.profile("work")
        h.profile("good")
        h.settings("TasksMax=5\n", "good")
        path = h.config / "profiles/work.conf"

        def write(data):
            path.write_bytes(data)

        for make, says in ((lambda: os.mkfifo(path), "not a regular file"), (path.mkdir, "not a regular file"),
                           (lambda: path.symlink_to("nowhere"), "a link to nothing"),
                           (lambda: path.symlink_to("/dev/zero"), "not a regular file"),
                           (lambda: path.symlink_to(path.name), "Too many levels of symbolic links"),
                           (lambda: write(b"#" * (1 << 20) + b"#"), "more than 1 MiB"), (lambda: write(b"\xff\xfe"), "not UTF-8 text"),
                           (lambda: write(b"[Sandbox]\nMemoryMax=1G\nTasksMax=0\n"), "TasksMax=0: expected"),
                           (lambda: write(b"[Sandbox]\nTasksMax=1\x1b[31m\nMemoryMax=1G\n"), "TasksMax=1\\x1b[31m: expected")):
            make()
            said = h.run()
            assert len(said) == 1 and says in said[0] and "work.conf" in said[0], (says, said)
            units = h.units()
            assert set(units) == names_of("work", "good") and units["claude-sandbox-good.slice"].endswith("TasksMax=5\n")
            if "expected" in says:
                assert units["claude-sandbox-work.slice"].endswith("[Slice]\nMemoryMax=1G\n")
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

        # A file of nothing but faults, and one for every profile: nobody's journal is filled.
        write(b"x\n" * 100000)
        said = h.run()
        assert len(said) == 21 and "and more of that kind" in said[-1], said
        path.unlink()
        for i in range(150):
            h.profile(f"p{i}")
            h.settings("TasksMax=0\n", f"p{i}")
        said = h.run()
        assert len(said) == 101 and said[-1].startswith("There is more of that kind"), said

        # claude-profile.conf, once and not for each profile.
        for i in range(150):
            (h.config / f"profiles/p{i}.conf").unlink()
        h.settings("RAM=lots\nProfilesBase=relative\n")
        said = h.run()
        assert len(said) == 2 and len(h.units()) == 2 * 152, said


def test_settings_directory_y05():
    """Y05: the directory of the profiles' files is a loop, a file, closed or missing: said, and the profiles get their units"""
    with Home() as h:
        h.profile("work")
        h.profile("other")
        path = h.config / "profiles"
        path.rmdir()
        for make, says, times in ((lambda: path.symlink_to(path.name), "/profiles: cannot be opened: Too many levels", 1),
                                  (path.touch, "/profiles: cannot be opened: Not a directory", 1),
                                  (lambda: path.mkdir(mode=0), ".conf: cannot be read: Permission denied", 2), (lambda: None, "", 0)):
            make()
            said = h.run()
            assert len(said) == times and all(says in line for line in said), said
            assert set(h.units()) == names_of("work", "other")
            if times > 0:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_thousand_profiles_y05():
    """Y05: a thousand profiles"""
    with Home() as h:
        names = [f"profile-{i}" for i in range(1000)]
        for name in names:
            h.profile(name)
        assert h.run() == []
        assert set(h.units()) == names_of(*names)


def test_output_y05():
    """Y05: an output directory that cannot be written, or is none: one line, status 1, nothing half written"""
    with Home() as h:
        h.profile("work")
        h.outputs[0].chmod(0o500)
        said = h.run(status=1)
        assert len(said) == 1 and "Cannot write the units of profile work: Permission denied" in said[0], said
        assert h.units() == {}
        h.outputs[0].rmdir()
        said = h.run(status=1)
        assert len(said) == 1 and "Cannot open" in said[0], said
        done = subprocess.run([PROGRAM], env=h.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 1 and "Usage" in done.stderr

        # What another run has left there, a link among it, is replaced and not followed.
        h.outputs[0].mkdir()
        (h.path / "target").write_text("untouched")
        (h.outputs[0] / "claude-sandbox-work.slice").symlink_to(h.path / "target")
        assert h.run() == []
        assert set(h.units()) == names_of("work") and (h.path / "target").read_text() == "untouched"


def test_twice_at_once_y05():
    """Y05: several at once in the same directories: each file is whole, and none is left unfinished"""
    with Home() as h:
        names = [f"profile-{i}" for i in range(200)]
        for name in names:
            h.profile(name)
        h.give_away()
        processes = [h.start() for _ in range(6)]
        for process in processes:
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0 and out == "" and err == "", err
        units = h.units()
        assert set(units) == names_of(*names)
        assert all(text.endswith("[Slice]\n" if name.endswith(".slice") else ")\n") for name, text in units.items())


def mount_silent(path):
    """A file system in user space at `path` that says hello and then answers nothing: a stand-in for a server that is gone."""
    fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"silent", os.fsencode(path), b"fuse", 0, options) != 0:
        raise tap.Skip("cannot mount a file system: " + os.strerror(ctypes.get_errno()))
    request = os.read(fd, 1 << 17)
    unique = struct.unpack_from("IIQ", request)[2]
    os.write(fd, struct.pack("=IiQIIIIHHIII8I", 80, 0, unique, 7, 31, 0, 0, 0, 0, 4096, 0, 0, *([0] * 8)))
    return fd


def test_file_system_that_hangs():
    """a file system that does not answer holds nothing up: what came before it has its units, a line says so"""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        raise tap.Skip("needs root and /dev/fuse")
    with Home() as h:
        h.profile("before")
        h.profile("hung", marker=False)
        h.give_away()
        fd = mount_silent(h.base / "hung")
        h.give_away = lambda: None
        try:
            said = h.run()
        finally:
            os.close(fd)  # ends whoever waits for it
            subprocess.run(["umount", "--lazy", h.base / "hung"], check=True)
        assert len(said) == 1 and "does not answer" in said[0], said
        assert set(h.units()) == names_of("before")


tap.run([f for name, f in list(globals().items()) if name.startswith("test_")])
