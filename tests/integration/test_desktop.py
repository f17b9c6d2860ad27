# SPDX-License-Identifier: MIT
"""The host's desktop from a sandbox: the clipboard of a real compositor (sway, without a screen) and of a real X server (Xvfb), pages in
a real browser (chromium, without a screen), and claude's own native-messaging host, which the real claude of the host provides; the
extension behind that one is a stand-in."""

import hashlib
import json
import signal
import ssl
import stat
from http.server import BaseHTTPRequestHandler, HTTPServer

from elsewhere import Elsewhere, native, outcome
from rigtest import *

PROFILE = "t-desktop"
INSIDE = "/tmp/claude-mcp-browser-bridge-appuser/host.sock"
NATIVE_HOSTS = Path("/tmp/claude-mcp-browser-bridge-dev")
PNG = b"\x89PNG\r\n\x1a\n"
CLIPBOARD = {"CLAUDE_PROFILE_SANDBOX_CLIPBOARD": "1"}
CHROME = {"CLAUDE_PROFILE_SANDBOX_CHROME": "1"}
NO_DISPLAY = {"WAYLAND_DISPLAY": "", "DISPLAY": ""}


def start(t, env, **kw):
    """A launch with a program inside that does what it is told."""
    t.profile(PROFILE)
    launch = Launch(t, PROFILE, *Elsewhere.ARGV, cwd=t.tempdir(), env=dict(NO_DISPLAY, **env), **kw)
    return launch, Elsewhere.in_launch(launch)


def finish(launch):
    launch.process.stdin.close()
    assert launch.wait() == 0, launch.stderr()
    assert_no_traces(PROFILE)


# --- the clipboard ------------------------------------------------------------------------------------------------


class Sway:
    """A real compositor, without a screen."""

    def __init__(self, t):
        directory = t.tempdir()
        (directory / "config").write_text("xwayland disable\nexec echo $WAYLAND_DISPLAY > %s/name.new && mv %s/name.new %s/name\n"
                                          % ((directory,) * 3))
        env = dict(ENV, WLR_BACKENDS="headless", WLR_LIBINPUT_NO_DEVICES="1", WLR_RENDERER="pixman")
        self.log = open(directory / "log", "w+")
        self.process = subprocess.Popen(["sway", "-c", str(directory / "config")], env=env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=subprocess.STDOUT)
        t.cleanup(self.stop)
        wait_for((directory / "name").exists, what="the compositor")
        self.display = (directory / "name").read_text().strip()
        self.env = dict(CLIPBOARD, WAYLAND_DISPLAY=self.display)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()

    def run(self, *argv, **kw):
        return subprocess.run(argv, env=dict(ENV, WAYLAND_DISPLAY=self.display), check=True, timeout=30,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)

    def copy(self, data, *options):
        self.run("wl-copy", *options, input=data)

    def here(self, *argv):
        return outcome(argv, env=dict(ENV, WAYLAND_DISPLAY=self.display))


def same(a, b):
    """Whether a program inside printed and ended as the one outside did."""
    return all(a[key] == b[key] for key in ("status", "size", "sha256", "errors"))


