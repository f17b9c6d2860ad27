/* SPDX-License-Identifier: MIT */

/* claude also reads the .mcp.json of every directory above the one it works in; those above the work root are not in the sandbox
 * by themselves. They are given as copies: such a directory may be the work root of another sandbox, whose guest can put
 * anything into its place at any moment. */

#include <json-c/json.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/plan.h"

#define MCP_FILE ".mcp.json"
#define MCP_FILE_MAX (1 * MIB)

/* The copy is made all the same: what is wrong in it is claude's to say, inside. */
static void check_json(const char *text, size_t n, const char *shown) {
        struct json_tokener *tokener;
        struct json_object *o;

        if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
                text += 3;
                n -= 3;
        }

        tokener = json_tokener_new();
        if (!tokener)
                return;
        o = json_tokener_parse_ex(tokener, text, (int) n);
        if (!json_object_is_type(o, json_type_object))
                log_warning("%s is no JSON object (%s); claude will not find the servers in it.", shown,
                                json_tokener_error_desc(json_tokener_get_error(tokener)));
        (void) json_object_put(o);
        json_tokener_free(tokener);
}

static int add_file(Plan *p, const char *path) {
        _cleanup_free_ char *shown = str_escape(path), *data = NULL, *name = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        size_t n;
        int r;

        if (!shown)
                return log_oom();

        fd = io_open_no_links(path);
        if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
                return 0;
        if (fd == -ELOOP) {
                log_warning("%s is reached through a link and is not given to the sandbox: another sandbox could have made it.", shown);
                return 0;
        }
        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error(fd < 0 ? fd : -errno, "Cannot open %s", shown);
        /* In /tmp, say, anybody could have left one, and claude starts the programs that it names. */
        if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0)) {
                log_warning("%s is no file of yours and is not given to the sandbox.", shown);
                return 0;
        }

        r = io_read_all(fd, MCP_FILE_MAX, &data, &n);
        if (r < 0)
                return log_error(r, "Cannot read %s", shown);
        check_json(data, n, shown);

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
