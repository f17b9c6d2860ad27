# SPDX-License-Identifier: MIT
"""What systemd knows and shows: the profiles' units by the generator, limits, and what of them the tools of systemd show. There is
no memory, pids or cpu controller in the rig (limits are seen as properties, not felt)."""

import json

from rigtest import *

PROFILE = "t-units"
SLICE = "claude-sandbox-t\\x2dunits.slice"
SUPERVISOR = "claude-sandbox@%s.service" % PROFILE
# Y01, and what is odd and good: in names of instances they stand as they are, in those of slices "-" is escaped.
NAMES = ["my-team", "my_team", "a.b", "Work", "work", "a-b", "my-", "a..b", "x" * 100]
REFUSED = ["a b", "x@y", "é", "-lead", "a:b", "50%", "$HOME"]


def slice_of(name):
    return "claude-sandbox-%s.slice" % name.replace("-", "\\x2d")


def show(unit, *names):
    text = systemctl("show", *["--property=" + name for name in names], "--", unit).stdout
    return dict(line.split("=", 1) for line in text.splitlines())


def settings_file(t, text, name=PROFILE):
    path = HOME / ".config/claude-profile/profiles" / (name + ".conf")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[Sandbox]\n" + text)
    t.cleanup(path.unlink, missing_ok=True)
    return path


def base_with(t, names, base, config):
    """Profiles and configuration in directories of their own. The manager and its generators hear of them by environment.d(5)."""
    for name in names:
        (base / name).mkdir(parents=True)
        (base / name / ".sandbox").touch()
    (config / "claude-profile").mkdir(parents=True)
    (config / "claude-profile/claude-profile.conf").write_text("[Sandbox]\nProfilesBase=%s\n" % base)
    environment = HOME / ".config/environment.d/90-t-units.conf"
    environment.parent.mkdir(exist_ok=True)
    environment.write_text("XDG_CONFIG_HOME=%s\n" % config)
    t.cleanup(systemctl, "daemon-reload")
    t.cleanup(environment.unlink)


def generator_said(since, n):
    """Its entries, when there are n of them: they come through a stream, which the journal reads when it gets to it. By then the generator
    may have ended, and its program is not known: each line begins with its name."""
    def entries():
        said = [e for e in journal(since=since) if isinstance(e["MESSAGE"], str) and e["MESSAGE"].startswith("claude-sandbox-generator: ")]
        return said if len(said) >= n else None
    return wait_for(entries, 10, "%d entries of the generator" % n)


@test("names: each profile has a slice of its own, its name can be had back, and what can be no name is a line in the journal")
def _(t):
    base = t.tempdir()
    base_with(t, NAMES + REFUSED, base, t.tempdir())
    since = time.time()
    systemctl("daemon-reload")
    lines = [line.split() for line in systemctl("list-unit-files", "--no-legend", "claude-sandbox*").stdout.splitlines()]
    generated = [line[0] for line in lines if line[1] == "generated"]
    assert sorted(generated) == sorted(map(slice_of, NAMES)), lines
    assert ["claude-sandbox@.service", "static"] in [line[:2] for line in lines] and ["claude-sandbox.slice", "static"] in [line[:2] for line in lines]
    back = run("systemd-escape", "--unescape", "--", *[u[len("claude-sandbox-"):-len(".slice")] for u in generated]).stdout.split()
    assert sorted(back) == sorted(NAMES), back
    shown = run("systemctl", "--user", "show", "--property=Id,Description,LoadState", *map(slice_of, NAMES),
                *["claude-sandbox@%s.service" % name for name in NAMES]).stdout
    for name in NAMES:
        assert "Description=Claude sandboxes of profile %s\n" % name in shown
        assert "Description=Supervisor of Claude sandboxes of profile %s (%s/%s)\n" % (name, base, name) in shown
    assert "LoadState=loaded" in shown and shown.count("LoadState=") == shown.count("LoadState=loaded")
    entries = [e["MESSAGE"] for e in generator_said(since, len(REFUSED))]
    assert len(entries) == len(REFUSED), entries
    for name in REFUSED:
        assert "claude-sandbox-generator: %s/%s: not the name of a profile." % (base, name) in entries, (name, entries)
    units = sorted(RUNTIME.glob("systemd/generator/claude-sandbox-*.slice"))[:2]
    p = run("systemd-analyze", "--user", "verify", "--recursive-errors=no", *units)
    assert not (p.stdout + p.stderr).strip(), p.stdout + p.stderr


