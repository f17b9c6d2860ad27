/* SPDX-License-Identifier: MIT */

/* claude-sandbox-generator: makes each sandboxed profile known to the user manager, which calls this at its start and at each daemon-reload
 * and waits for it (systemd.generator(7)).
 *
 *   claude-sandbox-<profile>.slice             with the limits that the profile's configuration file has
 *   claude-sandbox@<profile>.service.d/         which profile's supervisor that is
 *
 * It must never hold up a login, whatever lies in the home directory. So it reads the environment, configuration files (regular ones, of a
 * bounded size), and from a profile only whether its marker is there; it asks no bus, no user database, no network. What remains is a file
 * system that does not answer: a stopped server, an automounter, something in user space. No signal wakes a process that waits for one. So
 * a child does the work and counts; when it does not get on it is left behind, and what it has made until then is whole. */

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/log.h"
#include "generator/generate.h"

#define STEP_MSEC 1000  /* for one profile */
#define TOTAL_MSEC 10000 /* the manager itself waits for 90 s */

/* Whether the child has ended: 1, 0 when it does not get on, or negative errno. */
static int wait_for(pid_t pid, atomic_uint *done) {
        struct pollfd pfd = { .events = POLLIN };
        _cleanup_close_ int fd = -EBADF;

        fd = pfd.fd = (int) syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return -errno;

        for (int waited = 0; waited < TOTAL_MSEC; waited += STEP_MSEC) {
                const unsigned before = atomic_load(done);
                int n;

                do
                        n = poll(&pfd, 1, STEP_MSEC);
                while (n < 0 && errno == EINTR);
                if (n != 0)
                        return n < 0 ? -errno : 1;
                if (atomic_load(done) == before)
                        break;
        }

        return 0;
}

/* Returns an exit status, or negative errno, having said what is wrong. */
static int run(const char *output) {
        atomic_uint *done;
        int r, status;
        pid_t pid;

        done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (done == MAP_FAILED)
                return log_oom();

        pid = fork();
        if (pid < 0)
                return log_error(-errno, "Cannot fork");
        if (pid == 0)
                _exit(generate(output, done) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);

        r = wait_for(pid, done);
        if (r == 0) {
                (void) kill(pid, SIGKILL);
                return log_error(-ETIMEDOUT, "Not all profiles are known to systemd: a file system on the way to them does not answer.");
        }
        if (r < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
                return log_error(-EPROTO, "Not all profiles are known to systemd: the generator has died.");

        return WEXITSTATUS(status);
}

int main(int argc, char *argv[]) {
        int r;

        log_setup("claude-sandbox-generator");
        log_always_name();
        if (fd_fill_stdio() < 0)
                return EXIT_FAILURE;
        if (argc < 2) {
                (void) log_error(0, "Usage: claude-sandbox-generator DIRECTORY [EARLY LATE]");
                return EXIT_FAILURE;
        }

        /* Profiles that are not known run all the same: nothing that the manager has to hear of. */
        r = run(argv[1]);
        return r < 0 ? EXIT_SUCCESS : r;
}
