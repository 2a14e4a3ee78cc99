/* The file of a replay's times: what each rank wrote comes back in its order; a file that was cut
 * off is refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "timeline/intervals.h"

static char path[] = "/tmp/t-intervals-XXXXXX";

/* Events of a rank; rank 1 has none, 50 and 100 fill blocks. */
static const uint64_t events[] = {1, 0, 50, 51, 100, 1234};
#define RANKS ((int64_t)(sizeof events / sizeof events[0]))

static struct ti_event_times interval(int64_t rank, uint64_t i)
{
    double at = (double)rank * 1000 + (double)i;

    return (struct ti_event_times){3 * i, at, at + 0.25, at + 0.5, 0.125 * (double)rank};
}

static void write_all(void)
{
    struct ti_interval_writer *w;
    struct ti_err err;

    assert_int_equal(ti_interval_writer_open(path, RANKS, &w, &err), TI_OK);
    for (uint64_t i = 0; i < 1234; i++)
        for (int64_t rank = 0; rank < RANKS; rank++) {
            struct ti_event_times one = interval(rank, i);

            if (i < events[rank])
                ti_interval_add(w, rank, &one);
        }
    assert_int_equal(ti_interval_writer_close(w, &err), TI_OK);
}

static void ranks_come_back(void **state)
{
    struct ti_interval_place at[RANKS];
    struct ti_intervals *f;
    struct ti_err err;
    struct ti_event_times one;

    (void)state;
    memset(at, 0, sizeof at);
    write_all();
    assert_int_equal(ti_intervals_open(path, &f, &err), TI_OK);
    /* in turn, so that no reader depends on another */
    for (uint64_t i = 0; i < 1235; i++)
        for (int64_t rank = RANKS - 1; rank >= 0; rank--) {
            struct ti_event_times want = interval(rank, i);

            assert_int_equal(ti_interval_next(f, rank, &at[rank], &one), i < events[rank]);
            if (i < events[rank])
                assert_memory_equal(&one, &want, sizeof one);
        }
    assert_false(ti_interval_next(f, RANKS, &(struct ti_interval_place){0}, &one));
    ti_intervals_close(f);
}

static void cut_files_are_refused(void **state)
{
    struct ti_intervals *f;
    struct ti_err err;
    struct stat is;

    (void)state;
    write_all();
    assert_int_equal(stat(path, &is), 0);
    for (off_t cut = 1; cut < 100; cut += 7) {
        assert_int_equal(truncate(path, is.st_size - cut), 0);
        assert_int_equal(ti_intervals_open(path, &f, &err), TI_ERR_IO);
        assert_non_null(strstr(err.text, "no complete times"));
    }
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(ti_intervals_open(path, &f, &err), TI_ERR_IO);
    unlink(path);
    assert_int_equal(ti_intervals_open(path, &f, &err), TI_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_come_back),
        cmocka_unit_test(cut_files_are_refused),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
