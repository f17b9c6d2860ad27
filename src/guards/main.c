/* SPDX-License-Identifier: MIT */

/* claude-sandbox-guards: mounts a launch's guards, as an OCI hook of the stage createContainer (OCI runtime specification, config.md,
 * "POSIX-platform Hooks"). The runtime starts it in the container's mount name space when its own mounts are made and the host's
 * tree can still be seen, before anything of the guest runs; under krun that is before the virtual machine starts.
 *
 * podman could be asked for these mounts, but podman and the runtime take paths, and would follow what another launch's guest puts
 * there between planning and mounting: a link as a source shows the guest another file; a link to a directory in the place of one, and
 * the runtime makes the mount points that are missing in it, on the host. Here no link is followed and nothing is made: what has changed
 * since the plan was made stops the launch. An entry that is bound over itself is not looked up on the host at all. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "config.h"
#include "shared/guard-bind.h"
#include "shared/json-object.h"
#include "shared/launch-dir.h"

#define STATE_MAX MIB

/* Of the container's file system, out of what the runtime says on standard input. */
static int read_root(char **ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ Json *o = NULL;
        const char *root;
        int r;

        r = io_read_all(STDIN_FILENO, STATE_MAX, &text, NULL);
        if (r < 0)
                return r;

        o = json_tokener_parse(text);
        root = json_object_is_type(o, json_type_object) ? json_get_path(o, "root") : NULL;
        return root ? strdup_to(ret, root) : -EBADMSG;
}

/* The hook runs as the container's root, another user of the host, whose capabilities end where a file's group is not mapped: it
 * looks at files as the user whose they are. That one is uid and gid 1000 in every sandbox (plan-podman.c). */
static int become_user(void) {
        (void) setfsgid(GUEST_UID);
        (void) setfsuid(GUEST_UID);
        return setfsuid((uid_t) -1) == GUEST_UID ? 0 : -EPERM;
}

static bool is_directory(int fd) {
        struct stat st;

        return fstat(fd, &st) >= 0 && S_ISDIR(st.st_mode);
}

static int mount_guard(int root_fd, const Guard *g) {
        _cleanup_close_ int target_fd = -EBADF, source_fd = -EBADF, clone_fd = -EBADF;

        target_fd = guard_open_in(root_fd, g->target);
        if (target_fd < 0)
                return target_fd;
        if (!streq(g->source, g->path)) {
                source_fd = guard_open_host(g->source);
                if (source_fd < 0)
                        return source_fd;
                if (is_directory(source_fd) != is_directory(target_fd))
                        return -ENOTDIR;
        }

        clone_fd = guard_clone(source_fd >= 0 ? source_fd : target_fd);
        return clone_fd < 0 ? clone_fd : guard_attach(g, clone_fd, target_fd);
}

/* What lies above comes before what lies below. */
static int compare_length(const void *a, const void *b) {
        const size_t x = strlen(((const Guard *) a)->target), y = strlen(((const Guard *) b)->target);

        return (x > y) - (x < y);
}

static int say(const Guard *g, int error, char **ret) {
        _cleanup_free_ char *shown = str_escape(g->path);

        if (!shown)
                return -ENOMEM;
        if (error == -ELOOP || error == -ENOENT || error == -ENOTDIR)
                return asprintf_to(ret, "%s has just been replaced by something else, perhaps by another sandbox; it could not be "
                                "guarded.", shown);
        if (error == -ENOSYS)
                return asprintf_to(ret, "%s cannot be guarded: the kernel is older than 5.12.", shown);
        return asprintf_to(ret, "%s could not be guarded: %s.", shown, strerror(-error));
}

static int mount_all(int launch_fd, int root_fd, char **ret_why) {
        _cleanup_guard_list_ GuardList l = { 0 };
        int r;

        r = guard_list_read(launch_fd, &l);
        if (r < 0)
                return r;

        if (l.n > 0)
                qsort(l.guards, l.n, sizeof(Guard), compare_length);
        for (size_t i = 0; i < l.n; i++) {
                r = mount_guard(root_fd, &l.guards[i]);
                if (r < 0) {
                        (void) say(&l.guards[i], r, ret_why);
                        return r;
                }
        }

        return 0;
}

/* The launcher is told by a file: what a hook prints does not reach it. */
static void tell(int launch_fd, int error, const char *why) {
        _cleanup_free_ char *text = NULL;

        (void) log_error(0, "%s", why ?: "The guards could not be mounted.");
        if (asprintf_to(&text, "%s%s%s", why ?: "The guards could not be mounted: ", why ? "" : strerror(-error), why ? "" : ".") >= 0 &&
                        launch_fd >= 0)
                (void) io_write_new_at(launch_fd, LAUNCH_FILE_FAULT, 0600, text, strlen(text));
}

int main(int argc, char *argv[]) {
        _cleanup_close_ int launch_fd = -EBADF, root_fd = -EBADF;
        _cleanup_free_ char *root = NULL, *why = NULL;
        int r;

        log_setup("claude-sandbox-guards");

        if (argc == 2 && streq(argv[1], "--version")) {
                (void) puts("claude-sandbox-guards " PROJECT_VERSION);
                return EXIT_SUCCESS;
        }
        if (argc != 2 || argv[1][0] != '/')
                return log_error(0, "Usage: claude-sandbox-guards LAUNCH-DIRECTORY (started by the container's runtime)."), EXIT_FAILURE;

        r = fd_fill_stdio();
        if (r >= 0)
                r = read_root(&root);
        if (r >= 0) {
                root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC); /* lies among what the container's root owns */
                r = root_fd < 0 ? -errno : become_user();
        }
        if (r >= 0)
                r = launch_fd = io_open_no_links(argv[1]);
        if (r >= 0)
                r = mount_all(launch_fd, root_fd, &why);
        if (r < 0)
                tell(launch_fd, r, why);

        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
