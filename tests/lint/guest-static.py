#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guest-static.py PROGRAM: needs no loader and no library, and has a build id.

It must run in any image, and the copy that is mounted is named by its build id.
"""

import pathlib
import struct
import sys

import tree

PT_DYNAMIC, PT_INTERP, PT_NOTE = 2, 3, 4
DT_NEEDED = 1
NT_GNU_BUILD_ID = 3


def segments(data):
    """(type, contents) of each program header; 64-bit little-endian only, as everything this runs on."""
    assert data[:6] == b"\x7fELF\x02\x01", "not a 64-bit little-endian ELF file"
    offset, = struct.unpack_from("<Q", data, 32)
    size, number = struct.unpack_from("<HH", data, 54)
    for i in range(number):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        yield kind, data[at:at + length]


def notes(contents):
    """(name, type) of each note."""
    while len(contents) >= 12:
        name, description, kind = struct.unpack_from("<III", contents)
        yield contents[12:12 + name], kind
        contents = contents[12 + (name + 3) // 4 * 4 + (description + 3) // 4 * 4:]


def main():
    problems = []
    has_id = False
    for kind, contents in segments(pathlib.Path(sys.argv[1]).read_bytes()):
        if kind == PT_INTERP:
            problems.append("it needs a loader: " + contents.decode())
        elif kind == PT_DYNAMIC and any(tag == DT_NEEDED for tag, _ in struct.iter_unpack("<QQ", contents)):
            problems.append("it needs a library")
        elif kind == PT_NOTE:
            has_id |= (b"GNU\0", NT_GNU_BUILD_ID) in notes(contents)
    if not has_id:
        problems.append("it has no build id")
    tree.report(sys.argv[1], problems)


if __name__ == "__main__":
    main()
