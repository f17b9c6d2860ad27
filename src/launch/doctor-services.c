/* SPDX-License-Identifier: MIT */

/* claude itself, and the services of the host that a sandbox of these settings would be served with. Those are asked directly here;
 * check_trial() asks agents through a bridge. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/desktop.h"
#include "launch/doctor.h"
#include "launch/find-program.h"
#include "launch/native-claude.h"
#include "shared/gpg-agent.h"

#define NPM_PACKAGE "/node_modules/@anthropic-ai/claude-code/"
#define INSTALL_CLAUDE "Install Claude Code, or set CLAUDE_PROFILE_CLAUDE_BIN to its path."
#define VERSION_SECONDS 10
#define CLIPBOARD_SECONDS 3
#define START_AGENT "eval $(ssh-agent) && ssh-add"

int check_profile(Doctor *d, CheckResult *ret) {
        if (!d->profile)
                return check_skipped(ret, "none was named; the settings for any are looked at");

        return check_ok(ret, "%s runs %s, %s", d->profile, d->on_host ? "on the host" : "in a sandbox",
                        d->authenticated ? "with a login" : "without a login yet");
}

/* Of an installation by npm: what its package says. */
static char *npm_version(const char *real) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        _cleanup_json_ Json *package = NULL;
        const char *version;
        int dir = (int) (strstr(real, NPM_PACKAGE) - real + (long) STRLEN(NPM_PACKAGE));

        if (asprintf_to(&path, "%.*spackage.json", dir, real) < 0 || io_read_file_at(AT_FDCWD, path, MIB, &text, NULL) < 0)
                return NULL;

        package = json_tokener_parse(text);
        version = package && json_object_is_type(package, json_type_object) ? json_get_string(package, "version") : NULL;
        return version ? strdup(version) : NULL;
}

static bool is_script(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        char begin[2];

        return fd >= 0 && read(fd, begin, sizeof(begin)) == sizeof(begin) && begin[0] == '#' && begin[1] == '!';
}

/* One that is neither is asked itself. */
static int check_other_claude(const char *program, CheckResult *ret) {
        char *const argv[] = { (char *) program, (char *) "--version", NULL };
        const char *kind = is_script(program) ? "a script" : "a program of its own";
        _cleanup_free_ char *output = NULL, *why = NULL;
        int r;

        r = doctor_run(argv, environ, VERSION_SECONDS, true, &output);
        if (r == 0)
                return check_ok(ret, "%s, %s, version %.*s", program, kind, (int) strcspn(output, "\n"), output);

        why = doctor_why(r, VERSION_SECONDS, output);
        return why ? check_warning(ret, INSTALL_CLAUDE, "%s, %s, %s", program, kind, why) : -ENOMEM;
}

int check_claude(Doctor *d, CheckResult *ret) {
        _cleanup_free_ char *program = NULL, *passed_over = NULL, *real = NULL, *version = NULL;
        NativeClaude native = { 0 };
        int r;

        r = find_program(d->settings->claude_bin, FIND_NOT_OURSELVES, &program, &passed_over);
        if (r == -ENOMEM)
                return r;
        if (r < 0 && passed_over)
                return check_failed(ret, INSTALL_CLAUDE, "%s calls claude-profile, and there is no other", passed_over);
        if (r < 0 && d->profile && !d->on_host)
                return check_ok(ret, "none on this machine; sandboxes run the image's");
        if (r < 0)
                return check_failed(ret, INSTALL_CLAUDE, "there is no %s (%s); sandboxes run the image's", d->settings->claude_bin, strerror(-r));

        r = native_claude_find(d->dirs, d->settings, &native);
        if (r < 0)
                return -ENOMEM;
        if (r > 0) {
                r = check_ok(ret, "native, version %s, which sandboxes run, too", native.version);
                native_claude_clear(&native);
                return r;
        }

        real = realpath(program, NULL);
        if (!real || !strstr(real, NPM_PACKAGE))
                return check_other_claude(program, ret);

        version = npm_version(real);
        return check_ok(ret, "from npm, version %s; sandboxes run the image's", version ?: "not known");
}

/* What the agent at `path` answered; AGENT_DEAD also for one that was not found. */
static AgentState agent_state(const Doctor *d, const char *path) {
        for (size_t i = 0; i < d->agents.n; i++)
                if (path && streq(d->agents.paths[i], path))
                        return d->agents.states[i];

        return AGENT_DEAD;
}

