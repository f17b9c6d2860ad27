#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the report of host-trusted things costs in a large work tree. To be run in the rig:

    tests/rig/rig run -- python3 /usr/src/claude-profile/tests/bench/report.py [ROUNDS]

A round is one launch in a work tree of 100,000 files in 10,000 directories, 100 of them with a `.envrc`, and one in an empty one.
Printed are medians in ms, their ratio, and what the launcher itself says that the report took, before the guest and after it."""

import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from launch import ENV, PROFILE, ROUNDS, timed

DIRECTORIES, FILES_EACH, NAMED = 10_000, 10, 100


def make_tree(root):
    for i in range(DIRECTORIES):
        path = root / ("a%d/b%d/c%d" % (i // 1000, i // 100 % 10, i % 100))
        path.mkdir(parents=True)
        for k in range(FILES_EACH):
            (path / ("file%d.c" % k)).touch()
        if i % (DIRECTORIES // NAMED) == 0:
            (path / ".envrc").write_text("export A=%d\n" % i)


def main():
    large, small = (Path(tempfile.mkdtemp(dir=Path.home())) for _ in range(2))
    profile = Path.home() / ".claude-profiles" / PROFILE
    profile.mkdir(parents=True, exist_ok=True)
    (profile / ".sandbox").touch()
    make_tree(large)
    for root in (large, small):
        subprocess.run(["git", "init", "-q", str(root)], check=True)

    times, parts = {large: [], small: []}, {large: [], small: []}
    try:
        order = [large, small]
        for number in range(ROUNDS + 1):
            order.reverse()
            for root in order:
                took, errors = timed(["claude-profile", "shell", PROFILE, "--", "true"], root, ENV)
                if number > 0:  # the first warms up
                    times[root].append(took)
                    parts[root].append([int(us) / 1000 for us in re.findall(r"the report took (\d+) us", errors)])
    finally:
        for path in (large, small, profile):
            shutil.rmtree(path, ignore_errors=True)

    for name, root in (("100,000 files", large), ("empty", small)):
        begin, end = (statistics.median(values) for values in zip(*parts[root]))
        launch = statistics.median(times[root])
        print("%-14s launch %7.1f ms; report before %6.1f ms, after %6.1f ms: %.3f of the launch" %
              (name, launch, begin, end, (begin + end) / launch))
    print("ratio of the launches %.3f" % (statistics.median(times[large]) / statistics.median(times[small])))


main()
