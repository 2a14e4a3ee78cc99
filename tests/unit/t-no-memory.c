/*
 * Reading traces when memory is short.  Each allocation fails in turn, alone and with all that
 * follow.  The result is then the right one, or an error that says so; nothing is printed, nothing
 * is leaked, and the program goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/pass.h"
#include "analysis/shapes.h"
#include "api/tiara.h"
#include "fold/seek.h"
#include "fold/values.h"
#include "merged/view.h"
#include "sound/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/fold_script.h"
#include "tests/unit/script.h"
#include "trace/scan.h"
#include "trace/writer.h"

/* ------------------------------------------------------------------ what is done -- */

/* A piece of work with the trace at `path`.  *hash is what it found out. */
typedef ti_status work(const char *path, uint64_t *hash, struct ti_err *err);

static void add(uint64_t *hash, uint64_t value)
{
    *hash = ti_hash_word(*hash, value);
}

static void add_text(uint64_t *hash, const char *text)
{
    for (; text && *text; text++)
        add(hash, (unsigned char)*text);
}

/* What a trace says beside its events. */
static ti_status read_metadata(struct ti_source *s, uint64_t *hash, struct ti_err *err)
{
    static const char *const names[] = {"RUN.json", "MANIFEST.json"};
    ti_status st = TI_OK;

    add(hash, (uint64_t)ti_source_nranks(s));
    add(hash, (uint64_t)ti_source_count(s));
    add(hash, (uint64_t)ti_source_size(s));
    add(hash, json_object_size(ti_source_manifest(s)));
    st = ti_source_manifest_status(s, err);
    for (int i = 0; i < 2 && !st; i++) {
        size_t bytes;
        char *text;

        st = ti_source_text(s, names[i], &text, &bytes, err);
        if (!st)
            add(hash, bytes);
        if (!st)
            free(text);
    }
    return st;
}

static ti_status read_events(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_event ev;
    int more;

    ti_reader_want_extras(r);
    while ((more = ti_reader_next(r, &ev, err)) > 0) {
        add(hash, ti_hash_event(TI_HASH_START, &ev));
        add_text(hash, ti_reader_string(r, TI_STRING_SITE, ev.site));
        add(hash, (uint64_t)ti_reader_event_comm(r, &ev));
    }
    return more < 0 ? ti_reader_status(r) : TI_OK;
}

static ti_status pass(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    ti_status st = ti_reader_skip(r, err);
    const char *key, *value;

    for (int i = 0; !st && ti_reader_info_at(r, i, &key, &value); i++)
        add_text(hash, value);
    for (int i = 0; !st && i < 8; i++)
        if (ti_reader_comm(r, i))
            add(hash, (uint64_t)ti_reader_comm(r, i)->size);
    add(hash, ti_reader_events(r));
    return st;
}

static ti_status seek(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_place place;
    struct ti_event ev;
    int found;

    if (!ti_reader_folded(r))
        return TI_OK;
    errno = 0;
    found = ti_reader_seek(r, 0, ti_folded_events(ti_reader_folded(r)) / 2, &place, err);
    if (found < 0)
        return errno == ENOMEM ? TI_ERR_IO : TI_ERR_INPUT;
    add(hash, place.event);
    if (ti_reader_next(r, &ev, err) < 0)
        return ti_reader_status(r);
    add(hash, ti_hash_event(TI_HASH_START, &ev));
    return TI_OK;
}

static ti_status scan(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_scan all;
    ti_status st = ti_scan_read(r, &all, err);

    add(hash, all.events);
    add(hash, all.volume);
    add(hash, all.hash);
    add(hash, all.messages);
    add(hash, (uint64_t)all.nuntraced);
    ti_scan_free(&all);
    return st;
}

static bool take(void *arg, const struct ti_values *v)
{
    uint64_t *hash = arg, sum;

    if (ti_values_sum(v, 0, &sum))
        add(hash, sum);
    return true;
}

/* The values of a folded trace, without its events. */
static ti_status read_values(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);

    errno = 0;
    for (uint32_t i = 0; f && i < ti_shape_nodes(f); i++)
        if (!ti_shape_node(f, i).loop && !ti_shape_values(f, i, 1, take, hash))
            return ti_reader_malformed(r, err);
    if (f && !ti_folded_check(f))
        return ti_reader_malformed(r, err);
    return TI_OK;
}

