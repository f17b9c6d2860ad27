/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * One bridge serves one launch. The launcher writes its manifest (token, services, control group) and has
 * the user manager listen on a port of 127.0.0.1; the first connection starts this program, which finds the
 * manifest among its credentials and the sockets among its descriptors. When the launch's scope ends, the
 * manager ends it. When it crashes, the manager still holds the port, and the next connection starts it
 * anew: nothing is kept but what the manifest says.
 *
 * A connection goes through this, in this order, and is dropped without a byte at the first thing that is
 * wrong:
 *
 *   accept.c     the kernel is asked whose it is (peer.c, diag.c): this user's, and made inside of the
 *                launch's scope
 *   client.c     its first line is read, all of it within five seconds, and judged (handshake.c): token,
 *                then service
 *   service.c    what the service does with it: a table of functions for each kind, service-*.c
 *   backend.c    most connect to a Unix socket of the host, afresh for each connection
 *   report.c     one entry in the journal says how it ended
 *   linger.c     what is on its way to the guest gets there
 *
 * Everything that comes in is hostile, and so is its amount: 64 connections may wait with an incomplete
 * line, 4,096 may be open, 256 of them may hold bytes that nobody takes, the journal gets so many entries a
 * second and no more, and nothing ever blocks. What cannot be done from in here, starting the gpg-agent, the
 * supervisor is asked for (starter.c). */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "bridge/cgroup-tree.h"
#include "bridge/manager.h"
#include "bridge/seal-files.h"
#include "bridge/seal.h"
#include "bridge/slice.h"
#include "shared/manifest.h"

#define CREDENTIAL "launch"

/* Nobody reads our memory, where the token is: not by ptrace or /proc, which a process of the same user
 * could, and not from a core dump. */
static int lock_down(void) {
        const struct rlimit none = {};

        if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
                return -errno;

        (void) signal(SIGPIPE, SIG_IGN);
        return 0;
}

static bool is_diag_socket(int fd) {
        int protocol = -1;
        socklen_t n = sizeof(protocol);

        return sd_is_socket(fd, AF_NETLINK, SOCK_RAW, -1) > 0 &&
               getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) >= 0 && protocol == NETLINK_SOCK_DIAG;
}

/* Finds our sockets among those handed in, by what they are. Variables meant for another process are not
 * ours. */
static int take_sockets(ManagerFds *ret) {
        ManagerFds fds = { .listen = -EBADF, .diag = -EBADF };
        int n;

        n = sd_listen_fds(true);
        if (n < 0)
                return log_error(n, "Cannot take the sockets over");

        for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++)
                if (fds.listen < 0 && sd_is_socket(fd, AF_INET, SOCK_STREAM, 1) > 0)
                        fds.listen = fd;
                else if (fds.diag < 0 && is_diag_socket(fd))
                        fds.diag = fd;
                else {
                        log_notice("Descriptor %d is neither a port nor a sock_diag socket; closing it.",
                                        fd);
                        (void) close(fd);
                }

        (void) fd_close_from(SD_LISTEN_FDS_START + n);

        if (fds.listen < 0) {
                fd_close(fds.diag);
                return log_error(-ENOTCONN,
                                "No listening socket was handed in: this is started by its socket unit.");
        }
        if (fds.diag < 0) {
                /* The verdict is the same; a foreign uid reads 65534 in the journal (see peer.c). */
                log_notice("No sock_diag socket was handed in; opening one.");
                fds.diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
                if (fds.diag < 0) {
                        fd_close(fds.listen);
                        return log_error(-errno, "Cannot open a sock_diag socket");
                }
        }

        *ret = fds;
        return 0;
}

static int load_manifest(Manifest **ret) {
        const char *directory = getenv("CREDENTIALS_DIRECTORY");
        _cleanup_free_ char *path = NULL, *text = NULL, *error = NULL;
        size_t n;
        int r;

        if (!directory)
                return log_error(-ENOENT,
                                "No credentials were handed in: this is started by its service unit.");

        path = path_join(directory, CREDENTIAL);
        if (!path)
                return log_oom();
        r = io_read_file_at(AT_FDCWD, path, MANIFEST_SIZE_MAX, &text, &n);
        if (r < 0)
                return log_error(r, "Cannot read the manifest of the launch, %s", path);

        r = manifest_parse(text, n, ret, &error);
        explicit_bzero(text, n);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return log_error(r, "The manifest of the launch, %s, cannot be used. %s", path, error);

        return 0;
}

/* What is listed for connections: control groups, and claude's native hosts. Their directory may be made, and made anew, while
 * we run, so it is the one above. */
static int give_up_files(const Manifest *manifest) {
        _cleanup_free_ char *above = NULL;
        const char *directories[3] = {};
        size_t n = 0;
        sd_id128_t id;
        int r;

        /* sd-event wants it for its timers, and libsystemd then knows it without its file. */
        (void) sd_id128_get_boot(&id);

        for (size_t i = 0; i < manifest->n_services; i++)
                if (manifest->services[i].id.kind == SERVICE_CHROME) {
                        const char *path = manifest->services[i].path;

                        above = memdup_nul(path, MAX((size_t) (path_last(path) - path), (size_t) 1));
                        if (!above)
                                return log_oom();
                        directories[n++] = above;
                }
        directories[n] = cgroup_tree_mount();

        r = seal_files(directories);
        if (r == -EOPNOTSUPP)
                log_notice("There is no Landlock here (Linux 5.13 and later have it, where it is not turned off): if a guest took "
                           "this process over, it could read this user's files.");
        else if (r < 0)
                return log_error(r, "Cannot give up the user's files");

        return 0;
}

/* Where this is our unit, or something like it: see seal.h. */
static int give_up_rights(const Manifest *manifest) {
        int r;

        r = seal();
        if (r < 0)
                return log_error(r, "Cannot give up rights over other processes");

        return r > 0 ? give_up_files(manifest) : 0;
}

static int run(void) {
        _cleanup_manifest_ Manifest *manifest = NULL;
        _cleanup_manager_ Manager *m = NULL;
        ManagerFds fds;
        int r;

        r = lock_down();
        if (r < 0)
                return log_error(r, "Cannot lock the process down");
        r = fd_fill_stdio();
        if (r < 0)
                return log_error(r, "Cannot open /dev/null");
        r = take_sockets(&fds);
        if (r < 0)
                return r;

        r = load_manifest(&manifest);
        if (r < 0) {
                fd_close(fds.listen);
                fd_close(fds.diag);
                return r;
        }

        (void) slice_ask_longer();
        r = give_up_rights(manifest);
        if (r < 0) {
                fd_close(fds.listen);
                fd_close(fds.diag);
                return r;
        }
        r = manager_new(manifest, fds, &m);
        if (r < 0)
                return r;

        return manager_run(m);
}

int main(void) {
        log_setup("claude-sandbox-bridge");
        return run() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
