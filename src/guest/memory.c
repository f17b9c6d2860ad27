/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "guest/memory.h"

#define VMSTAT_MAX (64 * KIB)

int memory_parse_kills(const char *vmstat, uint64_t *ret) {
        static const char key[] = "oom_kill ";

        for (const char *line = vmstat; *line;) {
                const char *end = strchrnul(line, '\n'), *value = str_after_prefix(line, key);

                if (value) {
                        char number[32] = "";

                        if ((size_t) (end - value) < sizeof(number))
                                (void) mempcpy(number, value, (size_t) (end - value));
                        return parse_uint(number, 0, UINT64_MAX, ret) < 0 ? -ENODATA : 0;
                }
                line = *end ? end + 1 : end;
        }

        return -ENODATA;
}

uint64_t memory_kills(void) {
        _cleanup_free_ char *text = NULL;
        uint64_t n;

        if (!getenv(GUEST_ENV_RAM) || io_read_file_at(AT_FDCWD, "/proc/vmstat", VMSTAT_MAX, &text, NULL) < 0 ||
                        memory_parse_kills(text, &n) < 0)
                return 0;

        return n;
}

void memory_tell(uint64_t kills_before) {
        uint64_t n = memory_kills(), mib;

        if (n <= kills_before || parse_uint(getenv(GUEST_ENV_RAM), 1, UINT64_MAX, &mib) < 0)
                return;

        log_warning("The sandbox ran out of memory and its kernel killed %llu of its processes: a microVM with RAM=%llu (MiB). "
                        "More: CLAUDE_PROFILE_SANDBOX_RAM_MIB.",
                        (unsigned long long) (n - kills_before), (unsigned long long) mib);
}
