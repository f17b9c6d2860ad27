# SPDX-License-Identifier: MIT
"""doctor on real parts: nothing is amiss, then one thing after the other is. tests/integration/local has stand-ins for the rest."""

import json

from rigtest import *

PROFILE = "t-doctor"
AGENTS = {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "CLAUDE_PROFILE_SANDBOX_GPG_AGENT": "1"}


def doctor(*argv, **env):
    """Its rows by name, its status, and what it said on standard error."""
    p = run(shutil.which(PROGRAM), "doctor", *argv, "--json", env=dict(ENV, **env), check=False, timeout=120)
    rows = {row["check"]: row for row in json.loads(p.stdout)}
    if not os.path.exists("/usr/lib/systemd/user-generators/claude-sandbox-generator"):
        assert rows.pop("generator")["state"] in ("warning", "skipped")
        p.returncode = 0 if p.returncode == 3 else p.returncode
    return rows, p.returncode, p.stderr


@test("where all is well doctor says so: a sandbox starts, and its agents answer through its bridge; no report is lost; one that does not start is explained")
def _(t):
    profile = t.profile(PROFILE)
    systemctl("daemon-reload")
    agent = t.ssh_agent(keys=2)
    launch = Launch(t, PROFILE, "sh", "-c", "echo x > .envrc; echo ready; exec tail -f /dev/null", cwd=t.tempdir())
    launch.expect("ready")
    launch.signal(signal.SIGKILL)
    launch.assert_gone()

    rows, status, errors = doctor(PROFILE, SSH_AUTH_SOCK=agent.path, **AGENTS)
    for row in rows.values():
        note("%-8s %-14s %s" % (row["state"], row["check"], row["text"]))
    states = {name: row["state"] for name, row in rows.items()}
    assert set(states.values()) == {"ok", "skipped"} and status == 0, rows
    assert {name for name in states if states[name] == "skipped"} <= {"kvm", "krun", "SELinux", "1Password", "clipboard", "browser"}, states
    assert re.fullmatch(r"one starts and ends in \d+\.\d s; through its bridge ssh-0 lists 2 keys", rows["a sandbox"]["text"]), rows
    assert "native" in rows["claude"]["text"] and "pasta starts with -T" in rows["network"]["text"], rows
    assert "container" in errors and ".envrc" in errors, errors
    assert not list(Path("/tmp").glob("claude-profile-doctor-*"))
    assert_no_traces(PROFILE)

    (profile / ".env").unlink()
    (profile / ".env").symlink_to("/etc/passwd")
    rows, status, _ = doctor(PROFILE)
    assert rows["a sandbox"]["state"] == "failed" and ".env" in rows["a sandbox"]["text"] and status == 1, rows
    assert rows["a sandbox"]["remedy"] == "claude-profile shell %s -- true" % PROFILE, rows


@test("no podman in PATH, no user manager, no image, agents that hang or are dead, another unit: each is found, with a remedy")
def _(t):
    agent = t.ssh_agent()
    path = t.tempdir()
    (path / "claude").symlink_to(shutil.which("claude"))

    rows, status, _ = doctor(PATH=str(path), XDG_RUNTIME_DIR="")
    assert rows["podman"]["state"] == "failed" and "Install podman" in rows["podman"]["remedy"] and status == 1, rows
    assert rows["image"]["state"] == rows["network"]["state"] == "skipped", rows
    assert rows["user manager"]["state"] == "failed" and rows["units"]["state"] == "skipped", rows

    agent.process.send_signal(signal.SIGSTOP)
    rows, status, _ = doctor(SSH_AUTH_SOCK=agent.path, CLAUDE_PROFILE_SANDBOX_IMAGE="localhost/nosuch:1",
                             CLAUDE_PROFILE_SANDBOX_MEMORY_MAX="1G", **AGENTS)
    assert rows["image"] == {"check": "image", "state": "failed", "text": "there is no localhost/nosuch:1",
                             "remedy": "claude-profile build"} and status == 1, rows
    assert rows["ssh-agent"]["state"] == "failed", rows
    group = systemctl("show", "--property=ControlGroup", "--value").stdout.strip()
    delegated = "memory" in Path("/sys/fs/cgroup" + group, "cgroup.controllers").read_text()
    assert (rows["control groups"]["state"] == "warning") == (not delegated), rows
    assert delegated or "not delegated memory" in rows["control groups"]["text"], rows
    agent.stop()

    units = HOME / ".config/systemd/user"
    t.cleanup(systemctl, "daemon-reload")
    t.cleanup((units / "claude-bridge@.service").unlink)
    units.mkdir(parents=True, exist_ok=True)
    shutil.copy("/usr/lib/systemd/user/claude-bridge@.service", units)
    systemctl("daemon-reload")
    rows, status, _ = doctor(SSH_AUTH_SOCK=agent.path, **AGENTS)
    assert rows["units"]["state"] == "warning" and str(units) in rows["units"]["text"], rows
    assert rows["ssh-agent"]["state"] == "failed" and "ssh-agent" in rows["ssh-agent"]["remedy"] and status == 1, rows


main()
