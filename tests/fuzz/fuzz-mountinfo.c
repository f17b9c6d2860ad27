/* SPDX-License-Identifier: MIT */

/* The mounts of a container. A guest chooses names in it, and which mount lies where decides whether a launch goes on. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "fuzz.h"
#include "launch/mountinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_mount_table_ MountTable t = {};
        char *text;
        int r;

        text = memdup_nul(data, size);
        PROPERTY(text);

        r = mount_table_parse(text, &t);
        if (r < 0) {
                PROPERTY(r == -EBADMSG && !t.text && t.n == 0);
                return 0;
        }

        for (size_t i = 0; i < t.n; i++) {
                const MountInfo *m = mount_table_at(&t, t.mounts[i].mount_point);

                /* What is found there is there; and that it is found does not depend on being asked by another string. */
                PROPERTY(!m || streq(m->mount_point, t.mounts[i].mount_point));
                PROPERTY(mount_table_by_id(&t, t.mounts[i].id)->id == t.mounts[i].id);
        }

        return 0;
}
