/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "shared/notify.h"

static int send_text(const char *text, int flags) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const char *path = getenv("NOTIFY_SOCKET");
        _cleanup_close_ int fd = -EBADF;
        socklen_t size;
        size_t n;

        if (!path)
                return 0;
        n = strlen(path);
        if ((path[0] != '/' && path[0] != '@') || n >= sizeof(address.sun_path))
                return -EAFNOSUPPORT;

        memcpy(address.sun_path, path, n);
        size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n);
        if (path[0] == '@')
                address.sun_path[0] = '\0';

        /* Not kept: it is rare, and a child may close what it inherits. */
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (sendto(fd, text, strlen(text), MSG_NOSIGNAL | flags, (const struct sockaddr *) &address, size) < 0)
                return -errno;

        return 1;
}

int notify_send(const char *text) {
        return send_text(text, MSG_DONTWAIT);
}

int notify_ready(void) {
        return send_text("READY=1", 0);
}

int notify_sendf(const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf_to(&text, format, ap);
        va_end(ap);
        return r < 0 ? r : notify_send(text);
}
