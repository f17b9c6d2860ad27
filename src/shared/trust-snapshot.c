/* SPDX-License-Identifier: MIT */

/* A snapshot as a value, and as bytes: a line for a head, then for each item "<root> <thing> <type> <executable> <size> <inode>
 * <ctime> <digest or -> <path>" and a zero byte, since a path can hold any other. */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "shared/host-trusted.h"
#include "shared/launch-dir.h"
#include "shared/trust-snapshot.h"

#define HEAD "claude-profile trust snapshot 1\n"
#define SNAPSHOT_FILE_MAX (TRUST_PATHS_MAX + TRUST_ITEMS_MAX * 256)
#define ROOTS_MAX 65536

static const char type_letters[] = { 'f', 'l', 'o', 'r', 'd', 'c', 'j', 'x' };
static_assert(ELEMENTSOF(type_letters) == _TRUST_ITEM_TYPE_MAX, "a letter for each type");

static const char *const extra_whys[] = {
        [TRUST_EXTRA_REPORT_PATH] = "named by ReportPaths=",
        [TRUST_EXTRA_NAMED] = "git: its configuration names it (hooks, includes, attributes, programs)",
        [TRUST_EXTRA_BARE] = "git, and prompts that ask it: programs of its config",
        [TRUST_EXTRA_CLOSED] = "cannot be read, so what is in it was not looked at",
        [TRUST_EXTRA_CONFIG] = "claude: its configuration",
        [TRUST_EXTRA_SERVER] = "claude: a program that it starts",
        [TRUST_EXTRA_APPROVED] = "claude: starts without asking",
        [TRUST_EXTRA_TRUSTED] = "claude: obeys what lies there without asking",
        [TRUST_EXTRA_OBEYED] = "claude: obeys it",
        [TRUST_EXTRA_LINK] = "claude: reads and writes wherever it leads",
        [TRUST_EXTRA_LIMIT] = "too much to look at, so a part was left out",
};
static_assert(ELEMENTSOF(extra_whys) == _TRUST_EXTRA_MAX, "a reason for each");

unsigned trust_extra(TrustExtra extra) {
        return (unsigned) n_trusted_things + extra;
}

const char *trust_item_why(const TrustItem *item) {
        return item->thing < n_trusted_things ? trusted_things[item->thing].why : extra_whys[item->thing - n_trusted_things];
}

void trust_snapshot_clear(TrustSnapshot *s) {
        for (size_t i = 0; i < s->n; i++)
                free(s->items[i].path);
        free(s->items);
        *s = (TrustSnapshot) { 0 };
}

static int append(TrustSnapshot *s, const TrustItem *item) {
        if (!item->path || grow(&s->items, &s->allocated, s->n + 1, sizeof(TrustItem)) < 0) {
                free(item->path);
                return -ENOMEM;
        }

        s->items[s->n++] = *item;
        s->path_bytes += strlen(item->path) + 1;
        return 0;
}

int trust_snapshot_add(TrustSnapshot *s, const TrustItem *item) {
        const bool full = s->n >= TRUST_ITEMS_MAX || s->path_bytes >= TRUST_PATHS_MAX;

        if (!full || !item->path)
                return append(s, item);

        free(item->path);
        if (s->items[s->n - 1].thing == trust_extra(TRUST_EXTRA_LIMIT) && s->items[s->n - 1].path[0] == '\0')
                return 0;
        return append(s, &(TrustItem) { .root = TRUST_ROOT_WORK, .thing = trust_extra(TRUST_EXTRA_LIMIT), .type = TRUST_ITEM_CUT,
                        .path = strdup("") });
}

static int compare_place(unsigned root, bool cut, const char *path, const TrustItem *b) {
        const bool b_cut = b->type == TRUST_ITEM_CUT;
        int r;

        if (root != b->root)
                return root < b->root ? -1 : 1;
        r = strcmp(path, b->path);
        return r != 0 ? r : cut - b_cut;
}

int trust_item_compare(const TrustItem *a, const TrustItem *b) {
        return compare_place(a->root, a->type == TRUST_ITEM_CUT, a->path, b);
}

/* Of several at one place the first row counts, which is the more exact one; but a directory says nothing by itself. */
static int compare_items(const void *a, const void *b) {
        const TrustItem *x = a, *y = b;
        const bool x_plain = x->type == TRUST_ITEM_DIRECTORY, y_plain = y->type == TRUST_ITEM_DIRECTORY;
        int r;

        r = trust_item_compare(x, y);
        if (r != 0)
                return r;
        if (x_plain != y_plain)
                return x_plain - y_plain;
        if (x->thing != y->thing)
                return x->thing < y->thing ? -1 : 1;
        return memcmp(x->digest, y->digest, SHA256_SIZE);
}

/* Two facts of one name become one that is like neither: their order is settled, so it is the same each time. */
static void fold(TrustItem *kept, const TrustItem *other) {
        Sha256 sum;

        if (kept->type != TRUST_ITEM_FACT || memcmp(kept->digest, other->digest, SHA256_SIZE) == 0)
                return;

        sha256_begin(&sum);
        sha256_add(&sum, kept->digest, SHA256_SIZE);
        sha256_add(&sum, other->digest, SHA256_SIZE);
        sha256_finish(&sum, kept->digest);
        kept->hashed = true;
}

void trust_snapshot_sort(TrustSnapshot *s) {
        size_t n = 0;

        if (s->n == 0)
                return;

        qsort(s->items, s->n, sizeof(TrustItem), compare_items);
        for (size_t i = 0; i < s->n; i++)
                if (n > 0 && trust_item_compare(&s->items[n - 1], &s->items[i]) == 0) {
                        fold(&s->items[n - 1], &s->items[i]);
                        s->path_bytes -= strlen(s->items[i].path) + 1;
                        free(s->items[i].path);
                } else
                        s->items[n++] = s->items[i];
        s->n = n;
}

