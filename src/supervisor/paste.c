/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * Reading the host's clipboard, when a bridge asks. The bridge is sealed: it starts no program and cannot
 * reach the compositor, which would hand out far more than the clipboard. So its request comes here, one
 * line of arguments that is judged again, and the host's program (wl-paste, or xclip) runs as a child, with
 * the environment that the launcher wrote down, in a process group that is killed when the time is over.
 *
 * Its standard output is a file in memory, which nobody has to pump: a limit on the size of files holds it
 * to one byte more than is allowed, so that too much is told from just enough. When the program has ended
 * well, the file is sealed and its descriptor handed to the bridge. Not a byte of the contents is copied on
 * the way, and the guest learns that it worked before it gets the first one.
 *
 * Each of the bridges bounds how many of these files it has; here, how many programs run. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "supervisor/supervisor.h"

#define PASTES_MAX 4
#define STATUS_NO_PROGRAM 127
#define TARGETS_MAX (256 * KIB)
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

typedef struct PasteStart {
        char **argv;
        char **environment;
} PasteStart;

static int run_paste(const Supervisor *s, const void *argument) {
        const struct rlimit size = { .rlim_cur = PASTE_OUTPUT_MAX + 1, .rlim_max = PASTE_OUTPUT_MAX + 1 }, none = {};
        const PasteStart *p = argument;
        int fd;

        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ||
                        setrlimit(RLIMIT_FSIZE, &size) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
                return EXIT_FAILURE;

        (void) execve(p->argv[0], p->argv, p->environment ?: (char *[]) { NULL });
        return STATUS_NO_PROGRAM;
}

/* X11's list of targets becomes a list of types, and text gets the newline that wl-paste would have added. */
static int finish_xclip(Worker *w) {
        _cleanup_free_ char *targets = NULL, *types = NULL;
        int r;

        if (!w->paste.list) {
                if (w->paste.no_newline || strncmp(w->paste.type, "image/", 6) == 0)
                        return 0;
                return lseek(w->output_fd, 0, SEEK_END) < 0 ? -errno : io_write_all(w->output_fd, "\n", 1);
        }

        if (lseek(w->output_fd, 0, SEEK_SET) < 0)
                return -errno;
        r = io_read_all(w->output_fd, TARGETS_MAX, &targets, NULL);
        if (r >= 0)
                r = paste_targets_to_types(targets, &types);
        if (r < 0)
                return r;
        if (ftruncate(w->output_fd, 0) < 0 || lseek(w->output_fd, 0, SEEK_SET) < 0)
                return -errno;

        return io_write_all(w->output_fd, types, strlen(types));
}

/* Why there is nothing to hand out, in `reason` (WIRE_REASON_MAX bytes), or NULL: all is well. */
static const char *paste_check(Worker *w, const siginfo_t *si, char *reason) {
        char magic[PASTE_MAGIC_MAX];
        struct stat st;
        ssize_t n;

        if (w->timed_out)
                return "timeout";
        if (fstat(w->output_fd, &st) < 0)
                return "failed";
        if ((size_t) st.st_size > PASTE_OUTPUT_MAX)
                return "too large";
        if (si->si_code == CLD_EXITED && si->si_status == STATUS_NO_PROGRAM)
                return "missing";
        if (si->si_code != CLD_EXITED || si->si_status != EXIT_SUCCESS) {
                (void) snprintf(reason, WIRE_REASON_MAX, WIRE_REASON_STATUS "%d",
                                si->si_code == CLD_EXITED ? si->si_status : 128 + si->si_status);
                return reason;
        }

        if (w->paste_program == PASTE_XCLIP && finish_xclip(w) < 0)
                return "failed";
        n = pread(w->output_fd, magic, sizeof(magic), 0);
        if (n < 0 || !paste_answer_fits(&w->paste, magic, (size_t) n))
                return "wrong type";
        if (fcntl(w->output_fd, F_ADD_SEALS, SEALS) < 0)
                return "failed";

        return NULL;
}

static void paste_done(Worker *w, const siginfo_t *si) {
        char reason[WIRE_REASON_MAX];
        const char *why;

        /* What the program has started may run on, and write. */
        worker_kill(w);
        why = paste_check(w, si, reason);

        for (Connection *c = w->supervisor->connections; c; c = c->next) {
                if (c->waits_for != w)
                        continue;

                c->waits_for = NULL;
                if (why)
                        connection_answer_reason(c, why);
                else
                        connection_answer_fd(c, w->output_fd);
        }
}

void paste_abandon(Connection *c) {
        if (c->waits_for && c->waits_for->run == run_paste)
                worker_kill(c->waits_for);
}

int paste_start(Connection *c, const char *id, const char *arguments, const char **ret_reason) {
        _cleanup_host_programs_ HostPrograms programs = {};
        _cleanup_strv_ char **argv = NULL;
        Supervisor *s = c->supervisor;
        PasteRequest request;
        int fd, r;

        *ret_reason = "refused";
        r = paste_request_parse(arguments, strlen(arguments), &request);
        if (r >= 0)
                r = supervisor_read_programs(s, id, &programs);
        if (r >= 0 && !programs.paste)
                r = -EPERM;
        if (r < 0 && refusal_may_be_told(s, id))
                return log_error(r, "The bridge of launch %s asked for what it may not have of the clipboard", id);
        if (r < 0)
                return r;

        *ret_reason = "busy";
        if (worker_count(s, run_paste) >= PASTES_MAX)
                return -EBUSY;

        *ret_reason = "failed";
        r = paste_argv(&request, programs.paste_program, programs.paste, &argv);
        if (r < 0)
                return r;
        fd = memfd_create("clipboard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return log_error(-errno, "Cannot make a file in memory");

        r = worker_start(s, &(WorkerTask) {
                        .run = run_paste, .argument = &(PasteStart) { .argv = argv, .environment = programs.environment },
                        .done = paste_done, .output_fd = fd, .timeout_usec = PASTE_USEC }, &c->waits_for);
        if (r < 0)
                return r;

        c->waits_for->paste = request;
        c->waits_for->paste_program = programs.paste_program;
        return 0;
}
