#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""doctor, one thing after the other not as it should be.

Everything that it looks at is a stand-in here: scripts for programs, sockets for agents, an empty runtime directory for a user manager
that is not there. What they say holds an escape sequence where it can. tests/integration/test_doctor.py has real parts.
"""

import contextlib
import json
import os
import shutil
import socket
import struct
import sys
import threading
import time

import tap
from profiles_home import Home, Terminal

PROGRAM = os.path.abspath(sys.argv[1])
ODD = "\x1b[31mred"
SHOWN = "\\x1b[31mred"

INFO = {
    "host": {
        "ociRuntime": {"name": "crun", "path": "/usr/bin/crun", "version": "crun version 1.21\nspec: 1.0.0\n+SYSTEMD +LIBKRUN"},
        "pasta": {"executable": ""},
        "security": {"rootless": True, "selinuxEnabled": False},
        "idMappings": {name: [{"size": 1}, {"size": 65536}] for name in ("uidmap", "gidmap")},
    },
}

# Programs are found in bin/ only, so a script uses what its shell has built in.
PODMAN = """#!/bin/sh
# A stand-in for podman.
case "$1 $2" in
"--version ") %(version)s ;;
"info --format=json") echo "a warning, not JSON" >&2; %(info)s ;;
"image exists") exit %(exists)s ;;
"image inspect") echo %(created)s ;;
esac
"""


def changed(**changes):
    """INFO with host.<name> replaced."""
    return {"host": {**INFO["host"], **changes}}


class Scene(Home):
    """A home in which doctor has nothing to say but that there is no user manager, which all the others do not need."""

    def __init__(self):
        super().__init__(PROGRAM)
        self.env["PATH"] = str(self.bin)
        self.env["CLAUDE_PROFILE_SANDBOX_ISOLATION"] = "container"
        self.podman()
        self.stand_in("pasta")

    def stand_in(self, name, text=""):
        self.script(self.bin / name, f"#!/bin/sh\n# A stand-in for {name}.\n{text}\n")

    def podman(self, version="echo podman version 5.4.2", info=INFO, exists=0, created=None):
        if not isinstance(info, str):
            path = self.write("podman-info", json.dumps(info))
            info = f'while IFS= read -r line; do printf "%s\\n" "$line"; done <<EOF\n{path.read_text()}\nEOF\n'
        self.script(self.bin / "podman", PODMAN % {"version": version, "info": info, "exists": exists,
                                                   "created": int(time.time()) if created is None else created})

    def doctor(self, *args, env=None):
        done = self.run("doctor", *args, "--json", env=env)
        assert done.stderr == "" and "\x1b" not in done.stdout, done
        rows = json.loads(done.stdout)
        states = {row["state"] for row in rows}
        assert done.returncode == (1 if "failed" in states else 3 if "warning" in states else 0), done
        assert all(row["remedy"] or row["state"] in ("ok", "skipped") for row in rows), rows
        return {row["check"]: row for row in rows}

    def expect(self, check, state, *texts, args=(), env=None):
        """What one check says, in a run of all."""
        row = self.doctor(*args, env=env)[check]
        assert row["state"] == state, row
        for text in texts:
            assert text in row["text"] + (row["remedy"] or ""), (text, row)


def test_shown():
    """a line for each check in pipes, aligned columns within 80 on a terminal, NO_COLOR; the status is the worst one's"""
    with Scene() as h:
        done = h.run("doctor")
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        assert done.returncode == 1 and all(len(line) == 4 for line in lines), done
        found = {line[1]: line for line in lines}
        assert found["user manager"][0] == "failed" and "loginctl enable-linger" in found["user manager"][3], found
        assert found["podman"] == ["ok", "podman", "version 5.4.2", ""] and found["units"][0] == "skipped", found
        assert [line[1] for line in lines] == list(h.doctor()), lines

        for no_color in ("", "1"):
            with Terminal(h, "doctor", env={"NO_COLOR": no_color}) as t:
                assert t.end() == 1
                assert ("\x1b[" in t.output) == (not no_color), t.output
        lines = t.output.splitlines()
        assert max(map(len, lines)) <= 80, t.output
        assert "ok       podman          version 5.4.2" in lines and "         → Log in by ssh" in t.output, t.output

        # A launch on the host needs nothing of all that, and then all is well.
        h.good("add", "work")
        rows = h.doctor("work")
        assert {row["state"] for name, row in rows.items() if name not in ("profile", "claude")} == {"skipped"}, rows
        assert h.run("doctor", "work").returncode == 0
        h.bad("doctor", "wrok", says=["no profile", '"work"'])
        h.bad("doctor", "a", "b", status=2)