@test("C03: the guest's wl-paste prints and ends as the host's does: nothing, text with and without a final newline, types, a picture of 20 MB")
def _(t):
    sway = Sway(t)
    launch, there = start(t, sway.env)
    picture = PNG + os.urandom(20 << 20) + b"\n"
    calls = [["wl-paste"], ["wl-paste", "-n"], ["wl-paste", "-l"], ["wl-paste", "--list-types"], ["wl-paste", "-nt", "text/plain"],
             ["wl-paste", "--type=text/plain"], ["wl-paste", "--no-newline", "--type", "text/plain;charset=utf-8"],
             ["wl-paste", "--type", "image/png"]]
    for what, data, options in (("nothing", None, ()), ("text", b"a", ()), ("text with a newline", b"a\n", ()),
                                ("an emoji", "grüße 🙂".encode(), ()), ("empty text", b"", ("--type", "text/plain")),
                                ("a picture", picture, ("--type", "image/png")), ("HTML", b"<b>x</b>\n", ("--type", "text/html"))):
        if data is None:
            sway.run("wl-copy", "--clear")
        else:
            sway.copy(data, *options)
        for argv in calls:
            outside, inside = sway.here(*argv), there.outcome(argv)
            if what == "nothing" and len(argv) > 2 or what == "nothing" and "=" in argv[-1]:
                # Asked for a type, it cannot tell that there is none at all.
                outside["errors"] = inside["errors"]
            assert same(outside, inside), (what, argv, outside, inside)
        if data is picture:
            assert there.outcome(["wl-paste", "-t", "image/png"])["sha256"] == hashlib.sha256(picture).hexdigest()
            note("20 MB take %.2f s inside, %.2f s outside" % (there.outcome(calls[-1])["took"], sway.here(*calls[-1])["took"]))
    # A picture is never shortened, whatever time its reader takes: here until long after the bridge is done with it.
    sway.copy(picture, "--type", "image/png")
    go = Path(os.readlink("/proc/%d/cwd" % launch.process.pid)) / "go"
    os.mkfifo(go)

    def served():
        return len([e for e in journal("-u", launch.bridge) if e.get("BRIDGE_SERVICE") == "clipboard"])
    before = served()

    def release():
        wait_for(lambda: served() > before, 30, "the end of the bridge's part")
        go.write_text("go\n")
    p, _ = at_once([lambda: there.outcome(["bash", "-c", "wl-paste -t image/png | { read x <go; sha256sum; }; echo ${PIPESTATUS[0]}"]),
                    release])
    assert p["output"].split() == [hashlib.sha256(picture).hexdigest().encode(), b"-", b"0"], p
    # What the real one can do besides is not to be had, and says so.
    for argv in (["wl-paste", "--watch", "cat"], ["wl-paste", "--primary"], ["wl-paste", "-p"], ["wl-paste", "-t", "application/pdf"],
                 ["wl-paste", "-t", "image/png\n--watch"], ["wl-paste", "x"], ["wl-paste", "--bogus"], ["wl-paste", "-t"]):
        p = there.outcome(argv)
        assert p["status"] == 1 and p["size"] == 0 and p["errors"], (argv, p)
    entries = [e for e in journal("-u", launch.bridge) if e.get("BRIDGE_SERVICE") == "clipboard"]
    assert {"served", "refused"} == {e["BRIDGE_OUTCOME"] for e in entries}, entries
    assert not any("application/pdf" in str(e) for e in entries)
    finish(launch)


@test("C01: a wl-paste that hangs, floods, fails or is missing; the compositor's end and return")
def _(t):
    sway = Sway(t)
    bin = t.tempdir()
    log = bin / "log"
    fake = t.program("""
import os, subprocess, sys, time
open(%r, "a").write("%%d\\n" %% os.getpid())
what = open(%r).read()
if what == "hang":
    child = subprocess.Popen(["tail", "-f", "/dev/null"])
    open(%r, "a").write("%%d\\n" %% child.pid)
    child.wait()
if what == "flood":
    while True:
        os.write(1, b"y" * 65536)
if what == "fail":
    print("half")
    sys.exit(3)
if what == "text":
    print("hello")
    sys.exit(0)
os.execv("/usr/bin/wl-paste", ["wl-paste"] + sys.argv[1:])
""" % (str(log), str(bin / "what"), str(log)), directory=bin, name="wl-paste")
    launch, there = start(t, dict(sway.env, PATH="%s:%s" % (bin, os.environ["PATH"])))
    sway.copy(b"real")

    def ask(what, *argv):
        (bin / "what").write_text(what)
        return there.outcome(["wl-paste", *argv])

    assert ask("real", "-n")["output"] == b"real"
    p = ask("hang", "-n")
    assert p["status"] == 1 and p["size"] == 0 and "timeout" in p["errors"] and 9 < p["took"] < 14, p
    wait_for(lambda: not any(os.path.exists("/proc/" + pid) for pid in log.read_text().split()), what="the end of both processes")
    p = ask("flood", "-n")
    assert p["status"] == 1 and p["size"] == 0 and "too large" in p["errors"], p
    p = ask("fail", "-n")
    assert p["status"] == 3 and p["size"] == 0, p
    p = ask("text", "-t", "image/png")
    assert p["status"] == 1 and p["size"] == 0, p
    assert ask("real", "-n")["output"] == b"real"
    fake.unlink()
    p = ask("", "-n")
    assert p["status"] == 1 and p["size"] == 0 and "missing" in p["errors"], p
    # All that time the bridge's own memory was no matter, and the supervisor's neither.
    for unit in (launch.bridge, "claude-sandbox@%s.service" % PROFILE):
        status = Path("/proc/%s/status" % unit_property(unit, "MainPID")).read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1))
        assert peak < 64 * 1024, (unit, peak)
    finish(launch)


