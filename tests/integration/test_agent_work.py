# SPDX-License-Identifier: MIT
"""The ordinary work of an agent goes on under the guards: git's commands, each with the status that people know, in a main checkout
and in a linked worktree; other worktrees survive; hooks run; claude saves its settings."""

import json

from messages_stub import MessagesStub
from rigtest import *

PROFILE = "t-work"
GIT = dict(ENV, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.invalid", GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@example.invalid",
           GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="protocol.file.allow", GIT_CONFIG_VALUE_0="always")

# In this order, in one repository: command, status, what it says. None: nothing.
SAVE = "could not write config file"
COMMANDS = [
    ("git status --porcelain", 0, None), ("echo 1 > new && git add new && git commit -q -m one", 0, None), ("git branch plain", 0, None),
    ("git switch -q -c topic", 0, None), ("echo 2 > two && git add two && git commit -q -m two", 0, None), ("git rebase -q @{-1}", 0, None),
    ("echo 3 >> two && git stash -q && git stash pop -q", 0, None), ("git checkout -q -- two", 0, None),
    ("git switch -q - && git merge -q --no-edit topic", 0, None), ("git tag -a -m t v1", 0, None), ("git reset -q --hard HEAD~1", 0, None),
    ("git fetch -q", 0, None), ("git pull -q --no-rebase origin main", 0, None), ("git push -q origin HEAD", 0, None),
    ("git gc --quiet", 0, None), ("git notes add -m n", 0, None), ("git bisect start && git bisect reset", 0, ""),
    ("git cherry-pick topic", 0, ""), ("git worktree add -q inner && git worktree remove inner", 0, None),
    ("git clone -q . /tmp/clone", 0, None), ("git worktree list && git worktree prune", 0, "locked"),
    ("git checkout -q -b tracked --track origin/main", 0, SAVE), ("git push -q -u origin HEAD:pushed", 0, SAVE),
    ("git branch -q -D plain", 0, SAVE), ("git branch -m topic renamed", 128, SAVE),
    ("git config a.b c", 4, SAVE), ("git remote add x y", 128, SAVE), ("git sparse-checkout set x", 1, SAVE),
]
SUBMODULE_COMMANDS = [
    ("cd part && echo 4 > four && git add four && git commit -q -m four", 0, None), ("git submodule update --init", 128, SAVE),
    ("git submodule sync", 128, SAVE), ("git mv part moved", 128, "Device or resource busy"),
    ("git -c protocol.file.allow=always submodule add -q $PWD/part.git second", 0, SAVE),
]


def git(*argv, **kw):
    return run("git", *argv, env=GIT, **kw)


