/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/random.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "launch/guest-program.h"
#include "shared/clone-file.h"
#include "shared/mkdir.h"
#include "shared/rm-rf.h"

#define PROGRAM_HEADERS_MAX 64
#define NOTES_MAX 4096

static const char *const applets[] = GUEST_APPLETS;

/* Notes are 4-byte aligned: header, name, descriptor (elf(5)). */
static int notes_find_build_id(const unsigned char *p, size_t n, char *ret_hex) {
        while (n >= sizeof(Elf64_Nhdr)) {
                const Elf64_Nhdr *h = (const Elf64_Nhdr *) p;
                size_t name = ((size_t) h->n_namesz + 3) & ~(size_t) 3, desc = ((size_t) h->n_descsz + 3) & ~(size_t) 3;

                if (name > n - sizeof(*h) || desc > n - sizeof(*h) - name)
                        break;
                if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 && memcmp(p + sizeof(*h), "GNU", 4) == 0 &&
                                h->n_descsz > 0 && h->n_descsz <= BUILD_ID_MAX / 2) {
                        hex_encode(p + sizeof(*h) + name, h->n_descsz, ret_hex);
                        return 0;
                }

                p += sizeof(*h) + name + desc;
                n -= sizeof(*h) + name + desc;
        }

        return -ENODATA;
}

static int read_build_id(const char *program, char ret_hex[BUILD_ID_MAX + 1]) {
        _cleanup_close_ int fd = -EBADF;
        Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
        Elf64_Ehdr e;
        size_t n;

        fd = open(program, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
                        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr))
                return -ENOEXEC;

        n = MIN((size_t) e.e_phnum, (size_t) PROGRAM_HEADERS_MAX);
        if (pread(fd, headers, n * sizeof(*headers), (off_t) e.e_phoff) != (ssize_t) (n * sizeof(*headers)))
                return -ENOEXEC;

        for (size_t i = 0; i < n; i++) {
                _Alignas(Elf64_Nhdr) unsigned char notes[NOTES_MAX];
                ssize_t k;

                if (headers[i].p_type != PT_NOTE)
                        continue;
                k = pread(fd, notes, MIN(headers[i].p_filesz, (Elf64_Xword) sizeof(notes)), (off_t) headers[i].p_offset);
                if (k > 0 && notes_find_build_id(notes, (size_t) k, ret_hex) >= 0)
                        return 0;
        }

        return -ENODATA;
}

int guest_program_directory(const Dirs *dirs, const char *program, char **ret) {
        char id[BUILD_ID_MAX + 1];
        int r;

        r = read_build_id(program, id);
        if (r < 0)
                return r;

        return asprintf_to(ret, "%s/guest/%s", dirs->data, id);
}

static int fill_directory(int dir_fd, const char *program) {
        const char *name = path_last(GUEST_PROGRAM);
        _cleanup_close_ int source_fd = -EBADF;
        int r;

        source_fd = open(program, O_RDONLY | O_CLOEXEC);
        if (source_fd < 0)
                return -errno;
        r = clone_file_at(source_fd, dir_fd, name, 0755);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(applets); i++)
                if (symlinkat(name, dir_fd, applets[i]) < 0)
                        return -errno;

        return fchmod(dir_fd, 0755) < 0 ? -errno : 0;
}

int guest_program_install(const char *program, const char *directory) {
        _cleanup_free_ char *parent = NULL, *unborn = NULL;
        _cleanup_close_ int parent_fd = -EBADF, dir_fd = -EBADF;
        unsigned char noise[8];
        char suffix[2 * sizeof(noise) + 1];
        int r;

        if (access(directory, F_OK) >= 0)
                return 0;

        parent = strndup(directory, (size_t) (path_last(directory) - directory - 1));
        r = random_bytes(noise, sizeof(noise));
        if (!parent || r < 0)
                return r < 0 ? r : -ENOMEM;
        hex_encode(noise, sizeof(noise), suffix);
        r = asprintf_to(&unborn, ".new-%s", suffix);
        if (r < 0)
                return r;

        parent_fd = mkdir_open(parent);
        if (parent_fd < 0)
                return parent_fd;
        if (mkdirat(parent_fd, unborn, 0700) < 0)
                return -errno;
        dir_fd = openat(parent_fd, unborn, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        r = dir_fd < 0 ? -errno : fill_directory(dir_fd, program);
        if (r >= 0 && renameat2(parent_fd, unborn, parent_fd, path_last(directory), RENAME_NOREPLACE) < 0)
                r = -errno;
        if (r < 0)
                (void) rm_rf_at(parent_fd, unborn);

        /* Another launch was quicker. */
        return r == -EEXIST ? 0 : r;
}
