# SPDX-License-Identifier: MIT
"""The host's own certificate authorities: trusted inside by curl, git, python and claude itself, in images of either layout; without
any, nothing is mounted. The authority and the server are made here."""

import contextlib
import http.server
import ssl

from messages_stub import GUEST_ADDRESS, MessagesStub, host_address
from rigtest import *

PROFILE = "t-trust"
DEBIAN = Path("/usr/local/share/ca-certificates")
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
FEDORA = Path("/etc/pki/ca-trust")


def sudo(*argv):
    return run("sudo", *argv, timeout=120)


def make_authority(t):
    """A certificate authority, and a server's certificate from it."""
    place = t.tempdir()
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj", "/CN=test of claude-profile",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign", "-keyout", place / "ca.key", "-out", place / "ca.crt")
    run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", "/CN=" + GUEST_ADDRESS,
        "-keyout", place / "key", "-out", place / "csr")
    (place / "ext").write_text("subjectAltName=IP:%s\nbasicConstraints=CA:FALSE\n" % GUEST_ADDRESS)
    run("openssl", "x509", "-req", "-in", place / "csr", "-CA", place / "ca.crt", "-CAkey", place / "ca.key", "-days", "2", "-extfile", place / "ext",
        "-out", place / "crt")
    return place


def serve(t, authority):
    """A repository by way of TLS; the server's address."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            with contextlib.suppress(OSError):  # a client that does not trust us hangs up
                super().__init__(*args, directory=repository / ".git")

        def log_message(self, *_):
            pass
    repository = t.repository()
    run("git", "-C", repository, "update-server-info")
    server = http.server.ThreadingHTTPServer((host_address(), 0), Handler)
    over_tls(server, authority)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    t.cleanup(server.server_close)
    t.cleanup(server.shutdown)
    return "https://%s:%d" % (GUEST_ADDRESS, server.server_port)


def over_tls(server, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "crt", authority / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)


def set_aside(t, path):
    """As if it were not there."""
    kept = Path(str(path) + ".kept")
    sudo("mv", path, kept)
    t.cleanup(sudo, "mv", kept, path)


def install(t, authority):
    """What update-ca-certificates(8) would do, which takes many seconds."""
    set_aside(t, BUNDLE)
    both = authority / "both.crt"
    both.write_text(Path(str(BUNDLE) + ".kept").read_text() + (authority / "ca.crt").read_text())
    sudo("install", "-m", "0644", both, BUNDLE)
    t.cleanup(sudo, "rm", "-f", DEBIAN / "t-trust.crt")
    sudo("install", "-D", "-m", "0644", authority / "ca.crt", DEBIAN / "t-trust.crt")


def fedora_image(t):
    """A stand-in for Fedora's image: its directories and links on a small Debian, with another authority in its bundle."""
    tag = "localhost/t-trust:fedora"
    run("podman", "build", "--quiet", "--network=none", "--pull=never", "--tag", tag, "--file", "-", t.tempdir(), timeout=120,
        input="FROM localhost/rig-base:trixie\nRUN rm -rf /etc/ssl && mkdir -p /etc/ssl /etc/pki/ca-trust/extracted/pem /etc/pki/tls/certs && "
              "ln -s ../pki/tls/certs /etc/ssl/certs && echo image >/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem && "
              "ln -s /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem /etc/pki/tls/certs/ca-bundle.crt\n")
    t.cleanup(run, "podman", "rmi", "--force", tag)
    return {"CLAUDE_PROFILE_SANDBOX_IMAGE": tag}


CLIENTS = r"""
ask() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name yes"; else echo "$name no"; fi; }
ask curl curl -sS "$0/HEAD"
ask git git ls-remote "$0/"
ask python python3 -c "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])" "$0/HEAD"
if command -v node >/dev/null; then ask node node -e 'fetch(process.argv[1]).then(() => process.exit(0), () => process.exit(1))' "$0/HEAD"; fi
"""
# Without the variables: what the image's programs read by themselves, as behind sudo.
BARE = "exec env -i PATH=/usr/bin:/bin HOME=/tmp sh -c '%s' \"$0\"" % CLIENTS.replace("'", "'\\''")
TRUSTED = "curl yes\ngit yes\npython yes\n"
NOT = "curl no\ngit no\npython no\n"


def clients(url, script=CLIENTS, env=None):
    return shell(PROFILE, "bash", "-c", script, url, cwd=HOME / "t-trust-work", env=env)


def without_node(text):
    return re.sub(r"^node .*\n", "", text, flags=re.M)


def host_state(*roots):
    """Everything of these places: names, contents, owners, modes, labels."""
    found = {}
    for root in roots:
        for path in sorted([root, *root.rglob("*")]):
            st = path.lstat()
            found[str(path)] = (st.st_mode, st.st_uid, st.st_gid, st.st_ino, st.st_mtime_ns, st.st_ctime_ns, os.listxattr(path, follow_symlinks=False))
    return found


