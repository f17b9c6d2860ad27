# SPDX-License-Identifier: MIT
"""The host's gpg-agent in a sandbox: it signs, by its restricted socket only; it is killed and comes back, whoever starts it; no secret
key is inside, and no agent."""

import elsewhere
from elsewhere import Elsewhere
from rigtest import *

PROFILE = "t-gpg"
GNUPG = HOME / ".gnupg"
SOCKETS = RUNTIME / "gnupg"
EXTRA, FULL = SOCKETS / "S.gpg-agent.extra", SOCKETS / "S.gpg-agent"
UNITS = ["gpg-agent.socket", "gpg-agent-extra.socket", "gpg-agent-ssh.socket", "gpg-agent-browser.socket"]
INSIDE = "/home/appuser/.gnupg/S.gpg-agent"
NAME, MAIL = "Dev Eloper", "dev@example.invalid"
ENABLED = {"CLAUDE_PROFILE_SANDBOX_GPG_AGENT": "1"}

FORBIDDEN = ["EXPORT_KEY x", "GENKEY", "PRESET_PASSPHRASE x -1 41", "KILLAGENT", "UPDATESTARTUPTTY"]


def set_aside(t, path):
    """A place of the user's that a test needs for itself."""
    kept = path.with_name(path.name + ".kept-by-test")
    if path.exists() and not kept.exists():
        path.rename(kept)

    def back():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if kept.exists():
            kept.rename(path)
    t.cleanup(back)


def agent_pids():
    found = []
    for p in Path("/proc").glob("[0-9]*"):
        try:
            if p.stat().st_uid == os.getuid() and (p / "comm").read_text() == "gpg-agent\n":
                found.append(int(p.name))
        except OSError:
            pass
    return found


def kill_agent():
    # So often that the manager would refuse to start it again.
    systemctl("reset-failed", "--quiet", "gpg-agent.service", check=False)
    for pid in agent_pids():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not agent_pids(), 5, "the agent's death")


def units(t, how):
    """active: systemd listens and starts the agent. stopped: it would if asked. masked: it does not, as where GnuPG has no units."""
    if how == "masked":
        systemctl("mask", "--runtime", "--now", "--quiet", *UNITS)
    else:
        systemctl("start" if how == "active" else "stop", *UNITS)
    kill_agent()
    for path in SOCKETS.glob("S.gpg-agent*") if how == "masked" else ():
        path.unlink()


def units_back():
    systemctl("unmask", "--runtime", "--quiet", *UNITS)
    systemctl("stop", "--quiet", *UNITS, "gpg-agent.service")
    kill_agent()
    systemctl("reset-failed", "--quiet", "gpg-agent.service", *UNITS, check=False)
    for path in SOCKETS.glob("S.gpg-agent*"):
        path.unlink()
    systemctl("start", *UNITS)


def key(t, how="active"):
    """dev's own GnuPG home with a key that needs no passphrase, told to git. Returns the key's fingerprint."""
    set_aside(t, GNUPG)
    set_aside(t, HOME / ".gitconfig")
    t.cleanup(units_back)
    units_back()
    GNUPG.mkdir(mode=0o700)
    run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "%s <%s>" % (NAME, MAIL), "ed25519", "sign", "never")
    listed = run("gpg", "--list-keys", "--with-colons", MAIL).stdout
    fingerprint = re.search("^fpr:+([0-9A-F]+):", listed, re.M).group(1)
    (HOME / ".gitconfig").write_text("[user]\nname = %s\nemail = %s\nsigningkey = %s\n" % (NAME, MAIL, fingerprint))
    units(t, how)
    return fingerprint


def start(t, cwd, **kw):
    t.profile(PROFILE)
    launch = Launch(t, PROFILE, *Elsewhere.ARGV, cwd=cwd, env=ENABLED, **kw)
    return launch, Elsewhere.in_launch(launch)


def finish(launch):
    launch.process.stdin.close()
    assert launch.wait() == 0, launch.stderr()
    assert_no_traces(PROFILE)


def commit(there, cwd):
    return there.run_program(["git", "commit", "-q", "-S", "--allow-empty", "-m", "inside"], cwd=str(cwd), timeout=60)


def assert_signed(repository, fingerprint):
    p = run("git", "-C", repository, "verify-commit", "--raw", "HEAD", check=False)
    assert p.returncode == 0 and "VALIDSIG " + fingerprint in p.stderr, p
    assert run("git", "-C", repository, "log", "-1", "--format=%s %an %ae").stdout == "inside %s %s\n" % (NAME, MAIL)


