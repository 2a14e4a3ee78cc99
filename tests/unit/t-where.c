/* Where a run goes: what jobs' environments, as recorded, come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "acquire/where/where.h"

static char dir[] = "/tmp/ti-where-XXXXXX"; /* programs that jobs have on their PATH */
static char old_path[4096];

static void set(const char *text)
{
    static const char *const all[] = {
        "SLURM_JOB_ID",       "SLURM_JOB_NODELIST", "SLURM_NODELIST",     "SLURM_JOB_CPUS_PER_NODE",
        "SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU",  "SLURM_PROCID",       "SLURM_STEP_NUM_TASKS",
        "SLURM_HET_SIZE",     "SLURMD_NODENAME",    "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION",
        "OAR_NODEFILE",       "OAR_JOB_ID",         "OAR_JOBID",          "PBS_NODEFILE",
        "PBS_JOBID",          "LSB_DJOB_HOSTFILE",  "LSB_HOSTS",          "LSB_JOBID"};
    char *copy = strdup(text), *rest = copy, *line;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unsetenv(all[i]);
    while ((line = strsep(&rest, "\n"))) {
        char *equals = strchr(line, '=');

        if (!equals)
            continue;
        *equals = '\0';
        assert_int_equal(setenv(line, equals + 1, 1), 0);
    }
    free(copy);
}

/* A program `name` that prints `text`; NULL: there is none. */
static void on_path(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
    if (!text)
        return;
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\necho \"$*\" >%s/asked\ncat <<'END'\n%sEND\n", dir, text);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static ti_status find_with(const struct ti_options *o, struct ti_sites **s, char *what,
                           struct ti_err *err)
{
    *err = (struct ti_err){"", ""};
    return ti_where_find(o, s, what, NULL, err);
}

static struct ti_sites *must_find(char what[TI_WHERE_BYTES])
{
    struct ti_options o = {0};
    struct ti_sites *s;
    struct ti_err err;

    if (find_with(&o, &s, what, &err) != TI_OK)
        fail_msg("%s", err.text);
    return s;
}

static void must_fail(ti_status want, const char *says)
{
    char what[TI_WHERE_BYTES];
    struct ti_options o = {0};
    struct ti_sites *s;
    struct ti_err err;
    ti_status st = find_with(&o, &s, what, &err);

    if (st != want || !strstr(err.text, says))
        fail_msg("status %d, '%s', not '%s'", st, err.text, says);
    assert_null(s);
}

/* "cluster: node(cores,MiB) ..." */
static void check_nodes(const struct ti_sites *s, const char *expect)
{
    char all[1024] = "";
    int cluster = -1;

    for (int64_t i = 0; i < s->nnodes; i++) {
        if (s->node[i].cluster != cluster)
            sprintf(all + strlen(all), "%s%s/%s[%d,%d]:", i ? " " : "",
                    s->site[s->cluster[s->node[i].cluster].site].name,
                    s->cluster[s->node[i].cluster].name, s->cluster[s->node[i].cluster].cores,
                    (int)(s->cluster[s->node[i].cluster].memory_bytes >> 20));
        cluster = s->node[i].cluster;
        sprintf(all + strlen(all), " %s(%d,%d)", s->node[i].name, s->node[i].cores,
                (int)(s->node[i].memory_bytes >> 20));
    }
    assert_string_equal(all, expect);
}

static void outside_of_jobs_it_is_this_machine(void **state)
{
    char what[TI_WHERE_BYTES] = "?";

    (void)state;
    set("");
    assert_null(must_find(what));
    assert_string_equal(what, "");
}

