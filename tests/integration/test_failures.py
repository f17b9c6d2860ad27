# SPDX-License-Identifier: MIT
"""Launches that fail: at every step something is made to go wrong, or the launcher is killed, and nothing is left behind. And
sandboxes that podman makes otherwise than planned: the guest never runs."""

import contextlib
import itertools
import socket

from rigtest import *

PROFILE = "t-failures"
TOUCH = ["touch", "ran"]
HERE = Path(__file__).resolve().parent


def fails(t, says, env=None, status=1, profile=PROFILE, cwd=None, traces_left=()):
    """A launch ends with that status and a message that matches, the guest did not run, nothing is left; standard error."""
    work = cwd or t.tempdir()
    p = shell(profile, *TOUCH, cwd=work, env=env, check=False)
    assert p.returncode == status, p
    assert re.search(says, p.stderr), (says, p.stderr)
    assert not (work / "ran").exists(), p
    assert_no_traces(profile)
    return p.stderr


@contextlib.contextmanager
def tmpfs(path, options):
    """An empty file system there, ours."""
    run("sudo", "mount", "-t", "tmpfs", "-o", "uid=%d,mode=0700,%s" % (os.getuid(), options), "tmpfs", path)
    try:
        yield
    finally:
        run("sudo", "umount", "--lazy", path)


def drop_in(t, unit, text):
    """A drop-in for a unit of the user, as if the user had made it."""
    directory = RUNTIME / "systemd/user" / (unit + ".d")
    directory.mkdir(parents=True)
    (directory / "test.conf").write_text(text)
    t.cleanup(systemctl, "daemon-reload")
    t.cleanup(shutil.rmtree, directory)
    systemctl("daemon-reload")


# --- the steps, one after the other ---------------------------------------------------------------------------

@test("a .env that cannot be used: file, line and key are named, never the value")
def _(t):
    profile = t.profile(PROFILE)
    env = profile / ".env"
    for text, says in ((b'A=1\nTOKEN="hidden-value\n', r"\.env: line 2: TOKEN"), (b'TOKEN="hidden-value" x\n', r"\.env: line 1: TOKEN"),
                       (b"TOKEN=hidden-value\0\n", r"\.env"), (b"TOKEN=hidden-value\xff\n", r"\.env"), (b"TOKEN=" + b"hidden-value" * 20000, r"\.env")):
        env.write_bytes(text)
        assert "hidden-value" not in fails(t, says)
    env.unlink()
    env.symlink_to("/etc/passwd")
    fails(t, r"\.env")
    env.unlink()
    env.mkdir()
    fails(t, r"\.env")
    env.rmdir()
    env.touch(0o000)
    fails(t, r"\.env")


@test("settings that cannot be used are named")
def _(t):
    t.profile(PROFILE)
    for name, value in (("ISOLATION", "none"), ("RAM_MIB", "much"), ("CPUS", "0"), ("SSH_AGENT", "perhaps")):
        fails(t, "CLAUDE_PROFILE_SANDBOX_%s=%s: expected" % (name, value), env={"CLAUDE_PROFILE_SANDBOX_" + name: value})
    fails(t, "There is no profile", profile="t-failures-none")


