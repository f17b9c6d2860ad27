/* SPDX-License-Identifier: MIT */

/* podman and what it runs containers with. All but the first check believe what `podman info` said. */

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/doctor.h"
#include "shared/podman.h"

#define VERSION_MIN 5
#define SECONDS 10
#define IMAGE_DAYS_MAX 90
#define IDS_MIN 65536
#define BUILD "claude-profile build"
#define INSTALL_PODMAN "Install podman 5 or newer, or set CLAUDE_PROFILE_PODMAN_BIN."
#define INSTALL_PASTA "Install the package passt."
#define INSTALL_KRUN "Install crun-krun and libkrun, or set Isolation=container (weaker)."
#define LOAD_KVM "sudo modprobe -a kvm_intel kvm_amd   # if the firmware lets them"

/* A string of podman info, or "". */
static const char *info_string(const Doctor *d, const char *path) {
        return json_value_string(doctor_info(d, path)) ?: "";
}

/* What it says stands on standard error, so that is left out of what is parsed. */
static int load_info(Doctor *d, const char *version, CheckResult *ret) {
        char *const argv[] = { d->settings->podman_bin, (char *) "info", (char *) "--format=json", NULL };
        _cleanup_free_ char *output = NULL, *why = NULL;
        int r;

        r = doctor_run(argv, d->podman_env, SECONDS, false, &output);
        if (r == -ENOMEM)
                return r;
        if (r == 0)
                d->podman_info = json_tokener_parse(output);
        if (d->podman_info)
                return check_ok(ret, "version %s", version);

        why = r == 0 ? strdup("says nothing of use") : doctor_why(r, SECONDS, NULL);
        return why ? check_failed(ret, "See what it says: podman --log-level=debug info", "version %s, but podman info %s", version, why)
                   : -ENOMEM;
}

int check_podman(Doctor *d, CheckResult *ret) {
        char *const argv[] = { d->settings->podman_bin, (char *) "--version", NULL };
        _cleanup_free_ char *output = NULL, *why = NULL;
        const char *version;
        int r;

        if (podman_environment(&d->podman_env) < 0)
                return -ENOMEM;

        r = doctor_run(argv, d->podman_env, SECONDS, true, &output);
        if (r == -ENOENT)
                return check_failed(ret, INSTALL_PODMAN, "there is no %s%s", argv[0], strchr(argv[0], '/') ? "" : " in PATH");
        if (r != 0) {
                why = doctor_why(r, SECONDS, output);
                return why ? check_failed(ret, "See what it says: podman --log-level=debug info", "%s --version %s", argv[0], why)
                           : -ENOMEM;
        }

        version = strrchr(output, ' ');
        version = version ? version + 1 : output;
        if (strtoul(version, NULL, 10) < VERSION_MIN)
                return check_failed(ret, INSTALL_PODMAN, "%s is version %s", argv[0], version);

        return load_info(d, version, ret);
}

int check_runtime(Doctor *d, CheckResult *ret) {
        const char *name = info_string(d, "host.ociRuntime.name"), *version = info_string(d, "host.ociRuntime.version");

        if (!streq(name, "crun") && !streq(name, "krun") && d->settings->isolation == ISOLATION_KRUN)
                return check_failed(ret, INSTALL_KRUN, "it is %s, and only crun can start microVMs", *name ? name : "not known");

        return check_ok(ret, "%.*s", (int) strcspn(*version ? version : name, "\n"), *version ? version : name);
}

/* How many ids the map has that podman makes of /etc/subuid or /etc/subgid. */
static uint64_t count_ids(const Doctor *d, const char *map) {
        Json *ranges = doctor_info(d, map), *size;
        uint64_t n = 0;

        if (!json_object_is_type(ranges, json_type_array))
                return 0;
        for (size_t i = 0; i < json_object_array_length(ranges); i++)
                if (json_object_object_get_ex(json_object_array_get_idx(ranges, i), "size", &size))
                        n += json_object_get_uint64(size);

        return n;
}

/* The first id that nobody has in /etc/subuid or /etc/subgid, "name:first:count" each line: two users with the same ids would own each
 * other's containers' files. */
static uint64_t first_free_id(void) {
        static const char *const files[] = { "/etc/subuid", "/etc/subgid" };
        uint64_t free_id = 100000;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *text = NULL;
                char *save = NULL;

                if (io_read_file_at(AT_FDCWD, files[i], MIB, &text, NULL) < 0)
                        continue;
                for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                        unsigned long long first, count;

                        if (sscanf(line, "%*[^:]:%llu:%llu", &first, &count) == 2 && first < UINT32_MAX && count < UINT32_MAX)
                                free_id = MAX(free_id, first + count);
                }
        }

        return free_id;
}

