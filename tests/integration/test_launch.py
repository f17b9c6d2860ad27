# SPDX-License-Identifier: MIT
"""A sandboxed launch as its user sees it: claude's own output, statuses, terminal, bytes; and what its processes inherit."""

import json

from messages_stub import MessagesStub
from rigtest import *

PROFILE = "t-launch"
ALLOWED = ["HOME", "PATH", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR", "LANG", "TERM", "COLORTERM", "REGISTRY_AUTH_FILE"]
SHOW_ARGUMENTS = ["sh", "-c", 'for a; do printf "%s\\0" "$a"; done', "sh"]
ODD_ARGUMENTS = ['"', "", "--", "a b", "l1\nl2", "$HOME", "`id`", "\\", "grüß 日本", b"\xff\xfe", "-", "--help", "'"]


def to_bytes(value):
    return value if isinstance(value, bytes) else os.fsencode(value)


def set_env(t, profile, text):
    path = BASE / profile / ".env"
    path.write_bytes(to_bytes(text))
    path.chmod(0o600)


def native(t, script):
    """A program that the launcher takes for a native claude: it is copied into the sandbox and run there."""
    directory = t.tempdir() / "claude/versions"
    directory.mkdir(parents=True)
    version = "0.0.0-" + directory.parent.parent.name
    path = directory / version
    path.write_text(script)
    path.chmod(0o755)
    t.cleanup((DATA / "claude" / version).unlink, missing_ok=True)
    return {"CLAUDE_PROFILE_CLAUDE_BIN": str(path)}


@test("--version comes from claude inside, the same version as the host's, or the image's")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    host = run("claude", "--version").stdout
    assert re.match(r"\d+\.\d+\.\d+ \(Claude Code\)", host), host
    assert run(PROGRAM, PROFILE, "--version", cwd=work).stdout == host
    image = run(PROGRAM, PROFILE, "--version", cwd=work, env=dict(ENV, CLAUDE_PROFILE_CLAUDE_BIN="/nonexistent/claude"))
    assert re.match(r"\d+\.\d+\.\d+ \(Claude Code\)", image.stdout), image
    # A claude of our own, to see where it runs and what it is given.
    env = dict(ENV, **native(t, '#!/bin/sh\necho "$0 $(id -un) $PWD $container $1 $2"; shift 3; echo "$@"\n'))
    inside = run(PROGRAM, PROFILE, "--version", "-p", "x", cwd=work, env=env).stdout
    assert inside == ("/home/appuser/.local/bin/claude appuser %s podman --dangerously-skip-permissions --append-system-prompt\n"
                      "--version -p x\n" % work), inside
    assert_no_traces(PROFILE)


@test("-p with piped standard input: the real claude reads it, runs a tool inside and prints the answer")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    stub = MessagesStub("id -un; pwd; echo from-inside > made; cat /proc/sys/kernel/hostname")
    t.cleanup(stub.close)
    set_env(t, PROFILE, stub.environment)
    p = run(PROGRAM, PROFILE, "-p", cwd=work, input="the piped question 4711", timeout=120)
    assert p.stdout.startswith('RESULT "appuser\\n%s\\n' % work), p
    assert os.uname().nodename not in p.stdout, p.stdout
    assert any("the piped question 4711" in json.dumps(body["messages"]) for body in stub.requests)
    made = work / "made"
    assert made.read_text() == "from-inside\n" and made.stat().st_uid == os.getuid()
    assert_no_traces(PROFILE)


@test("exit statuses come back: 0, 7, 255, 128+n, 126, 127")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    (work / "plain").write_text("no program\n")
    (work / "plain").chmod(0o644)
    (work / "torn").write_text("#!/no/such/interpreter\n")
    (work / "torn").chmod(0o755)
    cases = [
        (["sh", "-c", "exit 0"], 0, ""),
        (["sh", "-c", "exit 7"], 7, ""),
        (["sh", "-c", "exit 255"], 255, ""),
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "kill -TERM $$"], 143, ""),
        (["sh", "-c", "kill -SEGV $$"], 139, ""),
        (["bash", "-c", "trap '' TERM; kill $$; exit 3"], 3, ""),
        (["sh", "-c", "exit 125"], 125, ""),
        (["no-such-program"], 127, "no such program"),
        (["/no/such/program"], 127, "no such program"),
        (["./torn"], 127, "interpreter"),
        (["./plain"], 126, "Cannot run"),
        (["."], 126, "Cannot run"),
    ]
    results = at_once([lambda c=c: shell(PROFILE, *c[0], cwd=work, check=False) for c in cases])
    for (command, status, says), p in zip(cases, results):
        assert p.returncode == status, (command, p)
        assert says in p.stderr, (command, p.stderr)
        # The guest's own status is never explained as podman's.
        assert "podman" not in p.stderr, (command, p.stderr)
    assert_no_traces(PROFILE)