@test("a private authority of the host: curl, git and python trust its server, before and after the guest's own update; so does claude")
def _(t):
    profile = t.profile(PROFILE)
    work = HOME / "t-trust-work"
    work.mkdir()
    t.cleanup(work.rmdir)
    authority = make_authority(t)
    url = serve(t, authority)
    assert without_node(clients(url).stdout) == NOT
    install(t, authority)
    before = host_state(DEBIAN, Path("/etc/ssl/certs"))
    p = clients(url, CLIENTS + 'sudo -n update-ca-certificates >/dev/null 2>&1; update-ca-certificates >/dev/null 2>&1; ' + CLIENTS +
                "for d in %s /etc/ssl/certs; do test -w $d || grep -c \" $d .* ro,\\| $d ro,\" /proc/self/mountinfo; done" % DEBIAN)
    assert without_node(p.stdout) == TRUSTED * 2 + "1\n1\n", p
    if "node" not in p.stdout:
        note("node is not in the image; claude, which is node's like, stands for it")
    assert without_node(clients(url, BARE).stdout) == TRUSTED

    # claude reads NODE_EXTRA_CA_CERTS.
    stub = MessagesStub("echo $((6 * 7))")
    over_tls(stub, authority)
    t.cleanup(stub.close)
    (profile / ".env").write_text(stub.environment.replace("http://", "https://"))
    (profile / ".env").chmod(0o600)
    p = run(PROGRAM, PROFILE, "-p", "go", cwd=work, timeout=120)
    assert "42" in p.stdout and stub.requests, p

    # A forwarded variable counts.
    p = shell(PROFILE, "printenv", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", cwd=work,
              env={"CLAUDE_PROFILE_SANDBOX_FORWARD_ENV": "NODE_EXTRA_CA_CERTS", "NODE_EXTRA_CA_CERTS": "/mine"})
    assert p.stdout == "/mine\n/etc/ssl/certs/ca-certificates.crt\n", p
    # Nothing of it changed on the host, and podman is not asked to relabel it.
    assert host_state(DEBIAN, Path("/etc/ssl/certs")) == before
    argv = run(PROGRAM, "run", "--dry-run", PROFILE, cwd=work).stdout
    assert not re.search(r"(ca-certificates|/etc/ssl/certs)[^ ]*relabel", argv), argv


@test("a Debian host and an image with Fedora's layout, a Fedora host and an image with Debian's: trusted, with and without variables")
def _(t):
    t.profile(PROFILE)
    work = HOME / "t-trust-work"
    work.mkdir()
    t.cleanup(work.rmdir)
    authority = make_authority(t)
    url = serve(t, authority)
    install(t, authority)
    p = shell(PROFILE, "sh", "-c", "cmp $SSL_CERT_FILE /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem && echo same", cwd=work, env=fedora_image(t))
    assert p.stdout == "same\n", p

    # A stand-in for a Fedora host: this one with Fedora's files instead of Debian's.
    assert not FEDORA.parent.exists()
    t.cleanup(sudo, "rm", "-rf", FEDORA.parent)
    sudo("install", "-D", "-m", "0644", authority / "ca.crt", FEDORA / "source/anchors/t-trust.pem")
    sudo("install", "-D", "-m", "0644", BUNDLE, FEDORA / "extracted/pem/tls-ca-bundle.pem")
    set_aside(t, DEBIAN)
    p = clients(url, CLIENTS + "printenv SSL_CERT_FILE; grep -c ' %s' /proc/self/mountinfo" % FEDORA)
    assert without_node(p.stdout) == TRUSTED + "%s/extracted/pem/tls-ca-bundle.pem\n2\n" % FEDORA, p
    assert without_node(clients(url, BARE).stdout) == TRUSTED


@test("no authority of the host's own: nothing is mounted and no variable set; without what was extracted: a warning, and likewise")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    ask = ("grep -c ' %s \\| /etc/ssl/certs ' /proc/self/mountinfo; env | grep -c 'CA_CERTS\\|SSL_CERT\\|CA_BUNDLE\\|CAINFO\\|SANDBOX_TRUST'; "
           "grep -c BEGIN /etc/ssl/certs/ca-certificates.crt" % DEBIAN)
    install(t, make_authority(t))
    sudo("rm", BUNDLE)
    p = shell(PROFILE, "sh", "-c", ask, cwd=work)
    assert p.stdout.startswith("0\n0\n") and "Run update-ca-certificates" in p.stderr, p
    sudo("cp", str(BUNDLE) + ".kept", BUNDLE)
    set_aside(t, DEBIAN)
    p = shell(PROFILE, "sh", "-c", ask, cwd=work)
    assert p.stdout.startswith("0\n0\n") and int(p.stdout.split()[2]) > 100 and "certificate" not in p.stderr, p


main()
