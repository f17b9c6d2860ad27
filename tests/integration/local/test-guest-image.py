#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The entry point in images of all kinds: user database, home directory, claude, GnuPG."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

import tap
from guest_sandbox import DIRECT, GPG_SOCKET, UID, Bridge, Sandbox

PROGRAM = os.path.abspath(sys.argv[1])
ROOT_LINE = "root:x:0:0:root:/root:/bin/sh\n"
OUR_LINE = "appuser:*:1000:1000::/home/appuser:/bin/bash\n"


def run(command, **options):
    with Sandbox(PROGRAM, command, **options) as s:
        status = s.wait()
        assert status == 0, (status, s.output)
        return s.output.decode()


def image(passwd=None, group=None):
    """A function that gives a root directory these files; None: the file is missing."""
    def apply(root):
        for name, text in (("passwd", passwd), ("group", group)):
            (root / "etc" / name).unlink()
            if text is not None:
                (root / "etc" / name).write_text(text)
    return apply


def test_user_database():
    """whatever the image has, uid 1000 is appuser with its home, and other names stay"""
    group = "root:x:0:\n"
    for before, after in (
        (None, "root:*:0:0:root:/root:/bin/sh\n" + OUR_LINE),
        ("", OUR_LINE),
        (ROOT_LINE, ROOT_LINE + OUR_LINE),
        (ROOT_LINE.rstrip("\n"), ROOT_LINE + OUR_LINE),
        (ROOT_LINE + "node:x:1000:1000::/home/node:/bin/bash\n",
         ROOT_LINE + OUR_LINE + "node:x:1000:1000::/home/node:/bin/bash\n"),
        (ROOT_LINE + "appuser:x:1000:1000:A:/home/appuser:/bin/sh\n",
         ROOT_LINE + "appuser:x:1000:1000:A:/home/appuser:/bin/sh\n"),
        (ROOT_LINE + "appuser:x:1000:1000:A:/srv:/bin/sh\n",
         ROOT_LINE + OUR_LINE.replace("bash", "sh") + "appuser:x:1000:1000:A:/srv:/bin/sh\n"),
        (ROOT_LINE + "appuser:x:1001:1001::/home/appuser:/bin/bash\nme:x:1000:1000::/me:/nologin\n",
         ROOT_LINE + OUR_LINE + "appuser:x:1001:1001::/home/appuser:/bin/bash\nme:x:1000:1000::/me:/nologin\n"),
        (ROOT_LINE + "+::::::\n", ROOT_LINE + OUR_LINE + "+::::::\n"),
    ):
        output = run("id -un; id -gn; cat /etc/passwd", root=image(before, group))
        assert output == "appuser\nappuser\n" + after, (before, output)


def test_groups():
    """a group of gid 1000 is kept, whatever its name; a missing file is made"""
    for before, after in ((None, "root:x:0:\nappuser:x:1000:\n"), ("root:x:0:\nnode:x:1000:\n",) * 2):
        assert run("cat /etc/group", root=image(ROOT_LINE, before)) == after


def test_user_database_read_only():
    """a user database that cannot be written is said to be, and the launch goes on"""
    output = run("id -u; echo $HOME", mounts='for f in passwd group; do mount --bind "$root/etc/$f" "$root/etc/$f";'
                 'mount -o remount,bind,ro "$root/etc/$f"; done')
    assert "Cannot enter user appuser" in output and output.endswith("1000\n/home/appuser\n"), output


def test_home():
    """the home directory and the way to mount points in it become the user's; mounts are left alone"""
    def root(r):
        for d in (".config/app/mount", "mount", ".ssh", "of-user/of-root"):
            (r / "home/appuser" / d).mkdir(parents=True)
        (r / "home/appuser/of-root").write_text("")
        os.chown(r / "home/appuser/of-user", UID, UID)
        (r / "host/below").mkdir(parents=True)

    names = ". .config .config/app .config/app/mount mount mount/below .ssh of-user of-user/of-root of-root"
    output = run(f"cd; stat -c '%u %n' {names}; touch .config/app/x", root=root,
                 mounts='mount -t tmpfs tmpfs "$root/host"; mkdir "$root/host/below"; for m in .config/app/mount mount; do '
                        'mount --bind "$root/host" "$root/home/appuser/$m"; done')
    owners = dict(reversed(line.split(" ")) for line in output.splitlines())
    assert {n for n, uid in owners.items() if uid == "1000"} == {".", ".config", ".config/app", ".ssh", "of-user"}, output


def test_home_is_made():
    """a home directory is made where there is none"""
    assert run("stat -c '%a %u %g' ~ /home", root=lambda r: (r / "home").rmdir()) == "700 1000 1000\n755 0 0\n"


def test_home_is_link():
    """a home directory that is a link is refused"""
    with Sandbox(PROGRAM, "true", root=lambda r: (r / "home/appuser").symlink_to("/opt")) as s:
        assert s.wait() == 125 and b"/home/appuser" in s.output, s.output


