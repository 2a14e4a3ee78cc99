/* bundle/zip.c, source/, rankname.c: bundles, run directories, merged traces, rank files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/source.h"
#include "bundle/zip.h"
#include "merged/merger.h"
#include "tests/verify.h"
#include "trace/rankname.h"
#include "trace/scan.h"
#include "trace/writer.h"

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[2][256];
    static int which;

    which = !which;
    snprintf(path[which], sizeof path[which], "%s/%s", dir, name);
    return path[which];
}

/* ------------------------------------------------------ traces and archives -- */

static void make_trace(const char *path, uint32_t rank, uint32_t nranks, uint8_t run, int events)
{
    uint8_t run_id[TI_RUN_ID_BYTES] = {run};
    const char *const info[] = {"host", "here"};
    struct ti_event ev = {.volume = 100 + rank, .op = TI_OP_BARRIER, .mask = TI_M_COMM};
    struct ti_writer *w;
    struct ti_err err;

    unlink(path);
    assert_int_equal(ti_writer_open(path, rank, nranks, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 1);
    ti_writer_comm(w, 0, TI_KIND_WORLD, rank, nranks, NULL, 0, NULL);
    for (int i = 0; i < events; i++)
        ti_writer_event(w, &ev);
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

static char *slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text;

    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    text = malloc(*bytes + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *bytes, f), *bytes);
    text[*bytes] = '\0';
    fclose(f);
    return text;
}

static void spit(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

struct member {
    const char *name;
    const char *data;
    size_t bytes;
};

static struct archive *zip_begin(const char *path, const char *options)
{
    struct archive *a = archive_write_new();

    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_options(a, options), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    return a;
}

static void zip_add(struct archive *a, const char *name, const void *data, size_t bytes)
{
    struct archive_entry *e = archive_entry_new();

    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t)bytes);
    archive_entry_set_mtime(e, 1000000000, 0);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, data, bytes), (la_ssize_t)bytes);
    archive_entry_free(e);
}

