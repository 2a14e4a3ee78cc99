/*
 * Differences between the ranks of a trace.  Volumes can be compared only if all ranks were counted
 * in the same way.  Ranks should also agree in the processor's model, its instruction set and
 * GLIBC_TUNABLES, by which libraries choose the code that they execute.
 */
#ifndef TI_TRACE_DIFFER_H
#define TI_TRACE_DIFFER_H

#include <jansson.h>

#include "trace/reader.h"

struct ti_differ;

struct ti_differ *ti_differ_begin(void); /* NULL without memory */
void ti_differ_free(struct ti_differ *d);

/* Add a rank, in ascending order of ranks.  `d` may be NULL. */
void ti_differ_add(struct ti_differ *d, int64_t rank, const struct ti_reader *r);

/* The same, with the metadata that value(arg, key) returns; it may return NULL. */
void ti_differ_add_values(struct ti_differ *d, int64_t rank,
                          const char *(*value)(const void *arg, const char *key), const void *arg);

/*
 * For each metadata key (tiara-trace(5)) in which ranks differ, the ranks that have each value:
 *
 *     {"isa": {"x86-64-v3": "0-3,6", "x86-64-v4": "4,5"}}
 *
 * At most eight values of a key are listed; long lists of ranks are cut.  A new object, empty if
 * there are no differences or `d` is NULL.
 */
json_t *ti_differ_json(const struct ti_differ *d);

/* Whether a key tells how the ranks were counted. */
bool ti_differ_counter(const char *key);

/* One key of that object as a sentence, with its consequence: "isa is x86-64-v3 on ranks 0-3,6 and
 * x86-64-v4 on ranks 4,5: ...".  Written to buf, which is returned. */
char *ti_differ_text(const char *key, const json_t *values, char *buf, size_t bytes);

#endif
