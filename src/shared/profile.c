/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/profile.h"

#define UNIT_NAME_LENGTH_MAX 255

/* The longest names that are made of a profile's; a launch's id is eight hexadecimal digits. */
#define LONGEST_WITH_ESCAPES "claude-sandbox--01234567.scope"
#define LONGEST_VERBATIM "claude-bridge@-01234567.service"

#define ALPHANUMERIC "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

DEFINE_CLEANUP(DIR *, closedir);

static bool has_unit_suffix(const char *name) {
        static const char *const suffixes[] = {
                ".automount", ".device", ".mount", ".path", ".scope", ".service",
                ".slice", ".socket", ".swap", ".target", ".timer",
        };

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (str_has_suffix(name, suffixes[i]))
                        return true;

        return false;
}

bool profile_name_is_valid(const char *name) {
        size_t n = strlen(name), escaped = n;

        if (n == 0 || n > PROFILE_NAME_MAX)
                return false;
        if (!strchr(ALPHANUMERIC, name[0]) || strspn(name, ALPHANUMERIC "._-") != n)
                return false;

        /* Where "-" separates, it is written "\x2d". */
        for (const char *p = name; *p; p++)
                if (*p == '-')
                        escaped += STRLEN("\\x2d") - 1;
        if (STRLEN(LONGEST_WITH_ESCAPES) + escaped > UNIT_NAME_LENGTH_MAX ||
                        STRLEN(LONGEST_VERBATIM) + n > UNIT_NAME_LENGTH_MAX)
                return false;

        return !has_unit_suffix(name) && !streq(name, "shared-settings.json");
}

static int open_directory(int dir_fd, const char *path) {
        int fd;

        fd = openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ELOOP ? -ENOTDIR : -errno;

        return fd;
}

int profile_open(const Settings *settings, const char *name, Profile **ret) {
        _cleanup_profile_ Profile *p = NULL;

        if (!profile_name_is_valid(name))
                return -EINVAL;

        p = new0(Profile, 1);
        if (!p)
                return -ENOMEM;
        p->fd = -EBADF;

        p->path = path_join(settings->profiles_base, name);
        if (!p->path || strdup_to(&p->name, name) < 0)
                return -ENOMEM;

        p->fd = open_directory(AT_FDCWD, p->path);
        if (p->fd < 0)
                return p->fd;

        *ret = TAKE_PTR(p);
        return 0;
}

Profile *profile_free(Profile *p) {
        if (!p)
                return NULL;

        fd_close(p->fd);
        free(p->name);
        free(p->path);
        free(p);
        return NULL;
}

/* Whether there is anything of that name, a link to nothing too. 1, 0, or negative errno. */
static int exists_at(int dir_fd, const char *path) {
        struct stat st;

        if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                return 1;

        return errno == ENOENT ? 0 : -errno;
}

int profile_has_marker(const Profile *p) {
        return exists_at(p->fd, PROFILE_MARKER);
}

int profile_is_sandboxed(const Profile *p, const Settings *settings) {
        return settings->sandbox >= 0 ? settings->sandbox : profile_has_marker(p);
}

bool profile_was_ever_sandboxed(const Profile *p, const Dirs *dirs) {
        _cleanup_free_ char *path = NULL;

        if (profile_has_marker(p) != 0)
                return true;

        if (asprintf_to(&path, "%s/profiles/%s/sandboxed", dirs->data, p->name) < 0)
                return true;

        return exists_at(AT_FDCWD, path) != 0;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* DT_DIR, DT_LNK…: most file systems say it with the name, and so what is mounted there is not asked. */
static unsigned char type_of(int base_fd, const struct dirent *de) {
        struct stat st;

        if (de->d_type != DT_UNKNOWN)
                return de->d_type;

        return fstatat(base_fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? DT_UNKNOWN : IFTODT(st.st_mode);
}

/* What lies in the base: a profile, nothing that matters, or something odd. */
static int list_entry(int base_fd, const char *base, const struct dirent *de, char ***names, char ***odd) {
        const char *const name = de->d_name;
        _cleanup_free_ char *shown = NULL;
        bool is_link, is_directory;
        struct stat st;

        /* Hidden ones are ours (what is just being made or removed) or an editor's. */
        if (name[0] == '.')
                return 0;

        is_link = type_of(base_fd, de) == DT_LNK;
        is_directory = type_of(base_fd, de) == DT_DIR;
        if (is_link && (fstatat(base_fd, name, &st, 0) < 0 || !S_ISDIR(st.st_mode)))
                return 0;
        if (!is_link && !is_directory)
                return 0;

        if (is_directory && profile_name_is_valid(name))
                return strv_add(names, name);

        shown = str_escape(name);
        if (!shown)
                return -ENOMEM;

        return strv_addf(odd, "%s/%s: %s", base, shown,
                        is_link ? "a link, which is no profile" : "not the name of a profile");
}

static int list_directory(int base_fd, const char *base, char ***names, char ***odd) {
        _cleanup_(closedirp) DIR *d = NULL;
        struct dirent *de;
        int copy;

        copy = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (copy < 0)
                return -errno;
        d = fdopendir(copy);
        if (!d) {
                int r = -errno;

                fd_close(copy);
                return r;
        }

        for (;;) {
                int r;

                errno = 0;
                de = readdir(d);
                if (!de)
                        return -errno;

                r = list_entry(base_fd, base, de, names, odd);
                if (r < 0)
                        return r;
        }
}

int profile_list(const Settings *settings, char ***ret_names, char ***ret_odd) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = open(settings->profiles_base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
                return -errno;

        if (fd >= 0) {
                r = list_directory(fd, settings->profiles_base, &names, &odd);
                if (r < 0)
                        return r;
        }

        if (names)
                qsort(names, strv_length(names), sizeof(char *), compare_names);
        if (odd)
                qsort(odd, strv_length(odd), sizeof(char *), compare_names);

        *ret_names = TAKE_PTR(names);
        *ret_odd = TAKE_PTR(odd);
        return 0;
}
