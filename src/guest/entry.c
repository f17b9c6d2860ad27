/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * The entry point is the first process of a sandbox: PID 1 of the container, or under a microVM's init a
 * child of that. It starts as root, of the sandbox's own user namespace or virtual machine, and does what
 * needs root. The command never is root, because claude refuses to be turned loose as root, and never PID 1,
 * because that would ignore SIGTERM.
 *
 * - Wait for the file `go`. The launcher makes it appear when it has compared the mounts with its plan;
 *   nothing is read before. That the file is opened tells the launcher that failures are now the guest's.
 * - Load environment, command, bridge and public keys from the launch directory.
 * - See that names can be looked up: a session that cannot is better not begun.
 * - Have the image's programs read the host's certificate authorities, where they are mounted.
 * - Prepare the user database, the home directory with the link to the host's claude, and GnuPG. The way to
 *   the bridge goes to a file that only the guest's user can read: a token in the environment would end up
 *   in transcripts.
 * - Bind every forwarded socket, before the command can look for one. GUEST_RUN, where those of the
 *   ssh-agents are, has been made private to the guest's user.
 * - Start the command, as the guest's user, with descriptors 0 to 2, in the foreground of the terminal if
 *   there is one.
 * - Serve signals, the dead and the sockets, in one event loop, until the command ends. Its status is ours.
 *
 * What fails before the start and leaves the sandbox usable is said in one line, and the launch goes on.
 * After any other failure of our own the status is STATUS_ENTRY_FAILED. */

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/strv.h"
#include "guest/applet.h"
#include "guest/command.h"
#include "guest/environment.h"
#include "guest/events.h"
#include "guest/forward.h"
#include "guest/gnupg.h"
#include "guest/home.h"
#include "guest/launch-files.h"
#include "guest/memory.h"
#include "guest/resolver.h"
#include "guest/supervise.h"
#include "guest/trust.h"
#include "guest/user.h"

typedef struct Entry {
        LaunchFiles launch;
        ForwardList forwards;
        char *shell;
        Events events;
        struct rlimit nofile;
} Entry;

/* Standard input as the controlling terminal: podman has made it so; under a microVM's init it may be
 * nobody's yet. */
static bool take_terminal(void) {
        if (tcgetpgrp(STDIN_FILENO) >= 0)
                return true;
        if (!isatty(STDIN_FILENO))
                return false;

        (void) setsid();
        (void) ioctl(STDIN_FILENO, TIOCSCTTY, 0);
        return tcgetpgrp(STDIN_FILENO) >= 0;
}

/* Returns 0, a status to exit with, or negative errno, having said why. */
static int wait_and_load(Entry *e) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = open(GUEST_LAUNCH, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return log_error(-errno, "Not in a sandbox: %s", GUEST_LAUNCH);

        r = launch_wait_for_go(fd);
        if (r < 0)
                return log_error(r, "The launcher did not let the sandbox go (%s/%s)", GUEST_LAUNCH,
                                LAUNCH_FILE_GO);
        if (r > 0)
                return STATUS_SIGNAL_BASE + r;

        if (forward_list_parse(getenv(GUEST_ENV_FORWARDS), &e->forwards) < 0)
                return log_error(-EBADMSG, "Cannot parse %s.", GUEST_ENV_FORWARDS);

        return launch_files_load(fd, &e->launch);
}

static void prepare_gnupg(Entry *e, int home_fd) {
        int r;

        if (!forward_list_find(&e->forwards, SERVICE_GPG))
                return;

        r = gnupg_prepare(home_fd, e->launch.gpg_keys, e->launch.gpg_keys_size);
        if (r < 0)
                (void) log_error(r, "Cannot prepare %s", GUEST_GNUPG_DIR);
        if (access("/usr/bin/gpg", X_OK) < 0 && access("/bin/gpg", X_OK) < 0 &&
                        access("/usr/local/bin/gpg", X_OK) < 0)
                log_warning("This image has no gpg; commits can be signed once it is installed.");
}

static int prepare_home(Entry *e) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = home_open();
        if (fd < 0)
                return log_error(fd, "Cannot make %s the home directory of %s", GUEST_HOME, GUEST_USER);

        r = home_link_claude(fd);
        if (r < 0 && r != -EXDEV)
                (void) log_error(r, "Cannot link %s/.local/bin/claude to %s", GUEST_HOME,
                                GUEST_NATIVE_CLAUDE);

        prepare_gnupg(e, fd);
        return 0;
}