def cgroups_of_agent():
    return [Path("/proc/%d/cgroup" % pid).read_text() for pid in agent_pids()]


@test("git commit -S inside makes a signature that verifies on the host; no secret key is inside")
def _(t):
    fingerprint = key(t)
    keygrips = [p.stem for p in (GNUPG / "private-keys-v1.d").iterdir()]
    assert keygrips
    repository = t.repository()
    launch, there = start(t, repository)
    p = commit(there, repository)
    assert p["status"] == 0, p
    assert_signed(repository, fingerprint)
    assert there.run_program(["git", "-C", str(repository), "verify-commit", "HEAD"])["status"] == 0

    there.run_program(["sh", "-c", "echo text > text && gpg -q --batch --clearsign text"], cwd=str(repository))
    assert fingerprint in run("gpg", "--batch", "--status-fd=1", "--verify", repository / "text.asc").stdout

    # The public key is there; of the secret one neither a file nor a way to get it.
    assert fingerprint in there.run_program(["gpg", "--list-keys"])["output"]
    p = there.run_program(["gpg", "--batch", "--export-secret-keys", fingerprint])
    assert "PRIVATE KEY" not in p["output"] and "Forbidden" in p["output"], p
    names = " -o ".join("-name '*%s*'" % n for n in ["private-keys-v1.d", "secring", *keygrips])
    found = there.run_program(["sh", "-c", "find / -xdev \\( %s \\) 2>/dev/null; find ~ /run %s \\( %s \\) 2>/dev/null" %
                               (names, repository, names)])["output"].split()
    assert not [f for f in found if any(k in f for k in keygrips) or Path(f).name != "private-keys-v1.d"], found
    for directory in found:
        assert there.run_program(["ls", "-A", directory])["output"] == "", directory
    p = there.run_program(["stat", "-c", "%a %U %F", INSIDE, str(Path(INSIDE).parent)])
    assert p["output"].splitlines() == ["600 appuser socket", "700 appuser directory"], p
    finish(launch)


@test("the agent's greeting comes through bridge-connect gpg, and no other service does")
def _(t):
    key(t)
    t.profile(PROFILE)
    script = """printf 'GETINFO version\\nBYE\\n' | bridge-connect gpg; echo status $?
        for service in ssh-0 gpg2 'gpg x' ''; do bridge-connect "$service" </dev/null; echo refused $?; done"""
    p = shell(PROFILE, "bash", "-c", script, cwd=t.tempdir(), env=ENABLED)
    version = run("gpg-connect-agent", "GETINFO version", "/bye").stdout.split()[1]
    lines = p.stdout.splitlines()
    assert lines[0].startswith("OK Pleased to meet you"), p
    assert lines[1:3] == ["D " + version, "OK"] and "status 0" in lines, p
    assert lines[-4:] == ["refused 1"] * 4 and not p.stderr.count("bridge-connect"), p
    assert_no_traces(PROFILE)


@test("B11: what the restricted socket forbids is answered so, and the line stays good")
def _(t):
    fingerprint = key(t)
    repository = t.repository()
    launch, there = start(t, repository)
    pids = wait_for(agent_pids)

    def command(line, ask=there.ask, path=INSIDE):
        return ask(path, line.encode() + b"\nBYE\n")["received"].decode().splitlines()[1:]
    version = command("GETINFO version")
    assert version[0].startswith("D 2.") and version[1] == "OK", version
    assert command("GETINFO restricted")[0] == "OK" and command("GETINFO restricted", elsewhere.ask, str(FULL))[0] != "OK"
    # Forbidden by GnuPG 2.2; 2.4 lists nothing there.
    listed = command("KEYINFO --list")
    assert listed[0] == "OK" or "Forbidden" in listed[0], listed
    assert command("KEYINFO --list", elsewhere.ask, str(FULL))[0].startswith("S KEYINFO ")
    for line in FORBIDDEN:
        answer = command(line)
        assert answer[0].startswith("ERR ") and "Forbidden" in answer[0], (line, answer)
        assert answer[1].startswith("OK"), (line, answer)
    assert agent_pids() == pids, "the agent lives on"
    # All on one connection, and then a signature.
    answer = there.ask(INSIDE, ("\n".join(FORBIDDEN) + "\nGETINFO version\nBYE\n").encode())["received"].decode()
    assert answer.count("Forbidden") == len(FORBIDDEN) and "\nD 2." in answer, answer
    assert commit(there, repository)["status"] == 0
    assert_signed(repository, fingerprint)
    finish(launch)


