# SPDX-License-Identifier: MIT
"""What a sandbox gets beyond its work tree and profile: each seen from inside, and its absence."""

import http.server
import json

from messages_stub import MessagesStub
from rigtest import *

PROFILE = "t-gets"


def inside(cwd, script, env=None, **kw):
    return shell(PROFILE, "sh", "-c", script, cwd=cwd, env=env, **kw)


@test("links of the profile to ~/.claude: read-only at their place; any other link is skipped with a word; none, nothing")
def _(t):
    profile = t.profile(PROFILE)
    work = t.tempdir()
    assert not (HOME / ".claude").exists(), "~/.claude is in the way"
    t.cleanup(shutil.rmtree, HOME / ".claude", ignore_errors=True)
    p = inside(work, "ls -d %s/.claude; grep -c 'mcp.json\\|sandbox/settings.json\\|storage.conf\\|\\.git' /proc/self/mountinfo" % HOME, check=False)
    assert p.returncode != 0 and p.stdout == "0\n", p

    (HOME / ".claude/commands").mkdir(parents=True)
    (HOME / ".claude/commands/x.md").write_text("a command\n")
    (HOME / ".claude/statusline.sh").write_text("#!/bin/sh\necho line\n")
    (HOME / ".claude/secret").write_text("not shared\n")
    (profile / "commands").symlink_to(HOME / ".claude/commands")
    (profile / "statusline.sh").symlink_to(HOME / ".claude/statusline.sh")
    (profile / "skills").symlink_to(HOME / ".ssh")
    p = inside(work, "cat ~/.claude/commands/x.md; sh ~/.claude/statusline.sh; ls %s/.claude; ls ~/.claude/skills/; "
               "echo x > ~/.claude/commands/new; echo x > ~/.claude/statusline.sh" % HOME, check=False)
    assert p.stdout == "a command\nline\ncommands\nstatusline.sh\n", p
    assert p.stderr.count("Read-only file system") == 2, p
    assert "skills is a link to %s, not to ~/.claude/skills" % (HOME / ".ssh") in p.stderr, p
    assert sorted(os.listdir(HOME / ".claude/commands")) == ["x.md"]


@test(".mcp.json of the directories above: read-only copies; a link that another sandbox put there is not followed")
def _(t):
    t.profile(PROFILE)
    top = t.tempdir()
    work = top / "a/b"
    work.mkdir(parents=True)
    text = '{"mcpServers":{"s":{"command":"sh","args":["-c","R=${R%/}; echo ${A:-${HOME}/d}"]}}}'
    (top / ".mcp.json").write_text(text)
    secret = t.tempdir() / "secret"
    secret.write_text("key\n")
    (top / "a/.mcp.json").symlink_to(secret)
    p = inside(work, "cat %s/.mcp.json; cat %s/a/.mcp.json; echo x > %s/.mcp.json" % (top, top, top), check=False)
    assert p.stdout == text and "No such file" in p.stderr and "Read-only" in p.stderr, p
    assert "a/.mcp.json is reached through a link" in p.stderr, p
    assert (top / ".mcp.json").read_text() == text and not (work / ".mcp.json").exists()


