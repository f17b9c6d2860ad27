/* SPDX-License-Identifier: MIT */
#pragma once

/* What a report is about, in the scratch directory: profile/, a work root work/ with sub/ as the launch's directory, and beside it
 * common/, a git directory. Include after scratch.h. */

#include <sys/wait.h>

#include "basic/strv.h"
#include "shared/trust-changes.h"

/* Begins a script: an empty stage. */
#define STAGE_NEW "chmod -R u+rwX .; rm -rf profile work common; mkdir -p profile work/sub work/src common; "

/* A script of the shell in the scratch directory. */
__attribute__((unused)) static void shell(const char *script) {
        pid_t pid;
        int status;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                if (chdir(scratch) < 0)
                        _exit(1);
                (void) execl("/bin/sh", "sh", "-eu", "-c", script, NULL);
                _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
                fail_msg("status %d of: %s", status, script);
}

/* For cmocka, in place of scratch_remove(): a test may have taken permissions away. */
__attribute__((unused)) static int stage_remove(void **state) {
        shell(STAGE_NEW);
        return scratch_remove(state);
}

__attribute__((unused)) static TrustScope stage_scope(void) {
        TrustScope s = { 0 };

        s.profile = strdup(in_scratch("profile"));
        s.work_root = strdup(in_scratch("work"));
        s.directory = strdup(in_scratch("work/sub"));
        assert_true(s.profile && s.work_root && s.directory);
        assert_int_equal(strv_add(&s.git_dirs, in_scratch("work/.git")), 0);
        assert_int_equal(strv_add(&s.git_dirs, in_scratch("common")), 0);
        assert_int_equal(strv_add(&s.trusted_paths, in_scratch("work/tools/hooks")), 0);
        assert_int_equal(strv_add(&s.report_paths, "deploy.sh"), 0);
        assert_int_equal(strv_add(&s.report_paths, in_scratch("work/ops")), 0);
        assert_int_equal(strv_add(&s.report_paths, "/etc/passwd"), 0);
        assert_int_equal(strv_add(&s.report_paths, "../profile/x"), 0);
        return s;
}

/* "<verb> <name>\n" for each change. */
__attribute__((unused)) static char *changes_to_text(const TrustChanges *c) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        for (size_t i = 0; i < c->n; i++)
                (void) fprintf(f, "%s %s\n", trust_verb_to_string(c->items[i].verb), c->items[i].name);
        assert_int_equal(fclose(f), 0);
        return text;
}
