/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/json-object.h"
#include "shared/launch-dir.h"
#include "shared/trust-scope.h"

#define SCOPE_FILE_MAX (16 * MIB)

void trust_scope_clear(TrustScope *s) {
        free(s->profile);
        free(s->work_root);
        free(s->directory);
        strv_free(s->git_dirs);
        strv_free(s->trusted_paths);
        strv_free(s->report_paths);
        *s = (TrustScope) { 0 };
}

int trust_scope_write(int dir_fd, const TrustScope *s) {
        _cleanup_json_ Json *o = json_object_new_object();
        int r;

        r = o ? json_add_string(o, "profile", s->profile) : -ENOMEM;
        if (r >= 0)
                r = json_add_string(o, "work-root", s->work_root);
        if (r >= 0)
                r = json_add_string(o, "directory", s->directory);
        if (r >= 0)
                r = json_add_strings(o, "git-directories", s->git_dirs);
        if (r >= 0)
                r = json_add_strings(o, "trusted-paths", s->trusted_paths);
        if (r >= 0)
                r = json_add_strings(o, "report-paths", s->report_paths);

        return r < 0 ? r : json_write_new_at(dir_fd, LAUNCH_FILE_TRUST_SCOPE, o);
}

static int get_path(Json *o, const char *key, char **ret) {
        const char *path = json_get_path(o, key);

        return path ? strdup_to(ret, path) : -EBADMSG;
}

static int get_paths(Json *o, const char *key, char ***ret) {
        int r;

        r = json_get_strings(o, key, ret);
        STRV_FOREACH(path, *ret)
                if (!path_is_normalized(*path))
                        r = -EBADMSG;

        return r;
}

int trust_scope_read(int dir_fd, TrustScope *ret) {
        _cleanup_trust_scope_ TrustScope s = { 0 };
        _cleanup_json_ Json *o = NULL;
        int r;

        r = json_read_at(dir_fd, LAUNCH_FILE_TRUST_SCOPE, SCOPE_FILE_MAX, json_type_object, &o);
        if (r >= 0)
                r = get_path(o, "profile", &s.profile);
        if (r >= 0)
                r = get_path(o, "work-root", &s.work_root);
        if (r >= 0)
                r = get_path(o, "directory", &s.directory);
        if (r >= 0)
                r = get_paths(o, "git-directories", &s.git_dirs);
        if (r >= 0)
                r = get_paths(o, "trusted-paths", &s.trusted_paths);
        if (r >= 0)
                r = json_get_strings(o, "report-paths", &s.report_paths);
        if (r < 0)
                return r;

        *ret = s;
        s = (TrustScope) { 0 };
        return 0;
}

static const char *path_below(const char *path, const char *dir) {
        return path_is_within(path, dir) ? path + strlen(dir) + (path[strlen(dir)] == '/') : NULL;
}

bool trust_scope_locate(const TrustScope *s, const char *path, unsigned *ret_root, const char **ret_below) {
        const char *below;
        unsigned root = TRUST_ROOT_OUTSIDE;

        if ((below = path_below(path, s->work_root)))
                root = TRUST_ROOT_WORK;
        else if ((below = path_below(path, s->profile)))
                root = TRUST_ROOT_PROFILE;
        else
                STRV_FOREACH(dir, s->git_dirs) {
                        below = path_below(path, *dir);
                        if (below)
                                break;
                        root++;
                }
        if (!below)
                return false;

        *ret_root = root;
        *ret_below = below;
        return true;
}

const char *trust_scope_root(const TrustScope *s, unsigned root) {
        if (root == TRUST_ROOT_PROFILE)
                return s->profile;
        if (root == TRUST_ROOT_WORK)
                return s->work_root;

        return root - TRUST_ROOT_OUTSIDE < strv_length(s->git_dirs) ? s->git_dirs[root - TRUST_ROOT_OUTSIDE] : NULL;
}
