/* SPDX-License-Identifier: MIT */

/* The main() of a fuzz target where there is no engine: runs each file of the directory that it is given. */

#include <dirent.h>
#include <fcntl.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "fuzz.h"

#define INPUT_MAX (1 * MIB)

DEFINE_CLEANUP(DIR *, closedir);

static int replay(int dir_fd, const char *name) {
        _cleanup_free_ char *text = NULL;
        _cleanup_free_ uint8_t *exact = NULL;
        size_t n;
        int r;

        r = io_read_file_at(dir_fd, name, INPUT_MAX, &text, &n);
        if (r < 0)
                return r;

        /* To the byte, so that valgrind and the sanitizers see whoever reads on. */
        exact = malloc(MAX(n, (size_t) 1));
        if (!exact)
                return -ENOMEM;

        memcpy(exact, text, n);
        return LLVMFuzzerTestOneInput(exact, n);
}

int main(int argc, char *argv[]) {
        _cleanup_(closedirp) DIR *corpus = NULL;
        size_t n = 0;

        corpus = argc == 2 ? opendir(argv[1]) : NULL;
        if (!corpus) {
                (void) fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
                return EXIT_FAILURE;
        }

        for (struct dirent *entry; (entry = readdir(corpus));) {
                if (entry->d_name[0] == '.')
                        continue;

                (void) fprintf(stderr, "%s\n", entry->d_name);
                if (replay(dirfd(corpus), entry->d_name) != 0)
                        return EXIT_FAILURE;
                n++;
        }

        (void) printf("%zu inputs\n", n);
        return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
