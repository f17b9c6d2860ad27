#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a host's own certificate authorities cost a launch: boot to exit of `true` with six of them and with none. To be run in the rig:

    tests/rig/rig run -- python3 /usr/src/claude-profile/tests/bench/anchors.py [ROUNDS]

A round is one launch of each kind, one after the other, each round beginning with the other kind, so that whatever else the machine
does meets both. Printed are the medians in ms and their ratio."""

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from launch import ENV, timed

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 25
PROFILE = "bench-anchors"
PLACE = Path("/usr/local/share/ca-certificates")
ASIDE = Path(str(PLACE) + ".bench")


def sudo(*argv):
    subprocess.run(["sudo", *map(str, argv)], check=True)


def make_authorities(directory):
    for i in range(6):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj", "/CN=%d" % i,
                        "-keyout", directory / "key", "-out", directory / ("%d.crt" % i)], check=True, stderr=subprocess.DEVNULL)
    return sorted(directory.glob("*.crt"))


def main():
    work = Path(tempfile.mkdtemp(dir=Path.home()))
    profile = Path.home() / ".claude-profiles" / PROFILE
    profile.mkdir(parents=True, exist_ok=True)
    (profile / ".sandbox").touch()
    six = make_authorities(work)
    times = {"six": [], "none": []}
    sudo("mv", PLACE, ASIDE)
    try:
        def launch(kind):
            sudo("rm", "-rf", PLACE)
            sudo("mkdir", PLACE)
            if kind == "six":
                sudo("cp", *six, PLACE)
            return timed(["claude-profile", "shell", PROFILE, "--", "true"], work, ENV)[0]
        for kind in times:
            launch(kind)
        order = list(times)
        for _ in range(ROUNDS):
            order.reverse()
            for kind in order:
                times[kind].append(launch(kind))
    finally:
        sudo("rm", "-rf", PLACE)
        sudo("mv", ASIDE, PLACE)
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(profile, ignore_errors=True)

    medians = {kind: statistics.median(values) for kind, values in times.items()}
    for kind, median in medians.items():
        print("%-5s authorities: median %7.1f ms  min %7.1f" % (kind, median, min(times[kind])))
    print("ratio %.3f" % (medians["six"] / medians["none"]))


if __name__ == "__main__":
    main()
