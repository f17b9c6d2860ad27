/* SPDX-License-Identifier: MIT */

/* What `gpg --export` prints is a keyring in GnuPG's old format, so the host's public keys need no import:
 * they are a second keyring beside the one that gpg keeps itself. No process runs, the image may lack gpg
 * and get it later, and a large keyring costs a copy. Secret keys stay with the host's agent.
 *
 * no-autostart: otherwise gpg starts an agent of its own over the forwarded socket at the first hiccup. It
 * stands in common.conf too, for the programs besides gpg (GnuPG 2.4; older ones do not read that file).
 *
 * trust-model always: the host's trust database does not come along, and nobody is there to be asked. A key
 * is as good as the host's keyring; gpg still says "untrusted" when it verifies. */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "guest/gnupg.h"
#include "guest/home.h"

#define KEYRING "claude-sandbox-host-keys.gpg"

static const char gpg_conf[] = "\n# From claude-profile, for the agent of the host:\n"
                               "no-autostart\n"
                               "trust-model always\n";
static const char gpg_conf_keyring[] = "keyring " KEYRING "\n";
static const char common_conf[] = "\nno-autostart\n";

/* Creates the file, or adds to the one that the image has. */
static int append_file(int dir_fd, const char *name, const void *text, size_t n) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;

        r = io_write_all(fd, text, n);
        if (r < 0)
                return r;

        return fchown(fd, GUEST_UID, GUEST_UID) < 0 ? -errno : 0;
}

int gnupg_prepare(int home_fd, const void *keys, size_t n_keys) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        static_assert(STRLEN(GUEST_GNUPG_DIR) == STRLEN(GUEST_HOME "/.gnupg"),
                        "the directory lies in the home directory");
        fd = home_make_directory(home_fd, ".gnupg", 0700);
        if (fd < 0)
                return fd;
        if (fchmod(fd, 0700) < 0)
                return -errno;

        r = append_file(fd, "gpg.conf", gpg_conf, sizeof(gpg_conf) - 1);
        if (r >= 0)
                r = append_file(fd, "common.conf", common_conf, sizeof(common_conf) - 1);
        if (r < 0 || !keys)
                return r;

        r = append_file(fd, KEYRING, keys, n_keys);
        if (r < 0)
                return r;

        return append_file(fd, "gpg.conf", gpg_conf_keyring, sizeof(gpg_conf_keyring) - 1);
}