def test_user_manager():
    """no user manager: an unset or a foreign runtime directory, none that answers, one that is silent, within a bound"""
    with Scene() as h:
        h.expect("user manager", "failed", "XDG_RUNTIME_DIR is not set", "enable-linger", env={"XDG_RUNTIME_DIR": ""})
        h.expect("user manager", "failed", "XDG_RUNTIME_DIR is not set", env={"XDG_RUNTIME_DIR": "/dev/null"})
        h.expect("user manager", "failed", f"none answers at {h.runtime}/bus")
        with listening(h.runtime / "bus"):
            begin = time.monotonic()
            h.expect("user manager", "failed", "it is silent")
            assert time.monotonic() - begin < 20


def test_podman():
    """podman: not there, not to be executed, silent, too old, without a word, without an answer to info"""
    with Scene() as h:
        rows = h.doctor()
        assert [rows[name]["state"] for name in ("podman", "runtime", "user ids", "image", "network")] == ["ok"] * 5, rows

        for version, text in ((f"echo podman version 4.3.1{ODD}", "version 4.3.1" + SHOWN), ("exit 0", "is version "),
                              (f"echo {ODD} >&2; exit 7", "--version says: " + SHOWN), ("exit 7", "ends with status 7")):
            h.podman(version=version)
            h.expect("podman", "failed", text)
        for info, text in (("exit 125", "podman info ends with status 125"), ("echo '['", "says nothing of use"),
                           ("echo", "says nothing of use")):
            h.podman(info=info)
            h.expect("podman", "failed", text, "podman --log-level=debug info")

        (h.bin / "podman").unlink()
        h.expect("podman", "failed", "there is no podman in PATH", "Install podman 5")
        h.expect("image", "skipped", "podman does not work")
        h.expect("podman", "failed", "there is no /no/podman", env={"CLAUDE_PROFILE_PODMAN_BIN": "/no/podman"})

        # One that never answers holds nothing up for long, and is asked once.
        os.mkfifo(h.path / "never")
        h.podman(version=f"read x <{h.path}/never")
        begin = time.monotonic()
        h.expect("podman", "failed", "does not answer within 10 s")
        assert time.monotonic() - begin < 30


def test_what_podman_says():
    """the runtime, ids and image that podman tells of: none that can do krun, too few, missing, old"""
    with Scene() as h:
        krun = {"CLAUDE_PROFILE_SANDBOX_ISOLATION": "krun"}
        h.expect("runtime", "ok", "crun version 1.21")
        h.podman(info=changed(ociRuntime={"name": "runc" + ODD, "version": "runc 1"}))
        h.expect("runtime", "ok", "runc 1")
        h.expect("runtime", "failed", f"runc{SHOWN}, and only crun", env=krun)
        h.podman(info=changed(ociRuntime={"name": "crun", "path": "/x" + ODD, "version": "crun version 1.21"}))
        h.expect("krun", "failed", f"/x{SHOWN} was built without", "crun-krun", env=krun)
        h.expect("krun", "skipped", "isolation is container")
        h.expect("kvm", "skipped", "isolation is container")

        for ids in ([], [{"size": 1}], [{"size": 1}, {"size": 1000}], [{}], "x"):
            h.podman(info=changed(idMappings={"uidmap": ids, "gidmap": INFO["host"]["idMappings"]["gidmap"]}))
            h.expect("user ids", "failed", "too few", "usermod --add-subuids")
        h.podman(info=changed(security={"rootless": False}))
        h.expect("user ids", "failed", "podman runs as root")
        h.podman(info={})
        rows = h.doctor()
        assert rows["user ids"]["state"] == "failed" and rows["runtime"]["state"] == "ok", rows

        h.podman(exists=1)
        h.expect("image", "failed", "there is no x:1", "claude-profile build", env={"CLAUDE_PROFILE_SANDBOX_IMAGE": "x:1"})
        h.podman(exists=125)
        h.expect("image", "failed", "does not say", "podman images")
        day = 24 * 60 * 60
        for age, state, text in ((0, "ok", "built today"), (day, "ok", "1 day old"), (90 * day, "ok", "90 days old"),
                                 (91 * day, "warning", "91 days old")):
            h.podman(created=int(time.time()) - age - 60)
            h.expect("image", state, text)
        h.podman(created="never")
        h.expect("image", "ok", "claude-profile-sandbox:latest")


