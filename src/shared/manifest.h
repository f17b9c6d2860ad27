/* SPDX-License-Identifier: MIT */
#pragma once

/* launch.json: what the launcher tells the bridge of its launch, handed over as a systemd credential. */

#include "basic/macro.h"
#include "basic/wire.h"

typedef struct ManifestService {
        ServiceId id;
        char *path; /* the host's Unix socket; of `chrome` the directory with them; NULL for what the supervisor does */
} ManifestService;

typedef struct Manifest {
        char *profile;
        char *id;      /* of the launch: 8 lower-case hexadecimal digits */
        char *cgroup;  /* the scope's control group below the mount of cgroup2, "/user.slice/…/claude-sandbox-work-….scope" */
        char token[WIRE_TOKEN_LENGTH + 1];
        ManifestService *services;
        size_t n_services;
        char **ssh_keys; /* which keys of the ssh-agents (ssh-key.h); NULL: all */
} Manifest;

#define MANIFEST_SIZE_MAX (64 * KIB)

/* Whether a service of that kind has a path: `clipboard` and `open` have none. */
bool service_has_path(ServiceKind kind);

/* Prints as JSON; the caller frees (and should explicit_bzero() first). Returns 0 or negative errno. */
int manifest_format(const Manifest *m, char **ret);

/* Parses and checks everything: names, lengths, absolute paths, no service twice, no unknown key. Returns 0, -ENOMEM, or
 * -EBADMSG with a sentence in `*ret_error`. */
int manifest_parse(const char *text, size_t n, Manifest **ret, char **ret_error);

Manifest *manifest_free(Manifest *m);
DEFINE_CLEANUP(Manifest *, manifest_free);
#define _cleanup_manifest_ _cleanup_(manifest_freep)
