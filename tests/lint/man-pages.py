#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The man pages format without a warning and leave nothing out: each command, option, key and variable is in them."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])


def warnings(path):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""}
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path], env=env, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    found = done.stderr.splitlines()
    return found if done.returncode == 0 else [*found, f"{path}: man ends with status {done.returncode}"]


def missing_commands():
    page = (ROOT / "docs/claude-profile.1").read_text(encoding="utf-8")
    for source in sorted((ROOT / "src/launch").glob("verb-*.c")):
        text = source.read_text(encoding="utf-8")
        for name in re.findall(r'\.name = "([a-z-]+)"', text):
            if not re.search(rf"^\.It Ic {name}\b", page, re.M):
                yield f"claude-profile.1 does not have the command {name}"
        for name in re.findall(r"^ +\{ (?:0|'.'), \"([a-z-]+)\"", text, re.M):
            if not re.search(rf"^\.It Ic .*[ ,|] ?(?:Fl )?-{name}\b", page, re.M):
                yield f"claude-profile.1 does not have the option --{name} of {source.name}"


def missing_settings():
    page = (ROOT / "docs/claude-profile.conf.5").read_text(encoding="utf-8")
    unused = page[page.index("more keys, which it makes no use of"):]
    rows = re.findall(r'\{ "(CLAUDE_PROFILE_\w+)", "(\w+)"', (ROOT / "src/shared/settings.c").read_text(encoding="utf-8"))
    assert len(rows) > 20, "the table of settings was not found"
    for variable, key in rows:
        if f".It Li {key}= , Ev {variable}\n" not in page and not re.search(rf"[ ,]{key}= [,.]", unused):
            yield f"claude-profile.conf.5 does not have {key}= with {variable}"


def main():
    try:
        subprocess.run(["man", "--version"], stdout=subprocess.DEVNULL, check=True)
    except FileNotFoundError:
        print("man is not installed")
        sys.exit(77)

    problems = [*missing_commands(), *missing_settings()]
    for page in sorted((ROOT / "docs").glob("*.[1-8]")):
        problems += warnings(page)
    print("\n".join(problems) or "man pages: 0 problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