@test("krun without a usable /dev/kvm is refused, podman is not called, and nothing weaker is taken")
def _(t):
    t.profile(PROFILE)
    record = t.tempdir() / "record"
    assert not os.path.exists("/dev/kvm")
    for isolation in ("krun", ""):
        text = fails(t, "/dev/kvm cannot be used", env={"CLAUDE_PROFILE_SANDBOX_ISOLATION": isolation,
                                                        "CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record))})
        assert "CLAUDE_PROFILE_SANDBOX_ISOLATION=container" in text and "kernel" in text
    run("sudo", "mknod", "-m", "0600", "/dev/kvm", "c", "10", "232")
    t.cleanup(run, "sudo", "rm", "/dev/kvm")
    fails(t, "group kvm", env={"CLAUDE_PROFILE_SANDBOX_ISOLATION": "krun", "CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record))})
    assert not record.exists()


@test("the runtime directory cannot be written, is full, or has room for a few files only")
def _(t):
    profile = t.profile(PROFILE)
    LAUNCHES.mkdir(exist_ok=True)
    with tmpfs(LAUNCHES, "ro"):
        fails(t, "Cannot make the launch directory|Cannot use")

    ended = []
    for inodes in itertools.count(1):
        with tmpfs(LAUNCHES, "nr_inodes=%d" % inodes):
            work = t.tempdir()
            p = shell(PROFILE, *TOUCH, cwd=work, check=False)
            if p.returncode == 0:
                break
            ended.append(p.stderr.splitlines()[-1])
            assert not (work / "ran").exists() and "claude-profile: " in ended[-1], p
            assert_no_traces(PROFILE)
    assert len(set(ended)) >= 4, ended

    (profile / ".env").write_text("".join("A%d=%s\n" % (i, "x" * 1000) for i in range(100)))
    with tmpfs(LAUNCHES, "size=64k"):
        fails(t, "Cannot write .*guest/environment: No space left")


@test("the data directory cannot be written, or is full: guest program, profile's data, claude's copy; no half copy stays")
def _(t):
    t.profile(PROFILE)
    data = t.tempdir()
    ours = data / "claude-profile"
    env = {"XDG_DATA_HOME": str(data)}
    ours.mkdir(mode=0o500)
    fails(t, "Cannot take the lock|Cannot make", env=env)
    ours.chmod(0o700)
    for name, says in (("guest", "Cannot copy the guest program"), ("profiles", "Cannot make .*profiles/" + PROFILE), ("claude", "Cannot copy .*versions")):
        (ours / name).mkdir(exist_ok=True, mode=0o500)
        (ours / name).chmod(0o500)
        fails(t, says + ".*: Permission denied", env=env)
        (ours / name).chmod(0o700)
        assert not list((ours / name).iterdir()), tree(ours / name)
    shutil.rmtree(ours / "profiles" / PROFILE, ignore_errors=True)
    (ours / "profiles" / PROFILE).write_text("in the way\n")
    fails(t, "Cannot make .*profiles/" + PROFILE, env=env)
    (ours / "profiles" / PROFILE).unlink()
    for name, says in (("guest", "Cannot copy the guest program"), ("claude", "Cannot copy .*versions")):
        shutil.rmtree(ours / name)
        (ours / name).mkdir()
        with tmpfs(ours / name, "size=100k"):
            fails(t, says + ".*: No space left", env=env)
            assert not list((ours / name).iterdir()), tree(ours / name)


@test("another claude-profile that changes profiles and does not end")
def _(t):
    t.profile(PROFILE)
    with open(DATA / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fails(t, "Cannot take the lock %s/lock" % DATA)


@test("a supervisor that does not start, has no socket, or hangs up")
def _(t):
    t.profile(PROFILE)
    unit = "claude-sandbox@%s.service" % PROFILE
    for command, says in (("/bin/false", "supervisor|did not start the scope"), ("/nonexistent", "supervisor|did not start the scope"),
                          ("/bin/sh -c 'systemd-notify --ready; exec tail -f /dev/null'", "The supervisor %s does not answer" % unit),
                          ("/usr/bin/socat 'UNIX-LISTEN:%%t/claude-profile/%s.sock,fork,unlink-early' SYSTEM:true" % PROFILE, "does not answer")):
        kind = "NotifyAccess=all\n" if "systemd-notify" in command else "Type=exec\n" if "socat" in command else ""
        drop_in(t, unit, "[Service]\n%sExecStart=\nExecStart=%s\n" % (kind, command))
        text = fails(t, says)
        assert "journalctl" in text or "does not answer" in text, text
        t.run_cleanups()
        t.profile(PROFILE)
    # And afterwards all is well again.
    assert shell(PROFILE, "echo", "ran", cwd=t.tempdir()).stdout == "ran\n"


@test("a supervisor that never gets ready: whoever does not want to wait can leave")
def _(t):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
        t.profile(PROFILE)
        drop_in(t, "claude-sandbox@%s.service" % PROFILE, "[Service]\nExecStart=\nExecStart=/bin/tail -f /dev/null\n")
        launch = Launch(t, PROFILE, *TOUCH, cwd=t.tempdir())
        wait_for(lambda: unit_property("claude-sandbox@%s.service" % PROFILE, "ActiveState") == "activating", what="the supervisor")
        launch.signal(number)
        assert launch.wait(5) == (-number if number == signal.SIGKILL else 128 + number)
        if number != signal.SIGKILL:
            # Only what was made to hang stays.
            wait_for(lambda: unit_property(launch.scope, "LoadState") == "not-found", 5, "the end of the scope's start")
            assert not launch.directory.exists()
        t.run_cleanups()
        systemctl("stop", "claude-sandbox@%s.service" % PROFILE)
        t.profile(PROFILE)
        shell(PROFILE, "true", cwd=t.tempdir())
        assert_no_traces(PROFILE)
        t.run_cleanups()


@test("a socket that cannot start, for want of a sound bridge unit")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent()
    drop_in(t, "claude-bridge@.service", "[Service]\nExecStart=\n")
    fails(t, "did not start claude-bridge@%s-[0-9a-f]{8}\\.socket" % PROFILE,
          env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path})


@test("a bridge that puts its end off does not outlive its launch, nor hold it up")
def _(t):
    agent = t.ssh_agent()
    stub = t.program("""
import os, signal, socket
def notify(text):
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text, os.environ["NOTIFY_SOCKET"])
signal.signal(signal.SIGTERM, lambda *_: notify(b"EXTEND_TIMEOUT_USEC=600000000"))
notify(b"READY=1")
while True:
    signal.pause()
""")
    drop_in(t, "claude-bridge@.service", "[Service]\nExecStart=\nExecStart=%s\nSystemCallFilter=\nNoExecPaths=\nExecPaths=\n" % stub)
    for end in (lambda l: l.signal(signal.SIGTERM), lambda l: l.signal(signal.SIGKILL),
                lambda l: systemctl("stop", "--no-block", l.scope), lambda l: systemctl("stop", "--no-block", "claude-sandbox@%s.service" % PROFILE)):
        t.profile(PROFILE)
        launch = Launch(t, PROFILE, "sh", "-c", "echo ready; exec cat", cwd=t.tempdir(),
                        env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path})
        launch.expect("ready")
        port = launch.port
        with socket.create_connection(("127.0.0.1", port)):
            wait_for(lambda: unit_property(launch.bridge, "ActiveState") == "active", 10, "the bridge")
            end(launch)
            # Ten seconds for the manager's job, and three that it gets then.
            note("gone after %.2f s" % launch.assert_gone(20, port))


# --- podman ---------------------------------------------------------------------------------------------------

@test("podman is missing, is no program, fails, dies or ends without a word")
def _(t):
    t.profile(PROFILE)
    plain = t.tempdir() / "plain"
    plain.write_text("")
    fails(t, "/nonexistent/podman is not installed", env={"CLAUDE_PROFILE_PODMAN_BIN": "/nonexistent/podman"})
    fails(t, "Cannot start %s" % plain, env={"CLAUDE_PROFILE_PODMAN_BIN": str(plain)})
    programs = t.tempdir()
    (programs / PROGRAM).symlink_to(shutil.which(PROGRAM))
    fails(t, "podman is not installed", env={"PATH": str(programs)})
    for status in (125, 126, 127):
        wrapper = t.podman("sys.exit(%d)" % status)
        text = fails(t, r"podman failed \(status %d\) before the sandbox started" % status, status=status, env={"CLAUDE_PROFILE_PODMAN_BIN": str(wrapper)})
        assert "claude-profile build" not in text, text
    wrapper = t.podman("os.kill(os.getpid(), 9)")
    fails(t, "podman|sandbox", status=137, env={"CLAUDE_PROFILE_PODMAN_BIN": str(wrapper)})


@test("a missing image: claude-profile build is named")
def _(t):
    t.profile(PROFILE)
    fails(t, "The image no-such-image:x is missing. Make it with: claude-profile build", status=125,
          env={"CLAUDE_PROFILE_SANDBOX_IMAGE": "no-such-image:x"})


@test("pasta is missing: one sentence says so, and the status is not 0")
def _(t):
    t.profile(PROFILE)
    programs = t.tempdir()
    for path in (*Path("/usr/bin").iterdir(), *Path("/usr/lib/podman").iterdir()):
        if not path.name.startswith(("pasta", "passt")):
            (programs / path.name).symlink_to(path)
    conf = t.tempdir() / "containers.conf"
    conf.write_text('[engine]\nhelper_binaries_dir = ["%s"]\n' % programs)
    text = fails(t, "pasta", env={"PATH": str(programs), "CONTAINERS_CONF": str(conf)}, status=127)
    assert "could not find pasta" in text, text


@test("a network that is none ends the launch before the guest runs: no address, a made-up one, nobody to ask for names")
def _(t):
    t.profile(PROFILE)
    empty = t.tempdir() / "resolv.conf"
    empty.write_text("# nobody\n")
    network = "args[next(i for i, a in enumerate(args) if a.startswith('--network='))] = %r"
    ways = {
        "no address": (network % "--network=none", "pasta gave it no address", 1),
        "link-local": (network % "--network=pasta:-4,-a,169.254.7.7,-n,16,-g,169.254.7.1", "169.254", 1),
        "no resolver": ("args[1:1] = ['--volume=%s:/etc/resolv.conf:ro']" % empty, "names no server", 125),
    }
    for name, (change, says, status) in ways.items():
        text = fails(t, says, env={"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(change))}, status=status)
        note("%s: %s" % (name, text))


@test("pasta is killed: the session is told once, and goes on; at its own end nothing is said of that")
def _(t):
    t.profile(PROFILE)
    launch = Launch(t, PROFILE, "sh", "-c", "echo ready; read x; echo $x", cwd=t.tempdir())
    launch.expect("ready")
    for pid in launch.pids("pasta") + launch.pids("pasta.avx2"):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: "pasta, the sandbox's network, has died" in launch.stderr(), 10, "a word about pasta")
    launch.send("goes on\n")
    launch.expect("goes on")
    assert launch.wait() == 0 and launch.stderr().count("pasta") == 1, launch.stderr()
    assert_no_traces(PROFILE)
    p = shell(PROFILE, "true", cwd=t.tempdir())
    assert "pasta" not in p.stderr, p


# --- the mounts are compared before the guest may run ---------------------------------------------------------

EDIT = """
mounts = [i for i, a in enumerate(args) if i > 0 and args[i - 1] == "--mount"]
def find(target):
    return next(i for i in mounts if '"dst=%s"' % target in args[i])
"""

GUEST_RUN = "/run/claude-sandbox"


@test("a mount that is not as planned ends the launch before the guest runs, and is named")
def _(t):
    home = "/home/appuser"
    work = t.repository()
    main = t.tempdir() / "linked"
    run("git", "-C", work, "worktree", "add", "-q", main)
    spare = t.tempdir()
    # Were it run, this would be the guest program. It does not end before the mounts are compared.
    (spare / "claude-sandbox-guest").write_text("#!/bin/sh\ntouch %s/ran-spare\nsleep 60 & wait\n" % main)
    (spare / "claude-sandbox-guest").chmod(0o755)
    native = "/opt/claude-host/claude"
    (HOME / ".gitconfig").write_text("[user]\n\tname = x\n")
    t.cleanup((HOME / ".gitconfig").unlink)
    cases = []

    def case(target, change, fault, env=None):
        cases.append((target, change, fault, env or {}))

    for target in (GUEST_RUN + "/bin", GUEST_RUN + "/launch", native, home + "/.gitconfig"):
        case(target, "i = find(%r); args[i] = args[i].replace(',ro', '')" % target, "it can be written")
    for target in (str(main), home + "/.claude", home + "/.ssh", str(work / ".git")):
        case(target, "i = find(%r); args[i] += ',ro'" % target, "it is read-only")
    for target in (str(work / ".git"), native, home + "/.gitconfig", home + "/.ssh"):
        case(target, "i = find(%r); del args[i - 1:i + 1]" % target, "nothing is mounted there")
    for target in (str(main), home + "/.claude", home + "/.ssh", str(work / ".git")):
        case(target, "i = find(%r); args[i] = 'type=bind,src=%s,dst=%s'" % (target, spare, target), "something else is mounted there")
    case(GUEST_RUN, "i = find(%r); args[i] = 'type=bind,src=%s,dst=%s'" % (GUEST_RUN, spare, GUEST_RUN), "it is no tmpfs of its own")
    case(GUEST_RUN + "/bin", "i = find(%r + '/bin'); args[i] = args[i].split(',')[0] + ',src=%s,dst=%s/bin,ro'" % (GUEST_RUN, spare, GUEST_RUN),
         "something else is mounted there")
    # On top, by another way to the same place: in the image /var/run is a link to /run.
    case(GUEST_RUN + "/launch", "args[1:1] = ['--mount', 'type=bind,src=%s,dst=/var%s/launch']" % (spare, GUEST_RUN), "it can be written")
    case(GUEST_RUN + "/bin", "args[1:1] = ['--mount', 'type=bind,src=%s,dst=/var%s/bin,ro']" % (spare, GUEST_RUN), "something else is mounted there")
    # Over the directory above, which hides what is still in the table. By a longer path: podman mounts the shorter ones first.
    context = t.tempdir()
    (context / "z/y/x/w/v").mkdir(parents=True)
    (context / "z/y/x/w/v/u").symlink_to(home)
    run("podman", "build", "--quiet", "--network=none", "--pull=never", "--tag", "localhost/t-failures:link", "--file", "-", context,
        input="FROM localhost/rig-base:trixie\nCOPY z /z\n")
    t.cleanup(run, "podman", "rmi", "--force", "localhost/t-failures:link")
    case(home + "/.ssh", "args[1:1] = ['--mount', 'type=tmpfs,dst=/z/y/x/w/v/u']", "nothing is mounted there",
         {"CLAUDE_PROFILE_SANDBOX_IMAGE": "localhost/t-failures:link"})
    t.profile(PROFILE)

    def launch(number, change, env):
        env = dict(env, CLAUDE_PROFILE_PODMAN_BIN=str(t.podman(EDIT + change)))
        return shell(PROFILE, "touch", str(main / ("ran-%d" % number)), cwd=main, env=env, check=False)

    results = at_once([lambda n=n, c=c: launch(n, c[1], c[3]) for n, c in enumerate(cases)])
    for number, ((target, change, fault, _), p) in enumerate(zip(cases, results)):
        assert not (main / ("ran-%d" % number)).exists(), (change, p)
        assert p.returncode != 0, (change, p)
        # Where guards lie below it, these are missed first.
        assert re.search(r"(The mount at %s \([^\n]*\) is not as planned: %s\.|[^\n]*; it could not be guarded\.) The sandbox was not started\." %
                         (re.escape(target), re.escape(fault)), p.stderr), (change, p.stderr)
    note("%d ways" % len(cases))
    assert_no_traces(PROFILE)


@test("a podman or a container that ends before the guest has taken over: its status is not taken for the guest's")
def _(t):
    t.profile(PROFILE)
    fails(t, "podman ended with status 0 before", env={"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman("raise SystemExit(0)"))})
    fails(t, "podman ended with status 3 before", env={"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman("raise SystemExit(3)"))})
    # Where the comparison comes in time it says what is wrong. That the process is about to end is no error of its own.
    spare = t.tempdir()
    (spare / "claude-sandbox-guest").write_text("#!/bin/sh\n")
    (spare / "claude-sandbox-guest").chmod(0o755)
    change = EDIT + "i = find(%r); args[i] = args[i].split(',')[0] + ',src=%s,dst=%s,ro'" % (GUEST_RUN + "/bin", spare, GUEST_RUN + "/bin")
    for _ in range(10):
        fails(t, "podman ended with status 0 before|is not as planned", env={"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(change))})


@test("a guarded entry that is something else by the time the container is made, and guards that were not mounted, end the launch")
def _(t):
    profile = t.profile(PROFILE)
    root, out = t.repository(), t.tempdir()
    config = root / ".git/config"
    before = tree(out)
    name = re.escape(str(root / ".git"))
    replaced = r"%s has just been replaced by something else[^\n]*\. The sandbox was not started\."
    cases = [
        ("os.rename(%r, %r)" % (str(config), str(config) + ".away"), replaced % (name + "/config")),
        ("os.rename(%r, %r); os.symlink(%r, %r)" % (str(config), str(config) + ".away", str(out / "x"), str(config)), replaced % (name + "/config")),
        ("os.rename(%r, %r); os.symlink(%r, %r)" % (str(root / ".git"), str(root / "away"), str(out), str(root / ".git")), replaced % name),
        ("import shutil; shutil.rmtree(%r); open(%r, 'w')" % (str(root / ".git/hooks"), str(root / ".git/hooks")), replaced % (name + "/hooks")),
        ("args = [a for a in args if not a.startswith('--hooks-dir=')]",
         r"The mount at [^\n]* is not as planned: nothing is mounted there\. The sandbox was not started\."),
    ]
    (profile / "settings.json").write_text("{}\n")
    for change, says in cases:
        podman = t.podman(change)
        run("cp", "-a", root, str(root) + ".kept")
        p = shell(PROFILE, "touch", str(root / "ran"), cwd=root, env={"CLAUDE_PROFILE_PODMAN_BIN": str(podman)}, check=False)
        assert p.returncode != 0 and not (root / "ran").exists(), (change, p)
        assert re.search(says, p.stderr), (change, p)
        # No mount point was made where the link leads.
        assert tree(out) == before, change
        shutil.rmtree(root)
        os.rename(str(root) + ".kept", root)
    assert_no_traces(PROFILE)


@test("a podman that takes its time, and one that never gets as far: the guest does not run, a signal ends it")
def _(t):
    for change in ("import signal\nwhile True:\n    signal.pause()", EDIT + "i = find('/home/appuser/.ssh'); del args[i - 1:i + 1]"):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            t.profile(PROFILE)
            work = t.tempdir()
            launch = Launch(t, PROFILE, *TOUCH, cwd=work, env={"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(change))})
            wait_for(lambda: launch.pids("podman") if "pause" in change else (launch.directory / "pid").exists(), 30, "podman")
            launch.signal(number)
            assert launch.wait(10) == 137, launch.process.returncode
            launch.assert_gone(12)
            assert not (work / "ran").exists()
            t.run_cleanups()


# --- every call of the launcher -------------------------------------------------------------------------------

def fault_library(t):
    library = t.tempdir() / "fault.so"
    run("gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "fault.c", "-ldl")
    return library


class Call:
    """One of the launcher's: what it calls, with what (as the text before and after a number that is another one each time), and
    the how many-th such call it is."""

    def __init__(self, line, seen):
        self.function, argument = line.split(" ", 1)
        parts = re.split("[0-9a-f]{8}|[0-9]{2,}", argument)
        self.begin, self.end = parts[0], parts[-1] if len(parts) > 1 else ""
        key = (self.function, self.begin, self.end)
        self.number = seen[key] = seen.get(key, 0) + 1

    def __str__(self):
        return "%s %s…%s, number %d" % (self.function, self.begin, self.end, self.number)

    def environment(self):
        return {"FAULT_FUNCTION": self.function, "FAULT_BEGIN": self.begin, "FAULT_END": self.end, "FAULT_AT": str(self.number)}

    def is_the(self, function, begin):
        return self.function == function and self.begin.startswith(begin)


def fault_calls(t, library, profile, work):
    """The launcher's calls until it gives the go, and those after."""
    log = t.tempdir() / "log"
    shell(profile, "true", cwd=work)  # makes what is made once
    assert shell(profile, "echo", "ran", cwd=work, env={"LD_PRELOAD": str(library), "FAULT_LOG": str(log)}).stdout == "ran\n"
    seen = {}
    calls = [Call(line, seen) for line in log.read_text().splitlines()]
    go = next(i for i, c in enumerate(calls) if c.is_the("renameat", "guest/go"))
    # The check of the mounts asks again and again.
    return ([c for c in calls[:go + 1] if c.number <= 2 or not c.begin], [c for c in calls[go + 1:] if c.number <= 2 or not c.begin])


def for_each_call(t, choose, extra, judge):
    """Launches, one for each call that choose(before, after) takes, a few at a time. judge(call, process) says what is wrong, or None;
    when all have ended, nothing may be left of any."""
    library = fault_library(t)
    t.profile(PROFILE)
    work = t.repository()
    for hook in sorted((work / ".git/hooks").iterdir())[1:]:
        hook.unlink()  # each is copied in the same way
    logs = t.tempdir()
    before, after = fault_calls(t, library, PROFILE, work)
    chosen = choose(before, after)

    def one(call, log):
        env = dict(extra, LD_PRELOAD=str(library), FAULT_LOG=str(log), **call.environment())
        begin = time.monotonic()
        p = shell(PROFILE, "echo", "ran", cwd=work, env=env, check=False, timeout=120)
        if time.monotonic() - begin > 10:
            note("%s: %.1f s" % (call, time.monotonic() - begin))
        fault = judge(call, p) if "fault\n" in log.read_text() else "the call did not come"
        return fault and "%s: %s; %r" % (call, fault, p)
    faults = [f for f in at_once([lambda c=c, n=n: one(c, logs / str(n)) for n, c in enumerate(chosen)]) if f]
    try:
        assert_no_traces(PROFILE)
    except AssertionError as e:
        faults.append(str(e))
        # Whose it is: the launch directory's name is in its log.
        for id in set(re.findall("[0-9a-f]{8}", str(e))):
            faults += ["%s is of: %s" % (id, c) for n, c in enumerate(chosen) if id in (logs / str(n)).read_text()]
    note("%d of %d calls" % (len(chosen), len(before) + len(after)))
    assert not faults, "\n".join(faults)


@test("each call that the launcher makes before podman fails once: a message, nothing runs, nothing is left")
def _(t):
    def judge(call, p):
        said = [line for line in p.stderr.splitlines() if line.startswith("claude-profile: ") and "Isolation is" not in line]
        if p.returncode == 0:
            # What may be missing, or is tried again.
            return None if p.stdout == "ran\n" else "status 0, but nothing ran"
        return "no message" if not said else "the guest ran" if p.stdout else None

    def choose(before, after):
        # Not what is read before anything is made: those are refusals as in the tests above.
        return before[next(i for i, c in enumerate(before) if c.function == "socket"):]
    for_each_call(t, choose, {"FAULT_ERRNO": "5"}, judge)


def changes(calls):
    """From the launch directory on, what changes something, and what lies between."""
    first = next((i for i, c in enumerate(calls) if c.is_the("mkdirat", ".new-")), 0)
    return [c for c in calls[first:] if c.function not in ("openat", "open", "signalfd", "socket")]


@test("the launcher is killed at each of its steps: nothing is left")
def _(t):
    def judge(call, p):
        return None if p.returncode == -signal.SIGKILL else "status %d" % p.returncode
    for_each_call(t, lambda before, after: changes(before) + changes(after), {"FAULT_SIGNAL": "9"}, judge)


@test("the launcher gets SIGTERM at each of its steps before the guest runs: it ends, the guest does not run, nothing is left")
def _(t):
    def judge(call, p):
        if p.stdout and not call.is_the("renameat", "guest/go"):
            return "the guest ran"
        return None if p.returncode in (143, 137) or p.stdout else "status %d" % p.returncode
    for_each_call(t, lambda before, after: changes(before), {"FAULT_SIGNAL": "15"}, judge)


# --- the port -------------------------------------------------------------------------------------------------

@test("a port that somebody takes first: another one is taken; when all ten are taken the launch fails")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    agent = t.ssh_agent()
    library = fault_library(t)
    env = {"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path, "LD_PRELOAD": str(library)}
    taken = []
    for _ in range(10):
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        s.listen()
        taken.append(s)
        t.cleanup(s.close)
    ports = [s.getsockname()[1] for s in taken]
    for n in (1, 9):
        p = shell(PROFILE, "sh", "-c", "echo $CLAUDE_SANDBOX_BRIDGE_PORT; ssh-add -l", cwd=work,
                  env=dict(env, FAULT_PORTS=",".join(map(str, ports[:n]))))
        port, key = p.stdout.splitlines()
        assert int(port) not in ports and "ED25519" in key, p
        assert_no_traces(PROFILE)
    fails(t, "did not start claude-bridge@%s-[0-9a-f]{8}.socket" % PROFILE, env=dict(env, FAULT_PORTS=",".join(map(str, ports))), cwd=work)
    for s in taken:
        s.settimeout(0)
        try:
            s.accept()
            raise AssertionError("somebody connected to a port that is not the launch's")
        except BlockingIOError:
            pass


main()
