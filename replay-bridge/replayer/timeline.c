#include "replay-bridge/replayer/timeline.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"

struct ti_timeline {
    FILE *file;
    bool paje;
    char *path;
};

/* ---- Paje ---- */

/* Numbers of the event types, as defined in the header of the file. */
enum {
    DEFINE_CONTAINER,
    DEFINE_STATE,
    DEFINE_VALUE,
    CREATE_CONTAINER,
    DESTROY_CONTAINER,
    SET_STATE
};

static const char paje_header[] = "%EventDef PajeDefineContainerType 0\n"
                                  "%       Alias string\n"
                                  "%       Type string\n"
                                  "%       Name string\n"
                                  "%EndEventDef\n"
                                  "%EventDef PajeDefineStateType 1\n"
                                  "%       Alias string\n"
                                  "%       Type string\n"
                                  "%       Name string\n"
                                  "%EndEventDef\n"
                                  "%EventDef PajeDefineEntityValue 2\n"
                                  "%       Alias string\n"
                                  "%       Type string\n"
                                  "%       Name string\n"
                                  "%       Color color\n"
                                  "%EndEventDef\n"
                                  "%EventDef PajeCreateContainer 3\n"
                                  "%       Time date\n"
                                  "%       Alias string\n"
                                  "%       Type string\n"
                                  "%       Container string\n"
                                  "%       Name string\n"
                                  "%EndEventDef\n"
                                  "%EventDef PajeDestroyContainer 4\n"
                                  "%       Time date\n"
                                  "%       Type string\n"
                                  "%       Name string\n"
                                  "%EndEventDef\n"
                                  "%EventDef PajeSetState 5\n"
                                  "%       Time date\n"
                                  "%       Type string\n"
                                  "%       Container string\n"
                                  "%       Value string\n"
                                  "%EndEventDef\n";

/* Colour of an operation in Paje viewers, by its kind: completing calls are red, collectives blue,
 * and so on. */
static const char *colour_of(uint32_t op)
{
    return ti_op_is(op, TI_T_COLLECTIVE)                ? "0.25 0.45 0.85"
           : ti_op_is(op, TI_T_COMPLETES)               ? "0.85 0.25 0.20"
           : ti_op_is(op, TI_T_SENDS)                   ? "0.95 0.75 0.20"
           : ti_op_is(op, TI_T_RECEIVES | TI_T_REQUEST) ? "0.95 0.60 0.30"
           : ti_op_is(op, TI_T_RECEIVES)                ? "0.90 0.40 0.10"
                                                        : "0.60 0.60 0.60";
}

static void define_paje(struct ti_timeline *t, int64_t np)
{
    fputs(paje_header, t->file);
    fprintf(t->file, "%d R 0 rank\n%d S R state\n", DEFINE_CONTAINER, DEFINE_STATE);
    fprintf(t->file, "%d c S computing \"0.30 0.70 0.35\"\n", DEFINE_VALUE);
    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        fprintf(t->file, "%d o%u S %s \"%s\"\n", DEFINE_VALUE, op, ti_op_info(op)->text,
                colour_of(op));
    for (int64_t rank = 0; rank < np; rank++)
        fprintf(t->file, "%d 0 r%" PRId64 " R 0 \"rank %" PRId64 "\"\n", CREATE_CONTAINER, rank,
                rank);
}

/* ---- both ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && !strcmp(text + n - m, end);
}

ti_status ti_timeline_check(const char *path, struct ti_err *err)
{
    if (ends_with(path, ".paje") || ends_with(path, ".trace") || ends_with(path, ".csv"))
        return TI_OK;
    return ti_err_set(err, TI_ERR_USAGE, "--timeline must be named NAME.paje or NAME.csv, not '%s'",
                      path);
}

bool ti_timeline_has_sites(const char *path)
{
    return ends_with(path, ".csv");
}

ti_status ti_timeline_open(const char *path, int64_t np, struct ti_timeline **out,
                           struct ti_err *err)
{
    struct ti_timeline *t = calloc(1, sizeof *t);

    if (!t || !(t->path = strdup(path)) || !(t->file = fopen(path, "we"))) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
        if (t)
            free(t->path);
        free(t);
        return TI_ERR_IO;
    }
    t->paje = !ti_timeline_has_sites(path);
    if (t->paje)
        define_paje(t, np);
    else
        fputs("rank,event,start_s,end_s,state,waiting_s,site\n", t->file);
    *out = t;
    return TI_OK;
}

void ti_timeline_put_text(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    putc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    putc('"', f);
}

static void row(struct ti_timeline *t, int64_t rank, double start, double end, double waiting,
                const char *state, uint64_t index, const char *site)
{
    fprintf(t->file, "%" PRId64 ",%" PRIu64 ",%.12f,%.12f,%s,%.12f,", rank, index, start, end,
            state, waiting);
    ti_timeline_put_text(t->file, site); /* that of a converted trace may be anything */
    putc('\n', t->file);
}

void ti_timeline_rank_starts(struct ti_timeline *t, int64_t rank, double now)
{
    if (t->paje)
        fprintf(t->file, "%d %.12f S r%" PRId64 " c\n", SET_STATE, now, rank);
}

void ti_timeline_computes(struct ti_timeline *t, int64_t rank, double start, double end,
                          uint64_t index, const char *site)
{
    if (!t->paje && end > start)
        row(t, rank, start, end, 0, "computing", index, site);
}

void ti_timeline_enters(struct ti_timeline *t, int64_t rank, double now, uint32_t op)
{
    if (t->paje)
        fprintf(t->file, "%d %.12f S r%" PRId64 " o%u\n", SET_STATE, now, rank, op);
}

void ti_timeline_leaves(struct ti_timeline *t, int64_t rank, double start, double end,
                        double waiting, uint32_t op, uint64_t index, const char *site)
{
    if (t->paje)
        fprintf(t->file, "%d %.12f S r%" PRId64 " c\n", SET_STATE, end, rank);
    else
        row(t, rank, start, end, waiting, ti_op_info(op)->text, index, site);
}

void ti_timeline_rank_ends(struct ti_timeline *t, int64_t rank, double now)
{
    if (t->paje)
        fprintf(t->file, "%d %.12f R r%" PRId64 "\n", DESTROY_CONTAINER, now, rank);
}

ti_status ti_timeline_close(struct ti_timeline *t, struct ti_err *err)
{
    bool bad = ferror(t->file) != 0;
    ti_status st = TI_OK;

    if (fclose(t->file) != 0 || bad)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    free(t->path);
    free(t);
    return st;
}
