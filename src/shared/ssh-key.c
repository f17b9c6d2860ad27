/* SPDX-License-Identifier: MIT */

#include <endian.h>
#include <fnmatch.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/sha256.h"
#include "shared/ssh-key.h"

#define PREFIX "SHA256:"

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Certificates hold their key's fields behind a nonce (PROTOCOL.certkeys): so many of them. */
static const struct {
        const char *certificate;
        const char *plain;
        unsigned fields;
} certificate_table[] = {
        { "ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", 1 },
        { "ssh-rsa-cert-v01@openssh.com", "ssh-rsa", 2 },
        { "ssh-dss-cert-v01@openssh.com", "ssh-dss", 4 },
        { "ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp256", 2 },
        { "ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384", 2 },
        { "ecdsa-sha2-nistp521-cert-v01@openssh.com", "ecdsa-sha2-nistp521", 2 },
        { "sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", 2 },
        { "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3 },
};

/* The plain key's name and fields, if `key` is a certificate that is sound as far as that. */
static bool certificate_to_plain(SshBytes key, const char **ret_name, SshBytes *ret_fields) {
        SshBytes name, nonce, field;

        if (!ssh_take_string(&key, &name))
                return false;

        for (size_t i = 0; i < ELEMENTSOF(certificate_table); i++) {
                const uint8_t *start;

                if (!ssh_bytes_are(name, certificate_table[i].certificate))
                        continue;
                if (!ssh_take_string(&key, &nonce))
                        return false;

                start = key.p;
                for (unsigned k = 0; k < certificate_table[i].fields; k++)
                        if (!ssh_take_string(&key, &field))
                                return false;

                *ret_name = certificate_table[i].plain;
                *ret_fields = SSH_BYTES(start, (size_t) (key.p - start));
                return true;
        }

        return false;
}

/* Without the padding at the end, as ssh prints it. */
static void base64_encode(const uint8_t sum[SHA256_SIZE], char *q) {
        uint32_t bits = 0;
        unsigned n = 0;

        for (unsigned i = 0; i < SHA256_SIZE; i++) {
                bits = bits << 8 | sum[i];
                for (n += 8; n >= 6; n -= 6)
                        *q++ = base64[bits >> (n - 6) & 63];
        }

        *q++ = base64[bits << (6 - n) & 63];
        *q = '\0';
}

void ssh_key_fingerprint(SshBytes key, char ret[SSH_FINGERPRINT_SIZE]) {
        uint8_t sum[SHA256_SIZE];
        const char *name;
        SshBytes fields;
        Sha256 h;

        sha256_begin(&h);
        if (certificate_to_plain(key, &name, &fields)) {
                uint32_t n = htobe32((uint32_t) strlen(name));

                sha256_add(&h, &n, sizeof(n));
                sha256_add(&h, name, strlen(name));
                sha256_add(&h, fields.p, fields.n);
        } else
                sha256_add(&h, key.p, key.n);
        sha256_finish(&h, sum);

        base64_encode(sum, stpcpy(ret, PREFIX));
}

bool ssh_selector_is_valid(const char *s) {
        const char *digits = str_after_prefix(s, PREFIX);

        if (digits)
                return strlen(s) == SSH_FINGERPRINT_SIZE - 1 && strspn(digits, base64) == strlen(digits);

        /* A fingerprint of another kind would be taken for a comment, and select nothing. */
        return s[0] != '\0' && !str_after_prefix(s, "MD5:") && !str_after_prefix(s, "SHA1:") &&
               !str_after_prefix(s, "SHA512:");
}

bool ssh_key_is_selected(char *const *selectors, const char *fingerprint, const SshBytes *comment) {
        _cleanup_free_ char *text = NULL;

        if (!selectors || strv_contains(selectors, fingerprint))
                return true;
        if (!comment || memchr(comment->p ?: (const uint8_t *) "", '\0', comment->n))
                return false;

        text = memdup_nul(comment->p, comment->n);
        if (!text)
                return false;

        STRV_FOREACH(s, selectors)
                if (!str_after_prefix(*s, PREFIX) && fnmatch(*s, text, 0) == 0)
                        return true;

        return false;
}
