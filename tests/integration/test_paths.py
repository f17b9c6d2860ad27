# SPDX-License-Identifier: MIT
"""Which directories a sandbox may work in, that it gets exactly those, and which names a profile may have."""

from rigtest import *

PROFILE = "t-paths"
IDENTITY = dict(ENV, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.invalid", GIT_COMMITTER_NAME="a",
                GIT_COMMITTER_EMAIL="a@example.invalid", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="protocol.file.allow",
                GIT_CONFIG_VALUE_0="always")
GIT_INSIDE = ("set -e; git status --porcelain; git config --get user.name; head -c 9 /dev/urandom > new; git add new; "
              "git commit -q -m inside; git log -1 --format=%s; git status --porcelain; git rev-parse --show-toplevel")


def git(*argv, **kw):
    return run("git", *argv, env=kw.pop("env", IDENTITY), **kw)


def kept():
    """What no refusal may change."""
    return tree(DATA / "profiles", LAUNCHES, BASE / PROFILE, DATA / "guest")


def refused(cwd, *says, profile=PROFILE, env=None, status=1):
    """A launch there stops with a message that holds all of `says`; its standard error."""
    if (LAUNCHES / (profile + ".sock")).exists():
        assert_no_traces(profile)  # the supervisor of a launch before it may be about to go
    before = kept()
    p = raw(PROGRAM, "shell", profile, "--", "true", cwd=cwd, env=env)
    text = p.stderr.decode(errors="surrogateescape")
    assert p.returncode == status and p.stdout == b"", (cwd, p)
    for what in says:
        assert what in text, (cwd, what, text)
    assert len(text.splitlines()) == 1 and "\x1b" not in text, text
    assert kept() == before, (cwd, set(kept().items()) ^ set(before.items()))
    return text


@test("work roots that are refused: home and above, what programs obey, sockets, keys, system directories")
def _(t):
    t.profile(PROFILE)
    home = t.tempdir()
    env = {"HOME": str(home), "CLAUDE_PROFILE_PROFILES_BASE": str(BASE)}
    for place in (home, home.parent, "/home", "/"):
        refused(place, "cannot be given to a sandbox", "CLAUDE_PROFILE_SANDBOX_ALLOW_ROOT", env=env)
    for name in (".config", ".local", ".claude", ".ssh", ".gnupg", ".1password"):
        below = home / name / "a/b"
        below.mkdir(parents=True)
        for place in (home / name, below):
            refused(place, name, "work root %s cannot" % place, env=env)
    for place in ("/tmp", "/var/tmp", "/run", "/etc", "/usr", "/var", "/run/user", RUNTIME, LAUNCHES if LAUNCHES.exists() else RUNTIME):
        refused(place, "cannot be given to a sandbox", env=env)
    # For real, too.
    for place in (HOME, HOME / ".config", HOME / ".local/share", BASE, BASE / PROFILE):
        place.mkdir(exist_ok=True)
        refused(place, "cannot be given to a sandbox")


@test("work roots that overlap the profiles, our data, our configuration or another user's idea of them are refused")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    base = work / "profiles"
    (base / PROFILE).mkdir(parents=True)
    (base / PROFILE / ".sandbox").touch()
    base_env = {"CLAUDE_PROFILE_PROFILES_BASE": str(base)}
    for place in (work, base, base / PROFILE):
        refused(place, str(base), "profiles", env=base_env)
    data = t.tempdir()
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        (data / "claude-profile/x").mkdir(parents=True, exist_ok=True)
        for place in (data, data / "claude-profile", data / "claude-profile/x"):
            refused(place, str(data / "claude-profile"), env={variable: str(data)})
    # Links do not help: neither a directory's other name nor the place's own.
    home = t.tempdir()
    real = t.tempdir()
    (home / ".ssh").symlink_to(real)
    refused(real, ".ssh", env={"HOME": str(home), "CLAUDE_PROFILE_PROFILES_BASE": str(BASE)})
    (work / "way").symlink_to(base)
    refused(work / "way", str(base), env=base_env)
    alias = t.tempdir() / "home"
    alias.symlink_to(home)
    refused(home, str(alias), env={"HOME": str(alias), "CLAUDE_PROFILE_PROFILES_BASE": str(BASE)})


