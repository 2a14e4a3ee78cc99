/*
 * Models: how each slot of each class depends on where a rank is.
 *
 * A slot gets one rule for all its ranks; or, if there is none, one for each cell; and in an
 * unrolled loop that all inputs pass equally often, one for each trip.  Partners of messages may be
 * known by their coordinates, of which each has a rule: to +1 in x; to x xor 2^t; to the place on
 * the other side of the diagonal.
 *
 * Grids of two shapes in turn, such as squares and those that are twice as wide, are two families:
 * a number without a rule in all inputs may have one in the inputs of the target's family, whose
 * numbers of ranks are the target's divided by a power of 4.
 *
 * Volumes are real: where no rule gives them, a sum of terms is fitted, and its error told.
 */
#ifndef TI_EXTRAPOLATE_MODEL_H
#define TI_EXTRAPOLATE_MODEL_H

#include "common/err.h"
#include "extrapolate/grid.h"

#define TI_FIT_TERMS 4    /* of a fitted volume, each a function of a place */
#define TI_FIT_EXACT 1e-6 /* an error that is none, but rounding: a share */
#define TI_FIT_WIDE  0.01 /* an interval is wide that is not within this share of the value */

struct ti_fit {
    int basis; /* which terms, see fit.c */
    double c[TI_FIT_TERMS];
    double error;     /* of the largest input, as a share, if it is fitted from the others */
    double low, high; /* its interval: the sum over the target is within these shares of it */
    int64_t decides;  /* ranks whose trace would make a wide interval narrow; 0: not known */
};

enum ti_model_kind {
    TI_MODEL_NONE,    /* no rank of the target needs it */
    TI_MODEL_NUMBER,  /* rule[0] gives the number */
    TI_MODEL_SHIFTED, /* rule[0] gives the number plus the coordinate of axis `axis` */
    TI_MODEL_PLACE,   /* a partner: rule[i] gives its coordinate in axis i */
    TI_MODEL_FIT      /* fit gives the number */
};

struct ti_model {
    enum ti_model_kind kind;
    int axis;
    union {
        struct ti_rule rule[TI_AXES];
        struct ti_fit fit;
    };
};

#define TI_FIRST_TRIP (-1)

/* The models of a slot: one; or one for each cell, or each trip, or both. */
struct ti_slot_models {
    bool by_cell;
    int64_t trips; /* 0: not by trip; TI_FIRST_TRIP: one for the first, and one for all others */
    struct ti_model *model;
};

/* The models of a slot for each cell. */
int64_t ti_models_each(const struct ti_slot_models *m);

struct ti_models {
    const struct ti_inputs *in;
    struct ti_grid grid;
    int64_t np;                   /* of the target */
    struct ti_slot_models **slot; /* of each class, of each slot */
    struct ti_block_axis {
        int axis;
        int64_t cells, each; /* of a rule, see ti_rule_each() */
        enum ti_deal deal;
    } block[TI_AXES]; /* blocks that numbers have: volumes may depend on them */
    int nblocks;
};

/* How much a reason says: rules that are not determined say which trace would help. */
enum ti_says {
    TI_SAYS_NO_PLACE,
    TI_SAYS_NOTHING_FITS,
    TI_SAYS_TOO_FEW, /* from here on, the grid may be right */
    TI_SAYS_RIVALS,
    TI_SAYS_WHY
};

/* Why there are no models: of the grid that went furthest.  A grid with more axes counts only if
 * nothing known fits in those before it: three axes, of which one has no parts that differ, have
 * rules for what two axes leave undetermined.  Zeroed at first. */
struct ti_models_told {
    size_t found; /* numbers that had models */
    enum ti_says how;
    int64_t p[TI_AXES]; /* the target in that grid; 0 behind the last axis */
    char why[1024];     /* "": no grid fits the forms of the ranks */
    char hint[512];     /* what would help; "": not known */
};

/* Find the models in a grid.  False: a number has none, and *told says why, unless another grid
 * went further. */
bool ti_models_find(const struct ti_inputs *in, const struct ti_grid *g, int64_t np,
                    struct ti_models *out, struct ti_models_told *told);
void ti_models_free(struct ti_models *m);

/* Whether another grid has rules for all that has rules in `m`, too, and one of them gives another
 * number for a rank of the target. */
bool ti_models_has_rival(const struct ti_models *m, const struct ti_grid *g);

/* The model of a slot at a place. */
const struct ti_model *ti_model_at(const struct ti_models *m, uint32_t class, size_t slot,
                                   const struct ti_spot *at);

/* The number of a slot at a place of the target.  False: the rule gives none there. */
bool ti_model_value(const struct ti_models *m, uint32_t class, size_t slot,
                    const struct ti_spot *at, int64_t *out);

#endif
