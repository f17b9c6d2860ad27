/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/random.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "config.h"
#include "launch/guest-program.h"
#include "launch/launch-files.h"
#include "shared/copy-tree.h"
#include "shared/json-object.h"
#include "shared/manifest.h"
#include "shared/mkdir.h"
#include "shared/replace-file.h"

#define GO_HIDDEN "guest/." LAUNCH_FILE_GO
#define GUARDS_PROGRAM PKGLIBEXECDIR "/claude-sandbox-guards"
#define GO_SHOWN "guest/" LAUNCH_FILE_GO

/* Where the bridge is, as the guest sees it. */
static const char *bridge_address(const Plan *p) {
        return p->request->settings->isolation == ISOLATION_KRUN ? "169.254.1.2" : "127.0.0.1";
}

static int write_tree(const PlanTree *t, int dir_fd) {
        _cleanup_close_ int source_fd = -EBADF, own_fd = -EBADF;
        int r;

        if (!t->source)
                return mkdirat(dir_fd, t->name, 0700) < 0 ? -errno : 0;

        source_fd = io_open_no_links(t->source);
        r = source_fd < 0 ? source_fd : copy_tree_at(source_fd, dir_fd, t->name);
        if (r < 0 || !t->locked)
                return r;

        own_fd = openat(dir_fd, t->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (own_fd < 0)
                return -errno;
        r = io_write_new_at(own_fd, "locked", 0600, "not in this sandbox\n", STRLEN("not in this sandbox\n"));
        return r == -EEXIST ? 0 : r;
}

/* See oci-hooks(5). */
static int write_hook(const Plan *p, int dir_fd) {
        _cleanup_strv_ char **args = NULL;
        static char *const stages[] = { (char *) "createContainer", NULL };
        _cleanup_json_ Json *o = json_object_new_object(), *hook = json_object_new_object(), *when = json_object_new_object();
        int r;

        if (!o || !hook || !when)
                return -ENOMEM;

        r = strv_add_many(&args, "claude-sandbox-guards", p->launch_path, NULL);
        if (r >= 0)
                r = json_add_string(hook, "path", GUARDS_PROGRAM);
        if (r >= 0)
                r = json_add_strings(hook, "args", args);
        if (r >= 0)
                r = json_add(when, "always", json_object_new_boolean(true));
        if (r >= 0)
                r = json_add_string(o, "version", "1.0.0");
        if (r >= 0)
                r = json_add(o, "hook", TAKE_PTR(hook));
        if (r >= 0)
                r = json_add(o, "when", TAKE_PTR(when));
        if (r >= 0)
                r = json_add_strings(o, "stages", stages);
        if (r >= 0 && mkdirat(dir_fd, LAUNCH_FILE_HOOKS, 0700) < 0)
                r = -errno;

        return r < 0 ? r : json_write_new_at(dir_fd, LAUNCH_FILE_HOOKS "/guards.json", o);
}

static int write_guards(const Plan *p, int dir_fd) {
        int r;

        for (size_t i = 0; i < p->n_trees; i++) {
                _cleanup_free_ char *shown = NULL;

                r = write_tree(&p->trees[i], dir_fd);
                if (r >= 0)
                        continue;
                shown = str_escape(p->trees[i].source ?: p->trees[i].name);
                return log_error(r, "Cannot copy %s, which the sandbox must not have itself", shown ?: "?");
        }

        r = guard_list_write(dir_fd, &p->guards);
        if (r >= 0)
                r = write_hook(p, dir_fd);
        return r < 0 ? log_error(r, "Cannot write %s/" LAUNCH_FILE_GUARDS, p->launch_path) : 0;
}

int launch_files_write(const Plan *p, int dir_fd, const PodmanAccess *podman) {
        int r;

        if (mkdirat(dir_fd, "guest", 0700) < 0)
                return log_error(-errno, "Cannot write the launch directory %s", p->launch_path);

        for (size_t i = 0; i < p->n_files; i++) {
                const PlanFile *f = &p->files[i];

                r = io_write_new_at(dir_fd, f->name, 0600, f->data, f->size);
                if (r < 0)
                        return log_error(r, "Cannot write %s/%s", p->launch_path, f->name);
        }

        r = write_guards(p, dir_fd);
        if (r < 0)
                return r;
        r = io_write_new_at(dir_fd, LAUNCH_FILE_DIRECTORY, 0600, p->directory, strlen(p->directory));
        if (r < 0)
                return log_error(r, "Cannot write %s/" LAUNCH_FILE_DIRECTORY, p->launch_path);
        if (p->programs.browser || p->programs.paste) {
                r = host_programs_write(dir_fd, &p->programs);
                if (r < 0)
                        return log_error(r, "Cannot write %s/" LAUNCH_FILE_PROGRAMS, p->launch_path);
        }

        r = podman_access_write(dir_fd, podman);
        return r < 0 ? log_error(r, "Cannot write %s/" LAUNCH_FILE_CLEANUP, p->launch_path) : 0;
}

static int prepare_profile_data(const Plan *p) {
        _cleanup_close_ int fd = -EBADF, mark_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        r = asprintf_to(&path, "%s/profiles/%s", p->request->dirs->data, p->request->profile->name);
        if (r < 0)
                return log_oom();

        fd = mkdir_open(path);
        if (fd < 0)
                return log_error(fd, "Cannot make %s", path);
        if (mkdirat(fd, "ssh", 0700) < 0 && errno != EEXIST)
                return log_error(-errno, "Cannot make %s/ssh", path);
        mark_fd = openat(fd, "sandboxed", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (mark_fd < 0)
                return log_error(-errno, "Cannot make %s/sandboxed", path);

        return 0;
}

/* In the profile, on the host. */
static int create(const Plan *p, const PlanCreation *c) {
        const Profile *profile = p->request->profile;
        const TrustedThing *thing = c->thing;
        const char *text = thing->created ?: "";
        _cleanup_free_ char *shown = NULL;
        int r;

        if (!c->link) {
                r = io_write_new_at(profile->fd, thing->name, 0600, text, strlen(text));
                return r == -EEXIST ? 0 : r; /* another launch was quicker */
        }

        shown = str_escape(c->link);
        log_warning("%s/%s was a link to %s and is none any more: a sandbox could have made it. If you did, copy your file there.",
                        profile->path, thing->name, shown ?: "?");
        if (!thing->directory)
                return replace_file_at(profile->fd, thing->name, 0600, text, strlen(text));

        /* A directory by now: its guard lies over that one as well. */
        if (unlinkat(profile->fd, thing->name, 0) < 0 && errno != ENOENT && errno != EISDIR)
                return -errno;
        return mkdirat(profile->fd, thing->name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int create_in_profile(const Plan *p) {
        for (size_t i = 0; i < p->n_creations; i++) {
                int r;

                r = create(p, &p->creations[i]);
                if (r < 0)
                        return log_error(r, "Cannot make %s/%s, which must be guarded", p->request->profile->path,
                                        p->creations[i].thing->name);
        }

        return 0;
}

int launch_data_prepare(const Plan *p, int *ret_native_fd) {
        int r;

        r = guest_program_install(GUEST_PROGRAM_INSTALLED, p->guest_bin);
        if (r < 0)
                return log_error(r, "Cannot copy the guest program to %s", p->guest_bin);

        r = prepare_profile_data(p);
        if (r >= 0)
                r = create_in_profile(p);
        if (r < 0)
                return r;

        if (p->native.source) {
                r = native_claude_copy(&p->native, p->request->dirs);
                if (r < 0)
                        return log_error(r, "Cannot copy %s to %s", p->native.source, p->native.copy);
                *ret_native_fd = r;
        }

        return 0;
}

/* For the guest: address, port, token and services, a line each. */
static int format_guest_file(const Plan *p, const Manifest *m, uint16_t port, char **ret, size_t *ret_n) {
        char name[WIRE_SERVICE_MAX];
        FILE *f;

        f = open_memstream(ret, ret_n);
        if (!f)
                return -ENOMEM;

        (void) fprintf(f, "address=%s\nport=%u\ntoken=%s\nservices=", bridge_address(p), (unsigned) port, m->token);
        for (size_t i = 0; i < p->n_services; i++)
                (void) fprintf(f, "%s%s", i > 0 ? "," : "", service_format(p->services[i].id, name));
        (void) fputc('\n', f);

        return fclose(f) == 0 ? 0 : -ENOMEM;
}

static int manifest_make(const Plan *p, const char *scope_cgroup, Manifest **ret) {
        unsigned char token[WIRE_TOKEN_BYTES];
        _cleanup_manifest_ Manifest *m = NULL;
        int r;

        m = new0(Manifest, 1);
        if (!m)
                return -ENOMEM;

        r = random_bytes(token, sizeof(token));
        if (r < 0)
                return r;
        hex_encode(token, sizeof(token), m->token);
        explicit_bzero(token, sizeof(token));

        m->services = new0(ManifestService, p->n_services);
        if (!m->services || strdup_to(&m->profile, p->request->profile->name) < 0 || strdup_to(&m->id, p->id) < 0 ||
                        strdup_to(&m->cgroup, scope_cgroup) < 0 ||
                        strv_extend(&m->ssh_keys, p->request->settings->ssh_keys) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_services; i++) {
                m->services[i].id = p->services[i].id;
                if (strdup_to(&m->services[i].path, p->services[i].host_path) < 0)
                        return -ENOMEM;
                m->n_services++;
        }

        *ret = TAKE_PTR(m);
        return 0;
}

int launch_bridge_files_write(const Plan *p, int dir_fd, const char *scope_cgroup, uint16_t port) {
        _cleanup_manifest_ Manifest *m = NULL;
        char *json = NULL, *lines = NULL;
        size_t n = 0;
        int r;

        r = manifest_make(p, scope_cgroup, &m);
        if (r >= 0)
                r = manifest_format(m, &json);
        if (r >= 0)
                r = io_write_new_at(dir_fd, LAUNCH_FILE_MANIFEST, 0600, json, strlen(json));
        if (r >= 0)
                r = format_guest_file(p, m, port, &lines, &n);
        if (r >= 0)
                r = io_write_new_at(dir_fd, "guest/" LAUNCH_FILE_BRIDGE, 0600, lines, n);

        if (json)
                explicit_bzero(json, strlen(json));
        if (lines)
                explicit_bzero(lines, n);
        free(json);
        free(lines);
        return r < 0 ? log_error(r, "Cannot write the bridge's files into %s", p->launch_path) : 0;
}

int launch_go_prepare(int dir_fd) {
        int r;

        r = io_write_new_at(dir_fd, GO_HIDDEN, 0600, "go\n", 3);
        if (r < 0)
                return r;

        r = openat(dir_fd, GO_HIDDEN, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        return r < 0 ? -errno : r;
}

int launch_go_give(int dir_fd) {
        return renameat(dir_fd, GO_HIDDEN, dir_fd, GO_SHOWN) < 0 ? -errno : 0;
}