@test("on a terminal claude has one of the right size, and hears of each new size")
def _(t):
    t.profile(PROFILE)
    script = """#!/usr/bin/python3
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH, signal.SIGINT])
os.system("test -t 0 && test -t 1 && test -t 2 && test -c /dev/tty && echo terminal $(stty size) $TERM")
print("ready", flush=True)
while signal.sigwait([signal.SIGWINCH, signal.SIGINT]) == signal.SIGWINCH:
    print("new", *os.get_terminal_size(0)[::-1], flush=True)
print("interrupted", flush=True)
os._exit(5)
"""
    launch = Launch(t, PROFILE, cwd=t.tempdir(), env=dict(native(t, script), TERM="xterm-test"), verb=("run",), tty=(37, 91))
    launch.expect("terminal 37 91 xterm-test")
    launch.expect("ready")
    for rows, columns in [(50, 132), (5, 20), *((10 + i, 60 + i) for i in range(20))]:
        launch.resize(rows, columns)
        launch.expect("new %d %d\r" % (rows, columns))
    launch.send("\x03")
    launch.expect("interrupted")
    assert launch.wait() == 5
    launch.assert_gone()


@test("a session with the real claude on a terminal: a question, a tool that runs inside, its answer on the screen, the way out")
def _(t):
    profile = t.profile(PROFILE)
    work = t.tempdir()
    stub = MessagesStub("echo $((4000 + 711))-$(id -un)")
    t.cleanup(stub.close)
    set_env(t, PROFILE, stub.environment)
    (profile / ".claude.json").write_text(json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": ["x"], "rejected": []},
        "projects": {str(work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}))
    launch = Launch(t, PROFILE, cwd=work, verb=("run",), tty=(40, 100), env={"TERM": "xterm-256color"})
    launch.expect("Claude.{0,20}Code", 60)
    launch.expect("❯", 60)
    launch.send("what is it\r")
    launch.expect("4711-appuser", 60)
    launch.expect("RESULT", 60)
    launch.send("/exit\r")
    while launch.process.poll() is None:
        launch.expect(b"(?s).|$", 60)
    assert launch.wait() == 0
    launch.assert_gone()


@test("only a terminal on both sides is one inside")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    question = ["sh", "-c", "for fd in 0 1 2; do if test -t $fd; then a=\"$a yes\"; else a=\"$a no\"; fi; done; echo $a > answer"]
    master, slave = pty.openpty()
    t.cleanup(os.close, master)
    t.cleanup(os.close, slave)
    for stdin, stdout, answer in ((slave, slave, "yes yes yes"), (slave, subprocess.DEVNULL, "no no no"),
                                  (subprocess.DEVNULL, slave, "no no no")):
        subprocess.run([PROGRAM, "shell", PROFILE, "--", *question], cwd=work, env=ENV, stdin=stdin, stdout=stdout,
                       stderr=subprocess.DEVNULL, timeout=60, check=True)
        assert (work / "answer").read_text().split() == answer.split(), (work / "answer").read_text()


