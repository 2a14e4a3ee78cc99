/* info/verify.c: whatever single bit of a bundle changes, --verify notices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/check.h"
#include "bundle/zip.h"
#include "info/info.h"
#include "tests/unit/script.h"

static char top[64], bundle[80];

/* A bundle of two ranks that send each other a message. */
static void make_bundle(const struct ti_qualities *merge)
{
    struct ti_run *run;
    struct ti_bundle *b;
    struct ti_err err;
    int64_t bytes;

    script_trace(2, -1,
                 "* init level=0 v=100\n"
                 "0 send comm=0 peer=1 tag=7 bytes=8 esize=8 v=200\n"
                 "1 recv comm=0 peer=-1 tag=7 bytes=8 esize=8 v=300\n"
                 "* finalize v=400\n");
    unlink(bundle);
    assert_int_equal(ti_run_check(script_dir(), NULL, NULL, &run, &err), TI_OK);
    assert_int_equal(ti_bundle_begin(bundle, false, &b, &err), TI_OK);
    if (merge)
        ti_bundle_merge(b, merge, false, NULL);
    if (ti_bundle_finish(b, run, &bytes, &err) != TI_OK)
        fail_msg("%s", err.text);
    ti_bundle_free(b);
    ti_run_free(run);
}

/* As ti-info --verify, which prints to nowhere here. */
static ti_status verify(void)
{
    const struct info_style style = {.quiet = true};
    struct ti_source *s;
    struct ti_err err;
    int out, nowhere;
    ti_status st = ti_source_open(bundle, &s, &err);

    if (st != TI_OK)
        return st;
    fflush(stdout);
    out = dup(1);
    nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    st = info_verify(s, &style, &err);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    close(nowhere);
    ti_source_close(s);
    return st;
}

static void flip_every_bit(void)
{
    int fd = open(bundle, O_RDWR);
    struct stat sb;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &sb), 0);
    assert_int_equal(verify(), TI_OK);
    for (off_t bit = 0; bit < sb.st_size * 8; bit++) {
        uint8_t was, is;

        assert_int_equal(pread(fd, &was, 1, bit / 8), 1);
        is = was ^ (uint8_t)(1 << bit % 8);
        assert_int_equal(pwrite(fd, &is, 1, bit / 8), 1);
        if (verify() != TI_ERR_INPUT)
            fail_msg("bit %d of byte %d of %d", (int)(bit % 8), (int)(bit / 8), (int)sb.st_size);
        assert_int_equal(pwrite(fd, &was, 1, bit / 8), 1);
    }
    assert_int_equal(verify(), TI_OK);
    close(fd);
}

static void test_bits_of_rank_files(void **state)
{
    (void)state;
    make_bundle(NULL);
    flip_every_bit();
}

static void test_bits_of_a_merged_trace(void **state)
{
    static const struct ti_qualities exact;

    (void)state;
    make_bundle(&exact);
    flip_every_bit();
}

/* A bundle without a comment, as older versions wrote it, is sound; one with any other is not. */
static void test_comments(void **state)
{
    static const char other[] = "\5\0other";
    int fd;
    struct stat sb;
    off_t end;

    (void)state;
    make_bundle(NULL);
    fd = open(bundle, O_RDWR);
    assert_int_equal(fstat(fd, &sb), 0);
    end = sb.st_size - (off_t)TI_ZIP_SEAL_BYTES;
    assert_int_equal(pwrite(fd, other, sizeof other - 1, end - 2), sizeof other - 1);
    assert_int_equal(ftruncate(fd, end + 5), 0);
    assert_int_equal(verify(), TI_ERR_INPUT);
    assert_int_equal(pwrite(fd, "\0", 2, end - 2), 2);
    assert_int_equal(ftruncate(fd, end), 0);
    assert_int_equal(verify(), TI_OK);
    close(fd);
}

static int begin(void **state)
{
    (void)state;
    strcpy(top, "/tmp/t-verify-XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(bundle, sizeof bundle, "%s/x.tib", top);
    return 0;
}

static int end(void **state)
{
    (void)state;
    script_forget();
    unlink(bundle);
    return rmdir(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_of_rank_files),
        cmocka_unit_test(test_bits_of_a_merged_trace),
        cmocka_unit_test(test_comments),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
