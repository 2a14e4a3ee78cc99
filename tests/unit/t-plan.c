/*
 * ti-acquire's plan, and what it is made from: the machine (from made-up /proc
 * and /sys), mpirun's version and command, programs, lists of arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acquire/plan/plan.h"
#include "acquire/run/mpirun.h"
#include "common/args.h"
#include "node/machine.h"
#include "program/program.h"

#define MIB (INT64_C(1) << 20)

static char root[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/t-plan-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* Write a file below root, with the directories it needs. */
static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    FILE *f;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(full, 0777);
        *p = '/';
    }
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* --- plan ---------------------------------------------------------------- */

static struct ti_plan plan_of(int64_t np, int cores, int64_t app_bytes, int64_t available)
{
    struct ti_plan_in in = {.np = np,
                            .cores = cores,
                            .available_bytes = available,
                            .reserve_bytes = 100 * MIB,
                            .source = app_bytes ? TI_MEMORY_GIVEN : TI_MEMORY_UNKNOWN,
                            .app_bytes = app_bytes};
    struct ti_plan plan;

    ti_plan_make(&in, &plan);
    return plan;
}

static void test_modes(void **state)
{
    static const struct {
        int64_t np;
        int cores;
        const char *mode;
    } cases[] = {{1, 1, "R"},       {2, 2, "R"},   {1, 64, "R"},    {3, 2, "F-2"},
                 {4, 2, "F-2"},     {5, 2, "F-3"}, {64, 2, "F-32"}, {16384, 3, "F-5462"},
                 {100, 1, "F-100"}, {64, 64, "R"}, {65, 64, "F-2"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_plan plan = plan_of(cases[i].np, cases[i].cores, 0, 0);

        assert_string_equal(plan.mode, cases[i].mode);
        assert_int_equal(plan.yield, plan.mode[0] == 'F');
        assert_true(plan.fits);
    }
    assert_false(plan_of(62, 2, 0, 0).idle);
    assert_true(plan_of(63, 2, 0, 0).idle);
    assert_false(plan_of(30, 2, 0, 0).timer_slack);
    assert_true(plan_of(31, 2, 0, 0).timer_slack);
    assert_true(plan_of(3, 2, 0, 0).ob1);
    assert_false(plan_of(2, 2, 0, 0).ob1);
}

static void test_linger(void **state)
{
    (void)state;
    assert_int_equal(ti_plan_linger(0), 0);
    assert_int_equal(ti_plan_linger(TI_LINGER_FREE), 0);
    assert_int_equal(ti_plan_linger(TI_LINGER_FREE + 1), 1);
    assert_int_equal(ti_plan_linger(512), 4);
    assert_int_equal(ti_plan_linger(1024), 9);
    assert_int_equal(ti_plan_linger(TI_LINGER_FREE + 2900), 29);
    assert_int_equal(ti_plan_linger(TI_LINGER_FREE + 2901), TI_LINGER_MAX);
    assert_int_equal(ti_plan_linger(INT64_MAX), TI_LINGER_MAX);
}

static void test_memory(void **state)
{
    struct ti_err err;
    struct ti_plan plan;

    (void)state;
    /* 11 MiB a rank, 1,000 MiB after what is reserved: 90 fit */
    plan = plan_of(90, 2, 11 * MIB - TI_RANK_BYTES, 1100 * MIB);
    assert_int_equal(plan.needed_bytes, 990 * MIB);
    assert_int_equal(plan.largest_np, 90);
    assert_int_equal(ti_plan_check(&plan, &err), TI_OK);
    plan = plan_of(91, 2, 11 * MIB - TI_RANK_BYTES, 1100 * MIB);
    assert_int_equal(ti_plan_check(&plan, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "1001.0 MiB"));
    assert_non_null(strstr(err.text, "1000.0 MiB is available"));
    assert_non_null(strstr(err.hint, "at most 90 ranks fit"));

    /* less free than reserved; numbers beyond 64 bits */
    plan = plan_of(1, 2, MIB, 50 * MIB);
    assert_int_equal(plan.available_bytes, 0);
    assert_int_equal(ti_plan_check(&plan, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.hint, "not even one rank"));
    plan = plan_of(1 << 24, 2, INT64_C(1) << 50, 1100 * MIB);
    assert_int_equal(plan.needed_bytes, INT64_MAX);
    assert_false(plan.fits);

    /* one rank: singular; unknown: no check */
    plan = plan_of(2, 2, 600 * MIB, 1100 * MIB);
    assert_int_equal(ti_plan_check(&plan, &err), TI_ERR_INPUT);
    assert_string_equal(err.hint, "at most 1 rank fits");
    plan = plan_of(1000, 2, 0, 1100 * MIB);
    assert_int_equal(ti_plan_check(&plan, &err), TI_OK);
}

static void test_valgrind_takes_more(void **state)
{
    struct ti_plan_in in = {.np = 4,
                            .cores = 2,
                            .source = TI_MEMORY_MEASURED,
                            .app_bytes = 10 * MIB,
                            .pilot_np = 4,
                            .available_bytes = 1000 * MIB,
                            .valgrind = true};
    struct ti_plan plan;
    char text[256];

    (void)state;
    ti_plan_make(&in, &plan);
    assert_int_equal(plan.rank_bytes, 10 * MIB + TI_RANK_BYTES + TI_VALGRIND_BYTES);
    assert_string_equal(ti_plan_memory_text(&plan, text, sizeof text),
                        "233.0 MiB needed at most (58.2 MiB a rank, probed at 4 ranks), 1000.0 MiB "
                        "available");
}

static void test_json(void **state)
{
    struct ti_plan plan = plan_of(64, 2, 10 * MIB, 1100 * MIB);
    json_t *json = ti_plan_json(&plan), *memory;

    (void)state;
    assert_string_equal(json_string_value(json_object_get(json, "mode")), "F-32");
    assert_int_equal(json_integer_value(json_object_get(json, "folding")), 32);
    memory = json_object_get(json, "memory");
    assert_string_equal(json_string_value(json_object_get(memory, "source")), "given");
    assert_int_equal(json_integer_value(json_object_get(memory, "needed_bytes")),
                     plan.needed_bytes);
    assert_null(json_object_get(memory, "probe_np"));
    json_decref(json);
}

/* --- machine ------------------------------------------------------------- */

static void test_machine_without_groups(void **state)
{
    struct ti_machine m;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_machine_read(root, &m, &err), TI_ERR_IO);
    put("/proc/meminfo", "MemTotal: 999 kB\nMemFree: 7 kB\nMemAvailable:    4096 kB\n");
    assert_int_equal(ti_machine_read(root, &m, &err), TI_OK);
    assert_int_equal(m.memory_bytes, 4096 * 1024);
    assert_string_equal(m.limited_by, "free memory");
    assert_true(m.cores >= 1);
}

