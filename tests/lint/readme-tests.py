#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""readme-tests.py TREE: each row of the README's tables of what a sandbox gets names a test, and each test that README and threat
model name exists: a file below tests/, and in it a title with the quoted words."""

import pathlib
import re
import sys

import tree

# `test_ssh.py` "ssh-add -l lists": a file by its name, and a part of a test's title in it.
NAMED = re.compile(r'`((?:[\w/-]+/)?test[-_][\w-]+\.(?:py|c))`(?: "([^"]+)")?')
# The title of a test, or what one is called in C.
TITLE = re.compile(r'^@test\("((?:[^"\\]|\\.)*)"|^static void (test_\w+)\(', re.M)


def rows(text):
    """(number, cells, whether the table has a column of tests) of each row of each table."""
    has_tests = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            has_tests = False
            continue
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if cells[-1] == "test":
            has_tests = True
        elif set(line) != set("|- "):
            yield number, cells, has_tests


def missing(files, root, name, title):
    """What is wrong with a test that is named, or None."""
    found = [file for file in files if file.parts[0] == "tests" and ("/" + str(file)).endswith("/" + name)]
    if len(found) != 1:
        return f"{len(found)} files below tests/ are {name}"
    titles = ["".join(m) for m in TITLE.findall((root / found[0]).read_text(encoding="utf-8"))]
    if title and not any(title in t for t in titles):
        return f"{name} has no test {title!r}"
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    files = tree.files(root)
    problems, tables = [], 0
    for document in ("README.md", "docs/threat-model.md"):
        if not (root / document).exists():
            continue
        text = (root / document).read_text(encoding="utf-8")
        for number, cells, has_tests in rows(text):
            named = NAMED.findall(cells[-1]) if has_tests else []
            tables += has_tests
            if has_tests and not named and "unit `" not in cells[-1]:
                problems.append(f"{document}:{number}: names no test")
        problems += [f"{document}: {problem}" for name, title in NAMED.findall(text)
                     if (problem := missing(files, root, name, title))]
    if not tables:
        problems.append("no table with a column of tests was found")
    tree.report("tests that README and threat model name", problems)


if __name__ == "__main__":
    main()
