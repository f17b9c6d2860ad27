/* SPDX-License-Identifier: MIT */

/* A bridge in a guest's hands, and the user's files: whatever it tries fails, and what it needs goes on. Everything is tried without
 * the seal, too. Skipped (77) where there is no Landlock. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>

#include "basic/macro.h"
#include "bridge/seal-files.h"
#include "in-child.h"
#include "scratch.h"

static long abi;
static bool sealed; /* what the attacks expect */

/* What it has in place of files: made before, by somebody else. */
static struct sockaddr_un agent, abstract = { .sun_family = AF_UNIX, .sun_path = "\0claude-seal-files-" };
static struct sockaddr_in port = { .sin_family = AF_INET };
static int open_before;

static void seal_now(const char *const *directories) {
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(seal_files(directories) == 1);
        sealed = true;
}

#define EXPECT(call, error) CHECK(sealed ? (call) < 0 && errno == (error) : (call) >= 0)
#define EXPECT_DENIED(call) EXPECT(call, EACCES)

static int connect_to(int family, const void *address, size_t n) {
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        return connect(fd, address, (socklen_t) n) < 0 ? (close(fd), -1) : fd;
}

static int make_socket(const char *path) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        (void) snprintf(a.sun_path, sizeof(a.sun_path), "%.*s", (int) sizeof(a.sun_path) - 1, path);
        return bind(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (const struct sockaddr *) &a, sizeof(a));
}

static int list(const char *path) {
        DIR *dir = opendir(path);
        int n = 0;

        if (!dir)
                return -1;
        while (readdir(dir))
                n++;
        return closedir(dir), n;
}

