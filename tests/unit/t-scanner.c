/* bundle/scanner.h: scans match the files, and only these files get into a bundle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/check.h"
#include "bundle/merging.h"
#include "bundle/node_traces.h"
#include "bundle/rank_scan.h"
#include "bundle/scanner.h"
#include "bundle/source.h"
#include "bundle/zip.h"
#include "common/cli.h"
#include "merged/merger.h"
#include "trace/rankname.h"
#include "trace/writer.h"

#define RANKS 40

static char top[64], run_dir[80], bundle[80], part[90];

static const struct ti_qualities exact;
static bool merge; /* whether ranks are merged; else their files are stored */

static char *path_of(int rank)
{
    static char path[128];
    char name[TI_RANK_NAME_BYTES];

    snprintf(path, sizeof path, "%s/%s", run_dir, ti_rank_name(rank, name));
    return path;
}

static void make_trace(int as, int rank, int nranks, uint8_t run, int events)
{
    uint8_t run_id[TI_RUN_ID_BYTES] = {run};
    const char *const info[] = {"host", rank % 2 ? "odd" : "even", "application", "app", "exact",
                                "1"};
    struct ti_event ev = {.volume = 100, .op = TI_OP_SEND, .mask = TI_M_P2P};
    struct ti_writer *w;
    struct ti_err err;

    unlink(path_of(as));
    ev.arg[TI_F_PEER] = 1;
    ev.arg[TI_F_BYTES] = 10;
    assert_int_equal(
        ti_writer_open(path_of(as), (uint32_t)rank, (uint32_t)nranks, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 3);
    for (int i = 0; i < events; i++) {
        ev.volume = (uint64_t)i * (uint64_t)i % 7919;
        ti_writer_event(w, &ev);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

static void make_usual(int rank)
{
    make_trace(rank, rank, RANKS, 1, 500 + rank);
}

/* Same size, same inode, another byte. */
static void flip(int rank, off_t at)
{
    int fd = open(path_of(rank), O_RDWR);
    char c;

    assert_int_equal(pread(fd, &c, 1, at), 1);
    c ^= 0x10;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

static struct ti_bundle *begin_bundle(void)
{
    struct ti_bundle *b;
    struct ti_err err;

    if (ti_bundle_begin(bundle, true, &b, &err) != TI_OK)
        fail_msg("%s", err.text);
    if (merge)
        ti_bundle_merge(b, &exact, false, NULL);
    return b;
}

static void begin(struct ti_bundle **b, struct ti_scanner **a)
{
    *b = begin_bundle();
    *a = ti_scanner_new(run_dir, *b, NULL);
    assert_non_null(*a);
}

/* Wait until the rank is read and in the bundle. */
static void wait_for(struct ti_scanner *a, int rank)
{
    char name[TI_RANK_NAME_BYTES];

    assert_non_null(ti_scanner_get(a, rank, ti_rank_name(rank, name)));
}

static struct ti_run *check(struct ti_scanner *a)
{
    struct ti_run *run;
    struct ti_err err;

    if (ti_run_check(run_dir, NULL, a, &run, &err) != TI_OK)
        fail_msg("%s", err.text);
    return run;
}

static void finish(struct ti_bundle *b, struct ti_scanner *a, struct ti_run *run)
{
    struct ti_err err;
    struct stat sb;
    int64_t bytes;

    if (ti_bundle_finish(b, run, &bytes, &err) != TI_OK)
        fail_msg("%s", err.text);
    ti_scanner_free(a);
    ti_bundle_free(b);
    assert_int_equal(stat(bundle, &sb), 0);
    assert_int_equal(sb.st_size, bytes);
    assert_int_equal(access(part, F_OK), -1);
}

/* Which of the members is the rank's; -1: of none. */
static int64_t member_of(const struct ti_zip *z, int64_t rank)
{
    for (int64_t i = 0; i < ti_zip_count(z); i++)
        if (ti_rank_of_name(ti_zip_member(z, i)->name) == rank)
            return i;
    return -1;
}

/* Each rank of `run` in the bundle is the record of its file, and no other is there. */
static void same_as_records(const struct ti_run *run)
{
    struct ti_source *s, *file;
    struct ti_err err;

    assert_int_equal(ti_source_open(bundle, &s, &err), TI_OK);
    assert_true(ti_source_merged(s));
    assert_true(run->merged.bytes == ti_source_size(s) && run->merged.groups > 0);
    for (int64_t rank = 0; rank < run->nranks; rank++) {
        struct ti_record is, should;

        assert_true(ti_source_has(s, rank) == ti_run_gathers(run, rank));
        if (!ti_run_gathers(run, rank))
            continue;
        assert_int_equal(ti_source_record(s, rank, &exact, &is, &err), TI_OK);
        assert_int_equal(ti_source_open(path_of((int)rank), &file, &err), TI_OK);
        assert_int_equal(ti_source_record(file, rank, &exact, &should, &err), TI_OK);
        ti_source_close(file);
        assert_int_equal(ti_merging_crc(&is), ti_merging_crc(&should));
        ti_record_free(&is);
        ti_record_free(&should);
    }
    ti_source_close(s);
}

/* Each rank of `run` in the bundle is its file, byte for byte, and no other is there. */
static void same_as_files(const struct ti_run *run)
{
    int fd = open(bundle, O_RDONLY);
    struct ti_source *s;
    struct ti_zip *z;
    struct ti_err err;

    if (merge) {
        close(fd);
        same_as_records(run);
        return;
    }
    assert_int_equal(ti_zip_open(fd, bundle, &z, &err), TI_OK);
    assert_int_equal(ti_zip_count(z), run->gathered + 1);
    assert_string_equal(ti_zip_member(z, run->gathered)->name, "MANIFEST.json");
    for (int64_t rank = 0; rank < run->nranks; rank++) {
        int64_t member = member_of(z, rank);
        char *held, *is;
        struct stat sb;
        int file;

        if (!ti_run_gathers(run, rank))
            continue;
        assert_true(member >= 0);
        assert_int_equal(ti_zip_load(z, member, INT32_MAX, &held, &err), TI_OK);
        file = open(path_of((int)rank), O_RDONLY);
        assert_int_equal(fstat(file, &sb), 0);
        assert_int_equal(ti_zip_member(z, member)->bytes, sb.st_size);
        is = malloc((size_t)sb.st_size);
        assert_int_equal(read(file, is, (size_t)sb.st_size), sb.st_size);
        assert_memory_equal(is, held, (size_t)sb.st_size);
        free(held);
        free(is);
        close(file);
    }
    ti_zip_close(z);
    close(fd);
    assert_int_equal(ti_source_open(bundle, &s, &err), TI_OK);
    assert_non_null(ti_source_manifest(s));
    ti_source_close(s);
}

/* As they come, in any order, some before, one twice, one that was never told of. */
static void arriving(void **state)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run, *serial;
    json_t *gathering = json_pack("{s:i}", "arity", 4);
    struct ti_source *s;
    struct ti_err err;

    (void)state;
    for (int rank = 0; rank < 10; rank++)
        make_usual(rank);
    begin(&b, &a);
    for (int i = 0; i < 30; i++) {
        int rank = 10 + i * 7 % 30;

        make_usual(rank);
        if (rank != 33)
            ti_scanner_add(a, rank);
        if (rank % 5 == 0)
            ti_scanner_add(a, rank);
    }
    run = check(a);
    assert_int_equal(run->complete, RANKS);
    serial = check(NULL);
    assert_int_equal(run->events, serial->events);
    assert_int_equal(run->volume, serial->volume);
    assert_int_equal(run->bytes, serial->bytes);
    assert_int_equal(run->messages, serial->messages);
    assert_int_equal(run->nnodes, 2);
    assert_string_equal(run->node[0], "even");
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(run->rank[rank].hash, serial->rank[rank].hash);
        assert_int_equal(run->rank[rank].crc, serial->rank[rank].crc);
    }
    ti_run_free(serial);
    run->gathering = gathering;
    finish(b, a, run);
    same_as_files(run);
    assert_int_equal(ti_source_open(bundle, &s, &err), TI_OK);
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(ti_source_manifest(s), "gathering"), "arity")),
                     4);
    ti_source_close(s);
    ti_run_free(run);
}

