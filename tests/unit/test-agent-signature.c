/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bridge/agent-signature.h"
#include "known-keys.h"
#include "ssh-messages.h"

#define PUBLICKEY LIT("publickey")
#define HOSTBOUND LIT("publickey-hostbound-v00@openssh.com")

/* As RFC 4252, 7 has it. */
static void put_login_with(Message *m, SshBytes user, SshBytes method, SshBytes key) {
        put_string(m, LIT("0123456789abcdef0123456789abcdef"));
        put_byte(m, 50);
        put_string(m, user);
        put_string(m, LIT("ssh-connection"));
        put_string(m, method);
        put_byte(m, 1);
        put_string(m, LIT("ssh-ed25519"));
        put_string(m, key);
        if (ssh_bytes_equal(method, HOSTBOUND))
                put_string(m, LIT("the host's key"));
}

static void put_login(Message *m, SshBytes user, SshBytes method) {
        put_login_with(m, user, method, LIT("key"));
}

static void put_file(Message *m, SshBytes namespace) {
        put(m, LIT("SSHSIG"));
        put_string(m, namespace);
        put_string(m, LIT(""));
        put_string(m, LIT("sha512"));
        put_string(m, LIT("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
}

static void assert_purpose(SshBytes data, SignaturePurpose expected, const char *name) {
        SshBytes found;

        assert_int_equal(signature_purpose(data, &found), expected);
        assert_true(ssh_bytes_are(found, name));
}

static void test_purpose(void **state) {
        static Message m;

        put_login(&m, LIT("git"), PUBLICKEY);
        assert_purpose(bytes_of(&m), SIGNATURE_USER, "git");
        m.n = 0;
        put_login(&m, LIT(""), HOSTBOUND);
        assert_purpose(bytes_of(&m), SIGNATURE_USER, "");
        m.n = 0;
        put_file(&m, LIT("git"));
        assert_purpose(bytes_of(&m), SIGNATURE_FILE, "git");

        /* Cut anywhere, or with anything behind it, it is neither. */
        for (unsigned kind = 0; kind < 3; kind++) {
                m.n = 0;
                if (kind == 0)
                        put_file(&m, LIT("file"));
                else
                        put_login(&m, LIT("root"), kind == 1 ? PUBLICKEY : HOSTBOUND);
                for (size_t n = 0; n < m.n; n++)
                        assert_purpose(SSH_BYTES(m.p, n), SIGNATURE_OTHER, "");
                put_byte(&m, 0);
                assert_purpose(bytes_of(&m), SIGNATURE_OTHER, "");
        }
}

/* One byte that matters is different each time. */
/* As sshd has it for clients that say they are old ones: the same, the identifier's length left out. */
static void test_old_login(void **state) {
        static const size_t sizes[] = { 20, 32, 48, 64 };
        static const char session[64] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";
        static Message usual, m;
        SshBytes d;

        put_login(&usual, LIT("root"), PUBLICKEY);
        d = bytes_of(&usual);
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                m.n = 0;
                put(&m, SSH_BYTES((const uint8_t *) session, sizes[i]));
                put(&m, SSH_BYTES(d.p + 4 + 32, d.n - 4 - 32));
                assert_purpose(bytes_of(&m), SIGNATURE_USER, "root");
        }

        m.n = 0;
        put(&m, SSH_BYTES((const uint8_t *) session, 31));
        put(&m, SSH_BYTES(d.p + 4 + 32, d.n - 4 - 32));
        assert_purpose(bytes_of(&m), SIGNATURE_OTHER, "");
}

static void test_no_login(void **state) {
        static const size_t places[] = { 36 /* the message's number */, 66 /* its method */ };
        static Message m;
        SshBytes name;

        put_login(&m, LIT("git"), PUBLICKEY);
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                m.p[places[i]] ^= 2;
                assert_int_equal(signature_purpose(bytes_of(&m), &name), SIGNATURE_OTHER);
                m.p[places[i]] ^= 2;
        }
        assert_int_equal(signature_purpose(bytes_of(&m), &name), SIGNATURE_USER);

        /* That there is a signature: servers take any byte but zero for that. */
        for (unsigned byte = 0; byte < 256; byte++) {
                m.p[75] = (uint8_t) byte;
                assert_int_equal(signature_purpose(bytes_of(&m), &name), byte == 0 ? SIGNATURE_OTHER : SIGNATURE_USER);
        }
        m.p[75] = 1;
        /* The key in another spelling: what it is good for does not change. */
        m.p[95] ^= 2;
        assert_int_equal(signature_purpose(bytes_of(&m), &name), SIGNATURE_USER);
}

static void test_new(void **state) {
        static Message m;
        static uint8_t buf[4096];
        _cleanup_agent_signature_ AgentSignature *s = NULL;
        AgentRequest request = { .data_is_whole = true };

        request.key = known_key(&known_keys[1], buf, sizeof(buf)); /* a certificate */
        put_file(&m, LIT("evil\n\x1b[2J"));
        request.data = bytes_of(&m);
        assert_int_equal(agent_signature_new(&request, &s), 0);
        assert_string_equal(s->fingerprint, known_keys[1].fingerprint);
        assert_int_equal(s->purpose, SIGNATURE_FILE);
        assert_string_equal(s->name, "evil\\x0a\\x1b[2J");
        assert_null(s->comment);

        /* Its key has the same fingerprint, but is not it. */
        assert_true(agent_signature_is_by(s, request.key));
        assert_false(agent_signature_is_by(s, known_key(&known_keys[0], buf, sizeof(buf))));
}

static void test_cut(void **state) {
        _cleanup_agent_signature_ AgentSignature *s = NULL;
        static Message m;
        AgentRequest request = { .key = LIT("key") };

        put_file(&m, LIT("git"));
        request.data = bytes_of(&m);
        assert_int_equal(agent_signature_new(&request, &s), 0);
        assert_int_equal(s->purpose, SIGNATURE_OTHER);
        assert_null(s->name);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_purpose),
                cmocka_unit_test(test_old_login),
                cmocka_unit_test(test_no_login),
                cmocka_unit_test(test_new),
                cmocka_unit_test(test_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