static void test_groups_v2(void **state)
{
    struct ti_machine m;
    struct ti_err err;

    (void)state;
    put("/proc/meminfo", "MemAvailable:    4096 kB\n");
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.current", "12345\n");
    put("/sys/fs/cgroup/a/b/pids.max", "max\n");
    assert_int_equal(ti_machine_read(root, &m, &err), TI_OK);
    assert_int_equal(m.memory_bytes, 4096 * 1024);

    /* the parent's limit counts; cache that can be dropped is not in use */
    put("/sys/fs/cgroup/a/memory.max", "2000000\n");
    put("/sys/fs/cgroup/a/memory.current", "900000\n");
    put("/sys/fs/cgroup/a/memory.stat", "anon 300000\ninactive_file 400000\nfile 1\n");
    put("/sys/fs/cgroup/a/pids.max", "100\n");
    put("/sys/fs/cgroup/a/pids.current", "30\n");
    assert_int_equal(ti_machine_read(root, &m, &err), TI_OK);
    assert_int_equal(m.memory_bytes, 1500000);
    assert_int_equal(m.processes, 70);
    assert_non_null(strstr(m.limited_by, "control group"));

    /* more in use than allowed */
    put("/sys/fs/cgroup/a/memory.max", "1000\n");
    assert_int_equal(ti_machine_read(root, &m, &err), TI_OK);
    assert_int_equal(m.memory_bytes, 0);
}