/* Files that were read ahead, and were replaced or written to since. */
static void changing(void **state)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run;
    uint64_t events = 0;

    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        make_usual(rank);
    begin(&b, &a);
    for (int rank = 0; rank < RANKS; rank++)
        wait_for(a, rank);
    usleep(20000);                                  /* times of files have ticks */
    make_trace(3, 3, RANKS, 1, 900);                /* another one, as sound */
    flip(4, 300);                                   /* damaged */
    assert_int_equal(truncate(path_of(5), 200), 0); /* cut off */
    make_trace(6, 7, RANKS, 1, 500);                /* another rank's */
    make_trace(8, 8, RANKS, 2, 500);                /* of another run */
    assert_int_equal(unlink(path_of(9)), 0);
    run = check(a);
    assert_int_equal(run->rank[3].state, TI_RANK_OK);
    assert_int_equal(run->rank[3].events, 900);
    assert_int_equal(run->rank[4].state, TI_RANK_DAMAGED);
    assert_int_not_equal(run->rank[5].state, TI_RANK_OK);
    assert_int_equal(run->rank[6].state, TI_RANK_MISNAMED);
    assert_int_equal(run->rank[8].state, TI_RANK_FOREIGN);
    assert_int_equal(run->rank[9].state, TI_RANK_MISSING);
    for (int rank = 0; rank < RANKS; rank++)
        events += run->rank[rank].events;
    assert_int_equal(run->events, events);
    finish(b, a, run);
    same_as_files(run);
    ti_run_free(run);
}