@test("a repository at home makes home the root, wherever below the launch starts; a setting allows exactly one root")
def _(t):
    t.profile(PROFILE)
    home = t.tempdir()
    (home / ".git").mkdir()
    below = home / "a/b"
    below.mkdir(parents=True)
    env = {"HOME": str(home), "CLAUDE_PROFILE_PROFILES_BASE": str(BASE)}
    refused(below, "work root %s cannot" % home, env=env)
    allowed = t.tempdir("/var/tmp") / "claude-profile"
    allowed.mkdir()
    refused(allowed, str(allowed), env={"XDG_CONFIG_HOME": str(allowed.parent)})
    for value, status in ((allowed, 0), (allowed.parent, 1), (allowed / "x", 1), ("/", 1)):
        p = shell(PROFILE, "pwd", cwd=allowed, check=False,
                  env={"XDG_CONFIG_HOME": str(allowed.parent), "CLAUDE_PROFILE_SANDBOX_ALLOW_ROOT": str(value)})
        assert p.returncode == status, (value, p)
    (allowed / "sub").mkdir()
    refused(allowed / "sub", str(allowed), env={"XDG_CONFIG_HOME": str(allowed.parent), "CLAUDE_PROFILE_SANDBOX_ALLOW_ROOT": str(allowed)})


@test("a directory below /tmp or /var/tmp is fine, and so is the program of another directory")
def _(t):
    t.profile(PROFILE)
    for parent in ("/tmp", "/var/tmp"):
        place = t.tempdir(parent)
        assert shell(PROFILE, "pwd", cwd=place).stdout == "%s\n" % place


@test("a working directory that is gone, and one that cannot be entered any more")
def _(t):
    t.profile(PROFILE)
    place = t.tempdir()
    p = run("sh", "-c", 'cd "$1" && rmdir "$1" && exec claude-profile shell %s -- true' % PROFILE, "sh", place, check=False)
    assert p.returncode == 1 and "current directory" in p.stderr and len(p.stderr.splitlines()) == 1, p


ODD_NAMES = ["a:b", "a,b", 'a"b', "src=x,dst=y,ro", "a b", "a\tb", "a\nb", "a\x1b[31mb", "a$HOME", "a%h%%i", "grüß 日本", "a\\b\\012",
             # Several in a path.
             "-v/ lead/trail /'q'/a;b/type=tmpfs,dst=/etc", 'a&b|c/a\u202eb/""/a=b,ro/{{.ID}}/a#b/a*?[/\x7f\u0085']


def parse_mountinfo(text):
    """Mount point → (device, root, mode), from the text of a mountinfo file."""
    def plain(field):
        return re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8)]), field)
    found = {}
    for line in text.splitlines():
        fields = line.split(b" ")
        found[plain(fields[4])] = (fields[2], plain(fields[3]), fields[5].split(b",")[0])
    return found


def device_and_root(path):
    """What mountinfo says of a directory of ours that is bind-mounted: its device, and its path below the file system's root."""
    own = parse_mountinfo(Path("/proc/self/mountinfo").read_bytes())
    path = os.fsencode(path)
    point = max((p for p in own if path == p or path.startswith(p.rstrip(b"/") + b"/")), key=len)
    device, root, _ = own[point]
    rest = path[len(point.rstrip(b"/")):]
    return device, root.rstrip(b"/") + rest if rest else root


LOOK = ["sh", "-c", "pwd -P | od -An -v -tx1 | tr -d ' \\n'; echo; echo x > ./made; cat /proc/self/mountinfo"]