@test("C02: an idle session never asks for the clipboard")
def _(t):
    bin = t.tempdir()
    t.program("open(%r, 'a').write('called')" % str(bin / "log"), directory=bin, name="wl-paste")
    launch, there = start(t, dict(CLIPBOARD, WAYLAND_DISPLAY="wayland-9", PATH="%s:%s" % (bin, os.environ["PATH"])))
    for _ in range(3):
        there.outcome(["true"])
    assert not (bin / "log").exists()
    assert there.outcome(["wl-paste", "-l"])["status"] == 0
    assert (bin / "log").read_text() == "called"
    finish(launch)


@test("a host with X11 only: xclip answers the same questions")
def _(t):
    directory = t.tempdir()
    r, w = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(w), "-noreset", "-nolisten", "tcp", "-screen", "0", "64x64x8"], pass_fds=[w],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(w)
    t.cleanup(server.wait)
    t.cleanup(server.terminate)
    number = b""
    while not number.endswith(b"\n"):
        assert select.select([r], [], [], 30)[0]
        piece = os.read(r, 16)
        assert piece, "no X server"
        number += piece
    os.close(r)
    display = ":" + number.decode().strip()

    def copy(data, *options):
        (directory / "data").write_bytes(data)
        subprocess.run(["xclip", "-selection", "clipboard", *options, str(directory / "data")], env=dict(ENV, DISPLAY=display),
                       check=True, timeout=30, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    launch, there = start(t, dict(CLIPBOARD, DISPLAY=display))
    p = there.outcome(["wl-paste"])
    assert p["status"] == 1 and p["size"] == 0 and p["errors"] == "Nothing is copied\n", p
    copy("grüße".encode())
    assert "text/plain;charset=utf-8" in there.outcome(["wl-paste", "-l"])["output"].decode().splitlines()
    assert there.outcome(["wl-paste"])["output"] == "grüße\n".encode()
    assert there.outcome(["wl-paste", "-n"])["output"] == "grüße".encode()
    assert there.outcome(["wl-paste", "-t", "image/png"])["status"] == 1
    picture = PNG + os.urandom(2 << 20)
    copy(picture, "-t", "image/png")
    assert "image/png" in there.outcome(["wl-paste", "-l"])["output"].decode().splitlines()
    assert there.outcome(["wl-paste", "-t", "image/png"])["sha256"] == hashlib.sha256(picture).hexdigest()
    finish(launch)


@test("the bridge reaches the clipboard, and nothing more of the desktop")
def _(t):
    # What a bridge in a guest's hands could do: its process's own view of files, as root may look into it.
    sway = Sway(t)
    launch, there = start(t, sway.env)
    sway.copy(b"x")
    assert there.outcome(["wl-paste", "-n"])["output"] == b"x"
    pid = unit_property(launch.bridge, "MainPID")
    view = "/proc/%s/root" % pid
    run("sudo", "test", "-S", "%s%s/claude-profile/%s.sock" % (view, RUNTIME, PROFILE))
    # The compositor's socket is covered by one that nobody listens at.
    there_is = run("sudo", "stat", "-c", "%i %a", "%s%s/%s" % (view, RUNTIME, sway.display)).stdout.split()
    assert there_is[0] != str((RUNTIME / sway.display).stat().st_ino) and there_is[1] == "0", there_is
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    run("sudo", "python3", "-c", connect, RUNTIME / sway.display)
    p = run("sudo", "python3", "-c", connect, "%s%s/%s" % (view, RUNTIME, sway.display), check=False)
    assert p.returncode != 0 and "ConnectionRefusedError" in p.stderr, p.stderr
    # And no program can be executed there, by root neither.
    p = run("sudo", "nsenter", "--target", pid, "--mount", "--", "/usr/bin/wl-paste", check=False)
    assert p.returncode == 126 and "Permission denied" in p.stderr, p
    status = run("sudo", "cat", "/proc/%s/status" % pid).stdout
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status, status
    # What it may open no more is in no file of /proc. It says when it could not give that up.
    assert any("Landlock" in e.get("MESSAGE", "") for e in journal("_PID=" + pid)) != has_landlock()
    finish(launch)


# --- the browser --------------------------------------------------------------------------------------------------


def recording_browser(t):
    """A stand-in for the browser that writes down how it was called, and stays until it is told to end."""
    directory = t.tempdir()
    record, end = directory / "record", directory / "end"
    os.mkfifo(end)
    browser = t.program("""
import json, os, sys
fds = [os.readlink("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)]
with open(%r, "a") as f:
    f.write(json.dumps({"argv": sys.argv, "environ": dict(os.environ), "cwd": os.getcwd(), "fds": fds,
                        "cgroup": open("/proc/self/cgroup").read()}) + "\\n")
open(%r).read()
""" % (str(record), str(end)), directory=directory, name="my chrome")
    t.cleanup(systemctl, "stop", "claude-sandbox-browser-*.service", check=False)

    def calls():
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    return browser, calls


@test("U05: one of claude's own pages is opened, as one argument, by a service of its own that outlives the launch")
def _(t):
    browser, calls = recording_browser(t)
    begin = time.time()
    launch, there = start(t, dict(CHROME, CLAUDE_PROFILE_CHROME_BIN=str(browser), WAYLAND_DISPLAY="wayland-7", GH_TOKEN="secret"))
    urls = ["https://clau.de/chrome/reconnect", "https://claude.ai/chrome?a=$HOME&b=$(id)';touch;%25n%n"[:-2],
            "https://clau.de/chrome/tab/1#%41"]
    for n, url in enumerate(urls, 1):
        p = there.outcome(["google-chrome" if n % 2 else "google-chrome-stable", "--new-window", url, "https://clau.de/chrome/second"])
        assert (p["status"], p["size"], p["errors"]) == (0, 0, ""), p
        wait_for(lambda: len(calls()) == n, what="the browser")
        assert calls()[-1]["argv"] == [str(browser), url], calls()[-1]
    call = calls()[0]
    assert "/app.slice/claude-sandbox-browser-" in call["cgroup"], call["cgroup"]
    assert call["environ"]["WAYLAND_DISPLAY"] == "wayland-7"
    assert not {"GH_TOKEN", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "LISTEN_FDS", "CLAUDE_CONFIG_DIR"} & set(call["environ"])
    assert not any(launch.token in str(c) for c in calls())
    assert not any("socket:" in fd and n > 2 for n, fd in enumerate(call["fds"])), call["fds"]
    units = systemctl("list-units", "--plain", "--no-legend", "claude-sandbox-browser-*.service").stdout.split("\n")
    assert len([u for u in units if u]) == 3, units
    opened = [e for e in journal("CLAUDE_PROFILE=" + PROFILE, since=begin) if "BROWSER_URL" in e]
    assert [e["BROWSER_URL"] for e in opened] == urls and opened[0]["CLAUDE_LAUNCH"] == launch.id, opened
    finish(launch)
    units = systemctl("list-units", "--plain", "--no-legend", "claude-sandbox-browser-*.service").stdout.split("\n")
    assert len([u for u in units if u]) == 3, units


@test("U03, U04: no other page is opened, whoever asks")
def _(t):
    browser, calls = recording_browser(t)
    launch, there = start(t, dict(CHROME, CLAUDE_PROFILE_CHROME_BIN=str(browser)))
    for url in ("http://clau.de/chrome", "https://claude.ai/chromebook-ad", "https://claude.ai/chrome/../settings",
                "https://claude.ai@evil.example/chrome", "https://claude.ai/chrome/%2e%2e/settings", "https://evil.example/",
                "https://clau.de/chrome x", "https://clau.de/chrome\n", "https://clau.de/chrome/\x1b[2J"):
        p = there.outcome(["google-chrome", url])
        assert (p["status"], p["size"], p["errors"]) == (1, 0, ""), (url, p)
    for argv in (["google-chrome"], ["google-chrome", "--renderer-cmd-prefix=touch /tmp/m"], ["google-chrome", "about:blank"],
                 ["google-chrome", "file:///etc/passwd"]):
        assert there.outcome(argv)["status"] == 1, argv
    # A bridge in a guest's hands: the supervisor judges again, and takes no program from a socket.
    for request in ({"request": "open", "id": launch.id, "url": "https://evil.example/"},
                    {"request": "open", "id": launch.id, "url": "--version"},
                    {"request": "open", "id": "00000000", "url": "https://clau.de/chrome"},
                    {"request": "open", "id": "../" + launch.id[3:], "url": "https://clau.de/chrome"},
                    {"request": "hold", "id": "00000000", "directory": "/", "browser": "/bin/sh"}):
        s = subprocess.run(["nc", "-N", "-U", str(LAUNCHES / (PROFILE + ".sock"))], input=json.dumps(request) + "\n", text=True,
                           stdout=subprocess.PIPE, timeout=15)
        assert request["request"] == "hold" or s.stdout in ('{"ok":false}\n', ""), (request, s.stdout)
    assert calls() == []
    # Not many in a row.
    opened = [there.outcome(["google-chrome", "https://clau.de/chrome"])["status"] for _ in range(10)]
    assert opened[:5] == [0] * 5 and 1 in opened, opened
    assert len(calls()) <= opened.count(0)
    finish(launch)


@test("a real browser shows the page")
def _(t):
    directory = t.tempdir()
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=clau.de", "-keyout", directory / "key", "-out", directory / "cert")
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.headers["Host"], self.path))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<title>a stand-in for claude's page</title>")

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "cert", directory / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    t.cleanup(server.shutdown)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # The name is mapped to the stand-in, whose certificate nobody has signed.
    browser = t.program("""
import os, sys
os.execvp("chromium", ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                       "--user-data-dir=%s", "--host-resolver-rules=MAP clau.de 127.0.0.1:%d", "--ignore-certificate-errors", *sys.argv[1:]])
""" % (directory / "data", server.server_address[1]))
    t.cleanup(systemctl, "stop", "claude-sandbox-browser-*.service", check=False)
    launch, there = start(t, dict(CHROME, CLAUDE_PROFILE_CHROME_BIN=str(browser)))
    assert there.outcome(["google-chrome", "https://clau.de/chrome/reconnect?x=1"])["status"] == 0
    wait_for(lambda: ("clau.de", "/chrome/reconnect?x=1") in seen, 90, "the browser's request")
    finish(launch)
    # It goes on without the launch.
    units = systemctl("list-units", "--plain", "--no-legend", "--state=active", "claude-sandbox-browser-*.service").stdout
    assert "claude-sandbox-browser-" in units


