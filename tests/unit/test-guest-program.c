/* SPDX-License-Identifier: MIT */

/* The guest program's build id and the directory that becomes the guest's bin/. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "launch/guest-program.h"
#include "scratch.h"
#include "launch-stage.h"

/* A minimal ELF file: header, program headers, notes. */
typedef struct Image {
        Elf64_Ehdr header;
        Elf64_Phdr segments[3];
        unsigned char notes[256];
} Image;

static size_t add_note(Image *m, size_t at, uint32_t type, const char *name, const void *descriptor, uint32_t n) {
        Elf64_Nhdr h = { .n_namesz = (uint32_t) strlen(name) + 1, .n_descsz = n, .n_type = type };

        memcpy(m->notes + at, &h, sizeof(h));
        at += sizeof(h);
        memcpy(m->notes + at, name, h.n_namesz);
        at += (h.n_namesz + 3) & ~3U;
        memcpy(m->notes + at, descriptor, n);
        return at + ((n + 3) & ~3U);
}

/* With a build id of `n` bytes behind another note, in the last of three segments. */
static Image image_with_id(const void *id, uint32_t n) {
        Image m = {
                .header = {
                        .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                        .e_phoff = offsetof(Image, segments),
                        .e_phentsize = sizeof(Elf64_Phdr),
                        .e_phnum = 3,
                },
                .segments = {
                        { .p_type = PT_LOAD },
                        { .p_type = PT_NOTE, .p_offset = offsetof(Image, notes) + 200, .p_filesz = 0 },
                        { .p_type = PT_NOTE, .p_offset = offsetof(Image, notes), .p_filesz = 200 },
                },
        };
        size_t at;

        at = add_note(&m, 0, NT_GNU_ABI_TAG, "GNU", "abcdefghijklmnop", 16);
        at = add_note(&m, at, NT_GNU_BUILD_ID, "Go", "xx", 2);
        (void) add_note(&m, at, NT_GNU_BUILD_ID, "GNU", id, n);
        return m;
}

static int directory_of(const Image *m, size_t n, char **ret) {
        scratch_write("program", m, n);
        return guest_program_directory(&stage.dirs, in_scratch("program"), ret);
}

static void test_build_id(void **state) {
        static const unsigned char id[32] = { 0x01, 0x23, 0xab, 0xff };
        _cleanup_free_ char *path = NULL, *longest = NULL;
        Image m;

        m = image_with_id(id, 4);
        assert_int_equal(directory_of(&m, sizeof(m), &path), 0);
        assert_string_equal(path, in_scratch("home/.local/share/claude-profile/guest/0123abff"));
        m = image_with_id(id, BUILD_ID_MAX / 2);
        assert_int_equal(directory_of(&m, sizeof(m), &longest), 0);
        assert_int_equal(strlen(path_last(longest)), BUILD_ID_MAX);
}

static void test_no_build_id(void **state) {
        static const unsigned char id[40] = { 1 };
        char *path = NULL;
        Image m;

        m = image_with_id(id, 0);
        assert_int_equal(directory_of(&m, sizeof(m), &path), -ENODATA);
        m = image_with_id(id, BUILD_ID_MAX / 2 + 1);
        assert_int_equal(directory_of(&m, sizeof(m), &path), -ENODATA);

        /* Lengths that reach over the end, and wrap around. */
        m = image_with_id(id, 20);
        for (uint32_t n = UINT32_MAX - 4; n != 0; n++) {
                ((Elf64_Nhdr *) m.notes)->n_namesz = n;
                assert_int_equal(directory_of(&m, sizeof(m), &path), -ENODATA);
                ((Elf64_Nhdr *) m.notes)->n_namesz = 4;
                ((Elf64_Nhdr *) m.notes)->n_descsz = n;
                assert_int_equal(directory_of(&m, sizeof(m), &path), -ENODATA);
                ((Elf64_Nhdr *) m.notes)->n_descsz = 16;
        }

        /* Cut off within the note. */
        m = image_with_id(id, 20);
        assert_int_equal(directory_of(&m, offsetof(Image, notes) + 60, &path), -ENODATA);

        m = image_with_id(id, 20);
        m.header.e_phnum = 0;
        assert_int_equal(directory_of(&m, sizeof(m), &path), -ENODATA);
        m.header.e_phnum = 3;
        m.header.e_phoff = UINT64_MAX - 8;
        assert_true(directory_of(&m, sizeof(m), &path) < 0);
        m.header.e_phoff = sizeof(Image) - 8;
        assert_int_equal(directory_of(&m, sizeof(m), &path), -ENOEXEC);
        m = image_with_id(id, 20);
        m.segments[2].p_offset = UINT64_MAX - 8;
        assert_int_equal(directory_of(&m, sizeof(m), &path), -ENODATA);
        m.header.e_ident[EI_CLASS] = ELFCLASS32;
        assert_int_equal(directory_of(&m, sizeof(m), &path), -ENOEXEC);

        scratch_puts("program", "#!/bin/sh\n");
        assert_int_equal(guest_program_directory(&stage.dirs, in_scratch("program"), &path), -ENOEXEC);
        scratch_puts("program", "");
        assert_int_equal(guest_program_directory(&stage.dirs, in_scratch("program"), &path), -ENOEXEC);
        assert_int_equal(guest_program_directory(&stage.dirs, in_scratch("nothing"), &path), -ENOENT);
        assert_int_equal(guest_program_directory(&stage.dirs, scratch, &path), -ENOEXEC);
        assert_null(path);
}