def test_ids_of_others():
    """too few ids: those that the remedy takes are nobody's"""
    if os.geteuid() != 0:
        raise tap.Skip("needs root, for a mount name space")
    with Scene() as h:
        (h.path / "subuid").write_text("# odd\nmallory:100000:65536\ngarbage\neve:x:y\n")
        (h.path / "subgid").write_text("mallory:231072:65536\nbig:99999999999999:1\n")
        h.script(h.path / "doctor", f"""#!/bin/sh
exec /usr/bin/unshare --mount /bin/sh -c '
        for f in subuid subgid; do /bin/mount --bind {h.path}/$f /etc/$f || exit; done; exec "$0" "$@"
' {PROGRAM} "$@"
""")
        h.program = str(h.path / "doctor")
        h.podman(info=changed(idMappings={"uidmap": [], "gidmap": []}))
        h.expect("user ids", "failed", "too few", "--add-subuids 296608-362143 --add-subgids 296608-362143 ")


def test_selinux():
    """SELinux, a stand-in of its file system: permissive, enforcing without podman's labels, on a file system without any"""
    if os.geteuid() != 0:
        raise tap.Skip("needs root, for a mount name space")
    with Scene() as h:
        h.script(h.path / "doctor", f"""#!/bin/sh
exec /usr/bin/unshare --mount /bin/sh -c '
        /bin/mount -t tmpfs none /sys/fs && /bin/mkdir /sys/fs/selinux && echo $ENFORCE >/sys/fs/selinux/enforce && exec "$0" "$@"
' {PROGRAM} "$@"
""")
        h.program = str(h.path / "doctor")
        h.expect("SELinux", "ok", "permissive", env={"ENFORCE": "0"})
        h.expect("SELinux", "warning", "does not label", "container-selinux", env={"ENFORCE": "1"})
        h.podman(info=changed(security={"rootless": True, "selinuxEnabled": True}))
        h.base.mkdir()
        h.expect("SELinux", "ok", "enforcing", env={"ENFORCE": "1"})
        h.expect("SELinux", "warning", "/proc/1 has no labels", env={"ENFORCE": "1", "CLAUDE_PROFILE_PROFILES_BASE": "/proc/1"})


def test_network():
    """pasta: started with what a launch needs; not there, refused"""
    with Scene() as h:
        h.stand_in("pasta", f'[ "$*" = "--config-net --quiet -t none -u none -U none -T 7001 -- true" ] || {{ echo "$*"; exit 1; }}')
        h.expect("network", "ok", "pasta starts with -T")
        h.expect("network", "failed", "--map-host-loopback 169.254.1.2 -- true", env={"CLAUDE_PROFILE_SANDBOX_ISOLATION": "krun"})
        h.stand_in("pasta", f"echo first; echo 'No such option{ODD}' >&2; exit 1")
        h.expect("network", "failed", f"pasta -T 7001 says: No such option{SHOWN}")
        (h.bin / "pasta").unlink()
        h.expect("network", "failed", "is not there", "passt")


