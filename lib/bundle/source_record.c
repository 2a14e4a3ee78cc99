#include "bundle/source_internal.h"
#include "fold/decode.h"
#include "merged/encode.h"

/* Whether a trace has the quality that `q` asks for, or a lower one. */
static bool has_quality(const struct ti_reader *r, const struct ti_qualities *q)
{
    return (q->volumes.kind == TI_EXACT || ti_reader_info(r, "volumes")) &&
           (q->extras.kind == TI_EXACT || ti_reader_extras(r) == 0 || ti_reader_info(r, "extras"));
}

bool ti_source_is_too_long(const struct ti_reader *r, const struct ti_qualities *q)
{
    return q && !has_quality(r, q) && ti_reader_folded(r) &&
           ti_folded_events(ti_reader_folded(r)) > TI_REENCODE_MOST;
}

bool ti_source_is_enough(const struct ti_reader *r, const struct ti_qualities *q)
{
    return !q || has_quality(r, q) || ti_source_is_too_long(r, q);
}

ti_status ti_source_record(struct ti_source *s, int64_t rank, const struct ti_qualities *q,
                           struct ti_record *out, struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st;

    st = ti_source_reader(s, rank, &r, err);
    if (st != TI_OK)
        return st;
    if (s->merged && ti_source_is_enough(r, q))
        st = ti_merged_record(s->merged, rank, out, err);
    else
        st = ti_folded_encode(r, q, out, err);
    ti_reader_close(r);
    return st;
}
