#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checks of the source text find what they are for."""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TABLE = "| what | test |\n| --- | --- |\n| a | %s |\n"
SPDX = "/* SPDX-License-Identifier: MIT */\n"


def function(lines):
    """A function of that many lines, after a table and a prototype that must not be taken for one."""
    return ("static const struct {\n        int x;\n} table[] = {\n" + "        { 1 },\n" * 200 + "};\n\n"
            "int f(int a,\n                int b);\n\n"
            "int f(int a,\n                int b) {\n" + "        a++;\n" * (lines - 3) + "}\n")


CASES = (
    # check, file, text, what it must say (None: nothing)
    ("c-sizes", "src/basic/a.c", function(100), None),
    ("c-sizes", "src/basic/a.c", function(101), "f() has 101 lines"),
    ("c-sizes", "src/basic/a.c", "int x;\n" * 501, "501 lines"),
    ("c-sizes", "build/meson-private/a.c", "int x;\n" * 501, None),
    ("includes", "src/guest/a.c", '#include "basic/a.h"\n#include <stdio.h>\n#include "config.h"\n', None),
    ("includes", "src/guest/a.c", '#include "shared/a.h"\n', "may not include shared"),
    ("includes", "src/guest/a.c", '  # include <json-c/json.h>\n', "library of the host"),
    ("includes", "src/basic/a.h", "#include <systemd/sd-bus.h>\n", "library of the host"),
    ("includes", "src/shared/a.c", "#include <systemd/sd-bus.h>\n", None),
    ("includes", "src/launch/a.c", '#include "bridge/a.h"\n', "may not include bridge"),
    ("includes", "src/supervisor/a.c", '#include "launch/a.h"\n', "may not include launch"),
    ("includes", "src/launch/a.c", '#include "a.h"\n', "not named by its path"),
    ("includes", "src/launch/a.c", "#include A\n", "what a macro says"),
    ("includes", "src/other/a.c", "", "no known part"),
    ("readme-tests", "README.md", TABLE % "`test_a.py` \"b\"", "0 files below tests/ are test_a.py"),
    ("readme-tests", "README.md", TABLE % "b", "README.md:3: names no test"),
    ("readme-tests", "README.md", TABLE.replace("test", "mode") % "b", "no table with a column of tests"),
    ("spdx", "src/basic/a.c", SPDX, None),
    ("spdx", "src/basic/a.c", "\n\n\n" + SPDX, "a.c: no line"),
    ("spdx", "tool", "#!/bin/sh\n# SPDX-License-Identifier: MIT\n", None),
    ("spdx", "tool", "#!/bin/sh\n", "tool: no line"),
    ("spdx", "docs/a.7.scd", "a(7)\n\n# NAME\n", "a.7.scd: no line"),
    ("spdx", "tests/fuzz/corpus/a/tool", "#!/bin/sh\n", None),
    ("spdx", "README.md", "text\n", None),
)


def main():
    print(f"1..{len(CASES)}")
    failed = False
    for number, (check, file, text, expected) in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            run = subprocess.run([sys.executable, HERE / f"{check}.py", directory],
                                 capture_output=True, text=True, check=False)
        good = run.returncode == 0 if expected is None else run.returncode == 1 and expected in run.stdout
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {check}: {expected or 'nothing'}")
        if not good:
            print(f"# {run.returncode}: {run.stdout}{run.stderr}".replace("\n", "\n# "))
    sys.exit(failed)


if __name__ == "__main__":
    main()
