/* SPDX-License-Identifier: MIT */

/* launch.json. What is accepted is well-formed to the letter, and comes back the same when printed and read again. */

#include <string.h>
#include <sys/un.h>

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "fuzz.h"
#include "shared/launch-dir.h"
#include "shared/manifest.h"
#include "shared/profile.h"

static void check_refused(const Manifest *m, const char *error) {
        PROPERTY(!m);
        PROPERTY(error && str_has_suffix(error, "."));
        PROPERTY(!strpbrk(error, "\n\033"));
}

static void check_accepted(const Manifest *m) {
        PROPERTY(profile_name_is_valid(m->profile));
        PROPERTY(hex_is_valid(m->id, LAUNCH_ID_LENGTH));
        PROPERTY(hex_is_valid(m->token, WIRE_TOKEN_LENGTH));
        PROPERTY(path_is_normalized(m->cgroup) && str_has_suffix(m->cgroup, ".scope"));
        PROPERTY(strstr(path_last(m->cgroup), m->profile) && strstr(path_last(m->cgroup), m->id));

        for (size_t i = 0; i < m->n_services; i++) {
                PROPERTY(!m->services[i].path == !service_has_path(m->services[i].id.kind));
                PROPERTY(!m->services[i].path || path_is_normalized(m->services[i].path));
                PROPERTY(!m->services[i].path || strlen(m->services[i].path) < sizeof(((struct sockaddr_un *) NULL)->sun_path));
                for (size_t k = 0; k < i; k++)
                        PROPERTY(m->services[i].id.kind != m->services[k].id.kind ||
                                        m->services[i].id.index != m->services[k].id.index);
        }
}

static void check_same(const Manifest *a, const Manifest *b) {
        PROPERTY(streq(a->profile, b->profile) && streq(a->id, b->id));
        PROPERTY(streq(a->cgroup, b->cgroup) && streq(a->token, b->token));
        PROPERTY(a->n_services == b->n_services);
        for (size_t i = 0; i < a->n_services; i++) {
                PROPERTY(a->services[i].id.kind == b->services[i].id.kind);
                PROPERTY(a->services[i].id.index == b->services[i].id.index);
                PROPERTY(!a->services[i].path == !b->services[i].path);
                PROPERTY(!a->services[i].path || streq(a->services[i].path, b->services[i].path));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_manifest_ Manifest *m = NULL, *again = NULL;
        _cleanup_free_ char *error = NULL, *text = NULL;
        int r;

        r = manifest_parse((const char *) data, size, &m, &error);
        if (r < 0) {
                PROPERTY(r == -EBADMSG);
                check_refused(m, error);
                return 0;
        }

        PROPERTY(!error);
        check_accepted(m);
        PROPERTY(manifest_format(m, &text) == 0);
        PROPERTY(manifest_parse(text, strlen(text), &again, &error) == 0);
        check_same(m, again);
        return 0;
}