# --- native messaging -----------------------------------------------------------------------------------------------


class Extension:
    """Stands in for Chrome with claude's extension, on the pipes of claude's real native host. Like the real one it answers a method
    that it does not know with an error that names it."""

    def __init__(self, t):
        self.process = subprocess.Popen([HOME / ".local/bin/claude", "--chrome-native-host"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
        self.requests = []
        t.cleanup(self.end)
        threading.Thread(target=self.serve, daemon=True).start()
        self.path = NATIVE_HOSTS / ("%d.sock" % self.process.pid)
        wait_for(lambda: self.path.exists() and stat.S_IMODE(self.path.stat().st_mode) == 0o600, 60, "the native host's socket")

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.process.stdout.read(n - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def serve(self):
        try:
            while True:
                message = json.loads(self.read(struct.unpack("<I", self.read(4))[0]))
                if message["type"] != "tool_request":
                    continue
                self.requests.append(message["method"])
                answer = {"type": "tool_response"}
                if message["method"] == "execute_tool":
                    answer["result"] = {"content": message["params"]}
                else:
                    answer["error"] = {"content": [{"type": "text", "text": "Unknown method: " + message["method"]}]}
                text = json.dumps(answer).encode()
                self.process.stdin.write(struct.pack("<I", len(text)) + text)
                self.process.stdin.flush()
        except (EOFError, OSError):
            pass

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def tool(text):
    return json.dumps({"method": "execute_tool", "params": text}).encode()


@test("N05: a guest talks to the extension through claude's real native host, again after the browser's restart, and never hears of keepalives")
def _(t):
    browser, _ = recording_browser(t)
    first = Extension(t)
    launch, there = start(t, dict(CHROME, CLAUDE_PROFILE_CHROME_BIN=str(browser)))
    place = there.outcome(["stat", "-c", "%a %U %F", str(Path(INSIDE).parent), INSIDE])["output"].decode().splitlines()
    assert place == ["700 appuser directory", "600 appuser socket"], place
    received, end = there.native(INSIDE, [tool("one"), tool("two")], 2)
    assert [json.loads(r) for r in received] == [{"result": {"content": "one"}}, {"result": {"content": "two"}}], (received, end)
    # A large one, both ways.
    large = "x" * 900000
    received, end = there.native(INSIDE, [tool(large)], 1, timeout=30)
    assert json.loads(received[0])["result"]["content"] == large
    # Killed, it leaves its socket behind.
    first.end()
    assert first.path.exists()
    received, end = there.native(INSIDE, [tool("between")], 1)
    assert (received, end) in (([], "closed"), ([], "ConnectionResetError")), (received, end)
    second = Extension(t)
    received, end = there.native(INSIDE, [tool("after")], 1)
    assert json.loads(received[0])["result"]["content"] == "after", (received, end)

    # One that waits for longer than a keepalive takes: the extension hears of it, the guest does not.
    received, end = there.native(INSIDE, [], 1, timeout=24)
    assert (received, end) == ([], "TimeoutError"), (received, end)
    assert second.requests.count("claude_profile_keepalive") == 1, second.requests
    second.end()
    finish(launch)


@test("not enabled, every one of these programs fails without a word")
def _(t):
    sway = Sway(t)
    launch, there = start(t, {"WAYLAND_DISPLAY": sway.display})
    sway.copy(b"x")
    for argv in (["wl-paste"], ["wl-paste", "-l"], ["google-chrome", "https://clau.de/chrome"],
                 ["google-chrome-stable", "https://clau.de/chrome"]):
        p = there.outcome(argv)
        assert (p["status"], p["size"], p["errors"]) == (1, 0, ""), (argv, p)
    assert there.native(INSIDE, [tool("x")], 1) == ([], "FileNotFoundError")
    # What these say is what they say where there never was an agent.
    for argv, status, said in ((["ssh-add", "-l"], 2, "Could not open a connection to your authentication agent."),
                               (["sh", "-c", "echo x | gpg --batch --clearsign"], 2, "No secret key")):
        p = there.outcome(argv)
        assert (p["status"], p["size"]) == (status, 0) and said in p["errors"], (argv, p)
    finish(launch)

    # With a bridge that has something else.
    agent = t.ssh_agent()
    launch, there = start(t, {"WAYLAND_DISPLAY": sway.display, "CLAUDE_PROFILE_SANDBOX_SSH_AGENT": "1", "SSH_AUTH_SOCK": agent.path})
    for argv in (["wl-paste"], ["google-chrome", "https://clau.de/chrome"]):
        p = there.outcome(argv)
        assert (p["status"], p["size"], p["errors"]) == (1, 0, ""), (argv, p)
    assert there.native(INSIDE, [tool("x")], 1) == ([], "FileNotFoundError")
    finish(launch)


@test("run --dry-run says which programs of the host serve a sandbox")
def _(t):
    t.profile(PROFILE)
    browser, _ = recording_browser(t)
    env = dict(ENV, WAYLAND_DISPLAY="wayland-9", CLAUDE_PROFILE_CHROME_BIN=str(browser), **CLIPBOARD, **CHROME)
    work = t.tempdir()
    plan = json.loads(run(PROGRAM, "run", "--dry-run", "--json", PROFILE, cwd=work, env=env).stdout)
    assert {s["name"]: s["path"] for s in plan["services"]} == {
        "clipboard": "/usr/bin/wl-paste", "open": str(browser), "chrome": str(NATIVE_HOSTS)}, plan["services"]
    text = run(PROGRAM, "run", "--dry-run", PROFILE, cwd=work, env=env).stdout
    assert re.search(r"clipboard +/usr/bin/wl-paste\n", text), text


@test("what the host lacks is said, and the launch goes on without it")
def _(t):
    t.profile(PROFILE)
    p = shell(PROFILE, "true", cwd=t.tempdir(), env=dict(NO_DISPLAY, **CLIPBOARD, **CHROME, CLAUDE_PROFILE_CHROME_BIN="/nowhere/chrome"))
    assert "neither WAYLAND_DISPLAY nor DISPLAY" in p.stderr and "/nowhere/chrome" in p.stderr, p.stderr
    assert_no_traces(PROFILE)


main()
