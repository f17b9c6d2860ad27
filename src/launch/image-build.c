/* SPDX-License-Identifier: MIT */

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/image-build.h"

static const struct {
        const char *name, *file;
} bases[] = {
        [IMAGE_BASE_FEDORA] = { "fedora", "Containerfile" },
        [IMAGE_BASE_DEBIAN] = { "debian", "Containerfile.debian" },
};
static_assert(ELEMENTSOF(bases) == _IMAGE_BASE_MAX, "a row for each base");

ImageBase image_base_from_string(const char *s) {
        for (ImageBase i = 0; i < _IMAGE_BASE_MAX; i++)
                if (streq(s, bases[i].name))
                        return i;

        return _IMAGE_BASE_INVALID;
}

int image_build_command(const ImageBuild *b, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add_many(&argv, b->podman, "build", "--tag", b->tag, NULL);
        if (r >= 0)
                r = strv_addf(&argv, "--file=%s/%s", b->context, bases[b->base].file);
        if (r >= 0 && b->anchors)
                r = strv_addf(&argv, "--secret=id=anchors,src=%s", b->anchors);
        if (r >= 0)
                r = strv_extend(&argv, b->args);
        if (r >= 0)
                r = strv_add(&argv, b->context);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

/* Keyboard signals are podman's business: this process waits for it, and then removes what it made. */
static int spawn(char *const *argv, pid_t *ret) {
        posix_spawnattr_t attributes;
        sigset_t keyboard;
        int r;

        (void) sigemptyset(&keyboard);
        (void) sigaddset(&keyboard, SIGINT);
        (void) sigaddset(&keyboard, SIGQUIT);

        r = posix_spawnattr_init(&attributes);
        if (r != 0)
                return -r;
        (void) posix_spawnattr_setsigdefault(&attributes, &keyboard);
        (void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        r = posix_spawnp(ret, argv[0], NULL, &attributes, argv, environ);
        (void) posix_spawnattr_destroy(&attributes);
        return -r;
}

int image_build_run(const ImageBuild *b, int *ret_status) {
        _cleanup_strv_ char **argv = NULL;
        int r, status;
        pid_t pid;

        r = image_build_command(b, &argv);
        if (r < 0)
                return r;

        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGQUIT, SIG_IGN);
        r = spawn(argv, &pid);
        if (r < 0)
                return r;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;

        *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return 0;
}