/* They are so when they arrive: not in the bundle, not even on the way. */
static void bad_arrivals(void **state)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run;

    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        make_usual(rank);
    flip(0, 400);
    assert_int_equal(truncate(path_of(1), 20), 0);
    assert_int_equal(truncate(path_of(2), 0), 0);
    make_trace(3, 4, RANKS, 1, 500);
    make_trace(5, 5, RANKS, 9, 500);
    make_trace(6, 6, RANKS + 1, 1, 500);
    begin(&b, &a);
    for (int rank = 0; rank < RANKS; rank++)
        ti_scanner_add(a, rank);
    run = check(a);
    assert_int_equal(run->rank[0].state, TI_RANK_DAMAGED);
    assert_int_equal(run->rank[1].state, TI_RANK_DAMAGED);
    assert_int_equal(run->rank[2].state, TI_RANK_DAMAGED);
    assert_int_equal(run->rank[3].state, TI_RANK_MISNAMED);
    assert_int_equal(run->rank[4].state, TI_RANK_OK);
    assert_int_equal(run->rank[5].state, TI_RANK_FOREIGN);
    assert_int_equal(run->rank[6].state, TI_RANK_FOREIGN);
    assert_int_equal(run->gathered, RANKS - 6);
    finish(b, a, run);
    same_as_files(run);
    ti_run_free(run);
}

/* Of another run, and the first that is read: the others are not lost. */
static void foreign_first(void **state)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run;

    (void)state;
    make_trace(0, 0, RANKS, 9, 500);
    begin(&b, &a);
    wait_for(a, 0);
    for (int rank = 1; rank < RANKS; rank++)
        make_usual(rank);
    run = check(a);
    assert_int_equal(run->rank[0].state, TI_RANK_FOREIGN);
    assert_int_equal(run->complete, RANKS - 1);
    finish(b, a, run);
    same_as_files(run);
    ti_run_free(run);
}

/* Another file by the time it is copied: the bundle begins anew, and has all in the end. */
static void changed_on_the_way(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        make_usual(rank);
    for (int rank = 0; rank < RANKS; rank += 13) {
        int dir = open(run_dir, O_RDONLY | O_DIRECTORY);
        struct ti_bundle *b;
        struct ti_run *run;

        b = begin_bundle();
        for (int i = 0; i < RANKS; i++) {
            char name[TI_RANK_NAME_BYTES];
            struct ti_rank_scan *r = ti_rank_scan_file(dir, run_dir, ti_rank_name(i, name), NULL);

            assert_non_null(r);
            r->crc ^= i == rank;
            ti_bundle_add(b, dir, name, i, r);
            ti_rank_scan_free(r);
        }
        close(dir);
        run = check(NULL);
        assert_int_equal(run->complete, RANKS);
        finish(b, NULL, run);
        same_as_files(run);
        ti_run_free(run);
    }
}

/* The disk is full before all have come, and has room again in the end. */
static void room_again(void **state)
{
    struct rlimit limit, was;
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run;

    (void)state;
    for (int rank = 0; rank < 8; rank++)
        make_trace(rank, rank, 8, 1, 400000);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    limit = was;
    limit.rlim_cur = 1500000;
    setrlimit(RLIMIT_FSIZE, &limit);
    begin(&b, &a);
    for (int rank = 0; rank < 8; rank++)
        wait_for(a, rank);
    setrlimit(RLIMIT_FSIZE, &was);
    run = check(a);
    assert_true(run->bytes > 4 * 1024 * 1024); /* more than what libarchive holds back */
    finish(b, a, run);
    same_as_files(run);
    ti_run_free(run);
}