def ours(mounts):
    """The mounts that are the launch's own: not podman's files, not the kernel's, not those below /dev, /proc and /sys."""
    podman = {b"/", b"/etc/hosts", b"/etc/hostname", b"/etc/resolv.conf", b"/run/.containerenv", b"/etc/localtime"}
    return {k: v for k, v in mounts.items() if k not in podman and not re.match(rb"/(dev|proc|sys)(/|$)", k)}


@test("odd names: the work root is mounted at exactly its path, and nothing else is")
def _(t):
    profile = t.profile(PROFILE)
    parent = t.tempdir()
    plain = parent / "plain"

    def look(place):
        place.mkdir(parents=True)
        return raw(PROGRAM, "shell", PROFILE, "--", *LOOK, cwd=place)

    def rest(p, place):
        mounts = ours(parse_mountinfo(p.stdout.split(b"\n", 1)[1]))
        del mounts[os.fsencode(place)]
        # The launch directory is a new one each time, and each tmpfs a new file system.
        return {k: (None if k == b"/run/claude-sandbox" else v[0], re.sub(rb"-[0-9a-f]{8}/", b"-ID/", v[1]), v[2]) for k, v in mounts.items()}

    reference = rest(look(plain), plain)
    device, root = device_and_root(profile)
    assert reference[b"/home/appuser/.claude"] == (device, root, b"rw"), reference
    assert reference[b"/home/appuser/.ssh"] == (*device_and_root(DATA / "profiles" / PROFILE / "ssh"), b"rw")
    assert reference[b"/run/claude-sandbox/bin"][2] == b"ro" and reference[b"/run/claude-sandbox/launch"][2] == b"ro"
    assert reference[b"/opt/claude-host/claude"][2] == b"ro"
    allowed = {b"/home/appuser/.claude", b"/home/appuser/.ssh", b"/run/claude-sandbox", b"/run/claude-sandbox/bin", b"/run/claude-sandbox/launch",
               b"/opt/claude-host/claude", b"/home/appuser/.gitconfig", b"/etc/ssh/ssh_known_hosts", b"/home/appuser/.claude/settings.json",
               b"/home/appuser/.claude/.env", b"/home/appuser/.claude/.sandbox", b"/etc/ssl/certs", b"/usr/local/share/ca-certificates"}
    assert set(reference) <= allowed, set(reference) - allowed

    places = [parent / name for name in ODD_NAMES]
    for place, p in zip(places, at_once([lambda place=place: look(place) for place in places])):
        assert p.returncode == 0, (place, p)
        where, text = p.stdout.split(b"\n", 1)
        assert bytes.fromhex(where.decode()) == os.fsencode(place) + b"\n", (place, where)
        assert ours(parse_mountinfo(text))[os.fsencode(place)] == (*device_and_root(place), b"rw"), (place, text)
        assert rest(p, place) == reference, (place, rest(p, place))
        assert b"\x1b" not in p.stderr, p.stderr
    # What was written inside arrived where it should, and only there.
    assert sorted(str(p.parent) for p in parent.glob("**/made")) == sorted(map(str, [*places, plain]))
    assert_no_traces(PROFILE)


@test("odd characters in the profiles' place, in a repository's path and in a nested one")
def _(t):
    base = t.tempdir(prefix='pro,files "x": src=') / "a\nb"
    (base / PROFILE).mkdir(parents=True)
    (base / PROFILE / ".sandbox").touch()
    (base / PROFILE / "mark").write_text("this profile\n")
    t.cleanup(shutil.rmtree, DATA / "profiles" / PROFILE, ignore_errors=True)
    parent = t.tempdir() / 'wo,rk "x":\n=' / "$(id)"
    parent.mkdir(parents=True)
    repository = t.repository(parent)
    below = repository / "deep, er" / "%i"
    below.mkdir(parents=True)
    p = shell(PROFILE, "sh", "-c", "cat ~/.claude/mark; pwd -P; git rev-parse --show-toplevel; git log --format=%s", cwd=below,
              env={"CLAUDE_PROFILE_PROFILES_BASE": str(base)})
    assert p.stdout == "this profile\n%s\n%s\nfirst\n" % (below, repository), p
    linked = t.tempdir() / "work, tree\n2"
    git("-C", repository, "worktree", "add", "-q", "-b", "linked", linked)
    p = shell(PROFILE, "git", "log", "--format=%s", cwd=linked, env={"CLAUDE_PROFILE_PROFILES_BASE": str(base)})
    assert p.stdout == "first\n", p


