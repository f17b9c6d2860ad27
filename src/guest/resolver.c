/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <string.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "guest/resolver.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define RESOLV_CONF_MAX (64 * KIB)
#define BLANKS " \t"

bool resolver_has_server(const char *text) {
        for (const char *line = text; *line;) {
                size_t n = strcspn(line, "\n");
                const char *rest = str_after_prefix(line, "nameserver");

                /* The keyword begins the line, and white space follows it. */
                if (rest && strspn(rest, BLANKS) > 0 && !strchr("\n\r#;", rest[strspn(rest, BLANKS)]))
                        return true;
                line += n + (line[n] == '\n');
        }

        return false;
}

int resolver_check(void) {
        _cleanup_free_ char *text = NULL;

        if (io_read_file_at(AT_FDCWD, RESOLV_CONF, RESOLV_CONF_MAX, &text, NULL) < 0 || resolver_has_server(text))
                return 0;

        return log_error(-ENOENT, "The sandbox cannot look up names: its " RESOLV_CONF " names no server, as the host's "
                        "does not. Connect this machine, or name one in the host's.");
}