static void zip_end(struct archive *a)
{
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

static void make_zip(const char *path, const char *options, const struct member *m, int n)
{
    struct archive *a = zip_begin(path, options);

    for (int i = 0; i < n; i++)
        zip_add(a, m[i].name, m[i].data, m[i].bytes);
    zip_end(a);
}

#define STORE "zip:compression=store"

static const char manifest[] = "{\"format\": \"tiara-bundle\", \"version\": 1, \"np\": 3}";

/* A bundle of three ranks, of 4, 5 and 6 events. */
static void make_bundle(const char *path, const char *options)
{
    struct member m[4] = {{"MANIFEST.json", manifest, sizeof manifest - 1}};
    char *text[3], *to = strdup(path);

    for (uint32_t i = 0; i < 3; i++) {
        static char name[3][TI_RANK_NAME_BYTES];

        make_trace(in_dir("tmp.ti"), i, 3, 1, 4 + (int)i);
        text[i] = slurp(in_dir("tmp.ti"), &m[i + 1].bytes);
        m[i + 1].data = text[i];
        m[i + 1].name = ti_rank_name(i, name[i]);
    }
    make_zip(to, options, m, 4);
    free(to);
    for (int i = 0; i < 3; i++)
        free(text[i]);
    unlink(in_dir("tmp.ti"));
}

static uint64_t count_events(struct ti_source *s, int64_t rank)
{
    struct ti_reader *r;
    struct ti_err err;
    uint64_t events = 0;

    assert_int_equal(ti_source_reader(s, rank, &r, &err), TI_OK);
    assert_int_equal(verify_trace(r, &events, &err), TI_OK);
    assert_int_equal(ti_reader_end(r), TI_END_COMPLETE);
    ti_reader_close(r);
    return events;
}

static void refused(const char *path, ti_status st, const char *why)
{
    struct ti_source *s = NULL;
    struct ti_err err;

    assert_int_equal(ti_source_open(path, &s, &err), st);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

/* ------------------------------------------------------------------- names -- */

static void names(void **state)
{
    static const int64_t list[] = {0, 1, 2, 5, 7, 8};
    char buf[TI_RANK_NAME_BYTES], text[64];

    (void)state;
    assert_string_equal(ti_rank_name(42, buf), "rank-000042.ti");
    assert_string_equal(ti_rank_name(12345678, buf), "rank-12345678.ti");
    assert_int_equal(ti_rank_of_name("rank-000042.ti"), 42);
    assert_int_equal(ti_rank_of_name("rank-7.ti"), 7);
    assert_int_equal(ti_rank_of_name("rank-16777215.ti"), 16777215);
    assert_int_equal(ti_rank_of_name("rank-16777216.ti"), -1);
    assert_int_equal(ti_rank_of_name("rank-99999999999999999999999.ti"), -1);
    assert_int_equal(ti_rank_of_name("rank-.ti"), -1);
    assert_int_equal(ti_rank_of_name("rank--1.ti"), -1);
    assert_int_equal(ti_rank_of_name("rank-1.tib"), -1);
    assert_int_equal(ti_rank_of_name("../rank-1.ti"), -1);
    assert_int_equal(ti_rank_of_name(""), -1);
    assert_string_equal(ti_ranks_text(list, 6, text, sizeof text), "0-2, 5, 7-8");
    assert_string_equal(ti_ranks_text(list, 0, text, sizeof text), "");
    assert_string_equal(ti_ranks_text(list, 6, text, 11), "0-2, ...");
}

/* ----------------------------------------------------------------- bundles -- */

static void bundle(void **state)
{
    static const char *const options[] = {STORE, STORE ",zip:zip64"};
    struct ti_source *s;
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        make_bundle(in_dir("b.tib"), options[i]);
        assert_int_equal(ti_source_open(in_dir("b.tib"), &s, &err), TI_OK);
        assert_string_equal(ti_source_kind(s), "bundle");
        assert_int_equal(ti_source_nranks(s), 3);
        for (int rank = 0; rank < 3; rank++) {
            assert_true(ti_source_has(s, rank));
            assert_int_equal(count_events(s, rank), 4 + rank);
            assert_true(ti_source_bytes(s, rank) > 48);
        }
        assert_string_equal(ti_source_name(s, 2), "rank-000002.ti");
        assert_false(ti_source_has(s, 3));
        assert_false(ti_source_has(s, -1));
        assert_int_equal(ti_source_bytes(s, 3), -1);
        assert_int_equal(ti_source_reader(s, 3, &r, &err), TI_ERR_INPUT);
        assert_non_null(strstr(err.text, "rank 3 is missing"));
        assert_int_equal(json_integer_value(json_object_get(ti_source_manifest(s), "np")), 3);
        ti_source_close(s);
    }
}

/* A comment at the end hides the end record from a quick look. */
static void comment(void **state)
{
    struct ti_source *s;
    struct ti_err err;
    size_t bytes;
    char *text;

    (void)state;
    make_bundle(in_dir("b.tib"), STORE);
    text = slurp(in_dir("b.tib"), &bytes);
    text = realloc(text, bytes + 40);
    memset(text + bytes, 'x', 40);
    text[bytes - 2] = 40;
    spit(in_dir("b.tib"), text, bytes + 40);
    free(text);
    assert_int_equal(ti_source_open(in_dir("b.tib"), &s, &err), TI_OK);
    assert_int_equal(count_events(s, 1), 5);
    ti_source_close(s);
}

/* Members in any order. */
static void disorder(void **state)
{
    enum { N = 1000 };
    struct archive *a = zip_begin(in_dir("b.tib"), STORE);
    struct ti_source *s;
    struct ti_err err;

    (void)state;
    for (int i = 0; i < N; i++) {
        int rank = i * 7 % N;
        char name[TI_RANK_NAME_BYTES], *trace;
        size_t bytes;

        make_trace(in_dir("tmp.ti"), (uint32_t)rank, N, 1, rank % 10 + 1);
        trace = slurp(in_dir("tmp.ti"), &bytes);
        zip_add(a, ti_rank_name(rank, name), trace, bytes);
        free(trace);
        if (i == N / 2)
            zip_add(a, "MANIFEST.json", manifest, sizeof manifest - 1);
    }
    zip_end(a);
    assert_int_equal(ti_source_open(in_dir("b.tib"), &s, &err), TI_OK);
    assert_int_equal(ti_source_nranks(s), N);
    for (int rank = 0; rank < N; rank++)
        assert_int_equal(count_events(s, rank), rank % 10 + 1);
    assert_int_equal(json_integer_value(json_object_get(ti_source_manifest(s), "np")), 3);
    ti_source_close(s);
}

static void refusals(void **state)
{
    const struct member foreign[] = {{"MANIFEST.json", "{}", 2}, {"../evil", "x", 1}};
    const struct member manifests[] = {
        {"MANIFEST.json", "{}", 2}, {"rank-000000.ti", "x", 1}, {"MANIFEST.json", "{}", 2}};
    const struct member twice[] = {{"rank-000001.ti", "x", 1}, {"rank-1.ti", "yy", 2}};
    const struct member text[] = {{"rank-000001.ti", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 34}};
    struct ti_source *s;
    struct ti_reader *r;
    struct ti_err err;
    char *data;
    size_t bytes;

    (void)state;
    make_zip(in_dir("b.tib"), STORE, foreign, 2);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "'../evil'");
    make_zip(in_dir("b.tib"), STORE, manifests, 3);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "'MANIFEST.json'");
    make_zip(in_dir("b.tib"), STORE, twice, 2);
    refused(in_dir("b.tib"), TI_ERR_INPUT,
            "two traces of rank 1: 'rank-000001.ti' and 'rank-1.ti'");
    make_zip(in_dir("b.tib"), "zip:compression=deflate", text, 1);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "is compressed");

    /* the encryption bit, in the central directory and in the member's header */
    make_zip(in_dir("b.tib"), STORE, text, 1);
    data = slurp(in_dir("b.tib"), &bytes);
    for (size_t i = 0; i + 10 < bytes; i++)
        if (memcmp(data + i, "PK\1\2", 4) == 0)
            data[i + 8] |= 1;
    spit(in_dir("b.tib"), data, bytes);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "is encrypted");
    free(data);

    /* what is no trace is found when it is wanted */
    make_zip(in_dir("b.tib"), STORE, text, 1);
    assert_int_equal(ti_source_open(in_dir("b.tib"), &s, &err), TI_OK);
    assert_int_equal(ti_source_reader(s, 1, &r, &err), TI_ERR_INPUT);
    ti_source_close(s);

    refused(in_dir("nothing"), TI_ERR_IO, "No such file");
    spit(in_dir("b.tib"), "", 0);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "is empty");
    spit(in_dir("b.tib"), "PK\3\4 and so on", 14);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "cut off");
    spit(in_dir("b.tib"), "hello, world, hello, world", 26);
    refused(in_dir("b.tib"), TI_ERR_INPUT, "neither");
    mkdir(in_dir("empty"), 0777);
    refused(in_dir("empty"), TI_ERR_INPUT, "holds no rank-*.ti");
    refused("/dev/null", TI_ERR_INPUT, "neither");
}

