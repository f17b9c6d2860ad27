/* SPDX-License-Identifier: MIT */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "guest/bridge.h"

#define BRIDGE_FILE_MAX (4 * KIB)

/* SYNs sent again before a connection attempt fails: 3 s, where the kernel's own default takes two minutes.
 */
#define BRIDGE_SYN_RETRIES 1

typedef enum BridgeKey {
        KEY_ADDRESS,
        KEY_PORT,
        KEY_TOKEN,
        KEY_SERVICES,
        _KEY_MAX,
} BridgeKey;

static const char *const key_table[] = {
        [KEY_ADDRESS] = "address=",
        [KEY_PORT] = "port=",
        [KEY_TOKEN] = "token=",
        [KEY_SERVICES] = "services=",
};
static_assert(ELEMENTSOF(key_table) == _KEY_MAX, "every key has a name");

static int parse_value(BridgeKey key, const char *value, Bridge *b) {
        uint64_t port;

        switch (key) {
        case KEY_ADDRESS:
                return inet_pton(AF_INET, value, &b->address.sin_addr) == 1 ? 0 : -EBADMSG;
        case KEY_PORT:
                if (parse_uint(value, 1, UINT16_MAX, &port) < 0)
                        return -EBADMSG;
                b->address.sin_port = htons((uint16_t) port);
                return 0;
        case KEY_TOKEN:
                if (!hex_is_valid(value, WIRE_TOKEN_LENGTH))
                        return -EBADMSG;
                memcpy(b->token, value, WIRE_TOKEN_LENGTH + 1);
                return 0;
        default:
                /* Which services there are is for readers; the bridge decides. */
                return 0;
        }
}

static int parse_line(const char *line, unsigned *seen, Bridge *b) {
        for (BridgeKey key = 0; key < _KEY_MAX; key++) {
                const char *value = str_after_prefix(line, key_table[key]);

                if (!value)
                        continue;
                if (*seen & (1U << key))
                        return -EBADMSG;

                *seen |= 1U << key;
                return parse_value(key, value, b);
        }

        return -EBADMSG;
}

int bridge_parse(const char *text, size_t n, Bridge *ret) {
        Bridge b = { .address.sin_family = AF_INET };
        _cleanup_free_ char *copy = NULL;
        unsigned seen = 0;
        char *rest;

        if (memchr(text, '\0', n))
                return -EBADMSG;

        rest = copy = memdup_nul(text, n);
        if (!copy)
                return -ENOMEM;

        for (char *line; (line = strsep(&rest, "\n"));) {
                if (!rest && *line == '\0')
                        break; /* behind the last newline */
                if (parse_line(line, &seen, &b) < 0)
                        return -EBADMSG;
        }

        if (seen != (1U << _KEY_MAX) - 1)
                return -EBADMSG;

        *ret = b;
        return 0;
}

int bridge_load(Bridge *ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = io_read_file_at(AT_FDCWD, GUEST_BRIDGE_FILE, BRIDGE_FILE_MAX, &text, &n);
        if (r < 0)
                return r;

        return bridge_parse(text, n, ret);
}

size_t bridge_format_handshake(const Bridge *b, const char *service, char *buf) {
        int n;

        n = snprintf(buf, WIRE_LINE_MAX, "%s %s\n", b->token, service);
        return MIN((size_t) n, (size_t) WIRE_LINE_MAX - 1);
}

int bridge_connect(const Bridge *b) {
        _cleanup_close_ int fd = -EBADF;
        int one = 1, retries = BRIDGE_SYN_RETRIES;

        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;

        /* Agents' clients write a request in pieces: without TCP_NODELAY the second would wait for the
         * answer to the first. */
        (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &retries, sizeof(retries));

        if (connect(fd, (const struct sockaddr *) &b->address, sizeof(b->address)) < 0 &&
                        errno != EINPROGRESS)
                return -errno;

        return TAKE_FD(fd);
}
