#include "extrapolate/making.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/folded.h"
#include "common/map.h"

ti_status ti_templates_open(const struct ti_inputs *in, struct ti_template **out,
                            struct ti_err *err)
{
    struct ti_template *t;
    ti_status st = TI_OK;
    size_t cap = 0;

    *out = t = ti_grow(NULL, &cap, in->nclasses, sizeof *t);
    for (size_t c = 0; c < in->nclasses && !st; c++) {
        st = ti_folded_open_rank(in->input[in->class[c].input].source, in->class[c].rank, &t[c].r,
                                 err);
        if (!st)
            st = ti_reader_skip(t[c].r, err);
        if (!st)
            t[c].f = ti_reader_folded(t[c].r);
    }
    return st;
}

void ti_templates_close(const struct ti_inputs *in, struct ti_template *t)
{
    for (size_t c = 0; c < in->nclasses; c++)
        ti_reader_close(t[c].r);
    free(t);
}

void ti_making_start(struct ti_making *r, const struct ti_models *m, const struct ti_template *t,
                     int64_t rank)
{
    *r = (struct ti_making){.m = m, .at = ti_grid_spot(&m->grid, m->in->n, m->np, rank)};
    r->class = (uint32_t)m->grid.class[ti_grid_cell(&m->grid, &r->at)];
    r->c = &m->in->class[r->class];
    r->t = &t[r->class];
}

void ti_making_refuse(struct ti_making *r, const char *why)
{
    if (r->why)
        return;
    r->why = why;
    r->site = r->slot ? ti_slot_site(r->c, (r->slot < r->c->n ? r->slot : r->c->n) - 1) : "";
}

ti_status ti_making_fails(const struct ti_making *r, struct ti_err *err)
{
    return ti_err_set(err, TI_ERR_INPUT,
                      "%" PRId64 " ranks cannot be extrapolated: rank %" PRId64 "%s%s: %s",
                      r->at.np, r->at.rank, *r->site ? ", " : "", r->site, r->why);
}

int64_t ti_making_next(struct ti_making *r)
{
    size_t slot = r->slot++;
    int64_t v = 0;

    if (slot < r->c->n && !ti_model_value(r->m, r->class, slot, &r->at, &v))
        ti_making_refuse(
            r, "a rule gives no number there (no integer, or log2 of what is no power of two)");
    if (slot < r->c->n && r->c->slot[slot].is.kind == TI_NUMBER_VOLUME && v < 0)
        ti_making_refuse(r, "a rule gives a volume below 0");
    return v;
}

void ti_making_blob(struct ti_making *r, const struct ti_bytes *is, struct ti_buffer *out)
{
    const uint8_t *p = is->data, *end = p + is->n, *was[TI_FORM_TOKENS];
    size_t at[TI_FORM_TOKENS];
    uint64_t head, more;
    int n = 0;

    while (p < end && n < TI_FORM_TOKENS) {
        uint64_t count;

        was[n] = p;
        at[n++] = out->n;
        if (!ti_get_varint(&p, end, &head) || !ti_get_varint(&p, end, &more))
            break;
        count = (uint64_t)ti_making_next(r);
        if ((int64_t)count < 1) {
            ti_making_refuse(r, "a list would have parts without elements");
            break;
        }
        ti_buffer_varint(out, count << 1 | (head & 1));
        if (head & 1) {
            int back = n - 1;

            while (back > 0 && (uint64_t)(was[n - 1] - was[back]) != more)
                back--;
            ti_buffer_varint(out, at[n - 1] - at[back]);
            continue;
        }
        ti_buffer_varint(out, ti_zigzag(ti_making_next(r)));
        if (head >> 1 > 1 && !ti_get_varint(&p, end, &more))
            break;
        more = ti_zigzag(ti_making_next(r));
        if (count > 1)
            ti_buffer_varint(out, more);
    }
}