/* Each part of this in a reader of its own. */
static ti_status read_rank(struct ti_source *s, int64_t rank, uint64_t *hash, struct ti_err *err)
{
    static ti_status (*const parts[])(struct ti_reader * r, uint64_t * hash,
                                      struct ti_err * err) = {read_events, pass, seek, scan,
                                                              read_values};
    ti_status st = TI_OK;

    for (size_t i = 0; i < sizeof parts / sizeof *parts && !st; i++) {
        struct ti_reader *r;

        st = ti_source_reader(s, rank, &r, err);
        if (st)
            break;
        st = parts[i](r, hash, err);
        ti_reader_close(r);
    }
    return st;
}

static ti_status read_source(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = read_metadata(s, hash, err);
    if (!st)
        st = ti_source_share_lists(s, err);
    if (!st)
        st = ti_source_verify(s, err);
    for (int64_t rank = 0; rank < ti_source_nranks(s) && !st; rank++)
        if (ti_source_has(s, rank))
            st = read_rank(s, rank, hash, err);
    ti_source_close(s);
    return st;
}

/* Without shared lists of ranks. */
static ti_status read_alone(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);
    int64_t rank = 0;

    if (st)
        return st;
    while (!ti_source_has(s, rank))
        rank++;
    st = read_rank(s, rank, hash, err);
    ti_source_close(s);
    return st;
}

static ti_status read_view(struct ti_merged *m, uint32_t group, uint64_t *hash, struct ti_err *err)
{
    struct ti_view *v;
    struct ti_record record;
    ti_status st = ti_view_open(m, group, &v, err);

    if (st)
        return st;
    for (size_t k = 0; k < ti_view_parts(v) && !st; k++) {
        int64_t value[8];

        assert_true(ti_ranges_count(ti_view_ranks(v)) <= 8);
        add(hash, ti_view_formula(v, k).kind);
        st = ti_view_values(v, k, 1, value, err);
        for (int64_t i = 0; i < ti_ranges_count(ti_view_ranks(v)) && !st; i++)
            add(hash, (uint64_t)value[i]);
    }
    if (!st)
        st = ti_view_record(v, ti_view_ranks(v)->range[0].first, &record, err);
    if (!st)
        ti_record_free(&record);
    ti_view_close(v);
    return st;
}

static ti_status read_views(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    for (uint32_t g = 0; g < ti_merged_groups(ti_source_merged(s)) && !st; g++)
        st = read_view(ti_source_merged(s), g, hash, err);
    ti_source_close(s);
    return st;
}

static bool remember(void *arg, uint32_t depth)
{
    (void)arg, (void)depth;
    return true;
}

static void repeat(void *arg, uint32_t depth, uint64_t times)
{
    (void)arg, (void)depth, (void)times;
}

static void add_problems(uint64_t *hash, const struct ti_problems *ps)
{
    add(hash, ps->n);
    for (int i = 0; i < ps->shown; i++) {
        add_text(hash, ps->list[i].call);
        add_text(hash, ps->list[i].why);
    }
}

static ti_status check(const char *path, uint64_t *hash, struct ti_err *err)
{
    static const struct ti_visitor visitor = {
        .remember = remember, .repeat = repeat, .extras = true};
    struct ti_problems problems = {.n = 0};
    struct ti_check result;
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_check(s, &visitor, &result, &problems, err);
    add(hash, result.events);
    add(hash, result.messages);
    add(hash, result.conserved.messages);
    add(hash, result.conserved.collectives);
    add(hash, result.unchecked.messages);
    add_problems(hash, &problems);
    add_problems(hash, &result.leaked);
    ti_check_free(&result);
    ti_source_close(s);
    return st;
}

static void message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    uint64_t *sum = arg; /* the order is not always the same */

    *sum += times * ti_hash_word(ti_hash_word(bytes, (uint64_t)from), (uint64_t)to);
}

static void collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    uint64_t *sum = arg;

    *sum += times * ti_hash_word(bytes, op);
}

static void bursts(void *arg, const struct ti_reader *r, uint32_t site, const struct ti_values *v,
                   bool has_extras)
{
    uint64_t *sum = arg, some;

    (void)has_extras;
    if (ti_values_sum(v, 0, &some))
        *sum += ti_hash_word(some, site) + ti_reader_rank(r);
}

