/* SPDX-License-Identifier: MIT */
#pragma once

/* What a guest may ask of the host's clipboard: the arguments of wl-paste(1) that only read, as a pure
 * function of one line, and what they mean for the host's program. */

#include "basic/macro.h"

#define PASTE_TYPE_MAX 128      /* bytes of a type, its NUL included */
#define PASTE_LINE_MAX 512      /* bytes of a line, its newline not included */
#define PASTE_OUTPUT_MAX (64 * MIB)
#define PASTE_USEC (10 * USEC_PER_SEC)

typedef enum PasteProgram {
        PASTE_WL_PASTE, /* Wayland */
        PASTE_XCLIP,    /* X11 */
        _PASTE_PROGRAM_MAX,
        _PASTE_PROGRAM_INVALID = -EINVAL,
} PasteProgram;

const char *paste_program_to_string(PasteProgram p);
PasteProgram paste_program_from_string(const char *s);

typedef struct PasteRequest {
        bool list;                 /* -l, --list-types */
        bool no_newline;           /* -n, --no-newline */
        bool with_length;          /* WIRE_WITH_LENGTH; a matter between guest and bridge */
        char type[PASTE_TYPE_MAX]; /* -t, --type; "": none was given */
} PasteRequest;

/* Parses the `n` bytes of a line without its newline: arguments with blanks between them. Returns 0, or
 * -EPERM for whatever is not allowed. */
int paste_request_parse(const char *line, size_t n, PasteRequest *ret);

/* Prints the request as a line that parses to the same, but for `with_length`, in `buf` (PASTE_LINE_MAX bytes), and returns it.
 * Nothing in it needs quoting, in JSON neither. */
const char *paste_request_format(const PasteRequest *r, char *buf);

/* The host's command line. 0 or -ENOMEM. */
int paste_argv(const PasteRequest *r, PasteProgram program, const char *path, char ***ret);

/* Whether the first `n` bytes of an answer can be what was asked for: a picture begins as its type does. The
 * program's exit status does not tell: some owners of a clipboard hand out text whatever they are asked for.
 * `n` is at least PASTE_MAGIC_MAX unless the answer is shorter. */
#define PASTE_MAGIC_MAX 16
bool paste_answer_fits(const PasteRequest *r, const char *p, size_t n);

/* xclip's list of targets, as wl-paste would print it: X11's own names for kinds of text become types, what
 * is about the selection and no content is left out. The caller frees. 0 or -ENOMEM. */
int paste_targets_to_types(const char *targets, char **ret);
