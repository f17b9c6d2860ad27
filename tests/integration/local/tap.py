# SPDX-License-Identifier: MIT
"""Test functions in, Test Anything Protocol out."""

import os
import sys
import traceback


class Skip(Exception):
    """Raised by a test that cannot run here; its text says why."""


def run(tests, *args):
    """Runs each function with `args` and exits. With names on the command line, only those."""
    chosen = [t for t in tests if not sys.argv[2:] or t.__name__ in sys.argv[2:]]
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, test in enumerate(chosen, 1):
        name = (test.__doc__ or test.__name__).strip().splitlines()[0]
        try:
            test(*args)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            if os.environ.get("CLAUDE_PROFILE_TEST_NO_SKIP") == "1":
                failed += 1
                print(f"not ok {number} - {name}: {reason}", flush=True)
                continue
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            # On standard error, because of a program that speaks TAP meson shows nothing else.
            traceback.print_exc()
    sys.exit(1 if failed else 0)


def need_root():
    """Leaves with the status that meson takes for a skipped test, unless skipping is forbidden."""
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        sys.exit(1 if os.environ.get("CLAUDE_PROFILE_TEST_NO_SKIP") == "1" else 77)
