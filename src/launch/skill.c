/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/skill.h"

#define SYSTEM "system="
#define SYSTEM_MAX 100

static const struct {
        const char *command, *purpose;
} tools[] = {
        { "awk", "text by fields" },
        { "aws", "Amazon Web Services" },
        { "bk", "Buildkite" },
        { "bun", "JavaScript and TypeScript" },
        { "cargo", "Rust: build and test" },
        { "cc", "C: compile" },
        { "clang", "C and C++: compile" },
        { "cmake", "C and C++: build" },
        { "curl", "HTTP and other transfers" },
        { "deno", "JavaScript and TypeScript" },
        { "diff", "compare files" },
        { "fd", "find files by name, fast" },
        { "file", "what a file is" },
        { "find", "find files" },
        { "gcc", "C: compile" },
        { "gh", "GitHub: pull requests, issues, API" },
        { "git", "version control" },
        { "glab", "GitLab" },
        { "go", "Go: build and test" },
        { "gpg", "signatures and encryption" },
        { "helm", "Kubernetes packages" },
        { "infisical", "secrets kept by Infisical" },
        { "java", "run Java" },
        { "jq", "query and change JSON" },
        { "kubectl", "Kubernetes" },
        { "make", "build by a Makefile" },
        { "meson", "C and C++: build" },
        { "ninja", "build what meson or cmake wrote" },
        { "node", "JavaScript" },
        { "npm", "JavaScript packages" },
        { "patch", "apply a diff" },
        { "perl", "Perl" },
        { "pip", "Python packages" },
        { "pnpm", "JavaScript packages" },
        { "podman", "containers, in a sandbox that is a microVM" },
        { "psql", "PostgreSQL" },
        { "pulumi", "infrastructure by Pulumi" },
        { "python3", "Python" },
        { "rg", "search in files, fast" },
        { "ruby", "Ruby" },
        { "rustc", "Rust: compile" },
        { "rsync", "copy directories" },
        { "shellcheck", "check shell scripts" },
        { "sqlite3", "SQLite" },
        { "ssh", "other machines" },
        { "tar", "archives" },
        { "terraform", "infrastructure by Terraform" },
        { "tmux", "terminals that go on" },
        { "tree", "show a directory tree" },
        { "unzip", "unpack zip files" },
        { "uv", "Python packages and environments" },
        { "wget", "HTTP downloads" },
        { "xz", "compress" },
        { "yarn", "JavaScript packages" },
        { "yq", "query and change YAML" },
        { "zstd", "compress" },
};

static const struct {
        const char *command, *line;
} installers[] = {
        { "apt-get", "sudo apt-get update && sudo apt-get install -y PACKAGE" },
        { "dnf", "sudo dnf install -y PACKAGE" },
};

int skill_probe_script(char **ret) {
        size_t n;
        FILE *f;

        f = open_memstream(ret, &n);
        if (!f)
                return -ENOMEM;

        (void) fputs("for c in", f);
        for (size_t i = 0; i < ELEMENTSOF(tools); i++)
                (void) fprintf(f, " %s", tools[i].command);
        for (size_t i = 0; i < ELEMENTSOF(installers); i++)
                (void) fprintf(f, " %s", installers[i].command);
        (void) fputs("; do if command -v $c >/dev/null; then echo $c; fi; done\n"
                     "if . /etc/os-release; then echo \"" SYSTEM "$PRETTY_NAME\"; fi 2>/dev/null\n", f);

        return fclose(f) == 0 ? 0 : -ENOMEM;
}

static void print_tools(FILE *f, char *const *found) {
        (void) fputs("| command | what for |\n| --- | --- |\n", f);
        for (size_t i = 0; i < ELEMENTSOF(tools); i++)
                if (strv_contains(found, tools[i].command))
                        (void) fprintf(f, "| `%s` | %s |\n", tools[i].command, tools[i].purpose);
}

static void print_missing(FILE *f, char *const *found) {
        const char *separator = "\nNot there: ";

        for (size_t i = 0; i < ELEMENTSOF(tools); i++)
                if (!strv_contains(found, tools[i].command)) {
                        (void) fprintf(f, "%s`%s`", separator, tools[i].command);
                        separator = ", ";
                }
        if (*separator == ',')
                (void) fputs(".\n", f);

        for (size_t i = 0; i < ELEMENTSOF(installers); i++)
                if (strv_contains(found, installers[i].command))
                        (void) fprintf(f, "\nWhat is missing can be installed, and is gone when the session ends: `%s`.\n", installers[i].line);
}

int skill_render(const char *image, const char *output, char **ret) {
        _cleanup_free_ char *system = NULL, *shown = str_escape(image);
        _cleanup_strv_ char **lines = NULL;
        size_t n;
        FILE *f;

        if (!shown || strv_split(output, '\n', &lines) < 0)
                return -ENOMEM;
        if (strv_length(lines) == 0)
                return -ENODATA;
        STRV_FOREACH(line, lines) {
                const char *name = str_after_prefix(*line, SYSTEM);

                if (name && !system)
                        system = str_escape_n(name, strlen(name), SYSTEM_MAX);
        }

        f = open_memstream(ret, &n);
        if (!f)
                return -ENOMEM;

        (void) fprintf(f, "---\nname: sandbox-tools\ndescription: Which command line tools there are in the claude-profile sandbox, and how to "
                        "install another. Read it before you look for a tool or install one, in a sandbox.\n---\n\n# Tools in the sandbox\n\n"
                        "Only where `/run/claude-sandbox` exists. The image is `%s`%s%s.\n\n", shown, system ? ", " : "", system ?: "");
        print_tools(f, lines);
        print_missing(f, lines);

        return fclose(f) == 0 ? 0 : -ENOMEM;
}
