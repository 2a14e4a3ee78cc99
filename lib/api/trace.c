#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "common/hex.h"
#include "fold/column.h"
#include "trace/trace.h"

_Static_assert(TIARA_INPUT == (int)TI_ERR_INPUT && TIARA_IO == (int)TI_ERR_IO &&
                   TIARA_USAGE == (int)TI_ERR_USAGE && TIARA_PARTIAL == (int)TI_ERR_PARTIAL,
               "the statuses of tiara.h are those of the tools");
_Static_assert(sizeof((struct tiara_error *)0)->text == sizeof((struct ti_err *)0)->text &&
                   sizeof((struct tiara_error *)0)->hint == sizeof((struct ti_err *)0)->hint,
               "errors of tiara.h have the room of ours");
_Static_assert(TI_F_COUNT <= TIARA_FIELDS_ROOM, "the fields fit into an event of tiara.h");
_Static_assert(TIARA_COMM == (int)TI_F_COMM && TIARA_RPEER == (int)TI_F_PEER2 &&
                   TIARA_RESIZE == (int)TI_F_ESIZE2 && TIARA_FROM == (int)TI_F_FROM &&
                   TIARA_ROOT == (int)TI_F_ROOT && TIARA_REQ == (int)TI_F_REQ &&
                   TIARA_KEY == (int)TI_F_KEY && TIARA_LEVEL == (int)TI_F_LEVEL &&
                   TIARA_CALL == (int)TI_F_CALL && TIARA_MSG == (int)TI_F_MSG &&
                   TIARA_PEERCOMM == (int)TI_F_COMM2 && TIARA_FILE == (int)TI_F_FILE &&
                   TIARA_MODE == (int)TI_F_MODE && TIARA_NAME == (int)TI_F_NAME &&
                   TIARA_PART == (int)TI_F_PART && TIARA_PART == TI_F_COUNT - 1,
               "the fields of tiara.h are those of the format");
_Static_assert(TIARA_ANY == TI_ANY && TIARA_NULL == TI_NULL && TIARA_SELF == TI_SELF,
               "the special values of tiara.h are those of the format");

/* --- results --------------------------------------------------------------- */

enum tiara_status ti__api_result(struct tiara_error *out, ti_status st, const struct ti_err *err)
{
    if (out) {
        out->status = (enum tiara_status)st;
        out->text[0] = out->hint[0] = '\0'; /* once for each event */
    }
    if (out && st) {
        snprintf(out->text, sizeof out->text, "%s", err->text);
        snprintf(out->hint, sizeof out->hint, "%s", err->hint);
    }
    return (enum tiara_status)st;
}

enum tiara_status ti__api_no_memory(struct tiara_error *out)
{
    struct ti_err err;

    return ti__api_result(out, ti_err_set(&err, TI_ERR_IO, "memory is short"), &err);
}

enum tiara_status ti__api_no(struct tiara_error *out, const char *what, int64_t number)
{
    struct ti_err err;

    ti_err_set(&err, TI_ERR_USAGE, "there is no %s %lld", what, (long long)number);
    return ti__api_result(out, TI_ERR_USAGE, &err);
}

void ti__api_coverage(const struct ti_pass *pass, struct tiara_coverage *out)
{
    const char *why = pass->damaged.n      ? pass->first_damaged
                      : pass->incomplete.n ? pass->first_incomplete
                                           : pass->first_unsound;

    *out = (struct tiara_coverage){.ranks = pass->np,
                                   .read = pass->ranks,
                                   .missing = ti_ranges_count(&pass->missing),
                                   .incomplete = ti_ranges_count(&pass->incomplete),
                                   .damaged = ti_ranges_count(&pass->damaged),
                                   .unsound = pass->unsound};
    if (!*why && pass->missing.n)
        snprintf(out->why, sizeof out->why, "rank %lld is missing",
                 (long long)pass->missing.range[0].first);
    else
        snprintf(out->why, sizeof out->why, "%.1023s", why);
}

struct tiara_stats ti__api_stats(const struct ti_column_stats *s)
{
    return (struct tiara_stats){
        .n = s->n, .sum = s->sum, .least = s->n ? s->min : 0, .most = s->n ? s->max : 0};
}

void ti__api_source(struct tiara_trace *t, const char *site, char *buf, size_t bytes)
{
    ti_site_text(t->symbolizer, site, buf, bytes);
}

/* --- operations and fields ------------------------------------------------- */

