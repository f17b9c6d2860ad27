/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>
#include <sys/un.h>

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/json-object.h"
#include "shared/launch-dir.h"
#include "shared/manifest.h"
#include "shared/profile.h"
#include "shared/ssh-key.h"

#define MANIFEST_DEPTH_MAX 4

#define JSON_OUT (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

typedef struct json_tokener Tokener;
DEFINE_CLEANUP(Tokener *, json_tokener_free);

Manifest *manifest_free(Manifest *m) {
        if (!m)
                return NULL;

        for (size_t i = 0; i < m->n_services; i++)
                free(m->services[i].path);
        free(m->services);
        free(m->profile);
        free(m->id);
        free(m->cgroup);
        strv_free(m->ssh_keys);
        explicit_bzero(m->token, sizeof(m->token));
        free(m);
        return NULL;
}

bool service_has_path(ServiceKind kind) {
        return kind != SERVICE_CLIPBOARD && kind != SERVICE_OPEN;
}

/* Printing */

static int add_service(Json *list, const ManifestService *service) {
        _cleanup_json_ Json *row = json_object_new_object();
        char name[WIRE_SERVICE_MAX];
        int r;

        if (!row)
                return -ENOMEM;

        r = json_add_string(row, "name", service_format(service->id, name));
        if (r >= 0 && service->path)
                r = json_add_string(row, "path", service->path);
        if (r < 0)
                return r;

        return json_append(list, TAKE_PTR(row));
}

int manifest_format(const Manifest *m, char **ret) {
        _cleanup_json_ Json *root = json_object_new_object(), *list = json_object_new_array();
        const char *text;
        int r = 0;

        if (!root || !list)
                return -ENOMEM;

        for (size_t i = 0; i < m->n_services && r >= 0; i++)
                r = add_service(list, &m->services[i]);
        if (r >= 0)
                r = json_add_string(root, "profile", m->profile);
        if (r >= 0)
                r = json_add_string(root, "id", m->id);
        if (r >= 0)
                r = json_add_string(root, "cgroup", m->cgroup);
        if (r >= 0)
                r = json_add_string(root, "token", m->token);
        if (r >= 0)
                r = json_add(root, "services", TAKE_PTR(list));
        if (r >= 0 && m->ssh_keys)
                r = json_add_strings(root, "ssh-keys", m->ssh_keys);
        if (r < 0)
                return r;

        text = json_object_to_json_string_ext(root, JSON_OUT);
        if (!text)
                return -ENOMEM;

        return strdup_to(ret, text);
}

/* Parsing */

static int _printf_(2, 3) refuse(char **ret_error, const char *format, ...) {
        va_list ap;
        int r;

        *ret_error = NULL;
        va_start(ap, format);
        r = vasprintf_to(ret_error, format, ap);
        va_end(ap);
        return r < 0 ? r : -EBADMSG;
}

static int take_string(Json *value, const char *key, char **field, char **ret_error) {
        const char *s = json_value_string(value);

        if (!s)
                return refuse(ret_error, "\"%s\" is no string.", key);

        return strdup_to(field, s);
}

static int parse_service(Manifest *m, Json *row, char **ret_error) {
        const char *name = NULL, *path = NULL;
        ManifestService *service;
        bool has_path = false;
        ServiceId id;

        if (!json_object_is_type(row, json_type_object))
                return refuse(ret_error, "A service is no object.");

        json_object_object_foreach(row, key, value) {
                if (streq(key, "name"))
                        name = json_value_string(value);
                else if (streq(key, "path")) {
                        path = json_value_string(value);
                        has_path = true;
                } else
                        return refuse(ret_error, "A service has an unknown key.");
        }

        if (!name || service_parse(name, strlen(name), &id) < 0)
                return refuse(ret_error, "A service has no valid name.");
        if (has_path != service_has_path(id.kind))
                return refuse(ret_error, "Service \"%s\" must%s have a path.", name, has_path ? " not" : "");
        if (has_path && (!path || !path_is_normalized(path)))
                return refuse(ret_error, "The path of service \"%s\" is not absolute.", name);
        if (path && strlen(path) >= sizeof(((struct sockaddr_un *) NULL)->sun_path))
                return refuse(ret_error, "The path of service \"%s\" is too long for a socket.", name);
        for (size_t i = 0; i < m->n_services; i++)
                if (m->services[i].id.kind == id.kind && m->services[i].id.index == id.index)
                        return refuse(ret_error, "Service \"%s\" is there twice.", name);

        service = &m->services[m->n_services];
        *service = (ManifestService) { .id = id };
        if (strdup_to(&service->path, path) < 0)
                return -ENOMEM;

        m->n_services++;
        return 0;
}

