/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/str.h"
#include "basic/wire.h"

static const char *const service_names[] = {
        [SERVICE_SSH] = "ssh-", /* and a number */
        [SERVICE_GPG] = "gpg",
        [SERVICE_CLIPBOARD] = "clipboard",
        [SERVICE_OPEN] = "open",
        [SERVICE_CHROME] = "chrome",
};
static_assert(ELEMENTSOF(service_names) == _SERVICE_KIND_MAX, "every service has a name");

int service_parse(const char *name, size_t n, ServiceId *ret) {
        for (ServiceKind k = 0; k < _SERVICE_KIND_MAX; k++)
                if (k != SERVICE_SSH && n == strlen(service_names[k]) && memcmp(name, service_names[k], n) == 0) {
                        *ret = (ServiceId) { .kind = k };
                        return 0;
                }

        static_assert(WIRE_SSH_AGENTS_MAX <= 10, "an agent's number is one digit");
        if (n == 5 && memcmp(name, service_names[SERVICE_SSH], 4) == 0 && name[4] >= '0' && name[4] < '0' + WIRE_SSH_AGENTS_MAX) {
                *ret = (ServiceId) { .kind = SERVICE_SSH, .index = (unsigned) (name[4] - '0') };
                return 0;
        }

        return -EINVAL;
}

const char *service_format(ServiceId id, char *buf) {
        assert(id.kind >= 0 && id.kind < _SERVICE_KIND_MAX);

        if (id.kind == SERVICE_SSH)
                (void) snprintf(buf, WIRE_SERVICE_MAX, "%s%u", service_names[id.kind], id.index);
        else
                (void) stpcpy(buf, service_names[id.kind]);

        return buf;
}
