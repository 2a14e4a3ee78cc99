#include <stdlib.h>

#include "common/order.h"

#include "info/summary.h"

const char *info_fact(const struct summary *sum, const char *key)
{
    return json_string_value(json_object_get(sum->info, key));
}

uint64_t info_message_bytes(const struct summary *sum)
{
    uint64_t bytes = 0;

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (ti_op_is(op, TI_T_SENDS))
            bytes += sum->op[op].bytes;
    return bytes;
}

struct ti_op_count info_totals_of(const struct summary *sum, enum ti_op_kind kind)
{
    struct ti_op_count all = {0};

    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        if (ti_op_kind(op) != kind)
            continue;
        all.events += sum->op[op].events;
        all.bytes += sum->op[op].bytes;
        all.got += sum->op[op].got;
    }
    return all;
}

const char *const info_per_rank_text[PER_RANK_COUNT] = {"events", "volume", "bytes"};

TI_ORDER_NUMBERS(by_value, uint64_t)

bool info_spread(const struct summary *sum, enum per_rank what, uint64_t out[3])
{
    uint64_t *v = malloc((size_t)sum->nrows * sizeof *v + 1);

    if (!v || !sum->nrows || (what == BYTES && ti_source_merged(sum->s))) {
        free(v);
        return false;
    }
    for (int64_t i = 0; i < sum->nrows; i++)
        v[i] = what == EVENTS   ? sum->row[i].events
               : what == VOLUME ? sum->row[i].volume
                                : (uint64_t)sum->row[i].bytes;
    qsort(v, (size_t)sum->nrows, sizeof *v, by_value);
    out[0] = v[0];
    out[1] = v[(sum->nrows - 1) / 2];
    out[2] = v[sum->nrows - 1];
    free(v);
    return true;
}

bool info_is_whole(const struct row *row)
{
    return !row->damage && row->end == TI_END_COMPLETE;
}

const char *info_why_not_whole(const struct row *row)
{
    if (row->damage)
        return row->damage;
    return row->reason ? row->reason : ti_end_text(row->end);
}
