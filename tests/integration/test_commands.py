# SPDX-License-Identifier: MIT
"""The commands that show and end what runs: ps, stop, logs."""

import json

from rigtest import *

PROFILE, OTHER = "t-commands", "t-commands-2"
WAIT = ["sh", "-c", "echo ready; exec tail -f /dev/null"]


def claude_profile(*argv, **kw):
    return run(PROGRAM, *argv, **kw)


@test("ps names each launch with what it has and does, in a pipe, as JSON and on a terminal; none, and it says so")
def _(t):
    p = claude_profile("ps")
    assert p.stdout == "" and "No sandboxed launch runs" in p.stderr, p
    assert json.loads(claude_profile("ps", "--json").stdout) == []
    t.profile(PROFILE)
    t.profile(OTHER)
    agent = t.ssh_agent()
    odd = t.tempdir() / "a\nb\x1b[31m"
    odd.mkdir()
    one = Launch(t, PROFILE, "sh", "-c", "ssh-add -l; echo ready; exec tail -f /dev/null", cwd=t.tempdir(),
                 env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path})
    one.expect("ready")
    two = Launch(t, OTHER, *WAIT, cwd=odd)
    two.expect("ready")
    wait_for(lambda: "1 served" in unit_property(one.bridge, "StatusText"), what="the bridge's status, which comes within a second")
    lines = [line.split("\t") for line in claude_profile("ps").stdout.splitlines()]
    assert [(line[0], line[1], line[3]) for line in lines] == [(one.id, PROFILE, "ssh-0"), (two.id, OTHER, "-")], lines
    assert lines[1][4].endswith("a\\x0ab\\x1b[31m") and abs(int(lines[0][2]) - time.time()) < 100, lines
    items = json.loads(claude_profile("ps", "--json").stdout)
    assert [item["launch"] for item in items] == [one.id, two.id] and items[1]["directory"] == str(odd), items
    assert "served" in items[0]["bridge"], items
    assert items[1]["bridge"] is None and items[0]["scope"] == one.scope
    assert items[0]["services"] == ["ssh-0"] and items[1]["services"] == [], items
    shown = run("script", "--quiet", "--command", "stty rows 24 columns 80; " + PROGRAM + " ps", "/dev/null",
                env=dict(ENV, NO_COLOR="1", TERM="xterm")).stdout
    lines = shown.splitlines()
    assert one.id in shown and "\x1b" not in shown and max(map(len, lines)) <= 80, shown
    column = lines[0].index("DIRECTORY")
    assert [line[column] for line in lines if line[0] != " "] == ["D", "~", "~"], shown
    assert re.fullmatch(r" +ssh-0: 0 open, 1 served, 0 refused\.", lines[2]), shown
    note(shown)
    claude_profile("stop", PROFILE)
    claude_profile("stop", OTHER)
    one.assert_gone()
    two.assert_gone()


@test("stop takes an id, the beginning of one, or a profile, and ends exactly that")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    launches = [Launch(t, PROFILE, *WAIT, cwd=work) for _ in range(3)]
    for launch in launches:
        launch.expect("ready")
    p = claude_profile("stop", launches[0].id)
    assert p.stdout == "%s of profile %s has ended.\n" % (launches[0].id, PROFILE), p
    launches[0].assert_gone(3)
    assert claude_profile("stop", launches[1].id[:7]).stdout.startswith(launches[1].id)
    launches[1].assert_gone(3)
    assert launches[2].process.poll() is None
    for word in ("", "x", launches[2].id[:3], "t-comman", "\x1b[31m", "0" * 9):
        p = claude_profile("stop", word, check=False)
        assert p.returncode == 1 and "No launch runs that" in p.stderr and "\x1b" not in p.stderr, p
    # A profile's name is never the beginning of an id, also when nothing of it runs.
    t.profile(launches[2].id[:4])
    p = claude_profile("stop", launches[2].id[:4], check=False)
    assert p.returncode == 1 and "No sandboxed launch of profile %s runs" % launches[2].id[:4] in p.stderr, p
    assert launches[2].process.poll() is None
    claude_profile("stop", PROFILE)
    launches[2].assert_gone(3)
    assert claude_profile("stop", PROFILE, check=False).returncode == 1


@test("logs shows a launch's journal, its bridge's entries included, while it runs (-f), when it has ended, explained (-x); and a profile's")
def _(t):
    t.profile(PROFILE)
    agent = t.ssh_agent()
    launch = Launch(t, PROFILE, "sh", "-c", "ssh-add -l; bridge-connect gpg; read x; echo x > .envrc; ssh-add -l; echo ready; read x",
                    cwd=t.tempdir(), env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path})
    following = subprocess.Popen([PROGRAM, "logs", "-f", launch.id], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=ENV)
    t.cleanup(following.wait)
    t.cleanup(following.kill)
    seen = b""

    def follow(text):
        nonlocal seen
        while text not in seen:
            assert select.select([following.stdout], [], [], 30)[0], seen
            seen += os.read(following.stdout.fileno(), 65536)
    follow(b"Refused")
    launch.send("\n")
    launch.expect("ready")
    follow(b"Served ssh-0")
    launch.send("\n")
    launch.assert_gone()
    follow(b"ended with status 0")
    run("journalctl", "--sync", check=False)
    text = claude_profile("logs", "-x", launch.id).stdout
    for words in ("Subject: A connection to a sandbox's bridge was refused", "The token was right, but the launch does not have that service.",
                  "Subject: A sandbox has changed what the host trusts", ".envrc", "Look at it", "man:claude-profile(1)"):
        assert words in text, (words, text)
    assert all(json.loads(line)["MESSAGE"] for line in claude_profile("logs", "--json", launch.id).stdout.splitlines())
    for word in (launch.id, launch.id[:6]):
        text = claude_profile("logs", word).stdout
        assert "Launch %s started" % launch.id in text and "Served ssh-0" in text and "Launch %s ended" % launch.id in text, text
    assert "podman" not in text and "container" not in text, text
    assert launch.id in claude_profile("logs", PROFILE).stdout
    for word in ("0", "nobody", "zzzz", "--", "\x1b", "0" * 8, "0" * 9):
        p = claude_profile("logs", "--", word, check=False)
        assert p.returncode == 1 and "\x1b" not in p.stderr and p.stdout == "", (word, p)


main()
