/* SPDX-License-Identifier: MIT */

/* claude also reads the .mcp.json of every directory above the one it works in; those above the work root are not in the sandbox
 * by themselves. They are given as copies: such a directory may be the work root of another sandbox, whose guest can put
 * anything into its place at any moment. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/path.h"
#include "launch/mcp-servers.h"
#include "launch/plan.h"

static int add_file(Plan *p, const char *path) {
        _cleanup_free_ char *data = NULL, *name = NULL;
        size_t n;
        int r;

        r = mcp_file_read(path, &data, &n);
        if (r <= 0)
                return r;

        r = asprintf_to(&name, "mcp-%zu.json", p->n_files);
        if (r >= 0)
                r = plan_add_copy(p, name, TAKE_PTR(data), n, path, "copy of the " MCP_FILE " above the work root");
        return r < 0 ? log_oom() : 0;
}

int plan_mcp(Plan *p) {
        _cleanup_free_ char *dir = strdup(p->work_root);
        char *slash;

        if (!dir)
                return log_oom();

        while (dir[1] != '\0' && (slash = strrchr(dir, '/'))) {
                _cleanup_free_ char *path = NULL;
                int r;

                slash[slash == dir] = '\0';
                path = path_join(dir, MCP_FILE);
                r = path ? add_file(p, path) : log_oom();
                if (r < 0)
                        return r;
        }

        return 0;
}
