#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""catalog.py TREE: the journal's catalog explains exactly the messages that the programs send, and names only fields that they have.

An entry is a line "-- ID", a header of fields, a blank line and a text, as in systemd's own catalogs; journalctl -x fills in @FIELD@.
"""

import pathlib
import re
import sys

import tree

HEADER = ["Subject", "Defined-By", "Support", "Documentation"]
WIDTH = 80  # of the text; a line that starts with blanks may be a command to copy


def entries(text):
    """(id, header lines, text) for each entry."""
    for part in re.split(r"^-- ", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n\n")
        identifier, *header = head.split("\n")
        yield identifier, header, body.strip("\n")


def check_entry(identifier, header, body, fields):
    """What is wrong with one entry."""
    if not re.fullmatch("[0-9a-f]{32}", identifier):
        yield "no identifier"
    names = [line.partition(": ")[0] for line in header]
    if names != HEADER:
        yield f"has {names}, not {HEADER}"
    if not all(line.partition(": ")[2].strip() for line in header):
        yield "a field of its header is empty"
    if not body:
        yield "has no text"
    for line in body.split("\n"):
        if len(line) > WIDTH and not line.startswith(" "):
            yield f"a line is too wide: {line}"
    named = re.findall(r"@(\w+)@", "\n".join(header) + body) + re.findall(r"\b([A-Z_]{4,})=", body)
    for field in sorted(set(named) - fields):
        yield f"names a field that nobody sends: {field}"


def check(root):
    """Every problem there is, one after the other."""
    header = (root / "src/shared/journal.h").read_text(encoding="utf-8")
    catalog = (root / "units/claude-profile.catalog").read_text(encoding="utf-8")
    sources = "\n".join((root / f).read_text(encoding="utf-8") for f in tree.files(root)
                        if f.suffix == ".c" and f.parts[0] == "src")
    messages = dict(re.findall(r'^#define (MESSAGE_\w+) "(.*)"', header, re.M))
    fields = set(re.findall(r'"([A-Z][A-Z_]+)"', sources))
    reasons = re.findall(r'^ +\[OUTCOME_\w+\] = \{ "([a-z-]+)"', sources, re.M)
    found = list(entries(catalog))
    explained = [identifier for identifier, _, _ in found]
    assert messages and fields and reasons and found, "what is to be compared was not found"

    for name, identifier in messages.items():
        if explained.count(identifier) != 1:
            yield f"{name}, {identifier}: {explained.count(identifier)} entries in the catalog"
        if not re.search(rf"\b{name}\b", sources):
            yield f"{name} is sent by nobody"
    for identifier in set(explained) - set(messages.values()):
        yield f"{identifier}: not in journal.h"
    for identifier in re.findall(r'"([0-9a-f]{32})"', sources):
        yield f"{identifier}: belongs in journal.h, with a name"
    for identifier, head, body in found:
        yield from (f"{identifier}: {problem}" for problem in check_entry(identifier, head, body, fields))
    for reason in reasons:
        if not re.search(rf"(?<![a-z-]){reason}(?![a-z-])", catalog):
            yield f"BRIDGE_REASON={reason} is not explained"


if __name__ == "__main__":
    tree.report("catalog", list(check(pathlib.Path(sys.argv[1]))))
