/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/subprocess.h"

/* The input is a file in memory rather than a pipe: nobody has to feed it. */
static int input_open(const char *input) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!input) {
                fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
                return fd < 0 ? -errno : TAKE_FD(fd);
        }

        fd = memfd_create("input", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = io_write_all(fd, input, strlen(input));
        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;

        return TAKE_FD(fd);
}

int child_close_on_exec(void) {
        if (syscall(SYS_close_range, (unsigned) STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0)
                return -errno;

        return 0;
}

static int child_prepare(const Subprocess *p, int in, int out) {
        int err, r;

        err = p->show_errors ? STDERR_FILENO : p->merge_errors ? out : open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (err < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
                return -errno;
        r = child_close_on_exec();
        if (r < 0)
                return r;

        return p->directory && chdir(p->directory) < 0 ? -errno : 0;
}

/* What keeps the program from being executed goes to `error_fd`, as a negative errno. */
static void _noreturn_ child_exec(const Subprocess *p, int in, int out, int error_fd, pid_t parent) {
        static char *const empty[] = { NULL };
        sigset_t none;
        int r;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);
        (void) setpgid(0, 0);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGINT, SIG_DFL);
        (void) signal(SIGQUIT, SIG_DFL);
        (void) signal(SIGPIPE, SIG_DFL);

        r = child_prepare(p, in, out);
        if (r >= 0) {
                (void) execvpe(p->argv[0], p->argv, p->env ?: empty);
                r = -errno;
        }

        (void) io_write_all(error_fd, &r, sizeof(r));
        _exit(EXIT_FAILURE);
}

static int read_output(int fd, size_t max, uint64_t deadline, char **ret_output, size_t *ret_size) {
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
                if (n > max)
                        return -EFBIG;
        }

        buf[n] = '\0';
        *ret_output = TAKE_PTR(buf);
        *ret_size = n;
        return 0;
}

static int wait_bounded(pid_t pid, uint64_t deadline) {
        _cleanup_close_ int pidfd = -EBADF;
        int status;

        pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        if (pidfd < 0)
                return -errno;

        for (;;) {
                struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
                uint64_t now = now_usec();
                int k;

                if (now >= deadline)
                        return -ETIMEDOUT;
                k = poll(&pfd, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1);
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (k > 0)
                        break;
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;

        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The whole group: what the program started goes too. */
static void kill_group(pid_t pid) {
        int r;

        if (kill(-pid, SIGKILL) < 0)
                (void) kill(pid, SIGKILL);
        do
                r = waitpid(pid, NULL, 0);
        while (r < 0 && errno == EINTR);
}

/* execvp(3) says EACCES also when there is no such program, but a directory in PATH that may not be searched. */
static bool program_exists(const char *name) {
        _cleanup_strv_ char **dirs = NULL;
        struct stat st;

        if (strchr(name, '/') || strv_split(getenv("PATH") ?: "", ':', &dirs) < 0)
                return true;

        STRV_FOREACH(d, dirs) {
                _cleanup_free_ char *full = path_join(*d, name);

                if (!full || stat(full, &st) >= 0)
                        return true;
        }

        return false;
}

int subprocess_start(const Subprocess *p, RunningProcess *ret) {
        _cleanup_close_ int in = -EBADF, out_read = -EBADF, out_write = -EBADF, error_read = -EBADF, error_write = -EBADF;
        uint64_t deadline = now_usec() + p->timeout_usec;
        pid_t pid, parent = getpid();
        int fds[2];

        in = input_open(p->input);
        if (in < 0)
                return in;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        out_read = fds[0];
        out_write = fds[1];
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        error_read = fds[0];
        error_write = fds[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                child_exec(p, in, out_write, error_write, parent);

        *ret = (RunningProcess) {
                .pid = pid,
                .output_fd = TAKE_FD(out_read),
                .error_fd = TAKE_FD(error_read),
                .program = p->argv[0],
                .deadline = deadline,
                .output_max = p->output_max,
        };
        return 0;
}

void subprocess_abandon(RunningProcess *p) {
        if (p->pid == 0)
                return;

        kill_group(p->pid);
        fd_close(p->output_fd);
        fd_close(p->error_fd);
        *p = (RunningProcess) { 0 };
}

int subprocess_finish(RunningProcess *p, char **ret_output, size_t *ret_size) {
        _cleanup_free_ char *output = NULL;
        int r, status, error = 0;
        size_t n = 0;

        status = read_output(p->output_fd, p->output_max, p->deadline, &output, &n);
        if (status >= 0)
                status = wait_bounded(p->pid, p->deadline);
        if (status < 0) {
                subprocess_abandon(p);
                return status;
        }

        /* The child is gone: its message is here, or there is none. */
        r = read(p->error_fd, &error, sizeof(error)) == sizeof(error) ? error : 0;
        if (r == -EACCES && !program_exists(p->program))
                r = -ENOENT;
        fd_close(p->output_fd);
        fd_close(p->error_fd);
        *p = (RunningProcess) { 0 };
        if (r < 0)
                return r;

        if (ret_output)
                *ret_output = TAKE_PTR(output);
        if (ret_size)
                *ret_size = n;
        return status;
}

int subprocess_run(const Subprocess *p, char **ret_output, size_t *ret_size) {
        RunningProcess running;
        int r;

        r = subprocess_start(p, &running);
        return r < 0 ? r : subprocess_finish(&running, ret_output, ret_size);
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