@test('names: "%" and "$" in directories stay what they are, in descriptions and where the settings come from')
def _(t):
    base = t.tempdir() / "50% of $HOME/%h %i"
    config = t.tempdir() / "100%/%h %i"
    base_with(t, ["work"], base, config)
    conf = config / "claude-profile/profiles/work.conf"
    conf.parent.mkdir()
    conf.write_text("[Sandbox]\nTasksMax=7\n")
    systemctl("daemon-reload")
    assert show(slice_of("work"), "SourcePath", "TasksMax") == {"SourcePath": str(conf), "TasksMax": "7"}
    assert show("claude-sandbox@work.service", "Description")["Description"].endswith(" (%s/work)" % base)


@test("sandbox --on, --off, add and remove are true at once, and daemon-reload gives the slice new limits; without a manager nothing is said")
def _(t):
    t.profile(PROFILE, sandboxed=False)
    settings_file(t, "MemoryMax=1.5G\nMemoryHigh=50%\nCPUQuota=150%\nCPUWeight=idle\nTasksMax=123\n")
    p = run(PROGRAM, "sandbox", PROFILE, "--on")
    assert p.stderr == "", p
    wanted = {"MemoryMax": str(3 << 29), "CPUQuotaPerSecUSec": "1.500000s", "TasksMax": "123", "CPUWeight": "idle", "LoadState": "loaded"}
    assert show(SLICE, *wanted) == wanted, show(SLICE, *wanted)
    assert abs(int(show(SLICE, "MemoryHigh")["MemoryHigh"]) * 2 - os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) < 1 << 20
    # Only a unit that is active stays loaded, and the manager knows since when.
    systemctl("start", SLICE)
    t.cleanup(systemctl, "stop", SLICE)
    conf = settings_file(t, "MemoryMax=2G\n")
    os.utime(conf, (time.time() + 2, time.time() + 2))
    assert show(SLICE, "NeedDaemonReload", "MemoryMax") == {"NeedDaemonReload": "yes", "MemoryMax": str(3 << 29)}
    systemctl("daemon-reload")
    assert show(SLICE, "NeedDaemonReload", "MemoryMax", "TasksMax") == {"NeedDaemonReload": "no", "MemoryMax": str(2 << 30), "TasksMax": "infinity"}
    # One setting is wrong: the others count.
    settings_file(t, "MemoryMax=3G\nTasksMax=none\n")
    since = time.time()
    systemctl("daemon-reload")
    assert show(SLICE, "MemoryMax", "TasksMax") == {"MemoryMax": str(3 << 30), "TasksMax": "infinity"}
    entries = generator_said(since, 1)
    assert [e["PRIORITY"] for e in entries] == ["4"] and "t-units.conf:3: TasksMax=none: expected" in entries[0]["MESSAGE"], entries
    systemctl("stop", SLICE)
    conf.unlink()
    run(PROGRAM, "sandbox", PROFILE, "--off")
    assert show(SLICE, "LoadState")["LoadState"] == "not-found" or not show(SLICE, "FragmentPath")["FragmentPath"]
    new = PROFILE + "-new"
    t.cleanup(run, PROGRAM, "remove", "--yes", new, check=False)
    assert run(PROGRAM, "add", "--sandbox", new).stderr == ""
    assert show(slice_of(new), "FragmentPath")["FragmentPath"]
    assert run(PROGRAM, "remove", "--yes", new).stderr == ""
    assert not show(slice_of(new), "FragmentPath")["FragmentPath"]
    nowhere = {k: v for k, v in ENV.items() if k not in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")}
    for option in ("--on", "--off"):
        assert run(PROGRAM, "sandbox", PROFILE, option, env=nowhere).stderr == ""


@test("a launch: its limits by settings and -p, its profile's slice with theirs, and what status, systemd-cgls and --dry-run show of it")
def _(t):
    t.profile(PROFILE)
    settings_file(t, "TasksMax=500\nMemoryMax=4G\nCPUWeight=50\n")
    systemctl("daemon-reload")
    before = systemctl("status", "--no-pager", "--full", SUPERVISOR, check=False).stdout
    assert "Supervisor of Claude sandboxes of profile %s (%s)" % (PROFILE, BASE / PROFILE) in before and "inactive (dead)" in before, before
    work = t.tempdir()
    limits = ["-p", "MemoryMax=512M", "--property=MemorySwapMax=0", "-p", "CPUQuota=12.5%", "-p", "MemoryHigh=1G", "-p", "MemoryHigh="]
    env = {"CLAUDE_PROFILE_SANDBOX_TASKS_MAX": "400"}

    plan = json.loads(run(PROGRAM, "run", "--dry-run", "--json", *limits, PROFILE, cwd=work, env=dict(ENV, **env)).stdout)
    assert plan["limits"] == {"CPUQuota": "12.50%", "CPUWeight": "50", "MemoryHigh": "infinity", "MemoryMax": "512M", "MemorySwapMax": "0",
                              "TasksMax": "400"}, plan["limits"]
    text = run(PROGRAM, "run", "--dry-run", *limits, PROFILE, cwd=work, env=dict(ENV, **env)).stdout
    for line in ("  MemoryMax=512M  (-p)\n", "  TasksMax=400  (CLAUDE_PROFILE_SANDBOX_TASKS_MAX in the environment)\n",
                 "  CPUWeight=50  (%s/.config/claude-profile/profiles/%s.conf:4)\n" % (HOME, PROFILE)):
        assert line in text, text

    agent = t.ssh_agent()
    launch = Launch(t, PROFILE, "sh", "-c", "ssh-add -l; echo ready; exec tail -f /dev/null", cwd=work, verb=("shell", *limits),
                    env=dict(env, CLAUDE_PROFILE_SANDBOX_SSH_AGENT="1", SSH_AUTH_SOCK=agent.path))
    launch.expect("ready")
    wanted = {"MemoryMax": str(512 << 20), "MemoryHigh": "infinity", "MemorySwapMax": "0", "CPUQuotaPerSecUSec": "125ms", "TasksMax": "400",
              "CPUWeight": "50", "Slice": SLICE}
    assert show(launch.scope, *wanted) == wanted, show(launch.scope, *wanted)
    assert show(SLICE, "MemoryMax", "TasksMax", "CPUWeight") == {"MemoryMax": str(4 << 30), "TasksMax": "500", "CPUWeight": "50"}
    controllers = Path("/sys/fs/cgroup" + show(launch.scope, "ControlGroup")["ControlGroup"] + "/cgroup.controllers").read_text().split()
    idle = [name for name in ("CPUQuota", "CPUWeight", "MemoryMax", "MemorySwapMax", "TasksMax")
            if {"C": "cpu", "M": "memory", "T": "pids"}[name[0]] not in controllers]
    assert ("Without effect here: %s=. " % "=, ".join(idle) in launch.stderr()) == bool(idle), launch.stderr()

    status = Path("/proc/%s/status" % unit_property(launch.bridge, "MainPID")).read_text()
    assert "CapBnd:\t0000000000000000" in status and "CapEff:\t0000000000000000" in status, status

    during = systemctl("status", "--no-pager", "--full", SUPERVISOR).stdout
    assert "active (running)" in during and launch.id in during and "Drop-In" in during, during
    tree = run("systemd-cgls", "--no-pager", "--full", "--user-unit", "claude-sandbox.slice").stdout
    note(tree)
    order = [tree.index(name) for name in (SLICE, launch.scope, "launcher", "claude-profile shell")]
    assert order == sorted(order) and tree.index("guest") > order[1] and "conmon" in tree and "tail -f /dev/null" in tree, tree
    note(during)
    run(PROGRAM, "stop", launch.id)
    launch.assert_gone()
    wait_for(lambda: "inactive (dead)" in systemctl("status", "--no-pager", SUPERVISOR, check=False).stdout, 10, "the supervisor's end")


@test("systemd-analyze security: the bridge's exposure is what its unit says, and so is the supervisor's")
def _(t):
    for unit, instance in (("claude-bridge@.service", "claude-bridge@x-01234567.service"), ("claude-sandbox@.service", "claude-sandbox@x.service")):
        text = run("systemd-analyze", "--user", "security", "--no-pager", instance).stdout
        exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+) ", text).group(1)
        claimed = re.search(r"security` counts\s(?:# )?(?:what is left as )?([0-9]+\.[0-9])", (Path("/usr/lib/systemd/user") / unit).read_text())
        assert claimed and claimed.group(1) == exposure, (unit, exposure, claimed)
        note("%s: %s" % (unit, exposure))


main()
