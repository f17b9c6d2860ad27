/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "launch/host-use.h"

#define COMM_LENGTH 15 /* the kernel cuts a process's name */
#define ENVIRONMENT_MAX (8 * MIB)

DEFINE_CLEANUP(DIR *, closedir);

static bool is_program(int proc_fd, const char *program) {
        _cleanup_free_ char *comm = NULL;
        size_t n;

        if (io_read_file_at(proc_fd, "comm", KIB, &comm, &n) < 0)
                return false;

        comm[strcspn(comm, "\n")] = '\0';
        return strncmp(comm, program, COMM_LENGTH) == 0 && strlen(comm) == strnlen(program, COMM_LENGTH);
}

static bool was_started_with(int proc_fd, const char *assignment) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        if (io_read_file_at(proc_fd, "environ", ENVIRONMENT_MAX, &text, &n) < 0)
                return false;

        for (const char *p = text; p < text + n; p += strlen(p) + 1)
                if (streq(p, assignment))
                        return true;

        return false;
}

int host_use_find(const char *program, const char *directory, pid_t *ret) {
        _cleanup_(closedirp) DIR *proc = NULL;
        _cleanup_free_ char *assignment = NULL;
        int r;

        r = asprintf_to(&assignment, "CLAUDE_CONFIG_DIR=%s", directory);
        if (r < 0)
                return r;

        proc = opendir("/proc");
        if (!proc)
                return -errno;

        for (;;) {
                _cleanup_close_ int fd = -EBADF;
                struct dirent *de;
                uint64_t pid;

                errno = 0;
                de = readdir(proc);
                if (!de)
                        return -errno;
                if (parse_uint(de->d_name, 1, INT32_MAX, &pid) < 0 || (pid_t) pid == getpid())
                        continue;

                fd = openat(dirfd(proc), de->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0 || !is_program(fd, program) || !was_started_with(fd, assignment))
                        continue;

                *ret = (pid_t) pid;
                return 1;
        }
}
