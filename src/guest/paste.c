/* SPDX-License-Identifier: MIT */

/* wl-paste: the host's clipboard, by way of the bridge, with the options of the real program that only read
 * it, as it prints and fails. It does not guess a type from the name of the file that it writes to.
 *
 * The contents are fetched whole before the first byte is printed: a picture is never shortened, and a
 * reader that takes its time does not hold up the host. */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "guest/applet.h"
#include "guest/question.h"

typedef struct PasteOptions {
        bool list;
        bool no_newline;
        const char *type;
} PasteOptions;

static int parse_options(int argc, char **argv, PasteOptions *ret) {
        static const struct option options[] = {
                { "list-types", no_argument, NULL, 'l' },
                { "no-newline", no_argument, NULL, 'n' },
                { "type", required_argument, NULL, 't' },
                /* Known, so that abbreviations mean the same; refused. */
                { "primary", no_argument, NULL, 'p' },
                { "watch", no_argument, NULL, 'w' },
                { "seat", required_argument, NULL, 's' },
                { "version", no_argument, NULL, 'v' },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        PasteOptions o = {};
        int c;

        while ((c = getopt_long(argc, argv, "lnt:pws:vh", options, NULL)) >= 0)
                switch (c) {
                case 'l':
                        o.list = true;
                        break;
                case 'n':
                        o.no_newline = true;
                        break;
                case 't':
                        o.type = optarg;
                        break;
                case '?':
                        return -EINVAL; /* said so */
                default:
                        fprintf(stderr, "wl-paste: a sandbox only reads the clipboard: -l, -n and -t are what there is.\n");
                        return -EINVAL;
                }

        if (optind < argc) {
                fprintf(stderr, "Unexpected argument: %s\n", argv[optind]);
                return -EINVAL;
        }

        *ret = o;
        return 0;
}

/* Fails like the real one, of whose messages only the status comes through. */
static int fail(const PasteOptions *o, const char *why) {
        const char *status = str_after_prefix(why, WIRE_REASON_STATUS);
        uint64_t value = EXIT_FAILURE;

        if (status && parse_uint(status, 1, 255, &value) < 0)
                value = EXIT_FAILURE;

        if (o->type && !o->list && (status || streq(why, "refused") || streq(why, "wrong type")))
                fprintf(stderr, "Clipboard content is not available as requested type \"%s\"\n"
                                "Use \"wl-paste --list-types\" to view available types.\n", o->type);
        else if (status)
                fprintf(stderr, "Nothing is copied\n");
        else
                fprintf(stderr, "wl-paste: the host's clipboard: %s\n", why);

        return (int) value;
}

static int print_contents(Question *q, const char *length) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t n, done = 0;
        int r;

        if (parse_uint(length, 0, SIZE_MAX, &n) < 0)
                return -EBADMSG;
        fd = memfd_create("clipboard", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = question_copy(q, (size_t) n, fd);
        if (r < 0)
                return r;

        while (done < n) {
                char buf[64 * KIB];
                ssize_t k;

                k = pread(fd, buf, sizeof(buf), (off_t) done);
                if (k <= 0)
                        return k < 0 ? -errno : -EIO;
                r = io_write_all(STDOUT_FILENO, buf, (size_t) k);
                if (r < 0)
                        return r;
                done += (uint64_t) k;
        }

        return 0;
}

int applet_wl_paste(int argc, char **argv) {
        _cleanup_question_ Question q = { .fd = -EBADF };
        char line[WIRE_QUESTION_MAX];
        const char *length;
        PasteOptions o;
        int r;

        log_setup("wl-paste");
        if (parse_options(argc, argv, &o) < 0)
                return EXIT_FAILURE;
        if (o.type && (strlen(o.type) > WIRE_QUESTION_MAX / 2 || o.type[strcspn(o.type, " \n")] != '\0'))
                return fail(&o, "refused");

        (void) snprintf(line, sizeof(line), WIRE_WITH_LENGTH "%s%s%s%s", o.list ? " -l" : "",
                        o.no_newline ? " -n" : "", o.type ? " -t " : "", o.type ?: "");
        r = question_ask("clipboard", line, &q);
        if (r < 0) {
                log_debug("No clipboard: %s", strerror(-r));
                return EXIT_FAILURE;
        }

        length = str_after_prefix(q.answer, WIRE_YES_LENGTH);
        if (!length)
                return fail(&o, str_after_prefix(q.answer, WIRE_ERROR) ?: "failed");

        r = print_contents(&q, length);
        if (r < 0)
                return fail(&o, r == -EBADMSG ? "cut short" : strerror(-r));

        return EXIT_SUCCESS;
}
