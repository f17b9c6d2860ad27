# SPDX-License-Identifier: MIT
"""The sandbox's image as `rig image` built it: what is in it, and what must not be."""

import pathlib
import subprocess
import sys

IMAGE = "localhost/claude-profile-sandbox:latest"
ANCHORS = pathlib.Path("/usr/local/share/ca-certificates")
TOOLS = "git ssh ssh-add gpg rg fd jq podman sudo claude curl"


def in_image(script, *args, user="appuser"):
    command = ["podman", "run", "--rm", "--pids-limit=0", "--network=none", f"--user={user}", IMAGE]
    return subprocess.run([*command, "sh", "-c", script, "sh", *args], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)


def has_the_tools():
    got = in_image(f"for t in {TOOLS}; do command -v $t >/dev/null || echo $t; done")
    assert got.returncode == 0 and got.stdout == "", f"missing: {got.stdout}{got.stderr}"


def claude_runs():
    got = in_image("claude --version")
    assert got.stdout.endswith("(Claude Code)\n"), got


def user_is_appuser():
    got = in_image("id -u; id -un; echo $HOME; stat -c %U ~")
    assert got.stdout.split() == ["1000", "appuser", "/home/appuser", "appuser"], got


def sudo_is_scoped():
    allowed = in_image("sudo -n apt-get --version && sudo -n podman --version")
    assert allowed.returncode == 0, allowed
    for command in ("id", "sh -c id", "cat /etc/shadow"):
        refused = in_image(f"sudo -n {command}")
        assert refused.returncode != 0 and "password is required" in refused.stderr, refused


def trusts_no_anchor_of_the_host():
    """The build trusted them (or could not have fetched anything where there are some); the image does not."""
    for anchor in ANCHORS.glob("**/*.crt"):
        line = anchor.read_text().splitlines()[1]
        found = in_image('grep -rlF -- "$1" /etc /usr/local /usr/share/ca-certificates /run /tmp /var /root /home',
                         line, user="root")
        assert found.returncode == 1, f"{anchor} is in the image: {found}"


def build_is_in_no_layer():
    got = in_image("ls -d /run/secrets/anchors /run/context/* /dev/shm/* 2>/dev/null", user="root")
    assert got.stdout == "", got


TESTS = [has_the_tools, claude_runs, user_is_appuser, sudo_is_scoped, trusts_no_anchor_of_the_host, build_is_in_no_layer]


def main():
    print(f"1..{len(TESTS)}", flush=True)
    failed = False
    for number, test in enumerate(TESTS, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
        except (AssertionError, subprocess.SubprocessError) as e:
            failed = True
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in str(e).splitlines()), end="", flush=True)
        else:
            print(f"ok {number} - {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
