#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a sandboxed launch costs, beside podman alone, in one run. To be run in the rig:

    tests/rig/rig run -- python3 /usr/src/claude-profile/tests/bench/launch.py [ROUNDS]

A round is one `claude-profile shell <profile> -- true` without a bridge, one with a bridge, and one bare `podman run` of the same
image with the same isolation flags, one after the other, each round beginning with another, so that whatever else the machine
does meets all three. Each begins when what the one before left running in the background (podman's clearing away, a supervisor
on its way out) has ended. Printed are medians in ms and their ratio, and the launcher's own time up to the start of podman, from
its debug output."""

import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 25
PROFILE = "bench-launch"
IMAGE = "claude-profile-sandbox:latest"
SETTLE_SECONDS = 30
ENV = dict(os.environ, CLAUDE_PROFILE_SANDBOX_ISOLATION="container", CLAUDE_PROFILE_DEBUG="1")
BARE = ["podman", "run", "--rm", "-i", "--cgroups=split", "--userns=keep-id:uid=1000,gid=1000", "--user=0:0", "--pull=never",
        "--http-proxy=false", "--log-driver=none", "--detach-keys=", "--tz=local", "--pids-limit=0", "--network=pasta",
        "--entrypoint=/bin/true"]


def background():
    """A process of an earlier run that is still there, as (pid, name), or None."""
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = comm.read_text().strip()
        except OSError:
            continue
        if name != "podman pause" and name.startswith(("podman", "conmon", "pasta", "claude-sandbox-")):
            return int(comm.parent.name), name
    return None


def settle():
    """Waits for the end of each of them."""
    while found := background():
        try:
            fd = os.pidfd_open(found[0])
        except ProcessLookupError:
            continue
        ended = select.select([fd], [], [], SETTLE_SECONDS)[0]
        os.close(fd)
        if not ended:
            sys.exit("process %d (%s) does not end: is something else running here?" % found)


def timed(argv, cwd, env):
    settle()
    begin = time.monotonic()
    p = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    took = (time.monotonic() - begin) * 1000
    if p.returncode != 0:
        sys.exit("%r: status %d\n%s" % (argv, p.returncode, p.stderr))
    return took, p.stderr


def main():
    work = Path(tempfile.mkdtemp(dir=Path.home()))
    profile = Path.home() / ".claude-profiles" / PROFILE
    profile.mkdir(parents=True, exist_ok=True)
    (profile / ".sandbox").touch()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(work / "agent")], stdout=subprocess.DEVNULL)
    bridged = dict(ENV, CLAUDE_PROFILE_SANDBOX_SSH_AGENT="1", SSH_AUTH_SOCK=str(work / "agent"))
    launch = ["claude-profile", "shell", PROFILE, "--", "true"]
    # The peer in a delegated scope of its own, as --cgroups=split needs; the scope is made once, before its rounds.
    bare = BARE + ["--volume=%s:%s" % (work, work), "--workdir=%s" % work, IMAGE]

    times = {"claude-profile": [], "with a bridge": [], "podman alone": []}
    own, whole = [], []
    try:
        timed(launch, work, ENV)
        timed(bare, work, ENV)
        order = [("podman alone", bare, ENV), ("claude-profile", launch, ENV), ("with a bridge", launch, bridged)]
        for _ in range(ROUNDS):
            order.append(order.pop(0))
            for name, argv, env in order:
                took, errors = timed(argv, work, env)
                times[name].append(took)
                if name == "with a bridge":
                    m = re.search(r"started after (\d+) us, (\d+) us of them", errors)
                    whole.append(int(m[1]) / 1000)
                    own.append((int(m[1]) - int(m[2])) / 1000)
        def median_of(*argv):
            return statistics.median(timed(argv, work, ENV)[0] for _ in range(ROUNDS))
        start = median_of("claude-profile", "--version")
        service = median_of("systemd-run", "--user", "--quiet", "--service-type=exec", "true") - \
            median_of("systemctl", "--user", "--version")
    finally:
        agent.kill()
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(profile, ignore_errors=True)

    peer = statistics.median(times["podman alone"])
    for name, values in times.items():
        median = statistics.median(values)
        print("%-16s median %7.1f ms  min %7.1f  ratio %.2f" % (name, median, min(values), median / peer))
    print("up to podman, with a bridge, in a git repository: own time median %.1f ms, with the manager's two jobs median %.1f ms "
          "max %.1f ms (and %.1f ms for the program to be loaded; for the manager to start a service that does nothing: %.1f ms)" %
          (statistics.median(own), statistics.median(whole), max(whole), start, service))


if __name__ == "__main__":
    if "--in-scope" in sys.argv or os.environ.get("IN_SCOPE"):
        main()
    else:
        # A delegated scope with nothing but us in a group of its own, so that podman can split it.
        os.execvpe("systemd-run", ["systemd-run", "--user", "--scope", "--quiet", "--property=Delegate=yes", sys.executable,
                                   *sys.argv], dict(os.environ, IN_SCOPE="1"))
