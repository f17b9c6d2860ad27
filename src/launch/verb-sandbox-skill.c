/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/skill.h"
#include "launch/verbs.h"
#include "shared/mkdir.h"
#include "shared/podman.h"
#include "shared/replace-file.h"
#include "shared/subprocess.h"

#define DEFAULT_PLACE ".claude/skills/sandbox-tools"
#define PAGE "SKILL.md"
#define PAGE_MAX (1 * MIB)
#define PROBE_USEC (120 * USEC_PER_SEC) /* podman may have to make a new image ready */

/* What the image says of itself. 0 or negative errno, said. */
static int probe(const Settings *s, char **ret) {
        _cleanup_free_ char *script = NULL, *output = NULL;
        _cleanup_strv_ char **argv = NULL, **env = NULL;
        size_t n;
        int r;

        r = skill_probe_script(&script);
        if (r >= 0)
                r = podman_environment(&env);
        if (r >= 0)
                r = strv_add_many(&argv, s->podman_bin, "run", "--rm", "--pull=never", "--network=none", "--pids-limit=0", "--log-driver=none",
                                "--entrypoint=/bin/sh", "--", s->image, "-c", script, NULL);
        if (r < 0)
                return log_oom();

        r = subprocess_run(&(Subprocess) { .argv = argv, .env = env, .timeout_usec = PROBE_USEC, .output_max = PAGE_MAX, .show_errors = true },
                        &output, &n);
        if (r < 0)
                return log_error(r, "Cannot run %s to look into the image %s", s->podman_bin, s->image);
        if (r > 0)
                return log_error(-EIO, "The image %s does not run (status %d). Build it: claude-profile build .", s->image, r);

        *ret = TAKE_PTR(output);
        return 0;
}

/* --path is the page, or a directory for it. Splits it into directory, with a slash at its end, and name. */
static int find_place(const Command *c, char **ret_dir, char **ret_name) {
        const char *given = command_value(c, "path");
        _cleanup_free_ char *cwd = NULL, *path = NULL;
        struct stat st;

        if (given && *given == '\0')
                return usage_error(c->verb, "--path needs a path");
        if (!given)
                path = path_join(c->dirs->home, DEFAULT_PLACE "/" PAGE);
        else if (*given == '/')
                path = strdup(given);
        else {
                cwd = getcwd(NULL, 0);
                path = cwd ? path_join(cwd, given) : NULL;
        }
        if (!path)
                return log_oom();

        if (str_has_suffix(path, "/") || (stat(path, &st) >= 0 && S_ISDIR(st.st_mode))) {
                *ret_dir = path_join(path, "");
                *ret_name = strdup(PAGE);
        } else {
                *ret_dir = strndup(path, (size_t) (path_last(path) - path));
                *ret_name = strdup(path_last(path));
        }

        return *ret_dir && *ret_name ? 0 : log_oom();
}

static int check(const char *dir, const char *name, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *is = NULL;
        size_t n;
        int r;

        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = fd < 0 ? -errno : io_read_file_at(fd, name, PAGE_MAX, &is, &n);
        if (r < 0)
                return log_error(r, "Cannot read %s%s", dir, name);
        if (streq(is, text))
                return 0;

        (void) log_error(0, "%s%s is not what the image has. Write it anew: claude-profile sandbox-skill .", dir, name);
        return EXIT_FAILURE;
}

static int write_page(const char *dir, const char *name, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = mkdir_open(dir);
        r = fd < 0 ? fd : replace_file_at(fd, name, 0644, text, strlen(text));
        if (r < 0)
                return log_error(r, "Cannot write %s%s", dir, name);

        (void) printf("%s%s\n", dir, name);
        return 0;
}

static int run(const Command *c) {
        _cleanup_free_ char *output = NULL, *text = NULL, *dir = NULL, *name = NULL;
        int r;

        r = find_place(c, &dir, &name);
        if (r != 0)
                return r;
        r = probe(c->settings, &output);
        if (r < 0)
                return r;
        r = skill_render(c->settings->image, output, &text);
        if (r < 0)
                return log_error(r, "Cannot tell which tools the image %s has", c->settings->image);

        return command_has(c, "check") ? check(dir, name, text) : write_page(dir, name, text);
}

static const Option options[] = {
        { 0, "check", NULL, "Only say whether the page is what the image has" },
        { 0, "path", "PATH", "The page, or a directory for it" },
        {},
};

const Verb verb_sandbox_skill = {
        .name = "sandbox-skill",
        .arguments = "",
        .options = options,
        .help = "Write the skill that tells the image's tools",
        .details = "The skill sandbox-tools is for agents in sandboxes. It goes to ~/.claude/skills, from where profiles with a link to that "
                   "have it. Which tools there are the image itself is asked.",
        .run = run,
};
