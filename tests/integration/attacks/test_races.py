# SPDX-License-Identifier: MIT
"""Races: the guest of one launch swaps what lies at guarded names, in a tight loop, between a file or directory and a link out of the
sandbox, while further launches of the same profile begin in the same work root. Each of them either stops, or its guest sees nothing
of what the links name; what they name stays as it is.

RACE_LAUNCHES says how many launches there are (default 24)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from rigtest import *  # noqa: E402

PROFILE = "t-races"
LAUNCHES_WANTED = int(os.environ.get("RACE_LAUNCHES", "24"))

# Each name is, by turns, a real thing and a link; both kinds are renamed into place, so that there is always one or the other.
SWAPPER = """
import itertools, os, shutil, sys
root, secret = sys.argv[1:]
profile = "/home/appuser/.claude"
files = [root + "/n/.git/config", root + "/n/.git/info/attributes", root + "/.claude/settings.local.json", root + "/n/.git/commondir",
         profile + "/remote-settings.json", profile + "/statusline.sh"]
directories = [root + "/n/.git/hooks", root + "/n/.git/info", root + "/n/.git", root + "/n", root + "/.claude", root + "/bare/hooks",
               profile + "/chrome", profile + "/hooks", profile + "/plugins", profile + "/local", profile + "/session-env"]
def make():
    for d in (root + "/n/.git/hooks", root + "/n/.git/info", root + "/n/.git/objects", root + "/n/.git/refs", root + "/bare/objects",
              root + "/bare/refs", root + "/bare/hooks", root + "/.claude", *directories):
        try:
            os.makedirs(d, exist_ok=True)
        except OSError:
            pass
    for f in (*files, root + "/n/.git/HEAD", root + "/bare/HEAD", root + "/bare/config"):
        try:
            open(f, "a").close()
        except OSError:
            pass
make()
print("swapping", flush=True)
for i in itertools.count():
    # Now and then nothing is swapped for a moment, so that some launches get far; and for as long as the test wants.
    if i % 120 == 0:
        for _ in range(100000):
            os.stat(root)
    if os.path.exists(root + "/pause"):
        print("paused", flush=True)
        while os.path.exists(root + "/pause"):
            pass
    for path in (*files, *directories):
        target = secret + ("/file" if path in files else "/directory")
        try:
            os.symlink(target, path + ".link")
            os.rename(path, path + ".real")
            os.rename(path + ".link", path)
            os.rename(path, path + ".gone")
            os.rename(path + ".real", path)
            os.unlink(path + ".gone")
        except OSError:
            for p in (path + ".link", path + ".gone"):
                try:
                    os.unlink(p)
                except OSError:
                    pass
            if os.path.lexists(path + ".real") and not os.path.lexists(path):
                os.rename(path + ".real", path)
            make()
"""


@test("launches while another guest swaps guarded names for links out of the sandbox: stopped by name, or blind for what they lead to")
def _(t):
    profile = t.profile(PROFILE)
    root = t.tempdir()
    secret = t.tempdir()
    (secret / "directory").mkdir()
    for path in (secret / "file", secret / "directory/file"):
        path.write_text("S3CRET-OUTSIDE\n")
    before = tree(secret)
    (root / "swapper.py").write_text(SWAPPER)
    swapper = Launch(t, PROFILE, "python3", "swapper.py", str(root), str(secret), cwd=root)
    swapper.expect("swapping")

    look = "grep -rs S3CRET-OUTSIDE \"$PWD\" /home/appuser/.claude; cat /proc/self/mountinfo; echo @@"
    stopped, ran = [], []

    def launch(_):
        return raw(PROGRAM, "shell", PROFILE, "--", "sh", "-c", look, cwd=root)

    def look_at(p):
        out, said = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
        assert "S3CRET" not in out and str(secret) not in out, (out, said)
        assert "\x1b" not in said, said
        # Or it had begun, and was ended when a guard was lifted and could not be put back.
        ended = "The sandbox is ended, because a guard cannot be kept in place" in said
        (ran if p.returncode == 0 else stopped).append(said)
        assert ("@@" in out) == (p.returncode == 0) or ended, p
        if p.returncode != 0:
            # One sentence that names the thing, or podman's own words and ours about them.
            assert re.search("(?m)^claude-profile: .*(%s|%s|mount|podman|guards)" % (re.escape(str(root)), re.escape(str(profile))), said), said

    for p in at_once([lambda i=i: launch(i) for i in range(LAUNCHES_WANTED)], most=3):
        look_at(p)
    for _ in range(100):
        if not stopped:
            look_at(launch(0))
    assert swapper.process.poll() is None, swapper.stderr()
    note("%d launches ran, %d were stopped" % (len(ran), len(stopped)))
    assert stopped
    # It is the swapping that stops them.
    (root / "pause").touch()
    swapper.expect("paused")
    before_pause = len(ran)
    look_at(launch(0))
    assert len(ran) == before_pause + 1, stopped[-1]
    assert tree(secret) == before, set(tree(secret).items()) ^ set(before.items())
    for path in (secret / "file", secret / "directory/file"):
        assert path.read_text() == "S3CRET-OUTSIDE\n"
    swapper.end()
    assert_no_traces(PROFILE)
    assert profile.is_dir()


main()