/* No room at any moment: said in the end, nothing stays, and the traces are all there. */
static void no_room(void **state)
{
    struct rlimit limit, was;

    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        make_usual(rank);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    for (rlim_t n = 0; n < 60000; n += 2477) {
        struct ti_bundle *b;
        struct ti_scanner *a;
        struct ti_run *run;
        struct ti_err err;
        int64_t bytes;

        begin(&b, &a);
        limit = was;
        limit.rlim_cur = n;
        setrlimit(RLIMIT_FSIZE, &limit);
        run = check(a);
        assert_int_equal(run->complete, RANKS);
        assert_int_equal(ti_bundle_finish(b, run, &bytes, &err), TI_ERR_IO);
        setrlimit(RLIMIT_FSIZE, &was);
        assert_non_null(strstr(err.text, "cannot write"));
        ti_scanner_free(a);
        ti_bundle_free(b);
        assert_int_equal(access(part, F_OK), -1);
        assert_int_equal(access(bundle, F_OK), -1);
        ti_run_free(run);
    }
}

/* Given up while much is to be read. */
static void interrupted(void **state)
{
    (void)state;
    for (int rank = 0; rank < 4; rank++)
        make_trace(rank, rank, 4, 1, 400000);
    for (int i = 0; i < 2; i++) {
        struct ti_bundle *b;
        struct ti_scanner *a;
        struct ti_run *run;
        struct ti_err err;

        begin(&b, &a);
        if (i) {
            ti_gather_stop = 1;
            assert_int_equal(ti_run_check(run_dir, NULL, a, &run, &err), TI_ERR_IO);
            assert_string_equal(err.text, "interrupted");
        }
        ti_scanner_free(a);
        ti_bundle_free(b);
        ti_gather_stop = 0;
        assert_int_equal(access(part, F_OK), -1);
    }
}

/* A bundle that is damaged after it was written: no source is removed. */
static void removing(void **state)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run;
    struct ti_zip *z;
    struct ti_err err;
    int64_t data, member, removed;
    char c;
    int fd;

    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        make_usual(rank);
    begin(&b, &a);
    run = check(a);
    finish(b, a, run);
    fd = open(bundle, O_RDWR);
    assert_int_equal(ti_zip_open(fd, bundle, &z, &err), TI_OK);
    for (int rank = 0; rank < RANKS; rank += 13) {
        member = member_of(z, rank);
        assert_int_equal(ti_zip_data(z, member, &data, &err), TI_OK);
        data += ti_zip_member(z, member)->bytes / 2;
        assert_int_equal(pread(fd, &c, 1, data), 1);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, data), 1);
        assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_ERR_IO);
        assert_non_null(strstr(err.text, "does not hold what was in"));
        assert_int_equal(removed, 0);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, data), 1);
    }
    ti_zip_close(z);
    close(fd);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(access(path_of(rank), F_OK), 0);
    assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_OK);
    assert_int_equal(removed, RANKS);
    ti_run_free(run);
}

/* The same of a merged trace, wherever the damage is. */
static void removing_merged(void **state)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_run *run;
    struct ti_zip *z;
    struct ti_err err;
    int64_t data, removed;
    int fd;

    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        make_usual(rank);
    begin(&b, &a);
    run = check(a);
    finish(b, a, run);
    fd = open(bundle, O_RDWR);
    assert_int_equal(ti_zip_open(fd, bundle, &z, &err), TI_OK);
    assert_string_equal(ti_zip_member(z, 0)->name, TI_MERGED_NAME);
    assert_int_equal(ti_zip_data(z, 0, &data, &err), TI_OK);
    for (int64_t at = data; at < data + ti_zip_member(z, 0)->bytes; at += 7) {
        char c;

        assert_int_equal(pread(fd, &c, 1, at), 1);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, at), 1);
        assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_ERR_IO);
        assert_non_null(strstr(err.text, "does not hold what was gathered"));
        assert_int_equal(removed, 0);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, at), 1);
    }
    ti_zip_close(z);
    close(fd);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(access(path_of(rank), F_OK), 0);
    assert_int_equal(ti_bundle_remove_sources(run, bundle, &removed, &err), TI_OK);
    assert_int_equal(removed, RANKS);
    ti_run_free(run);
}

