# SPDX-License-Identifier: MIT
"""What a session changed of what the host will run or obey: told at its end, by the journal, and by the next launch when nobody was
there to tell."""

from messages_stub import MessagesStub
from rigtest import *

PROFILE = "t-report"
HEADING = "Changed while the sandbox ran; the host will run or obey it:"
CHANGED_MESSAGE = "09ac4ce77ad8441cbfc813a47d894ed5"
UNREPORTED = DATA / "profiles" / PROFILE / "unreported"

# Everything by which a guest can make itself heard later, and what must not be told.
CHANGES = r"""
set -e
echo x >.envrc
mkdir -p a/.vscode .husky .devcontainer .idea deep/er .claude/hooks
echo x >a/.vscode/tasks.json
echo x >a/.vscode/notes
echo x >.husky/pre-commit
echo x >.devcontainer/devcontainer.json
echo x >.idea/run.xml
echo changed >.claude/settings.json
echo x >.claude/hooks/check
echo '{}' >deep/er/.mcp.json
echo x >.gitattributes
rm .pre-commit-config.yaml
git init -q deep/planted
git init -q --bare deep/bare
ln -s /etc/passwd deep/.envrc
echo x >"deep/$(printf 'esc\033[2J\nnew')"
mkdir "$(printf 'esc\033[2J')"; echo x >"$(printf 'esc\033[2J/.envrc')"
echo x >ops.sh
echo x >>tools/clean
cd "$CLAUDE_CONFIG_DIR"
mkdir -p skills/fresh agents
echo changed >skills/old/SKILL.md
echo x >skills/fresh/SKILL.md
chmod +x skills/old/run
echo x >agents/helper.md
echo x >CLAUDE.md
echo '{"mcpServers":{"evil":{"command":"secret-command"}},"projects":{"/elsewhere":{"hasTrustDialogAccepted":true}},"n":2}' >.claude.json
"""

ORDINARY = r"""
set -e
git config --get core.bare >/dev/null
echo more >>main.c; mkdir -p src; echo 'all:' >src/Makefile
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.invalid GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.invalid
git add -A; git commit -qm one; git switch -qc side; echo x >side.c; git add -A; git commit -qm two; git rebase -q HEAD~1
git tag t; git stash list; git gc -q
touch .envrc
mkdir -p "$CLAUDE_CONFIG_DIR/projects/x" "$CLAUDE_CONFIG_DIR/todos"
echo x >"$CLAUDE_CONFIG_DIR/projects/x/s.jsonl"
"""


def stage(t):
    profile, work = t.profile(PROFILE), t.repository()
    (work / "main.c").write_text("int main;\n")
    (work / ".envrc").write_text("export A=1\n")
    (work / ".pre-commit-config.yaml").write_text("repos: []\n")
    (work / "tools").mkdir()
    (work / "tools/clean").write_text("#!/bin/sh\nexec cat\n")
    run("git", "-C", work, "config", "filter.tidy.clean", "./tools/clean %f")
    (work / ".claude").mkdir()
    (work / ".claude/settings.json").write_text("{}\n")
    (profile / "skills/old").mkdir(parents=True)
    (profile / "skills/old/SKILL.md").write_text("old\n")
    (profile / "skills/old/run").write_text("#!/bin/sh\n")
    (profile / ".claude.json").write_text('{"n":1}')
    return profile, work


def report_of(text):
    """The lines "verb name" below the heading."""
    lines = text.splitlines()
    if HEADING not in lines:
        return None
    found = set()
    for line in lines[lines.index(HEADING) + 1:]:
        m = re.fullmatch("    (new|changed|removed|unseen) +(.+)", line)
        if m:
            found.add("%s %s" % m.groups())
        elif not line.startswith("  "):
            break
    return found


def changes_in_journal(since):
    return {"%s %s" % (e["CHANGED_HOW"], e["CHANGED"]) for e in journal("CLAUDE_PROFILE=" + PROFILE, "MESSAGE_ID=" + CHANGED_MESSAGE,
                                                                         since=since)}


