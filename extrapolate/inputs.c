#include "extrapolate/inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/folded.h"
#include "common/cli.h"
#include "common/map.h"
#include "common/order.h"
#include "common/scratch.h"

void ti_inputs_free(struct ti_inputs *in)
{
    for (int i = 0; i < in->n; i++) {
        for (int64_t r = 0; in->input[i].rank && r < in->input[i].np; r++) {
            ti_form_free(&in->input[i].rank[r].form);
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

static ti_status keep_sites(struct ti_class *c, struct ti_source *source, struct ti_err *err)
{
    struct ti_reader *r;
    const char *site;
    size_t cap = 0;
    ti_status st = ti_folded_open_rank(source, c->rank, &r, err);

    if (st)
        return st;
    st = ti_reader_skip(r, err);
    while (!st && (site = ti_reader_string(r, TI_STRING_SITE, (int64_t)c->nsites + 1))) {
        c->site = ti_grow(c->site, &cap, c->nsites + 1, sizeof *c->site);
        c->site[c->nsites] = strdup(site);
        if (!c->site[c->nsites++])
            ti_no_memory(1, strlen(site) + 1);
    }
    ti_reader_close(r);
    return st;
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

static struct ti_rank_form *form_of(const struct ti_inputs *in, const struct ti_class *c)
{
    return &in->input[c->input].rank[c->rank].form;
}

/* The class of a rank, which is added if it is new.  Its first rank gets the unrolled loops of all
 * the others. */
static uint32_t class_of(struct ti_inputs *in, int input, int64_t rank)
{
    const struct ti_rank_form *f = &in->input[input].rank[rank].form;

    for (size_t k = 0; k < in->nclasses; k++) {
        struct ti_rank_form *first = form_of(in, &in->class[k]);

        if (first->bytes.n == f->bytes.n &&
            memcmp(first->bytes.data, f->bytes.data, f->bytes.n) == 0 && ti_form_unroll(first, f))
            return (uint32_t)k;
    }
    in->class = ti_grow(in->class, &in->cap, in->nclasses + 1, sizeof *in->class);
    in->class[in->nclasses] = (struct ti_class){.input = input, .rank = rank};
    return (uint32_t)in->nclasses++;
}

static ti_status finish_class(struct ti_inputs *in, struct ti_class *c, struct ti_err *err)
{
    struct ti_rank_form *f = form_of(in, c);

    find_slots(f, c);
    c->bytes = f->bytes;
    c->step = f->step;
    c->nsteps = f->nsteps;
    f->bytes = (struct ti_buffer){.data = NULL};
    f->step = NULL;
    return keep_sites(c, in->input[c->input].source, err);
}

static void finish_rank(const struct ti_class *c, struct ti_input_rank *r)
{
    r->value = r->form.value;
    r->form.value = NULL;
    ti_form_free(&r->form);
    find_starts(c, r);
}

/* Make classes of the forms of all ranks. */
static ti_status find_classes(struct ti_inputs *in, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int i = 0; i < in->n; i++)
        for (int64_t r = 0; r < in->input[i].np; r++)
            in->input[i].rank[r].class = class_of(in, i, r);
    for (int i = 0; i < in->n; i++)
        for (int64_t r = 0; r < in->input[i].np; r++) {
            struct ti_input_rank *rank = &in->input[i].rank[r];

            if (!ti_form_unroll(&rank->form, form_of(in, &in->class[rank->class])))
                TI_BUG("a rank has loops that its class does not have");
        }
    for (size_t c = 0; c < in->nclasses && !st; c++)
        st = finish_class(in, &in->class[c], err);
    for (int i = 0; i < in->n && !st; i++)
        for (int64_t r = 0; r < in->input[i].np; r++)
            finish_rank(&in->class[in->input[i].rank[r].class], &in -> input[i].rank[r]);
    return st;
}

/* ---------------------------------------------------------------------- ranks -- */

static ti_status read_rank(struct ti_inputs *in, int i, int64_t rank, struct ti_reader *r,
                           struct ti_err *err)
{
    struct ti_input_rank *out = &in->input[i].rank[rank];
    const char *path = ti_source_path(in->input[i].source), *site, *why;
    ti_status st = ti_reader_skip(r, err);

    if (st)
        return st;
    if (ti_reader_end(r) != TI_END_COMPLETE)
        return ti_err_set(err, TI_ERR_INPUT, "'%s': rank %" PRId64 " is incomplete", path, rank);
    why = ti_form_find(r, &out->form, &site);
    if (why)
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' cannot be extrapolated: rank %" PRId64 "%s%s: %s", path, rank,
                          site ? ", " : "", site ? site : "", why);
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
    return st ? st : find_classes(out, err);
}