@test("paths that are not UTF-8 are refused by name, before anything is made")
def _(t):
    t.profile(PROFILE)
    parent = os.fsencode(t.tempdir())
    for name, shown in ((b"a\xffb", "a\\xffb"), (b"\xc3", "\\xc3"), (b"\xed\xa0\x80", "\\xed\\xa0\\x80"), (b"\xc0\xaf", "\\xc0\\xaf")):
        place = parent + b"/" + name
        os.mkdir(place)
        os.mkdir(place + b"/sub")
        for cwd in (place, place + b"/sub"):
            refused(cwd, "current directory", shown, "not UTF-8")
    base = parent + b"/\xff/base"
    os.makedirs(base + b"/" + PROFILE.encode())
    Path(os.fsdecode(base), PROFILE, ".sandbox").touch()
    refused(t.tempdir(), "\\xff", "UTF-8", env={"CLAUDE_PROFILE_PROFILES_BASE": os.fsdecode(base)})
    # The git directory of a worktree, of which only the pointer is seen.
    repository = parent + b"/r\xff"
    git("init", "-q", os.fsdecode(repository))
    git("-C", os.fsdecode(repository), "commit", "-q", "--allow-empty", "-m", "first")
    git("-C", os.fsdecode(repository), "worktree", "add", "-q", os.fsdecode(parent + b"/linked"))
    refused(parent + b"/linked", "git directory", "r\\xff", "not UTF-8")


def works_inside(cwd, **kw):
    p = shell(PROFILE, "sh", "-c", GIT_INSIDE, cwd=cwd, **kw)
    assert p.stdout == "dev\ninside\n%s\n" % cwd, p
    assert git("-C", cwd, "log", "-1", "--format=%s %an").stdout == "inside dev\n"
    assert git("-C", cwd, "status", "--porcelain").stdout == ""


@test("git works inside: a repository, a linked worktree, a submodule, worktrees of a bare one, relative pointers, a subdirectory")
def _(t):
    t.profile(PROFILE)
    assert not (HOME / ".gitconfig").exists()
    (HOME / ".gitconfig").write_text("[user]\n\tname = dev\n\temail = dev@example.invalid\n[protocol \"file\"]\n\tallow = always\n")
    t.cleanup((HOME / ".gitconfig").unlink)
    repository = t.repository()
    works_inside(repository)

    linked = t.tempdir() / "linked"
    git("-C", repository, "worktree", "add", "-q", linked)
    works_inside(linked)
    assert "inside" in git("-C", repository, "log", "--all", "--format=%s").stdout
    git("-C", repository, "fsck", "--strict")

    relative = t.tempdir() / "relative"
    git("-C", repository, "worktree", "add", "-q", relative)
    admin = repository / ".git/worktrees/relative"
    (relative / ".git").write_text("gitdir: %s\n" % os.path.relpath(admin, relative))
    (admin / "gitdir").write_text("%s\n" % os.path.relpath(relative / ".git", admin))
    works_inside(relative)

    above = t.repository()
    git("-C", above, "submodule", "--quiet", "add", repository, "part/one")
    git("-C", above, "commit", "-q", "-m", "submodule")
    works_inside(above / "part/one")
    assert shell(PROFILE, "git", "status", "--porcelain", cwd=above).stdout == " M part/one\n"

    bare = t.tempdir() / "bare.git"
    git("clone", "-q", "--bare", repository, bare)
    tree_of_bare = t.tempdir() / "tree"
    git("-C", bare, "worktree", "add", "-q", tree_of_bare)
    works_inside(tree_of_bare)

    below = repository / "a/b"
    below.mkdir(parents=True)
    p = shell(PROFILE, "sh", "-c", "pwd; git rev-parse --show-toplevel; echo x > ../../top", cwd=below)
    assert p.stdout == "%s\n%s\n" % (below, repository) and (repository / "top").exists(), p


