#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spdx.py TREE: every source file says its licence in its first three lines."""

import pathlib
import sys

import tree

LINE = b"SPDX-License-Identifier: MIT"

# By ending, by name, and whatever starts with #!.
ENDINGS = {".c", ".h", ".py", ".sh", ".build", ".in", ".service", ".socket", ".slice", ".target", ".conf", ".yml",
           ".catalog", ".scd", ".sh.in", ".spec"}
NAMES = {"meson_options.txt", ".clang-format", ".clang-tidy", ".editorconfig"}


def is_source(path):
    if "corpus" in path.parts:  # inputs of fuzz targets, which may look like anything
        return False
    if path.suffix in ENDINGS or path.name in NAMES or path.name.startswith("Containerfile"):
        return True
    with path.open("rb") as f:
        return f.read(2) == b"#!"


def main():
    root = pathlib.Path(sys.argv[1])
    problems = []
    for file in tree.files(root):
        path = root / file
        if path.is_symlink() or not path.is_file() or not is_source(path):
            continue
        with path.open("rb") as f:
            if not any(LINE in f.readline() for _ in range(3)):
                problems.append(f"{file}: no line '{LINE.decode()}'")
    tree.report("licence lines", problems)


if __name__ == "__main__":
    main()
