# SPDX-License-Identifier: MIT
"""Images of MCP servers and the image's tools: sandbox-cache, podman inside, sandbox-skill. The registry is a stand-in, podman is real
outside and inside. Where containers run inside, a container with two more capabilities stands for the microVM, which this machine
cannot boot."""

import json

from registry_stub import RegistryStub
from rigtest import *

PROFILE = "t-images"
STORE = DATA / "image-store"
LIKE_A_VM = "args[1:1] = ['--cap-add=SYS_ADMIN,NET_ADMIN', '--device=/dev/fuse']"


def small_image(t):
    """One program and a file that is neither root's nor anybody's to read, as an OCI directory."""
    context, saved = t.tempdir(), t.tempdir() / "oci"
    shutil.copy("/usr/libexec/claude-profile/claude-sandbox-guest", context / "tool")
    (context / "file").write_text("content\n")
    run("podman", "build", "--quiet", "--network=none", "--tag", "localhost/t-images:small", "--file", "-", context, timeout=120,
        input="FROM scratch\nCOPY --chmod=0755 tool /tool\nCOPY --chown=33:44 --chmod=0640 file /file\nCMD [\"/tool\", \"--version\"]\n")
    t.cleanup(run, "podman", "rmi", "--force", "localhost/t-images:small")
    run("podman", "save", "--quiet", "--format=oci-dir", "--output", saved, "localhost/t-images:small")
    return saved


def server(*args, command="podman"):
    return {"command": command, "args": list(args)}


