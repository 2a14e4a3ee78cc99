/*
 * Inputs: the traces that another one is made from, as classes of ranks with equal forms.
 *
 * A class has slots: the numbers of its form, where those of an unrolled loop's body are there
 * once. So all ranks of a class have the same slots, however often calls repeat.
 */
#ifndef TI_EXTRAPOLATE_INPUTS_H
#define TI_EXTRAPOLATE_INPUTS_H

#include "bundle/source.h"
#include "extrapolate/form.h"

#define TI_INPUTS_MOST 8

/* A number of all ranks of a class. */
struct ti_slot {
    struct ti_number is; /* as the first rank has it */
    int32_t times;       /* slot of the unrolled loop that it is in (TI_NUMBER_TIMES); -1: none */
    uint32_t body;       /* slots of that loop's body */
};

struct ti_class {
    struct ti_buffer bytes; /* of the form */
    struct ti_slot *slot;
    size_t n, cap;
    struct ti_form_step *step;
    size_t nsteps;
    char **site; /* text of each call site that numbers name, from 1 */
    size_t nsites;
    int input; /* the first rank that has it */
    int64_t rank;
};

/* A rank: its class, its numbers, and where those of each slot begin. */
struct ti_input_rank {
    struct ti_rank_form form; /* until all are read */
    uint32_t class;
    int64_t *value;
    uint32_t *start;
};

struct ti_input {
    struct ti_source *source;
    int64_t np;
    struct ti_input_rank *rank;
};

struct ti_inputs {
    struct ti_input input[TI_INPUTS_MOST]; /* by size */
    int n;
    struct ti_class *class;
    size_t nclasses, cap;
};

/* Read traces, at most TI_INPUTS_MOST, of different sizes.  The sources must outlive *out; release
 * it in any case.  TI_ERR_INPUT: a rank is missing, incomplete or damaged, or cannot be
 * extrapolated at all; TI_ERR_USAGE: two have the same number of ranks; TI_ERR_IO. */
ti_status ti_inputs_read(struct ti_source *const *source, int n, struct ti_inputs *out,
                         struct ti_err *err);
void ti_inputs_free(struct ti_inputs *in);

/* The call site of a slot; "" if it has none. */
static inline const char *ti_slot_site(const struct ti_class *c, size_t slot)
{
    uint32_t site = c->slot[slot].is.site;

    return site && site <= c->nsites ? c->site[site - 1] : "";
}

/* The value of a slot; `trip` of an unrolled loop, below ti_slot_times(), else 0. */
static inline int64_t ti_slot_value(const struct ti_slot *s, const struct ti_input_rank *r,
                                    size_t slot, int64_t trip)
{
    return r->value[r->start[slot] + (size_t)trip * s->body];
}

/* Values of a slot: the trips of its unrolled loop, or 1. */
static inline int64_t ti_slot_times(const struct ti_slot *s, const struct ti_input_rank *r)
{
    return s->times < 0 ? 1 : r->value[r->start[s->times]];
}

#endif
