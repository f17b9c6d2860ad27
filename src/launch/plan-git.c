/* SPDX-License-Identifier: MIT */

/* git's settings in the guest: a copy of ~/.gitconfig at its usual place, and a global file (GIT_CONFIG_GLOBAL) that includes
 * it and then states the identity as git resolves it here, on the host: the user's include files are not mounted, and
 * `includeIf "gitdir:~/…"` cannot match in the guest. The repository's own configuration still wins. */

#include <fcntl.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/guards.h"
#include "shared/subprocess.h"

#define GITCONFIG_MAX MIB
#define GIT_OUTPUT_MAX (256 * KIB)
#define GIT_TIMEOUT_USEC (5 * USEC_PER_SEC)
#define GUEST_GITCONFIG GUEST_HOME "/.gitconfig"
#define GLOBAL_FILE "gitconfig"
#define HOOKS_PATH_KEY "core.hookspath"

typedef enum IdentityKey {
        IDENTITY_NAME,
        IDENTITY_EMAIL,
        IDENTITY_SIGNINGKEY,
        IDENTITY_GPGSIGN,
        IDENTITY_FORMAT,
        _IDENTITY_MAX,
        HOOKS_PATH = _IDENTITY_MAX, /* no identity: where hooks are, whoever says so */
        _VALUES_MAX,
} IdentityKey;

static const struct {
        const char *key; /* as git prints it */
        const char *section, *variable;
} identity_keys[] = {
        [IDENTITY_NAME] = { "user.name", "user", "name" },
        [IDENTITY_EMAIL] = { "user.email", "user", "email" },
        [IDENTITY_SIGNINGKEY] = { "user.signingkey", "user", "signingkey" },
        [IDENTITY_GPGSIGN] = { "commit.gpgsign", "commit", "gpgsign" },
        [IDENTITY_FORMAT] = { "gpg.format", "gpg", "format" },
};
static_assert(ELEMENTSOF(identity_keys) == _IDENTITY_MAX, "a row for each key");

/* Output of `git config --show-scope --null --get-regexp`: scope NUL key LF value NUL, the last of a key counts. Values of
 * the repository itself are left out: the guest has that file. */
static void parse_identity(const char *text, size_t n, const char *values[_VALUES_MAX]) {
        const char *end = text + n;

        while (text < end) {
                const char *scope = text, *entry = scope + strlen(scope) + 1, *value;
                size_t key_length;

                if (entry >= end)
                        break;
                text = entry + strlen(entry) + 1;

                key_length = strcspn(entry, "\n");
                value = entry[key_length] == '\n' ? entry + key_length + 1 : "true";
                if (strlen(HOOKS_PATH_KEY) == key_length && memcmp(entry, HOOKS_PATH_KEY, key_length) == 0)
                        values[HOOKS_PATH] = value;
                if (streq(scope, "local") || streq(scope, "worktree"))
                        continue;

                for (size_t i = 0; i < _IDENTITY_MAX; i++)
                        if (strlen(identity_keys[i].key) == key_length && memcmp(entry, identity_keys[i].key, key_length) == 0)
                                values[i] = value;
        }
}

/* git reads configuration in a repository that a guest may have written: `git config` runs no hook, filter, pager or monitor,
 * and whatever it includes comes back as values only. */
int plan_git_ask(Plan *p) {
        static const char *const passed[] = { "HOME", "PATH", "XDG_CONFIG_HOME", "LANG" };
        static char *const argv[] = { (char *) "git", (char *) "--no-pager", (char *) "config", (char *) "--show-scope",
                (char *) "--null", (char *) "--get-regexp",
                (char *) "^(user\\.(name|email|signingkey)|commit\\.gpgsign|gpg\\.format|core\\.hookspath)$", NULL };
        _cleanup_strv_ char **env = NULL;
        int r;

        r = environment_pick(&env, passed, ELEMENTSOF(passed));
        if (r >= 0)
                r = strv_add(&env, "GIT_TERMINAL_PROMPT=0");
        if (r < 0)
                return log_oom();

        r = subprocess_start(&(Subprocess) {
                        .argv = argv, .env = env, .directory = p->directory,
                        .timeout_usec = GIT_TIMEOUT_USEC, .output_max = GIT_OUTPUT_MAX }, &p->git);
        return r < 0 ? log_error(r, "Cannot start git") : 0;
}

