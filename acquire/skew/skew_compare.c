/* Compares the bursts of two runs one by one. */
#include <stdio.h>

#include "acquire/skew/skew.h"
#include "trace/rankname.h"
#include "trace/reader.h"

static void add(struct ti_skew_bursts *sum, uint64_t first, uint64_t second)
{
    uint64_t from = 100;
    int length = 0;

    sum->volume[0] += first;
    sum->volume[1] += second;
    if (first < 10) {
        sum->shorter++;
        return;
    }
    while (length < TI_SKEW_CLASSES - 1 && first >= from) {
        length++;
        from *= 10;
    }
    sum->n++;
    ti_deviations_add(&sum->length[length], ((double)second - (double)first) / (double)first);
}

/* Walk through two traces in parallel, up to the first difference.  *same: whether all calls are
 * equal; *event: how many are.  `sum`, unless NULL, gets the deviations of their bursts. */
static ti_status walk(const char *const path[2], struct ti_skew_bursts *sum, bool *same,
                      uint64_t *event, struct ti_err *err)
{
    struct ti_reader *r[2] = {NULL, NULL};
    ti_status st = ti_reader_open(path[0], &r[0], err);
    struct ti_event ev[2];

    if (st == TI_OK)
        st = ti_reader_open(path[1], &r[1], err);
    *same = true;
    for (*event = 0; st == TI_OK; ++*event) {
        int more[2];

        for (int i = 0; i < 2; i++)
            more[i] = ti_reader_next(r[i], &ev[i], err);
        if (more[0] < 0 || more[1] < 0)
            st = TI_ERR_INPUT;
        if (more[0] <= 0 && more[1] <= 0)
            break;
        if (more[0] != more[1] || !ti_reader_same_call(r[0], &ev[0], r[1], &ev[1])) {
            *same = false;
            break;
        }
        if (sum)
            add(sum, ev[0].volume, ev[1].volume);
    }
    ti_reader_close(r[0]);
    ti_reader_close(r[1]);
    return st;
}

ti_status ti_skew_compare(const char *first, const char *second, int64_t np,
                          struct ti_skew_bursts *sum, struct ti_err *err)
{
    char path[2][PATH_MAX + TI_RANK_NAME_BYTES], name[TI_RANK_NAME_BYTES];
    const char *const paths[2] = {path[0], path[1]};
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < np && st == TI_OK; rank++) {
        uint64_t event;
        bool same;

        ti_rank_name(rank, name);
        snprintf(path[0], sizeof path[0], "%s/%s", first, name);
        snprintf(path[1], sizeof path[1], "%s/%s", second, name);
        st = walk(paths, NULL, &same, &event, err);
        if (st != TI_OK)
            return st;
        if (same) {
            sum->ranks++;
            st = walk(paths, sum, &same, &event, err);
        } else if (!sum->differ++) {
            sum->first_rank = rank;
            sum->first_event = event;
        }
    }
    return st;
}