static int parse_services(Manifest *m, Json *list, char **ret_error) {
        size_t n;
        int r;

        if (!json_object_is_type(list, json_type_array) || m->services)
                return refuse(ret_error, "\"services\" is no list.");

        n = json_object_array_length(list);
        if (n > WIRE_SERVICES_MAX)
                return refuse(ret_error, "There are too many services.");

        m->services = new0(ManifestService, MAX(n, (size_t) 1));
        if (!m->services)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                r = parse_service(m, json_object_array_get_idx(list, i), ret_error);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* An empty list would be read as "none" by one and as "all" by another. */
static int parse_ssh_keys(Manifest *m, Json *list, char **ret_error) {
        size_t n;
        int r = 0;

        if (!json_object_is_type(list, json_type_array) || m->ssh_keys)
                return refuse(ret_error, "\"ssh-keys\" is no list.");

        n = json_object_array_length(list);
        if (n == 0)
                return refuse(ret_error, "\"ssh-keys\" is empty.");

        for (size_t i = 0; i < n && r >= 0; i++) {
                const char *s = json_value_string(json_object_array_get_idx(list, i));

                if (!s || !ssh_selector_is_valid(s))
                        return refuse(ret_error, "One of \"ssh-keys\" selects no key.");
                r = strv_add(&m->ssh_keys, s);
        }

        return r;
}

static int parse_token(Manifest *m, Json *value, char **ret_error) {
        const char *s = json_value_string(value);

        if (!s || !hex_is_valid(s, WIRE_TOKEN_LENGTH))
                return refuse(ret_error, "The token is malformed.");

        memcpy(m->token, s, WIRE_TOKEN_LENGTH + 1);
        return 0;
}

static int parse_root(Manifest *m, Json *root, char **ret_error) {
        if (!json_object_is_type(root, json_type_object))
                return refuse(ret_error, "It is no object.");

        json_object_object_foreach(root, key, value) {
                int r;

                if (streq(key, "profile"))
                        r = take_string(value, key, &m->profile, ret_error);
                else if (streq(key, "id"))
                        r = take_string(value, key, &m->id, ret_error);
                else if (streq(key, "cgroup"))
                        r = take_string(value, key, &m->cgroup, ret_error);
                else if (streq(key, "token"))
                        r = parse_token(m, value, ret_error);
                else if (streq(key, "services"))
                        r = parse_services(m, value, ret_error);
                else if (streq(key, "ssh-keys"))
                        r = parse_ssh_keys(m, value, ret_error);
                else
                        r = refuse(ret_error, "It has an unknown key.");
                if (r < 0)
                        return r;
        }

        return 0;
}

static int check(const Manifest *m, char **ret_error) {
        _cleanup_free_ char *scope = NULL;
        int r;

        if (!m->profile || !profile_name_is_valid(m->profile))
                return refuse(ret_error, "The profile's name is missing or not valid.");
        if (!m->id || !hex_is_valid(m->id, LAUNCH_ID_LENGTH))
                return refuse(ret_error, "The launch's id is missing or malformed.");
        if (m->token[0] == '\0')
                return refuse(ret_error, "The token is missing.");
        if (!m->services)
                return refuse(ret_error, "The services are missing.");

        /* Whoever is in this control group may come in, so it had better be that of the launch. */
        r = asprintf_to(&scope, "claude-sandbox-%s-%s.scope", m->profile, m->id);
        if (r < 0)
                return r;
        if (!m->cgroup || !path_is_normalized(m->cgroup) || !streq(path_last(m->cgroup), scope))
                return refuse(ret_error, "The control group is missing or not that of the launch.");

        return 0;
}

int manifest_parse(const char *text, size_t n, Manifest **ret, char **ret_error) {
        _cleanup_(json_tokener_freep) Tokener *tokener = NULL;
        _cleanup_manifest_ Manifest *m = NULL;
        _cleanup_json_ Json *root = NULL;
        int r;

        if (n > MANIFEST_SIZE_MAX)
                return refuse(ret_error, "It is too long.");

        m = new0(Manifest, 1);
        tokener = json_tokener_new_ex(MANIFEST_DEPTH_MAX);
        if (!m || !tokener)
                return -ENOMEM;

        /* Not JSON_TOKENER_STRICT: json-c 0.18 then takes the bytes of UTF-8 in a string for control characters. */
        json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
        root = json_tokener_parse_ex(tokener, text, (int) n);
        if (!root || json_tokener_get_parse_end(tokener) != n)
                return refuse(ret_error, "It is no JSON.");

        r = parse_root(m, root, ret_error);
        if (r >= 0)
                r = check(m, ret_error);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(m);
        return 0;
}
