/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "shared/paste.h"

#define UTF8_TYPE "text/plain;charset=utf-8"

static const char *const paste_program_table[] = {
        [PASTE_WL_PASTE] = "wl-paste",
        [PASTE_XCLIP] = "xclip",
};
static_assert(ELEMENTSOF(paste_program_table) == _PASTE_PROGRAM_MAX, "every program has a name");

const char *paste_program_to_string(PasteProgram p) {
        return p >= 0 && p < _PASTE_PROGRAM_MAX ? paste_program_table[p] : "?";
}

PasteProgram paste_program_from_string(const char *s) {
        for (PasteProgram p = 0; p < _PASTE_PROGRAM_MAX; p++)
                if (streq(s, paste_program_table[p]))
                        return p;

        return _PASTE_PROGRAM_INVALID;
}

/* The request */

typedef struct Word {
        const char *p;
        size_t n;
} Word;

/* The next word of the line, empty at its end. */
static Word word_next(const char **p, const char *end) {
        Word w;

        while (*p < end && **p == ' ')
                (*p)++;

        w.p = *p;
        while (*p < end && **p != ' ')
                (*p)++;
        w.n = (size_t) (*p - w.p);
        return w;
}

static bool word_is(Word w, const char *short_name, const char *long_name) {
        return (w.n == strlen(short_name) && memcmp(w.p, short_name, w.n) == 0) ||
               (w.n == strlen(long_name) && memcmp(w.p, long_name, w.n) == 0);
}

static bool is_alnum(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "image/…" or "text/…", of the characters that types and their parameters are made of: nothing that is an
 * option, a path, or means anything to a shell or to JSON. */
static int parse_type(Word w, char *ret) {
        size_t prefix;

        if (w.n > 6 && memcmp(w.p, "image/", 6) == 0)
                prefix = 6;
        else if (w.n > 5 && memcmp(w.p, "text/", 5) == 0)
                prefix = 5;
        else
                return -EPERM;

        if (w.n >= PASTE_TYPE_MAX || !is_alnum(w.p[prefix]))
                return -EPERM;
        for (size_t i = prefix; i < w.n; i++)
                if (!is_alnum(w.p[i]) && (w.p[i] == '\0' || !strchr("+-._;=", w.p[i])))
                        return -EPERM;

        memcpy(ret, w.p, w.n);
        ret[w.n] = '\0';
        return 0;
}

int paste_request_parse(const char *line, size_t n, PasteRequest *ret) {
        const char *p = line, *end = line + n;
        PasteRequest request = {};

        if (n > PASTE_LINE_MAX)
                return -EPERM;

        for (Word w = word_next(&p, end); w.n > 0; w = word_next(&p, end))
                if (word_is(w, "-l", "--list-types"))
                        request.list = true;
                else if (word_is(w, "-n", "--no-newline"))
                        request.no_newline = true;
                else if (word_is(w, WIRE_WITH_LENGTH, WIRE_WITH_LENGTH))
                        request.with_length = true;
                else if (!word_is(w, "-t", "--type") || parse_type(word_next(&p, end), request.type) < 0)
                        return -EPERM;

        *ret = request;
        return 0;
}

const char *paste_request_format(const PasteRequest *r, char *buf) {
        const char *words[4] = { NULL };
        size_t n = 0;
        char *q = buf;

        if (r->list)
                words[n++] = "--list-types";
        if (r->no_newline)
                words[n++] = "--no-newline";
        if (r->type[0] != '\0') {
                words[n++] = "--type";
                words[n++] = r->type;
        }

        *q = '\0';
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        *q++ = ' ';
                q = stpcpy(q, words[i]);
        }

        return buf;
}

/* What it means on the host */

static int wl_paste_argv(const PasteRequest *r, char ***argv) {
        int k = 0;

        if (r->list)
                k = strv_add(argv, "--list-types");
        if (k >= 0 && r->no_newline)
                k = strv_add(argv, "--no-newline");
        if (k >= 0 && r->type[0] != '\0')
                k = strv_add_many(argv, "--type", r->type, NULL);

        return k;
}

/* Programs of X11 offer text by names of its own, and not all by a type as well. */
static const char *xclip_target(const PasteRequest *r) {
        if (r->list)
                return "TARGETS";
        if (r->type[0] == '\0' || streq(r->type, "text/plain") || streq(r->type, UTF8_TYPE))
                return "UTF8_STRING";

        return r->type;
}

int paste_argv(const PasteRequest *r, PasteProgram program, const char *path, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        int k;

        k = strv_add(&argv, path);
        if (k >= 0 && program == PASTE_WL_PASTE)
                k = wl_paste_argv(r, &argv);
        else if (k >= 0)
                k = strv_add_many(&argv, "-selection", "clipboard", "-o", "-t", xclip_target(r), NULL);
        if (k < 0)
                return k;

        *ret = TAKE_PTR(argv);
        return 0;
}

/* The answer */

static bool begins_with(const char *p, size_t n, size_t at, const char *magic, size_t length) {
        return n >= at + length && memcmp(p + at, magic, length) == 0;
}
#define BEGINS_WITH(at, magic) begins_with(p, n, (at), (magic), STRLEN(magic))

bool paste_answer_fits(const PasteRequest *r, const char *p, size_t n) {
        const char *type = r->list ? "" : r->type;

        if (streq(type, "image/png"))
                return BEGINS_WITH(0, "\x89PNG\r\n\x1a\n");
        if (streq(type, "image/jpeg") || streq(type, "image/jpg"))
                return BEGINS_WITH(0, "\xff\xd8\xff");
        if (streq(type, "image/gif"))
                return BEGINS_WITH(0, "GIF87a") || BEGINS_WITH(0, "GIF89a");
        if (streq(type, "image/webp"))
                return BEGINS_WITH(0, "RIFF") && BEGINS_WITH(8, "WEBP");
        if (streq(type, "image/bmp"))
                return BEGINS_WITH(0, "BM");
        if (streq(type, "image/tiff"))
                return BEGINS_WITH(0, "II*\0") || BEGINS_WITH(0, "MM\0*");

        return true; /* text, or a type whose beginning is not known */
}

int paste_targets_to_types(const char *targets, char **ret) {
        static const char *const text[] = { "UTF8_STRING", "STRING", "TEXT", "COMPOUND_TEXT" };
        _cleanup_strv_ char **lines = NULL, **types = NULL;
        char *out, *q;
        size_t size = 1;
        int r;

        r = strv_split(targets, '\n', &lines);
        STRV_FOREACH(line, lines) {
                const char *type = strchr(*line, '/') ? *line : NULL;

                for (size_t i = 0; i < ELEMENTSOF(text) && !type; i++)
                        if (streq(*line, text[i]))
                                type = i == 0 ? UTF8_TYPE : "text/plain";
                if (r >= 0 && type && !strv_contains(types, type)) {
                        r = strv_add(&types, type);
                        size += strlen(type) + 1;
                }
        }
        if (r < 0)
                return r;

        out = q = malloc(size);
        if (!out)
                return -ENOMEM;
        STRV_FOREACH(type, types) {
                q = stpcpy(q, *type);
                *q++ = '\n';
        }
        *q = '\0';

        *ret = out;
        return 0;
}
