/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/str.h"
#include "basic/wire.h"

int service_parse(const char *name, size_t n, ServiceId *ret) {
        if (n == 3 && memcmp(name, "gpg", 3) == 0) {
                *ret = (ServiceId) { .kind = SERVICE_GPG };
                return 0;
        }

        static_assert(WIRE_SSH_AGENTS_MAX <= 10, "an agent's number is one digit");
        if (n == 5 && memcmp(name, "ssh-", 4) == 0 && name[4] >= '0' && name[4] < '0' + WIRE_SSH_AGENTS_MAX) {
                *ret = (ServiceId) { .kind = SERVICE_SSH, .index = (unsigned) (name[4] - '0') };
                return 0;
        }

        return -EINVAL;
}

const char *service_format(ServiceId id, char *buf) {
        switch (id.kind) {
        case SERVICE_SSH:
                (void) snprintf(buf, WIRE_SERVICE_MAX, "ssh-%u", id.index);
                return buf;
        case SERVICE_GPG:
                return strcpy(buf, "gpg");
        default:
                assert(false);
                return strcpy(buf, "?");
        }
}