const TrustItem *trust_snapshot_find(const TrustSnapshot *s, unsigned root, const char *path, bool cut) {
        size_t first = 0, end = s ? s->n : 0;

        while (first < end) {
                const size_t middle = first + (end - first) / 2;
                int r = compare_place(root, cut, path, &s->items[middle]);

                if (r == 0)
                        return &s->items[middle];
                if (r < 0)
                        end = middle;
                else
                        first = middle + 1;
        }

        return NULL;
}

int trust_snapshot_format(const TrustSnapshot *s, char **ret, size_t *ret_n) {
        char *text = NULL;
        size_t size = 0;
        FILE *f;
        bool ok;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;

        ok = fputs(HEAD, f) >= 0;
        for (size_t i = 0; i < s->n && ok; i++) {
                const TrustItem *item = &s->items[i];
                char digest[2 * SHA256_SIZE + 1] = "-";

                if (item->hashed)
                        hex_encode(item->digest, SHA256_SIZE, digest);
                ok = fprintf(f, "%u %u %c %d %llu %llu %llu %s %s%c", item->root, item->thing, type_letters[item->type],
                                     item->executable, (unsigned long long) item->size, (unsigned long long) item->inode,
                                     (unsigned long long) item->ctime_nsec, digest, item->path, '\0') > 0;
        }
        if (fclose(f) != 0 || !ok) {
                free(text);
                return -ENOMEM;
        }

        *ret = text;
        *ret_n = size;
        return 0;
}

/* Cuts the field before the next blank off. NULL: there is none. */
static char *next_field(char **at) {
        char *field = *at, *blank = strchr(field, ' ');

        if (!blank)
                return NULL;
        *blank = '\0';
        *at = blank + 1;
        return field;
}

static int next_number(char **at, uint64_t max, uint64_t *ret) {
        const char *field = next_field(at);

        return field && parse_uint(field, 0, max, ret) >= 0 ? 0 : -EBADMSG;
}

static int next_type(char **at, TrustItemType *ret) {
        const char *field = next_field(at), *found;

        found = field && strlen(field) == 1 ? memchr(type_letters, field[0], sizeof(type_letters)) : NULL;
        if (!found)
                return -EBADMSG;

        *ret = (TrustItemType) (found - type_letters);
        return 0;
}

static int next_digest(char **at, TrustItem *item) {
        const char *field = next_field(at);

        if (field && streq(field, "-"))
                return 0;
        if (!field || !hex_is_valid(field, 2 * SHA256_SIZE))
                return -EBADMSG;

        for (size_t i = 0; i < SHA256_SIZE; i++) {
                const char digits[] = { field[2 * i], field[2 * i + 1], '\0' };

                item->digest[i] = (uint8_t) strtoul(digits, NULL, 16);
        }
        item->hashed = true;
        return 0;
}

static int parse_item(char *at, TrustItem *ret) {
        uint64_t root, thing, executable;
        TrustItem item = { 0 };

        if (next_number(&at, ROOTS_MAX, &root) < 0 || next_number(&at, n_trusted_things + _TRUST_EXTRA_MAX - 1, &thing) < 0 ||
                        next_type(&at, &item.type) < 0 || next_number(&at, 1, &executable) < 0 ||
                        next_number(&at, UINT64_MAX, &item.size) < 0 || next_number(&at, UINT64_MAX, &item.inode) < 0 ||
                        next_number(&at, UINT64_MAX, &item.ctime_nsec) < 0 || next_digest(&at, &item) < 0)
                return -EBADMSG;

        item.root = (unsigned) root;
        item.thing = (unsigned) thing;
        item.executable = executable;
        item.path = strdup(at);
        *ret = item;
        return 0;
}

int trust_snapshot_parse(const char *data, size_t n, TrustSnapshot *ret) {
        _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };
        _cleanup_free_ char *copy = NULL;
        const char *end;

        if (n < STRLEN(HEAD) || memcmp(data, HEAD, STRLEN(HEAD)) != 0 || (n > STRLEN(HEAD) && data[n - 1] != '\0'))
                return -EBADMSG;
        copy = memdup_nul(data, n);
        if (!copy)
                return -ENOMEM;

        end = copy + n;
        for (char *at = copy + STRLEN(HEAD); at < end;) {
                char *next = at + strlen(at) + 1;
                TrustItem item;
                int r;

                /* One more, which says that there were too many. */
                r = s.n <= TRUST_ITEMS_MAX ? parse_item(at, &item) : -EBADMSG;
                if (r >= 0)
                        r = append(&s, &item);
                if (r < 0)
                        return r;
                at = next;
        }
        trust_snapshot_sort(&s);

        *ret = s;
        s = (TrustSnapshot) { 0 };
        return 0;
}

int trust_snapshot_write(int dir_fd, const TrustSnapshot *s) {
        _cleanup_free_ char *data = NULL;
        size_t n;
        int r;

        r = trust_snapshot_format(s, &data, &n);
        return r < 0 ? r : io_write_new_at(dir_fd, LAUNCH_FILE_TRUST_BEFORE, 0600, data, n);
}

int trust_snapshot_read(int dir_fd, TrustSnapshot *ret) {
        _cleanup_free_ char *data = NULL;
        size_t n;
        int r;

        r = io_read_file_at(dir_fd, LAUNCH_FILE_TRUST_BEFORE, SNAPSHOT_FILE_MAX, &data, &n);
        return r < 0 ? r : trust_snapshot_parse(data, n, ret);
}
