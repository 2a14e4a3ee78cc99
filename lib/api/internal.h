/* Shared by the files of the library: its objects, and how results of the rooms below become those
 * of tiara.h. */
#ifndef TI_API_INTERNAL_H
#define TI_API_INTERNAL_H

#include "analysis/line.h"
#include "analysis/pass.h"
#include "api/tiara.h"
#include "bundle/source.h"
#include "callsite/symbolizer.h"

#define API __attribute__((visibility("default")))

struct tiara_trace {
    struct ti_source *source;
    struct ti_symbolizer *symbolizer; /* NULL: not asked for */
    char *folders;                    /* of the symbolizer */
    char *manifest;                   /* NULL: not read yet, or there is none */
    bool manifest_read;
    char run_id[33];
};

/* Put a status and its sentence into *out, which may be NULL; returns the status of tiara.h. */
enum tiara_status ti__api_result(struct tiara_error *out, ti_status st, const struct ti_err *err);

/* Fail because memory is short. */
enum tiara_status ti__api_no_memory(struct tiara_error *out);

/* Fail with TIARA_USAGE: `what` is no ... */
enum tiara_status ti__api_no(struct tiara_error *out, const char *what, int64_t number);

/* Write the ranks that a pass has read to *out. */
void ti__api_coverage(const struct ti_pass *pass, struct tiara_coverage *out);

/* Write a call site for people into buf; "" if it is NULL. */
void ti__api_source(struct tiara_trace *t, const char *site, char *buf, size_t bytes);

struct ti_column_stats;
struct tiara_stats ti__api_stats(const struct ti_column_stats *s);

#endif
