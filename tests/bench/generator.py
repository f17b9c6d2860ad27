#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generator.py PROGRAM: how long the user generator takes for 1,000 profiles, beside systemd's own user generator for 1,000
autostart entries, and `true`. The directories are in memory, as the manager's are. Run by turns; median and least of ROUNDS, of the time
that passes and of the processor's."""

import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROFILES = 1000
ROUNDS = 21
PEER = "/usr/lib/systemd/user-generators/systemd-xdg-autostart-generator"
ENTRY = "[Desktop Entry]\nType=Application\nName=%s\nExec=/bin/true %s\n"


def make_home(home):
    for i in range(PROFILES):
        path = home / f".claude-profiles/profile-{i}"
        path.mkdir(parents=True)
        (path / ".sandbox").touch()
    settings = home / ".config/claude-profile/profiles"
    settings.mkdir(parents=True)
    for i in range(0, PROFILES, 10):
        (settings / f"profile-{i}.conf").write_text("[Sandbox]\nMemoryMax=4G\nTasksMax=500\n")
    autostart = home / ".config/autostart"
    autostart.mkdir()
    for i in range(PROFILES):
        (autostart / f"entry{i}.desktop").write_text(ENTRY % (i, i))


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def count_files(*directories):
    return sum(len(files) for directory in directories for _, _, files in os.walk(directory))


def measure(program, home):
    """Milliseconds that passed, milliseconds of the processor, and how many files were made."""
    outputs = [home / name for name in ("normal", "early", "late")]
    for path in outputs:
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    begin, begin_processor = time.monotonic(), processor_time()
    subprocess.run([program, *outputs], env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True, stderr=subprocess.DEVNULL)
    return 1000 * (time.monotonic() - begin), 1000 * (processor_time() - begin_processor), count_files(*outputs)


def main():
    programs = {"claude-sandbox-generator": os.path.abspath(sys.argv[1])}
    if os.access(PEER, os.X_OK):
        programs[pathlib.Path(PEER).name] = PEER
    programs["true"] = "/bin/true"
    with tempfile.TemporaryDirectory(prefix="bench-generator-", dir="/dev/shm") as directory:
        home = pathlib.Path(directory)
        make_home(home)
        results = {name: [] for name in programs}
        files = {}
        for _ in range(ROUNDS):
            for name, program in programs.items():
                *times, files[name] = measure(program, home)
                results[name].append(times)
    for name, rows in results.items():
        passed, processor = zip(*rows)
        print(f"{name:34} {files[name]:4} files; median {statistics.median(passed):6.1f} ms, least {min(passed):6.1f} ms; "
              f"of the processor {statistics.median(processor):6.1f} and {min(processor):6.1f} ms")


main()