@test("planted pointers: a .git file, link or core.worktree that leads elsewhere is refused by name")
def _(t):
    t.profile(PROFILE)
    victim = t.repository()
    git("-C", victim, "worktree", "add", "-q", t.tempdir() / "elsewhere")

    def planted(fill, *says):
        place = t.tempdir()
        fill(place)
        refused(place, *says)

    def pointer(text):
        return lambda place: (place / ".git").write_text(text)

    planted(pointer("gitdir: %s/.git\n" % victim), "%s/.git" % victim, "does not name it back")
    planted(pointer("gitdir: %s/.git/worktrees/elsewhere\n" % victim), "does not name it back")
    planted(pointer("gitdir: %s\n" % os.path.relpath(victim / ".git", HOME)), ".git")
    planted(pointer("gitdir: %s\n" % t.tempdir()), "does not name it back")
    planted(pointer("gitdir: /nonexistent\n"), "does not exist")
    planted(pointer("gitdir: %s" % ("x" * 5000)), "/.git")
    planted(pointer("nonsense\n"), "gitdir: …")
    planted(pointer(""), "/.git")
    planted(pointer("gitdir: a\0b\n"), "/.git")
    planted(lambda place: (place / ".git").symlink_to(victim / ".git"), "symbolic link")
    planted(lambda place: os.mkfifo(place / ".git"), "neither a directory nor a file")

    def with_config(text, name="config"):
        def fill(place):
            git("init", "-q", place)
            with open(place / ".git" / name, "a") as f:
                f.write(text)
        return fill
    planted(with_config("[core]\n\tworktree = %s\n" % HOME), "core.worktree", str(HOME))
    planted(with_config("[Core]\n\tWorkTree = ../../x\n"), "core.worktree")
    planted(with_config("[core]\n\tworktree = %s\n" % HOME, "config.worktree"), "core.worktree")
    planted(with_config("[core \n\tworktree = /\n"), "config")

    def linked_config(place):
        git("init", "-q", place)
        os.rename(place / ".git/config", place / "config")
        (place / ".git/config").symlink_to(place / "config")
    planted(linked_config, "symbolic link")

    # An admin directory of the guest's making, whose commondir is another repository of the user's.
    def own_admin(place):
        admin = place / "admin/worktrees/x"
        admin.mkdir(parents=True)
        (admin / "gitdir").write_text("%s/.git\n" % place)
        (admin / "commondir").write_text("%s/.git\n" % victim)
        (place / ".git").write_text("gitdir: %s\n" % admin)
    planted(own_admin, "does not name it back")
    # A core.worktree that names us, in a git directory that the user has elsewhere: only a submodule's is like that.
    separate = t.tempdir() / "separate"
    place = t.tempdir()
    git("init", "-q", "--separate-git-dir", separate, place)
    refused(place, "does not name it back")
    git("-C", place, "config", "core.worktree", place)
    assert shell(PROFILE, "git", "status", "--porcelain", cwd=place).stdout == ""
    assert_no_traces(PROFILE)


