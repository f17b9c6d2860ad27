/* SPDX-License-Identifier: MIT */

#include <sys/socket.h>
#include <sys/un.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/gpg-agent.h"
#include "shared/subprocess.h"

#define GPG_TIMEOUT_USEC (10 * USEC_PER_SEC)
#define PATH_OUTPUT_MAX (8 * KIB)

int gpg_run(char *const *argv, size_t output_max, char **ret, size_t *ret_n) {
        static const char *const passed[] = { "HOME", "GNUPGHOME", "PATH", "XDG_RUNTIME_DIR", "LANG" };
        _cleanup_strv_ char **env = NULL;
        int r;

        r = environment_pick(&env, passed, ELEMENTSOF(passed));
        if (r < 0)
                return r;

        return subprocess_run(&(Subprocess) {
                        .argv = argv, .env = env, .timeout_usec = GPG_TIMEOUT_USEC, .output_max = output_max }, ret, ret_n);
}

int gpg_extra_socket(char **ret) {
        static char *const argv[] = { (char *) "gpgconf", (char *) "--list-dirs", (char *) "agent-extra-socket", NULL };
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = gpg_run(argv, PATH_OUTPUT_MAX, &text, &n);
        if (r < 0)
                return r;
        if (r > 0)
                return -EIO;

        while (n > 0 && text[n - 1] == '\n')
                text[--n] = '\0';
        if (text[0] != '/' || strlen(text) != n || n >= sizeof(((struct sockaddr_un *) NULL)->sun_path))
                return -EBADMSG;

        *ret = TAKE_PTR(text);
        return 0;
}

bool unix_socket_answers(const char *path) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;

        if (strlen(path) >= sizeof(sa.sun_path))
                return false;
        (void) stpcpy(sa.sun_path, path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return fd >= 0 && connect(fd, (struct sockaddr *) &sa, sizeof(sa)) >= 0 && fd_peer_is_this_user(fd);
}
