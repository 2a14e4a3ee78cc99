/*
 * What the ranks of a trace should have in common: how they were counted, or their
 * volumes cannot be compared; and the processor's model, its instruction set and
 * GLIBC_TUNABLES, by which libraries choose the code they execute.
 */
#ifndef TI_DIFFER_H
#define TI_DIFFER_H

#include <jansson.h>

#include "formats/reader.h"

struct ti_differ;

struct ti_differ *ti_differ_begin(void); /* NULL without memory */
void ti_differ_free(struct ti_differ *d);

/* One more rank; they come in ascending order.  `d` may be NULL. */
void ti_differ_add(struct ti_differ *d, int64_t rank, const struct ti_reader *r);
/* The same, with what `value` says of a key; NULL: nothing. */
void ti_differ_add_values(struct ti_differ *d, int64_t rank,
                          const char *(*value)(const void *arg, const char *key), const void *arg);

/*
 * For each key of the metadata (formats/trace.h) in which they differ, which ranks
 * have what; for NULL, or if they do not, an empty object:
 *
 *     {"isa": {"x86-64-v3": "0-3,6", "x86-64-v4": "4,5"}}
 *
 * Of many values only the first eight are there, of many ranks the first.
 */
json_t *ti_differ_json(const struct ti_differ *d);

/* Whether a key is about how they were counted. */
bool ti_differ_counter(const char *key);

/* One key of that object as a sentence: "isa is x86-64-v3 on ranks 0-3,6 and
 * x86-64-v4 on ranks 4,5: ...", and what that means. */
char *ti_differ_text(const char *key, const json_t *values, char *buf, size_t bytes);

#endif
