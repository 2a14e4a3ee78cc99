/* gather/: from run directories in all states of repair to bundles. */
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
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/check.h"
#include "bundle/manifest.h"
#include "bundle/runjson.h"
#include "bundle/source.h"
#include "common/cli.h"
#include "common/json.h"
#include "common/ranges.h"
#include "merged/merger.h"
#include "tests/verify.h"
#include "trace/rankname.h"
#include "trace/writer.h"

static char top[64], run_dir[80], bundle[80];

static void path_of(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", run_dir, name);
}

static void make_trace(const char *name, uint32_t rank, uint32_t nranks, uint8_t run, int events,
                       enum ti_end end)
{
    uint8_t run_id[TI_RUN_ID_BYTES] = {run};
    const char *const info[] = {
        "host", rank < 2 ? "near" : "far", "application", "app", "exact", "1", "counter", "papi"};
    const char *const last[] = {"memory_bytes", "1000", "reason", "disk full"};
    struct ti_event ev = {.volume = 100, .op = TI_OP_SEND, .mask = TI_M_P2P};
    struct ti_writer *w;
    struct ti_err err;
    char path[256];

    path_of(path, name);
    unlink(path);
    ev.arg[TI_F_PEER] = 1;
    ev.arg[TI_F_BYTES] = 10;
    assert_int_equal(ti_writer_open(path, rank, nranks, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 4);
    for (int i = 0; i < events; i++) {
        ti_writer_event(w, &ev);
        if (i % 8 == 7)
            ti_writer_flush(w);
    }
    assert_int_equal(ti_writer_close(w, end, last, 2, &err), TI_OK);
}

static void make_run(int nranks)
{
    for (int i = 0; i < nranks; i++) {
        char name[TI_RANK_NAME_BYTES];

        make_trace(ti_rank_name(i, name), (uint32_t)i, (uint32_t)nranks, 1, 20 + i,
                   TI_END_COMPLETE);
    }
}

static void cut(const char *name, off_t bytes)
{
    struct stat sb;
    char path[256];

    path_of(path, name);
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(truncate(path, bytes < 0 ? sb.st_size + bytes : bytes), 0);
}

static void spoil(const char *name, off_t at)
{
    char path[256], c;
    int fd;

    path_of(path, name);
    fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c ^= 0x55;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

static void spit(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    path_of(path, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* With its RUN.json, if there is one. */
static ti_status check_it(struct ti_run **run, struct ti_err *err)
{
    int dir = open(run_dir, O_RDONLY | O_DIRECTORY);
    json_t *json = NULL;
    ti_status st;

    assert_int_equal(ti_runjson_read(dir, run_dir, "RUN.json", &json, NULL, err), TI_OK);
    close(dir);
    st = ti_run_check(run_dir, json, NULL, run, err);
    json_decref(json);
    return st;
}

static struct ti_run *check(void)
{
    struct ti_run *run;
    struct ti_err err;

    if (check_it(&run, &err) != TI_OK)
        fail_msg("%s", err.text);
    return run;
}

static const struct ti_qualities exact;
static const struct ti_qualities *merge; /* NULL: files are stored */

static ti_status write_to(const char *output, struct ti_run *run, bool force, int64_t *bytes,
                          struct ti_err *err)
{
    struct ti_bundle *b;
    ti_status st = ti_bundle_begin(output, force, &b, err);

    if (st == TI_OK && merge)
        ti_bundle_merge(b, merge, false, NULL);
    if (st == TI_OK)
        st = ti_bundle_finish(b, run, bytes, err);
    ti_bundle_free(b);
    return st;
}

static ti_status write_it(struct ti_run *run, bool force, int64_t *bytes, struct ti_err *err)
{
    return write_to(bundle, run, force, bytes, err);
}

/* Write the bundle anew and open it: over a better one it would not be written. */
static struct ti_source *gather(struct ti_run *run)
{
    struct ti_source *s;
    struct ti_err err;
    int64_t bytes = 0;
    struct stat sb;

    unlink(bundle);
    if (write_it(run, true, &bytes, &err) != TI_OK)
        fail_msg("%s", err.text);
    assert_int_equal(stat(bundle, &sb), 0);
    assert_int_equal(sb.st_size, bytes);
    if (ti_source_open(bundle, &s, &err) != TI_OK)
        fail_msg("%s", err.text);
    assert_non_null(ti_source_manifest(s));
    return s;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool part_exists(void)
{
    char part[90];

    snprintf(part, sizeof part, "%s.part", bundle);
    return exists(part);
}

static const char *reason(const struct ti_source *s, const char *list, size_t i)
{
    const json_t *item = json_array_get(json_object_get(ti_source_manifest(s), list), i);

    return item ? json_string_value(json_object_get(item, "reason")) : "(none)";
}

/* Ranks that a list of the manifest has. */
static int64_t listed(const struct ti_source *s, const char *list)
{
    const json_t *item;
    int64_t n = 0;
    size_t i;

    json_array_foreach(json_object_get(ti_source_manifest(s), list), i, item)
    {
        struct ti_ranges ranks;

        assert_true(ti_ranges_of_json(json_object_get(item, "ranks"), TI_RANKS_MAX, &ranks));
        n += ti_ranges_count(&ranks);
        ti_ranges_free(&ranks);
    }
    return n;
}

static void complete(void **state)
{
    struct ti_run *run;
    struct ti_source *s;
    const json_t *m, *steps, *entry;

    (void)state;
    make_run(4);
    spit("RUN.json", "{\"np\": 4, \"run_id\": \"01000000000000000000000000000000\","
                     " \"command\": [\"./app\", \"-x\"], \"plan\": {\"folding\": 2},"
                     " \"site\": \"here\", \"steps\": [{\"name\": \"run\", \"seconds\": 1.5}]}");
    run = check();
    assert_int_equal(run->nranks, 4);
    assert_int_equal(run->gathered, 4);
    assert_int_equal(run->complete, 4);
    assert_int_equal(run->nstrays, 0);
    assert_int_equal(run->nnodes, 2);
    assert_int_equal(run->events, 20 + 21 + 22 + 23);
    assert_int_equal(run->messages, run->events);
    assert_true(run->exact);
    s = gather(run);
    m = ti_source_manifest(s);
    assert_true(json_is_true(json_object_get(m, "complete")));
    assert_int_equal(json_integer_value(json_object_get(m, "np")), 4);
    assert_string_equal(json_string_value(json_object_get(m, "application")), "app");
    assert_int_equal(json_array_size(json_object_get(m, "command")), 2);
    assert_int_equal(json_array_size(json_object_get(m, "nodes")), 2);
    assert_true(json_is_object(json_object_get(m, "plan")));
    steps = json_object_get(json_object_get(m, "acquisition"), "steps");
    assert_int_equal(json_array_size(steps), 2);
    assert_true(json_is_real(json_object_get(json_array_get(steps, 1), "seconds")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(m, "acquisition"), "site")), "here");
    entry = json_array_get(json_object_get(m, "ranks"), 3);
    assert_int_equal(json_integer_value(json_object_get(entry, "events")), 23);
    assert_string_equal(json_string_value(json_object_get(entry, "node")), "far");
    for (int rank = 0; rank < 4; rank++) {
        struct ti_reader *r;
        struct ti_err err;
        uint64_t events;

        assert_int_equal(ti_source_reader(s, rank, &r, &err), TI_OK);
        assert_int_equal(verify_trace(r, &events, &err), TI_OK);
        assert_int_equal(events, 20 + rank);
        ti_reader_close(r);
    }
    ti_source_close(s);
    assert_false(part_exists());
    ti_run_free(run);
}

/* One of everything that can be wrong. */
static void all_kinds(void **state)
{
    static const enum ti_rank_state states[] = {
        TI_RANK_OK,      TI_RANK_MISSING, TI_RANK_CUT,       TI_RANK_DAMAGED, TI_RANK_MISNAMED,
        TI_RANK_FOREIGN, TI_RANK_FOREIGN, TI_RANK_DUPLICATE, TI_RANK_OK,      TI_RANK_CUT,
        TI_RANK_DAMAGED, TI_RANK_MISSING, TI_RANK_OK,        TI_RANK_CUT,
    };
    struct ti_run *run;
    struct ti_source *s;
    char path[256];
    int64_t missing = 0;

    (void)state;
    make_run(14);
    path_of(path, "rank-000001.ti");
    unlink(path);
    cut("rank-000002.ti", -5);
    spoil("rank-000003.ti", 150);
    make_trace("rank-000004.ti", 11, 14, 1, 5, TI_END_COMPLETE);
    path_of(path, "rank-000011.ti");
    unlink(path);
    make_trace("rank-000005.ti", 5, 14, 2, 5, TI_END_COMPLETE);
    make_trace("rank-000006.ti", 6, 15, 1, 5, TI_END_COMPLETE);
    make_trace("rank-7.ti", 7, 14, 1, 5, TI_END_COMPLETE);   /* differs */
    make_trace("rank-08.ti", 8, 14, 1, 28, TI_END_COMPLETE); /* the same */
    make_trace("rank-000009.ti", 9, 14, 1, 9, TI_END_STOPPED);
    cut("rank-000010.ti", 60);
    make_trace("rank-12.ti", 12, 14, 3, 5, TI_END_COMPLETE); /* of another run */
    make_trace("rank-000013.ti", 13, 14, 1, 5, TI_END_NO_FINALIZE);
    make_trace("rank-000099.ti", 13, 14, 1, 5, TI_END_COMPLETE);
    run = check();
    assert_int_equal(run->nranks, 14);
    for (int i = 0; i < 14; i++) {
        assert_int_equal(run->rank[i].state, states[i]);
        assert_true((ti_run_reason(&run->rank[i]) == NULL) == (states[i] == TI_RANK_OK));
        missing += !ti_run_gathers(run, i);
    }
    assert_int_equal(run->complete, 3);
    assert_int_equal(run->gathered, 6);
    assert_int_equal(missing, 8);
    assert_string_equal(ti_run_reason(&run->rank[1]), "no file");
    assert_non_null(strstr(run->rank[11].reason, "'rank-000004.ti' holds its trace"));
    assert_string_equal(run->rank[7].reason, "'rank-000007.ti' and 'rank-7.ti' differ");
    assert_non_null(strstr(run->rank[9].reason, "disk full"));
    assert_non_null(strstr(run->rank[5].reason, "another run"));
    assert_non_null(strstr(run->rank[6].reason, "15 ranks"));
    assert_int_equal(run->nstrays, 4); /* 7 twice: one is the rank's, one a stray */
    s = gather(run);
    assert_false(json_is_true(json_object_get(ti_source_manifest(s), "complete")));
    assert_int_equal(listed(s, "missing"), 8);
    assert_int_equal(listed(s, "incomplete"), 3);
    assert_string_equal(reason(s, "missing", 0), "no file");
    assert_non_null(strstr(reason(s, "incomplete", 0), "cut off"));
    for (int i = 0; i < 14; i++)
        assert_int_equal(ti_source_has(s, i), ti_run_gathers(run, i));
    ti_source_close(s);
    ti_run_free(run);
}

/* A trace cut anywhere: either its prefix is gathered, or it is not there. */
static void every_length(void **state)
{
    struct ti_run *run;
    struct ti_source *s;
    struct stat sb;
    char path[256];
    uint64_t last = UINT64_MAX;

    (void)state;
    make_run(2);
    path_of(path, "rank-000001.ti");
    assert_int_equal(stat(path, &sb), 0);
    for (off_t n = sb.st_size; n-- > 0;) {
        cut("rank-000001.ti", n);
        run = check();
        assert_int_equal(run->rank[0].state, TI_RANK_OK);
        if (run->rank[1].state == TI_RANK_CUT) {
            assert_int_equal(run->rank[1].end, TI_END_KILLED);
            assert_true(run->rank[1].events <= last);
            last = run->rank[1].events;
            if (n % 64 == 0) {
                s = gather(run);
                assert_int_equal(ti_source_bytes(s, 1), n);
                ti_source_close(s);
            }
        } else {
            assert_int_equal(run->rank[1].state, TI_RANK_DAMAGED);
            assert_true(n < 300);
        }
        ti_run_free(run);
    }
    assert_int_equal(last, 0);
}

static void unusable(void **state)
{
    struct ti_run *run;
    struct ti_err err;

    (void)state;
    assert_int_equal(check_it(&run, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "holds no rank-*.ti"));
    spit("rank-000000.ti", "");
    spit("rank-000001.ti", "hello");
    assert_int_equal(check_it(&run, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "nothing in"));
    make_trace("rank-000000.ti", 0, 2, 1, 5, TI_END_COMPLETE);
    spit("RUN.json", "{\"np\": 3}");
    assert_int_equal(check_it(&run, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "RUN.json' does not fit the traces that are here: its \"np\" is 3, "
                                     "but 'rank-000000.ti' is of a run of 2 ranks"));
    assert_int_equal(ti_run_check("/nowhere", NULL, NULL, &run, &err), TI_ERR_IO);
    assert_int_equal(ti_run_check("/dev/null", NULL, NULL, &run, &err), TI_ERR_INPUT);
}

/* RUN.json decides which of two runs' files are meant, else the majority. */
static void whose(void **state)
{
    struct ti_run *run;

    (void)state;
    make_run(3);
    make_trace("rank-000001.ti", 1, 3, 9, 5, TI_END_COMPLETE);
    run = check();
    assert_int_equal(run->gathered, 2);
    assert_int_equal(run->rank[1].state, TI_RANK_FOREIGN);
    ti_run_free(run);
    spit("RUN.json", "{\"run_id\": \"09000000000000000000000000000000\"}");
    run = check();
    assert_int_equal(run->gathered, 1);
    assert_int_equal(run->rank[1].state, TI_RANK_OK);
    ti_run_free(run);
}

static void changes(void **state)
{
    struct ti_run *run;
    struct ti_err err;
    int64_t bytes, removed;
    char path[256];

    (void)state;
    make_run(3);
    run = check();
    spoil("rank-000002.ti", 200);
    unlink(bundle);
    assert_int_equal(write_it(run, false, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "rank-000002.ti' changed while it was gathered"));
    assert_false(exists(bundle) || part_exists());
    ti_run_free(run);

    make_run(3);
    run = check();
    make_trace("rank-000001.ti", 1, 3, 1, 90, TI_END_COMPLETE); /* longer */
    assert_int_equal(write_it(run, false, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "rank-000001.ti' changed"));
    cut("rank-000001.ti", 100); /* shorter */
    assert_int_equal(write_it(run, false, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "rank-000001.ti' changed"));
    path_of(path, "rank-000001.ti");
    unlink(path);
    assert_int_equal(write_it(run, false, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "cannot open"));
    assert_false(exists(bundle) || part_exists());
    ti_run_free(run);

    /* replaced after it was gathered: not deleted */
    make_run(3);
    run = check();
    assert_int_equal(write_it(run, false, &bytes, &err), TI_OK);
    make_trace("rank-000001.ti", 1, 3, 1, 90, TI_END_COMPLETE);
    assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_OK);
    assert_int_equal(removed, 2);
    assert_true(exists(path));
    ti_run_free(run);

    /* the bundle is damaged: nothing is deleted */
    make_run(3);
    run = check();
    assert_int_equal(write_it(run, true, &bytes, &err), TI_OK);
    assert_int_equal(truncate(bundle, bytes - 1), 0);
    assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_ERR_IO);
    assert_int_equal(removed, 0);
    assert_true(exists(path));
    ti_run_free(run);
}

static void changes_merged(void **state)
{
    merge = &exact;
    changes(state);
    merge = NULL;
}

static int64_t unfit = -1; /* a rank that does not fit a merged trace */

ti_status __real_ti_merger_add(struct ti_merger *m, const struct ti_record *record,
                               struct ti_err *err);
ti_status __wrap_ti_merger_add(struct ti_merger *m, const struct ti_record *record,
                               struct ti_err *err);
ti_status __wrap_ti_merger_add(struct ti_merger *m, const struct ti_record *record,
                               struct ti_err *err)
{
    return record->rank == unfit
               ? ti_err_set(err, TI_ERR_INPUT, "rank %u is too large", record->rank)
               : __real_ti_merger_add(m, record, err);
}

/* Then the bundle has the files of all ranks. */
static void does_not_fit(void **state)
{
    struct ti_run *run;
    struct ti_source *s;
    struct ti_err err;
    int64_t bytes;

    (void)state;
    make_run(5);
    merge = &exact;
    for (unfit = 0; unfit <= 5; unfit++) {
        run = check();
        unlink(bundle);
        assert_int_equal(write_it(run, false, &bytes, &err), TI_OK);
        assert_int_equal(ti_source_open(bundle, &s, &err), TI_OK);
        assert_true((ti_source_merged(s) != NULL) == (unfit == 5));
        assert_true((run->merged.groups > 0) == (unfit == 5));
        for (int64_t rank = 0; rank < 5; rank++)
            assert_int_equal(ti_source_bytes(s, rank),
                             unfit == 5 ? -1 : run->rank[rank].file.st_size);
        ti_source_close(s);
        ti_run_free(run);
    }
    merge = NULL;
    unfit = -1;
}

static void output(void **state)
{
    struct rlimit limit, was;
    struct ti_run *run;
    struct ti_err err;
    int64_t bytes;
    char part[90];
    int fd;

    (void)state;
    make_run(3);
    run = check();
    unlink(bundle);
    assert_int_equal(write_it(run, false, &bytes, &err), TI_OK);
    assert_int_equal(write_it(run, false, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "exists"));
    assert_int_equal(write_it(run, true, &bytes, &err), TI_OK);
    assert_int_equal(write_to("/nowhere/b.tib", run, true, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "cannot create"));

    /* somebody else is writing it */
    snprintf(part, sizeof part, "%s.part", bundle);
    fd = open(part, O_RDWR | O_CREAT, 0666);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(write_it(run, true, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "another ti-gather"));
    assert_true(part_exists());
    close(fd);

    /* it is not ours: neither written over nor removed */
    fd = open(part, O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_int_equal(write(fd, "notes", 5), 5);
    close(fd);
    assert_int_equal(write_it(run, true, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "not part of a bundle"));
    assert_true(part_exists());
    assert_int_equal(truncate(part, 0), 0);

    /* what a killed one left is written over */
    unlink(bundle);
    assert_int_equal(write_it(run, false, &bytes, &err), TI_OK);
    assert_false(part_exists());

    /* no room: the old bundle stays */
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    for (rlim_t n = 0; n < (rlim_t)bytes; n += 97) {
        limit = was;
        limit.rlim_cur = n;
        setrlimit(RLIMIT_FSIZE, &limit);
        assert_int_equal(write_it(run, true, &bytes, &err), TI_ERR_IO);
        setrlimit(RLIMIT_FSIZE, &was);
        assert_non_null(strstr(err.text, "cannot write"));
        assert_false(part_exists());
        assert_true(exists(bundle));
    }

    ti_gather_stop = 1;
    assert_int_equal(write_it(run, true, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "interrupted"));
    assert_false(part_exists());
    ti_gather_stop = 0;
    ti_run_free(run);
}

/* jansson's allocations fail from the n-th on, or the n-th alone. */
static int allocations, fails_at;
static bool fails_once;

static void *failing(size_t bytes)
{
    int n = allocations++;

    return n == fails_at || (!fails_once && n > fails_at) ? NULL : malloc(bytes);
}

/* The text of the manifest, with the duration of the gather left out. */
static char *manifest_text(const struct ti_run *run)
{
    size_t bytes;
    char *text = ti_manifest_text(run, &bytes);
    char *step = text ? strstr(text, "\"name\":\"gather\"") : NULL;
    char *seconds = step ? strstr(step, "\"seconds\":") : NULL;

    if (seconds)
        memset(seconds + strlen("\"seconds\":"), ' ', 25);
    return text;
}

/* When memory runs out, there is no manifest; never one that lacks something. */
static void manifest_without_memory(void **state)
{
    struct ti_run *run;
    struct ti_err err;
    char *whole, *text;
    json_malloc_t was_alloc;
    json_free_t was_free;

    (void)state;
    make_run(4);
    cut("rank-000002.ti", -30);
    cut("rank-000003.ti", 0);
    assert_int_equal(check_it(&run, &err), TI_OK);
    whole = manifest_text(run);
    assert_non_null(whole);
    json_get_alloc_funcs(&was_alloc, &was_free);
    for (int once = 0; once < 2; once++) {
        fails_once = once;
        text = NULL;
        for (fails_at = 0; !text; fails_at++) {
            allocations = 0;
            json_set_alloc_funcs(failing, free);
            text = manifest_text(run);
            json_set_alloc_funcs(was_alloc, was_free);
        }
        assert_string_equal(text, whole);
        assert_true(fails_at > 100);
        free(text);
    }
    free(whole);
    ti_run_free(run);
}

/* After --remove a bundle may hold the only traces, and is not replaced by less; by whatever
 * has become of its manifest. */
static void only_traces(void **state)
{
    struct ti_run *run;
    struct ti_err err;
    char command[400];
    int64_t bytes, removed;

    (void)state;
    make_run(4);
    run = check();
    assert_int_equal(write_it(run, false, &bytes, &err), TI_OK);
    assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_OK);
    assert_int_equal(removed, 4);
    ti_run_free(run);
    make_trace("rank-000001.ti", 1, 4, 1, 21, TI_END_COMPLETE);
    run = check();
    assert_int_equal(write_it(run, true, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "ranks 0, 2-3 of this run"));
    /* a manifest that is no JSON, its checksum good: the archive is made anew */
    snprintf(command, sizeof command,
             "cd %s && python3 -c \"import zipfile; z = zipfile.ZipFile('app.tib'); "
             "o = zipfile.ZipFile('n', 'w'); [o.writestr(i, z.read(i) if i != 'MANIFEST.json' else "
             "b'{\\\"missing\\\": ,') for i in z.namelist()]; o.close()\" && mv n app.tib",
             top);
    assert_int_equal(system(command), 0);
    assert_int_equal(write_it(run, true, &bytes, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "ranks 0, 2-3 of this run"));
    ti_run_free(run);
}

static void huge_numbers(void **state)
{
    json_t *big = ti_json_u64(UINT64_MAX), *small = ti_json_u64(INT64_MAX);

    (void)state;
    assert_string_equal(json_string_value(big), "18446744073709551615");
    assert_true(json_integer_value(small) == INT64_MAX);
    json_decref(big);
    json_decref(small);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/t-bundle.XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/app.run", top);
    snprintf(bundle, sizeof bundle, "%s/app.tib", top);
    return mkdir(run_dir, 0777);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(complete),    TEST(all_kinds),      TEST(every_length),
        TEST(unusable),    TEST(whose),          TEST(changes),
        TEST(output),      TEST(huge_numbers),   TEST(manifest_without_memory),
        TEST(only_traces), TEST(changes_merged), TEST(does_not_fit),
    };

    ti_talk_init("t-bundle", true, TI_PROGRESS_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
