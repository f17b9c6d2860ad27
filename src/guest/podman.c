/* SPDX-License-Identifier: MIT */

/* podman, docker: containers in a sandbox that is a microVM. Its podman cannot be rootless there, since the nested user namespace cannot
 * be mapped; but the VM's root is a real one, of that kernel, so podman runs as it. Variables go with it, for `podman run -e NAME` means
 * this process's; those that name a proxy do not, because podman would hand them, with what they hold, to every container.
 *
 * In a sandbox that is a container itself root lacks what podman needs, and this says so instead of podman's many words. */

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "guest/applet.h"
#include "guest/podman.h"

#define PODMAN "/usr/bin/podman" /* as sudoers of our images names it */
#define STATUS_PODMAN 125        /* podman's own for "could not even begin" */
#define STATUS_NOT_FOUND 127

static const char *const proxies[] = {
        "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
};

int podman_command(char *const *args, bool root, bool configured, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        int r = 0;

        if (!root)
                r = strv_add_many(&argv, "sudo", "-n", "-E", "-H", "--", NULL);
        if (r >= 0)
                r = strv_add(&argv, PODMAN);
        if (r >= 0 && !configured)
                r = strv_add_many(&argv, "--storage-driver=overlay", "--storage-opt=overlay.mount_program=" FUSE_OVERLAYFS, NULL);
        if (r >= 0)
                r = strv_extend(&argv, args);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

int applet_podman(int argc, char **argv) {
        _cleanup_strv_ char **command = NULL;

        log_setup("podman");
        if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 1) {
                (void) log_error(0, "A sandbox that is a container itself cannot run containers. The microVM can: isolation \"krun\".");
                return STATUS_PODMAN;
        }
        if (access(PODMAN, X_OK) < 0) {
                (void) log_error(0, "There is no " PODMAN " in this image.");
                return STATUS_NOT_FOUND;
        }

        for (size_t i = 0; i < ELEMENTSOF(proxies); i++)
                (void) unsetenv(proxies[i]);
        if (podman_command(argv + 1, geteuid() == 0, access(GUEST_IMAGE_STORE, F_OK) >= 0, &command) < 0)
                return STATUS_PODMAN;

        (void) execvp(command[0], command);
        (void) log_error(-errno, "Cannot run %s", command[0]);
        return STATUS_NOT_FOUND;
}
