# SPDX-License-Identifier: MIT
"""From nothing to a running sandbox and back, by exactly the commands that the README shows. Runs in a fresh rig (package-test), in
this order. ~/package has what `rig package` made: the package, its log, and what lintian says.

On Debian 12, whose podman is too old for sandboxes, the part with sandboxes is left out."""

import sys

sys.dont_write_bytecode = True
sys.path.append("/usr/src/claude-profile/tests/integration")

from rigtest import *  # noqa: E402

PACKAGE = HOME / "package"
CLONE = HOME / "package/clone"  # where the package was built, its parent has the result
IMAGE = "localhost/claude-profile-sandbox:latest"
MESSAGE_REFUSED = "2fc7d2193e544122bf2855c6c38ce197"
HAS_PODMAN_5 = int(run("podman", "--version").stdout.split()[2].split(".")[0]) >= 5
KEPT = [BASE, *([HOME / ".config/claude-profile", DATA / "profiles/work"] if HAS_PODMAN_5 else [])]

FIRST_SCREEN = "text style|Welcome"

# What of our names may be outside of homes: the copy of the sources, and what is told of us.
FIND = ["sudo", "find", "/", "-xdev", "(", "-path", "/usr/src/claude-profile", "-o", "-path", "/var/cache/rig", "-o", "-path", "/home", ")",
        "-prune", "-o", "-name", "*claude*", "-print"]

# A stand-in for podman, which becomes the real one but for the build of the image. That takes minutes and a network; tests/rig/rig does it
# for all other tests. Here it is looked at whether the package has all that it takes, and the rig's image is taken.
PODMAN = r"""
import os, re, subprocess, sys
if sys.argv[1] == "build":
    context = sys.argv[-1]
    recipe = open(next(a for a in sys.argv if a.startswith("--file=")).partition("=")[2]).read()
    for name in set(re.findall(r"/run/context/(\S+)|^COPY --chmod=\S+ (\S+)", recipe, re.M)):
        assert os.path.exists(os.path.join(context, name[0] or name[1])), name
    sys.exit(subprocess.call(["podman", "tag", "localhost/rig-image", sys.argv[sys.argv.index("--tag") + 1]]))
os.execv("/usr/bin/podman", ["podman"] + sys.argv[1:])
"""


def readme(heading):
    """The commands below a heading, as a script that shows each and ends with the first that fails."""
    return "set -eux\n" + run(TREE / "tests/rig/readme-commands", TREE / "README.md", heading).stdout


def ours():
    return run(*FIND).stdout.splitlines()


def on_terminal(t, script, cwd, env=None):
    """A script on a terminal, where claude shows itself; a Launch in as far as it can be talked to."""
    session = Launch.__new__(Launch)
    session.output, session.errors = b"", tempfile.TemporaryFile()
    session.master, slave = pty.openpty()
    session.out = session.master
    session.resize(40, 120)
    session.process = subprocess.Popen(["bash", "-c", script], cwd=cwd, env=dict(os.environ, TERM="xterm", **(env or {})), stdin=slave,
                                       stdout=slave, stderr=slave, start_new_session=True,
                                       preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    t.cleanup(session.end)
    return session


@test("the package was built from the tree, without a network, and lintian finds no error in it, nor anything to warn of")
def _(t):
    said = (PACKAGE / "lintian").read_text()
    assert not re.search("^[EW]:", said, re.M), said
    assert len(list(PACKAGE.glob("claude-profile_*.deb"))) == 1, list(PACKAGE.iterdir())


@test("nothing of it is there before; README's commands install it, and all of it is a file of the package")
def _(t):
    assert ours() == [], ours()
    assert MESSAGE_REFUSED not in run("journalctl", "--list-catalog").stdout
    CLONE.mkdir()
    p = run("bash", "-c", readme("Install it"), cwd=CLONE)
    version = run("dpkg-query", "--show", "--showformat=${Version}", "claude-profile").stdout
    assert p.stdout.splitlines()[-1] == "claude-profile " + version, p
    assert "\n## %s\n" % version in (TREE / "CHANGELOG.md").read_text()
    assert run("dpkg", "--verify", "claude-profile").stdout == ""
    of_package = run("dpkg", "--listfiles", "claude-profile").stdout.splitlines()
    # dpkg's own notes, and nothing else.
    assert [f for f in ours() if f not in of_package and not f.startswith("/var/lib/dpkg/info/claude-profile.")] == []
    for page in ("claude-profile", "claude-profile.conf", "claude-sandbox"):
        assert run("man", "--where", page).stdout.startswith("/usr/share/man/"), page
    assert MESSAGE_REFUSED in run("journalctl", "--list-catalog").stdout
    assert_units_verify()


@test("README's commands for a profile on the host: claude shows itself")
def _(t):
    session = on_terminal(t, readme("Or on the host"), cwd=t.tempdir())
    session.expect("\\+ claude-profile private\r")
    session.expect(FIRST_SCREEN)


def first_sandbox(t):
    run("bash", "-c", readme("Choose the isolation"))
    project = HOME / "src/project"
    project.parent.mkdir()
    run("git", "init", "-q", project)
    run("podman", "tag", IMAGE, "localhost/rig-image:latest")
    run("podman", "untag", IMAGE, IMAGE)
    session = on_terminal(t, readme("Make it and use it"), HOME, {"CLAUDE_PROFILE_PODMAN_BIN": str(t.program(PODMAN, name="podman"))})
    listed = session.expect(r"\+ claude-profile shell work -- ls -A \S+\r\n([^+]*)\+")[1].decode()
    lines = [line for line in re.split(r"[\r\n]+|\x1b\[K", listed) if line]
    assert [line for line in lines if not line.startswith(("claude-profile: ", "Copying claude"))] == ["src"], listed
    session.expect(FIRST_SCREEN)
    running = systemctl("list-units", "--plain", "--no-legend", "claude-sandbox-work-*.scope").stdout
    assert len(running.splitlines()) == 1, running
    assert "claude-sandbox-work.slice" in systemctl("list-unit-files").stdout
    run(PROGRAM, "stop", "work")
    session.wait()
    assert_no_traces("work")


if HAS_PODMAN_5:
    test("README's commands for the first sandbox: claude shows itself in one")(first_sandbox)


@test("README's command removes it: nothing of it is left in the system, and all that is the user's")
def _(t):
    before = tree(*KEPT)
    run("bash", "-c", readme("Remove it"), input="y\n")
    assert ours() == [], ours()
    assert MESSAGE_REFUSED not in run("journalctl", "--list-catalog").stdout
    wait_for(lambda: "claude" not in systemctl("list-unit-files").stdout, what="the user manager's reload")
    assert "claude-profile" not in run("dpkg-query", "--show", "--showformat=${Package} ${Status}\n").stdout
    assert tree(*KEPT) == before and all(str(path) in before for path in KEPT), before


main()
