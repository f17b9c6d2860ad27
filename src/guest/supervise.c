/* SPDX-License-Identifier: MIT */

/* Which signal reaches the command, and how often.
 *
 * With a terminal the command's group is its foreground group, and the entry point is not in it: what the
 * kernel makes of a key (INT, QUIT, TSTP) or of a new window size (WINCH) goes to the command alone. When
 * the terminal hangs up the kernel tells only the session's leader, which is the entry point. So whatever
 * arrives here is news to the command and is passed on; except WINCH on a terminal, which podman sends on
 * top of what the kernel has already said. The same signal twice at once counts once: what a shell sends to
 * a whole job reaches podman by itself and by way of the launcher.
 *
 * TERM and HUP are requests to end. A command that has not obeyed after nine seconds is killed, whoever
 * asked.
 *
 * A command that is stopped would stay so: there is no shell above it. It is continued, with its group, and
 * is given the terminal back if it was stopped for want of that. (That needs a group that may be stopped at
 * all, hence one in our session: in a session of its own the kernel would drop SIGTSTP, and a program that
 * sends it to itself, as readline does, would wait for a SIGCONT that never comes.) Not seen is a child that
 * stops while the command does not. */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "guest/command.h"
#include "guest/supervise.h"

#define SIGNALS_BATCH 16
#define KILL_ROUNDS_MAX 1000
#define END_SECONDS 9
#define SAME_USEC (200 * USEC_PER_MSEC)

static const int passed_on[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };

typedef struct Supervision {
        EventSource signals;
        pid_t command;
        bool terminal;
        int status; /* negative while the command runs */
        bool asked;
        int last_signal;
        uint64_t last_usec;
} Supervision;

void supervise_block_signals(void) {
        sigset_t all;

        sigfillset(&all);
        (void) sigprocmask(SIG_SETMASK, &all, NULL);
        (void) signal(SIGPIPE, SIG_IGN);
}

/* To the command and its group; to the command alone when it has left that. */
static void command_signal(const Supervision *s, int sig) {
        if (kill(-s->command, sig) < 0 && errno == ESRCH)
                (void) kill(s->command, sig);
}

static void command_stopped(const Supervision *s, int sig) {
        if (s->terminal && (sig == SIGTTIN || sig == SIGTTOU))
                (void) tcsetpgrp(STDIN_FILENO, s->command);

        log_debug("The command was stopped by %s; continuing it.", sigdescr_np(sig));
        command_signal(s, SIGCONT);
}

static int status_of(int wait_status) {
        return WIFSIGNALED(wait_status) ? STATUS_SIGNAL_BASE + WTERMSIG(wait_status)
                                        : WEXITSTATUS(wait_status);
}

/* Everything that has ended, our own child or handed down to us. */
static void reap(Supervision *s) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
                if (pid != s->command)
                        continue;

                if (WIFSTOPPED(status))
                        command_stopped(s, WSTOPSIG(status));
                else
                        s->status = status_of(status);
        }
}

static bool is_repetition(Supervision *s, int sig) {
        uint64_t now = now_usec();
        bool same = sig == s->last_signal && now - s->last_usec < SAME_USEC;

        s->last_signal = sig;
        s->last_usec = now;
        return same;
}

static void signal_arrived(Supervision *s, int sig) {
        if (sig == SIGCHLD || (sig == SIGWINCH && s->terminal))
                return;

        if (s->status >= 0)
                return;
        if (sig == SIGALRM) {
                log_notice("The command did not end within %d s of being asked and is killed.", END_SECONDS);
                command_signal(s, SIGKILL);
                return;
        }

        if (!is_repetition(s, sig))
                command_signal(s, sig);
        if ((sig == SIGTERM || sig == SIGHUP) && !s->asked) {
                s->asked = true;
                (void) alarm(END_SECONDS);
        }
}

static int signals_dispatch(EventSource *source, uint32_t revents) {
        Supervision *s = source->userdata;
        struct signalfd_siginfo info[SIGNALS_BATCH];
        ssize_t n;

        n = read(source->fd, info, sizeof(info));
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;

        for (size_t i = 0; i < (size_t) n / sizeof(info[0]); i++)
                signal_arrived(s, (int) info[i].ssi_signo);

        reap(s);
        return 0;
}

static int signals_open(void) {
        sigset_t set;
        int fd;

        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigaddset(&set, SIGALRM);
        for (size_t i = 0; i < ELEMENTSOF(passed_on); i++)
                sigaddset(&set, passed_on[i]);

        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

static pid_t parent_of(const char *pid) {
        _cleanup_free_ char *path = NULL, *stat = NULL;
        const char *after_name;
        int parent;

        if (asprintf_to(&path, "/proc/%s/stat", pid) < 0 ||
                        io_read_file_at(AT_FDCWD, path, 4 * KIB, &stat, NULL) < 0)
                return -1;

        /* The name in parentheses may hold anything. */
        after_name = strrchr(stat, ')');
        return after_name && sscanf(after_name, ") %*c %d", &parent) == 1 ? parent : -1;
}

static void kill_children(void) {
        DIR *d;

        d = opendir("/proc");
        if (!d)
                return;

        for (struct dirent *entry; (entry = readdir(d));) {
                uint64_t pid;

                if (parse_uint(entry->d_name, 2, INT32_MAX, &pid) >= 0 &&
                                parent_of(entry->d_name) == getpid())
                        (void) kill((pid_t) pid, SIGKILL);
        }

        (void) closedir(d);
}

/* When PID 1 ends the kernel kills the rest. Under a microVM's own init that does not hold: there we are a
 * subreaper, and whatever loses its parent becomes our child. */
static void end_the_rest(const Supervision *s) {
        if (getpid() == 1)
                return;

        (void) kill(-s->command, SIGKILL);
        for (int i = 0; i < KILL_ROUNDS_MAX; i++) {
                kill_children();
                if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
                        return;
        }
}

int supervise(Events *events, pid_t command, bool terminal) {
        Supervision s = { .command = command, .terminal = terminal, .status = -1 };
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = signals_open();
        if (fd < 0)
                return fd;

        s.signals = (EventSource) { .fd = fd, .dispatch = signals_dispatch, .userdata = &s };
        r = events_watch(events, &s.signals, EPOLLIN);
        while (r >= 0 && s.status < 0)
                r = events_run(events, -1);

        (void) events_watch(events, &s.signals, 0);
        end_the_rest(&s);
        return r < 0 ? r : s.status;
}
