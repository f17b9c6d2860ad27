#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""c-sizes.py TREE: no function over 100 lines, no .c file over 500. A function over 60 is noted.

Relies on the house style: a function's first line and its closing brace start in the first column, and nothing
else in a body does. Tables are not functions.
"""

import pathlib
import sys

import tree

FILE_MAX = 500
FUNCTION_MAX = 100
FUNCTION_NOTED = 60


def functions(lines):
    """(name, number of its first line, number of lines) for each function."""
    start, head = None, ""
    for number, line in enumerate(lines, 1):
        if start is None:
            # What starts here may go on for lines (a long prototype) before its brace comes.
            if line[:1].isalpha() or line[:1] == "_":
                head, first = line, number
            elif line[:1] in (" ", "\t") and head:
                head += line
            else:
                head = ""
            if head.rstrip().endswith("{"):
                if "(" in head and "= {" not in head and not head.startswith(("enum", "struct", "typedef", "union")):
                    start = first
                    name = head.split("(")[0].split()[-1].lstrip("*")
                head = ""
            elif head.rstrip().endswith(";"):
                head = ""
        elif line.startswith("}"):
            yield name, start, number - start + 1
            start, head = None, ""


def main():
    root = pathlib.Path(sys.argv[1])
    problems = []
    for file in tree.files(root):
        if file.suffix != ".c":
            continue

        lines = (root / file).read_text(encoding="utf-8").splitlines()
        if len(lines) > FILE_MAX:
            problems.append(f"{file}: {len(lines)} lines, the limit is {FILE_MAX}")
        for name, start, length in functions(lines):
            if length > FUNCTION_MAX:
                problems.append(f"{file}:{start}: {name}() has {length} lines, the limit is {FUNCTION_MAX}")
            elif length > FUNCTION_NOTED:
                print(f"note: {file}:{start}: {name}() has {length} lines, more than {FUNCTION_NOTED}")
    tree.report("sizes", problems)


if __name__ == "__main__":
    main()
