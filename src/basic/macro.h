/* SPDX-License-Identifier: MIT */
#pragma once

/* The few macros everything uses: cleanup attributes, hand-over of ownership, array sizes, units of time. */

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _sentinel_ __attribute__((sentinel))
#define _unused_ __attribute__((unused))
#define _noreturn_ __attribute__((noreturn))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))
#define STRLEN(s) (sizeof("" s "") - 1)
/* Both arguments are evaluated twice: keep them free of side effects. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Hands a value over: the variable is reset, so that its cleanup attribute does nothing. */
#define TAKE_PTR(p)                                                                                           \
        ({                                                                                                    \
                __typeof__(p) *_pp = &(p);                                                                    \
                __typeof__(p) _v = *_pp;                                                                      \
                *_pp = NULL;                                                                                  \
                _v;                                                                                           \
        })
#define TAKE_FD(fd)                                                                                           \
        ({                                                                                                    \
                int *_fp = &(fd);                                                                             \
                int _v = *_fp;                                                                                \
                *_fp = -EBADF;                                                                                \
                _v;                                                                                           \
        })

/* Defines the function that `_cleanup_(name ## p)` calls: frees what the variable points to, if anything. */
#define DEFINE_CLEANUP(type, func)                                                                            \
        static inline void func##p(type *p) {                                                                 \
                if (*p)                                                                                       \
                        func(*p);                                                                             \
        }                                                                                                     \
        struct _swallow_semicolon_

#define USEC_PER_MSEC ((uint64_t) 1000)
#define USEC_PER_SEC ((uint64_t) 1000000)

#define KIB ((size_t) 1024)
#define MIB (KIB * KIB)
