#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""includes.py TREE: each directory includes only what its side of the trust boundary may.

A directory is a link unit and a privilege level. Headers of the project are named by their path below src/.
"""

import pathlib
import re
import sys

import tree

ALLOWED = {
    "src/basic": {"basic"},
    "src/shared": {"basic", "shared"},
    "src/launch": {"basic", "shared", "launch"},
    "src/bridge": {"basic", "shared", "bridge"},
    "src/supervisor": {"basic", "shared", "supervisor"},
    "src/guards": {"basic", "shared", "guards"},
    "src/guest": {"basic", "guest"},
    "generator": {"basic", "shared", "generator"},
}

# Parts with nothing but a libc below them.
LIBC_ONLY = ("src/basic", "src/guest")
HOST_LIBRARIES = re.compile(r"^(systemd/|json-c/|json\.h|cmocka)")

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>|(\S.*))')


def check(part, line):
    """What is wrong with the line, or None."""
    match = INCLUDE.match(line)
    if not match:
        return None

    own, system, macro = match.groups()
    if macro:
        return f"includes what a macro says: {macro}"
    if system:
        return f"a library of the host: <{system}>" if part in LIBC_ONLY and HOST_LIBRARIES.match(system) else None
    if own == "config.h":
        return None
    if "/" not in own:
        return f'not named by its path below src/: "{own}"'
    directory = own.split("/")[0]
    return None if directory in ALLOWED[part] else f'{part} may not include {directory}: "{own}"'


def main():
    root = pathlib.Path(sys.argv[1])
    problems = []
    for file in tree.files(root):
        part = next((p for p in ALLOWED if str(file).startswith(p + "/")), None)
        if file.suffix not in (".c", ".h"):
            continue
        if not part:
            if file.parts[0] == "src":
                problems.append(f"{file}: {file.parent} is no known part; add it here with what it may include")
            continue

        for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), 1):
            problem = check(part, line)
            if problem:
                problems.append(f"{file}:{number}: {problem}")
    tree.report("includes", problems)


if __name__ == "__main__":
    main()