static void print_value(FILE *f, const char *value) {
        (void) fputc('"', f);
        for (; *value; value++)
                switch (*value) {
                case '"':
                case '\\':
                        (void) fprintf(f, "\\%c", *value);
                        break;
                case '\n':
                        (void) fputs("\\n", f);
                        break;
                case '\t':
                        (void) fputs("\\t", f);
                        break;
                default:
                        (void) fputc(*value, f);
                }
        (void) fputc('"', f);
}

static int format_global(const char *const values[_IDENTITY_MAX], bool with_copy, bool with_signing, char **ret, size_t *ret_n) {
        FILE *f;

        f = open_memstream(ret, ret_n);
        if (!f)
                return -ENOMEM;

        if (with_copy)
                (void) fputs("[include]\n\tpath = " GUEST_GITCONFIG "\n", f);
        for (size_t i = 0; i < _IDENTITY_MAX; i++) {
                if (!values[i] || (i >= IDENTITY_SIGNINGKEY && !with_signing))
                        continue;

                (void) fprintf(f, "[%s]\n\t%s = ", identity_keys[i].section, identity_keys[i].variable);
                print_value(f, values[i]);
                (void) fputc('\n', f);
        }
        if (!with_signing && values[IDENTITY_GPGSIGN])
                /* The copy may ask for signatures that cannot be made here. */
                (void) fputs("[commit]\n\tgpgsign = false\n", f);

        return fclose(f) == 0 ? 0 : -ENOMEM;
}

static int copy_gitconfig(Plan *p, bool *ret_copied) {
        _cleanup_free_ char *path = NULL, *data = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n;
        int r;

        *ret_copied = false;
        path = path_join(p->request->dirs->home, ".gitconfig");
        if (!path)
                return log_oom();

        fd = plan_open_own_file(path);
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        r = io_read_all(fd, GITCONFIG_MAX, &data, &n);
        if (r < 0)
                return log_error(r, "Cannot read %s", path);

        r = plan_add_copy(p, "gitconfig-copy", TAKE_PTR(data), n, GUEST_GITCONFIG, "copy of ~/.gitconfig");
        if (r < 0)
                return log_oom();

        *ret_copied = true;
        return 0;
}

int plan_git(Plan *p) {
        const char *values[_VALUES_MAX] = { 0 };
        _cleanup_free_ char *output = NULL;
        bool copied, with_signing;
        size_t n = 0, size;
        char *global;
        int r;

        r = copy_gitconfig(p, &copied);
        if (r < 0)
                return r;

        r = subprocess_finish(&p->git, &output, &n);
        if (r == -ENOENT)
                return 0; /* no git here: nothing it could have resolved */
        if (r < 0) {
                _cleanup_free_ char *shown = str_escape(p->directory);

                return log_error(r, r == -ETIMEDOUT ? "git config does not come to an end in %s. Look at what .git/config includes." :
                                "Cannot ask git for your identity in %s", shown ?: "?");
        }
        if (r == 0)
                parse_identity(output, n, values);
        else if (r > 1)
                log_warning("git could not read its configuration here (git config fails); the sandbox gets no identity.");

        if (values[HOOKS_PATH]) {
                r = guard_named_path(p, values[HOOKS_PATH], p->work_root, &guard_hooks_path);
                if (r < 0)
                        return r;
        }

        with_signing = plan_has_service(p, SERVICE_GPG) &&
                (!values[IDENTITY_FORMAT] || streq(values[IDENTITY_FORMAT], "openpgp"));
        r = format_global(values, copied, with_signing, &global, &size);
        if (r >= 0)
                r = plan_add_file(p, "guest/" GLOBAL_FILE, global, size);
        if (r >= 0)
                r = strv_add(&p->guest_env, "GIT_CONFIG_GLOBAL=" GUEST_LAUNCH "/" GLOBAL_FILE);

        return r < 0 ? log_oom() : 0;
}
