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

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/path.h"
#include "bridge/cgroup-tree.h"
#include "bridge/diag.h"
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

/* What the kernel would answer about a peer, on a socket of the test's own in place of the kernel's. A
 * control group 0 is not told. */
static PeerVerdict forged_verdict(DiagAnswer a, Peer *ret) {
        const struct sockaddr_in theirs = { .sin_family = AF_INET, .sin_port = 1 };
        const struct sockaddr_in ours = { .sin_family = AF_INET };
        struct {
                struct nlmsghdr header;
                struct inet_diag_msg msg;
                struct rtattr attribute;
                uint8_t value[8];
        } answer = {
                .header = { .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_seq = 1 },
                .msg = { .idiag_family = AF_INET,
                                .idiag_state = a.state,
                                .id = { .idiag_sport = theirs.sin_port },
                                .idiag_uid = a.uid,
                                .idiag_inode = a.inode },
                .attribute = { .rta_len = 12, .rta_type = INET_DIAG_CGROUP_ID },
        };
        _cleanup_peer_check_ PeerCheck *c = NULL;
        _cleanup_close_ int kernel = -EBADF;
        int fds[2];

        answer.header.nlmsg_len =
                        a.cgroup_id != 0 ? sizeof(answer) : offsetof(__typeof__(answer), attribute);
        memcpy(answer.value, &a.cgroup_id, sizeof(answer.value));

        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
        kernel = fds[0];
        assert_int_equal(peer_check_new(fds[1], ours, own_cgroup, &c), 0);
        assert_int_equal(send(kernel, &answer, answer.header.nlmsg_len, 0), answer.header.nlmsg_len);
        return peer_check(c, theirs, ret);
}

static void test_verdicts(void **state) {
        const uint32_t me = getuid();
        DiagAnswer a = { .state = TCP_ESTABLISHED, .uid = me + 1, .inode = 99, .cgroup_id = 1 };
        Peer p;

        assert_int_equal(forged_verdict(a, &p), PEER_FOREIGN_UID);
        assert_int_equal(p.uid, me + 1);
        assert_int_equal(p.cgroup_id, 1);
        a.cgroup_id = 0;
        assert_int_equal(forged_verdict(a, &p), PEER_FOREIGN_UID);

        a.uid = me;
        a.cgroup_id = UINT64_MAX;
        assert_int_equal(forged_verdict(a, &p), PEER_FOREIGN_CGROUP);
        assert_int_equal(p.uid, me);

        /* An old kernel: the user must do. */
        a.cgroup_id = 0;
        assert_int_equal(forged_verdict(a, &p), PEER_OURS_BY_UID);
        assert_int_equal(p.cgroup_id, 0);

        /* Held by nobody: root is not let in, nor is anybody else. */
        a.inode = 0;
        assert_int_equal(forged_verdict(a, &p), PEER_GONE);
        assert_int_equal(p.uid, UID_UNKNOWN);
        a.uid = 0;
        assert_int_equal(forged_verdict(a, &p), PEER_GONE);
}

/* With the same two addresses there can be a newer connection in the making, after ours was closed. */
static void test_states(void **state) {
        for (int i = 1; i <= TCP_CLOSING; i++) {
                const DiagAnswer a = { .state = (uint8_t) i, .uid = getuid(), .inode = 99 };
                bool made = i == TCP_ESTABLISHED || i == TCP_FIN_WAIT1 || i == TCP_FIN_WAIT2;
                Peer p;

                assert_int_equal(forged_verdict(a, &p), made ? PEER_OURS_BY_UID : PEER_GONE);
        }
}

/* The kernel does not answer at all, or does not take the question. */
static void test_no_answer(void **state) {
        const struct sockaddr_in any = { .sin_family = AF_INET };
        _cleanup_peer_check_ PeerCheck *c = NULL, *closed = NULL;
        _cleanup_close_ int kernel = -EBADF;
        int fds[2];
        Peer p;

        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
        kernel = fds[0];
        assert_int_equal(peer_check_new(fds[1], any, own_cgroup, &c), 0);
        assert_int_equal(peer_check(c, any, &p), PEER_UNKNOWN);
        assert_int_equal(p.uid, UID_UNKNOWN);

        kernel = fd_close(kernel);
        assert_int_equal(peer_check(c, any, &p), PEER_UNKNOWN);
        assert_int_equal(peer_check_new(-EBADF, any, own_cgroup, &closed), 0);
        assert_int_equal(peer_check(closed, any, &p), PEER_UNKNOWN);
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
                cmocka_unit_test(test_verdicts),
                cmocka_unit_test(test_states),
                cmocka_unit_test(test_no_answer),
        };

        if (!can_run())
                return 77;

        return cmocka_run_group_tests(tests, NULL, NULL);
}
