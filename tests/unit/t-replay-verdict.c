/* How smpirun's output is understood; the lines are SimGrid 3.32's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay-bridge/simulation/verdict.h"

static struct ti_verdict verdict;
static struct ti_err err;

static ti_status judge(int exit_status, const char *log)
{
    char path[] = "/tmp/t-verdict-XXXXXX";
    int fd = mkstemp(path);
    ti_status st;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, log, strlen(log)), (ssize_t)strlen(log));
    close(fd);
    st = ti_verdict_read(path, exit_status, &verdict, &err);
    unlink(path);
    return st;
}

static void test_time(void **state)
{
    (void)state;
    assert_int_equal(judge(0, "[0.000000] [xbt_cfg/INFO] Configuration change\n"
                              "clock=0.065962622468 Simulation time 0.065963\n"),
                     TI_OK);
    assert_string_equal(verdict.time, "0.065963");
    assert_string_equal(verdict.clock, "0.065962622468");
    assert_int_equal(
        judge(0, "[node-0:0:(1) 0.065963] [smpi_replay/INFO] Simulation time 0.065963"), TI_OK);
    assert_string_equal(verdict.clock, "");
}

static void test_deadlock(void **state)
{
    (void)state;
    assert_int_equal(judge(0, "[0.0] [ker_engine/CRITICAL] Oops! Deadlock detected, some\n"
                              "[0.0] [ker_engine/INFO] 4 actors are still running, waiting for "
                              "something.\n"),
                     TI_ERR_INPUT);
    assert_int_equal(verdict.nquotes, 2);
    assert_true(verdict.deadlock);
    assert_non_null(strstr(err.text, "deadlock"));
    assert_int_equal(judge(0, "Deadlock\nSimulation time 1.0\n"), TI_ERR_INPUT);
}

static void test_failures(void **state)
{
    (void)state;
    assert_int_equal(judge(0, ""), TI_ERR_IO);
    assert_int_equal(judge(0, "one\ntwo\nthree\nfour\n"), TI_ERR_IO);
    assert_int_equal(verdict.nquotes, 3);
    assert_string_equal(verdict.quote[2], "four");
    assert_int_equal(judge(134, "Simulation time 1.0\n"), TI_ERR_IO);
    assert_int_equal(judge(1, "Simulation time 1.0\n"), TI_ERR_IO);
    assert_int_equal(judge(134, "[xbt_exception/ERROR] Parse error at p.xml:1: Invalid XML\n"),
                     TI_ERR_INPUT);
    assert_int_equal(judge(134, "Uncaught exception std::out_of_range: Bad config key: foo\n"),
                     TI_ERR_USAGE);
    assert_int_equal(judge(134, "Uncaught exception std::range_error: not a boolean\n"),
                     TI_ERR_USAGE);
    assert_int_equal(judge(134, "[root/CRITICAL] Collective 'bcast' has no algorithm 'abc'!\n"),
                     TI_ERR_USAGE);
    /* SimGrid 4.0 */
    assert_int_equal(judge(134, "[root/CRITICAL] Unable to find network model 'none'. Valid "
                                "values are: raw.\n"),
                     TI_ERR_USAGE);
    assert_int_equal(judge(134, "std::invalid_argument: smpi/os: all (parse error at 'all')\n"),
                     TI_ERR_USAGE);
    assert_int_equal(judge(134, "std::invalid_argument: cores: abc (parse error at 'abc')\n"),
                     TI_ERR_INPUT);
    assert_int_equal(judge(134, "[root/CRITICAL] The Impossible Did Happen (yet again)\n"),
                     TI_ERR_INPUT);
    assert_non_null(strstr(err.hint, "more than 0"));
    assert_int_equal(ti_verdict_read("/nowhere/log", 0, &verdict, &err), TI_ERR_IO);
}

static void test_replayer(void **state)
{
    static const char log[] = "ti-smpi-replay: rank 3: its trace was cut off\n"
                              "Execution failed with code 3.\n";

    (void)state;
    assert_int_equal(judge(3, log), TI_ERR_INPUT);
    assert_int_equal(verdict.nquotes, 1);
    assert_int_equal(judge(4, log), TI_ERR_IO);
    assert_string_equal(err.text, "ti-smpi-replay failed");
}

static void test_memory(void **state)
{
    static const char *const logs[] = {
        "[0.000000] ./src/kernel/context/ContextSwapped.cpp:104: [root/CRITICAL] Failed to "
        "allocate "
        "stack.\nAborted\n",
        "[0.000000] ./include/xbt/sysdep.h:60: [root/CRITICAL] Memory callocation of 524288 bytes "
        "failed\n",
        "terminate called after throwing an instance of 'std::bad_alloc'\n",
        "smpimain: error while loading shared libraries: libsimgrid.so.3.32: failed to map segment "
        "from shared object\n",
        "smpimain: out of memory: cannot have 2048 elements of 136 bytes\n"};

    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        assert_int_equal(judge(134, logs[i]), TI_ERR_IO);
        assert_string_equal(err.text, "the simulation ran out of memory");
        assert_true(verdict.nquotes >= 1);
        assert_int_equal(err.hint[0] != '\0', i == 0);
        assert_false(verdict.crashed);
    }
}

static void test_signals(void **state)
{
    (void)state;
    assert_int_equal(judge(137, "[0.0] [xbt_cfg/INFO] Configuration change\nKilled\n"
                                "ti-smpi-replay --cfg=smpi/privatization:no platform.xml\n"
                                "Execution failed with code 137.\n"),
                     TI_ERR_IO);
    assert_non_null(strstr(err.text, "signal 9"));
    assert_non_null(strstr(err.hint, "memory"));
    assert_int_equal(verdict.nquotes, 1);
    assert_string_equal(verdict.quote[0], "Killed");
    assert_false(verdict.crashed);
    assert_int_equal(judge(139, "Segmentation fault.\n"), TI_ERR_IO);
    assert_non_null(strstr(err.text, "signal 11"));
    assert_string_equal(err.hint, "");
    assert_true(verdict.crashed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),     cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_replayer),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_signals)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