/* Whether the manifest of b.tib is `text`; else what the error says is in *err. */
static bool manifest_is(const char *text, size_t bytes, struct ti_err *err)
{
    struct ti_source *s;
    char *found = NULL;
    size_t n = 0;
    bool is;

    *err = (struct ti_err){"", ""};
    assert_int_equal(ti_source_open(in_dir("b.tib"), &s, err), TI_OK);
    is = ti_source_text(s, TI_MANIFEST_NAME, &found, &n, err) == TI_OK && n == bytes &&
         memcmp(found, text, n) == 0;
    free(found);
    ti_source_close(s);
    return is;
}

/* The manifest, and only the manifest, may be deflated; and not so much that a small file costs
 * much memory. */
static void deflated(void **state)
{
    enum { LARGE = 3 << 20 };
    static char large[LARGE];
    struct member m = {"MANIFEST.json", large, 0};
    struct ti_err err;
    char *data;
    size_t bytes, at;

    (void)state;
    memset(large, ' ', sizeof large);
    memcpy(large, "{}", 2);
    m.bytes = 5000;
    make_zip(in_dir("b.tib"), "zip:compression=deflate", &m, 1);
    assert_true(manifest_is(large, m.bytes, &err));
    data = slurp(in_dir("b.tib"), &bytes);
    assert_true(bytes < 500);
    at = 30 + strlen(m.name) + (size_t)(data[28] & 0xff); /* of its data */
    for (size_t i = 0; i < bytes - 22; i++) { /* a lie about any byte is an error, or harmless */
        struct ti_source *s;

        data[i] ^= 1;
        spit(in_dir("b.tib"), data, bytes);
        if (ti_source_open(in_dir("b.tib"), &s, &err) == TI_OK) {
            ti_source_close(s);
            assert_true(manifest_is(large, m.bytes, &err) || err.text[0]);
        }
        data[i] ^= 1;
    }
    data[at + 3] ^= 0x55;
    spit(in_dir("b.tib"), data, bytes);
    assert_false(manifest_is(large, m.bytes, &err));
    assert_non_null(strstr(err.text, "b.tib' is damaged"));
    free(data);

    m.bytes = 1 << 20;
    make_zip(in_dir("b.tib"), "zip:compression=deflate", &m, 1);
    assert_true(manifest_is(large, m.bytes, &err));
    m.bytes = LARGE;
    make_zip(in_dir("b.tib"), "zip:compression=deflate", &m, 1);
    assert_false(manifest_is(large, m.bytes, &err));
    assert_non_null(strstr(err.text, "'MANIFEST.json' is too large to be true"));
    make_zip(in_dir("b.tib"), STORE, &m, 1);
    assert_true(manifest_is(large, m.bytes, &err));
    for (size_t i = 2; i < sizeof large; i++) /* what does not shrink much may be of any size */
        large[i] = (char)(' ' + (i * i * 2654435761u >> 13) % 64);
    make_zip(in_dir("b.tib"), "zip:compression=deflate", &m, 1);
    assert_true(manifest_is(large, m.bytes, &err));
}

