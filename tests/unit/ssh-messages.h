/* SPDX-License-Identifier: MIT */
#pragma once

/* Builds messages of the agent's protocol in a buffer of fixed size. Include after cmocka.h. */

#include <endian.h>
#include <string.h>

#include "shared/ssh-wire.h"

typedef struct Message {
        uint8_t p[2 * SSH_AGENT_FRAME_MAX];
        size_t n;
} Message;

#define LIT(s) SSH_BYTES(s, STRLEN(s))

_unused_ static void put(Message *m, SshBytes b) {
        assert_true(m->n + b.n <= sizeof(m->p));
        if (b.n > 0)
                memcpy(m->p + m->n, b.p, b.n);
        m->n += b.n;
}

_unused_ static void put_byte(Message *m, uint8_t byte) {
        put(m, SSH_BYTES(&byte, 1));
}

_unused_ static void put_number(Message *m, uint32_t n) {
        n = htobe32(n);
        put(m, SSH_BYTES(&n, sizeof(n)));
}

_unused_ static void put_string(Message *m, SshBytes b) {
        put_number(m, (uint32_t) b.n);
        put(m, b);
}

/* Begins a frame; the end fills its length in. */
_unused_ static size_t frame_begin(Message *m, uint8_t type) {
        size_t start = m->n;

        put_number(m, 0);
        put_byte(m, type);
        return start;
}

_unused_ static void frame_end(Message *m, size_t start) {
        uint32_t n = htobe32((uint32_t) (m->n - start - SSH_AGENT_LENGTH_SIZE));

        memcpy(m->p + start, &n, sizeof(n));
}

_unused_ static void put_frame(Message *m, uint8_t type, SshBytes body) {
        size_t start = frame_begin(m, type);

        put(m, body);
        frame_end(m, start);
}

_unused_ static void put_sign(Message *m, SshBytes key, SshBytes data) {
        size_t start = frame_begin(m, SSH_AGENTC_SIGN_REQUEST);

        put_string(m, key);
        put_string(m, data);
        put_number(m, 0);
        frame_end(m, start);
}

_unused_ static void put_extension(Message *m, SshBytes name, SshBytes body) {
        size_t start = frame_begin(m, SSH_AGENTC_EXTENSION);

        put_string(m, name);
        put(m, body);
        frame_end(m, start);
}

/* A list of keys "k1", "k2"… with the comments given, up to NULL. */
_unused_ static void put_list(Message *m, const char *const *comments) {
        size_t start = frame_begin(m, SSH_AGENT_IDENTITIES_ANSWER);
        uint32_t n = 0;
        size_t number = m->n;

        put_number(m, 0);
        for (; comments[n]; n++) {
                char key[] = { 'k', (char) ('1' + n) };

                put_string(m, SSH_BYTES(key, sizeof(key)));
                put_string(m, SSH_BYTES(comments[n], strlen(comments[n])));
        }

        n = htobe32(n);
        memcpy(m->p + number, &n, sizeof(n));
        frame_end(m, start);
}

_unused_ static SshBytes bytes_of(const Message *m) {
        return SSH_BYTES(m->p, m->n);
}