@test("pipes are byte-exact, a mebibyte both ways, and standard error stays apart")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    data = os.urandom(1 << 20)
    p = raw(PROGRAM, "shell", PROFILE, "--", "cat", cwd=work, input=data)
    assert p.returncode == 0 and p.stdout == data, (p.returncode, len(p.stdout), p.stderr)
    # What claude reads with -p.
    env = native(t, "#!/bin/sh\ncat; echo aside >&2\n")
    p = raw(PROGRAM, PROFILE, "-p", cwd=work, env=env, input=data)
    assert p.returncode == 0 and p.stdout == data and p.stderr.endswith(b"aside\n"), (p.returncode, len(p.stdout), p.stderr)
    # End of file arrives, and so does a reader that goes away.
    p = raw(PROGRAM, "shell", PROFILE, "--", "sh", "-c", "cat; echo end", cwd=work, input=b"")
    assert p.stdout == b"end\n", p
    p = subprocess.run("claude-profile shell %s -- sh -c 'yes; exit 3' | head -c 10" % PROFILE, shell=True, cwd=work, env=ENV,
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    assert p.stdout == b"y\ny\ny\ny\ny\n"
    assert_no_traces(PROFILE)


@test("arguments arrive byte for byte, for a shell and for claude")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    wanted = [to_bytes(a) for a in ODD_ARGUMENTS]
    p = raw(PROGRAM, "shell", PROFILE, "--", *SHOW_ARGUMENTS, *ODD_ARGUMENTS, cwd=work)
    assert p.stdout.split(b"\0")[:-1] == wanted, p
    env = native(t, '#!/bin/sh\nfor a; do printf "%s\\0" "$a"; done\n')
    for arguments in (ODD_ARGUMENTS, ["--", *ODD_ARGUMENTS], ["-p", "--permission-mode", "plan", "--", "--dangerously-skip-permissions"],
                      ["--permission-mode=plan"], ["--dangerously-skip-permissions"], []):
        p = raw(PROGRAM, PROFILE, *arguments, cwd=work, env=env)
        before = arguments[:arguments.index("--")] if "--" in arguments else arguments
        given = any(isinstance(a, str) and re.match("--(permission-mode|dangerously-skip-permissions)(=|$)", a) for a in before)
        ours = ([] if given else [b"--dangerously-skip-permissions"]) + [b"--append-system-prompt"]
        n = len(ours)
        arrived = p.stdout.split(b"\0")[:-1]
        assert arrived[:n] == ours and arrived[n].startswith(b"You work in a sandbox"), (arguments, p)
        assert arrived[n + 1:] == [to_bytes(a) for a in arguments], (arguments, p)
    many = ["%d-%s" % (i, "x" * 100) for i in range(1000)]
    p = raw(PROGRAM, "shell", PROFILE, "--", *SHOW_ARGUMENTS, *many, cwd=work)
    assert p.stdout.split(b"\0")[:-1] == [to_bytes(a) for a in many], (p.returncode, p.stderr)


@test("variables of .env arrive byte for byte, and podman sees none of them")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    record = work / "record"
    wrapper = t.podman(record=record)
    certificate = "-----BEGIN CERTIFICATE-----\n" + "".join("%064d\n" % i for i in range(38)) + "-----END CERTIFICATE-----\n"
    values = {"J": '\n{\n "k": "v"\n}', "Q": 'a"b\\c', "U": "grüß 日本", "PEM": certificate, "D": "$HOME `id` ${X}", "S": "  both ends  ",
              "H": "x # y", "N": "it's", "T": "\ttab\x1b[31m", "E": ""}
    run(PROGRAM, "env", PROFILE, *["--set=%s=%s" % item for item in values.items()])
    p = raw(PROGRAM, "shell", PROFILE, "--", "env", "-0", cwd=work, env={"CLAUDE_PROFILE_PODMAN_BIN": str(wrapper)})
    inside = dict(e.split(b"=", 1) for e in p.stdout.split(b"\0")[:-1])
    for name, value in values.items():
        assert inside.get(to_bytes(name)) == to_bytes(value), (name, inside.get(to_bytes(name)), p.stderr)
    called = record.read_text()
    for value in (*values.values(), '"k"', "BEGIN CERTIFICATE"):
        assert not value or json.dumps(value)[1:-1] not in called, value
    # The file as a person writes it, with bytes that are no text.
    set_env(t, PROFILE, "RAW=\x01\x7f\nexport A=1\n# A=2\nNOTE=kept # kept, too\n")
    p = raw(PROGRAM, "shell", PROFILE, "--", "env", "-0", cwd=work)
    inside = dict(e.split(b"=", 1) for e in p.stdout.split(b"\0")[:-1])
    assert inside[b"RAW"] == b"\x01\x7f" and inside[b"A"] == b"1" and inside[b"NOTE"] == b"kept # kept, too", inside
    assert re.search(r"warning: .*/\.env: line 4: .*NOTE.*\.\n", p.stderr.decode()), p.stderr
    assert b"kept, too" not in p.stderr


@test("working directories that look like options are the working directory")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    names = [" loglevel=7", "x KRUN_INIT=/bin/sh", "--", "-v", "a\nb"]
    for name in names:
        (work / name).mkdir(parents=True)
    results = at_once([lambda n=n: raw(PROGRAM, "shell", PROFILE, "--", "sh", "-c", 'pwd -P; echo "$PWD"; cat /proc/1/cmdline', cwd=work / n)
                       for n in names])
    for name, p in zip(names, results):
        place = os.fsencode(work / name)
        assert p.stdout.startswith(place + b"\n" + place + b"\n"), p
        assert place not in p.stdout[2 * len(place) + 2:], p


def with_descriptors(t, work):
    """For Popen: descriptors 3 to 9 are open, and the working directory was entered through number 7."""
    secret = t.tempdir() / "secret"
    secret.write_text("open\n")

    def prepare():
        file = os.open(secret, os.O_RDWR)
        place = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
        ends = os.pipe()
        file, place, end = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (file, place, ends[0]))
        for fd in range(3, 10):
            os.dup2(place if fd == 7 else end if fd == 5 else file, fd, inheritable=True)
        os.closerange(10, 64)
        os.chdir("/proc/self/fd/7")
    return {"preexec_fn": prepare, "close_fds": False}


