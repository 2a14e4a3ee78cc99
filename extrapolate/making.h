/*
 * A rank of the target, number by number: for whoever makes it, or sums it up.
 */
#ifndef TI_EXTRAPOLATE_MAKING_H
#define TI_EXTRAPOLATE_MAKING_H

#include "extrapolate/model.h"

/* A class with a rank that has it: its form is made again with other numbers. */
struct ti_template {
    struct ti_reader *r;
    struct ti_folded *f;
};

/* Open a template for each class.  Close *out in any case. */
ti_status ti_templates_open(const struct ti_inputs *in, struct ti_template **out,
                            struct ti_err *err);
void ti_templates_close(const struct ti_inputs *in, struct ti_template *t);

struct ti_making {
    const struct ti_models *m;
    const struct ti_class *c;
    const struct ti_template *t;
    uint32_t class;
    struct ti_spot at;
    size_t slot;      /* the next one */
    const char *why;  /* it cannot be made; NULL: nothing is known against it */
    const char *site; /* the call site of the number of which that was noted */
};

void ti_making_start(struct ti_making *r, const struct ti_models *m, const struct ti_template *t,
                     int64_t rank);

/* Note why it cannot be made, for the number taken last, unless that is known; set the error that
 * says so. */
void ti_making_refuse(struct ti_making *r, const char *why);
ti_status ti_making_fails(const struct ti_making *r, struct ti_err *err);

/* The number of the next slot. */
int64_t ti_making_next(struct ti_making *r);

/* Add the blob of a column with the next numbers, behind the first one: its tokens are those of
 * `is`. */
void ti_making_blob(struct ti_making *r, const struct ti_bytes *is, struct ti_buffer *out);

#endif