/* The pass over all ranks for commands of ti-info. */
static ti_status pass_over(const char *path, uint64_t *hash, struct ti_err *err)
{
    uint64_t sum = 0;
    const struct ti_pass_visitor v = {.arg = &sum,
                                      .message = message,
                                      .one_sided = message,
                                      .collective = collective,
                                      .bursts = bursts};
    struct ti_pass all;
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_pass(s, -1, &v, &all, err);
    add(hash, sum);
    add(hash, (uint64_t)all.ranks);
    add(hash, all.st);
    ti_pass_free(&all);
    ti_source_close(s);
    return st;
}

/* Ranks with equal loops, added up. */
static ti_status read_shapes(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_shapes all;
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_shapes_read(s, -1, NULL, &all, err);
    for (size_t i = 0; i < all.n; i++)
        for (uint32_t k = 0; k < all.shape[i].nnodes; k++) {
            add(hash, all.shape[i].node[k].events);
            add_text(hash, all.shape[i].node[k].name);
            add_text(hash, all.shape[i].node[k].text[TI_TEXT_VECTOR]);
        }
    add(hash, (uint64_t)all.ranks.taken);
    ti_shapes_free(&all);
    ti_source_close(s);
    return st;
}

/* A rank by the functions of libtiara. */
static enum tiara_status use_rank(struct tiara_trace *t, int64_t rank, uint64_t *hash,
                                  struct tiara_error *why)
{
    const struct tiara_event *ev;
    struct tiara_shape *s;
    struct tiara_rank *r;
    enum tiara_status st = tiara_rank_open(t, rank, TIARA_EXTRAS, &r, why);
    bool fine = true;

    if (st)
        return st;
    for (int more = 1; fine && more > 0;) {
        more = tiara_next(r, &ev, why);
        st = more < 0 ? why->status : TIARA_OK;
        fine = more <= 0 || tiara_event_text(r);
        if (more > 0 && fine)
            add_text(hash, tiara_event_text(r));
    }
    tiara_rank_close(r);
    if (!st && fine)
        st = tiara_shape_open(t, rank, &s, why);
    if (st || !fine)
        goto out;
    for (uint32_t i = 0; fine && i < tiara_shape_nodes(s); i++) {
        fine = tiara_shape_name(s, i);
        add_text(hash, tiara_shape_name(s, i));
    }
    tiara_shape_close(s);
out:
    if (!fine)
        snprintf(why->text, sizeof why->text, "no memory for a text");
    return fine ? st : TIARA_IO;
}

static enum tiara_status use_sums(struct tiara_trace *t, uint64_t *hash, struct tiara_error *why)
{
    struct tiara_histogram histogram;
    struct tiara_verdict *verdict;
    struct tiara_traffic *traffic;
    struct tiara_phases *phases;
    enum tiara_status st = tiara_traffic(t, &traffic, why);

    if (!st) {
        add(hash, traffic->n);
        tiara_traffic_free(traffic);
        st = tiara_histogram(t, &histogram, why);
    }
    if (!st) {
        add(hash, histogram.messages.n);
        st = tiara_phases(t, &phases, why);
    }
    if (!st) {
        add(hash, tiara_phases_shapes(phases));
        add(hash, (uint64_t)tiara_phases_coverage(phases)->read);
        tiara_phases_free(phases);
        st = tiara_verify(t, &verdict, why);
    }
    if (!st) {
        add(hash, verdict->problems);
        add(hash, verdict->messages);
        tiara_verdict_free(verdict);
    }
    return st;
}