/* Adds the merged trace of all ranks, as a node sends it; their files are gone then. */
static void merge_usual(struct ti_node_traces *t)
{
    struct ti_node_rank came[RANKS];
    uint8_t run_id[TI_RUN_ID_BYTES] = {1};
    FILE *f = tmpfile();
    struct ti_merger *m;
    struct ti_err err;
    int64_t bytes, at;
    char *all;
    int fd;

    assert_int_equal(ti_merger_new(RANKS, run_id, top, &m, &err), TI_OK);
    for (int rank = 0; rank < RANKS; rank++) {
        struct ti_record record;
        struct ti_source *s;

        make_usual(rank);
        came[rank] =
            (struct ti_node_rank){.rank = rank, .bytes = 1000, .crc32c = 7, .from_node = 1};
        assert_int_equal(ti_source_open(path_of(rank), &s, &err), TI_OK);
        assert_int_equal(ti_source_record(s, rank, NULL, &record, &err), TI_OK);
        assert_int_equal(ti_merger_add(m, &record, &err), TI_OK);
        ti_record_free(&record);
        ti_source_close(s);
        assert_int_equal(unlink(path_of(rank)), 0);
    }
    assert_int_equal(ti_merger_write(m, fileno(f), "it", &err), TI_OK);
    ti_merger_free(m);
    bytes = lseek(fileno(f), 0, SEEK_END);
    all = malloc((size_t)bytes);
    assert_int_equal(pread(fileno(f), all, (size_t)bytes, 0), bytes);
    fclose(f);
    /* room where what came is no trace is used again */
    assert_int_equal(ti_node_traces_room(t, 5000, &fd), 0);
    assert_int_equal(ti_node_traces_add(t, "it", 0, 5000, came, RANKS, &err), TI_ERR_INPUT);
    ti_node_traces_give_back(t, 0, 5000);
    at = ti_node_traces_room(t, bytes, &fd);
    assert_int_equal(at, 0);
    assert_int_equal(pwrite(fd, all, (size_t)bytes, at), bytes);
    free(all);
    if (ti_node_traces_add(t, "it", at, bytes, came, RANKS, &err) != TI_OK)
        fail_msg("%s", err.text);
}

/* A rank that came merged and is forgotten after its scan, as when another node has a different
 * trace: it is in no bundle, and a file of that name is looked at. */
static void forgotten(void **state)
{
    struct ti_node_traces *t = ti_node_traces_new(top);
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_reader *r;
    struct ti_source *s;
    struct ti_run *run;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_node_traces_reader(t, 3, &r, &err), TI_ERR_INPUT);
    merge_usual(t);
    assert_int_equal(ti_bundle_begin(bundle, true, &b, &err), TI_OK);
    ti_bundle_merge(b, &exact, false, t);
    a = ti_scanner_new(run_dir, b, t);
    for (int rank = 0; rank < RANKS; rank++)
        ti_scanner_add(a, rank);
    for (int rank = 0; rank < RANKS; rank++)
        wait_for(a, rank);
    ti_node_traces_forget(t, 3);
    assert_int_equal(ti_node_traces_reader(t, 3, &r, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "not wanted any more"));
    make_usual(3);
    flip(3, 400);
    run = check(a);
    assert_int_equal(run->rank[3].state, TI_RANK_DAMAGED);
    assert_int_equal(run->complete, RANKS - 1);
    finish(b, a, run);
    assert_int_equal(ti_source_open(bundle, &s, &err), TI_OK);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(ti_source_has(s, rank) == (rank != 3));
    ti_source_close(s);
    ti_run_free(run);
    ti_node_traces_free(t);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/t-ahead.XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/app.run", top);
    snprintf(bundle, sizeof bundle, "%s/app.tib", top);
    snprintf(part, sizeof part, "%s.part", bundle);
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
        TEST(arriving),      TEST(changing),           TEST(bad_arrivals),
        TEST(foreign_first), TEST(changed_on_the_way), TEST(room_again),
        TEST(no_room),       TEST(interrupted),        TEST(removing),
    };

    const struct CMUnitTest merged[] = {
        TEST(arriving),      TEST(changing),           TEST(bad_arrivals),
        TEST(foreign_first), TEST(changed_on_the_way), TEST(room_again),
        TEST(interrupted),   TEST(removing_merged),    TEST(forgotten),
    };
    int failed;

    ti_talk_init("t-ahead", true, TI_PROGRESS_NONE);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    merge = true;
    return failed + cmocka_run_group_tests(merged, NULL, NULL);
}
