/* SPDX-License-Identifier: MIT */

/* gpg in the guest: the host's agent by its restricted socket (agent-extra-socket), never by the full one, and the public keys.
 * The agent is started by the user manager if need be: one started from here would die with the launch. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/plan.h"
#include "launch/supervisor-client.h"
#include "shared/subprocess.h"

#define GPG_TIMEOUT_USEC (10 * USEC_PER_SEC)
#define KEYS_MAX (64 * MIB)

static int gpg_run(char *const *argv, size_t output_max, char **ret, size_t *ret_n) {
        static const char *const passed[] = { "HOME", "PATH", "XDG_RUNTIME_DIR", "LANG" };
        _cleanup_strv_ char **env = NULL;
        int r;

        r = environment_pick(&env, passed, ELEMENTSOF(passed));
        if (r < 0)
                return r;

        return subprocess_run(&(Subprocess) {
                        .argv = argv, .env = env, .timeout_usec = GPG_TIMEOUT_USEC, .output_max = output_max }, ret, ret_n);
}

/* The restricted socket's path, as gpgconf(1) prints it. */
static int extra_socket_path(char **ret) {
        static char *const argv[] = { (char *) "gpgconf", (char *) "--list-dirs", (char *) "agent-extra-socket", NULL };
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = gpg_run(argv, 8192, &text, &n);
        if (r < 0)
                return r;
        if (r > 0)
                return -EIO;

        while (n > 0 && text[n - 1] == '\n')
                text[--n] = '\0';
        if (text[0] != '/' || n >= sizeof(((struct sockaddr_un *) NULL)->sun_path))
                return -EBADMSG;

        *ret = TAKE_PTR(text);
        return 0;
}

static bool socket_answers(const char *path) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;

        (void) stpncpy(sa.sun_path, path, sizeof(sa.sun_path) - 1);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return fd >= 0 && connect(fd, (struct sockaddr *) &sa, sizeof(sa)) >= 0;
}

static int add_public_keys(Plan *p) {
        static char *const argv[] = { (char *) "gpg", (char *) "--batch", (char *) "--no-tty", (char *) "--no-autostart", (char *) "--export", NULL };
        _cleanup_free_ char *keys = NULL;
        size_t n = 0;
        int r;

        r = gpg_run(argv, KEYS_MAX, &keys, &n);
        if (r != 0) {
                log_warning("gpg --export does not work here; the sandbox gets no public keys.");
                return 0;
        }

        r = plan_add_file(p, "guest/" LAUNCH_FILE_GPG_KEYS, TAKE_PTR(keys), n);
        return r < 0 ? log_oom() : 0;
}

int plan_gpg(Plan *p) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (!p->request->settings->gpg_agent)
                return 0;

        r = extra_socket_path(&path);
        if (r < 0) {
                log_warning("%s; the sandbox gets no gpg-agent.", r == -ENOENT ?
                                "GnuPG is not installed (no gpgconf)" :
                                "gpgconf does not say where the restricted socket (agent-extra-socket) is");
                return 0;
        }

        if (!socket_answers(path)) {
                r = supervisor_start_gpg_agent(p->request->dirs, p->request->profile->name);
                if (r <= 0 || !socket_answers(path)) {
                        _cleanup_free_ char *shown = str_escape(path);

                        log_warning("The gpg-agent's restricted socket %s does not answer, and starting an agent did not help; "
                                        "the sandbox gets none. Look at: systemctl --user status gpg-agent-extra.socket",
                                        shown ?: "?");
                        return 0;
                }
        }

        r = plan_add_service(p, (ServiceId) { .kind = SERVICE_GPG }, path, GUEST_GNUPG_DIR "/S.gpg-agent");
        if (r >= 0)
                r = strv_add(&p->guest_env, "GNUPGHOME=" GUEST_GNUPG_DIR);
        if (r < 0)
                return log_oom();

        return add_public_keys(p);
}
