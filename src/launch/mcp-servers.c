/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/mcp-image.h"
#include "launch/mcp-servers.h"
#include "shared/json-object.h"
#include "shared/json-text.h"

#define MCP_FILE_MAX (1 * MIB)
#define CLAUDE_FILE ".claude.json"
#define CLAUDE_FILE_MAX (64 * MIB) /* it holds histories */
#define SERVERS "mcpServers"
#define ARGUMENTS_MAX 256

/* The object, which the caller releases; NULL: it is none, and `*ret_error` says why. */
static struct json_object *parse(const char *text, size_t n, const char **ret_error) {
        struct json_tokener *tokener;
        struct json_object *o;

        tokener = json_tokener_new();
        if (!tokener) {
                *ret_error = strerror(ENOMEM);
                return NULL;
        }
        o = json_tokener_parse_ex(tokener, text + json_mark_length(text, n), (int) (n - json_mark_length(text, n)));
        *ret_error = json_tokener_error_desc(json_tokener_get_error(tokener));
        json_tokener_free(tokener);
        if (json_object_is_type(o, json_type_object))
                return o;

        (void) json_object_put(o);
        return NULL;
}

int mcp_file_read(const char *path, char **ret, size_t *ret_n) {
        _cleanup_free_ char *shown = str_escape(path), *data = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct json_object *o;
        const char *error;
        struct stat st;
        size_t n, mark;
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
        o = parse(data, n, &error);
        if (!o)
                log_warning("%s is no JSON object (%s); claude will not find the servers in it.", shown, error);
        (void) json_object_put(o);

        mark = json_mark_length(data, n);
        memmove(data, data + mark, n - mark + 1);
        *ret = TAKE_PTR(data);
        *ret_n = n - mark;
        return 1;
}

static int add_server(struct json_object *server, char ***images) {
        const char *args[ARGUMENTS_MAX + 1] = { 0 }, *program, *image;
        struct json_object *command, *list;
        size_t n;

        if (!json_object_is_type(server, json_type_object) || !json_object_object_get_ex(server, "command", &command) ||
                        !json_object_object_get_ex(server, "args", &list) || !json_object_is_type(list, json_type_array))
                return 0;
        program = json_value_string(command);
        n = json_object_array_length(list);
        if (!program || n > ARGUMENTS_MAX)
                return 0;
        for (size_t i = 0; i < n; i++) {
                args[i] = json_value_string(json_object_array_get_idx(list, i));
                if (!args[i])
                        return 0;
        }

        image = mcp_image_of(program, (char *const *) args);
        return image && !strv_contains(*images, image) && strv_length(*images) < MCP_IMAGES_MAX ? strv_add(images, image) : 0;
}

static int add_servers(struct json_object *o, char ***images) {
        struct json_object *servers;

        if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, SERVERS, &servers) ||
                        !json_object_is_type(servers, json_type_object))
                return 0;

        json_object_object_foreach(servers, name, server) {
                int r;

                (void) name;
                r = add_server(server, images);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_projects(struct json_object *o, char ***images) {
        struct json_object *projects;

        if (!json_object_object_get_ex(o, "projects", &projects) || !json_object_is_type(projects, json_type_object))
                return 0;

        json_object_object_foreach(projects, path, project) {
                int r;

                (void) path;
                r = add_servers(project, images);
                if (r < 0)
                        return r;
        }

        return 0;
}

int mcp_images_add(const char *text, size_t n, char ***images) {
        struct json_object *o;
        const char *error;
        int r;

        o = parse(text, n, &error);
        if (!o)
                return -EBADMSG;

        r = add_servers(o, images);
        if (r >= 0)
                r = add_projects(o, images);

        (void) json_object_put(o);
        return r;
}

static int add_profile(const Profile *profile, char ***images) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = io_read_file_at(profile->fd, CLAUDE_FILE, CLAUDE_FILE_MAX, &text, &n);
        if (r == -ENOENT)
                return 0;
        if (r >= 0)
                r = mcp_images_add(text, n, images);
        if (r == -EBADMSG) {
                log_warning("%s/" CLAUDE_FILE " is no JSON object; the servers in it are left out.", profile->path);
                return 0;
        }

        return r < 0 ? log_error(r, "Cannot read %s/" CLAUDE_FILE, profile->path) : 0;
}

/* What is no JSON object was said to be none. */
static int add_file(const char *path, char ***images) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = mcp_file_read(path, &text, &n);
        if (r > 0)
                r = mcp_images_add(text, n, images);
        if (r == -ENOMEM)
                return log_oom();

        return r == -EBADMSG ? 0 : r;
}

int mcp_images_collect(const Profile *profile, const char *directory, char ***ret) {
        _cleanup_strv_ char **images = NULL;
        _cleanup_free_ char *dir = NULL;
        int r;

        r = add_profile(profile, &images);
        if (r < 0)
                return r;

        dir = strdup(directory);
        if (!dir)
                return log_oom();
        for (char *end = dir + strlen(dir); end; end = strrchr(dir, '/')) {
                _cleanup_free_ char *path = NULL;

                *end = '\0';
                path = path_join(dir, MCP_FILE);
                r = path ? add_file(path, &images) : log_oom();
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(images);
        return 0;
}