@test("another user's .git: above the work tree it is ignored with a word, behind a pointer it is refused")
def _(t):
    t.profile(PROFILE)
    above = t.tempdir()
    work = above / "work"
    work.mkdir()
    (above / "not-ours").write_text("x")
    run("sudo", "install", "-d", "-o", "mallory", above / ".git")
    t.cleanup(run, "sudo", "rm", "-rf", above / ".git")
    p = shell(PROFILE, "sh", "-c", "pwd; ls -A ..", cwd=work)
    assert p.stdout == "%s\nwork\n" % work, p
    assert "%s/.git belongs to another user and is ignored" % above in p.stderr, p

    victim = t.repository()
    linked = t.tempdir() / "linked"
    git("-C", victim, "worktree", "add", "-q", linked)
    admin = victim / ".git/worktrees/linked"
    run("sudo", "chown", "mallory", admin)
    t.cleanup(run, "sudo", "chown", "dev", admin)
    refused(linked, str(admin), "belongs to another user")


# --- names (Y01, Y02) -----------------------------------------------------------------------------------------

@test("profile names become units that name them, and different names different units")
def _(t):
    names = ["my-team", "my_team", "a.b", "Work", "work", "x-y-", "con", "a.", "0", "a" * 100]
    work = t.tempdir()
    for name in names:
        t.profile(name)
    launches = [Launch(t, name, "sh", "-c", "echo ready; exec tail -f /dev/null", cwd=work, wait=False) for name in names[:5]]
    for name, launch in zip(names, launches):
        launch.expect("ready")
        launch.id = next(iter(running_launches(name)))
    slices = set()
    for name, launch in zip(names, launches):
        for unit in ("claude-sandbox@%s.service" % name, launch.scope):
            assert unit_property(unit, "ActiveState") == "active", unit
        place = unit_property(launch.scope, "Slice")
        slices.add(place)
        assert run("systemd-escape", "--unescape", place[len("claude-sandbox-"):-len(".slice")]).stdout.strip() == name, place
        entries = [e for e in journal("CLAUDE_PROFILE=" + name) if e.get("CLAUDE_LAUNCH") == launch.id]
        assert len(entries) == 1 and "\\x2d" not in entries[0]["MESSAGE"], entries
        # Exactly this profile's launch, and no other's.
        assert launch.id in unit_property("claude-sandbox@%s.service" % name, "StatusText")
        for other in launches:
            assert other is launch or other.id not in unit_property("claude-sandbox@%s.service" % name, "StatusText")
    assert len(slices) == len(launches)
    systemctl("stop", "claude-sandbox@my-team.service")
    launches[0].assert_gone()
    assert all(launch.process.poll() is None for launch in launches[1:])
    for launch in launches[1:]:
        launch.signal(signal.SIGTERM)
    for name in names[5:]:
        assert shell(name, "echo", "runs", cwd=work).stdout == "runs\n"


BAD_NAMES = ["a b", "x@y", "é", ".lead", "_lead", "a:b", "a/b", "../x", "..", ".", "", "/etc", "a\nb", "a%2f..", "..／x", "a" * 300, "a" * 101, " a", "a ",
             "\x1b[31m", "a.service", "a.scope", "shared-settings.json", "a\\x2db", "x-" * 50, b"a\xff", "日本", "a*", "$HOME"]


