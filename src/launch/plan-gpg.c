/* SPDX-License-Identifier: MIT */

/* gpg in the guest: the host's agent by its restricted socket (agent-extra-socket), never by the full one, and the public keys.
 * The agent is started by the user manager if need be: one started from here would die with the launch. */

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/plan.h"
#include "launch/supervisor-client.h"
#include "shared/gpg-agent.h"

#define KEYS_MAX (64 * MIB)

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

        r = gpg_extra_socket(&path);
        if (r < 0) {
                log_warning("%s; the sandbox gets no gpg-agent.", r == -ENOENT ?
                                "GnuPG is not installed (no gpgconf)" :
                                "gpgconf does not say where the restricted socket (agent-extra-socket) is");
                return 0;
        }

        if (!unix_socket_answers(path)) {
                r = supervisor_start_gpg_agent(p->request->dirs, p->request->profile->name);
                if (r <= 0 || !unix_socket_answers(path)) {
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
