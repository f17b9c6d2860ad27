/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/wire.h"

static void test_service_names(void **state) {
        static const struct {
                const char *name;
                int kind; /* -1: refused */
                unsigned index;
        } rows[] = {
                { "ssh-0", SERVICE_SSH, 0 },
                { "ssh-7", SERVICE_SSH, 7 },
                { "gpg", SERVICE_GPG, 0 },
                { "clipboard", SERVICE_CLIPBOARD, 0 },
                { "open", SERVICE_OPEN, 0 },
                { "chrome", SERVICE_CHROME, 0 },
                { "", -1, 0 },
                { "clipboard-0", -1, 0 },
                { "Open", -1, 0 },
                { "chromes", -1, 0 },
                { "chrom", -1, 0 },
                { "ssh", -1, 0 },
                { "ssh-", -1, 0 },
                { "ssh-8", -1, 0 },
                { "ssh-00", -1, 0 },
                { "ssh-+1", -1, 0 },
                { "Ssh-0", -1, 0 },
                { "gpg ", -1, 0 },
                { "gp", -1, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ServiceId id = { .kind = _SERVICE_KIND_INVALID };
                char buf[WIRE_SERVICE_MAX];
                int r;

                r = service_parse(rows[i].name, strlen(rows[i].name), &id);
                assert_int_equal(r, rows[i].kind < 0 ? -EINVAL : 0);
                if (r < 0)
                        continue;

                assert_int_equal(id.kind, rows[i].kind);
                assert_int_equal(id.index, rows[i].index);
                assert_string_equal(service_format(id, buf), rows[i].name);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_service_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
