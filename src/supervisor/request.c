/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "shared/json-object.h"
#include "supervisor/request.h"

static const char *const request_names[] = {
        [REQUEST_HOLD] = "hold",
        [REQUEST_GUARD] = "guard",
        [REQUEST_DONE] = "done",
        [REQUEST_START_GPG_AGENT] = "start-gpg-agent",
        [REQUEST_OPEN] = "open",
        [REQUEST_PASTE] = "paste",
};
static_assert(ELEMENTSOF(request_names) == _REQUEST_KIND_MAX, "a name for each request");

static int parse_hold(struct json_object *o, Request *r) {
        const char *id = json_get_string(o, "id"), *directory = json_get_string(o, "directory");

        if (!id || !hex_is_valid(id, LAUNCH_ID_LENGTH) || !directory || directory[0] != '/')
                return -EBADMSG;

        (void) stpcpy(r->id, id);
        r->directory = strdup(directory);
        return r->directory ? 0 : -ENOMEM;
}

static int parse_question(struct json_object *o, const char *key, Request *r) {
        const char *id = json_get_string(o, "id"), *text = json_get_string(o, key);

        if (!id || !hex_is_valid(id, LAUNCH_ID_LENGTH) || !text)
                return -EBADMSG;

        (void) stpcpy(r->id, id);
        return strdup_to(&r->text, text);
}

static int parse_done(struct json_object *o, Request *r) {
        struct json_object *status;

        if (!json_object_object_get_ex(o, "status", &status) || !json_object_is_type(status, json_type_int))
                return -EBADMSG;

        r->status = json_object_get_int(status);
        return r->status >= 0 && r->status <= 255 ? 0 : -EBADMSG;
}

static int parse_object(struct json_object *o, Request *r) {
        const char *name = json_get_string(o, "request");

        for (RequestKind k = 0; name && k < _REQUEST_KIND_MAX; k++) {
                if (!streq(name, request_names[k]))
                        continue;

                r->kind = k;
                switch (k) {
                case REQUEST_HOLD:
                        return parse_hold(o, r);
                case REQUEST_DONE:
                        return parse_done(o, r);
                case REQUEST_OPEN:
                        return parse_question(o, "url", r);
                case REQUEST_PASTE:
                        return parse_question(o, "arguments", r);
                default:
                        return 0;
                }
        }

        return -EBADMSG;
}

int request_parse(const char *line, size_t n, Request *ret) {
        struct json_tokener *tokener;
        struct json_object *o;
        Request request = { 0 };
        int r = -EBADMSG;

        if (n >= REQUEST_MAX)
                return -EBADMSG;
        tokener = json_tokener_new_ex(4);
        if (!tokener)
                return -ENOMEM;
        /* Not JSON_TOKENER_STRICT: json-c 0.18 then takes the bytes of UTF-8 in a string for control characters. */
        json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);

        o = json_tokener_parse_ex(tokener, line, (int) n);
        if (o && json_tokener_get_error(tokener) == json_tokener_success && json_tokener_get_parse_end(tokener) == n)
                r = parse_object(o, &request);
        if (r >= 0)
                *ret = request;
        else
                request_clear(&request);

        (void) json_object_put(o);
        json_tokener_free(tokener);
        return r;
}

void request_clear(Request *r) {
        free(r->directory);
        free(r->text);
        *r = (Request) { 0 };
}
