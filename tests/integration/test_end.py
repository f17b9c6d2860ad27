# SPDX-License-Identifier: MIT
"""However a launch ends, nothing of it stays: the kill matrix."""

from rigtest import *

PROFILE = "t-end"
POLITE = ["bash", "-c", "trap 'echo bye >> $PWD/bye; exit 3' TERM HUP INT; echo ready; while :; do read -t 1 || :; done < <(tail -f /dev/null)"]
STUBBORN = ["bash", "-c", "trap '' TERM HUP INT; echo ready; while :; do read -t 1 || :; done < <(tail -f /dev/null)"]
QUICK, LATEST = 3, 12


def start(t, command=POLITE, **kw):
    t.profile(PROFILE)
    work = t.tempdir()
    agent = t.ssh_agent()
    launch = Launch(t, PROFILE, *command, cwd=work, env={"CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path}, **kw)
    launch.work = work
    launch.expect("ready")
    launch.port_number = launch.port
    return launch


def assert_bye(launch, times=1):
    said = wait_for(lambda: (launch.work / "bye").exists() and (launch.work / "bye").read_text(), 5, "the guest's last word")
    assert said == "bye\n" * times, said


def victims(launch, who):
    return {
        "launcher": lambda: [launch.process.pid],
        "podman": lambda: launch.pids("podman"),
        "conmon": lambda: launch.pids("conmon"),
        "guest": lambda: [int((launch.directory / "pid").read_text())],
    }[who]()


def matrix(who, number, command, bound):
    @test("%s gets %s, the guest is %s: nothing is left after %d s" %
          (who, signal.Signals(number).name, "polite" if command is POLITE else "stubborn", bound))
    def _(t):
        launch = start(t, command)
        for pid in victims(launch, who):
            os.kill(pid, number)
        took = launch.assert_gone(bound, launch.port_number)
        note("%s %s: gone after %.2f s" % (who, signal.Signals(number).name, took))
        if command is POLITE and who == "launcher" and number != signal.SIGKILL:
            assert_bye(launch)
            assert launch.wait() == 3, launch.process.returncode


for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
    for who in ("launcher", "podman", "conmon"):
        matrix(who, number, POLITE, QUICK if number != signal.SIGKILL else LATEST)
for number in (signal.SIGTERM, signal.SIGKILL):
    matrix("launcher", number, STUBBORN, LATEST)
    matrix("podman", number, STUBBORN, LATEST)
matrix("guest", signal.SIGKILL, STUBBORN, QUICK)


@test("systemctl stop of the supervisor ends the launch, the guest hears SIGTERM once")
def _(t):
    launch = start(t)
    systemctl("stop", "claude-sandbox@%s.service" % PROFILE)
    launch.assert_gone(QUICK, launch.port_number)
    assert_bye(launch)
    assert launch.wait() == 3


@test("systemctl stop of the supervisor ends a stubborn launch")
def _(t):
    launch = start(t, STUBBORN)
    systemctl("stop", "--no-block", "claude-sandbox@%s.service" % PROFILE)
    launch.assert_gone(LATEST, launch.port_number)


@test("systemctl stop of the scope ends the launch")
def _(t):
    launch = start(t)
    systemctl("stop", launch.scope)
    launch.assert_gone(QUICK, launch.port_number)
    assert_bye(launch)


@test("a second SIGTERM shortens the wait")
def _(t):
    launch = start(t, STUBBORN)
    launch.signal(signal.SIGTERM)
    launch.signal(signal.SIGTERM)
    launch.signal(signal.SIGHUP)
    launch.assert_gone(QUICK, launch.port_number)
    assert launch.wait() == 137


@test("SIGINT sent to the launcher alone reaches the guest")
def _(t):
    launch = start(t)
    launch.signal(signal.SIGINT)
    launch.assert_gone(QUICK, launch.port_number)
    assert_bye(launch)


@test("closing the terminal ends the launch, the guest hears SIGHUP once")
def _(t):
    launch = start(t, tty=True)
    os.close(launch.master)
    launch.master = None
    launch.assert_gone(QUICK, launch.port_number)
    assert_bye(launch)


@test("on a terminal, closing it ends a stubborn guest too")
def _(t):
    launch = start(t, STUBBORN, tty=True)
    os.close(launch.master)
    launch.master = None
    launch.assert_gone(LATEST, launch.port_number)


@test("processes that hide in sessions of their own end with the launch")
def _(t):
    hide = "setsid bash -c 'exec -a hidden1 cat' < <(tail -f /dev/null) & (setsid tail -f /dev/null & disown) ; echo ready; exec tail -f /dev/null"
    for how in (signal.SIGTERM, signal.SIGKILL):
        launch = start(t, ["bash", "-c", hide])
        launch.signal(how)
        launch.assert_gone(LATEST, launch.port_number)


@test("the supervisor is killed: it comes back, the launch goes on and is still guarded")
def _(t):
    launch = start(t)
    unit = "claude-sandbox@%s.service" % PROFILE
    before = unit_property(unit, "MainPID")
    os.kill(int(before), signal.SIGKILL)
    wait_for(lambda: unit_property(unit, "MainPID") not in ("0", before), 10, "the new supervisor")
    wait_for(lambda: launch.id in unit_property(unit, "StatusText"), 10, "the launch in its status")
    launch.signal(signal.SIGKILL)
    launch.assert_gone(LATEST, launch.port_number)


@test("launcher and supervisor are killed together: the next supervisor clears away")
def _(t):
    launch = start(t)
    unit = "claude-sandbox@%s.service" % PROFILE
    os.kill(int(unit_property(unit, "MainPID")), signal.SIGKILL)
    launch.signal(signal.SIGKILL)
    launch.assert_gone(LATEST, launch.port_number)


@test("what a dead launch left does not hinder the next one")
def _(t):
    launch = start(t)
    launch.signal(signal.SIGKILL)
    other = start(t)
    other.signal(signal.SIGTERM)
    other.assert_gone(QUICK, other.port_number)
    launch.assert_gone(LATEST, launch.port_number)


@test("the terminal's modes come back when podman is killed")
def _(t):
    import termios
    launch = start(t, STUBBORN, tty=True)
    saved = termios.tcgetattr(launch.master)
    assert not saved[3] & termios.ECHO, "podman has put the terminal into raw mode"
    for pid in launch.pids("podman"):
        os.kill(pid, signal.SIGKILL)
    launch.assert_gone(LATEST, launch.port_number)
    assert termios.tcgetattr(launch.master)[3] & termios.ECHO


main()
