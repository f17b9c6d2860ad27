/* SPDX-License-Identifier: MIT */

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/path.h"
#include "basic/str.h"
#include "shared/dirs.h"

int path_normalize(const char *path, char **ret) {
        _cleanup_free_ char *s = NULL;
        char *q;

        if (path[0] != '/')
                return -EINVAL;

        s = q = malloc(strlen(path) + 1);
        if (!s)
                return -ENOMEM;

        for (;;) {
                size_t n;

                path += strspn(path, "/");
                n = strcspn(path, "/");
                if (n == 0)
                        break;
                if (n == 2 && strncmp(path, "..", n) == 0)
                        return -EINVAL;
                if (n != 1 || path[0] != '.') {
                        *q++ = '/';
                        q = mempcpy(q, path, n);
                }
                path += n;
        }

        if (q == s)
                *q++ = '/';
        *q = '\0';

        *ret = TAKE_PTR(s);
        return 0;
}

/* The directory that `text` names, or NULL in `*ret` when it names none that could be used. */
static int directory_from_text(const char *text, char **ret) {
        char *s = NULL;
        int r;

        if (!str_is_empty(text) && text[0] == '/') {
                r = path_normalize(text, &s);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        s = realpath(text, NULL);
        }

        *ret = s;
        return 0;
}

static int find_home(bool ask_database, char **ret) {
        const struct passwd *pw;
        int r;

        r = directory_from_text(getenv("HOME"), ret);
        if (r < 0 || *ret)
                return r;

        pw = ask_database ? getpwuid(getuid()) : NULL;
        if (!pw)
                return -ENXIO;

        r = directory_from_text(pw->pw_dir, ret);
        if (r < 0)
                return r;

        return *ret ? 0 : -ENXIO;
}

static int find_base(const Dirs *d, const char *variable, const char *fallback, char **ret) {
        _cleanup_free_ char *base = NULL;
        int r;

        r = directory_from_text(getenv(variable), &base);
        if (r < 0)
                return r;
        if (!base) {
                base = path_join(d->home, fallback);
                if (!base)
                        return -ENOMEM;
        }

        *ret = path_join(base, "claude-profile");
        return *ret ? 0 : -ENOMEM;
}

static int find_runtime(Dirs *d) {
        _cleanup_free_ char *root = NULL;
        struct stat st;
        int r;

        r = directory_from_text(getenv("XDG_RUNTIME_DIR"), &root);
        if (r < 0 || !root)
                return r;

        /* Another user's directory, or one that others can write, could hold planted sockets and files. */
        if (lstat(root, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0022))
                return 0;

        d->runtime = path_join(root, "claude-profile");
        if (!d->runtime)
                return -ENOMEM;

        d->runtime_root = TAKE_PTR(root);
        return 0;
}

static int load(bool ask_database, Dirs **ret) {
        _cleanup_dirs_ Dirs *d = NULL;
        int r;

        d = new0(Dirs, 1);
        if (!d)
                return -ENOMEM;

        r = find_home(ask_database, &d->home);
        if (r >= 0)
                r = find_base(d, "XDG_CONFIG_HOME", ".config", &d->config);
        if (r >= 0)
                r = find_base(d, "XDG_DATA_HOME", ".local/share", &d->data);
        if (r >= 0)
                r = find_runtime(d);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(d);
        return 0;
}

int dirs_load(Dirs **ret) {
        return load(true, ret);
}

int dirs_load_from_environment(Dirs **ret) {
        return load(false, ret);
}

Dirs *dirs_free(Dirs *d) {
        if (!d)
                return NULL;

        free(d->home);
        free(d->config);
        free(d->data);
        free(d->runtime_root);
        free(d->runtime);
        free(d);
        return NULL;
}
