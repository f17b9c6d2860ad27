/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/shared-settings.h"
#include "shared/json-text.h"

#define SETTINGS_MAX (4 * MIB)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define PLACEHOLDER "{profile}"
#define VM_LOOPBACK "169.254.1.2" /* where pasta maps the host's loopback to */

typedef struct Maker {
        const JsonText *json;
        const char *profile;
        SettingsPlace place;
        JsonEdits edits;
        SharedSettings *result;
} Maker;

/* Rules that keep claude off the host's secrets: in a sandbox there are none of these, and "deny" would outrank what the sandbox
 * allows. */
static bool is_host_rule(const JsonText *t, const JsonNode *rule) {
        static const char *const prefixes[] = { "Bash(sudo", "Read(~/.ssh", "Edit(~/.ssh", "Read(~/.aws" };
        _cleanup_free_ char *s = NULL;
        size_t n;

        if (json_string(t, rule, &s, &n) < 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++)
                if (n >= strlen(prefixes[i]) && memcmp(s, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;

        return false;
}

/* The host part of an http URL, its user information and port left out. Returns 0, or -EINVAL for any other text. */
static int find_host(const char *url, size_t *ret_start, size_t *ret_end, uint64_t *ret_port) {
        const bool tls = strncasecmp(url, "https://", 8) == 0;
        size_t start, end, colon;

        if (!tls && strncasecmp(url, "http://", 7) != 0)
                return -EINVAL;
        start = tls ? 8 : 7;
        end = start + strcspn(url + start, "/?#\\");
        for (size_t i = start; i < end; i++)
                if (url[i] == '@')
                        start = i + 1;

        colon = start + strcspn(url + start, ":/?#\\");
        *ret_port = tls ? 443 : 80;
        if (colon < end) {
                char port[8] = "";

                if (end - colon - 1 >= sizeof(port))
                        return -EINVAL;
                (void) memcpy(port, url + colon + 1, end - colon - 1);
                if (port[0] != '\0' && parse_uint(port, 1, UINT16_MAX, ret_port) < 0)
                        return -EINVAL;
                end = colon;
        }

        *ret_start = start;
        *ret_end = end;
        return 0;
}

static bool is_loopback(const char *host, size_t n) {
        return (n == 9 && (memcmp(host, "127.0.0.1", n) == 0 || strncasecmp(host, "localhost", n) == 0));
}

static int add_port(SharedSettings *s, uint64_t port) {
        for (size_t i = 0; i < s->n_hook_ports; i++)
                if (s->hook_ports[i] == port)
                        return 0;
        if (s->n_hook_ports >= HOOK_PORTS_MAX)
                return -E2BIG;

        s->hook_ports[s->n_hook_ports++] = (uint16_t) port;
        return 0;
}

/* {"hooks": {…: […{"type": "http", "url": node}…]}} */
static bool is_hook_url(const JsonText *t, const JsonNode *node) {
        const JsonNode *top = node;

        if (!node->key || !json_string_is(t, node->key, "url") || !json_string_is(t, json_member(t, node->parent, "type"), "http"))
                return false;
        while (top->parent && top->parent->parent)
                top = top->parent;

        return top->parent && top->key && json_string_is(t, top->key, "hooks");
}

/* `*url` is replaced if need be. */
static int reach_loopback(Maker *m, char **url, size_t *n) {
        size_t start, end;
        uint64_t port;
        char *changed;
        int r;

        if (strlen(*url) != *n || find_host(*url, &start, &end, &port) < 0 || !is_loopback(*url + start, end - start))
                return 0;
        r = add_port(m->result, port);
        if (r < 0 || m->place != SETTINGS_IN_VM)
                return r;

        r = asprintf_to(&changed, "%.*s" VM_LOOPBACK "%s", (int) start, *url, *url + end);
        if (r < 0)
                return r;
        free(*url);
        *url = changed;
        *n = strlen(changed);
        return 0;
}

/* All occurrences; the value may hold NUL. */
static int fill_in(char **value, size_t *n, const char *profile) {
        const size_t hole = STRLEN(PLACEHOLDER), filling = strlen(profile);
        char *text, *q, *found, *at = *value, *end = *value + *n;

        if (!memmem(at, *n, PLACEHOLDER, hole))
                return 0;
        text = q = malloc(*n / hole * filling + *n + 1);
        if (!text)
                return -ENOMEM;

        while ((found = memmem(at, (size_t) (end - at), PLACEHOLDER, hole))) {
                q = mempcpy(q, at, (size_t) (found - at));
                q = mempcpy(q, profile, filling);
                at = found + hole;
        }
        q = mempcpy(q, at, (size_t) (end - at));
        *q = '\0';

        free(*value);
        *value = text;
        *n = (size_t) (q - text);
        return 0;
}

static int make_string(Maker *m, const JsonNode *node) {
        _cleanup_free_ char *before = NULL, *value = NULL;
        size_t n, n_before;
        int r;

        r = json_string(m->json, node, &before, &n_before);
        if (r < 0)
                return r;
        value = memdup_nul(before, n_before);
        if (!value)
                return -ENOMEM;
        n = n_before;

        r = fill_in(&value, &n, m->profile);
        if (r >= 0 && m->place != SETTINGS_ON_HOST && is_hook_url(m->json, node))
                r = reach_loopback(m, &value, &n);
        if (r < 0 || (n == n_before && memcmp(value, before, n) == 0))
                return r;

        return json_edit_replace(&m->edits, node, json_quote(value, n));
}

static int make_value(Maker *m, const JsonNode *node, const JsonNode *dropped_from) {
        if (node->type == JSON_STRING)
                return make_string(m, node);

        for (const JsonNode *c = node->children; c; c = c->next) {
                int r;

                if (node == dropped_from && is_host_rule(m->json, c))
                        continue; /* goes as a whole */
                r = make_value(m, c, dropped_from);
                if (r < 0)
                        return r;
        }

        return 0;
}

int shared_settings_make(const char *text, size_t n, const char *profile, SettingsPlace place, SharedSettings *ret, char **ret_error) {
        _cleanup_json_text_ JsonText json = { 0 };
        const JsonNode *deny = NULL;
        Maker m = { .json = &json, .profile = profile, .place = place, .result = ret };
        int r;

        r = json_text_parse(text, n, &json, ret_error);
        if (r < 0)
                return r;
        if (json.root->type != JSON_OBJECT)
                return asprintf_to(ret_error, "line 1, column 1: it is no object") < 0 ? -ENOMEM : -EBADMSG;

        if (place != SETTINGS_ON_HOST)
                deny = json_member(&json, json_member(&json, json.root, "permissions"), "deny");
        r = make_value(&m, json.root, deny);
        if (r >= 0)
                r = json_edit_filter(&m.edits, &json, deny, is_host_rule);
        if (r >= 0)
                r = json_edits_apply(&m.edits, &json, &ret->text, &ret->n);
        json_edits_clear(&m.edits);
        if (r == -E2BIG)
                return asprintf_to(ret_error, "HTTP hooks on more than %d ports of this machine", HOOK_PORTS_MAX) < 0 ? -ENOMEM : -EBADMSG;

        return r;
}

int settings_without_host_rules(const char *text, size_t n, char **ret, size_t *ret_n, char **ret_error) {
        _cleanup_json_text_ JsonText json = { 0 };
        _cleanup_json_edits_ JsonEdits edits = { 0 };
        const JsonNode *deny;
        int r;

        if (n >= STRLEN(BYTE_ORDER_MARK) && memcmp(text, BYTE_ORDER_MARK, STRLEN(BYTE_ORDER_MARK)) == 0) {
                text += STRLEN(BYTE_ORDER_MARK);
                n -= STRLEN(BYTE_ORDER_MARK);
        }

        r = json_text_parse(text, n, &json, ret_error);
        if (r < 0)
                return r;
        deny = json_member(&json, json_member(&json, json.root, "permissions"), "deny");
        r = json_edit_filter(&edits, &json, deny, is_host_rule);
        return r < 0 ? r : json_edits_apply(&edits, &json, ret, ret_n);
}

int shared_settings_load(const Settings *settings, const char *profile, SettingsPlace place, SharedSettings *ret) {
        _cleanup_free_ char *path = NULL, *text = NULL, *why = NULL;
        _cleanup_close_ int fd = -EBADF;
        SharedSettings s = { 0 };
        size_t n;
        int r;

        path = path_join(settings->profiles_base, SHARED_SETTINGS);
        if (!path)
                return log_oom();

        /* The user's own file: links (dotfiles) are followed. */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && errno == ENOENT && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (fd < 0)
                return log_error(-errno, "Cannot open %s", path);
        r = io_read_all(fd, SETTINGS_MAX, &text, &n);
        if (r < 0)
                return log_error(r, "Cannot read %s", path);

        r = shared_settings_make(text, n, profile, place, &s, &why);
        explicit_bzero(text, n);
        if (r < 0) {
                shared_settings_clear(&s);
                return why ? log_error(r, "%s: %s. Without these settings nothing is started.", path, why) : log_oom();
        }

        *ret = s;
        return 0;
}

void shared_settings_clear(SharedSettings *s) {
        if (s->text)
                explicit_bzero(s->text, s->n);
        free(s->text);
        *s = (SharedSettings) { 0 };
}

bool shared_settings_are_overridden(char *const *args) {
        STRV_FOREACH(a, args) {
                if (streq(*a, "--"))
                        return false;
                if (streq(*a, "--settings") || str_after_prefix(*a, "--settings="))
                        return true;
        }

        return false;
}