static int check_agent(const Doctor *d, const char *path, CheckResult *ret) {
        switch (agent_state(d, path)) {
        case AGENT_KEYS:
                return check_ok(ret, "%s lists keys (asked directly)", path);
        case AGENT_EMPTY:
                return check_warning(ret, d->settings->ssh_keys ? "ssh-add -l; claude-profile settings" : "ssh-add", "%s answers, but holds no key%s",
                                path, d->settings->ssh_keys ? " that SSHKeys= selects" : "");
        default:
                return check_failed(ret, START_AGENT, "none answers at %s", path);
        }
}

int check_ssh_agent(Doctor *d, CheckResult *ret) {
        const char *path = getenv("SSH_AUTH_SOCK");

        if (!d->settings->ssh_agent)
                return check_skipped(ret, "SSHAgent=no");
        if (ssh_agents_find(d->dirs->home, d->settings->ssh_keys, &d->agents) < 0)
                return -ENOMEM;
        if (str_is_empty(path))
                return d->agents.n > 0 ? check_skipped(ret, "SSH_AUTH_SOCK is not set")
                                       : check_failed(ret, START_AGENT, "SSH_AUTH_SOCK is not set");

        return check_agent(d, path, ret);
}

int check_onepassword(Doctor *d, CheckResult *ret) {
        const char *path = d->agents.onepassword;

        if (!d->settings->ssh_agent)
                return check_skipped(ret, "SSHAgent=no");
        if (!path || access(path, F_OK) < 0)
                return check_skipped(ret, "there is no ~/.1password/agent.sock");
        for (size_t i = 0; i < d->agents.n; i++)
                if (streq(d->agents.paths[i], path))
                        return check_agent(d, path, ret);

        return check_skipped(ret, "%s is what SSH_AUTH_SOCK names, or no socket", path);
}

int check_gpg_agent(Doctor *d, CheckResult *ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (!d->settings->gpg_agent)
                return check_skipped(ret, "GPGAgent=no");

        r = gpg_extra_socket(&path);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return check_failed(ret, "Install GnuPG (packages gnupg, gpg-agent).", "gpgconf does not say where its restricted socket is (%s)",
                                strerror(-r));
        if (!unix_socket_answers(path))
                return check_warning(ret, "systemctl --user enable --now gpg-agent-extra.socket",
                                "none answers at %s yet; a launch tries to start one", path);

        return check_ok(ret, "one answers at %s (asked directly)", path);
}

/* The program is really run, for the list of types; that nothing is copied is no error. */
int check_clipboard(Doctor *d, CheckResult *ret) {
        const PasteProgram program = desktop_paste_program();
        _cleanup_free_ char *path = NULL, *passed_over = NULL, *output = NULL, *why = NULL, *remedy = NULL;
        _cleanup_strv_ char **argv = NULL;
        int r;

        if (!d->settings->clipboard)
                return check_skipped(ret, "Clipboard=no");
        if (program < 0)
                return check_failed(ret, "Run this in a terminal of your desktop.", "neither WAYLAND_DISPLAY nor DISPLAY is set");

        r = find_program(paste_program_to_string(program), 0, &path, &passed_over);
        if (r < 0) {
                if (r == -ENOMEM || asprintf_to(&remedy, "Install the package %s.", desktop_paste_package(program)) < 0)
                        return -ENOMEM;
                return check_failed(ret, remedy, "there is no %s in PATH", paste_program_to_string(program));
        }

        if (paste_argv(&(PasteRequest) { .list = true }, program, path, &argv) < 0)
                return -ENOMEM;
        r = doctor_run(argv, environ, CLIPBOARD_SECONDS, true, &output);
        if (r == 0 || (r == 1 && !strcasestr(output, "connect") && !strcasestr(output, "open display")))
                return check_ok(ret, "%s works%s", path, r == 0 ? "" : ", nothing is copied now");

        why = doctor_why(r, CLIPBOARD_SECONDS, output);
        return why ? check_failed(ret, "Run this in a terminal of your desktop.", "%s %s", path, why) : -ENOMEM;
}

int check_browser(Doctor *d, CheckResult *ret) {
        const char *const chosen[] = { d->settings->chrome_bin, NULL };
        _cleanup_free_ char *path = NULL;

        if (!d->settings->chrome)
                return check_skipped(ret, "Chrome=no");

        for (const char *const *name = chosen[0] ? chosen : desktop_browsers; *name; name++) {
                _cleanup_free_ char *passed_over = NULL;
                int r;

                r = find_program(*name, 0, &path, &passed_over);
                if (r == -ENOMEM)
                        return r;
                if (r >= 0)
                        return check_ok(ret, "%s", path);
        }

        return check_failed(ret, "Install Google Chrome, or set CLAUDE_PROFILE_CHROME_BIN.", "there is no %s",
                        chosen[0] ?: desktop_browsers[0]);
}
