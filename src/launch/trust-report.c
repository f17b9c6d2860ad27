/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/trust-report.h"
#include "shared/trust-session.h"

static bool colour_wanted(void) {
        return isatty(STDERR_FILENO) && str_is_empty(getenv("NO_COLOR"));
}

static TrustSession session_of(const Plan *p, int dir_fd) {
        return (TrustSession) { .dirs = p->request->dirs, .profile = p->request->profile->name, .id = p->id, .dir_fd = dir_fd };
}

static int make_scope(const Plan *p, TrustScope *ret) {
        if (strdup_to(&ret->profile, p->request->profile->path) < 0 || strdup_to(&ret->work_root, p->work_root) < 0 ||
                        strdup_to(&ret->directory, p->directory) < 0 ||
                        strv_extend(&ret->git_dirs, p->git_dirs) < 0 || strv_extend(&ret->trusted_paths, p->trusted_paths) < 0 ||
                        strv_extend(&ret->trusted_paths, p->named_programs) < 0 ||
                        strv_extend(&ret->report_paths, p->request->settings->report_paths) < 0)
                return -ENOMEM;

        return 0;
}

int trust_report_begin(const Plan *p, int dir_fd) {
        const TrustSession session = session_of(p, dir_fd);
        _cleanup_trust_scope_ TrustScope scope = { 0 };
        const uint64_t begin_usec = now_usec();
        int r;

        r = make_scope(p, &scope);
        if (r >= 0)
                r = trust_session_begin(&session, &scope, &p->tree);
        log_debug("launch %s: the report took %llu us to begin", p->id, (unsigned long long) (now_usec() - begin_usec));
        return r < 0 ? log_error(r, "Cannot take down the state of what the host trusts, for the report at the end") : 0;
}

void trust_report_end(const Plan *p, int dir_fd) {
        const TrustSession session = session_of(p, dir_fd);
        _cleanup_trust_changes_ TrustChanges changes = { 0 };
        const uint64_t begin_usec = now_usec();
        int r;

        r = trust_session_compare(&session, &changes);
        log_debug("launch %s: the report took %llu us to end", p->id, (unsigned long long) (now_usec() - begin_usec));
        if (r == -ENOENT)
                return; /* it never began */
        if (r < 0)
                (void) log_error(r, "Cannot look at what the sandbox changed of what the host will run or obey");

        trust_changes_print(&changes, p->id, colour_wanted(), stderr);
        if ((changes.n > 0 || r < 0) && ferror(stderr)) /* a terminal that is gone */
                (void) trust_session_keep(&session, r, &changes);
        trust_session_end(&session);
}

void trust_report_left(const LaunchRequest *request) {
        trust_session_show_left(request->dirs, request->profile->name, colour_wanted(), stderr);
}