/* salloc -N4 on a cluster of two kinds of nodes. */
static void slurm_says_what_was_granted(void **state)
{
    char what[TI_WHERE_BYTES];
    struct ti_sites *s;
    char line[256];
    FILE *f;
    int words = 0;

    (void)state;
    set("SLURM_JOB_ID=1234\nSLURM_JOB_NODELIST=n[1-3],big1\nSLURM_JOB_CPUS_PER_NODE=4(x3),2\n"
        "SLURM_CLUSTER_NAME=lab\nSLURM_JOB_PARTITION=normal\nSLURM_MEM_PER_CPU=1000\n");
    on_path("sinfo", "n1|8|16000|(null)\nn2|8|16000|(null)\nn2|8|16000|(null)\nn3|8|16000|(null)\n"
                     "big1|64|512000|bigmem,epyc\nother|1|1|(null)\nnonsense\n");
    s = must_find(what);
    assert_non_null(s);
    assert_int_equal(s->origin, TI_SITES_SLURM);
    assert_string_equal(s->path, "Slurm job 1234");
    assert_string_equal(what, "Slurm job 1234 (normal), 4 nodes");
    check_nodes(s, "lab/normal[8,16000]: n1(4,4000) n2(4,4000) n3(4,4000) "
                   "lab/bigmem+epyc[64,512000]: big1(2,2000)");
    while (s->via[words])
        words++;
    assert_string_equal(s->via[words - 1], "-c");
    {
        bool job = false, node = false;

        for (int i = 0; i < words; i++) {
            job |= strcmp(s->via[i], "--jobid=1234") == 0;
            node |= strcmp(s->via[i], "--nodelist={node}") == 0;
        }
        assert_true(job && node);
    }
    ti_sites_free(s);
    snprintf(line, sizeof line, "%s/asked", dir);
    f = fopen(line, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "-N -h -n n[1-3],big1 -o %N|%c|%m|%f\n");
    fclose(f);

    /* Of different kinds under one name; and without sinfo. */
    on_path("sinfo", "n1|8|16000|x\nn2|16|16000|x\nn3|8|16000|x\nbig1|8|16000|x\n");
    set("SLURM_JOB_ID=7\nSLURM_NODELIST=n[1-3],big1\nSLURM_MEM_PER_NODE=2048\n");
    s = must_find(what);
    check_nodes(
        s, "here/x[8,16000]: n1(0,2048) n3(0,2048) big1(0,2048) here/x-2[16,16000]: n2(0,2048)");
    ti_sites_free(s);
    on_path("sinfo", NULL);
    set("SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_MEM_PER_NODE=0\n");
    s = must_find(what);
    check_nodes(s, "here/nodes[0,0]: n1(0,0) n2(0,0)");
    assert_string_equal(what, "Slurm job 7, 2 nodes");
    ti_sites_free(s);
}

static void a_job_of_this_machine_alone(void **state)
{
    char here[256] = "", env[600], what[TI_WHERE_BYTES];
    struct ti_sites *s;

    (void)state;
    assert_int_equal(gethostname(here, sizeof here - 1), 0);
    here[strcspn(here, ".")] = '\0';
    snprintf(env, sizeof env, "SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=%s\nSLURM_JOB_CPUS_PER_NODE=2\n",
             here);
    set(env);
    assert_null(must_find(what));
    assert_string_equal(what, "Slurm job 9: this machine alone");
    /* salloc -N1 leaves one on another machine. */
    set("SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=other\nSLURM_JOB_CPUS_PER_NODE=2\n");
    s = must_find(what);
    assert_non_null(s);
    assert_string_equal(what, "Slurm job 9, 1 node");
    ti_sites_free(s);
    set("SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=other\nSLURMD_NODENAME=other\n");
    assert_null(must_find(what));
    snprintf(env, sizeof env, "LSB_JOBID=9\nLSB_HOSTS=%s %s\n", here, here);
    set(env);
    assert_null(must_find(what));
    assert_string_equal(what, "LSF job 9: this machine alone");
}

static void malformed_variables_are_named(void **state)
{
    (void)state;
    set("SLURM_JOB_ID=12\n");
    must_fail(TI_ERR_INPUT, "SLURM_JOB_NODELIST is not");
    set("SLURM_JOB_ID=1 2\nSLURM_JOB_NODELIST=n1\n");
    must_fail(TI_ERR_INPUT, "SLURM_JOB_ID is malformed");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-\n");
    must_fail(TI_ERR_INPUT, "SLURM_JOB_NODELIST is malformed: 'n[1-': column 3: ");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]';reboot\n");
    must_fail(TI_ERR_INPUT, "SLURM_JOB_NODELIST is malformed");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_CPUS_PER_NODE=4(x3\n");
    must_fail(TI_ERR_INPUT, "SLURM_JOB_CPUS_PER_NODE is malformed: '4(x3': behind '('");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_CPUS_PER_NODE=4(x3)\n");
    must_fail(TI_ERR_INPUT, "it is of more nodes than");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_CPUS_PER_NODE=4\n");
    must_fail(TI_ERR_INPUT, "it is of fewer nodes than");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_CPUS_PER_NODE=4,\n");
    must_fail(TI_ERR_INPUT, "a number of CPUs is missing");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_MEM_PER_NODE=4G\n");
    must_fail(TI_ERR_INPUT, "SLURM_MEM_PER_NODE is malformed: '4G'");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_HET_SIZE=2\n");
    must_fail(TI_ERR_INPUT, "heterogeneous");
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_PROCID=0\nSLURM_STEP_NUM_TASKS=4\n");
    must_fail(TI_ERR_USAGE, "srun started 4 of ti-acquire");
    set("OAR_NODEFILE=/nonexistent/nodes\n");
    must_fail(TI_ERR_IO, "cannot open '/nonexistent/nodes'");
    set("OAR_NODEFILE=/dev/null\n");
    must_fail(TI_ERR_INPUT, "OAR_NODEFILE names no node");
    set("LSB_HOSTS=a b;c\n");
    must_fail(TI_ERR_INPUT, "LSB_HOSTS: 'b;c' is no name of a node");
}

/* Sets `variable` to a file that holds the text. */
static int file_of(const char *variable, const char *text)
{
    int fd = memfd_create("nodes", 0);
    char path[64];

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(setenv(variable, path, 1), 0);
    return fd;
}

