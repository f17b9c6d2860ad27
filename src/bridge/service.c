/* SPDX-License-Identifier: MIT */

#include "bridge/service.h"

static const ServiceOps *const service_table[] = {
        [SERVICE_SSH] = &service_ssh,
        [SERVICE_GPG] = &service_relay,
        [SERVICE_CLIPBOARD] = &service_question,
        [SERVICE_OPEN] = &service_question,
        [SERVICE_CHROME] = &service_chrome,
};
static_assert(ELEMENTSOF(service_table) == _SERVICE_KIND_MAX, "every service is served");

const ServiceOps *service_ops(ServiceKind kind) {
        return service_table[kind];
}
