/* SPDX-License-Identifier: MIT */

/* claude's configuration, as a guest may have written it: names are fit to be shown and bounded, the same text gives the same facts,
 * and what is added at the end is found however the rest looks. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "fuzz.h"
#include "shared/json-text.h"
#include "shared/trust-changes.h"
#include "shared/trust-config.h"

#define FACT_MAX 700
#define PLANTED "\"mcpServers\":{\"planted by the test\":1}}"

static const TrustScope scope = { .profile = (char *) "/p", .work_root = (char *) "/w", .directory = (char *) "/w/s" };

static void facts(const char *text, size_t n, TrustSnapshot *ret) {
        PROPERTY(trust_config_facts(text, n, "c", &scope, ret) == 0);
        trust_snapshot_sort(ret);
}

static void check_shown(const TrustSnapshot *s) {
        for (size_t i = 0; i < s->n; i++) {
                _cleanup_free_ char *shown = str_escape(s->items[i].path);

                PROPERTY(shown && streq(shown, s->items[i].path) && strlen(shown) < FACT_MAX);
                PROPERTY(s->items[i].root == TRUST_ROOT_PROFILE);
                PROPERTY(str_after_prefix(shown, "c: ") || streq(shown, "c"));
        }
}

/* The text with a server more before the last brace; NULL if there is none. */
static char *plant(const char *text, size_t n) {
        _cleanup_json_text_ JsonText json = { 0 };
        _cleanup_free_ char *error = NULL;
        char *planted;

        if (json_text_parse(text, n, &json, &error) < 0 || json.root->type != JSON_OBJECT)
                return NULL;

        PROPERTY(asprintf_to(&planted, "%.*s%s" PLANTED, (int) (json.root->end - 1), text, json.root->children ? "," : "") >= 0);
        return planted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_trust_snapshot_ TrustSnapshot before = { 0 }, again = { 0 }, after = { 0 };
        _cleanup_trust_changes_ TrustChanges none = { 0 }, one = { 0 };
        const char *text = (const char *) data;
        _cleanup_free_ char *planted = NULL;

        facts(text, size, &before);
        check_shown(&before);
        facts(text, size, &again);
        PROPERTY(trust_changes_find(&scope, &before, &again, &none) == 0);
        for (size_t i = 0; i < none.n; i++)
                PROPERTY(none.items[i].verb == TRUST_UNSEEN);

        planted = plant(text, size);
        if (!planted || memmem(text, size, "planted", strlen("planted")))
                return 0;
        facts(planted, strlen(planted), &after);
        PROPERTY(trust_changes_find(&scope, &before, &after, &one) == 0);
        PROPERTY(one.n == 1);
        return 0;
}
