/*
 * The values of a slot at the places that are known, and the places that it is asked for; inside of
 * the search for models (model.c).
 */
#ifndef TI_EXTRAPOLATE_VALUES_H
#define TI_EXTRAPOLATE_VALUES_H

#include "extrapolate/model.h"

/* Places of all inputs and of the target, with their cells. */
struct place {
    struct ti_spot at;
    uint32_t cell;
    uint32_t class;
    int input;
    const struct ti_input_rank *rank; /* NULL: of the target */
};

struct fitting {
    struct ti_models *m;
    struct ti_models_told *told;
    size_t found;    /* numbers with models */
    uint32_t inputs; /* that are looked at: bits */
    bool rivals;     /* several rules of the number that is looked at hold for all its places */
    bool no_cells;   /* a rule of the number that is looked at leaves parts without cells */
    struct place *known, *asked;
    size_t nknown, nasked;
    struct ti_known *value; /* of the slot that is looked at */
    size_t nvalues, values_cap;
    struct ti_spot *spot; /* that it is asked for */
    size_t nspots, spots_cap;
};

/* Which trips of an unrolled loop, if not a certain one. */
enum { ALL_TRIPS = -1, BUT_FIRST = -2 };

void ti__find_places(struct fitting *f);

bool ti__is_partner(const struct ti_number *n);

/* Take the values of a slot into f->value, of one cell or all (-1), and of one trip or several, as
 * rule `axis` of `model` is to give them; or add them to those that are there.  False: there are
 * none, or no rule can give them. */
bool ti__take_values(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                     const struct ti_model *model, int axis);
bool ti__add_values(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                    const struct ti_model *model, int axis);

/* Take the places of the target that the slot is asked for into f->spot. */
void ti__take_spots(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip);

/* An axis that has as many parts at all places of f->value, and others at f->spot[*where]; -1:
 * there is none.  What holds may depend on them. */
int ti__steady_axis(const struct fitting *f, size_t *where);

/* Find a rule of f->value at f->spot, as ti_rule_find() does; if there is none, and the slot is the
 * bytes of a message, a product, if `products`: they take time.  TI_FOUND_ONE_SHAPE: out[0].axis is
 * the axis, and f->spot[*where] has another number of parts. */
enum ti_rule_found ti__find_rule(const struct fitting *f, uint32_t class, size_t slot,
                                 bool products, struct ti_rule out[2], size_t *where);

/* Take the values of all classes: of all slots of the same kind at the same call site; or, with
 * `same_place`, of those that have as many such slots before and behind them.  False: there are
 * none, or no rule can give them. */
bool ti__take_alike(struct fitting *f, uint32_t class, size_t slot, bool same_place,
                    const struct ti_model *model);

/* Find a product of f->value, if the slot is the bytes of a message. */
enum ti_rule_found ti__find_product(const struct fitting *f, uint32_t class, size_t slot,
                                    struct ti_rule out[2], size_t *where);

/* Corners and edges have few ranks, which determine little: find a rule that other classes have,
 * too, for the numbers of their slots of the same kind at the same call site, or of the same
 * communicator; or a product for those of all classes. */
bool ti__find_joint(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                    struct ti_model *out);

#endif