@test("a session that changes one of each kind: exactly these are named, by the launcher and by the journal")
def _(t):
    begin = time.time()
    profile, work = stage(t)
    p = shell(PROFILE, "bash", "-c", CHANGES, cwd=work, env={"CLAUDE_PROFILE_SANDBOX_REPORT_PATHS": "ops.sh,absent"})
    expected = {
        "changed .envrc", "new a/.vscode/tasks.json", "new .husky/pre-commit", "new .devcontainer/devcontainer.json", "new .idea/run.xml",
        "changed .claude/settings.json", "new .claude/hooks/check", "new deep/er/.mcp.json", "new .gitattributes",
        "removed .pre-commit-config.yaml", "new deep/planted/.git", "new deep/bare", "new deep/.envrc", r"new esc\x1b[2J/.envrc",
        "new ops.sh", "changed tools/clean",
        "changed profile: skills/old/SKILL.md", "changed profile: skills/old/run", "new profile: skills/fresh/SKILL.md",
        "new profile: agents/helper.md", "new profile: CLAUDE.md",
        "new profile: .claude.json: MCP server evil", "new profile: .claude.json: /elsewhere: trusted",
    }
    found = report_of(p.stderr)
    assert found == expected, "%r\n%s" % (found and found ^ expected, p.stderr)
    assert "\x1b" not in p.stderr and "secret-command" not in p.stderr, p.stderr
    # The name that is no host-trusted one is in no line.
    assert "esc\\x1b[2J\\x0anew" not in p.stderr, p.stderr
    assert wait_for(lambda: len(changes_in_journal(begin)) >= len(expected), what="the journal") and \
        changes_in_journal(begin) == expected, changes_in_journal(begin) ^ expected
    assert not os.listdir(UNREPORTED), os.listdir(UNREPORTED)
    assert_no_traces(PROFILE)


@test("ordinary work of the real claude, with git and in a new profile, is not told")
def _(t):
    profile, work = stage(t)
    (profile / ".claude.json").unlink()
    stub = MessagesStub(ORDINARY + "echo all-done")
    t.cleanup(stub.close)
    (profile / ".env").write_text(stub.environment)
    p = run(PROGRAM, PROFILE, "-p", "work", cwd=work, timeout=120)
    assert "all-done" in p.stdout, p
    assert (profile / ".claude.json").exists()
    assert report_of(p.stderr) is None, p.stderr


@test("the launcher is killed: the journal tells, and the next launch, in the sandbox or on the host, once")
def _(t):
    profile, work = stage(t)
    for number, env in enumerate(({"CLAUDE_PROFILE_SANDBOX": "1"}, {"CLAUDE_PROFILE_SANDBOX": "0"})):
        begin = time.time()
        name = "a%d" % number
        launch = Launch(t, PROFILE, "bash", "-c", "mkdir %s; echo x >%s/.envrc; echo ready; exec tail -f /dev/null" % (name, name), cwd=work)
        launch.expect("ready")
        assert (UNREPORTED / (launch.id + ".open")).exists()
        launch.signal(signal.SIGKILL)
        launch.assert_gone()
        expected = {"new %s/.envrc" % name}
        assert changes_in_journal(begin) == expected, changes_in_journal(begin)
        assert os.listdir(UNREPORTED) == [launch.id + ".report"], os.listdir(UNREPORTED)
        p = shell(PROFILE, "true", cwd=work, env=env)
        assert "Launch %s in %s ended, and nobody saw its report:" % (launch.id, work) in p.stderr, p.stderr
        assert report_of(p.stderr) == expected, p.stderr
        assert not os.listdir(UNREPORTED), os.listdir(UNREPORTED)
        assert report_of(shell(PROFILE, "true", cwd=work, env={"CLAUDE_PROFILE_SANDBOX": "0"}).stderr) is None


@test("a session that ended with the machine: that nobody knows what it changed is said, once")
def _(t):
    profile, work = stage(t)
    UNREPORTED.mkdir(parents=True, exist_ok=True)
    (UNREPORTED / "01234567.open").write_text("/some/place")
    p = shell(PROFILE, "true", cwd=work, env={"CLAUDE_PROFILE_SANDBOX": "0"})
    assert "(launch 01234567 in /some/place) ended without a report" in p.stderr, p.stderr
    assert "01234567" not in shell(PROFILE, "true", cwd=work, env={"CLAUDE_PROFILE_SANDBOX": "0"}).stderr


@test("a terminal that goes away keeps the report for the next launch")
def _(t):
    profile, work = stage(t)
    launch = Launch(t, PROFILE, "bash", "-c", "trap 'exit 0' HUP TERM; echo x >new.c; echo x >.envrc; echo ready; "
                    "while :; do read -t 1 || :; done < <(tail -f /dev/null)", cwd=work, tty=True)
    launch.expect("ready")
    os.close(launch.master)
    launch.master = None
    launch.assert_gone()
    p = shell(PROFILE, "true", cwd=work, env={"CLAUDE_PROFILE_SANDBOX": "0"})
    assert report_of(p.stderr) == {"changed .envrc"}, p.stderr


main()
