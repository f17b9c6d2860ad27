/* SPDX-License-Identifier: MIT */

/* From `.git` to the directories behind it. Four layouts (gitrepository-layout(5)):
 *
 *   .git/                                    an ordinary repository
 *   .git → <common>/worktrees/<id>           a linked worktree; there, `gitdir` names .git, `commondir` names <common>
 *   .git → <super>/.git/modules/<name>       a submodule; its config's core.worktree names the work tree
 *   none                                     no repository
 *
 * Everything read here may have been written by a guest. No link is followed inside the work root, and a git directory
 * outside of it counts only if it names this work tree itself. */

#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/git-config.h"
#include "launch/git-dir.h"

#define POINTER_MAX (4096 + 16)

/* `path` against `base` if relative, all links resolved. NULL with errno. */
static char *resolve(const char *base, const char *path) {
        _cleanup_free_ char *full = NULL;

        full = path[0] == '/' ? strdup(path) : path_join(base, path);
        return full ? realpath(full, NULL) : NULL;
}

/* A file of one line, such as `gitdir`. */
static int read_pointer(int dir_fd, const char *name, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = io_read_file_at(dir_fd, name, POINTER_MAX, &text, &n);
        if (r < 0)
                return r;

        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
                text[--n] = '\0';
        if (n == 0 || strlen(text) != n)
                return -EBADMSG;

        *ret = TAKE_PTR(text);
        return 0;
}

/* The value of `key` in the config file `name`, without includes (git reads none for these keys either); NULL if unset. */
static int config_get(int git_fd, const char *name, const char *key, char **ret) {
        _cleanup_free_ char *text = NULL, *value = NULL;
        size_t n;
        int r;

        *ret = NULL;
        r = io_read_file_at(git_fd, name, GIT_CONFIG_MAX, &text, &n);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (strlen(text) != n)
                return -EBADMSG;
        /* Neither git is needed then, nor its few milliseconds. A key can be written in no other way, but for its case. */
        if (!strcasestr(text, strchr(key, '.') + 1))
                return 0;

        r = git_config_ask(text, "--get", key, &value, &n);
        if (r <= 0)
                return r;

        *ret = TAKE_PTR(value);
        return 0;
}

static int say_bad_config(const char *git_dir, const char *name, int error) {
        _cleanup_free_ char *shown = str_escape(git_dir);
        const char *dir = shown ?: "?";

        if (error == -ELOOP)
                return log_error(error, "%s/%s is a symbolic link, which a sandbox could have put there. "
                                "Replace it by the file that it names.", dir, name);
        if (error == -ENOTREG)
                return log_error(error, "%s/%s is no file. Remove it.", dir, name);
        if (error == -EBADMSG)
                return log_error(error, "%s/%s is no configuration that git could read. Look at it, and repair it.", dir, name);
        if (error == -ENOENT)
                return log_error(error, "%s/%s sets core.worktree, and git is not installed to read it. Install git.", dir, name);

        return log_error(error, "Cannot read %s/%s", dir, name);
}

/* Whether the config file names `work_root` in core.worktree: 1; 0 when it has no such key; another place is an error. */
static int check_config(const char *git_dir, int git_fd, const char *name, const char *work_root) {
        _cleanup_free_ char *value = NULL, *real = NULL, *shown = NULL, *shown_dir = NULL;
        int r;

        r = config_get(git_fd, name, "core.worktree", &value);
        if (r < 0)
                return say_bad_config(git_dir, name, r);
        if (!value)
                return 0;

        real = resolve(git_dir, value);
        if (real && streq(real, work_root))
                return 1;

        shown = str_escape(value);
        shown_dir = str_escape(git_dir);
        return log_error(-EPERM, "%s/%s sets core.worktree to %s, which is another place than its work tree. "
                        "If you did not set it, a sandbox may have: look at the file, then remove the line.",
                        shown_dir ?: "?", name, shown ?: "?");
}

/* Both files that can say where the work tree of `git_dir` is. 1: one of them names `work_root`; 0; or an error. */
static int check_core_worktree(const char *git_dir, int git_fd, const char *work_root) {
        int config, worktree;

        config = check_config(git_dir, git_fd, "config", work_root);
        if (config < 0)
                return config;
        worktree = check_config(git_dir, git_fd, "config.worktree", work_root);
        return worktree < 0 ? worktree : config || worktree;
}

/* The common directory's own core.worktree is about another work tree and means nothing in a linked one, but with
 * extensions.worktreeConfig git obeys it there, too. */
static int check_common_config(const char *common, const char *work_root) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *value = NULL;
        bool on = true;
        int r;

        fd = open(common, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return log_error(-errno, "Cannot open the common directory of the git worktree %s", work_root);

        r = config_get(fd, "config", "extensions.worktreeConfig", &value);
        if (r < 0)
                return say_bad_config(common, "config", r);
        if (!value || (parse_bool(value, &on) >= 0 && !on))
                return 0;

        return check_config(common, fd, "config", work_root);
}

/* A linked worktree: <common>/worktrees/<id> must name our .git file, and its commondir the directory above it. Returns 1
 * with the common directory, 0 when `git_dir` is no worktree's. */
