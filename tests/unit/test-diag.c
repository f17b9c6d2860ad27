/* SPDX-License-Identifier: MIT */

/* What the kernel could answer, as bytes: well, falsely, cut off. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>

#include <cmocka.h>

#include "bridge/diag.h"

#define SEQUENCE 4711
#define CGROUP 0x100000123ULL

static const DiagPair pair = {
        .theirs = { .sin_family = AF_INET, .sin_port = 0x1234, .sin_addr.s_addr = 0x0100007f },
        .ours = { .sin_family = AF_INET, .sin_port = 0x5678, .sin_addr.s_addr = 0x0100007f },
};

typedef struct Answer {
        struct nlmsghdr header;
        struct inet_diag_msg msg;
        struct rtattr other;
        uint8_t other_value[4];
        struct rtattr cgroup;
        uint8_t cgroup_value[8];
} Answer;

static_assert(sizeof(Answer) == 16 + 72 + 8 + 12, "no padding: these are the bytes on the wire");

static Answer good_answer(void) {
        const uint64_t cgroup = CGROUP;
        Answer a = {
                .header = { .nlmsg_len = sizeof(a),
                                .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                .nlmsg_seq = SEQUENCE },
                .msg = { .idiag_family = AF_INET, .idiag_state = 1, .idiag_uid = 1000, .idiag_inode = 99 },
                .other = { .rta_len = 5, .rta_type = INET_DIAG_SHUTDOWN },
                .cgroup = { .rta_len = 12, .rta_type = INET_DIAG_CGROUP_ID },
        };

        a.msg.id.idiag_sport = pair.theirs.sin_port;
        a.msg.id.idiag_dport = pair.ours.sin_port;
        a.msg.id.idiag_src[0] = pair.theirs.sin_addr.s_addr;
        a.msg.id.idiag_dst[0] = pair.ours.sin_addr.s_addr;
        memcpy(a.cgroup_value, &cgroup, sizeof(cgroup));
        return a;
}

static void test_question(void **state) {
        static const uint8_t expected[DIAG_REQUEST_SIZE] = {
                72, 0, 0, 0, 20, 0, 1, 0, 0x67, 0x12, 0, 0, 0, 0, 0,
                0,                                                 /* a request, SOCK_DIAG_BY_FAMILY, 4711 */
                2, 6, 0, 0, 0xff, 0xff, 0xff, 0xff,                /* AF_INET, TCP, any state */
                0x34, 0x12, 0x78, 0x56,                            /* their port, ours */
                0x7f, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* their address */
                0x7f, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* ours */
                0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* any interface, no cookie */
        };
        uint8_t buf[DIAG_REQUEST_SIZE];

        diag_format(&pair, SEQUENCE, buf);
        if (htonl(1) != 1)
                assert_memory_equal(buf, expected, sizeof(buf));
}

static void test_answer(void **state) {
        Answer a = good_answer();
        DiagAnswer d;

        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), 0);
        assert_int_equal(d.state, 1);
        assert_int_equal(d.uid, 1000);
        assert_int_equal(d.inode, 99);
        assert_int_equal(d.cgroup_id, CGROUP);
}

static void test_answer_without_cgroup(void **state) {
        Answer a = good_answer();
        DiagAnswer d;

        a.header.nlmsg_len = offsetof(Answer, cgroup);
        assert_int_equal(diag_parse(&a, a.header.nlmsg_len, &pair, SEQUENCE, &d), 0);
        assert_int_equal(d.cgroup_id, 0);

        a.header.nlmsg_len = offsetof(Answer, other);
        assert_int_equal(diag_parse(&a, a.header.nlmsg_len, &pair, SEQUENCE, &d), 0);
        assert_int_equal(d.cgroup_id, 0);
}

static void test_other_socket(void **state) {
        Answer a = good_answer();
        DiagAnswer d;

        /* A listening socket at the peer's address, which the kernel offers when the connection is gone. */
        a.msg.id.idiag_dport = 0;
        a.msg.id.idiag_dst[0] = 0;
        a.msg.idiag_state = 10;
        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), -ENOENT);

        a = good_answer();
        a.msg.id.idiag_sport++;
        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), -ENOENT);
}

static void test_errors(void **state) {
        struct {
                struct nlmsghdr header;
                struct nlmsgerr error;
        } e = {
                .header = { .nlmsg_len = sizeof(e), .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = SEQUENCE },
        };
        Answer a = good_answer();
        DiagAnswer d;

        e.error.error = -ENOENT;
        assert_int_equal(diag_parse(&e, sizeof(e), &pair, SEQUENCE, &d), -ENOENT);
        e.error.error = -EPERM;
        assert_int_equal(diag_parse(&e, sizeof(e), &pair, SEQUENCE, &d), -EPERM);
        e.error.error = 0;
        assert_int_equal(diag_parse(&e, sizeof(e), &pair, SEQUENCE, &d), -EBADMSG);
        e.header.nlmsg_len = sizeof(e.header) + 2;
        assert_int_equal(diag_parse(&e, sizeof(e), &pair, SEQUENCE, &d), -EBADMSG);

        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE + 1, &d), DIAG_E_OTHER);

        a.header.nlmsg_type = NLMSG_DONE;
        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), -EBADMSG);

        a = good_answer();
        a.msg.idiag_family = AF_INET6;
        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), -EBADMSG);

        for (int length = 0; length <= 20; length++) {
                a = good_answer();
                a.cgroup.rta_len = (unsigned short) length;
                assert_int_equal(
                                diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), length == 12 ? 0 : -EBADMSG);
        }

        a = good_answer();
        a.other.rta_len = 3;
        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), -EBADMSG);
        a = good_answer();
        a.header.nlmsg_len = sizeof(a) + 1;
        assert_int_equal(diag_parse(&a, sizeof(a), &pair, SEQUENCE, &d), -EBADMSG);
}

/* Cut off anywhere: an error, never more than what is there. */
static void test_cut_off(void **state) {
        const Answer good = good_answer();

        for (size_t n = 0; n < sizeof(good); n++) {
                Answer a = good;
                DiagAnswer d;

                assert_true(diag_parse(&a, n, &pair, SEQUENCE, &d) < 0);
                if (n >= sizeof(a.header)) {
                        a.header.nlmsg_len = (uint32_t) n;
                        (void) diag_parse(&a, n, &pair, SEQUENCE, &d);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_question),
                cmocka_unit_test(test_answer),
                cmocka_unit_test(test_answer_without_cgroup),
                cmocka_unit_test(test_other_socket),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_cut_off),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