static void attack_files(void) {
        EXPECT_DENIED(open(in_scratch("home/secret"), O_RDONLY | O_CLOEXEC));
        EXPECT_DENIED(open(in_scratch("home/secret"), O_WRONLY | O_CLOEXEC));
        EXPECT_DENIED(open(in_scratch("home/secret"), O_RDWR | O_APPEND | O_CLOEXEC));
        EXPECT_DENIED(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
        EXPECT_DENIED(open("/proc/1/cmdline", O_RDONLY | O_CLOEXEC));
        EXPECT_DENIED(list(in_scratch("home")));
        EXPECT_DENIED(list("/"));
        EXPECT_DENIED(open(in_scratch("home/new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        EXPECT_DENIED(open(in_scratch("home"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
        EXPECT_DENIED(mkdir(in_scratch("home/directory"), 0700));
        EXPECT_DENIED(rmdir(in_scratch("home/empty")));
        EXPECT_DENIED(symlink("/", in_scratch("home/symlink")));
        EXPECT_DENIED(mknod(in_scratch("home/fifo"), S_IFIFO | 0600, 0));
        EXPECT_DENIED(link(in_scratch("home/secret"), in_scratch("home/link")));
        EXPECT_DENIED(rename(in_scratch("home/secret"), in_scratch("home/renamed")));
        EXPECT_DENIED(make_socket(in_scratch("home/socket")));
        EXPECT_DENIED(unlink(in_scratch("home/other")));
        if (abi >= 3)
                EXPECT_DENIED(truncate(in_scratch("home/third"), 0));
}

static void attack_processes(void) {
        if (abi >= 4) {
                EXPECT_DENIED(connect_to(AF_INET, &port, sizeof(port)));
                EXPECT_DENIED(bind(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                                (const struct sockaddr *) &(struct sockaddr_in) { .sin_family = AF_INET }, sizeof(port)));
        }
        if (abi >= 6) {
                EXPECT(connect_to(AF_UNIX, &abstract, sizeof(abstract)), EPERM);
                EXPECT(kill(getppid(), 0), EPERM);
        }
}

static void needs(void) {
        char byte;

        CHECK(connect_to(AF_UNIX, &agent, sizeof(agent)) >= 0);
        CHECK(pread(open_before, &byte, 1, 0) == 1 && byte == 's');
        CHECK(kill(getpid(), 0) == 0);
}

static void all(void) {
        attack_processes();
        attack_files();
        needs();
}

static void all_sealed(void) {
        seal_now((const char *const[]) { in_scratch("listed"), in_scratch("missing"), NULL });
        all();
}

/* First what is refused: without the seal all of it is done. */
static void test_attacks(void **state) {
        assert_int_equal(in_child(all_sealed), 0);
        assert_int_equal(in_child(all), 0);
        assert_int_equal(access(in_scratch("home/renamed"), F_OK), 0);
}

/* A directory that may be listed, and nothing more; made by somebody else meanwhile, or put into another's place. */
static void listing(void) {
        int go[2], done[2];
        char byte;

        CHECK(pipe(go) == 0 && pipe(done) == 0);
        if (fork() == 0) {
                (void) close(go[1]);
                if (read(go[0], &byte, 1) != 1 || mkdir(in_scratch("listed/later"), 0700) < 0 ||
                                rename(in_scratch("listed/old"), in_scratch("home/old")) < 0 ||
                                mkdir(in_scratch("listed/old"), 0700) < 0)
                        _exit(1);
                _exit(write(done[1], "x", 1) != 1);
        }

        seal_now((const char *const[]) { in_scratch("listed"), NULL });
        CHECK(list(in_scratch("listed")) == 4); /* ".", "..", a file, "old" */
        CHECK(write(go[1], "x", 1) == 1 && close(done[1]) == 0 && read(done[0], &byte, 1) == 1);
        CHECK(list(in_scratch("listed/later")) == 2);
        CHECK(list(in_scratch("listed/old")) == 2);
        EXPECT_DENIED(list(in_scratch("home/old")));

        EXPECT_DENIED(open(in_scratch("listed/file"), O_RDONLY | O_CLOEXEC));
        EXPECT_DENIED(open(in_scratch("listed/new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        EXPECT_DENIED(mkdir(in_scratch("listed/directory"), 0700));
        EXPECT_DENIED(list(in_scratch("listed/..")));
}

static void test_listing(void **state) {
        scratch_mkdir("listed/old");
        assert_int_equal(in_child(listing), 0);
}

/* A kernel without it, or a filter around us that does not know it. */
static void without(void) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { .len = ELEMENTSOF(filter), .filter = filter };

        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        CHECK(seal_files((const char *const[]) { NULL }) == -EOPNOTSUPP);
}

static void test_no_landlock(void **state) {
        assert_int_equal(in_child(without), 0);
}

static int listen_at(int family, void *address, socklen_t n) {
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, address, n), 0);
        assert_int_equal(listen(fd, 16), 0);
        assert_int_equal(getsockname(fd, address, &n), 0);
        return fd;
}

static int setup(void **state) {
        assert_int_equal(scratch_make(state), 0);
        scratch_mkdir("home");
        scratch_mkdir("home/empty");
        scratch_puts("home/secret", "secret");
        scratch_puts("home/other", "");
        scratch_puts("home/third", "");
        scratch_mkdir("listed");
        scratch_puts("listed/file", "");
        open_before = open(in_scratch("home/secret"), O_RDONLY | O_CLOEXEC);
        assert_true(open_before >= 0);

        agent.sun_family = AF_UNIX;
        (void) snprintf(agent.sun_path, sizeof(agent.sun_path), "%.90s/agent", scratch);
        (void) listen_at(AF_UNIX, &agent, sizeof(agent));
        (void) snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "claude-seal-files-%d", getpid());
        (void) listen_at(AF_UNIX, &abstract, sizeof(abstract));
        port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        (void) listen_at(AF_INET, &port, sizeof(port));
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_attacks),
                cmocka_unit_test(test_listing),
                cmocka_unit_test(test_no_landlock),
        };

        abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 1) {
                (void) fprintf(stderr, "no Landlock here: %s\n", strerror(errno));
                return 77;
        }

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