API const char *tiara_version(void)
{
    return TI_VERSION;
}

API int tiara_ops(void)
{
    return TI_OP_COUNT;
}

API int tiara_fields(void)
{
    return TI_F_COUNT;
}

API const char *tiara_op_name(uint32_t op)
{
    return op < TI_OP_COUNT ? ti_op_info(op)->text : NULL;
}

API const char *tiara_field_name(int field)
{
    return field >= 0 && field < TI_F_COUNT ? ti_field_text((unsigned)field) : NULL;
}

API const char *tiara_redop_name(int64_t redop)
{
    return redop >= 0 && redop < TI_REDOP_COUNT ? ti_redop_text(redop) : NULL;
}

API int tiara_op_find(const char *name)
{
    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (strcmp(ti_op_info(op)->text, name) == 0)
            return (int)op;
    return -1;
}

API bool tiara_op_is_collective(uint32_t op)
{
    return ti_op_collective(op);
}

API bool tiara_op_sends(uint32_t op)
{
    return ti_op_is(op, TI_T_SENDS);
}

API bool tiara_op_receives(uint32_t op)
{
    return ti_op_is(op, TI_T_RECEIVES);
}

/* --- traces ---------------------------------------------------------------- */

API enum tiara_status tiara_open(const char *path, struct tiara_trace **out,
                                 struct tiara_error *err)
{
    struct tiara_trace *t = calloc(1, sizeof *t);
    const uint8_t *id;
    struct ti_err why;
    ti_status st;

    *out = NULL;
    if (!t)
        return ti__api_no_memory(err);
    st = ti_source_open(path, &t->source, &why);
    if (!st)
        st = ti_source_share_lists(t->source, &why);
    if (st) {
        ti_source_close(t->source);
        free(t);
        return ti__api_result(err, st, &why);
    }
    id = ti_source_run_id(t->source);
    if (id)
        ti_hex(id, TI_RUN_ID_BYTES, t->run_id);
    *out = t;
    return ti__api_result(err, TI_OK, NULL);
}

API void tiara_close(struct tiara_trace *t)
{
    if (!t)
        return;
    ti_symbolizer_close(t->symbolizer);
    ti_source_close(t->source);
    free(t->folders);
    free(t->manifest);
    free(t);
}

API const char *tiara_path(const struct tiara_trace *t)
{
    return ti_source_path(t->source);
}

API const char *tiara_kind(const struct tiara_trace *t)
{
    return ti_source_kind(t->source);
}

API int64_t tiara_ranks(const struct tiara_trace *t)
{
    return ti_source_nranks(t->source);
}

API int64_t tiara_ranks_here(const struct tiara_trace *t)
{
    return ti_source_count(t->source);
}

API bool tiara_has(const struct tiara_trace *t, int64_t rank)
{
    return rank >= 0 && rank < ti_source_nranks(t->source) && ti_source_has(t->source, rank);
}

API int64_t tiara_stored_bytes(const struct tiara_trace *t)
{
    return ti_source_size(t->source);
}

API const char *tiara_run_id(const struct tiara_trace *t)
{
    return t->run_id;
}

API enum tiara_status tiara_manifest(struct tiara_trace *t, const char **json,
                                     struct tiara_error *err)
{
    static const char *const names[] = {"MANIFEST.json", "RUN.json"};
    struct ti_err why;
    size_t bytes;

    for (int i = 0; i < 2 && !t->manifest_read; i++) {
        ti_status st = ti_source_text(t->source, names[i], &t->manifest, &bytes, &why);

        *json = NULL;
        if (st)
            return ti__api_result(err, st, &why);
        t->manifest_read = t->manifest || i == 1;
    }
    *json = t->manifest;
    return ti__api_result(err, TI_OK, NULL);
}

API void tiara_seed(struct tiara_trace *t, uint64_t seed)
{
    ti_source_seed(t->source, seed);
}

API enum tiara_status tiara_find_sources(struct tiara_trace *t, const char *folders,
                                         struct tiara_error *err)
{
    struct ti_symbolizer *z;
    char *copy = folders ? strdup(folders) : NULL;

    if (folders && !copy)
        return ti__api_no_memory(err);
    z = ti_symbolizer_open(copy);
    if (!z) {
        free(copy);
        return ti__api_no_memory(err);
    }
    ti_symbolizer_close(t->symbolizer);
    free(t->folders);
    t->symbolizer = z;
    t->folders = copy;
    return ti__api_result(err, TI_OK, NULL);
}
