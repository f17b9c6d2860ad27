/* SPDX-License-Identifier: MIT */

/* Repeated names: claude takes the last one. Here all of them count, and those that come to the same item are folded into one
 * (trust_snapshot_sort()), so that none can hide behind another. */

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "shared/json-text.h"
#include "shared/trust-config.h"

#define NAME_MAX_SHOWN 200

typedef struct Facts {
        const JsonText *json;
        const char *file;
        const TrustScope *scope;
        TrustSnapshot *snapshot;
        size_t n;
} Facts;

static void digest_value(const JsonText *t, const JsonNode *node, Sha256 *h) {
        if (node->type != JSON_OBJECT && node->type != JSON_ARRAY) {
                sha256_add(h, t->text + node->start, node->end - node->start);
                return;
        }

        /* White space between the values does not count. */
        sha256_add(h, node->type == JSON_OBJECT ? "{" : "[", 1);
        for (const JsonNode *c = node->children; c; c = c->next) {
                if (c->key)
                        sha256_add(h, t->text + c->key->start, c->key->end - c->key->start);
                digest_value(t, c, h);
                sha256_add(h, ",", 1);
        }
        sha256_add(h, "}", 1);
}

/* `project` and `name` may be NULL. */
static int add_fact(Facts *f, TrustExtra extra, const char *project, const char *what, const char *name, const JsonNode *value) {
        TrustItem item = { .root = TRUST_ROOT_PROFILE, .thing = trust_extra(extra), .type = TRUST_ITEM_FACT };
        Sha256 sum;
        int r;

        if (f->n >= TRUST_DIRECTORY_MAX)
                return 0;
        if (++f->n == TRUST_DIRECTORY_MAX)
                return trust_snapshot_add(f->snapshot, &(TrustItem) { .root = TRUST_ROOT_PROFILE, .type = TRUST_ITEM_CUT,
                                .thing = trust_extra(TRUST_EXTRA_LIMIT), .path = strdup(f->file) });

        if (value) {
                sha256_begin(&sum);
                digest_value(f->json, value, &sum);
                sha256_finish(&sum, item.digest);
                item.hashed = true;
        }
        r = asprintf_to(&item.path, "%s: %s%s%s%s%s", f->file, project ?: "", project ? ": " : "", what, name ? " " : "", name ?: "");
        return r < 0 ? r : trust_snapshot_add(f->snapshot, &item);
}

/* A string for people. What is cut off is told apart by its sum. */
static int name_of(const JsonText *t, const JsonNode *node, char **ret) {
        _cleanup_free_ char *value = NULL, *shown = NULL;
        char digits[2 * SHA256_SIZE + 1];
        uint8_t digest[SHA256_SIZE];
        Sha256 sum;
        size_t n;
        int r;

        r = json_string(t, node, &value, &n);
        if (r < 0)
                return r;
        shown = str_escape_n(value, n, NAME_MAX_SHOWN);
        if (!shown)
                return -ENOMEM;
        if (n <= NAME_MAX_SHOWN / 4) {
                *ret = TAKE_PTR(shown);
                return 0;
        }

        sha256_begin(&sum);
        sha256_add(&sum, value, n);
        sha256_finish(&sum, digest);
        hex_encode(digest, SHA256_SIZE, digits);
        return strlen(shown) < NAME_MAX_SHOWN ? strdup_to(ret, shown) : asprintf_to(ret, "%s %.16s", shown, digits);
}

