/* SPDX-License-Identifier: MIT */

#include <endian.h>
#include <string.h>

#include "shared/ssh-wire.h"

bool ssh_bytes_equal(SshBytes a, SshBytes b) {
        return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool ssh_bytes_are(SshBytes b, const char *s) {
        return ssh_bytes_equal(b, SSH_BYTES(s, strlen(s)));
}

bool ssh_take_bytes(SshBytes *b, size_t n, SshBytes *ret) {
        if (b->n < n)
                return false;

        *ret = SSH_BYTES(b->p, n);
        b->p += n;
        b->n -= n;
        return true;
}

bool ssh_take_byte(SshBytes *b, uint8_t *ret) {
        SshBytes one;

        if (!ssh_take_bytes(b, 1, &one))
                return false;

        *ret = one.p[0];
        return true;
}

bool ssh_take_u32(SshBytes *b, uint32_t *ret) {
        SshBytes four;

        if (!ssh_take_bytes(b, sizeof(*ret), &four))
                return false;

        memcpy(ret, four.p, sizeof(*ret));
        *ret = be32toh(*ret);
        return true;
}

bool ssh_take_string(SshBytes *b, SshBytes *ret) {
        SshBytes rest = *b;
        uint32_t n;

        if (!ssh_take_u32(&rest, &n) || !ssh_take_bytes(&rest, n, ret))
                return false;

        *b = rest;
        return true;
}

void ssh_identities_begin(SshIdentities *i, SshBytes message) {
        uint8_t type;

        *i = (SshIdentities) { .rest = message };
        i->ok = ssh_take_byte(&i->rest, &type) && type == SSH_AGENT_IDENTITIES_ANSWER &&
                ssh_take_u32(&i->rest, &i->left);
}

bool ssh_identities_next(SshIdentities *i, SshIdentity *ret) {
        const uint8_t *start = i->rest.p;

        if (!i->ok)
                return false;
        if (i->left == 0) {
                i->ok = i->rest.n == 0;
                return false;
        }

        i->ok = ssh_take_string(&i->rest, &ret->key) && ssh_take_string(&i->rest, &ret->comment);
        if (!i->ok)
                return false;

        ret->whole = SSH_BYTES(start, (size_t) (i->rest.p - start));
        i->left--;
        return true;
}