static void test_groups_v1(void **state)
{
    struct ti_machine m;
    struct ti_err err;

    (void)state;
    put("/proc/meminfo", "MemAvailable:    4096 kB\n");
    put("/proc/self/cgroup", "9:pids:/x\n4:memory:/x\n0::/\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "3000000\n");
    put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1000000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/pids/x/pids.max", "50\n");
    put("/sys/fs/cgroup/pids/x/pids.current", "60\n");
    assert_int_equal(ti_machine_read(root, &m, &err), TI_OK);
    assert_int_equal(m.memory_bytes, 2000000);
    assert_int_equal(m.processes, 0);
    /* in a container the path may not be there: its root is ours */
    put("/proc/self/cgroup", "4:memory:/elsewhere/y\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1500000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
    assert_int_equal(ti_machine_read(root, &m, &err), TI_OK);
    assert_int_equal(m.memory_bytes, 500000);
}

static void test_pin(void **state)
{
    static const char *const bad[] = {
        "", "x", "0-", "-1", "0,", ",0", "1-0", "0 1", "99999999999999"};
    char one[32], two[64];
    cpu_set_t set, ours;
    struct ti_err err;
    int cores, first = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(ti_machine_pin(bad[i], &set, &cores, &err), TI_ERR_USAGE);
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    while (!CPU_ISSET((size_t)first, &ours))
        first++;
    snprintf(one, sizeof one, "%d", first);
    snprintf(two, sizeof two, "%d-%d,%d", first, first, first);
    assert_int_equal(ti_machine_pin(one, &set, &cores, &err), TI_OK);
    assert_int_equal(cores, 1);
    assert_int_equal(ti_machine_pin(two, &set, &cores, &err), TI_OK);
    assert_int_equal(cores, 1);
    assert_true(CPU_ISSET((size_t)first, &set));
}

/* --- mpirun -------------------------------------------------------------- */

static void test_versions(void **state)
{
    struct ti_mpirun m;

    (void)state;
    assert_true(ti_mpirun_parse_version("mpirun (Open MPI) 4.1.4\n\nReport bugs\n", &m));
    assert_int_equal(m.major * 10000 + m.minor * 100 + m.patch, 40104);
    assert_string_equal(m.version, "4.1.4");
    assert_true(ti_mpirun_parse_version("mpirun (Open MPI) 5.0.0rc12", &m));
    assert_int_equal(m.major, 5);
    assert_string_equal(m.version, "5.0.0rc12");
    assert_true(ti_mpirun_parse_hydra("HYDRA build details:\n    Version:        4.0.2\n", &m));
    assert_int_equal(m.major * 10000 + m.minor * 100 + m.patch, 40002);
    assert_string_equal(m.version, "4.0.2");
    assert_false(ti_mpirun_parse_hydra("mpirun (Open MPI) 4.1.4\n", &m));
    assert_false(ti_mpirun_parse_version("HYDRA build details:\n Version: 4.0.2\n", &m));
    assert_false(ti_mpirun_parse_version("", &m));
}

/* The command for np ranks on two cores, as a shell would read it. */
static char *command(int major, int64_t np, const char *const *user)
{
    struct ti_args env = {.n = 0}, more = {.n = 0}, wrapper = {.n = 0}, program = {.n = 0};
    struct ti_args out = {.n = 0};
    struct ti_plan plan = plan_of(np, 2, 0, 0);
    struct ti_mpirun m = {.major = major, .minor = 1};
    struct ti_mpirun_job job = {.np = np,
                                .tmp = "/t",
                                .shm = "/s",
                                .env = &env,
                                .user = &more,
                                .wrapper = &wrapper,
                                .program = &program};
    char *text;

    ti_args_add(&env, "A=b c");
    ti_args_add(&wrapper, "nice");
    ti_args_add(&program, "./lu");
    ti_args_add(&program, "A");
    for (; *user; user++)
        ti_args_add(&more, *user);
    assert_int_equal(ti_mpirun_command(&m, &plan, &job, &out, NULL), TI_OK);
    text = ti_args_shell(&out);
    ti_args_free(&env);
    ti_args_free(&more);
    ti_args_free(&wrapper);
    ti_args_free(&program);
    ti_args_free(&out);
    return text;
}

static void check_command(int major, int64_t np, const char *const *user, const char *want)
{
    char *text = command(major, np, user), *got = text;

    /* as root there is one more */
    if (strstr(text, " --allow-run-as-root")) {
        memmove(text + 6, text + 26, strlen(text + 26) + 1);
        assert_true(geteuid() == 0);
    }
    assert_string_equal(got, want);
    free(text);
}

static void test_commands(void **state)
{
    static const char *const none[] = {NULL};
    static const char *const own[] = {
        "--mca", "pml", "ucx", "-bind-to", "core", "--oversubscribe", "--mca", "orte_tmpdir_base",
        "/x",    NULL};

    (void)state;
    unsetenv("OMPI_MCA_mpi_yield_when_idle");
    unsetenv("OMPI_MCA_pml");
    check_command(4, 2, none,
                  "mpirun -np 2 --oversubscribe --bind-to none --mca orte_tmpdir_base /t --mca "
                  "btl_vader_backing_directory /s -x 'A=b c' nice ./lu A");
    check_command(4, 128, none,
                  "mpirun -np 128 --oversubscribe --bind-to none --mca orte_tmpdir_base /t --mca "
                  "btl_vader_backing_directory /s --mca mpi_yield_when_idle 1 --mca pml ob1 --mca "
                  "mpi_add_procs_cutoff 0 -x 'A=b c' nice ./lu A");
    check_command(
        5, 4, none,
        "mpirun -np 4 --map-by :OVERSUBSCRIBE --bind-to none --prtemca prte_tmpdir_base /t "
        "--mca btl_sm_backing_directory /s --mca mpi_yield_when_idle 1 --mca pml ob1 -x "
        "'A=b c' nice ./lu A");
    check_command(
        6, 128, none,
        "mpirun -np 128 --map-by :OVERSUBSCRIBE --bind-to none --prtemca prte_tmpdir_base /t "
        "--mca btl_sm_backing_directory /s --mca mpi_yield_when_idle 1 --mca pml ob1 -x "
        "'A=b c' nice ./lu A");
    /* the user's settings win, whether given or in the environment */
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    check_command(4, 4, own,
                  "mpirun -np 4 --mca btl_vader_backing_directory /s -x 'A=b c' --mca pml ucx "
                  "-bind-to core --oversubscribe --mca orte_tmpdir_base /x nice ./lu A");
    unsetenv("OMPI_MCA_mpi_yield_when_idle");
}

/* Each program has its ranks, variables, hostfile and wrapper. */
static void test_several_programs(void **state)
{
    struct ti_args env = {.n = 0}, none = {.n = 0}, wrapper = {.n = 0}, a = {.n = 0}, b = {.n = 0};
    struct ti_args out = {.n = 0};
    struct ti_plan plan = plan_of(6, 2, 0, 0);
    struct ti_mpirun m = {.major = 4, .minor = 1};
    struct ti_mpirun_nodes nodes = {.hostfile = "/h", .listed = true, .agent = "/r"};
    struct ti_mpirun_program more[] = {{4, &b, "/h1"}, {1, &a, NULL}};
    struct ti_mpirun_job job = {.np = 2,
                                .env = &env,
                                .user = &none,
                                .wrapper = &wrapper,
                                .program = &a,
                                .more = more,
                                .nmore = 2};
    char *text;

    (void)state;
    ti_args_add(&env, "A=1");
    ti_args_add(&wrapper, "nice");
    ti_args_add(&a, "./a", "x");
    ti_args_add(&b, "./b");
    for (int i = 0; i < 2; i++) {
        job.nodes = i ? &nodes : NULL;
        assert_int_equal(ti_mpirun_command(&m, &plan, &job, &out, NULL), TI_OK);
        text = ti_args_shell(&out);
        assert_non_null(strstr(text, i ? " -x A=1 nice ./a x : -np 4 --hostfile /h1 -x A=1 nice "
                                         "./b : -np 1 --hostfile /h -x A=1 nice ./a x"
                                       : " -x A=1 nice ./a x : -np 4 -x A=1 nice ./b : -np 1 -x "
                                         "A=1 nice ./a x"));
        free(text);
        ti_args_free(&out);
    }
    ti_args_free(&env);
    ti_args_free(&wrapper);
    ti_args_free(&a);
    ti_args_free(&b);
}

/* PRRTE's: one hostfile, MCA parameters for each program, also the user's. */
static void test_several_programs_by_prrte(void **state)
{
    struct ti_args none = {.n = 0}, user = {.n = 0}, a = {.n = 0}, out = {.n = 0};
    struct ti_plan plan = plan_of(6, 2, 0, 0);
    struct ti_mpirun m = {.major = 5};
    struct ti_mpirun_nodes nodes = {.hostfile = "/h", .agent = "/r", .network = "10.0.0.0/8"};
    struct ti_mpirun_program more[] = {{4, &a, "/unused"}};
    struct ti_mpirun_job job = {.np = 2,
                                .env = &none,
                                .user = &user,
                                .wrapper = &none,
                                .program = &a,
                                .more = more,
                                .nmore = 1,
                                .nodes = &nodes};
    static const char *const wanted[] = {
        " -np 2 --hostfile /h --map-by slot --prtemca plm ssh --prtemca ras "
        "^slurm,tm,lsf,gridengine --prtemca plm_ssh_agent '/r : false' --prtemca "
        "plm_ssh_no_tree_spawn 1 --prtemca prte_keep_fqdn_hostnames 0 --prtemca prte_if_include "
        "10.0.0.0/8 --bind-to none --pmixmca pmdl ^ompi --mca btl_tcp_if_include 10.0.0.0/8 --mca "
        "mpi_yield_when_idle 1 -x OMPI_MCA_mine --mca pml ob1 --prtemca verbose 1 ./a : -np 4 "
        "--mca btl_tcp_if_include 10.0.0.0/8 --mca mpi_yield_when_idle 1 --mca pml ob1 -x "
        "OMPI_MCA_mine ./a",
        " -np 2 --hostfile /h --map-by rankfile:FILE=/f:OVERSUBSCRIBE --prtemca plm ssh ",
        " -np 2 --hostfile /h --prtemca plm ssh ",
        " --bind-to none --mca btl_tcp_if_include 10.0.0.0/8 ",
    };
    char *text;

    (void)state;
    clearenv();
    setenv("OMPI_MCA_mine", "x", 1);
    plan.yield = true;
    ti_args_add(&a, "./a");
    ti_args_add(&user, "--mca", "pml", "ob1", "--prtemca", "verbose", "1");
    for (int i = 0; i < 4; i++) {
        nodes.rankfile = i == 1 ? "/f" : NULL;
        m.major = i == 3 ? 6 : 5; /* which does not crash */
        if (i == 2)
            ti_args_add(&user, "--map-by", "node");
        assert_int_equal(ti_mpirun_command(&m, &plan, &job, &out, NULL), TI_OK);
        text = ti_args_shell(&out);
        if (!strstr(text, wanted[i]))
            fail_msg("%d: '%s', not '%s'", i, text, wanted[i]);
        free(text);
        ti_args_free(&out);
    }
    unsetenv("OMPI_MCA_mine");
    ti_args_free(&user);
    ti_args_free(&a);
}

/* MPICH's launcher on nodes: one host file, and of the environment only what is MPICH's. */
static void test_hydra_on_nodes(void **state)
{
    struct ti_args none = {.n = 0}, user = {.n = 0}, a = {.n = 0}, out = {.n = 0};
    struct ti_plan plan = plan_of(6, 2, 0, 0);
    struct ti_mpirun m = {.major = 4, .hydra = true, .name = "mpiexec.hydra"};
    struct ti_mpirun_nodes nodes = {.hostfile = "/h", .agent = "/r", .address = "10.0.0.2"};
    struct ti_mpirun_program more[] = {{4, &a, NULL}};
    struct ti_mpirun_job job = {.np = 2,
                                .env = &none,
                                .user = &user,
                                .wrapper = &none,
                                .program = &a,
                                .more = more,
                                .nmore = 1,
                                .nodes = &nodes};
    char *text;

    (void)state;
    clearenv();
    ti_args_add(&a, "./a");
    assert_int_equal(ti_mpirun_command(&m, &plan, &job, &out, NULL), TI_OK);
    text = ti_args_shell(&out);
    assert_string_equal(text,
                        "mpiexec.hydra -f /h -launcher rsh -launcher-exec /r -rmk user -localhost "
                        "10.0.0.2 -genvnone -wdir / -n 2 ./a : -wdir / -n 4 ./a");
    free(text);
    ti_args_free(&out);
    setenv("UCX_TLS", "tcp", 1);
    setenv("HOME", "/h", 1);
    setenv("FI_PROVIDER", "tcp", 1);
    ti_args_add(&user, "-launcher", "ssh", "-iface", "eth0");
    assert_int_equal(ti_mpirun_command(&m, &plan, &job, &out, NULL), TI_OK);
    text = ti_args_shell(&out);
    assert_string_equal(text, "mpiexec.hydra -f /h -rmk user -genvlist UCX_TLS,FI_PROVIDER "
                              "-launcher ssh -iface eth0 -wdir / -n 2 ./a : -wdir / -n 4 ./a");
    free(text);
    ti_args_free(&out);
    ti_args_free(&user);
    ti_args_free(&a);
}

static void test_what_cannot_be_passed_on(void **state)
{
    static const char *const bad[] = {"-np",    "--np",       "-n",          "-H",
                                      "--host", "--hostfile", "-machinefile"};
    struct ti_err err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ti_args user = {.n = 0};

        ti_args_add(&user, "--tag-output");
        assert_int_equal(ti_mpirun_check_user(&user, &err), TI_OK);
        ti_args_add(&user, bad[i]);
        assert_int_equal(ti_mpirun_check_user(&user, &err), TI_ERR_USAGE);
        ti_args_free(&user);
    }
}

static void test_quoting(void **state)
{
    struct ti_args a = {.n = 0};
    char *text;

    (void)state;
    ti_args_add(&a, "");
    ti_args_add(&a, "it's");
    ti_args_addf(&a, "%s=%d", "$HOME", 3);
    ti_args_add(&a, "-x/a.b:c,d@e");
    assert_true(ti_args_ok(&a));
    text = ti_args_shell(&a);
    assert_string_equal(text, "'' 'it'\\''s' '$HOME=3' -x/a.b:c,d@e");
    free(text);
    ti_args_add(&a, "-x");
    ti_args_add(&a, "TO=go");
    text = ti_args_shell_lines(&a, 24, 2); /* no line is longer; an option has its argument */
    assert_string_equal(text, "'' 'it'\\''s' '$HOME=3' \\\n  -x/a.b:c,d@e -x TO=go");
    free(text);
    text = ti_args_shell_lines(&a, 2, 0);
    assert_string_equal(text, "'' \\\n'it'\\''s' \\\n'$HOME=3' \\\n-x/a.b:c,d@e \\\n-x \\\nTO=go");
    free(text);
    ti_args_free(&a);
    assert_false(ti_args_ok(&a));
}

/* --- programs ------------------------------------------------------------ */

static void test_programs(void **state)
{
    char path[PATH_MAX];
    struct ti_program p;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_program_find("sh", &p, &err), TI_OK);
    assert_int_equal(p.mpi, TI_MPI_NONE);
    assert_string_equal(p.name, "sh");
    ti_program_free(&p);
    assert_int_equal(ti_program_find("/nonexistent", &p, &err), TI_ERR_INPUT);
    ti_program_free(&p);
    assert_int_equal(ti_program_find("no such program", &p, &err), TI_ERR_INPUT);
    ti_program_free(&p);
    put("/script", "#!/bin/sh\n");
    snprintf(path, sizeof path, "%s/script", root);
    assert_int_equal(ti_program_find(path, &p, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "not executable"));
    ti_program_free(&p);
    chmod(path, 0755);
    assert_int_equal(ti_program_find(path, &p, &err), TI_OK);
    assert_int_equal(p.mpi, TI_MPI_UNKNOWN);
    assert_false(p.is_elf);
    ti_program_free(&p);
}