@test("sandbox-cache pulls the images of podman's and docker's MCP servers; a sandbox sees them, read-only, with the owners they have")
def _(t):
    profile = t.profile(PROFILE)
    t.cleanup(run, PROGRAM, "sandbox-cache", PROFILE, "--clear")
    top = t.tempdir()
    work = top / "w"
    work.mkdir()
    registry = RegistryStub(small_image(t))
    t.cleanup(registry.close)
    names = [registry.name + "/t/" + name for name in ("user", "project", "above")]
    (profile / ".claude.json").write_text(json.dumps({
        "mcpServers": {"a": server("run", "-i", "--rm", "-e", "URL=https://h/x", names[0] + ":1"), "b": {"type": "http", "url": "http://h.invalid/"}},
        "projects": {"/elsewhere": {"mcpServers": {"c": server("run", "-ite", "TOKEN", names[1], command="docker")}}}}))
    (top / ".mcp.json").write_text(json.dumps({"mcpServers": {"d": server("--log-level", "error", "run", "--rm", names[2], "--rm")}}))
    (top / "registries.conf").write_text('[[registry]]\nlocation = "%s"\ninsecure = true\n' % registry.name)
    host = dict(ENV, CONTAINERS_REGISTRIES_CONF=str(top / "registries.conf"))

    def planned():
        return [m["target"] for m in json.loads(run(PROGRAM, "run", "--dry-run", "--json", PROFILE, cwd=work).stdout)["mounts"] if "stor" in m["target"]]

    assert planned() == []
    p = run(PROGRAM, "sandbox-cache", PROFILE, cwd=work, env=host, timeout=120)
    assert registry.pulled and sorted(set(registry.pulled)) == ["t/above", "t/project", "t/user"], registry.pulled
    assert "Writing manifest" in p.stderr and "Sandboxes find 3 images" in p.stdout, p
    assert not list(RUNTIME.glob("claude-profile-image-store"))
    assert not [f for f in STORE.rglob("*") if f.lstat().st_uid != os.getuid()]

    # Under "container" podman says in a line that it cannot.
    p = shell(PROFILE, "sh", "-c", "podman images; echo $?; docker ps; echo $?; touch /opt/claude-host/image-store/x; grep store /etc/containers/storage.conf; "
              "echo x >>/etc/containers/storage.conf", cwd=work, check=False)
    assert p.stdout == '125\n125\nadditionalimagestores = ["/opt/claude-host/image-store"]\n', p
    assert p.stderr.count("A sandbox that is a container itself cannot run containers.") == 2 and p.stderr.count("Read-only file system") == 2, p

    # As in a microVM: the real podman finds them without a registry, and runs one.
    registry.close()
    vm = {"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(LIKE_A_VM))}
    p = shell(PROFILE, "sh", "-c", "podman images --format '{{.Repository}} {{.ReadOnly}}' | sort; podman create --network=host --pull=never --name c %s:1 >/dev/null; "
              "podman export c | tar --numeric-owner -tv file | cut -d' ' -f1,2" % names[0], cwd=work, env=vm, timeout=120)
    assert p.stdout == "".join("%s true\n" % n for n in sorted(names)) + "-rw-r----- 33/44\n", p

    assert planned() == ["/opt/claude-host/image-store", "/etc/containers/storage.conf"]
    (profile / ".claude.json").unlink()
    p = run(PROGRAM, "sandbox-cache", PROFILE, cwd=work, env=host, check=False, timeout=120)
    assert p.returncode == 1 and "1 of 1 images could not be pulled" in p.stderr, p
    run(PROGRAM, "sandbox-cache", PROFILE, "--clear")
    assert not STORE.exists() and planned() == []


@test("podman inside is the image's, by way of sudo, with the caller's variables but no proxy's")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    # A stand-in for sudo that shows how it was called.
    t.program("import os, sys\nprint(sys.argv[1:], os.environ.get('TOKEN'), [n for n in os.environ if 'proxy' in n.lower()])\n", work, "sudo")
    script = "export TOKEN=x http_proxy=http://u:p@h HTTPS_PROXY=http://u:p@h no_proxy=h; PATH=$PWD:$PATH podman run -e TOKEN img; docker --version | cut -d' ' -f1,2"
    p = shell(PROFILE, "sh", "-c", script, cwd=work, env={"CLAUDE_PROFILE_PODMAN_BIN": str(t.podman(LIKE_A_VM))})
    assert p.stdout == ("['-n', '-E', '-H', '--', '/usr/bin/podman', '--storage-driver=overlay', '--storage-opt=overlay.mount_program=/usr/bin/fuse-overlayfs', "
                        "'run', '-e', 'TOKEN', 'img'] x []\npodman version\n"), p
    assert "cannot run containers" in shell(PROFILE, "podman", "ps", cwd=work, check=False).stderr


@test("sandbox-skill writes the tools that the image has; --check tells when that is no longer so")
def _(t):
    page = t.tempdir() / "sandbox-tools"
    page.mkdir()
    p = run(PROGRAM, "sandbox-skill", "--check", "--path", page, check=False)
    assert p.returncode == 1 and "Cannot read" in p.stderr, p
    run(PROGRAM, "sandbox-skill", "--path", page)
    text = (page / "SKILL.md").read_text()
    assert text.startswith("---\nname: sandbox-tools\n") and "| `rg` |" in text and "| `podman` |" in text and "sudo apt-get" in text, text
    assert "| `node` |" not in text and "Debian GNU/Linux 13" in text, text
    assert run(PROGRAM, "sandbox-skill", "--check", "--path", page / "SKILL.md").stdout == ""
    p = run(PROGRAM, "sandbox-skill", "--check", "--path", page, check=False, env=dict(ENV, CLAUDE_PROFILE_SANDBOX_IMAGE="localhost/rig-base:trixie"))
    assert p.returncode == 1 and "is not what the image has" in p.stderr, p
    p = run(PROGRAM, "sandbox-skill", "--path", page, check=False, env=dict(ENV, CLAUDE_PROFILE_SANDBOX_IMAGE="no-such-image:x"))
    assert p.returncode == 1 and "claude-profile build" in p.stderr, p
    assert (page / "SKILL.md").read_text() == text
    # By itself it goes where profiles with a link to ~/.claude/skills have it.
    home = HOME / ".claude"
    assert not home.exists()
    t.cleanup(shutil.rmtree, home, ignore_errors=True)
    run(PROGRAM, "sandbox-skill")
    assert (home / "skills/sandbox-tools/SKILL.md").read_text() == text


@test("an image made FROM ours serves as the sandbox's image, whatever its USER, its WORKDIR and its ENTRYPOINT")
def _(t):
    t.profile(PROFILE)
    work = t.tempdir()
    run("podman", "build", "--quiet", "--network=none", "--tag", "localhost/t-images:derived", "--file", "-", work, timeout=120,
        input="FROM localhost/claude-profile-sandbox:latest\nUSER root\nRUN printf '#!/bin/sh\\necho mine' >/usr/local/bin/tool && chmod 755 /usr/local/bin/tool\n"
              "ENV ADDED=yes\nUSER nobody\nWORKDIR /srv\nENTRYPOINT [\"/bin/false\"]\n")
    t.cleanup(run, "podman", "rmi", "--force", "localhost/t-images:derived")

    env = {"CLAUDE_PROFILE_SANDBOX_IMAGE": "localhost/t-images:derived"}
    p = shell(PROFILE, "sh", "-c", "id -un; pwd; touch made; stat -c %U made; echo $ADDED; tool; sudo -n /usr/bin/apt-get --version | head -c 3", cwd=work, env=env)
    assert p.stdout == "appuser\n%s\nappuser\nyes\nmine\napt" % work, p
    assert (work / "made").stat().st_uid == os.getuid()
    assert "(Claude Code)" in run(PROGRAM, PROFILE, "--version", cwd=work, env=dict(ENV, **env)).stdout


main()