def test_kvm():
    """a microVM where there is no usable /dev/kvm"""
    with Scene() as h:
        if os.path.exists("/dev/kvm"):
            # Where the machine has one there is something else in its place, which can only be read.
            mount = shutil.which("mount")
            h.program = h.write("without-kvm", f"""#!/bin/sh
exec {shutil.which("unshare")} --mount /bin/sh -ec '
        {mount} --bind {h.write("no-kvm", "")} /dev/kvm
        {mount} -o remount,bind,ro /dev/kvm
        exec "$0" "$@"' {h.program} "$@"
""", 0o755)
        h.expect("kvm", "failed", "/dev/kvm cannot be used", env={"CLAUDE_PROFILE_SANDBOX_ISOLATION": "krun"})


def test_claude():
    """claude: native, from npm, a script, one that fails, one that calls claude-profile, none"""
    with Scene() as h:
        def install(target):
            (h.bin / "claude").unlink(missing_ok=True)
            (h.bin / "claude").symlink_to(target)
        install(h.write(".local/share/claude/versions/2.1.3", "", 0o755))
        h.expect("claude", "ok", "native, version 2.1.3")
        npm = "lib/node_modules/@anthropic-ai/claude-code/"
        install(h.write(npm + "bin/claude.exe", "", 0o755))
        h.expect("claude", "ok", "from npm, version not known")
        h.write(npm + "package.json", '{"version": "1.2.3%s"}' % ODD.replace("\x1b", "\\u001b"))
        h.expect("claude", "ok", "from npm, version 1.2.3" + SHOWN)
        install(h.write("wrapper", "#!/bin/sh\necho 3.4.5\n", 0o755))
        h.expect("claude", "ok", f"{h.bin}/claude, a script, version 3.4.5")
        install(h.write("wrapper", f"#!/bin/sh\necho broken{ODD}; exit 1\n", 0o755))
        h.expect("claude", "warning", f"a script, says: broken{SHOWN}", "Install Claude Code")
        install(h.write("wrapper", "#!/bin/sh\nexec claude-profile x\n", 0o755))
        h.expect("claude", "failed", f"{h.bin}/claude calls claude-profile")
        (h.bin / "claude").unlink()
        h.expect("claude", "failed", "there is no claude", "CLAUDE_PROFILE_CLAUDE_BIN")
        h.good("add", "--sandbox", "boxed")
        h.expect("claude", "ok", "sandboxes run the image's", args=("boxed",))