def recovers(how):
    @test("the host's gpg-agent is killed and signing recovers (its systemd sockets are %s)" % how)
    def _(t):
        fingerprint = key(t, how)
        repository = t.repository()
        launch, there = start(t, repository)
        inode = there.run_program(["stat", "-c", "%i", INSIDE])
        for n in range(3):
            p = commit(there, repository)
            assert p["status"] == 0, (n, p)
            assert_signed(repository, fingerprint)
            # Whoever started it: not from within the launch, which would take it along.
            assert agent_pids() and not [c for c in cgroups_of_agent() if "claude-sandbox-" + PROFILE in c], cgroups_of_agent()
            if how == "stopped":
                systemctl("stop", *UNITS)
            kill_agent()
        assert commit(there, repository)["status"] == 0
        assert there.run_program(["stat", "-c", "%i", INSIDE]) == inode
        survivor = agent_pids()
        finish(launch)
        assert agent_pids() == survivor, "it survives the launch that had it started"
        assert run("gpg-connect-agent", "--no-autostart", "GETINFO pid", "/bye").stdout.split()[1] == str(survivor[0])


for state in ("active", "stopped", "masked"):
    recovers(state)


@test("B11: an outage: signing fails, gpg inside starts no agent of its own, and afterwards it signs again")
def _(t):
    fingerprint = key(t, "masked")
    repository = t.repository()
    launch, there = start(t, repository)
    assert commit(there, repository)["status"] == 0
    before = there.run_program(["stat", "-c", "%i %n", INSIDE])
    for conf in ("gpg.conf", "common.conf"):
        assert "no-autostart" in there.run_program(["cat", "/home/appuser/.gnupg/" + conf])["output"].split(), conf

    # Whoever tries to start one fails.
    (GNUPG / "gpg-agent.conf").write_text("no-such-option\n")
    kill_agent()
    begin = time.monotonic()
    rounds = 0
    while time.monotonic() - begin < 5:
        for argv in (["gpg", "--batch", "--clearsign", "-o-", "/etc/hostname"], ["gpg", "-K"], ["gpg-connect-agent", "GETINFO pid", "/bye"]):
            p = there.run_program(argv)
            assert p["status"] != 0 or "BEGIN PGP" not in p["output"], (argv, p)
        rounds += 1
    note("%d rounds of an outage" % rounds)
    inside = there.run_program(["sh", "-c", "ps -eo comm | grep -c '^gpg-agent'; stat -c '%%i %%n' %s" % INSIDE])["output"]
    assert inside == "0\n" + before["output"], inside

    (GNUPG / "gpg-agent.conf").unlink()
    wait_for(lambda: commit(there, repository)["status"] == 0, 10, "a signature")
    assert_signed(repository, fingerprint)
    finish(launch)


@test("no restricted socket: off with a note, never the full socket")
def _(t):
    fingerprint = key(t, "masked")
    (GNUPG / "gpg-agent.conf").write_text("extra-socket none\nbrowser-socket none\n")
    run("gpg-connect-agent", "/bye")
    assert FULL.exists() and not EXTRA.exists()
    t.profile(PROFILE)
    work = t.tempdir()
    script = "echo home ${GNUPGHOME-none}; ls -A ~/.gnupg 2>/dev/null; test ! -e /run/claude-sandbox/bridge && gpg -K 2>&1; echo end"
    p = shell(PROFILE, "bash", "-c", script, cwd=work, env=ENABLED)
    assert "home none\n" in p.stdout and p.stdout.endswith("end\n"), p
    assert "S.gpg-agent" not in p.stdout and fingerprint not in p.stdout, p
    assert "restricted socket" in p.stderr and "the sandbox gets none" in p.stderr, p
    assert_no_traces(PROFILE)


@test("no GnuPG on the host: off with a note")
def _(t):
    t.profile(PROFILE)
    path = t.tempdir()
    for program in os.listdir("/usr/bin"):
        if not program.startswith("gpg"):
            (path / program).symlink_to("/usr/bin/" + program)
    p = shell(PROFILE, "bash", "-c", "echo home ${GNUPGHOME-none}", cwd=t.tempdir(), env=dict(ENABLED, PATH=str(path)))
    assert p.stdout == "home none\n" and "GnuPG is not installed" in p.stderr, p
    assert_no_traces(PROFILE)


main()
