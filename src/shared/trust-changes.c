/* SPDX-License-Identifier: MIT */

#include <limits.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "shared/journal.h"
#include "shared/trust-changes.h"

static const char *const verb_names[] = {
        [TRUST_NEW] = "new",
        [TRUST_CHANGED] = "changed",
        [TRUST_REMOVED] = "removed",
        [TRUST_UNSEEN] = "unseen",
};
static_assert(ELEMENTSOF(verb_names) == _TRUST_VERB_MAX, "a name for each verb");

const char *trust_verb_to_string(TrustVerb verb) {
        return verb_names[verb];
}

void trust_changes_clear(TrustChanges *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->items[i].name);
        free(c->items);
        *c = (TrustChanges) { 0 };
}

/* As people know it: below the work root by that path, below the profile marked so, else absolute. */
static char *name_of(const TrustScope *scope, const TrustItem *item) {
        const char *root = trust_scope_root(scope, item->root) ?: "?";
        const char *path = *item->path ? item->path : ".";
        _cleanup_free_ char *name = NULL;
        int r;

        if (item->root == TRUST_ROOT_PROFILE)
                r = asprintf_to(&name, "profile: %s", path);
        else if (item->root == TRUST_ROOT_WORK)
                r = asprintf_to(&name, "%s", path);
        else
                r = asprintf_to(&name, "%s/%s", root, path);

        return r < 0 ? NULL : str_escape_n(name, strlen(name), TRUST_NAME_MAX);
}

static bool is_content_same(const TrustItem *a, const TrustItem *b) {
        if (a->type != b->type || a->executable != b->executable)
                return false;
        if (a->type == TRUST_ITEM_REPOSITORY || a->type == TRUST_ITEM_OTHER || a->type == TRUST_ITEM_CLOSED)
                return true;
        if (a->hashed && b->hashed)
                return a->size == b->size && memcmp(a->digest, b->digest, SHA256_SIZE) == 0;
        if (a->type != TRUST_ITEM_FILE)
                return a->hashed == b->hashed;

        return a->size == b->size && a->inode == b->inode && a->ctime_nsec == b->ctime_nsec;
}

/* Whether something above the item explains that it is not there any more: a repository that went as a whole, a directory that could
 * not be looked at in full. */
static bool is_explained(const TrustItem *item, const TrustSnapshot *before, const TrustSnapshot *after) {
        char above[PATH_MAX];
        char *slash;

        if (trust_snapshot_find(after, item->root, "", true))
                return true;
        if (strlen(item->path) >= sizeof(above))
                return false;

        (void) strcpy(above, item->path);
        while ((slash = strrchr(above, '/'))) {
                const TrustItem *then, *now;

                *slash = '\0';
                then = trust_snapshot_find(before, item->root, above, false);
                now = trust_snapshot_find(after, item->root, above, false);
                if (then && then->type == TRUST_ITEM_REPOSITORY && !now)
                        return true;
                if ((now && now->type == TRUST_ITEM_CLOSED) || trust_snapshot_find(after, item->root, above, true))
                        return true;
        }

        return false;
}

/* A directory is nothing by itself, and what cannot be seen is not there. */
static bool counts(const TrustItem *item) {
        return item && item->type != TRUST_ITEM_DIRECTORY && item->type != TRUST_ITEM_CUT && item->type != TRUST_ITEM_CLOSED;
}

/* What became of one place; NULL: nothing was, or is, there. Returns whether there is something to say. */
static bool compare(const TrustSnapshot *before, const TrustItem *then, const TrustSnapshot *after, const TrustItem *now, TrustVerb *ret) {
        if (now && now->type == TRUST_ITEM_CUT) {
                *ret = TRUST_UNSEEN;
                return true;
        }
        if (now && now->type == TRUST_ITEM_CLOSED) {
                *ret = TRUST_UNSEEN;
                return !then || then->type != TRUST_ITEM_CLOSED;
        }
        if (counts(then) && counts(now)) {
                *ret = TRUST_CHANGED;
                return !is_content_same(then, now);
        }
        if (counts(now)) {
                *ret = TRUST_NEW;
                return true;
        }

        /* claude forgets by itself, too. */
        *ret = TRUST_REMOVED;
        return counts(then) && then->type != TRUST_ITEM_FACT && !is_explained(then, before, after);
}

static int add_change(TrustChanges *c, const TrustScope *scope, const TrustItem *item, TrustVerb verb) {
        TrustChange change = { .verb = verb, .thing = item->thing, .why = trust_item_why(item), .name = name_of(scope, item) };

        if (!change.name || grow(&c->items, &c->allocated, c->n + 1, sizeof(TrustChange)) < 0) {
                free(change.name);
                return -ENOMEM;
        }

        c->items[c->n++] = change;
        return 0;
}

