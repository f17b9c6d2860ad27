/* SPDX-License-Identifier: MIT */

/* claude-sandbox-supervisor: the service claude-sandbox@<profile>.service. It exists while the profile has a launch (the scopes
 * want it, and it stops when unneeded), and stopping it stops them (they are part of it).
 *
 * It holds a connection from each launcher. One that ends without a word means that the launcher was killed: nothing of the
 * launch would end by itself then, since podman and conmon run on. So the supervisor stops the scope, removes the container,
 * and then the launch directory. It also starts what must outlive a launch and must not be a child of the bridge: the
 * gpg-agent. Children do all that takes time (worker.c); the main loop answers at once. */

#include <stdio.h>
#include <stdlib.h>

#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "config.h"
#include "shared/profile.h"
#include "supervisor/supervisor.h"

int main(int argc, char *argv[]) {
        _cleanup_supervisor_ Supervisor *s = NULL;

        log_setup("claude-sandbox-supervisor");

        if (argc == 2 && streq(argv[1], "--version")) {
                (void) puts("claude-sandbox-supervisor " PROJECT_VERSION);
                return EXIT_SUCCESS;
        }
        if (argc != 2 || !profile_name_is_valid(argv[1]))
                return log_error(0, "Usage: claude-sandbox-supervisor PROFILE (started by systemd)."), EXIT_FAILURE;

        if (fd_fill_stdio() < 0 || supervisor_new(argv[1], &s) < 0)
                return EXIT_FAILURE;

        return supervisor_run(s) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
