#include "formats/folded/encode.h"
#include "formats/source/source_internal.h"

ti_status ti_source_record(struct ti_source *s, int64_t rank, struct ti_record *out,
                           struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st;

    if (s->merged)
        return ti_merged_record(s->merged, rank, out, err);
    st = ti_source_reader(s, rank, &r, err);
    if (st != TI_OK)
        return st;
    st = ti_folded_encode(r, out, err);
    ti_reader_close(r);
    return st;
}
