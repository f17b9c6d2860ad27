/* SPDX-License-Identifier: MIT */

/* The images that `sandbox-cache` has pulled for MCP servers, for the guest's podman. */

#include "basic/alloc.h"
#include "basic/log.h"
#include "launch/image-store.h"
#include "launch/plan.h"

int plan_images(Plan *p) {
        _cleanup_free_ char *store = image_store_path(p->request->dirs), *source = NULL, *text = NULL;
        int r;

        if (!store)
                return log_oom();
        if (!image_store_is_filled(store))
                return 0;

        source = plan_resolve(store);
        text = strdup(image_store_configuration);
        if (!source || !text)
                return log_oom();

        r = plan_add_mount(p, MOUNT_BIND, source, GUEST_IMAGE_STORE, MOUNT_READ_ONLY | MOUNT_RELABEL, "images of MCP servers (sandbox-cache)");
        if (r >= 0)
                r = plan_add_copy(p, "storage.conf", TAKE_PTR(text), strlen(image_store_configuration), GUEST_STORAGE_CONF,
                                "tells podman of them");
        return r < 0 ? log_oom() : 0;
}
