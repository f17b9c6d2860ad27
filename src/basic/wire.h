/* SPDX-License-Identifier: MIT */
#pragma once

/* What guest and bridge say to each other, and what launcher and guest agree on. Both sides include this page and nothing
 * else of each other.
 *
 * Handshake: one TCP connection is one request. The client's first line is "<token> <service>\n"; all that follows belongs
 * to the service. The bridge answers nothing to a line that it does not accept: it closes. The same line as the Python
 * tool of this name sends, so that old images work. */

#include "basic/macro.h"

#define WIRE_TOKEN_BYTES 32
#define WIRE_TOKEN_LENGTH (2 * WIRE_TOKEN_BYTES)      /* lower-case hexadecimal digits */
#define WIRE_LINE_MAX 4096                             /* bytes of the first line, its newline included */
#define WIRE_SERVICE_MAX 32                            /* bytes of a service name, its NUL included */
#define WIRE_SSH_AGENTS_MAX 8                          /* ssh-0 … ssh-7 */
#define WIRE_HANDSHAKE_USEC (5 * USEC_PER_SEC)         /* for the whole line, from the connection on */
#define WIRE_SERVICES_MAX (WIRE_SSH_AGENTS_MAX + 4)    /* of a launch: agents, and one of each other kind */

typedef enum ServiceKind {
        SERVICE_SSH, /* ssh-N: the N-th ssh-agent of the host */
        SERVICE_GPG, /* the restricted ("extra") socket of the host's gpg-agent */
        SERVICE_CLIPBOARD, /* reads the host's clipboard */
        SERVICE_OPEN,      /* opens one of claude's own pages in the host's browser */
        SERVICE_CHROME,    /* claude's native-messaging host */
        _SERVICE_KIND_MAX,
        _SERVICE_KIND_INVALID = -EINVAL,
} ServiceKind;

typedef struct ServiceId {
        ServiceKind kind;
        unsigned index; /* of SERVICE_SSH; 0 otherwise */
} ServiceId;

/* Parses a service name of `n` bytes, to the letter ("ssh-0", not "ssh-00"). Returns 0 or -EINVAL. */
int service_parse(const char *name, size_t n, ServiceId *ret);

/* Prints the name into `buf` (WIRE_SERVICE_MAX bytes) and returns it. */
const char *service_format(ServiceId id, char *buf);

/* `clipboard` and `open` go on with one more line, the question: arguments of wl-paste(1) with blanks between, or a URL. The
 * answer is a line, and of a clipboard its contents behind WIRE_YES; then the bridge closes. Whether these are whole the end of
 * the connection does not tell, since pasta makes an ordinary end of every end; so who adds WIRE_WITH_LENGTH to the arguments
 * gets, in place of WIRE_YES, WIRE_YES_LENGTH, a decimal number of bytes and a newline. */
#define WIRE_QUESTION_MAX 4096 /* bytes of the question, its newline included */
#define WIRE_YES "OK\n"
#define WIRE_WITH_LENGTH "--with-length"
#define WIRE_YES_LENGTH "OK "
#define WIRE_NO "NO\n"       /* of `open` */
#define WIRE_ERROR "ERR "    /* of `clipboard`: why follows, a few words, and the line ends */
#define WIRE_REASON_MAX 32   /* bytes of that, its NUL included */
#define WIRE_REASON_STATUS "exit " /* of the reason: the host's program failed, with the status that follows */

/* The guest's contract: places inside the sandbox. */
#define GUEST_RUN "/run/claude-sandbox"                 /* a tmpfs of the sandbox's own */
#define GUEST_BIN GUEST_RUN "/bin"                      /* the guest program and its applets, read-only */
#define GUEST_PROGRAM GUEST_BIN "/claude-sandbox-guest"
#define GUEST_APPLETS { "bridge-connect", "wl-paste", "google-chrome", "google-chrome-stable", "podman", "docker" } /* links in GUEST_BIN */
#define GUEST_LAUNCH GUEST_RUN "/launch"                /* read-only view of the launch directory's guest/ */
#define GUEST_BRIDGE_FILE GUEST_RUN "/bridge"           /* 0600, the guest user's: how to reach the bridge */
#define GUEST_USER "appuser"
#define GUEST_UID 1000
#define GUEST_HOME "/home/appuser"
#define GUEST_CLAUDE_DIR GUEST_HOME "/.claude"
#define GUEST_GNUPG_DIR GUEST_HOME "/.gnupg"
#define GUEST_NATIVE_CLAUDE "/opt/claude-host/claude"
#define GUEST_IMAGE_STORE "/opt/claude-host/image-store"
#define GUEST_STORAGE_CONF "/etc/containers/storage.conf"
#define FUSE_OVERLAYFS "/usr/bin/fuse-overlayfs"        /* on the host, too */
#define GUEST_CHROME_SOCKET "/tmp/claude-mcp-browser-bridge-" GUEST_USER "/host.sock" /* where claude looks for its native host */

/* Files in the launch directory's guest/, seen by the guest in GUEST_LAUNCH. Lists are NUL-terminated strings one behind
 * the other, so that any value fits.
 *   environment  NAME=VALUE…, for the command only
 *   command      the command and its arguments
 *   bridge       lines "address=", "port=", "token=", "services=ssh-0,gpg"; absent without a bridge
 *   gpg-keys     the public keys, as `gpg --export` prints them; absent without gpg
 *   go           appears, by rename, when the launcher has checked the mounts. The entry point waits for it; that it
 *                opens the file tells the launcher (inotify) that the guest program has taken over from podman. */
#define LAUNCH_FILE_ENVIRONMENT "environment"
#define LAUNCH_FILE_COMMAND "command"
#define LAUNCH_FILE_BRIDGE "bridge"
#define LAUNCH_FILE_GPG_KEYS "gpg-keys"
#define LAUNCH_FILE_GO "go"

/* In the guest's environment, by podman's argv (no secret): the bridge's port, and "guest path=service,…". */
#define GUEST_ENV_BRIDGE_PORT "CLAUDE_SANDBOX_BRIDGE_PORT"
#define GUEST_ENV_FORWARDS "CLAUDE_SANDBOX_FORWARDS"
/* Likewise, and for the entry point alone: the file with all certificate authorities that the host trusts, if it is mounted. */
#define GUEST_ENV_TRUST "CLAUDE_SANDBOX_TRUST"
/* Likewise: MiB of a microVM's memory. Absent where the guest shares the host's kernel. */
#define GUEST_ENV_RAM "CLAUDE_SANDBOX_RAM_MIB"
