# SPDX-License-Identifier: MIT
"""Many launches: one after the other, all at once, of several profiles, and the user manager's restart below them."""

from rigtest import *

WAIT = ["bash", "-c", "echo ready; exec tail -f /dev/null"]


def with_agent(t):
    return {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": t.ssh_agent().path}


def supervisor(profile):
    return "claude-sandbox@%s.service" % profile


def supervisor_starts(profile, since):
    """How often the manager started the profile's supervisor, and started it again on its own."""
    entries = journal("USER_UNIT=" + supervisor(profile), since=since)
    return [e for e in entries if e.get("JOB_TYPE") == "start" and e.get("JOB_RESULT") == "done"]


@test("systemd-analyze finds nothing wrong with the installed units")
def _(t):
    assert_units_verify()


@test("50 launches in a row: each starts in a delegated scope with a supervisor, and nothing is left")
def _(t):
    profile = "t-row"
    t.profile(profile)
    work = t.tempdir()
    since = time.time()
    for _ in range(50):
        run(PROGRAM, "shell", profile, "--", "true", cwd=work)
    wait_for(lambda: not running_launches(profile), 12, "the last launch's end")
    wait_for(lambda: not systemctl("list-units", "--plain", "--no-legend", "claude-*@%s*" % profile,
                                   "claude-sandbox-%s-*.scope" % profile).stdout.strip(), 12, "the last unit's end")
    assert not run("podman", "ps", "-aq", "--filter", "label=claude-profile.profile=" + profile).stdout
    started = [e for e in journal("CLAUDE_PROFILE=" + profile, since=since) if "started" in e["MESSAGE"]]
    ended = [e for e in journal("CLAUDE_PROFILE=" + profile, since=since) if "status 0" in e["MESSAGE"]]
    assert len(started) == len(ended) == 50, (len(started), len(ended))
    assert supervisor_starts(profile, since)


@test("20 launches at once of one profile: all run, the status names each, one stop ends them")
def _(t):
    profile = "t-crowd"
    t.profile(profile)
    work = t.tempdir()
    launches = [Launch(t, profile, *WAIT, cwd=work, wait=False) for _ in range(20)]
    for launch in launches:
        launch.expect("ready", 120)
    ids = running_launches(profile)
    assert len(ids) == 20, ids
    status = wait_for(lambda: (lambda s: s if all(i in s for i in ids) else None)(
        unit_property(supervisor(profile), "StatusText")), 5, "all launches in the status")
    assert status.startswith("20 launches"), status
    scopes = systemctl("list-units", "--plain", "--no-legend", "claude-sandbox-%s-*.scope" % profile).stdout.splitlines()
    assert len(scopes) == 20, scopes
    delegated = systemctl("show", "--property=Delegate", "--value", *[s.split()[0] for s in scopes]).stdout.split()
    assert delegated == ["yes"] * 20, delegated

    systemctl("stop", supervisor(profile))
    for launch in launches:
        launch.wait(15)
    # Twenty podmans at once may need longer than the ten seconds a stop leaves them: the next start clears away what is left.
    run(PROGRAM, "shell", profile, "--", "true", cwd=work, timeout=120)
    wait_for(lambda: not running_launches(profile), 60, "the launch directories' end")
    wait_for(lambda: not run("podman", "ps", "-aq", "--filter", "label=claude-profile.profile=" + profile).stdout, 40)


@test("30 launches that are refused while their scope is being started: neither scope nor supervisor stays")
def _(t):
    profile = "t-refused"
    t.profile(profile)
    (BASE / profile / ".env").write_text("CLAUDE_CONFIG_DIR=x\n")
    work = t.tempdir()
    for _ in range(10):
        for p in at_once([lambda: shell(profile, "true", cwd=work, check=False)] * 3):
            assert p.returncode == 1 and "CLAUDE_CONFIG_DIR" in p.stderr, p
        assert_no_traces(profile)


@test("payload and helpers lie below the launch's own scope")
def _(t):
    profile = "t-below"
    t.profile(profile)
    launch = Launch(t, profile, *WAIT, cwd=t.tempdir(), env=with_agent(t))
    launch.expect("ready")
    wait_for(lambda: launch.pids("tail"), what="the guest's program below the scope")
    for wanted in ("claude-profile", "podman", "conmon", "claude-sandbox-"):
        assert launch.pids(wanted), wanted
    assert launch.pids("pasta") or launch.pids("pasta.avx2")
    groups = {}
    for p in launch.pids():
        groups.setdefault(Path("/proc/%d/comm" % p).read_text().strip(), Path("/proc/%d/cgroup" % p).read_text().strip())
    assert groups["claude-profile"].endswith(launch.scope + "/launcher"), groups
    assert launch.scope + "/guest" in groups["podman"], groups


@test("three launches of two profiles in three worktrees: each has its own scope, port and token; ending one leaves the others")
def _(t):
    t.profile("t-a")
    t.profile("t-b")
    env = with_agent(t)
    repository = t.repository()
    places = [repository]
    for name in ("one", "two"):
        place = t.tempdir() / name
        run("git", "-C", repository, "worktree", "add", "-q", place)
        places.append(place)
    command = ["bash", "-c", "git status --short && git rev-parse --show-toplevel && echo ready; exec tail -f /dev/null"]
    launches = [Launch(t, profile, *command, cwd=place, env=env) for profile, place in zip(("t-a", "t-a", "t-b"), places)]
    for launch, place in zip(launches, places):
        launch.expect(re.escape(str(place)) + "\nready")

    for what in ("scope", "port", "token", "directory"):
        values = {getattr(launch, what) for launch in launches}
        assert len(values) == 3, (what, values)

    status = systemctl("status", "--no-pager", supervisor("t-a")).stdout
    assert launches[0].id in status and launches[1].id in status and launches[2].id not in status, status
    assert str(places[1]) in status, status
    sockets = systemctl("list-sockets", "--no-pager", "claude-bridge@*").stdout
    for launch in launches:
        assert "127.0.0.1:%d" % launch.port in sockets, sockets
    cgls = run("systemd-cgls", "--user-unit", "--no-pager", "claude-sandbox.slice", check=False).stdout
    note(cgls)

    port = launches[0].port
    launches[0].signal(signal.SIGTERM)
    launches[0].assert_gone(12, port)
    for launch in launches[1:]:
        assert launch.process.poll() is None
        assert unit_property(launch.scope, "ActiveState") == "active"
        assert unit_property(launch.socket, "ActiveState") == "active"
    status = wait_for(lambda: (lambda s: s if launches[0].id not in s else None)(unit_property(supervisor("t-a"), "StatusText")), 5)
    assert launches[1].id in status


@test("the user manager restarts below a bridged launch: no ordering cycle, and the guest hears SIGTERM")
def _(t):
    profile = "t-restart"
    t.profile(profile)
    work = t.tempdir()
    command = ["bash", "-c", "trap 'ssh-add -l > $PWD/bye 2>&1; echo status $? >> $PWD/bye; exit 0' TERM; echo ready; "
               "while :; do read -t 1 || :; done < <(tail -f /dev/null)"]
    launch = Launch(t, profile, *command, cwd=work, env=with_agent(t))
    launch.expect("ready")
    port = launch.port
    since = time.time()
    run("sudo", "systemctl", "restart", "user@%d.service" % os.getuid(), timeout=120)
    wait_for(lambda: (RUNTIME / "bus").exists() and systemctl("is-system-running", check=False).stdout.strip() in ("running", "degraded"),
             30, "the user manager")
    launch.wait(15)
    launch.assert_gone(12, port)
    note((work / "bye").read_text())
    assert "status" in (work / "bye").read_text()
    lines = run("sudo", "journalctl", "--quiet", "--output=cat", "--since=@%.6f" % since).stdout
    assert "ordering cycle" not in lines, lines
    assert "SIGKILL" not in "\n".join(l for l in lines.splitlines() if launch.scope in l), lines


@test("on a stop the guest still has its network while it handles SIGTERM")
def _(t):
    profile = "t-network"
    t.profile(profile)
    work = t.tempdir()
    # The bridge is stopped before the guest hears of it; pasta is not: the address it configured answers.
    command = ["bash", "-c", "trap 'cat /proc/net/dev > $PWD/bye; (exec 3<>/dev/tcp/127.0.0.1/9) 2>>$PWD/bye; getent hosts localhost >> "
               "$PWD/bye; exit 0' TERM; echo ready; while :; do read -t 1 || :; done < <(tail -f /dev/null)"]
    launch = Launch(t, profile, *command, cwd=work)
    launch.expect("ready")
    systemctl("stop", supervisor(profile))
    launch.assert_gone(3)
    text = (work / "bye").read_text()
    interfaces = [line.split(":")[0].strip() for line in text.splitlines() if ":" in line and "|" not in line]
    assert any(i not in ("lo",) for i in interfaces), text


main()
