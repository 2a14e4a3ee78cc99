/*
 * Reading and folding traces when memory is short.  Each allocation fails in turn, alone and with
 * all that follow.  The result is then the right one, or an error that says so; nothing is printed,
 * nothing is leaked, and the program goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fold/pool.h"
#include "tests/unit/failing.h"
#include "tests/unit/fold_script.h"
#include "tests/unit/programs.h"
#include "tests/unit/script.h"
#include "tests/unit/work.h"
#include "trace/writer.h"

/* --------------------------------------------------------------------------- pools -- */

/* A pool maps memory for many pieces at once.  Here each piece fails, too. */
void *__real_ti_pool_take(struct ti_pool *p, size_t bytes);
void *__wrap_ti_pool_take(struct ti_pool *p, size_t bytes);
void *__real_ti_pool_take_any(struct ti_pool *p, size_t bytes);
void *__wrap_ti_pool_take_any(struct ti_pool *p, size_t bytes);

static bool is_short(struct ti_pool *p)
{
    bool now = failing_now();

    p->no_memory |= now;
    return now;
}

void *__wrap_ti_pool_take(struct ti_pool *p, size_t bytes)
{
    return is_short(p) ? NULL : __real_ti_pool_take(p, bytes);
}

void *__wrap_ti_pool_take_any(struct ti_pool *p, size_t bytes)
{
    return is_short(p) ? NULL : __real_ti_pool_take_any(p, bytes);
}

/* --------------------------------------------------------------- with each failure -- */

static char problem[1200]; /* "": there was none */

/* Let allocation `at` fail.  Returns whether there are so many, and no problem. */
static bool let_fail(work *do_it, const char *path, int64_t at, bool once, uint64_t expected)
{
    const char *then = once ? "fails" : "and all others fail";
    struct ti_err err = {.text = ""};
    uint64_t hash = 0;
    int64_t n, held;
    ti_status st;

    failing_begin(at, once);
    st = do_it(path, &hash, &err);
    n = failing_end(&held);
    if (held)
        snprintf(problem, sizeof problem, "%d blocks are leaked when allocation %d %s", (int)held,
                 (int)at, then);
    else if (st == TI_OK && hash != expected)
        snprintf(problem, sizeof problem, "a wrong result when allocation %d %s", (int)at, then);
    else if (st != TI_OK && (st != TI_ERR_IO || !strstr(err.text, "memory")))
        snprintf(problem, sizeof problem, "status %d when allocation %d %s: '%s'", st, (int)at,
                 then, err.text);
    return n > at && !problem[0];
}

/* Do it with allocations failing in turn, one in `step` and the last ones; what it says on stderr
 * goes to a file. */
static void try_some(work *do_it, const char *path, int64_t step)
{
    uint64_t expected = 0, again = 0;
    char said[96];
    struct ti_err err;
    struct stat sb;
    int old, fd;
    int64_t n;

    problem[0] = '\0';
    assert_string_equal(do_it(path, &expected, &err) ? err.text : "", "");
    failing_begin(-1, true);
    assert_int_equal(do_it(path, &again, &err), TI_OK);
    n = failing_end(NULL);
    assert_true(expected == again && expected != 0);
    fflush(stderr);
    snprintf(said, sizeof said, "%s/stderr", script_dir());
    fd = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600);
    old = dup(STDERR_FILENO);
    assert_true(fd >= 0 && old >= 0);
    dup2(fd, STDERR_FILENO);
    for (int once = 0; once < 2; once++)
        for (int64_t at = 0; let_fail(do_it, path, at, once, expected);)
            at += at + step + 20 < n ? step : 1;
    dup2(old, STDERR_FILENO);
    if (problem[0])
        fail_msg("%s: %s", path, problem);
    assert_int_equal(fstat(fd, &sb), 0);
    assert_int_equal(sb.st_size, 0);
    close(old);
    close(fd);
    unlink(said);
}

/* The same with each allocation. */
static void try_all(work *do_it, const char *path)
{
    try_some(do_it, path, 1);
}

/* ------------------------------------------------------------------------- traces -- */