/* One fact for each member of an object. */
static int add_members(Facts *f, TrustExtra extra, const char *project, const char *what, const JsonNode *object) {
        if (object->type != JSON_OBJECT)
                return 0;

        for (const JsonNode *c = object->children; c; c = c->next) {
                _cleanup_free_ char *name = NULL;
                int r;

                r = name_of(f->json, c->key, &name);
                if (r >= 0)
                        r = add_fact(f, extra, project, what, name, c);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* One for each string in an array. */
static int add_strings(Facts *f, TrustExtra extra, const char *project, const char *what, const JsonNode *array) {
        if (array->type != JSON_ARRAY)
                return 0;

        for (const JsonNode *c = array->children; c; c = c->next) {
                _cleanup_free_ char *name = NULL;
                int r;

                if (c->type != JSON_STRING)
                        continue;
                r = name_of(f->json, c, &name);
                if (r >= 0)
                        r = add_fact(f, extra, project, what, name, NULL);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* As JavaScript sees it, more or less; who is not sure says yes. */
static bool is_true(const JsonText *t, const JsonNode *node) {
        static const char *const no[] = { "false", "null", "0", "\"\"" };
        const size_t n = node->end - node->start;

        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (n == strlen(no[i]) && memcmp(t->text + node->start, no[i], n) == 0)
                        return false;

        return true;
}

typedef enum FactKind {
        FACT_MEMBERS,
        FACT_STRINGS,
        FACT_FLAG,
        FACT_VALUE,
} FactKind;

typedef enum FactPlace {
        FACT_TOP = 1 << 0,     /* of the whole configuration */
        FACT_PROJECT = 1 << 1, /* of each project in it */
        FACT_OTHERS = 1 << 2,  /* of each but the launch's own */
} FactPlace;

static const struct {
        const char *key;
        FactKind kind;
        unsigned places;
        TrustExtra extra;
        const char *what;
} fact_rows[] = {
        { "mcpServers", FACT_MEMBERS, FACT_TOP | FACT_PROJECT, TRUST_EXTRA_SERVER, "MCP server" },
        { "enabledMcpjsonServers", FACT_STRINGS, FACT_TOP | FACT_PROJECT, TRUST_EXTRA_APPROVED, "approved: .mcp.json server" },
        { "enableAllProjectMcpServers", FACT_FLAG, FACT_TOP | FACT_PROJECT, TRUST_EXTRA_APPROVED, "approved: all .mcp.json servers" },
        { "hasTrustDialogAccepted", FACT_FLAG, FACT_OTHERS, TRUST_EXTRA_TRUSTED, "trusted" },
        { "hasClaudeMdExternalIncludesApproved", FACT_FLAG, FACT_OTHERS, TRUST_EXTRA_TRUSTED, "includes of CLAUDE.md approved" },
        { "allowedTools", FACT_STRINGS, FACT_PROJECT, TRUST_EXTRA_APPROVED, "allowed tool" },
        { "env", FACT_MEMBERS, FACT_TOP, TRUST_EXTRA_OBEYED, "variable" },
        { "apiKeyHelper", FACT_VALUE, FACT_TOP, TRUST_EXTRA_OBEYED, "apiKeyHelper" },
        /* Whoever has the profile's login can then talk to claude on the host. */
        { "remoteControlAtStartup", FACT_FLAG, FACT_TOP, TRUST_EXTRA_OBEYED, "remote control at startup" },
        { "replBridgeEnabled", FACT_FLAG, FACT_TOP, TRUST_EXTRA_OBEYED, "remote control at startup (replBridgeEnabled)" },
        { "autoAddRemoteControlDaemonWorker", FACT_FLAG, FACT_TOP, TRUST_EXTRA_OBEYED, "remote control in the background" },
};

static int add_row(Facts *f, size_t row, const char *project, const JsonNode *value) {
        const TrustExtra extra = fact_rows[row].extra;
        const char *what = fact_rows[row].what;

        switch (fact_rows[row].kind) {
        case FACT_MEMBERS:
                return add_members(f, extra, project, what, value);
        case FACT_STRINGS:
                return add_strings(f, extra, project, what, value);
        case FACT_FLAG:
                return is_true(f->json, value) ? add_fact(f, extra, project, what, NULL, NULL) : 0;
        default:
                return is_true(f->json, value) ? add_fact(f, extra, project, what, NULL, value) : 0;
        }
}

static int add_rows(Facts *f, unsigned places, const char *project, const JsonNode *object) {
        if (object->type != JSON_OBJECT)
                return 0;

        for (const JsonNode *c = object->children; c; c = c->next)
                for (size_t i = 0; i < ELEMENTSOF(fact_rows); i++) {
                        int r;

                        if (!(fact_rows[i].places & places) || !json_string_is(f->json, c->key, fact_rows[i].key))
                                continue;
                        r = add_row(f, i, project, c);
                        if (r < 0)
                                return r;
                }

        return 0;
}

static int add_projects(Facts *f, const JsonNode *projects) {
        if (projects->type != JSON_OBJECT)
                return 0;

        for (const JsonNode *c = projects->children; c; c = c->next) {
                const bool own = json_string_is(f->json, c->key, f->scope->work_root) ||
                        json_string_is(f->json, c->key, f->scope->directory);
                _cleanup_free_ char *name = NULL;
                int r;

                r = name_of(f->json, c->key, &name);
                if (r >= 0)
                        r = add_rows(f, FACT_PROJECT | (own ? 0 : FACT_OTHERS), name, c);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_whole(Facts *f, const char *text, size_t n) {
        TrustItem item = { .root = TRUST_ROOT_PROFILE, .thing = trust_extra(TRUST_EXTRA_CONFIG), .type = TRUST_ITEM_FACT,
                .hashed = true, .path = strdup(f->file) };
        Sha256 sum;

        sha256_begin(&sum);
        sha256_add(&sum, text, n);
        sha256_finish(&sum, item.digest);
        return trust_snapshot_add(f->snapshot, &item);
}

int trust_config_facts(const char *text, size_t n, const char *file, const TrustScope *scope, TrustSnapshot *s) {
        _cleanup_json_text_ JsonText json = { 0 };
        _cleanup_free_ char *error = NULL;
        Facts f = { .json = &json, .file = file, .scope = scope, .snapshot = s };
        int r;

        r = json_text_parse(text, n, &json, &error);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || json.root->type != JSON_OBJECT)
                return add_whole(&f, text, n);

        r = add_rows(&f, FACT_TOP, NULL, json.root);
        for (const JsonNode *c = json.root->children; c && r >= 0; c = c->next)
                if (json_string_is(&json, c->key, "projects"))
                        r = add_projects(&f, c);

        return r;
}