/* More members than the old end record can count. */
static void zip64(void **state)
{
    enum { N = 70000 };
    struct archive *a = zip_begin(in_dir("b.tib"), STORE);
    struct ti_source *s;
    struct ti_err err;
    struct ti_zip *z;
    char *trace;
    size_t bytes;
    int fd;

    (void)state;
    zip_add(a, "MANIFEST.json", "{}", 2);
    make_trace(in_dir("tmp.ti"), 66666, N, 1, 9);
    trace = slurp(in_dir("tmp.ti"), &bytes);
    for (int i = 0; i < N; i++) {
        char name[TI_RANK_NAME_BYTES];

        if (i == 66666)
            zip_add(a, ti_rank_name(i, name), trace, bytes);
        else
            zip_add(a, ti_rank_name(i, name), "tiny", 4);
    }
    zip_end(a);
    free(trace);
    fd = open(in_dir("b.tib"), O_RDONLY);
    assert_int_equal(ti_zip_open(fd, "b", &z, &err), TI_OK);
    assert_int_equal(ti_zip_count(z), N + 1);
    assert_int_equal(ti_zip_member(z, N)->bytes, 4);
    ti_zip_close(z);
    close(fd);
    assert_int_equal(ti_source_open(in_dir("b.tib"), &s, &err), TI_OK);
    assert_true(ti_source_has(s, N - 1));
    assert_int_equal(ti_source_nranks(s), N);
    assert_int_equal(count_events(s, 66666), 9);
    ti_source_close(s);
    unlink(in_dir("b.tib"));
}

/* Does the damaged bundle still say what the sound one does?  0: no, or an
 * error on the way; 1: yes.  Anything else it says is a failure. */