@test("forwarded variables, gh's token and Infisical's arrive; they are in nobody's arguments and not in podman's configuration")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    assert not (HOME / ".infisical").exists()
    (HOME / ".infisical").mkdir()
    t.cleanup(shutil.rmtree, HOME / ".infisical")
    (HOME / ".infisical/infisical-config.json").write_text(json.dumps({"loggedInUserEmail": "a@corp.example", "loggedInUsers": [
        {"email": "a@corp.example", "domain": "https://i.corp.example/api"}, {"email": "b@else.example", "domain": "https://i.else.example"}]}))
    programs = t.tempdir()
    t.program("import sys\nprint('gh-' + 'token-' + sys.argv[4])\n", programs, "gh")  # a stand-in for GitHub's gh
    # A stand-in for secret-tool, with a token that is good until 2100.
    t.program("import sys\nprint('{\"JTWToken\":\"h.eyJleHAiOjQxMDI0NDQ4MDB9.' + sys.argv[5][0] + '\"}')\n", programs, "secret-tool")
    record = t.tempdir() / "record"
    env = {"CLAUDE_PROFILE_SANDBOX_GH": "1", "CLAUDE_PROFILE_SANDBOX_INFISICAL": "corp.example", "CLAUDE_PROFILE_SANDBOX_FORWARD_ENV": "T_SECRET, T_NONE", "T_SECRET": "l1\nl2 \"x\"",
           "PATH": "%s:%s" % (programs, os.environ["PATH"]), "CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record))}
    p = inside(work, "printenv T_SECRET GH_TOKEN", env=env)
    assert p.stdout == 'l1\nl2 "x"\ngh-token-github.com\n', p
    assert "T_NONE is to be forwarded" in p.stderr, p
    p = inside(work, "printenv INFISICAL_TOKEN INFISICAL_API_URL INFISICAL_DOMAIN CLAUDE_SANDBOX_INFISICAL", env=env)
    token, url, domain, all_of_them = p.stdout.splitlines()
    assert (token, url, domain) == ("h.eyJleHAiOjQxMDI0NDQ4MDB9.a", "https://i.corp.example/api", "https://i.corp.example/api"), p
    assert json.loads(all_of_them) == [{"email": "a@corp.example", "domain": url, "token": token}], p
    assert not any(word in record.read_text() for word in ("gh-token", "l2", "eyJleHAi")), record.read_text()
    assert inside(work, "env | grep INFISICAL", check=False).stdout == ""
    assert inside(work, "printenv T_SECRET GH_TOKEN", env={"T_SECRET": "x", "GH_TOKEN": "y"}, check=False).stdout == ""


@test("claude is told where it is: the briefing names the places of this launch; a prompt of the user's own wins")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    versions = t.tempdir() / "claude/versions"
    versions.mkdir(parents=True)
    (versions / "0.0.4-test").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (versions / "0.0.4-test").chmod(0o755)
    t.cleanup((DATA / "claude/0.0.4-test").unlink, missing_ok=True)
    env = dict(ENV, CLAUDE_PROFILE_CLAUDE_BIN=str(versions / "0.0.4-test"))
    text = run(PROGRAM, PROFILE, cwd=work, env=env).stdout
    assert "--append-system-prompt\nYou work in a sandbox, a container" in text and "- %s (work root)" % work in text, text
    assert "There is no ssh-agent" in text, text
    agent = t.ssh_agent()
    text = run(PROGRAM, PROFILE, cwd=work, env=dict(env, CLAUDE_PROFILE_SANDBOX_SSH_AGENT="1", SSH_AUTH_SOCK=agent.path)).stdout
    assert "The user's ssh-agent can be used" in text, text
    assert run(PROGRAM, PROFILE, "--append-system-prompt", "mine", cwd=work, env=env).stdout == \
        "--dangerously-skip-permissions\n--append-system-prompt\nmine\n"


class Listener(http.server.ThreadingHTTPServer):
    """Something of the user's on the host's loopback; remembers the paths that were posted to."""

    def __init__(self, t):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.server.paths.append(self.path)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths = []
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()
        t.cleanup(self.server_close)
        t.cleanup(self.shutdown)


@test("shared-settings.json: the real claude's HTTP hook reaches the host's loopback, other ports there stay closed; no secret in argv")
def _(t):
    profile = t.profile(PROFILE)
    work = t.tempdir()
    hook, other = Listener(t), Listener(t)
    stub = MessagesStub("(exec 3<>/dev/tcp/127.0.0.1/%d) 2>&1 || echo closed; cat /run/claude-sandbox/settings.json" % other.port)
    t.cleanup(stub.close)
    (profile / ".env").write_text(stub.environment)
    (profile / ".env").chmod(0o600)
    shared = BASE / "shared-settings.json"
    t.cleanup(shared.unlink, missing_ok=True)
    shared.write_text('{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:%d/x/{profile}?t=hook-s3cret"}]}]},'
                      '"permissions":{"deny":["Read(~/.ssh/**)","Bash(never:*)"]}}' % hook.port)
    record = t.tempdir() / "record"
    p = run(PROGRAM, PROFILE, "-p", "go", cwd=work, timeout=120, env=dict(ENV, CLAUDE_PROFILE_PODMAN_BIN=str(t.podman(record=record))))
    assert "closed" in p.stdout and "Bash(never:*)" in p.stdout and "Read(~/.ssh" not in p.stdout, p
    assert hook.paths == ["/x/%s?t=hook-s3cret" % PROFILE], (hook.paths, p)
    assert other.paths == []
    assert "s3cret" not in record.read_text()
    # With a bridge too, whose port is another one.
    agent = t.ssh_agent()
    versions = t.tempdir() / "claude/versions"
    versions.mkdir(parents=True)
    (versions / "0.0.5-test").write_text("#!/bin/bash\nssh-add -l; exec 3<>/dev/tcp/127.0.0.1/%d && echo reached\n" % hook.port)
    (versions / "0.0.5-test").chmod(0o755)
    t.cleanup((DATA / "claude/0.0.5-test").unlink, missing_ok=True)
    p = run(PROGRAM, PROFILE, cwd=work, env=dict(ENV, CLAUDE_PROFILE_CLAUDE_BIN=str(versions / "0.0.5-test"), SSH_AUTH_SOCK=agent.path,
                                                CLAUDE_PROFILE_SANDBOX_SSH_AGENT="1"))
    assert "key0" in p.stdout and "reached" in p.stdout, p
    # And a broken one stops the launch before anything is made.
    shared.write_text('{"a":1,}')
    p = run(PROGRAM, PROFILE, "-p", "go", cwd=work, check=False)
    assert p.returncode == 1 and "shared-settings.json: line 1, column 8" in p.stderr, p
    assert_no_traces(PROFILE)


@test("run --dry-run says what a launch would do, in words and as JSON, no value of a variable, and makes nothing")
def _(t):
    profile = t.profile(PROFILE)
    work = t.repository()
    (profile / ".env").write_text("T_TOKEN=s3cret-value\n")
    (profile / ".env").chmod(0o600)
    before = tree(DATA, LAUNCHES, profile, work)
    record = t.tempdir() / "record"
    env = dict(ENV, CLAUDE_PROFILE_PODMAN_BIN=str(t.podman(record=record)))
    p = run(PROGRAM, "run", "--dry-run", PROFILE, "-p", "hello there", cwd=work, env=env)
    for line in ("rw    %s " % work, "ro    /run/claude-sandbox/bin ", "pin   %s/.git " % work, "copy  %s/.git/hooks " % work, "  T_TOKEN\n", "claude-sandbox@%s.service" % PROFILE, "'hello there'"):
        assert line in p.stdout, (line, p.stdout)
    assert "s3cret" not in p.stdout and not record.exists() and "\x1b" not in p.stdout
    plan = json.loads(run(PROGRAM, "run", "--dry-run", "--json", PROFILE, "--version", cwd=work, env=env).stdout)
    assert tree(DATA, LAUNCHES, profile, work) == before
    assert plan["workRoot"] == str(work) and "T_TOKEN" in plan["variables"] and plan["sandbox"] is True, plan
    assert {"target": str(work), "source": str(work), "mode": "rw", "why": "work root"} in plan["mounts"], plan["mounts"]

    # And that is what a launch does: podman gets these arguments, but for the launch's id.
    run(PROGRAM, PROFILE, "--version", cwd=work, env=env)
    called = [json.loads(line)["args"] for line in record.read_text().splitlines()]
    called = next(a for a in called if a[0] == "run")
    def neutral(arguments):
        return [re.sub(r"\b%s-[0-9a-f]{8}\b" % PROFILE, "ID", re.sub(r"(launch=)[0-9a-f]{8}$", r"\1ID", a)) for a in arguments]
    assert neutral(plan["podman"][1:]) == neutral(called), (plan["podman"], called)
    assert run(PROGRAM, "run", "--json", PROFILE, cwd=work, check=False).returncode == 2


main()
