/* SPDX-License-Identifier: MIT */

/* The host's own certificate authorities: which layouts are mounted, and when nothing is. The host's root is the scratch directory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define DEBIAN "usr/local/share/ca-certificates"
#define FEDORA "etc/pki/ca-trust/source/anchors"
#define DEBIAN_BUNDLE "etc/ssl/certs/ca-certificates.crt"
#define FEDORA_BUNDLE "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"

static void put(const char *directory, const char *name, const char *text) {
        char path[256];

        make_path(directory);
        (void) snprintf(path, sizeof(path), "%s/%s", directory, name);
        scratch_puts(path, text);
}

static Plan *plan(const char *said) {
        Plan *p = stage_plan();

        messages_begin();
        assert_int_equal(plan_trust_below(p, scratch), 0);
        assert_said(messages_end(), said);
        return p;
}

static void assert_mount(const Plan *p, size_t i, const char *path, MountFlags flags) {
        assert_true(i < p->n_mounts);
        assert_string_equal(p->mounts[i].source, in_scratch(path));
        assert_string_equal(p->mounts[i].target + 1, path);
        assert_int_equal(p->mounts[i].flags, flags); /* among which is no MOUNT_RELABEL */
}

static void assert_bundle(const Plan *p, const char *bundle) {
        static const char *const names[] = { "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", GUEST_ENV_TRUST };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_string_equal(strv_env_get(p->guest_env, names[i]) + 1, bundle);
}

static void assert_nothing(const Plan *p) {
        assert_int_equal(p->n_mounts, 0);
        assert_null(p->guest_env);
}

static void test_debian(void **state) {
        _cleanup_plan_ Plan *none = NULL, *foreign = NULL, *p = NULL;

        put("etc/ssl/certs", "ca-certificates.crt", "all");
        make_path(DEBIAN);
        none = plan(NULL);
        assert_nothing(none);

        put(DEBIAN, "notes.txt", "no certificate");
        foreign = plan(NULL);
        assert_nothing(foreign);

        put(DEBIAN "/office", "ca.crt", "private");
        p = plan(NULL);
        assert_int_equal(p->n_mounts, 2);
        assert_mount(p, 0, DEBIAN, MOUNT_READ_ONLY);
        assert_mount(p, 1, "etc/ssl/certs", MOUNT_READ_ONLY | MOUNT_LINKED);
        assert_bundle(p, DEBIAN_BUNDLE);
}

static void test_fedora(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        put("etc/pki/ca-trust/extracted/pem", "tls-ca-bundle.pem", "all");
        put(FEDORA, "proxy.pem", "private");
        p = plan(NULL);
        assert_int_equal(p->n_mounts, 2);
        assert_mount(p, 0, FEDORA, MOUNT_READ_ONLY);
        assert_mount(p, 1, "etc/pki/ca-trust/extracted", MOUNT_READ_ONLY | MOUNT_LINKED);
        assert_bundle(p, FEDORA_BUNDLE);
}

static void test_nothing_extracted(void **state) {
        _cleanup_plan_ Plan *missing = NULL, *empty = NULL, *directory = NULL;

        put(FEDORA, "proxy.pem", "private");
        missing = plan("Run update-ca-certificates or update-ca-trust");
        assert_nothing(missing);

        put("etc/pki/ca-trust/extracted/pem", "tls-ca-bundle.pem", "");
        empty = plan("Run update-ca-certificates or update-ca-trust");
        assert_nothing(empty);

        assert_int_equal(unlink(in_scratch(FEDORA_BUNDLE)), 0);
        make_path(FEDORA_BUNDLE);
        directory = plan("Run update-ca-certificates or update-ca-trust");
        assert_nothing(directory);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_debian, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_fedora, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_nothing_extracted, stage_setup, stage_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