static int check_worktree(const char *git_dir, int git_fd, const char *dot_git, char **ret_common) {
        _cleanup_free_ char *back = NULL, *common = NULL, *back_real = NULL, *common_real = NULL, *worktrees = NULL;
        const char *rest;
        int r;

        r = read_pointer(git_fd, "commondir", &common);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        r = read_pointer(git_fd, "gitdir", &back);
        if (r < 0)
                return r;

        back_real = resolve(git_dir, back);
        common_real = resolve(git_dir, common);
        if (!back_real || !common_real || !streq(back_real, dot_git))
                return -EPERM;

        worktrees = path_join(common_real, "worktrees/");
        if (!worktrees)
                return -ENOMEM;
        rest = str_after_prefix(git_dir, worktrees);
        if (!rest || *rest == '\0' || strchr(rest, '/'))
                return -EPERM;

        *ret_common = TAKE_PTR(common_real);
        return 1;
}

static int follow_git_file(const char *work_root, int root_fd, const char *dot_git, char **ret_outside) {
        _cleanup_free_ char *pointer = NULL, *git_dir = NULL, *common = NULL, *shown = NULL, *shown_dir = NULL;
        struct stat st;
        _cleanup_close_ int git_fd = -EBADF;
        const char *target;
        int r, here;

        shown = str_escape(dot_git);
        if (!shown)
                return log_oom();

        r = read_pointer(root_fd, ".git", &pointer);
        if (r < 0 && r != -EBADMSG)
                return log_error(r, "Cannot read %s", shown);
        target = r < 0 ? NULL : str_after_prefix(pointer, "gitdir: ");
        if (str_is_empty(target))
                return log_error(-EBADMSG, "%s does not say \"gitdir: …\", so it is no repository's. Remove or repair it.", shown);

        git_dir = resolve(work_root, target);
        if (!git_dir)
                return log_error(-errno, "The git directory that %s names does not exist. Repair it (git worktree repair).", shown);
        shown_dir = str_escape(git_dir);
        git_fd = open(git_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (git_fd < 0 || !shown_dir || fstat(git_fd, &st) < 0)
                return log_error(-errno, "Cannot open the git directory %s", shown_dir ?: "?");
        if (st.st_uid != geteuid())
                return log_error(-EPERM, "The git directory %s belongs to another user; it is not mounted.", shown_dir);

        here = check_core_worktree(git_dir, git_fd, work_root);
        if (here < 0)
                return here;

        r = check_worktree(git_dir, git_fd, dot_git, &common);
        if (r > 0) {
                r = check_common_config(common, work_root);
                if (r < 0)
                        return r;
        } else if (r == 0) {
                if (!here && !path_is_within(git_dir, work_root))
                        r = -EPERM;
                common = TAKE_PTR(git_dir);
        }
        if (r < 0)
                return log_error(r, "%s names the git directory %s, which does not name it back: a sandbox could have written that. "
                                "It is not mounted. If it is right, say so there: git worktree repair, or for a directory of "
                                "--separate-git-dir, git config core.worktree.", shown, shown_dir);

        if (!path_is_within(common, work_root))
                *ret_outside = TAKE_PTR(common);
        return 0;
}

/* `.git` is a directory: all of the repository is in it, unless somebody says otherwise. */
static int check_git_directory(int root_fd, const char *work_root, const char *dot_git, const char *shown) {
        _cleanup_close_ int git_fd = -EBADF;
        struct stat st;
        int r;

        git_fd = openat(root_fd, ".git", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (git_fd < 0)
                return log_error(-errno, "Cannot open %s", shown);

        /* Only a linked worktree has one; git would obey it here, and take configuration from wherever it points. */
        if (fstatat(git_fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) >= 0)
                return log_error(-EPERM, "%s/commondir points to another git directory, and a repository of its own has no such file. "
                                "If you did not make it, a sandbox may have: look at it, then remove it.", shown);

        r = check_core_worktree(dot_git, git_fd, work_root);
        return r < 0 ? r : 0;
}

int git_dir_find(const char *work_root, char **ret_outside) {
        _cleanup_free_ char *dot_git = NULL, *shown = NULL;
        _cleanup_close_ int root_fd = -EBADF;
        struct stat st;

        dot_git = path_join(work_root, ".git");
        shown = dot_git ? str_escape(dot_git) : NULL;
        if (!shown)
                return log_oom();

        root_fd = open(work_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (root_fd < 0)
                return log_error(-errno, "Cannot open the work root of %s", shown);
        if (fstatat(root_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : log_error(-errno, "Cannot look at %s", shown);

        if (S_ISLNK(st.st_mode))
                return log_error(-ELOOP, "%s is a symbolic link, which a sandbox could have put there. "
                                "Replace it by a file that says \"gitdir: …\" or by the directory itself.", shown);
        if (S_ISREG(st.st_mode))
                return follow_git_file(work_root, root_fd, dot_git, ret_outside);
        if (S_ISDIR(st.st_mode))
                return check_git_directory(root_fd, work_root, dot_git, shown);

        return log_error(-EPERM, "%s is neither a directory nor a file. Remove it.", shown);
}