static ti_status use_library(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct tiara_error why = {.text = ""};
    struct tiara_trace *t;
    enum tiara_status st = tiara_open(path, &t, &why);

    if (!st) {
        st = tiara_find_sources(t, script_dir(), &why);
        for (int64_t rank = 0; rank < tiara_ranks(t) && !st; rank++)
            st = use_rank(t, rank, hash, &why);
        if (!st)
            st = use_sums(t, hash, &why);
        tiara_close(t);
    }
    snprintf(err->text, sizeof err->text, "%s", why.text);
    return (ti_status)st;
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

/* Do it with each allocation failing in turn; what it says on stderr goes to a file. */
static void try_all(work *do_it, const char *path)
{
    uint64_t expected = 0, again = 0;
    char said[96];
    struct ti_err err;
    struct stat sb;
    int old, fd;

    problem[0] = '\0';
    assert_string_equal(do_it(path, &expected, &err) ? err.text : "", "");
    assert_int_equal(do_it(path, &again, &err), TI_OK);
    assert_true(expected == again && expected != 0);
    fflush(stderr);
    snprintf(said, sizeof said, "%s/stderr", script_dir());
    fd = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600);
    old = dup(STDERR_FILENO);
    assert_true(fd >= 0 && old >= 0);
    dup2(fd, STDERR_FILENO);
    for (int once = 0; once < 2; once++)
        for (int64_t at = 0; let_fail(do_it, path, at, once, expected); at++)
            ;
    dup2(old, STDERR_FILENO);
    if (problem[0])
        fail_msg("%s: %s", path, problem);
    assert_int_equal(fstat(fd, &sb), 0);
    assert_int_equal(sb.st_size, 0);
    close(old);
    close(fd);
    unlink(said);
}

/* ------------------------------------------------------------------------- traces -- */

/* Repeat lines of a script. */
#define TIMES_4(lines)  lines lines lines lines
#define TIMES_16(lines) TIMES_4(TIMES_4(lines))

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

/* The traces of all kinds of calls: rank files, and merged in ranks.ti. */
static void make_all_kinds(void)
{
    script_trace(4, -1, ALL_KINDS TIMES_16(A_TRIP) AT_END);
    ti_source_close(fold_script(4, 0, NULL));
}

static void run_directory(void **state)
{
    (void)state;
    make_all_kinds();
    unlink(in_dir("ranks.ti"));
    write_file("RUN.json", MANIFEST);
    try_all(read_source, script_dir());
    try_all(check, script_dir());
    try_all(pass_over, script_dir());
}

static void rank_file(void **state)
{
    (void)state;
    make_all_kinds();
    try_all(read_source, in_dir("rank-000002.ti"));
}

static void merged_trace(void **state)
{
    (void)state;
    make_all_kinds();
    try_all(read_source, in_dir("ranks.ti"));
    try_all(read_alone, in_dir("ranks.ti"));
    try_all(read_views, in_dir("ranks.ti"));
    try_all(check, in_dir("ranks.ti"));
    try_all(pass_over, in_dir("ranks.ti"));
    try_all(read_shapes, in_dir("ranks.ti"));
    try_all(use_library, in_dir("ranks.ti"));
}

static void bundles(void **state)
{
    static const char *const files[] = {"rank-000000.ti", "rank-000001.ti", "rank-000002.ti",
                                        "rank-000003.ti", NULL};
    static const char *const merged[] = {"ranks.ti", NULL};

    (void)state;
    make_all_kinds();
    write_file("MANIFEST.json", MANIFEST);
    bundle("files.tib", files);
    bundle("merged.tib", merged);
    try_all(read_source, in_dir("files.tib"));
    try_all(read_source, in_dir("merged.tib"));
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
    for (int i = 0; i < 40000; i++) {
        ev.volume = (uint64_t)i * 7919 % 1009;
        ev.vec[0] = (struct ti_vec){numbers, 4, i % 1000 ? i % 5 : 2 * TI_VEC_INLINE};
        numbers[i % TI_VEC_INLINE] = i;
        ti_writer_event(w, &ev);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    try_all(read_source, in_dir("long.ti"));
}

/* Traces that are not sound, so that the check reads ranks again. */
static void unsound(void **state)
{
    static const struct {
        int np, missing;
        const char *script;
    } traces[] = {
        {2, -1,
         TIMES_4(
             "0 send peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n") "0 send peer=1 tag=1 "
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
        try_all(check, script_dir());
        ti_source_close(fold_script(traces[i].np, 0, NULL));
        try_all(check, in_dir("ranks.ti"));
    }
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
        cmocka_unit_test(run_directory), cmocka_unit_test(rank_file),
        cmocka_unit_test(merged_trace),  cmocka_unit_test(bundles),
        cmocka_unit_test(long_trace),    cmocka_unit_test(unsound),
    };

    return cmocka_run_group_tests_name("no-memory", tests, NULL, forget);
}
