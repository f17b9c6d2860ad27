# SPDX-License-Identifier: MIT
"""The files of the source tree, build directories left out, and how a check reports."""

import os
import pathlib
import sys


def files(root):
    """Every file below `root`, as a path relative to it, sorted."""
    found = []
    for directory, names, plain in os.walk(root):
        names[:] = [n for n in names if n not in (".git", "__pycache__", "node_modules") and
                    not os.path.exists(os.path.join(directory, n, "meson-private"))]
        found += [pathlib.Path(directory, n).relative_to(root) for n in plain]
    return sorted(found)


def report(what, problems):
    """Prints the problems and exits: 1 if there are any."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problems")
    sys.exit(1 if problems else 0)
