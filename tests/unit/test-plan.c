/* SPDX-License-Identifier: MIT */

/* A plan's life, and where the things lie that it mounts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "scratch.h"
#include "launch-stage.h"

static void test_names(void **state) {
        _cleanup_plan_ Plan *a = stage_plan(), *b = stage_plan();
        _cleanup_free_ char *path = NULL, *container = NULL;

        assert_true(hex_is_valid(a->id, LAUNCH_ID_LENGTH));
        assert_string_not_equal(a->id, b->id);
        assert_int_equal(asprintf_to(&path, "%s/run/claude-profile/" STAGE_PROFILE "-%s", scratch, a->id), 0);
        assert_string_equal(a->launch_path, path);
        assert_int_equal(asprintf_to(&container, "claude-" STAGE_PROFILE "-%s", a->id), 0);
        assert_string_equal(a->container, container);
        assert_string_equal(a->units.supervisor, "claude-sandbox@" STAGE_PROFILE ".service");
        assert_false(a->tty);
}

/* -p before the settings; what neither says is not set. */
static void test_limits(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        char memory[] = "2G", tasks[] = "100";

        stage.settings.memory_max = memory;
        stage.settings.tasks_max = tasks;
        assert_int_equal(limit_parse(LIMIT_MEMORY_MAX, "512M", &stage.request.limits.items[LIMIT_MEMORY_MAX]), 0);
        p = stage_plan();
        stage.settings.memory_max = stage.settings.tasks_max = NULL;
        stage.request.limits = (Limits) { 0 };

        assert_int_equal(p->limits.items[LIMIT_MEMORY_MAX].value, 512 * MIB);
        assert_int_equal(p->limits.items[LIMIT_TASKS_MAX].value, 100);
        assert_false(p->limits.items[LIMIT_CPU_QUOTA].set);
}

static void test_adding(void **state) {
        _cleanup_free_ char *source = NULL;
        _cleanup_plan_ Plan *p = stage_plan();

        assert_false(plan_has_service(p, SERVICE_SSH));
        for (unsigned i = 0; i < 40; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "file%u", i);
                assert_int_equal(plan_add_copy(p, name, strdup(name), strlen(name), "/target", "why"), 0);
                assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_SSH, i }, "/host", "/guest"), 0);
        }

        assert_int_equal(p->n_files, 40);
        assert_int_equal(p->n_mounts, 40);
        assert_int_equal(p->n_services, 40);
        assert_true(plan_has_service(p, SERVICE_SSH));
        assert_false(plan_has_service(p, SERVICE_GPG));
        assert_int_equal(asprintf_to(&source, "%s/file39", p->launch_path), 0);
        assert_string_equal(p->mounts[39].source, source);
        assert_string_equal(p->files[39].data, "file39");
        assert_int_equal(p->mounts[39].flags, MOUNT_READ_ONLY | MOUNT_RELABEL);
}

static void test_resolve(void **state) {
        static const struct {
                const char *path, *real;
        } rows[] = {
                { "real/dir", "real/dir" },
                { "link/dir", "real/dir" },
                { "link/dir/none", "real/dir/none" },
                { "link/none/a/b", "real/none/a/b" },
                { "link/none//a", "real/none//a" },
                { "chain/dir", "real/dir" },
                { "none", "none" },
                { "none/a", "none/a" },
                /* Fails later, and by its name. */
                { "dangling/a", "dangling/a" },
        };

        make_path("real/dir");
        assert_int_equal(symlink("real", in_scratch("link")), 0);
        assert_int_equal(symlink("link", in_scratch("chain")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("dangling")), 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *real = plan_resolve(in_scratch(rows[i].path));

                assert_non_null(real);
                assert_string_equal(real, in_scratch(rows[i].real));
        }

        for (const char *const *s = (const char *const[]) { "/", "/nonexistent", NULL }; *s; s++) {
                _cleanup_free_ char *real = plan_resolve(*s);

                assert_string_equal(real, *s);
        }
}

/* A home directory, and a runtime directory, behind a link: the kernel says where they really are when mounts are compared. */
static void test_places_behind_links(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        assert_int_equal(symlink(".", in_scratch("behind")), 0);
        (void) snprintf(stage.runtime, sizeof(stage.runtime), "%s", in_scratch("behind/run/claude-profile"));
        (void) snprintf(stage.data, sizeof(stage.data), "%s", in_scratch("behind/home/.local/share/claude-profile"));
        p = stage_plan();
        assert_null(strstr(p->launch_path, "behind"));

        assert_int_equal(plan_ssh(p), 0);
        assert_int_equal(p->n_mounts, 1);
        assert_string_equal(p->mounts[0].source, in_scratch("home/.local/share/claude-profile/profiles/" STAGE_PROFILE "/ssh"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_adding),
                cmocka_unit_test(test_resolve),
                cmocka_unit_test(test_places_behind_links),
        };

        return cmocka_run_group_tests(tests, stage_setup, scratch_remove);
}