#define ALL_KINDS                                                                                  \
    "* init level=0\n"                                                                             \
    "* COMM 2 g 0,1,2,3\n* cart_create newcomm=2 v0=2,2 v1=1,0\n"                                  \
    "0-1 COMM 3 p 0,1\n2-3 COMM 3 p 2,3\n* cart_sub comm=2 newcomm=3 v0=0,1\n"                     \
    "* COMM 4 d 0,1,2,3\n* comm_idup newcomm=4 req=0\n* wait req=0\n"                              \
    "* COMM 5 i 0,1|2,3\n* intercomm_create comm=3 root=0 tag=0 newcomm=5\n"                       \
    "* win_create bytes=80 win=0\n* win_fence win=0 mode=0\n"                                      \
    "0 put win=0 peer=1 bytes=8 rbytes=8\n* win_fence win=0 mode=0\n"                              \
    "* file_open file=0 mode=512 name=data\n* file_close file=0\n"                                 \
    "0 send_init peer=1 tag=1 bytes=8 req=0\n1 recv_init peer=-1 tag=1 bytes=8 req=0\n"            \
    "* neighbor_alltoallv comm=2 v0=1,1,5,5 v1=1,1,5,5\n"                                          \
    "* alltoallv comm=4 esize=1 resize=1 v0=1,2,3,4 v1=1,2,3,4\n"
#define A_TRIP                                                                                     \
    "0-1 start req=0\n0-1 waitall v0=0\n"                                                          \
    "2 isend peer=1 tag=2 bytes=8 req=0 site=app+0x10 v=100\n2 wait req=0\n"                       \
    "3 irecv peer=any tag=any bytes=8 req=0 v=50\n3 wait req=0 from=-1 fromtag=2\n"                \
    "0 send peer=1 tag=3 bytes=8 ns=7\n1 mprobe peer=-1 tag=3 msg=0\n"                             \
    "1 mrecv peer=-1 tag=3 msg=0 bytes=8\n* allreduce bytes=8 redop=1\n"                           \
    "0 send comm=5 peer=0 tag=1 bytes=5\n2 probe comm=5 peer=0 tag=1\n"                            \
    "2 recv comm=5 peer=0 tag=1 bytes=5\n"
#define AT_END "0-1 request_free req=0\n* win_free win=0\n* comm_free comm=4\n* finalize\n"

