/* SPDX-License-Identifier: MIT */

/* A snapshot's file. What is accepted comes back the same when printed and read again, is sorted, and has not changed against itself. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "fuzz.h"
#include "shared/host-trusted.h"
#include "shared/trust-changes.h"

static void check_same(const TrustSnapshot *a, const TrustSnapshot *b) {
        PROPERTY(a->n == b->n && a->path_bytes == b->path_bytes);
        for (size_t i = 0; i < a->n; i++) {
                const TrustItem *x = &a->items[i], *y = &b->items[i];

                PROPERTY(x->root == y->root && x->thing == y->thing && x->type == y->type && x->executable == y->executable);
                PROPERTY(x->size == y->size && x->inode == y->inode && x->ctime_nsec == y->ctime_nsec);
                PROPERTY(x->hashed == y->hashed && memcmp(x->digest, y->digest, SHA256_SIZE) == 0);
                PROPERTY(streq(x->path, y->path));
        }
}

static void check_items(const TrustSnapshot *s) {
        for (size_t i = 0; i < s->n; i++) {
                const TrustItem *x = &s->items[i];

                PROPERTY(x->thing < n_trusted_things + _TRUST_EXTRA_MAX && !str_is_empty(trust_item_why(x)));
                PROPERTY(trust_snapshot_find(s, x->root, x->path, x->type == TRUST_ITEM_CUT) == x);
                PROPERTY(i == 0 || trust_item_compare(x - 1, x) < 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const TrustScope scope = { .profile = (char *) "/p", .work_root = (char *) "/w", .directory = (char *) "/w" };
        _cleanup_trust_snapshot_ TrustSnapshot s = { 0 }, again = { 0 };
        _cleanup_trust_changes_ TrustChanges changes = { 0 };
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = trust_snapshot_parse((const char *) data, size, &s);
        if (r < 0) {
                PROPERTY(r == -EBADMSG && s.n == 0);
                return 0;
        }

        check_items(&s);
        PROPERTY(trust_snapshot_format(&s, &text, &n) == 0);
        PROPERTY(trust_snapshot_parse(text, n, &again) == 0);
        check_same(&s, &again);

        PROPERTY(trust_changes_find(&scope, &s, &again, &changes) == 0);
        for (size_t i = 0; i < changes.n; i++) {
                PROPERTY(changes.items[i].verb == TRUST_UNSEEN);
                PROPERTY(strlen(changes.items[i].name) <= TRUST_NAME_MAX + strlen("…") && !strpbrk(changes.items[i].name, "\n\033"));
        }
        return 0;
}
