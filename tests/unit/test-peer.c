/* SPDX-License-Identifier: MIT */

/* The check against the running kernel, with connections of this process. Skipped (77) where there is no
 * sock_diag, or no control group of version 2 that is not the root. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/path.h"
#include "bridge/cgroup-tree.h"
#include "bridge/peer.h"
#include "socket-pairs.h"

static char own_cgroup[4096];

static int diag_open(void) {
        return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

static struct sockaddr_in address_of(int fd) {
        struct sockaddr_in a = {};
        socklen_t n = sizeof(a);

        assert_int_equal(getsockname(fd, (struct sockaddr *) &a, &n), 0);
        return a;
}

static PeerVerdict verdict(const char *scope, int theirs, int ours, Peer *ret) {
        _cleanup_peer_check_ PeerCheck *c = NULL;
        PeerVerdict v, again;

        assert_int_equal(peer_check_new(diag_open(), address_of(ours), scope, &c), 0);
        v = peer_check(c, address_of(theirs), ret);

        /* What is remembered says the same. */
        again = peer_check(c, address_of(theirs), ret);
        assert_string_equal(peer_verdict_to_string(v), peer_verdict_to_string(again));
        return v;
}

static void test_ours(void **state) {
        int theirs, ours;
        Peer p;

        tcp_pair(&theirs, &ours);
        assert_int_equal(verdict(own_cgroup, theirs, ours, &p), PEER_OURS);
        assert_int_equal(p.uid, getuid());
        assert_true(p.cgroup_id != 0);

        /* Also when it is half closed, and when its group lies deeper. */
        assert_int_equal(shutdown(theirs, SHUT_WR), 0);
        assert_int_equal(verdict(own_cgroup, theirs, ours, &p), PEER_OURS);
        assert_int_equal(verdict("/", theirs, ours, &p), PEER_OURS);

        fd_close(theirs);
        fd_close(ours);
}

static void test_foreign_cgroup(void **state) {
        int theirs, ours;
        Peer p;

        tcp_pair(&theirs, &ours);
        assert_int_equal(verdict("/no-such.scope", theirs, ours, &p), PEER_FOREIGN_CGROUP);
        assert_int_equal(p.uid, getuid());
        fd_close(theirs);
        fd_close(ours);
}

static void test_gone(void **state) {
        _cleanup_peer_check_ PeerCheck *c = NULL;
        struct sockaddr_in address;
        int theirs, ours;
        Peer p;

        tcp_pair(&theirs, &ours);
        address = address_of(theirs);
        assert_int_equal(peer_check_new(diag_open(), address_of(ours), own_cgroup, &c), 0);

        /* In FIN-WAIT-2, with uid 0: not root. */
        fd_close(theirs);
        assert_int_equal(peer_check(c, address, &p), PEER_GONE);
        assert_int_equal(p.uid, UID_UNKNOWN);
        assert_null(peer_cgroup_name(c, &p));

        fd_close(ours);
        assert_int_equal(peer_check(c, address, &p), PEER_GONE);
}

static void test_listening_socket_is_not_the_peer(void **state) {
        _cleanup_peer_check_ PeerCheck *c = NULL;
        struct sockaddr_in address, ours;
        int listening;
        Peer p;

        listening = tcp_listen(&address);
        ours = address;
        ours.sin_port = (in_port_t) (ours.sin_port + 1);
        assert_int_equal(peer_check_new(diag_open(), ours, own_cgroup, &c), 0);
        assert_int_equal(peer_check(c, address, &p), PEER_GONE);
        fd_close(listening);
}

static void test_name(void **state) {
        _cleanup_peer_check_ PeerCheck *c = NULL;
        int theirs, ours;
        Peer p, nobody = { .uid = 0, .cgroup_id = UINT64_MAX };

        tcp_pair(&theirs, &ours);
        assert_int_equal(peer_check_new(diag_open(), address_of(ours), own_cgroup, &c), 0);
        assert_int_equal(peer_check(c, address_of(theirs), &p), PEER_OURS);
        assert_string_equal(peer_cgroup_name(c, &p), own_cgroup);
        assert_string_equal(peer_cgroup_name(c, &p), own_cgroup);
        assert_string_equal(peer_cgroup_name(c, &nobody), "18446744073709551615");
        fd_close(theirs);
        fd_close(ours);
}

/* Answers to somebody else's questions lie in the socket already. */
static void test_stale_answers(void **state) {
        _cleanup_peer_check_ PeerCheck *c = NULL;
        int theirs, ours, diag;
        struct nlmsghdr noise = {
                .nlmsg_len = sizeof(noise), .nlmsg_type = 20, .nlmsg_flags = NLM_F_REQUEST
        };
        Peer p;

        tcp_pair(&theirs, &ours);
        diag = diag_open();
        assert_int_equal(send(diag, &noise, sizeof(noise), 0), sizeof(noise));
        assert_int_equal(peer_check_new(diag, address_of(ours), own_cgroup, &c), 0);
        assert_int_equal(send(diag, &noise, sizeof(noise), 0), sizeof(noise));
        assert_int_equal(peer_check(c, address_of(theirs), &p), PEER_OURS);
        fd_close(theirs);
        fd_close(ours);
}

static bool can_run(void) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int diag = diag_open();
        char *line;

        if (diag < 0 || !cgroup_tree_mount())
                return false;
        if (io_read_file_at(AT_FDCWD, "/proc/self/cgroup", 64 * KIB, &text, NULL) < 0)
                return false;

        line = strstr(text, "0::");
        if (!line)
                return false;

        line[strcspn(line, "\n")] = '\0';
        (void) snprintf(own_cgroup, sizeof(own_cgroup), "%s", line + 3);
        return own_cgroup[0] == '/' && own_cgroup[1] != '.';
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ours),
                cmocka_unit_test(test_foreign_cgroup),
                cmocka_unit_test(test_gone),
                cmocka_unit_test(test_listening_socket_is_not_the_peer),
                cmocka_unit_test(test_name),
                cmocka_unit_test(test_stale_answers),
        };

        if (!can_run())
                return 77;

        return cmocka_run_group_tests(tests, NULL, NULL);
}
