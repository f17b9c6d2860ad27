/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "basic/parse.h"
#include "guest/build-id.h"

#define NOTE_ALIGN(n) (((n) + (size_t) 3) & ~(size_t) 3)

/* Looks for the build id among the notes in `n` bytes. Returns its length and place, or 0. */
static size_t notes_find(const char *p, size_t n, const void **ret) {
        while (n >= sizeof(ElfW(Nhdr))) {
                const ElfW(Nhdr) *note = (const void *) p;
                size_t name_at = sizeof(*note), data_at = name_at + NOTE_ALIGN(note->n_namesz);
                size_t size = data_at + NOTE_ALIGN(note->n_descsz);

                if (size > n)
                        return 0;
                if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(ELF_NOTE_GNU) &&
                                memcmp(p + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
                        *ret = p + data_at;
                        return note->n_descsz;
                }

                p += size;
                n -= size;
        }

        return 0;
}

static int find_in_object(struct dl_phdr_info *info, size_t size, void *userdata) {
        char *buf = userdata;

        for (size_t i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
                const void *id;
                size_t n;

                if (segment->p_type != PT_NOTE)
                        continue;

                n = notes_find((const char *) (info->dlpi_addr + segment->p_vaddr), segment->p_memsz, &id);
                if (n > 0 && 2 * n < BUILD_ID_MAX) {
                        hex_encode(id, n, buf);
                        return 1;
                }
        }

        /* The first object is the program itself; the libraries have build ids of their own. */
        return 1;
}

const char *build_id_get(char *buf) {
        strcpy(buf, "unknown");
        (void) dl_iterate_phdr(find_in_object, buf);
        return buf;
}