def scene(t):
    """A repository, a submodule in it, and a worktree elsewhere that has something only in its index; both paths."""
    part = t.repository()
    root = t.tempdir() / "root"
    git("init", "-q", "-b", "main", root)
    # Remotes that the guest can reach: in the work root, and unknown to git there.
    git("init", "-q", "-b", "main", "--bare", root / "remote.git")
    git("clone", "-q", "--bare", part, root / "part.git")
    (root / ".git/info/exclude").write_text("remote.git\npart.git\n")
    for key, value in (("user.name", "a"), ("user.email", "a@example.invalid"), ("remote.origin.url", root / "remote.git"),
                       ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")):
        git("-C", root, "config", key, value)
    git("-C", root, "submodule", "--quiet", "add", part, "part")
    for key, value in (("user.name", "a"), ("user.email", "a@example.invalid")):
        git("-C", root / "part", "config", key, value)
    git("-C", root, "commit", "-q", "-m", "first")
    (root / "zero").write_text("0\n")
    git("-C", root, "add", "zero")
    git("-C", root, "commit", "-q", "-m", "second")
    git("-C", root, "push", "-q", "-u", "origin", "main")
    other = t.tempdir() / "other"
    git("-C", root, "worktree", "add", "-q", "-b", "other", other)
    (other / "staged").write_text("only in that worktree's index\n")
    git("-C", other, "add", "staged")
    return root, other


def work(cwd, commands):
    """All in one sandbox."""
    script = "".join("(%s) >/tmp/out 2>&1; echo $?; cat /tmp/out; echo @@\n" % c for c, _, _ in commands)
    p = shell(PROFILE, "bash", "-c", script, cwd=cwd, check=False, timeout=120)
    said = p.stdout.split("@@\n")
    assert len(said) == len(commands) + 1, p
    wrong = []
    for (command, status, text), answer in zip(commands, said):
        got, _, output = answer.partition("\n")
        if int(got) != status or (text is None and output) or (text and text not in output):
            wrong.append((command, status, text, got, output))
    assert not wrong, "\n".join(map(repr, wrong))


@test("git in a main checkout: what works silently, what says that the configuration was not saved, what fails; other worktrees survive")
def _(t):
    t.profile(PROFILE)
    root, other = scene(t)
    config = (root / ".git/config").read_bytes()
    work(root, COMMANDS + SUBMODULE_COMMANDS)
    assert (root / ".git/config").read_bytes() == config
    # The guest's gc and prune left the other worktree alone, with what only its index knows.
    assert git("-C", other, "status", "--porcelain").stdout == "A  staged\n"
    assert git("-C", other, "show", ":staged").stdout == "only in that worktree's index\n"
    assert str(other) in git("-C", root, "worktree", "list").stdout and not (root / ".git/worktrees/other/locked").exists()
    git("-C", root, "status")
    git("-C", root, "fsck", "--strict")
    assert git("-C", root / "remote.git", "log", "-1", "--format=%s", "main").stdout == "one\n"


@test("git in a linked worktree: the same, and the main checkout survives")
def _(t):
    t.profile(PROFILE)
    root, other = scene(t)
    git("-C", other, "rm", "-q", "--cached", "staged")
    (other / "staged").unlink()
    # The remote lies in the other checkout, which this sandbox has not: a copy of its own.
    run("cp", "-a", root / "remote.git", other / "remote.git")
    git("-C", root, "config", "remote.origin.url", other / "remote.git")
    (root / "staged").write_text("in the main checkout's index\n")
    git("-C", root, "add", "staged")
    work(other, [(c, s, text) for c, s, text in COMMANDS if "worktree list" not in c] + [("git worktree list; git worktree prune", 0, "")])
    assert git("-C", root, "status", "--porcelain").stdout == "A  staged\n"
    assert git("-C", root, "show", ":staged").stdout == "in the main checkout's index\n"
    git("-C", root, "fsck", "--strict")
    assert git("-C", other, "log", "-1", "--format=%s").stdout


@test("a work tree and a profile that belong to a group which is nobody's in the sandbox: guarded, and worked in, like any other")
def _(t):
    profile = t.profile(PROFILE)
    root = t.repository()
    run("sudo", "chgrp", "-R", "root", root, profile)
    # The runtime itself changes into the work root, as a user of its own.
    root.chmod(0o711)
    for path in (root / ".git", root / ".git/hooks", profile):
        path.chmod(0o700)
    p = shell(PROFILE, "sh", "-c", "echo x >> .git/config; git -c user.name=a -c user.email=a@example.invalid commit -q --allow-empty -m x; echo $?", cwd=root)
    assert p.stdout == "0\n" and "Read-only" in p.stderr, p


@test("hooks run, from the copy: git's own directory, and one in the tree that core.hooksPath names, as husky has it")
def _(t):
    t.profile(PROFILE)
    root, _ = scene(t)
    hook = "#!/bin/sh\necho %s >> ran\n"
    for path in (root / ".git/hooks/pre-commit", root / ".husky/_/pre-commit", root / ".husky/pre-commit"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(hook % path.parent.name)
        path.chmod(0o755)
    (root / ".husky/_/pre-commit").write_text("#!/bin/sh\nexec sh \"${0%/*}/../pre-commit\"\n")
    script = "git commit -q --allow-empty -m x; cat ran; echo changed > $(git rev-parse --git-path hooks)/pre-commit"
    assert shell(PROFILE, "sh", "-c", script, cwd=root).stdout == "hooks\n"
    git("-C", root, "config", "core.hooksPath", ".husky/_")
    (root / "ran").unlink()
    assert shell(PROFILE, "sh", "-c", script, cwd=root).stdout == ".husky\n"
    assert (root / ".git/hooks/pre-commit").read_text() == hook % "hooks"
    assert "pre-commit" in (root / ".husky/_/pre-commit").read_text()


@test("claude, inside: a whole turn, with plugins and hooks read-only; it saves its settings, which stay with the launch")
def _(t):
    profile = t.profile(PROFILE)
    root, _ = scene(t)
    for name in ("plugins", "hooks", "shell-snapshots", "session-env", "chrome"):
        (profile / name).mkdir()
    settings = '{"theme": "dark",   "enabledPlugins": {"p@m": true}, "permissions": {"deny": ["Bash(sudo:*)"]}}\n'
    (profile / "settings.json").write_text(settings)
    # claude itself saves: a new file beside the old one, and where that cannot take its place, in place.
    stub = MessagesStub("cat ~/.claude/settings.json; claude plugin disable p@m --scope user; cat ~/.claude/settings.json; ls -A ~/.claude | grep settings; "
                        "ls ~/.claude/shell-snapshots | wc -l")
    t.cleanup(stub.close)
    (profile / ".env").write_text(stub.environment)
    p = run(PROGRAM, PROFILE, "-p", "look", cwd=root, timeout=120)
    said = json.loads(p.stdout[p.stdout.index("RESULT ") + len("RESULT "):])
    text = said if isinstance(said, str) else said[0]["text"]
    # The rule that is about the host is gone from the copy, and nothing else.
    assert '{"theme": "dark",   "enabledPlugins": {"p@m": true}, "permissions": {"deny": []}}' in text, text
    assert re.search(r'"enabledPlugins": \{\s*"p@m": false', text) and "\nsettings.json\n" in text, text
    assert (profile / "settings.json").read_text() == settings
    assert not list((profile / "shell-snapshots").iterdir()) and not list((profile / "session-env").iterdir())
    assert "could not" not in p.stderr.lower() and "read-only" not in p.stderr.lower(), p.stderr


main()