@test("names that no profile can have: refused by every command, status 2, nothing touched, shown escaped")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    assert_no_traces(PROFILE)
    before = tree(BASE, DATA / "profiles", LAUNCHES, HOME / ".config", work)
    for name in BAD_NAMES:
        for call in ([name], ["run", name], ["shell", name, "--", "true"], ["remove", name], ["env", name, "--set", "A=1"],
                     ["sandbox", name, "--on"], ["links", name, "--link"], ["add", name]):
            p = raw(PROGRAM, *call, cwd=work)
            text = p.stderr.decode(errors="surrogateescape")
            assert p.returncode == 2 and not p.stdout, (call, p)
            assert "\x1b" not in text and len(text.splitlines()) == 1, text
            assert not any("\udc80" <= c <= "\udcff" for c in text), text
    for call in (["-rf"], ["--lead"], ["run", "-lead"], ["shell", "-lead"], ["remove", "-rf"]):
        p = raw(PROGRAM, *call, cwd=work)
        assert p.returncode == 2 and not p.stdout, p
    assert tree(BASE, DATA / "profiles", LAUNCHES, HOME / ".config", work) == before
    assert "a\\x0ab" in raw(PROGRAM, "run", "a\nb", cwd=work).stderr.decode()
    # One that lies there is no profile for all that.
    base = t.tempdir()
    for name in ("a b", "x@y", "good"):
        (base / name).mkdir()
        (base / name / ".sandbox").touch()
    env = {"CLAUDE_PROFILE_PROFILES_BASE": str(base)}
    assert raw(PROGRAM, "shell", "a b", "--", "true", cwd=work, env=env).returncode == 2
    p = run(PROGRAM, "list", env=dict(ENV, **env))
    assert "good" in p.stdout and "x@y" not in p.stdout and "x@y" in p.stderr, p


# --- no user manager (Y04) ------------------------------------------------------------------------------------

@test("without a user manager of ours: one sentence that says how to get one, and nothing is made")
def _(t):
    profile = t.profile(PROFILE)
    work = t.tempdir()
    own = t.tempdir("/tmp")
    own.chmod(0o700)
    wide = t.tempdir("/tmp")
    wide.chmod(0o777)
    (t.tempdir("/tmp") / "link")
    link = t.tempdir("/tmp") / "link"
    link.symlink_to(RUNTIME)
    cases = [
        ({}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": ""}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": "run/user/1000"}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": "/run/user/0"}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": "/run/user/1001"}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": "/nonexistent"}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": str(wide)}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": str(link)}, "XDG_RUNTIME_DIR"),
        ({"XDG_RUNTIME_DIR": str(own)}, "No user manager answers at %s/bus" % own),
        ({"XDG_RUNTIME_DIR": str(own), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1001/bus"}, "No user manager answers at %s/bus" % own),
    ]
    places = (profile, work, own, wide, DATA / "profiles", LAUNCHES, DATA / "guest")
    before = tree(*places)
    for variables, says in cases:
        env = {k: v for k, v in ENV.items() if k not in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")}
        p = run(PROGRAM, "shell", PROFILE, "--", "true", cwd=work, env=dict(env, **variables), check=False)
        lines = [line for line in p.stderr.splitlines() if "Isolation is" not in line]
        assert p.returncode == 1 and len(lines) == 1 and says in lines[0], (variables, p)
        assert "Log in properly" in lines[0] and "enable-linger" in lines[0], lines
        # The host needs none.
        host = run(PROGRAM, "shell", PROFILE, "--", "sh", "-c", "echo $CLAUDE_CONFIG_DIR", cwd=work,
                   env=dict(env, CLAUDE_PROFILE_SANDBOX="0", **variables))
        assert host.stdout == "%s\n" % profile, host
    assert tree(*places) == before
    assert_no_traces(PROFILE)


@test("a bus that accepts and says nothing is given up, and nothing is left")
def _(t):
    import socket
    t.profile(PROFILE)
    own = t.tempdir("/tmp")
    own.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(own / "bus"))
        mute.listen(1)
        process = subprocess.Popen([PROGRAM, "shell", PROFILE, "--", "true"], cwd=t.tempdir(), env=dict(ENV, XDG_RUNTIME_DIR=str(own)),
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        t.cleanup(process.stderr.close)
        connection, _ = mute.accept()
        wait_for(lambda: list((own / "claude-profile").glob(PROFILE + "-*")), what="the launch directory")
        # Whoever does not want to wait for that can leave.
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(5) == 143, process.returncode
        finally:
            process.kill()
            process.wait()
        connection.close()
    assert not list((own / "claude-profile").glob("*-????????")), tree(own)


main()
