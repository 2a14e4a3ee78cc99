/* Timelines in Paje's format.  Lines are in the order of time, as the format demands. */
#include <inttypes.h>
#include <string.h>

#include "timeline/internal.h"

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
                                  "%       Peer string\n"
                                  "%       Bytes string\n"
                                  "%       Source string\n"
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

static ti_status begin(struct ti_timeline *t, struct ti_err *err)
{
    (void)err;
    fputs(paje_header, t->file);
    fprintf(t->file, "%d R 0 rank\n%d S R state\n", DEFINE_CONTAINER, DEFINE_STATE);
    fprintf(t->file, "%d c S computing \"0.30 0.70 0.35\"\n", DEFINE_VALUE);
    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        fprintf(t->file, "%d o%u S %s \"%s\"\n", DEFINE_VALUE, op, ti_op_info(op)->text,
                colour_of(op));
    for (int64_t rank = 0; rank < t->show->np; rank++)
        fprintf(t->file, "%d 0 r%" PRId64 " R 0 \"rank %" PRId64 "\"\n", CREATE_CONTAINER, rank,
                rank);
    return TI_OK;
}

/* A text in quotes, which the format cannot escape. */
static void put_quoted(FILE *f, const char *text)
{
    putc('"', f);
    for (; *text; text++)
        putc((unsigned char)*text < ' ' || *text == '"' ? '?' : *text, f);
    putc('"', f);
}

static void computes(FILE *f, int64_t rank, double when)
{
    fprintf(f, "%d %.12f S r%" PRId64 " c \"\" \"\" \"\"\n", SET_STATE, when, rank);
}

static void rank_starts(struct ti_timeline *t, int64_t rank, double when)
{
    computes(t->file, rank, when);
}

static void enters(struct ti_timeline *t, const struct ti__timed *e)
{
    struct ti__about about;
    char peer[32] = "", bytes[32] = "", site[512];

    ti__about(t->show, e, &about);
    if (about.peer >= 0)
        snprintf(peer, sizeof peer, "%" PRId64, about.peer);
    if (about.bytes >= 0)
        snprintf(bytes, sizeof bytes, "%" PRId64, about.bytes);
    fprintf(t->file, "%d %.12f S r%" PRId64 " o%u \"%s\" \"%s\" ", SET_STATE, e->when.call, e->rank,
            e->step->ev.op, peer, bytes);
    put_quoted(t->file, ti_site_text(t->show->symbolizer, e->site, site, sizeof site));
    putc('\n', t->file);
}

static void leaves(struct ti_timeline *t, const struct ti__timed *e)
{
    computes(t->file, e->rank, e->when.end);
}

static void rank_ends(struct ti_timeline *t, int64_t rank, double when)
{
    fprintf(t->file, "%d %.12f R r%" PRId64 "\n", DESTROY_CONTAINER, when, rank);
}

const struct ti__format ti__paje = {.endings = ".paje.trace",
                                    .begin = begin,
                                    .rank_starts = rank_starts,
                                    .enters = enters,
                                    .leaves = leaves,
                                    .rank_ends = rank_ends};
