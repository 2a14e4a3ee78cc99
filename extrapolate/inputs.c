#include "extrapolate/inputs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/folded.h"
#include "common/cli.h"
#include "common/order.h"
#include "common/scratch.h"

void ti_inputs_free(struct ti_inputs *in)
{
    for (int i = 0; i < in->n; i++) {
        for (int64_t r = 0; in->input[i].rank && r < in->input[i].np; r++) {
            free(in->input[i].rank[r].value);
            free(in->input[i].rank[r].start);
        }
        free(in->input[i].rank);
    }
    for (size_t c = 0; c < in->nclasses; c++) {
        free(in->class[c].bytes.data);
        free(in->class[c].slot);
        free(in->class[c].step);
        for (size_t i = 0; i < in->class[c].nsites; i++)
            free(in->class[c].site[i]);
        free(in->class[c].site);
    }
    free(in->class);
    *in = (struct ti_inputs){.n = 0};
}

/* -------------------------------------------------------------------- classes -- */

/* The slots of a form: of an unrolled loop those of the first trip. */
static void find_slots(const struct ti_rank_form *f, struct ti_class *c)
{
    for (size_t k = 0, body; k < f->n; k += body) {
        size_t loop = c->n;
        int64_t times = f->number[k].kind == TI_NUMBER_TIMES ? f->value[k] : 0;

        c->slot = ti_grow(c->slot, &c->cap, c->n + 1, sizeof *c->slot);
        c->slot[c->n++] = (struct ti_slot){.is = f->number[k], .times = -1};
        body = 1;
        if (!times)
            continue;
        while (k + body < f->n && f->number[k + body].trip == 0)
            body++;
        for (size_t j = 1; j < body; j++) {
            c->slot = ti_grow(c->slot, &c->cap, c->n + 1, sizeof *c->slot);
            c->slot[c->n++] = (struct ti_slot){
                .is = f->number[k + j], .times = (int32_t)loop, .body = (uint32_t)body - 1};
        }
        body = 1 + (size_t)times * (body - 1);
    }
}

static void keep_sites(struct ti_class *c, const struct ti_reader *r)
{
    const char *site;
    size_t cap = 0;

    for (; (site = ti_reader_string(r, TI_STRING_SITE, (int64_t)c->nsites + 1)); c->nsites++) {
        c->site = ti_grow(c->site, &cap, c->nsites + 1, sizeof *c->site);
        c->site[c->nsites] = strdup(site);
    }
}

static uint32_t class_of(struct ti_inputs *in, struct ti_rank_form *f, int input, int64_t rank,
                         const struct ti_reader *r)
{
    struct ti_class *c;

    for (size_t k = 0; k < in->nclasses; k++) {
        c = &in->class[k];
        if (c->bytes.n == f->bytes.n && memcmp(c->bytes.data, f->bytes.data, f->bytes.n) == 0)
            return (uint32_t)k;
    }
    in->class = ti_grow(in->class, &in->cap, in->nclasses + 1, sizeof *in->class);
    c = &in->class[in->nclasses];
    *c = (struct ti_class){
        .bytes = f->bytes, .step = f->step, .nsteps = f->nsteps, .input = input, .rank = rank};
    f->bytes = (struct ti_buffer){.data = NULL};
    f->step = NULL;
    find_slots(f, c);
    keep_sites(c, r);
    return (uint32_t)in->nclasses++;
}

/* Where the values of each slot begin in a rank's numbers. */
static void find_starts(const struct ti_class *c, struct ti_input_rank *r)
{
    uint32_t at = 0;
    size_t cap = 0;

    r->start = ti_grow(NULL, &cap, c->n + 1, sizeof *r->start);
    for (size_t s = 0; s < c->n; s++) {
        bool last = s + 1 == c->n || c->slot[s + 1].times != c->slot[s].times;

        r->start[s] = at++;
        if (c->slot[s].times >= 0 && last)
            at += (uint32_t)(ti_slot_times(&c->slot[s], r) - 1) * c->slot[s].body;
    }
}

/* ---------------------------------------------------------------------- ranks -- */

static ti_status read_rank(struct ti_inputs *in, int i, int64_t rank, struct ti_reader *r,
                           struct ti_err *err)
{
    struct ti_input_rank *out = &in->input[i].rank[rank];
    const char *path = ti_source_path(in->input[i].source), *site, *why;
    struct ti_rank_form form;
    ti_status st = ti_reader_skip(r, err);

    if (st)
        return st;
    if (ti_reader_end(r) != TI_END_COMPLETE)
        return ti_err_set(err, TI_ERR_INPUT, "'%s': rank %" PRId64 " is incomplete", path, rank);
    why = ti_form_find(r, &form, &site);
    if (why) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be extrapolated: rank %" PRId64 "%s%s: %s", path,
                   rank, site ? ", " : "", site ? site : "", why);
        ti_form_free(&form);
        return TI_ERR_INPUT;
    }
    out->class = class_of(in, &form, i, rank, r);
    out->value = form.value;
    form.value = NULL;
    find_starts(&in->class[out->class], out);
    ti_form_free(&form);
    return TI_OK;
}

static ti_status read_input(struct ti_inputs *in, int i, struct ti_err *err)
{
    struct ti_input *input = &in->input[i];
    ti_status st = TI_OK;
    size_t cap = 0;

    input->rank = ti_grow(NULL, &cap, (size_t)input->np, sizeof *input->rank);
    for (int64_t rank = 0; rank < input->np && !st; rank++) {
        struct ti_reader *r;

        st = ti_stop_check(err);
        if (!st)
            st = ti_folded_open_rank(input->source, rank, &r, err);
        if (st)
            return st;
        st = read_rank(in, i, rank, r, err);
        ti_reader_close(r);
    }
    return st;
}

TI_ORDER_BY(by_np, struct ti_input, np)

ti_status ti_inputs_read(struct ti_source *const *source, int n, struct ti_inputs *out,
                         struct ti_err *err)
{
    ti_status st = TI_OK;

    *out = (struct ti_inputs){.n = n};
    for (int i = 0; i < n; i++)
        out->input[i] = (struct ti_input){.source = source[i], .np = ti_source_nranks(source[i])};
    qsort(out->input, (size_t)n, sizeof out->input[0], by_np);
    for (int i = 1; i < n; i++)
        if (out->input[i].np == out->input[i - 1].np)
            return ti_err_set(err, TI_ERR_USAGE, "'%s' and '%s' both have %" PRId64 " ranks",
                              ti_source_path(out->input[i - 1].source),
                              ti_source_path(out->input[i].source), out->input[i].np);
    for (int i = 0; i < n && !st; i++)
        st = read_input(out, i, err);
    return st;
}
