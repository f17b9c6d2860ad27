/* SPDX-License-Identifier: MIT */

/* claude-sandbox-guest: one static program, mounted from the host, that plays every role in the sandbox. It
 * is the applet that it is called as; called by its own name it is the applet that its first argument names,
 * and without arguments it is the container's entry point. */

#include <stdio.h>

#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "config.h"
#include "guest/applet.h"
#include "guest/build-id.h"

#define PROGRAM "claude-sandbox-guest"

typedef struct Applet {
        const char *name;
        int (*run)(int argc, char **argv);
} Applet;

static const Applet applets[] = {
        { "entry", applet_entry },
        { "bridge-connect", applet_bridge_connect },
        { "wl-paste", applet_wl_paste },
        { "google-chrome", applet_browser },
        { "google-chrome-stable", applet_browser },
        { "podman", applet_podman },
        { "docker", applet_podman },
};

static const Applet *applet_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(applets); i++)
                if (streq(applets[i].name, name))
                        return &applets[i];
        return NULL;
}

static int print_version(void) {
        char id[BUILD_ID_MAX];

        return printf("%s %s %s\n", PROGRAM, PROJECT_VERSION, build_id_get(id)) < 0;
}

static int print_usage(void) {
        fputs("Usage: " PROGRAM " [APPLET [ARGUMENT…]]\n\nApplets:", stderr);
        for (size_t i = 0; i < ELEMENTSOF(applets); i++)
                fprintf(stderr, " %s", applets[i].name);
        fputs("\nWithout one it is the entry point of a sandbox.\n", stderr);
        return 2;
}

int main(int argc, char **argv) {
        char entry[] = "entry", *entry_argv[] = { entry, NULL };
        const Applet *applet;

        if (argc > 0) {
                applet = applet_find(path_last(argv[0]));
                if (applet)
                        return applet->run(argc, argv);
        }

        if (argc < 2)
                return applet_entry(1, entry_argv);
        if (streq(argv[1], "--version"))
                return print_version();

        applet = applet_find(argv[1]);
        return applet ? applet->run(argc - 1, argv + 1) : print_usage();
}
