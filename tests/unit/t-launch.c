/* Processes of a run are found at any moment of their lives. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/launch.h"

#define RUN_ID "00112233445566778899aabbccddeeff"
#define LOOKS  20000

static int pauses;

int __wrap_nanosleep(const struct timespec *wait, struct timespec *rest);
int __real_nanosleep(const struct timespec *wait, struct timespec *rest);

int __wrap_nanosleep(const struct timespec *wait, struct timespec *rest)
{
    pauses++;
    return __real_nanosleep(wait, rest);
}

/* While a process replaces its program it has, for a moment, no environment. */
static _Noreturn void replace_program(void)
{
    char *argv[] = {"t-launch", "again", NULL};
    char *env[] = {"TIARA_RUN_ID=" RUN_ID, NULL};

    execve("/proc/self/exe", argv, env);
    _exit(127);
}

static void test_found_while_it_replaces_its_program(void **state)
{
    char *buf = malloc(TI_ENVIRON_MAX);
    pid_t pid = fork();

    (void)state;
    assert_non_null(buf);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        replace_program();
    }
    assert_true(pid > 0);
    while (ti_launch_each(RUN_ID, NULL, NULL) == 0)
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    for (int look = 0; look < LOOKS; look++)
        assert_true(ti_launch_is_of(pid, RUN_ID, buf));
    for (int look = 0; look < 100; look++)
        assert_int_equal(ti_launch_each(RUN_ID, NULL, NULL), 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(ti_launch_each(RUN_ID, NULL, NULL), 0);
    free(buf);
}

static void test_not_found_without_environment(void **state)
{
    char *buf = malloc(TI_ENVIRON_MAX);
    int ready[2];
    pid_t pid;

    (void)state;
    assert_non_null(buf);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        char *argv[] = {"cat", NULL}, *env[] = {NULL};

        dup2(ready[0], STDIN_FILENO);
        close(ready[1]);
        execve("/bin/cat", argv, env);
        _exit(127);
    }
    assert_true(pid > 0);
    for (int look = 0; look < 10; look++)
        assert_false(ti_launch_is_of(pid, RUN_ID, buf));
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(buf);
}

#define LARGE (1 << 16)

/* Becomes another user without the end of its environment, where the stack ends, too. */
static _Noreturn void unmap_environment(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *second = (char *)(((uintptr_t)environ[0] + page) / page * page);

    if (munmap(second, LARGE) != 0 || setuid(65534) != 0)
        _exit(127);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* setuid() clears it */
    if (write(STDOUT_FILENO, "y", 1) == 1)
        pause();
    _exit(127);
}

/* Another user may do that on purpose, for long: root does not wait. */
static void test_no_pause_for_processes_of_others(void **state)
{
    char *buf = malloc(TI_ENVIRON_MAX), *large = calloc(1, LARGE);
    int ready[2];
    pid_t pid;
    char c;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(buf);
    assert_non_null(large);
    memset(large, 'x', LARGE - 1);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        char *argv[] = {"t-launch", "unmap", NULL}, *env[] = {large, NULL};

        dup2(ready[1], STDOUT_FILENO);
        execve("/proc/self/exe", argv, env);
        _exit(127);
    }
    assert_true(pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    pauses = 0;
    assert_false(ti_launch_is_of(pid, RUN_ID, buf));
    assert_int_equal(pauses, 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    free(large);
    free(buf);
}

#define CHAIN_ID  "ffeeddccbbaa99887766554433221100"
#define CHAIN_S   10 /* ends by itself then */
#define CHAIN_MAX 200000

/* Each process starts the next and ends. */
static _Noreturn void fork_on(void)
{
    time_t until = time(NULL) + CHAIN_S;
    pid_t pid = 0;

    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < CHAIN_MAX && pid == 0 && time(NULL) < until; i++)
        pid = fork();
    _exit(0);
}

/* A reader of /proc comes too late for each of them. */
static void test_chain_of_processes_ends(void **state)
{
    char *argv[] = {"/proc/self/exe", "chain", NULL};
    struct ti_launch l = {.argv = argv, .run_id = CHAIN_ID};
    struct ti_proc proc;
    struct ti_err err;
    int found;

    (void)state;
    ti_launch_init();
    assert_int_equal(ti_launch_start(&l, &proc, &err), TI_OK);
    while (ti_launch_running(&proc))
        __real_nanosleep(&(struct timespec){0, 1000000L}, NULL);
    assert_int_equal(kill(-proc.pid, 0), 0);
    assert_int_equal(ti_launch_sweep(&proc, 0.2, &found), 0);
    for (int wait = 0; kill(-proc.pid, 0) == 0 && wait < 300; wait++) { /* what was killed ends */
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        __real_nanosleep(&(struct timespec){0, 10000000L}, NULL);
    }
    assert_int_equal(kill(-proc.pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_while_it_replaces_its_program),
        cmocka_unit_test(test_not_found_without_environment),
        cmocka_unit_test(test_no_pause_for_processes_of_others),
        cmocka_unit_test(test_chain_of_processes_ends), /* its set-up stays */
    };

    if (argc > 1 && strcmp(argv[1], "again") == 0)
        replace_program();
    if (argc > 1 && strcmp(argv[1], "unmap") == 0)
        unmap_environment();
    if (argc > 1 && strcmp(argv[1], "chain") == 0)
        fork_on();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
