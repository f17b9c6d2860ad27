/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/subprocess.h"

/* The input goes through an unlinked file rather than a pipe: nobody has to feed it. */
static int input_open(const char *input) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!input)
                return open("/dev/null", O_RDONLY | O_CLOEXEC);

        fd = (int) syscall(SYS_memfd_create, "input", 1U /* MFD_CLOEXEC */);
        if (fd < 0)
                return -errno;
        r = io_write_all(fd, input, strlen(input));
        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;

        return TAKE_FD(fd);
}

static void _noreturn_ child_exec(const Subprocess *p, int in, int out) {
        static char *const empty[] = { NULL };
        sigset_t none;
        int err;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) setpgid(0, 0);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGINT, SIG_DFL);
        (void) signal(SIGQUIT, SIG_DFL);
        (void) signal(SIGPIPE, SIG_DFL);

        err = p->show_errors ? STDERR_FILENO : open("/dev/null", O_WRONLY);
        if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
                _exit(127);
        (void) fd_close_from(STDERR_FILENO + 1);
        if (p->directory && chdir(p->directory) < 0)
                _exit(127);

        (void) execvpe(p->argv[0], p->argv, p->env ?: empty);
        _exit(errno == ENOENT ? 127 : 126);
}

static int read_output(const Subprocess *p, int fd, char **ret_output, size_t *ret_size) {
        uint64_t deadline = now_usec() + p->timeout_usec;
        _cleanup_free_ char *buf = NULL;
        size_t allocated = 0, n = 0;

        for (;;) {
                struct pollfd pfd = { .fd = fd, .events = POLLIN };
                uint64_t now = now_usec();
                ssize_t k;

                if (now >= deadline)
                        return -ETIMEDOUT;
                k = poll(&pfd, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1);
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (k <= 0)
                        continue;

                if (grow(&buf, &allocated, n + 4096, 1) < 0)
                        return -ENOMEM;
                k = read(fd, buf + n, allocated - n - 1);
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (k == 0)
                        break;
                if (k > 0)
                        n += (size_t) k;
                if (n > p->output_max)
                        return -EFBIG;
        }

        buf[n] = '\0';
        if (ret_output)
                *ret_output = TAKE_PTR(buf);
        if (ret_size)
                *ret_size = n;
        return 0;
}

static int wait_bounded(pid_t pid, uint64_t timeout_usec) {
        _cleanup_close_ int pidfd = -EBADF;
        struct pollfd pfd;
        int status, r;

        pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        if (pidfd < 0)
                return -errno;

        pfd = (struct pollfd) { .fd = pidfd, .events = POLLIN };
        do
                r = poll(&pfd, 1, (int) (timeout_usec / USEC_PER_MSEC));
        while (r < 0 && errno == EINTR);
        if (r == 0)
                return -ETIMEDOUT;
        if (waitpid(pid, &status, 0) < 0)
                return -errno;

        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int subprocess_run(const Subprocess *p, char **ret_output, size_t *ret_size) {
        _cleanup_close_ int in = -EBADF, out_read = -EBADF, out_write = -EBADF;
        _cleanup_free_ char *output = NULL;
        int fds[2], r, k;
        pid_t pid;

        in = input_open(p->input);
        if (in < 0)
                return in;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        out_read = fds[0];
        out_write = fds[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                child_exec(p, in, out_write);

        out_write = fd_close(out_write);
        r = read_output(p, out_read, &output, ret_size);
        if (r >= 0)
                r = wait_bounded(pid, p->timeout_usec);
        if (r < 0) {
                /* The whole group: what the program started goes too. */
                if (kill(-pid, SIGKILL) < 0)
                        (void) kill(pid, SIGKILL);
                do
                        k = waitpid(pid, NULL, 0);
                while (k < 0 && errno == EINTR);
                return r;
        }
        if (r == 127)
                return -ENOENT;

        if (ret_output)
                *ret_output = TAKE_PTR(output);
        return r;
}

int environment_pick(char ***env, const char *const *names, size_t n_names) {
        STRV_FOREACH(e, environ)
                for (size_t i = 0; i < n_names; i++) {
                        size_t n = strcspn(names[i], "*");

                        if (strncmp(*e, names[i], n) != 0 || (names[i][n] == '\0' && (*e)[n] != '='))
                                continue;
                        if (strv_add(env, *e) < 0)
                                return -ENOMEM;
                        break;
                }

        return 0;
}
