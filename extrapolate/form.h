/*
 * Forms: what a rank does, without its numbers, and these numbers in an order that follows from it.
 *
 * Ranks of runs of different sizes that do the same have the same form, whatever their numbers are.
 * A form is a list of nodes in preorder, as a shape (fold/shape.h), with two differences:
 *
 *   - Calls have no symbols: each has the fields of its symbol, and those with a column.
 *   - Siblings that repeat, as the stages of a hypercube do, are one unrolled loop.  The form has
 * its body once; the numbers have its trips, and then those of the body, trip by trip.  So the form
 *     does not depend on how many trips there are: where one rank has such a loop, another one with
 *     the body alone makes one trip (ti_form_unroll()).
 *
 * The numbers of a column are those of its tokens (fold/column.h): its first value, then for each
 * run its length, difference and stride, and for each repetition how many runs there are.  Volumes
 * with more than TI_FORM_TOKENS tokens are noise: such a column is their mean and nothing else.
 */
#ifndef TI_EXTRAPOLATE_FORM_H
#define TI_EXTRAPOLATE_FORM_H

#include "event/buffer.h"
#include "fold/shape.h"
#include "trace/reader.h"

#define TI_FORM_TOKENS 16 /* of a column */
#define TI_FORM_SHORT  8  /* elements of a list that is put element by element */
#define TI_FORM_BODY   32 /* siblings of an unrolled loop's body, at most */

/* Kinds of numbers: X(name, text). */
#define TI_NUMBERS(X)                                                                              \
    X(TIMES, "repetitions of the calls")                                                           \
    X(TRIPS, "trips of the loop")                                                                  \
    X(FIELD, "field")                                                                              \
    X(ELEMENT, "elements of a list")                                                               \
    X(VOLUME, "volume")                                                                            \
    X(COMM_RANK, "rank in the communicator")                                                       \
    X(COMM_SIZE, "size of the communicator")                                                       \
    X(MEMBER, "members of the communicator")

enum ti_number_kind {
#define TI_NUMBER_ENUM(name, text) TI_NUMBER_##name,
    TI_NUMBERS(TI_NUMBER_ENUM) TI_NUMBER_COUNT
};

/* A number: of which node or communicator, and which one of it. */
struct ti_number {
    uint8_t kind;
    uint8_t field;   /* FIELD; ELEMENT: the vector */
    uint8_t token;   /* 0: a value; else 1 + which part of the tokens of a column */
    uint8_t arrival; /* VOLUME */
    uint32_t of;
    int32_t trip;  /* of the unrolled loop around it, from 0; -1: there is none */
    uint32_t site; /* string number of the call site; 0: none */
};

/* The nodes of a form in preorder; a call or loop with its number in the shape. */
#define TI_UNROLLED_END UINT32_MAX /* `node` of the end of an unrolled loop */
enum ti_step_kind { TI_STEP_CALL, TI_STEP_LOOP, TI_STEP_UNROLLED, TI_STEP_END };

struct ti_form_step {
    enum ti_step_kind kind;
    uint32_t node;
    uint32_t numbers; /* of it, without those of the steps in it; of its first trip */
};

struct ti_rank_form {
    struct ti_buffer bytes; /* ranks with equal bytes have equal forms, but for unrolled loops */
    struct ti_number *number;
    int64_t *value;
    size_t n, numbers_cap, values_cap;
    struct ti_form_step *step; /* an unrolled loop has its first trip */
    size_t nsteps, steps_cap;
};

/* Find the form of the folded trace that `r` reads, which is at the end.  Returns NULL on success;
 * else why the trace cannot be extrapolated, with the call site, or NULL, in *site.  Release *out
 * in any case. */
const char *ti_form_find(const struct ti_reader *r, struct ti_rank_form *out, const char **site);
void ti_form_free(struct ti_rank_form *f);

/* An unrolled loop of one trip looks like its body alone: give `f` the unrolled loops of `more`,
 * whose bytes are equal, with one trip where `f` has none.  False: their loops overlap. */
bool ti_form_unroll(struct ti_rank_form *f, const struct ti_rank_form *more);

#endif