static int compare_changes(const void *a, const void *b) {
        const TrustChange *x = a, *y = b;

        if (x->thing != y->thing)
                return x->thing < y->thing ? -1 : 1;
        return strcmp(x->name, y->name);
}

int trust_changes_find(const TrustScope *scope, const TrustSnapshot *before, const TrustSnapshot *after, TrustChanges *ret) {
        _cleanup_trust_changes_ TrustChanges c = { 0 };
        size_t b = 0, a = 0;

        while (b < before->n || a < after->n) {
                const TrustItem *then = b < before->n ? &before->items[b] : NULL, *now = a < after->n ? &after->items[a] : NULL;
                const int order = !then ? 1 : !now ? -1 : trust_item_compare(then, now);
                TrustVerb verb;
                int r;

                then = order <= 0 ? then : NULL;
                now = order >= 0 ? now : NULL;
                b += order <= 0;
                a += order >= 0;
                if (!compare(before, then, after, now, &verb))
                        continue;
                r = add_change(&c, scope, now ?: then, verb);
                if (r < 0)
                        return r;
        }
        if (c.n > 0)
                qsort(c.items, c.n, sizeof(TrustChange), compare_changes);

        *ret = c;
        c = (TrustChanges) { 0 };
        return 0;
}

/* Changes for one reason stand together. */
static bool begins_group(const TrustChanges *c, size_t i) {
        return i == 0 || !streq(c->items[i].why, c->items[i - 1].why);
}

static size_t group_size(const TrustChanges *c, size_t first) {
        size_t n = 1;

        while (first + n < c->n && !begins_group(c, first + n))
                n++;
        return n;
}

static size_t count_with_share(const TrustChanges *c, size_t share) {
        size_t n = 0;

        for (size_t i = 0, size; i < c->n; i += size) {
                size = group_size(c, i);
                n += MIN(size, share);
        }

        return n;
}

/* How many of each group can be told when there is room for `max`: at least one, for a flood of one kind must not hide another. */
static size_t fair_share(const TrustChanges *c, size_t max) {
        size_t low = 1, high = max;

        while (low < high) {
                const size_t middle = (low + high + 1) / 2;

                if (count_with_share(c, middle) <= max)
                        low = middle;
                else
                        high = middle - 1;
        }

        return low;
}

void trust_changes_print(const TrustChanges *c, const char *launch, bool colour, FILE *f) {
        const char *bold = colour ? "\x1b[1m" : "", *yellow = colour ? "\x1b[33m" : "", *reset = colour ? "\x1b[0m" : "";
        const size_t share = fair_share(c, TRUST_LINES_MAX);

        if (c->n == 0)
                return;

        (void) fprintf(f, "%sChanged while the sandbox ran; the host will run or obey it:%s\n", bold, reset);
        for (size_t i = 0, size; i < c->n; i += size) {
                size = group_size(c, i);
                (void) fprintf(f, "  %s\n", c->items[i].why);
                for (size_t k = 0; k < MIN(size, share); k++)
                        (void) fprintf(f, "    %s%-7s%s  %s\n", yellow, verb_names[c->items[i + k].verb], reset, c->items[i + k].name);
                if (size > share)
                        (void) fprintf(f, "    and %zu more\n", size - share);
        }
        if (count_with_share(c, share) < c->n)
                (void) fprintf(f, "  For more see: journalctl --user CLAUDE_LAUNCH=%s\n", launch);
}

static void send_entry(const char *profile, const char *launch, const char *message, const char *changed, const char *how) {
        (void) journal_send(&(JournalEntry) {
                        .priority = LOG_WARNING,
                        .message_id = MESSAGE_HOST_TRUSTED_CHANGED,
                        .message = message,
                        .profile = profile,
                        .launch = launch,
                        .fields = (const JournalField[]) {
                                { .name = "CHANGED", .value = changed, .foreign = true },
                                { .name = "CHANGED_HOW", .value = how },
                        },
                        .n_fields = 2 });
}

void trust_changes_to_journal(const TrustChanges *c, const char *profile, const char *launch) {
        const size_t share = fair_share(c, TRUST_ENTRIES_MAX);
        char message[TRUST_NAME_MAX + 256];

        for (size_t i = 0, size; i < c->n; i += size) {
                size = group_size(c, i);
                for (size_t k = 0; k < MIN(size, share); k++) {
                        const TrustChange *change = &c->items[i + k];

                        (void) snprintf(message, sizeof(message), "%s: %s (%s)", verb_names[change->verb], change->name, change->why);
                        send_entry(profile, launch, message, change->name, verb_names[change->verb]);
                }
                if (size > share) {
                        (void) snprintf(message, sizeof(message), "and %zu more (%s)", size - share, c->items[i].why);
                        send_entry(profile, launch, message, NULL, NULL);
                }
        }
}