def test_claude():
    """claude is the host's where that is mounted, whatever the image has, and first in PATH; else the image's"""
    def native(root):
        (root / "opt/claude-host").mkdir()
        (root / "opt/claude-host/claude").write_text("#!/bin/sh\necho native\n")
        (root / "opt/claude-host/claude").chmod(0o755)

    def both(root):
        native(root)
        (root / "home/appuser/.local/bin").mkdir(parents=True)
        (root / "home/appuser/.local/bin/claude").symlink_to("/nowhere")

    for root in (native, both):
        output = run("claude; readlink ~/.local/bin/claude; stat -c '%u' ~/.local ~/.local/bin; touch ~/.local/bin/x",
                     root=root)
        assert output == "native\n/opt/claude-host/claude\n1000\n1000\n", output
    assert run("test ! -e ~/.local && echo none") == "none\n"


def test_gnupg_files():
    """with a forwarded gpg-agent there is a private GnuPG home with the options for it; without one, nothing"""
    script = "cd ~/.gnupg && stat -c '%a %u %n' . *; cat gpg.conf common.conf; cat *.gpg"
    output = run(script, forwards=f"{GPG_SOCKET}=gpg", bridge=Bridge(), gpg_keys=b"the keys")
    for line in ("700 1000 .", "600 1000 gpg.conf", "600 1000 common.conf", "600 1000 claude-sandbox-host-keys.gpg",
                 "no-autostart", "keyring claude-sandbox-host-keys.gpg", "the keys"):
        assert line in output.splitlines(), (line, output)
    output = run("cat ~/.gnupg/gpg.conf", forwards=f"{GPG_SOCKET}=gpg", bridge=Bridge())
    assert "no-autostart" in output and "keyring" not in output, output
    assert run("test ! -e ~/.gnupg; echo $?") == "0\n"


class GnuPG:
    """A GnuPG home with one secret key and its agent."""

    def __init__(self):
        for tool in ("gpg", "gpgconf", "gpg-agent", "git"):
            if not shutil.which(tool):
                raise tap.Skip(f"needs {tool}")
        self.home = tempfile.mkdtemp(prefix="gnupg-")
        self.gpg("--passphrase", "", "--quick-gen-key", "Some One <one@example.com>", "ed25519", "sign", "never")
        self.extra = self.run("gpgconf", "--list-dirs", "agent-extra-socket").decode().strip()

    def run(self, *args):
        return subprocess.run(args, env={**os.environ, "GNUPGHOME": self.home}, check=True, capture_output=True,
                              stdin=subprocess.DEVNULL).stdout

    def gpg(self, *args):
        return self.run("gpg", "--batch", "--quiet", *args)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("gpgconf", "--kill", "gpg-agent")
        shutil.rmtree(self.home, ignore_errors=True)


def test_gnupg_signs():
    """git commit -S signs by the forwarded agent; no secret is inside; the signature verifies on both sides"""
    script = ("set -e; git init -q r; cd r; git config user.name 'Some One'; git config user.email one@example.com;"
              "git commit -qS --allow-empty -m signed; git log --format=%G?; git cat-file commit HEAD >/work/commit;"
              "gpg --batch -q --import </work/other; gpg --list-keys --with-colons | grep -c ^pub;"
              "find ~/.gnupg -path '*private*' -type f; stat -c %a ~/.gnupg/S.gpg-agent")
    with GnuPG() as host, GnuPG() as other:
        keys = host.gpg("--export")
        work = []

        def root(r):
            (r / "work/other").write_bytes(other.gpg("--export"))
            work.append(r / "work")

        with Sandbox(PROGRAM, script, forwards=f"{GPG_SOCKET}=gpg", bridge=Bridge(f"unix:{host.extra}"), gpg_keys=keys,
                     root=root) as s:
            assert s.wait() == 0, s.output
            lines = [line for line in s.output.decode().splitlines() if not line.startswith("gpg: ")]
            assert lines[0] in "GU" and lines[1:] == ["2", "600"], s.output
            commit = (work[0] / "commit").read_bytes()

        header, _, message = commit.partition(b"\n\n")
        start = header.index(b"gpgsig ")
        signature = pathlib.Path(host.home, "signature")
        signature.write_bytes(header[start + 7:].replace(b"\n ", b"\n"))
        signed = pathlib.Path(host.home, "signed")
        signed.write_bytes(header[:start] + b"\n" + message)
        host.gpg("--verify", str(signature), str(signed))


def test_gnupg_outage():
    """while the agent is away signing fails at once, gpg starts none of its own, and afterwards it signs again"""
    script = ("sign() { echo x | gpg --batch -q --yes --detach-sign -o /dev/null 2>/dev/null && echo signed || echo failed; };"
              "sign; echo ready; read x; sign; echo ready; read x; sign; find ~/.gnupg -name 'S.*' | wc -l")
    with GnuPG() as host:
        bridge = Bridge(f"unix:{host.extra}")
        with Sandbox(PROGRAM, script, forwards=f"{GPG_SOCKET}=gpg", bridge=bridge, gpg_keys=host.gpg("--export"),
                     stdin=-1) as s:
            assert s.expect("ready\n") == b"signed\n"
            bridge.mode = "refuse"
            s.process.stdin.write(b"\n")
            s.process.stdin.flush()
            assert s.expect("ready\n") == b"failed\n"
            bridge.mode = f"unix:{host.extra}"
            s.process.stdin.write(b"\n")
            s.process.stdin.flush()
            s.expect("signed\n1\n")


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.need_root()
    tap.run(TESTS)