@contextlib.contextmanager
def listening(path, keys=None):
    """A stand-in for an agent or a bus: listens, and answers the request for a list with that many keys; None: never."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    clients = []

    def serve():
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            clients.append(client)
            if keys is not None:
                client.recv(64)
                body = b"\x0c" + struct.pack(">I", keys) + keys * struct.pack(">I1sI1s", 1, b"k", 1, b"c")
                client.sendall(struct.pack(">I", len(body)) + body)
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield path
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for client in clients:
            client.close()


def test_ssh_agents():
    """ssh-agents: none, dead, silent, without keys, with keys; 1Password's beside it"""
    with Scene() as h:
        one, other = h.path / "agent", h.path / ".1password/agent.sock"
        on = {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1"}
        named = {**on, "SSH_AUTH_SOCK": str(one)}
        h.expect("ssh-agent", "skipped", "SSHAgent=no", env={"SSH_AUTH_SOCK": str(one)})
        h.expect("ssh-agent", "failed", "SSH_AUTH_SOCK is not set", "ssh-agent", env=on)
        h.expect("ssh-agent", "failed", f"none answers at {one}{SHOWN}", env={**on, "SSH_AUTH_SOCK": str(one) + ODD})
        h.expect("1Password", "skipped", "there is no", env=named)
        with listening(one):
            h.expect("ssh-agent", "failed", f"none answers at {one}", env=named)
        with listening(one, 0):
            h.expect("ssh-agent", "warning", "holds no key", "ssh-add", env=named)
        with listening(one, 2), listening(other):
            h.expect("ssh-agent", "ok", "lists keys (asked directly)", env=named)
            h.expect("1Password", "failed", f"none answers at {other}", env=named)
            h.expect("ssh-agent", "warning", "SSHKeys= selects", env={**named, "CLAUDE_PROFILE_SANDBOX_SSH_KEYS": "nosuch"})
        with listening(other, 1):
            h.expect("1Password", "ok", f"{other} lists keys", env=on)
            h.expect("ssh-agent", "skipped", "SSH_AUTH_SOCK is not set", env=on)
            (h.path / "link").symlink_to(other)
            h.expect("1Password", "skipped", "is what SSH_AUTH_SOCK names", env={**on, "SSH_AUTH_SOCK": f"{h.path}/link"})


def test_gpg_agent():
    """gpg-agent: no GnuPG, no sensible answer of gpgconf, nobody at the socket, somebody"""
    with Scene() as h:
        on = {"CLAUDE_PROFILE_SANDBOX_GPG_AGENT": "1"}
        h.expect("gpg-agent", "failed", "gpgconf", "Install GnuPG", env=on)
        for answer in ("exit 1", "echo relative", "echo"):
            h.stand_in("gpgconf", answer)
            h.expect("gpg-agent", "failed", "gpgconf does not say", env=on)
        h.stand_in("gpgconf", f"echo {h.path}/extra")
        h.expect("gpg-agent", "warning", f"none answers at {h.path}/extra", "gpg-agent-extra.socket", env=on)
        with listening(h.path / "extra"):
            h.expect("gpg-agent", "ok", "one answers", env=on)


def test_desktop():
    """clipboard and browser: no desktop, no program, one without a display, nothing copied, a silent one, all well"""
    with Scene() as h:
        on = {"CLAUDE_PROFILE_SANDBOX_CLIPBOARD": "1"}
        wayland = {**on, "WAYLAND_DISPLAY": "w"}
        h.expect("clipboard", "failed", "neither WAYLAND_DISPLAY nor DISPLAY", env=on)
        h.expect("clipboard", "failed", "no wl-paste in PATH", "wl-clipboard", env=wayland)
        h.expect("clipboard", "failed", "no xclip in PATH", "Install the package xclip", env={**on, "DISPLAY": ":7"})
        h.stand_in("wl-paste", f'[ "$*" = --list-types ] && echo "Failed to connect to a Wayland server{ODD}" >&2; exit 1')
        h.expect("clipboard", "failed", f"wl-paste says: Failed to connect to a Wayland server{SHOWN}", env=wayland)
        h.stand_in("wl-paste", 'echo "Nothing is copied" >&2; exit 1')
        h.expect("clipboard", "ok", "nothing is copied now", env=wayland)
        h.stand_in("wl-paste", "echo text/plain")
        h.expect("clipboard", "ok", "wl-paste works", env=wayland)
        h.stand_in("xclip", "echo \"Error: Can't open display: :7\" >&2; exit 1")
        h.expect("clipboard", "failed", "Can't open display", env={**on, "DISPLAY": ":7"})
        os.mkfifo(h.path / "never")
        h.stand_in("wl-paste", f"read x <{h.path}/never")
        h.expect("clipboard", "failed", "does not answer within 3 s", env=wayland)

        on = {"CLAUDE_PROFILE_SANDBOX_CHROME": "1"}
        if not os.path.exists("/opt/google/chrome/chrome"):
            h.expect("browser", "failed", "there is no google-chrome", "CLAUDE_PROFILE_CHROME_BIN", env=on)
        h.expect("browser", "failed", f"there is no nosuch{SHOWN}", env={**on, "CLAUDE_PROFILE_CHROME_BIN": "nosuch" + ODD})
        h.stand_in("google-chrome-stable")
        h.expect("browser", "ok", f"{h.bin}/google-chrome-stable", env=on)


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]

if __name__ == "__main__":
    tap.run(TESTS)