@test("the command, podman and git get descriptors 0, 1 and 2 and no other")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    record = t.tempdir() / "record"
    fds = t.tempdir() / "fds"
    programs = t.tempdir()
    t.program("import os, sys\nfds = []\nfor fd in os.listdir('/proc/self/fd'):\n    try:\n        os.stat('/proc/self/fd/' + fd)\n"
              "    except OSError:\n        continue\n    fds.append(int(fd))\n"
              "open(%r, 'a').write('%%s\\n' %% sorted(fds))\nos.execv('/usr/bin/git', sys.argv)\n" % str(fds), programs, "git")
    env = {"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record)), "PATH": "%s:%s" % (programs, ENV["PATH"])}
    p = raw(PROGRAM, "shell", PROFILE, "--", "bash", "-c", "ls -1 /proc/$$/fd; pwd -P; echo $PWD; ls -l /proc/1/fd", cwd="/", env=env,
            **with_descriptors(t, work))
    lines = p.stdout.decode().splitlines()
    assert lines[:5] == ["0", "1", "2", str(work), str(work)], (lines, p.stderr)
    assert "secret" not in p.stdout.decode()
    calls = [json.loads(line) for line in record.read_text().splitlines()]
    assert calls and calls[0]["args"][0] == "run"
    for call in calls:
        assert [fd for fd, _ in call["fds"]] == [0, 1, 2], call["fds"]
    assert fds.read_text() and set(fds.read_text().splitlines()) == {"[0, 1, 2]"}, fds.read_text()


@test("closed standard descriptors are no trap")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    p = subprocess.run(["sh", "-c", "exec 0<&- 1>&- 2>&-; exec claude-profile shell %s -- bash -c 'ls /proc/$$/fd > fds; cat; exit 6'" % PROFILE],
                       cwd=work, env=ENV, timeout=60)
    assert p.returncode == 6, p
    assert (work / "fds").read_text().split() == ["0", "1", "2"]


@test("podman's environment is the allowed list and nothing else")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    record = work / "record"
    inherited = {
        "CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record)), "AWS_SECRET_ACCESS_KEY": "host-secret", "HTTPS_PROXY": "http://u:host-secret@x",
        "https_proxy": "http://u:host-secret@x", "GIT_DIR": "/nonexistent", "GIT_CONFIG_COUNT": "0", "BASH_ENV": "/nonexistent",
        "SSH_AUTH_SOCK": "/nonexistent", "GPG_TTY": "/dev/null", "LISTEN_FDS": "3", "LISTEN_PID": "1", "NOTIFY_SOCKET": "/nonexistent",
        "TERM": "xterm", "COLORTERM": "truecolor", "TMPDIR": "/tmp", "CONTAINERS_TEST": "1", "XDG_DATA_DIRS": "/usr/share", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": "/nonexistent", "MALLOC_CHECK_": "0", "JOURNAL_STREAM": "1:1",
    }
    p = shell(PROFILE, "env", cwd=work, env=inherited)
    call = json.loads(record.read_text().splitlines()[0])
    names = [e.split("=")[0] for e in call["environ"]]
    for name in names:
        assert name in ALLOWED or name.startswith(("XDG_", "CONTAINERS_")), name
    assert {"HOME", "PATH", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "LANG", "TERM", "COLORTERM", "TMPDIR", "CONTAINERS_TEST"} <= set(names)
    # Nothing of the host's is inside either, but what the terminal needs.
    inside = dict(line.split("=", 1) for line in p.stdout.splitlines() if "=" in line)
    for name in set(inherited) - {"TERM", "COLORTERM"}:
        assert name not in inside, name
    assert inside["TERM"] == "xterm" and inside["COLORTERM"] == "truecolor"
    assert inside["CLAUDE_CONFIG_DIR"] == "/home/appuser/.claude"
    assert "host-secret" not in p.stdout and "host-secret" not in " ".join(call["args"])
    expected = {"CLAUDE_CONFIG_DIR", "TERM", "COLORTERM", "DISABLE_AUTOUPDATER", "HOME", "USER", "LOGNAME", "SHELL", "PATH", "container", "HOSTNAME",
                "LANG", "PWD", "SHLVL", "_", "OLDPWD", "GIT_CONFIG_GLOBAL"}
    # The host's own certificate authorities.
    expected |= {"SSL_CERT_FILE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"}
    assert set(inside) <= expected, set(inside) - expected


@test("foreign LISTEN_FDS are ignored: neither podman nor the command sees them")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    record = work / "record"
    t.podman(record=record)
    env = {"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record))}
    for assignment in ("LISTEN_PID=1", "LISTEN_PID=$$"):
        command = ("exec 3</dev/null; %s LISTEN_FDS=1 LISTEN_FDNAMES=x exec claude-profile shell %s -- bash -c 'env; ls /proc/$$/fd; true'"
                   % (assignment, PROFILE))
        p = run("bash", "-c", command, cwd=work, env=dict(ENV, **env))
        assert "LISTEN" not in p.stdout, p.stdout
        assert not re.search("^3$", p.stdout, re.M), p.stdout
    assert "LISTEN" not in record.read_text()


@test("variables of .env that hijack other programs never reach the host's helpers")
def _(t):
    t.profile(PROFILE)
    work = t.repository()
    marks = t.tempdir()
    fake = t.tempdir()
    record = work / "record"
    helpers = marks / "helpers"
    for name in ("git", "podman", "gpg", "gpgconf", "ssh-add", "conmon", "crun", "pasta", "systemctl"):
        t.program("open(%r, 'w')\n" % str(marks / ("planted-" + name)), fake, name)
    # The same names where the launcher itself looks: these record what they are given and go on.
    honest = t.tempdir()
    for name in ("git", "gpg", "gpgconf"):
        t.program("import os, sys\nopen(%r, 'ab').write(open('/proc/self/environ', 'rb').read())\nos.execv('/usr/bin/%s', sys.argv)\n"
                  % (str(helpers), name), honest, name)
    set_env(t, PROFILE, "LD_PRELOAD=%s/x.so\nBASH_ENV=%s/x.sh\nPATH=%s:/usr/bin:/bin\nGIT_SSH_COMMAND=%s/x.sh\nGIT_CONFIG_COUNT=1\n"
            "GIT_CONFIG_KEY_0=core.fsmonitor\nGIT_CONFIG_VALUE_0=%s/x.sh\nPYTHONPATH=%s\nXDG_RUNTIME_DIR=%s\nHOME=%s\nCONTAINERS_CONF=%s/x\n"
            % ((fake,) * 9))
    env = {"PATH": "%s:%s" % (honest, ENV["PATH"]), "CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(record=record))}
    p = shell(PROFILE, "/usr/bin/env", cwd=work, env=env)
    inside = dict(line.split("=", 1) for line in p.stdout.splitlines() if "=" in line)
    assert inside["GIT_SSH_COMMAND"] == "%s/x.sh" % fake and inside["LD_PRELOAD"] == "%s/x.so" % fake, p
    assert inside["PATH"].startswith("/run/claude-sandbox/bin:/home/appuser/.local/bin:%s" % fake) and inside["HOME"] == "/home/appuser", inside
    assert not list(marks.glob("planted-*")), list(marks.iterdir())
    assert str(fake) not in record.read_text()
    assert b"GIT_CONFIG_NOSYSTEM" in helpers.read_bytes() or b"PATH=" in helpers.read_bytes()
    assert str(fake).encode() not in helpers.read_bytes()


@test("reserved names in .env are refused by name, and nothing is left")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_SANDBOX_BRIDGE_PORT", "CLAUDE_SANDBOX_TOKEN"):
        set_env(t, PROFILE, "A=1\n%s=guess-me\n" % name)
        p = shell(PROFILE, "touch", "ran", cwd=work, check=False)
        assert p.returncode == 1 and name in p.stderr and ".env: line 2:" in p.stderr and "Bad message" not in p.stderr and "guess-me" not in p.stderr, p
        assert not (work / "ran").exists()
    assert_no_traces(PROFILE)


main()
