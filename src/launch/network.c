/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "launch/network.h"

#define TABLE_MAX (4 * MIB)
#define HELPER "pasta" /* and its variants for a processor, such as pasta.avx2 */

/* An address of this machine's own is a leaf ("|-- 10.0.2.15") with a line "/32 host LOCAL" below it. */
NetworkReach network_reach_ipv4(const char *fib_trie) {
        NetworkReach reach = NETWORK_NONE;
        const char *address = "";

        for (const char *line = fib_trie; *line;) {
                size_t n = strcspn(line, "\n");
                const char *leaf = memmem(line, n, "|-- ", 4);

                if (leaf)
                        address = leaf + 4;
                else if (memmem(line, n, "/32 host LOCAL", 14) && !str_after_prefix(address, "127."))
                        reach = MAX(reach, str_after_prefix(address, "169.254.") ? NETWORK_LINK_LOCAL : NETWORK_GLOBAL);
                line += n + (line[n] == '\n');
        }

        return reach;
}

/* Lines "<address> <interface's index> <prefix> <scope> <flags> <name>", all in hexadecimal but the name. */
NetworkReach network_reach_ipv6(const char *if_inet6) {
        NetworkReach reach = NETWORK_NONE;

        for (const char *line = if_inet6; *line;) {
                size_t n = strcspn(line, "\n");
                unsigned scope;

                if (sscanf(line, "%*32[0-9a-f] %*x %*x %x", &scope) == 1) {
                        if (scope == 0x00)
                                reach = NETWORK_GLOBAL;
                        else if (scope == 0x20)
                                reach = MAX(reach, NETWORK_LINK_LOCAL);
                }
                line += n + (line[n] == '\n');
        }

        return reach;
}

static int read_table(pid_t pid, const char *name, char **ret) {
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/net/%s", (int) pid, name);
        return io_read_file_at(AT_FDCWD, path, TABLE_MAX, ret, NULL);
}

int network_check(pid_t container, char **ret_why) {
        _cleanup_free_ char *ipv4 = NULL, *ipv6 = NULL;
        NetworkReach reach;
        int r;

        r = read_table(container, "fib_trie", &ipv4);
        if (r < 0)
                return r;
        r = read_table(container, "if_inet6", &ipv6); /* absent where the kernel has no IPv6 */
        if (r < 0 && r != -ENOENT)
                return r;

        reach = network_reach_ipv4(ipv4);
        if (ipv6)
                reach = MAX(reach, network_reach_ipv6(ipv6));
        if (reach == NETWORK_GLOBAL)
                return 0;

        *ret_why = strdup(reach == NETWORK_NONE ?
                        "The sandbox has no network: pasta gave it no address. Is this machine connected?" :
                        "The sandbox has no network: pasta found no address of this machine that reaches further than its own "
                        "link, and gave it a made-up one (169.254…). Is this machine connected?");
        return *ret_why ? -ENETUNREACH : -ENOMEM;
}

static bool is_helper(pid_t pid) {
        _cleanup_free_ char *comm = NULL;
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) pid);
        return io_read_file_at(AT_FDCWD, path, 64, &comm, NULL) >= 0 && str_after_prefix(comm, HELPER);
}

static int find_helper(int group_fd, const char *name) {
        _cleanup_free_ char *path = NULL, *pids = NULL;
        char *save = NULL;
        int r;

        r = asprintf_to(&path, "%s/cgroup.procs", name);
        if (r >= 0)
                r = io_read_file_at(group_fd, path, 64 * KIB, &pids, NULL);
        if (r < 0)
                return r;

        for (char *s = strtok_r(pids, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
                uint64_t pid;

                if (parse_uint(s, 1, INT32_MAX, &pid) >= 0 && is_helper((pid_t) pid)) {
                        r = (int) syscall(SYS_pidfd_open, (pid_t) pid, 0);
                        return r < 0 ? -errno : r;
                }
        }

        return -ESRCH;
}

int network_helper_open(int guest_cgroup_fd) {
        static const char *const groups[] = { ".", "runtime" }; /* podman moves itself and its helpers into the latter */
        int r = -ESRCH;

        for (size_t i = 0; i < ELEMENTSOF(groups) && r < 0; i++)
                r = find_helper(guest_cgroup_fd, groups[i]);

        return r;
}