/* A job of OAR on Grid'5000, over two sites' clusters. */
static void node_files_have_a_line_a_core(void **state)
{
    char what[TI_WHERE_BYTES];
    struct ti_sites *s;
    int fd;

    (void)state;
    set("OAR_JOB_ID=42\n");
    on_path("oarsh", "");
    fd = file_of("OAR_NODEFILE", "graphene-12.nancy.grid5000.fr\ngraphene-12.nancy.grid5000.fr\n"
                                 "taurus-1.lyon.grid5000.fr\ngriffon-7.nancy.grid5000.fr\n"
                                 "graphene-3.nancy.grid5000.fr\n\n");
    s = must_find(what);
    assert_int_equal(s->origin, TI_SITES_OAR);
    assert_string_equal(what, "OAR job 42, 4 nodes");
    check_nodes(s, "nancy.grid5000.fr/graphene[0,0]: graphene-12.nancy.grid5000.fr(2,0) "
                   "graphene-3.nancy.grid5000.fr(1,0) nancy.grid5000.fr/griffon[0,0]: "
                   "griffon-7.nancy.grid5000.fr(1,0) lyon.grid5000.fr/taurus[0,0]: "
                   "taurus-1.lyon.grid5000.fr(1,0)");
    assert_string_equal(s->via[0], "oarsh");
    assert_string_equal(s->via[1], "{node}");
    assert_null(s->via[2]);
    ti_sites_free(s);
    on_path("oarsh", NULL);
    s = must_find(what);
    assert_null(s->via);
    ti_sites_free(s);
    close(fd);

    set("PBS_JOBID=42.server\n");
    fd = file_of("PBS_NODEFILE", "node01\nnode01\nnode02\n");
    s = must_find(what);
    assert_string_equal(what, "PBS job 42.server, 2 nodes");
    check_nodes(s, "here/node[0,0]: node01(2,0) node02(1,0)");
    ti_sites_free(s);
    close(fd);

    set("LSB_JOBID=42\nLSB_HOSTS=no no no\n");
    fd = file_of("LSB_DJOB_HOSTFILE", "17 4\nb 2\n17 4\n");
    s = must_find(what);
    check_nodes(s, "here/nodes[0,0]: 17(8,0) here/b[0,0]: b(2,0)");
    ti_sites_free(s);
    close(fd);
    fd = file_of("LSB_DJOB_HOSTFILE", "a\nb x\n");
    must_fail(TI_ERR_INPUT, ":2: a line is a name of a node, not 'b x'");
    close(fd);
}

static void options_come_first(void **state)
{
    char what[TI_WHERE_BYTES], path[64];
    struct ti_sites *s;
    struct ti_err err;
    int fd;

    (void)state;
    set("SLURM_JOB_ID=12\nSLURM_JOB_NODELIST=n[1-\n");
    assert_int_equal(find_with(&(struct ti_options){.local = true}, &s, what, &err), TI_OK);
    assert_null(s);
    fd = file_of("UNUSED", "a slots=4\nb.x slots=2\nc slots=1\n");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(
        find_with(&(struct ti_options){.hostfile = path, .exclude = "b,c"}, &s, what, &err), TI_OK);
    assert_int_equal(s->nnodes, 1);
    assert_int_equal(s->node[0].slots, 4);
    ti_sites_free(s);
    assert_int_equal(
        find_with(&(struct ti_options){.hostfile = path, .exclude = "b.y"}, &s, what, &err),
        TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "there is no node or cluster 'b.y'"));
    assert_int_equal(
        find_with(&(struct ti_options){.hostfile = path, .exclude = "[a,b,c]"}, &s, what, &err),
        TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "leaves no node"));
    assert_int_equal(
        find_with(&(struct ti_options){.hostfile = path, .exclude = "a["}, &s, what, &err),
        TI_ERR_USAGE);
    assert_non_null(strstr(err.text, "--exclude 'a[': column 2: "));
    assert_int_equal(
        find_with(&(struct ti_options){.hostfile = path, .sites_path = path}, &s, what, &err),
        TI_ERR_USAGE);
    assert_non_null(strstr(err.text, "--sites and --hostfile exclude each other"));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_of_jobs_it_is_this_machine),
        cmocka_unit_test(slurm_says_what_was_granted),
        cmocka_unit_test(a_job_of_this_machine_alone),
        cmocka_unit_test(malformed_variables_are_named),
        cmocka_unit_test(node_files_have_a_line_a_core),
        cmocka_unit_test(options_come_first),
    };
    const char *path = getenv("PATH");
    char command[64];
    int failed;

    if (!mkdtemp(dir))
        return 1;
    snprintf(old_path, sizeof old_path, "%s:%s", dir, path ? path : "/usr/bin:/bin");
    setenv("PATH", old_path, 1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) != 0 || failed;
}