static const char *in_dir(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", script_dir(), name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Make a bundle of files in the folder of the script.  Only the manifest is deflated. */
static void bundle(const char *name, const char *const *files)
{
    static const char make[] =
        "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1], 'w'); "
        "[z.write(f, compress_type=8 if f == 'MANIFEST.json' else 0) for f in sys.argv[2:]]; "
        "z.close()";
    char command[1024];
    int n = snprintf(command, sizeof command, "cd %s && python3 -c \"%s\" %s", script_dir(), make,
                     name);

    for (; *files; files++)
        n += snprintf(command + n, sizeof command - (size_t)n, " %s", *files);
    snprintf(command + n, sizeof command - (size_t)n, " MANIFEST.json");
    assert_int_equal(system(command), 0);
}

#define MANIFEST                                                                                   \
    "{\"format\": \"tiara-bundle\", \"version\": 1, \"np\": 4, \"nodes\": [{\"name\": \"a\"}],"    \
    " \"run_id\": \"30313233343536373839616263646500\", \"application\": \"test\"}"

/* The traces of all kinds of calls, in a loop of `trips`: rank files, and merged in ranks.ti. */
static void make_all_kinds(int trips)
{
    size_t room = sizeof ALL_KINDS + (size_t)trips * sizeof A_TRIP + sizeof AT_END;
    char *text = malloc(room), *end = stpcpy(text, ALL_KINDS);

    while (trips--)
        end = stpcpy(end, A_TRIP);
    strcpy(end, AT_END);
    script_trace(4, -1, text);
    free(text);
    ti_source_close(fold_script(4, 0, NULL));
}

static void run_directory(void **state)
{
    (void)state;
    make_all_kinds(4);
    unlink(in_dir("ranks.ti"));
    write_file("RUN.json", MANIFEST);
    try_all(work_read_source, script_dir());
    try_all(work_check, script_dir());
    try_all(work_pass_over, script_dir());
}

static void rank_file(void **state)
{
    (void)state;
    make_all_kinds(4);
    try_all(work_read_source, in_dir("rank-000002.ti"));
}

static void merged_trace(void **state)
{
    (void)state;
    make_all_kinds(4);
    try_all(work_read_source, in_dir("ranks.ti"));
    try_all(work_read_alone, in_dir("ranks.ti"));
    try_all(work_read_views, in_dir("ranks.ti"));
    try_all(work_read_shapes, in_dir("ranks.ti"));
    try_all(work_use_library, in_dir("ranks.ti"));
}

/* Trips of a loop that are alike are left out. */
static void long_loop(void **state)
{
    (void)state;
    make_all_kinds(48);
    try_all(work_check, in_dir("ranks.ti"));
    assert_true(work_left_out > 0);
    try_all(work_pass_over, in_dir("ranks.ti"));
    try_all(work_scan_all, in_dir("ranks.ti"));
}

static void bundles(void **state)
{
    static const char *const files[] = {"rank-000000.ti", "rank-000001.ti", "rank-000002.ti",
                                        "rank-000003.ti", NULL};
    static const char *const merged[] = {"ranks.ti", NULL};

    (void)state;
    make_all_kinds(4);
    write_file("MANIFEST.json", MANIFEST);
    bundle("files.tib", files);
    bundle("merged.tib", merged);
    try_all(work_read_source, in_dir("files.tib"));
    try_all(work_read_source, in_dir("merged.tib"));
}

/* Several chunks of events, and vectors too long to stand in them. */
static void long_trace(void **state)
{
    static const uint8_t run_id[TI_RUN_ID_BYTES] = "0123456789abcde";
    static int32_t numbers[4 * TI_VEC_INLINE];
    struct ti_event ev = {.op = TI_OP_WAITALL, .mask = ti_op_info(TI_OP_WAITALL)->fields};
    const char *const info[] = {"application", "test"};
    struct ti_writer *w;
    struct ti_err err;

    (void)state;
    script_trace(1, -1, "* init level=0\n* finalize\n");
    assert_int_equal(ti_writer_open(in_dir("long.ti"), 0, 1, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 1);
    ti_writer_comm(w, 0, TI_KIND_WORLD, 0, 1, (const int[]){0}, 0, NULL);
    for (int i = 0; i < 20000; i++) {
        ev.volume = (uint64_t)i * 7919 % 1009;
        ev.vec[0] = (struct ti_vec){numbers, 4, i % 1000 ? i % 5 : 2 * TI_VEC_INLINE};
        numbers[i % TI_VEC_INLINE] = i;
        ti_writer_event(w, &ev);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    try_all(work_read_source, in_dir("long.ti"));
}

/* Traces that are not sound, so that the check reads ranks again. */
static void unsound(void **state)
{
    static const struct {
        int np, missing;
        const char *script;
    } traces[] = {
        {2, -1,
         "0 send peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n"
         "0 send peer=1 tag=1 "
         "bytes=10\n1 recv "
         "peer=-1 tag=2 "
         "bytes=10\n"},
        {2, -1, "0 send peer=1 tag=1 bytes=20\n1 recv peer=-1 tag=1 bytes=15\n"},
        {2, -1,
         "0 isend peer=1 tag=0 bytes=8 req=0\n1 recv peer=-1 tag=0 bytes=8\n"
         "1 probe peer=-1 tag=4\n1 mprobe peer=-1 tag=5 msg=0\n"},
        {2, -1,
         "1 irecv peer=-1 tag=1 bytes=5 req=0\n1 irecv peer=-1 tag=1 bytes=8 req=1\n"
         "1 irecv peer=-1 tag=1 bytes=19 req=2\n1 cancel req=0\n"
         "1 waitall all=1 v1=0,null,null\n"
         "0 send peer=1 tag=1 bytes=8\n0 send peer=1 tag=1 bytes=20\n"},
        {2, -1,
         "0 irecv peer=any tag=1 bytes=8 req=0\n1 send peer=-1 tag=1 bytes=8\n"
         "1 send peer=-1 tag=1 bytes=8\n"},
        {3, -1, "* barrier\n0-1 allreduce bytes=8 redop=1\n2 allreduce bytes=8 redop=2\n"},
        {3, -1, "0-1 barrier\n"},
        {2, -1, "* barrier\n0 alltoallv v0=1,2 v1=1,4\n1 alltoallv v0=3,4 v1=2,4\n"},
        {2, -1,
         "* win_create bytes=80 win=0\n0 put win=0 peer=1 bytes=8 rbytes=8\n"
         "0 wait req=3\n* win_free win=0\n"},
        {3, 1,
         "0 send peer=1 tag=1 bytes=4\n1 recv peer=-1 tag=1 bytes=4\n* barrier\n"
         "0 untraced call=MPI_Hello\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        char text[1024];

        snprintf(text, sizeof text, "* init level=0\n%s* finalize\n", traces[i].script);
        script_trace(traces[i].np, traces[i].missing, text);
        try_all(work_check, script_dir());
        ti_source_close(fold_script(traces[i].np, 0, NULL));
        try_all(work_check, in_dir("ranks.ti"));
    }
}

static void encode_all(const char *path)
{
    try_all(work_encode, path);
    try_all(work_encode_bounded, path);
    try_all(work_encode_statistics, path);
    try_all(work_encode_shape, path);
    try_all(work_rebuild, path);
}

/* Loops in loops, fields and vectors that vary, extra columns. */
static void encoding(void **state)
{
    (void)state;
    make_all_kinds(4);
    encode_all(in_dir("rank-000000.ti"));
    encode_all(in_dir("rank-000002.ti"));
    for (int i = 0; i < 3; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(6));

        program_trace(in_dir("program.ti"), program, 1 + (int)program_rnd(30), i % 3 == 0, 60,
                      i % 4 ? TI_END_COMPLETE : TI_END_KILLED);
        program_free(program);
        encode_all(in_dir("program.ti"));
    }
}

/* A loop that is passed once at first, so that it is found late; bursts that differ by more than
 * the bound, so that they are levels; members of a communicator in no order. */
static void encoding_columns(void **state)
{
    static char text[8192];
    char *end = stpcpy(text, "* init level=0\n* COMM 2 d 0,3,1,2\n* comm_dup newcomm=2\n");

    (void)state;
    for (int i = 0; i < 24; i++) {
        end += sprintf(end, "0 barrier comm=2 v=%d\n", 100000 + (int)program_rnd(100000));
        for (int trips = i ? 1 + (int)program_rnd(3) : 1; trips; trips--)
            end += sprintf(end, "0 allreduce bytes=8 v=%d\n", 5000 + (int)program_rnd(20000));
    }
    strcpy(end, "* finalize\n");
    script_trace(4, -1, text);
    encode_all(in_dir("rank-000000.ti"));
}

/* A large file with bursts that all differ, of which only a part is folded: the record is a copy.
 * The allocations are too many to let each one fail. */
static void encoding_noise(void **state)
{
    struct statement call = program_call(TI_OP_BARRIER, 1000000);

    (void)state;
    make_all_kinds(4);
    call.noise = 1 << 24;
    program_trace(in_dir("program.ti"), &call, 24000, 0, UINT64_MAX, TI_END_COMPLETE);
    work_copies = 0;
    try_some(work_encode, in_dir("program.ti"), 257);
    assert_true(work_copies > 0);
}

/* Loops and phases of rank files by the functions of libtiara, which fold them. */
static void library_folds(void **state)
{
    static const char trip[] =
        "0 isend peer=1 tag=2 bytes=8 req=0 site=app+0x10 v=100\n0 waitall v0=0\n"
        "1 recv peer=-1 tag=2 bytes=8\n* allreduce bytes=8 redop=1\n";
    char text[1024];

    (void)state;
    snprintf(text, sizeof text, "* init level=0\n%s%s%s* finalize\n", trip, trip, trip);
    script_trace(2, -1, text);
    try_all(work_use_library, script_dir());
    try_all(work_read_shapes, script_dir());
}

static int forget(void **state)
{
    (void)state;
    script_forget();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_directory),    cmocka_unit_test(rank_file),
        cmocka_unit_test(merged_trace),     cmocka_unit_test(long_loop),
        cmocka_unit_test(bundles),          cmocka_unit_test(long_trace),
        cmocka_unit_test(unsound),          cmocka_unit_test(encoding),
        cmocka_unit_test(encoding_columns), cmocka_unit_test(encoding_noise),
        cmocka_unit_test(library_folds),
    };

    return cmocka_run_group_tests_name("no-memory", tests, NULL, forget);
}