/* The run directory becomes the guest user's: it holds sockets, so nobody else may enter. */
static int prepare_run_directory(const Entry *e) {
        _cleanup_close_ int fd = -EBADF, file = -EBADF;
        int r;

        fd = open(GUEST_RUN, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fchown(fd, GUEST_UID, GUEST_UID) < 0 || fchmod(fd, 0700) < 0)
                return log_error(-errno, "Cannot make %s private", GUEST_RUN);

        if (!e->launch.bridge_text)
                return 0;

        file = open(GUEST_BRIDGE_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 || fchown(file, GUEST_UID, GUEST_UID) < 0 || fchmod(file, 0600) < 0)
                return log_error(-errno, "Cannot create %s", GUEST_BRIDGE_FILE);

        r = io_write_all(file, e->launch.bridge_text, e->launch.bridge_size);
        return r < 0 ? log_error(r, "Cannot write %s", GUEST_BRIDGE_FILE) : 0;
}

/* Binds one socket after the other. One that cannot be bound is taken off the list: nothing in the
 * environment may then point to it. */
static int bind_forwards(Entry *e) {
        ForwardList wanted = e->forwards;
        Forwarder *forwarder;
        int r;

        e->forwards = (ForwardList) {};
        if (wanted.n > 0 && !e->launch.bridge_text) {
                log_warning("There is no bridge; nothing is forwarded.");
                return 0;
        }

        r = forwarder_new(&e->events, &e->launch.bridge, e->nofile.rlim_max, &forwarder);
        if (r < 0)
                return log_error(r, "Cannot set up the forwarder");

        for (size_t i = 0; i < wanted.n; i++) {
                int fd;

                fd = forward_bind(wanted.items[i].path);
                if (fd < 0) {
                        (void) log_error(fd, "Cannot forward %s", wanted.items[i].path);
                        continue;
                }

                r = forwarder_add(forwarder, fd, wanted.items[i].service);
                if (r < 0)
                        return log_error(r, "Cannot forward %s", wanted.items[i].path);

                e->forwards.items[e->forwards.n++] = wanted.items[i];
        }

        return 0;
}

static int start_and_serve(Entry *e) {
        const Forward *ssh = forward_list_find(&e->forwards, SERVICE_SSH);
        const EnvironmentOptions options = {
                .image = environ,
                .launch = e->launch.environment,
                .shell = e->shell,
                .ssh_auth_sock = ssh ? ssh->path : NULL,
                .gpg = forward_list_find(&e->forwards, SERVICE_GPG),
        };
        _cleanup_strv_ char **environment = NULL;
        const uint64_t kills_before = memory_kills();
        Command command = { .argv = e->launch.command, .nofile = e->nofile };
        pid_t pid;
        int r;

        r = environment_build(&options, &environment);
        if (r < 0)
                return log_oom();

        command.environment = environment;
        command.terminal = take_terminal();

        r = command_start(&command, &pid);
        if (r != 0)
                return r;

        r = supervise(&e->events, pid, command.terminal);
        memory_tell(kills_before);
        return r < 0 ? log_error(r, "Cannot supervise the command") : r;
}

static int entry_run(Entry *e) {
        struct rlimit nofile;
        int r;

        r = wait_and_load(e);
        if (r != 0)
                return r;
        r = resolver_check();
        if (r < 0)
                return r;

        trust_prepare();
        r = user_prepare(&e->shell);
        if (r < 0)
                return log_oom();
        r = prepare_home(e);
        if (r < 0)
                return r;
        r = prepare_run_directory(e);
        if (r < 0)
                return r;

        if (getrlimit(RLIMIT_NOFILE, &e->nofile) < 0)
                return log_error(-errno, "Cannot read the descriptor limit");
        nofile = (struct rlimit) { .rlim_cur = e->nofile.rlim_max, .rlim_max = e->nofile.rlim_max };
        (void) setrlimit(RLIMIT_NOFILE, &nofile);

        r = events_init(&e->events);
        if (r < 0)
                return log_error(r, "Cannot set up the event loop");
        r = bind_forwards(e);
        if (r < 0)
                return r;

        return start_and_serve(e);
}

int applet_entry(int argc, char **argv) {
        Entry e = {};
        int r;

        log_setup("claude-sandbox");
        if (geteuid() != 0) {
                (void) log_error(-EPERM, "The entry point of a sandbox must be started as root.");
                return STATUS_ENTRY_FAILED;
        }

        (void) fd_fill_stdio();
        (void) fd_close_from(STDERR_FILENO + 1);
        (void) umask(022);
        supervise_block_signals();
        if (getpid() != 1)
                (void) prctl(PR_SET_CHILD_SUBREAPER, 1);

        r = entry_run(&e);
        return r < 0 ? STATUS_ENTRY_FAILED : r;
}