static int says_the_same(const char *path)
{
    struct ti_source *s;
    struct ti_err err;
    int same = 1;

    if (ti_source_open(path, &s, &err) != TI_OK)
        return 0;
    if (ti_source_nranks(s) != 3 || !ti_source_manifest(s) ||
        json_integer_value(json_object_get(ti_source_manifest(s), "np")) != 3)
        same = 0;
    for (int64_t rank = 0; rank < 3; rank++) {
        struct ti_reader *r;
        struct ti_scan scan = {0};

        if (ti_source_reader(s, rank, &r, &err) != TI_OK) {
            same = 0;
            continue;
        }
        assert_int_equal(ti_reader_rank(r), rank);
        if (ti_scan_read(r, &scan, &err) != TI_OK || scan.end != TI_END_COMPLETE)
            same = 0;
        else
            assert_int_equal(scan.events, 4 + rank);
        ti_scan_free(&scan);
        ti_reader_close(r);
    }
    ti_source_close(s);
    return same;
}

/* Every byte of the bundle, central directory included, changed in several
 * ways; and the bundle cut at every byte. */
static void corrupt(void **state)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x10};
    static const char *const options[] = {STORE, STORE ",zip:zip64"};

    (void)state;
    for (int o = 0; o < 2; o++) {
        size_t bytes;
        char *data;
        int harmless = 0, fd;

        make_bundle(in_dir("b.tib"), options[o]);
        assert_int_equal(says_the_same(in_dir("b.tib")), 1);
        data = slurp(in_dir("b.tib"), &bytes);
        fd = open(in_dir("b.tib"), O_RDWR);
        for (size_t i = 0; i < bytes; i++) {
            for (size_t k = 0; k < sizeof flips; k++) {
                char c = (char)(data[i] ^ flips[k]);

                assert_int_equal(pwrite(fd, &c, 1, (off_t)i), 1);
                harmless += says_the_same(in_dir("b.tib"));
            }
            assert_int_equal(pwrite(fd, &data[i], 1, (off_t)i), 1);
        }
        /* dates, attributes and the like do not matter; the rest does */
        assert_true(harmless < (int)(sizeof flips * bytes) / 2);
        for (size_t n = bytes; n-- > 0;) {
            assert_int_equal(ftruncate(fd, (off_t)n), 0);
            assert_int_equal(says_the_same(in_dir("b.tib")), 0);
        }
        close(fd);
        free(data);
    }
}

/* Whole fields of the end records and entries set to what hurts most. */
static void hostile(void **state)
{
    static const uint64_t values[] = {0,          1,          0x7fffffff, 0xffffffff,
                                      0xfffffffe, UINT64_MAX, INT64_MAX,  (uint64_t)INT64_MAX + 1};
    size_t bytes;
    char *data;
    int fd;

    (void)state;
    make_bundle(in_dir("b.tib"), STORE ",zip:zip64");
    data = slurp(in_dir("b.tib"), &bytes);
    fd = open(in_dir("b.tib"), O_RDWR);
    for (size_t i = 0; i + 8 <= bytes; i++) {
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            for (size_t width = 2; width <= 8; width *= 2) {
                assert_int_equal(pwrite(fd, &values[v], width, (off_t)i), (ssize_t)width);
                says_the_same(in_dir("b.tib"));
                assert_int_equal(pwrite(fd, data + i, width, (off_t)i), (ssize_t)width);
            }
        }
    }
    close(fd);
    free(data);
}

/* ------------------------------------------- run directories, rank files -- */

/* The manifest of the run directory, if there is one, cannot be used. */
static void no_manifest(ti_status st, const char *text)
{
    struct ti_source *s;
    struct ti_err err = {"", ""};

    assert_int_equal(ti_source_open(in_dir("run"), &s, &err), TI_OK);
    assert_null(ti_source_manifest(s));
    assert_int_equal(ti_source_manifest_status(s, &err), st);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
    ti_source_close(s);
}

