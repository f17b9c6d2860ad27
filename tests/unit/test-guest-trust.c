/* SPDX-License-Identifier: MIT */

/* The image's bundle of certificate authorities gives way to the host's. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "guest/trust.h"
#include "scratch.h"

static void assert_link(const char *place, const char *bundle) {
        char target[PATH_MAX] = "";

        assert_true(readlink(in_scratch(place), target, sizeof(target) - 1) > 0);
        assert_string_equal(target, in_scratch(bundle));
}

static void test_link(void **state) {
        scratch_puts("bundle", "host's");
        assert_int_equal(trust_link(in_scratch("place"), in_scratch("bundle")), 0); /* the image has none there */
        assert_int_equal(access(in_scratch("place"), F_OK), -1);

        scratch_puts("place", "image's");
        assert_int_equal(trust_link(in_scratch("place"), in_scratch("bundle")), 1);
        assert_link("place", "bundle");
        assert_int_equal(trust_link(in_scratch("place"), in_scratch("bundle")), 0);

        /* It is the bundle itself, by another name: nothing may make it name itself. */
        assert_int_equal(trust_link(in_scratch("bundle"), in_scratch("bundle")), 0);
        assert_int_equal(trust_link(in_scratch("bundle"), in_scratch("place")), 0);

        assert_int_equal(trust_link(in_scratch("place"), in_scratch("nothing")), -ENOENT);
        assert_link("place", "bundle");
        assert_int_equal(access(in_scratch("place.new"), F_OK), -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_link),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
