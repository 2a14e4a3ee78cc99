/*
 * Reports: the words and the JSON for what the tool did.
 */
#ifndef TI_EXTRAPOLATE_REPORT_H
#define TI_EXTRAPOLATE_REPORT_H

#include "callsite/symbolizer.h"
#include "extrapolate/model.h"
#include "extrapolate/original.h"
#include "extrapolate/proof.h"

/* A result, and its origin. */
struct ti_extrapolated {
    const struct ti_models *models;
    const struct ti_original *of;
    const struct ti_proof *proof;
    const struct ti_target_volumes *volumes;
    json_t *rules;      /* with --explain; else NULL */
    const char *output; /* NULL: nothing was written */
    int64_t bytes;      /* of it */
};

/* Replace each call site in a sentence, "lu+0x3143 [BUILD-ID]", by what people read. */
void ti_name_sites(struct ti_symbolizer *z, char *text, size_t room);

/* The interval of the volume, "the volume is determined to -0.2 to +0.1 %", into buf, which is
 * returned. */
const char *ti_target_volumes_text(const struct ti_target_volumes *v, char *buf, size_t room);

/* Print it.  The call sites of text are looked up with `z`. */
void ti_extrapolated_print(const struct ti_extrapolated *e, struct ti_symbolizer *z);
void ti_extrapolated_print_json(const struct ti_extrapolated *e);

/* The same as it stands in the manifest of a bundle: its origin and the proof.  A new object. */
json_t *ti_extrapolated_about(const struct ti_extrapolated *e, const char *text);

#endif