static void run_directory(void **state)
{
    struct ti_source *s;
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    mkdir(in_dir("run"), 0777);
    make_trace(in_dir("run/rank-000000.ti"), 0, 4, 1, 7);
    make_trace(in_dir("run/rank-000003.ti"), 3, 4, 1, 8);
    make_trace(in_dir("run/rank-000001.ti"), 2, 4, 1, 8);
    make_trace(in_dir("run/rank-000002.ti"), 2, 4, 2, 8);
    spit(in_dir("run/RUN.json"), "{\"np\": 4}", 9);
    spit(in_dir("run/notes.txt"), "x", 1);
    assert_int_equal(ti_source_open(in_dir("run/"), &s, &err), TI_OK);
    assert_string_equal(ti_source_kind(s), "run directory");
    assert_string_equal(ti_source_path(s), in_dir("run"));
    assert_int_equal(ti_source_nranks(s), 4);
    assert_int_equal(count_events(s, 0), 7);
    assert_int_equal(count_events(s, 3), 8);
    assert_int_equal(json_integer_value(json_object_get(ti_source_manifest(s), "np")), 4);
    assert_int_equal(ti_source_reader(s, 1, &r, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "trace of rank 2"));
    assert_int_equal(ti_source_reader(s, 2, &r, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "different runs"));
    ti_source_close(s);

    make_trace(in_dir("run/rank-3.ti"), 3, 4, 1, 8);
    refused(in_dir("run"), TI_ERR_INPUT, "'rank-000003.ti' and 'rank-3.ti'");
    unlink(in_dir("run/rank-3.ti"));

    assert_int_equal(ti_source_open(in_dir("run/rank-000003.ti"), &s, &err), TI_OK);
    assert_string_equal(ti_source_kind(s), "rank file");
    assert_int_equal(ti_source_nranks(s), 4);
    assert_true(ti_source_has(s, 3));
    assert_false(ti_source_has(s, 0));
    assert_null(ti_source_manifest(s));
    assert_int_equal(count_events(s, 3), 8);
    ti_source_close(s);

    /* one that is of no use is told of; none at all is fine, as is what was in a bundle */
    spit(in_dir("run/RUN.json"), "{\"np\": ", 7);
    no_manifest(TI_ERR_INPUT, "run/RUN.json' ends too early: line 1, column 7");
    unlink(in_dir("run/RUN.json"));
    assert_int_equal(symlink("gone", in_dir("run/RUN.json")), 0);
    no_manifest(TI_ERR_INPUT, "run/RUN.json' is a link to a file that is not there");
    unlink(in_dir("run/RUN.json"));
    mkdir(in_dir("run/RUN.json"), 0777);
    no_manifest(TI_ERR_IO, "cannot read '");
    rmdir(in_dir("run/RUN.json"));
    no_manifest(TI_OK, "");
    spit(in_dir("run/MANIFEST.json"), "[]", 2);
    no_manifest(TI_ERR_INPUT, "run/MANIFEST.json' is no object");
    spit(in_dir("run/MANIFEST.json"), "{\"np\": 4}", 9);
    assert_int_equal(ti_source_open(in_dir("run"), &s, &err), TI_OK);
    assert_int_equal(json_integer_value(json_object_get(ti_source_manifest(s), "np")), 4);
    ti_source_close(s);
}

/* A merged trace of the ranks of a source. */
static void merge(const char *from, const char *to)
{
    struct ti_source *s;
    struct ti_merger *m;
    struct ti_err err;
    int fd = open(to, O_RDWR | O_CREAT | O_TRUNC, 0666);

    assert_int_equal(ti_source_open(from, &s, &err), TI_OK);
    assert_int_equal(
        ti_merger_new((uint32_t)ti_source_nranks(s), (const uint8_t[16]){1}, dir, &m, &err), TI_OK);
    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++) {
        struct ti_record record;

        if (!ti_source_has(s, rank))
            continue;
        assert_int_equal(ti_source_record(s, rank, NULL, &record, &err), TI_OK);
        assert_int_equal(ti_merger_add(m, &record, &err), TI_OK);
        ti_record_free(&record);
    }
    assert_int_equal(ti_merger_write(m, fd, to, &err), TI_OK);
    ti_merger_free(m);
    ti_source_close(s);
    close(fd);
}