/* The one that this build makes. */
static void test_real_program(void **state) {
        const char *program = getenv("GUEST_PROGRAM_BUILT");
        _cleanup_free_ char *path = NULL;

        if (!program)
                return;
        assert_int_equal(guest_program_directory(&stage.dirs, program, &path), 0);
        assert_int_equal(strlen(path_last(path)), 40);
}

static unsigned count_entries(const char *path) {
        unsigned n = 0;
        DIR *d;

        d = opendir(path);
        assert_non_null(d);
        while (readdir(d))
                n++;
        (void) closedir(d);
        return n - 2;
}

static void assert_installed(const char *directory) {
        static const char *const applets[] = GUEST_APPLETS;
        _cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0755);
        assert_int_equal(io_read_file_at(fd, path_last(GUEST_PROGRAM), MIB, &text, NULL), 0);
        assert_string_equal(text, "the program");
        assert_int_equal(fstatat(fd, path_last(GUEST_PROGRAM), &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, 0755);
        for (size_t i = 0; i < ELEMENTSOF(applets); i++) {
                char target[64] = "";

                assert_true(readlinkat(fd, applets[i], target, sizeof(target) - 1) > 0);
                assert_string_equal(target, path_last(GUEST_PROGRAM));
        }
        assert_int_equal(count_entries(directory), 1 + ELEMENTSOF(applets));
}

static void test_install(void **state) {
        _cleanup_free_ char *directory = strdup(in_scratch("data/guest/0123")), *other = strdup(in_scratch("data/guest/4567"));
        mode_t old;

        scratch_puts("built", "the program");
        old = umask(0077);
        assert_int_equal(guest_program_install(in_scratch("built"), directory), 0);
        (void) umask(old);
        assert_installed(directory);

        /* Made once; a program that is gone meanwhile does not matter. */
        assert_int_equal(guest_program_install(in_scratch("nothing"), directory), 0);
        assert_installed(directory);

        /* What fails leaves nothing. */
        assert_int_equal(guest_program_install(in_scratch("nothing"), other), -ENOENT);
        assert_int_equal(count_entries(in_scratch("data/guest")), 1);
}

static void test_concurrent_installs(void **state) {
        _cleanup_free_ char *directory = strdup(in_scratch("many/guest/0123"));
        pid_t pids[8];
        int status;

        scratch_puts("built", "the program");
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        char program[PATH_MAX + 300];

                        (void) snprintf(program, sizeof(program), "%s/claude-sandbox-guest", directory);
                        _exit(guest_program_install(in_scratch("built"), directory) < 0 || access(program, X_OK) < 0);
                }
        }
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }

        assert_installed(directory);
        assert_int_equal(count_entries(in_scratch("many/guest")), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_build_id),
                cmocka_unit_test(test_no_build_id),
                cmocka_unit_test(test_real_program),
                cmocka_unit_test(test_install),
                cmocka_unit_test(test_concurrent_installs),
        };

        return cmocka_run_group_tests(tests, stage_setup, scratch_remove);
}
