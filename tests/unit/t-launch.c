/* Processes of a run are found at any moment of their lives. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/launch.h"

#define RUN_ID "00112233445566778899aabbccddeeff"
#define LOOKS  20000

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_while_it_replaces_its_program),
        cmocka_unit_test(test_not_found_without_environment),
    };

    if (argc > 1 && strcmp(argv[1], "again") == 0)
        replace_program();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