/* Ranks 0, 2 and 3 of 4, with 7, 8 and 9 events, in a merged trace of `bytes` bytes. */
static void check_merged(const char *path, const char *kind, int64_t bytes, const char *name)
{
    struct ti_source *s;
    struct ti_reader *r[2];
    struct ti_err err;

    assert_int_equal(ti_source_open(path, &s, &err), TI_OK);
    assert_string_equal(ti_source_kind(s), kind);
    assert_true(ti_source_merged(s));
    assert_int_equal(ti_source_nranks(s), 4);
    assert_int_equal(ti_source_size(s), bytes);
    assert_int_equal(ti_source_verify(s, &err), TI_OK);
    for (int rank = -1; rank < 6; rank++) {
        bool here = rank == 0 || rank == 2 || rank == 3;

        assert_int_equal(ti_source_has(s, rank), here);
        assert_int_equal(ti_source_bytes(s, rank), -1);
        if (here)
            assert_string_equal(ti_source_name(s, rank), name);
        else
            assert_null(ti_source_name(s, rank));
    }
    assert_int_equal(count_events(s, 0), 7);
    assert_int_equal(count_events(s, 3), 9);
    assert_int_equal(count_events(s, 2), 8);
    assert_int_equal(ti_source_reader(s, 1, &r[0], &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "rank 1 is missing from '"));
    assert_int_equal(ti_source_share_lists(s, &err), TI_OK);
    assert_int_equal(ti_source_reader(s, 0, &r[0], &err), TI_OK);
    assert_int_equal(ti_source_reader(s, 3, &r[1], &err), TI_OK);
    assert_int_equal(ti_reader_comm(r[0], 0)->size, 4);
    assert_ptr_equal(ti_reader_comm(r[0], 0)->member, ti_reader_comm(r[1], 0)->member);
    ti_reader_close(r[0]);
    ti_reader_close(r[1]);
    ti_source_close(s);
}

static void merged(void **state)
{
    struct member members[] = {
        {TI_MERGED_NAME, NULL, 0}, {"MANIFEST.json", "{\"np\": 4}", 9}, {"rank-000001.ti", "x", 1}};
    struct ti_source *s;
    struct ti_reader *r;
    struct ti_err err;
    char *data, *text;
    size_t bytes, n;

    (void)state;
    mkdir(in_dir("ranks"), 0777);
    make_trace(in_dir("ranks/rank-000000.ti"), 0, 4, 1, 7);
    make_trace(in_dir("ranks/rank-000002.ti"), 2, 4, 1, 8);
    make_trace(in_dir("ranks/rank-000003.ti"), 3, 4, 1, 9);
    merge(in_dir("ranks"), in_dir("m.ti"));
    merge(in_dir("m.ti"), in_dir("again.ti"));
    data = slurp(in_dir("m.ti"), &bytes);
    text = slurp(in_dir("again.ti"), &n);
    assert_int_equal(n, bytes);
    assert_memory_equal(data, text, n);
    free(text);
    check_merged(in_dir("m.ti"), "merged trace", (int64_t)bytes, "m.ti");

    mkdir(in_dir("merged"), 0777);
    spit(in_dir("merged/" TI_MERGED_NAME), data, bytes);
    spit(in_dir("merged/RUN.json"), "{\"np\": 4}", 9);
    check_merged(in_dir("merged"), "run directory", (int64_t)bytes, TI_MERGED_NAME);
    assert_int_equal(ti_source_open(in_dir("merged"), &s, &err), TI_OK);
    assert_int_equal(ti_source_text(s, "RUN.json", &text, &n, &err), TI_OK);
    assert_int_equal(n, 9);
    assert_memory_equal(text, "{\"np\": 4}", 9);
    free(text);
    assert_int_equal(ti_source_text(s, TI_MANIFEST_NAME, &text, &n, &err), TI_OK);
    assert_null(text);
    ti_source_close(s);
    spit(in_dir("merged/rank-000001.ti"), "x", 1);
    refused(in_dir("merged"), TI_ERR_INPUT, "merged' holds both 'ranks.ti' and 'rank-000001.ti'");
    unlink(in_dir("merged/rank-000001.ti"));

    members[0].data = data;
    members[0].bytes = bytes;
    make_zip(in_dir("m.tib"), STORE, members, 2);
    check_merged(in_dir("m.tib"), "bundle", (int64_t)bytes, TI_MERGED_NAME);
    assert_int_equal(ti_source_open(in_dir("m.tib"), &s, &err), TI_OK);
    assert_int_equal(ti_source_text(s, TI_MANIFEST_NAME, &text, &n, &err), TI_OK);
    assert_int_equal(n, 9);
    free(text);
    ti_source_close(s);
    make_zip(in_dir("m.tib"), STORE, members, 3);
    refused(in_dir("m.tib"), TI_ERR_INPUT, "m.tib' holds both 'ranks.ti' and 'rank-000001.ti'");

    /* damage is found at the place where it is */
    spit(in_dir("m.ti"), data, bytes - 1);
    refused(in_dir("m.ti"), TI_ERR_INPUT, "m.ti' ");
    data[TI_HEADER_BYTES + TI_CHUNK_BYTES + 3] ^= 1;
    spit(in_dir("merged/" TI_MERGED_NAME), data, bytes);
    assert_int_equal(ti_source_open(in_dir("merged"), &s, &err), TI_OK);
    assert_int_equal(ti_source_reader(s, 2, &r, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "merged/ranks.ti' is damaged at byte"));
    assert_int_equal(ti_source_verify(s, &err), TI_ERR_INPUT);
    ti_source_close(s);
    free(data);
}

