#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""man-pages.py TREE PAGE…: the pages, as built, format without a warning, and their sources leave nothing out.

Each command, option, key, variable, unit, and field of the journal is in them. Exits 77 (skipped) where man or scdoc is not installed, unless
CLAUDE_PROFILE_TEST_NO_SKIP=1.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import tree


def skip(reason):
    print(reason)
    sys.exit(1 if os.environ.get("CLAUDE_PROFILE_TEST_NO_SKIP") == "1" else 77)


def warnings(page):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""}
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], env=env, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    found = done.stderr.splitlines()
    return found if done.returncode == 0 else [*found, f"{page}: man ends with status {done.returncode}"]


def missing_commands(root):
    page = (root / "docs/claude-profile.1.scd").read_text(encoding="utf-8")
    for source in sorted((root / "src/launch").glob("verb-*.c")):
        text = source.read_text(encoding="utf-8")
        for name in re.findall(r'\.name = "([a-z-]+)"', text):
            if not re.search(rf"^\*{name}\*( |$)", page, re.M):
                yield f"claude-profile.1 does not have the command {name}"
        for name in re.findall(r"^ +\{ (?:0|'.'), \"([a-z-]+)\"", text, re.M):
            if not re.search(rf"^\*[a-z-]+\* .*\*--{name}\*", page, re.M):
                yield f"claude-profile.1 does not have the option --{name} of {source.name}"


def missing_settings(root):
    page = (root / "docs/claude-profile.conf.5.scd").read_text(encoding="utf-8")
    unused = page.partition("more keys, which it makes no use of")[2]
    rows = re.findall(r'\{ "(CLAUDE_PROFILE_\w+)", "(\w+)"', (root / "src/shared/settings.c").read_text(encoding="utf-8"))
    assert len(rows) > 20, "the table of settings was not found"
    for variable, key in rows:
        if f"\n*{key}=*, *{variable}*\n" not in page and f"*{key}=*" not in unused:
            yield f"claude-profile.conf.5 does not have {key}= with {variable}"


def missing_journal(root):
    page = (root / "docs/claude-sandbox.7.scd").read_text(encoding="utf-8")
    wanted = {
        "the message": re.findall(r'"([0-9a-f]{32})"', (root / "src/shared/journal.h").read_text(encoding="utf-8")),
        "the reason": re.findall(r'\{ "([a-z-]+)", "', (root / "src/bridge/outcome.c").read_text(encoding="utf-8")),
        "the unit": [unit.name.partition(".")[0] for unit in (root / "units").glob("claude-*.in")],
        "the field": {name + "=" for source in (root / "src").glob("*/*.c")
                      for name in re.findall(r'\{ \.name = "([A-Z_]+)", \.value', source.read_text(encoding="utf-8"))},
    }
    for what, names in wanted.items():
        assert names, f"{what}s were not found"
        for name in names:
            if name not in page:
                yield f"claude-sandbox.7 does not have {what} {name}"


def main():
    root, pages = pathlib.Path(sys.argv[1]), sys.argv[2:]
    if not pages:
        skip("scdoc is not installed")
    if not shutil.which("man"):
        skip("man is not installed")

    problems = [*missing_commands(root), *missing_settings(root), *missing_journal(root)]
    for page in pages:
        problems += warnings(page)
    tree.report("man pages", problems)


if __name__ == "__main__":
    main()