/* A program damaged anywhere is looked at without harm. */
static void test_damaged_programs(void **state)
{
    static unsigned char image[1 << 16];
    uint32_t seed = 1;
    char path[PATH_MAX];
    FILE *f = fopen("/proc/self/exe", "rb");
    size_t bytes;

    (void)state;
    assert_non_null(f);
    bytes = fread(image, 1, sizeof image, f);
    fclose(f);
    snprintf(path, sizeof path, "%s/damaged", root);
    for (int round = 0; round < 300; round++) {
        unsigned char kept[16];
        size_t at[16];
        struct ti_program p;
        struct ti_err err;

        for (int i = 0; i < 16; i++) {
            seed = seed * 1664525 + 1013904223;
            at[i] = (seed >> 8) % (i < 12 ? 1024 : bytes);
            kept[i] = image[at[i]];
            image[at[i]] = (unsigned char)(seed >> 24);
        }
        f = fopen(path, "wb");
        assert_non_null(f);
        fwrite(image, 1, round % 3 ? bytes : (seed >> 8) % bytes, f);
        fclose(f);
        chmod(path, 0755);
        ti_program_find(path, &p, &err);
        ti_program_free(&p);
        for (int i = 15; i >= 0; i--)
            image[at[i]] = kept[i];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_linger),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_valgrind_takes_more),
        cmocka_unit_test(test_json),
        cmocka_unit_test_setup_teardown(test_machine_without_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_groups_v2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_groups_v1, set_up, tear_down),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_several_programs),
        cmocka_unit_test(test_several_programs_by_prrte),
        cmocka_unit_test(test_hydra_on_nodes),
        cmocka_unit_test(test_what_cannot_be_passed_on),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test_setup_teardown(test_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_programs, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