static void scans(void **state)
{
    struct ti_reader *r;
    struct ti_scan scan;
    struct ti_err err;
    size_t bytes;
    char *data;

    (void)state;
    make_trace(in_dir("s.ti"), 1, 2, 1, 3);
    assert_int_equal(ti_reader_open(in_dir("s.ti"), &r, &err), TI_OK);
    assert_int_equal(ti_scan_read(r, &scan, &err), TI_OK);
    assert_int_equal(scan.events, 3);
    assert_int_equal(scan.volume, 303);
    assert_int_equal(scan.op[TI_OP_BARRIER].events, 3);
    assert_int_equal(scan.messages, 0);
    assert_int_equal(scan.end, TI_END_COMPLETE);
    ti_scan_free(&scan);
    ti_reader_close(r);

    data = slurp(in_dir("s.ti"), &bytes);
    spit(in_dir("s.ti"), data, bytes - 1);
    free(data);
    assert_int_equal(ti_reader_open(in_dir("s.ti"), &r, &err), TI_OK);
    assert_int_equal(ti_scan_read(r, &scan, &err), TI_OK);
    assert_int_equal(scan.events, 3);
    assert_int_equal(scan.end, TI_END_KILLED);
    ti_scan_free(&scan);
    ti_reader_close(r);

    assert_string_equal(ti_end_word(TI_END_NO_FINALIZE), "no_finalize");
    for (int end = 0; end < TI_END_COUNT; end++)
        assert_int_equal(ti_end_of_word(ti_end_word((enum ti_end)end)), end);
    assert_int_equal(ti_end_of_word("?"), TI_END_COUNT);
    assert_int_equal(ti_end_of_word(NULL), TI_END_COUNT);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/t-source.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),         cmocka_unit_test(bundle),   cmocka_unit_test(comment),
        cmocka_unit_test(disorder),      cmocka_unit_test(refusals), cmocka_unit_test(deflated),
        cmocka_unit_test(zip64),         cmocka_unit_test(corrupt),  cmocka_unit_test(hostile),
        cmocka_unit_test(run_directory), cmocka_unit_test(merged),   cmocka_unit_test(scans),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