int check_user_ids(Doctor *d, CheckResult *ret) {
        const uint64_t uids = count_ids(d, "host.idMappings.uidmap"), gids = count_ids(d, "host.idMappings.gidmap");
        const struct passwd *pw = getpwuid(getuid());
        const unsigned long long first = first_free_id(), last = first + IDS_MIN - 1;
        _cleanup_free_ char *remedy = NULL;

        if (!json_object_get_boolean(doctor_info(d, "host.security.rootless")))
                return check_failed(ret, "Use claude-profile as an ordinary user.", "podman runs as root, and sandboxes do not");
        if (MIN(uids, gids) > IDS_MIN)
                return check_ok(ret, "%llu user and %llu group ids", (unsigned long long) uids, (unsigned long long) gids);

        if (asprintf_to(&remedy, "sudo usermod --add-subuids %llu-%llu --add-subgids %llu-%llu %s && podman system migrate",
                            first, last, first, last, pw ? pw->pw_name : "USER") < 0)
                return -ENOMEM;
        return check_failed(ret, remedy, "%llu user and %llu group ids, too few (/etc/subuid, /etc/subgid)", (unsigned long long) uids,
                        (unsigned long long) gids);
}

/* When it was built, in seconds since the epoch; 0: not known. */
static uint64_t image_time(const Doctor *d) {
        char *const argv[] = { d->settings->podman_bin, (char *) "image", (char *) "inspect", (char *) "--format={{.Created.Unix}}",
                (char *) "--", d->settings->image, NULL };
        _cleanup_free_ char *output = NULL;
        uint64_t seconds = 0;

        if (doctor_run(argv, d->podman_env, SECONDS, false, &output) != 0 || parse_uint(output, 1, INT64_MAX, &seconds) < 0)
                return 0;
        return seconds;
}

int check_image(Doctor *d, CheckResult *ret) {
        const PodmanAccess access = { .program = d->settings->podman_bin, .environment = d->podman_env };
        const char *image = d->settings->image;
        uint64_t built, now = (uint64_t) time(NULL), days;
        int r;

        r = podman_image_exists(&access, image);
        if (r < 0)
                return r == -ENOMEM ? r : check_failed(ret, "podman images", "podman does not say whether %s is there (%s)", image, strerror(-r));
        if (r == 0)
                return check_failed(ret, BUILD, "there is no %s", image);

        built = image_time(d);
        if (built == 0)
                return check_ok(ret, "%s", image);

        days = now > built ? (now - built) / (24 * 60 * 60) : 0;
        if (days > IMAGE_DAYS_MAX)
                return check_warning(ret, BUILD " --no-cache", "%s is %llu days old", image, (unsigned long long) days);
        return days == 0 ? check_ok(ret, "%s, built today", image)
                         : check_ok(ret, "%s, %llu day%s old", image, (unsigned long long) days, days == 1 ? "" : "s");
}

/* pasta is really started, in a name space of its own, with the options that a launch with a bridge needs. */
int check_network(Doctor *d, CheckResult *ret) {
        const bool krun = d->settings->isolation == ISOLATION_KRUN;
        const char *option = krun ? "--map-host-loopback" : "-T", *value = krun ? "169.254.1.2" : "7001";
        const char *known = info_string(d, "host.pasta.executable"), *program = *known ? known : "pasta";
        _cleanup_free_ char *output = NULL, *why = NULL;
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add_many(&argv, program, "--config-net", "--quiet", "-t", "none", "-u", "none", "-U", "none", option, value, "--", "true", NULL);
        if (r < 0)
                return r;

        r = doctor_run(argv, d->podman_env, SECONDS, true, &output);
        if (r == 0)
                return check_ok(ret, "%s starts with %s", program, option);

        why = doctor_why(r, SECONDS, output);
        if (!why)
                return -ENOMEM;
        return check_failed(ret, r == -ENOENT ? INSTALL_PASTA : "See what it says: pasta --config-net -- true",
                        "%s %s %s %s", program, option, value, why);
}

int check_kvm(Doctor *d, CheckResult *ret) {
        _cleanup_close_ int fd = -EBADF;
        int version;

        if (d->settings->isolation != ISOLATION_KRUN)
                return check_skipped(ret, "isolation is container: sandboxes share this machine's kernel");

        fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return check_failed(ret, errno == EACCES ? "sudo usermod --append --groups kvm $USER   # and log in again" :
                                LOAD_KVM, "/dev/kvm cannot be used: %s", strerror(errno));

        version = ioctl(fd, KVM_GET_API_VERSION, 0);
        return version == KVM_API_VERSION ? check_ok(ret, "/dev/kvm works")
                                          : check_failed(ret, LOAD_KVM, "/dev/kvm is no KVM");
}

/* crun loads libkrun when it starts a microVM, so that it was built for it is not enough. */
int check_krun(Doctor *d, CheckResult *ret) {
        void *library;

        if (d->settings->isolation != ISOLATION_KRUN)
                return check_skipped(ret, "isolation is container");
        if (!strstr(info_string(d, "host.ociRuntime.version"), "+LIBKRUN"))
                return check_failed(ret, INSTALL_KRUN, "%s was built without", info_string(d, "host.ociRuntime.path"));

        library = dlopen("libkrun.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (!library)
                return check_failed(ret, INSTALL_KRUN, "crun has it, but there is no libkrun.so.1");
        (void) dlclose(library);
        return check_ok(ret, "crun has it, and libkrun is there");
}
