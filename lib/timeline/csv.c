/* Timelines as CSV. */
#include <inttypes.h>
#include <string.h>

#include "timeline/internal.h"

static ti_status begin(struct ti_timeline *t, struct ti_err *err)
{
    (void)err;
    fputs("rank,event,start_s,end_s,state,waiting_s,site,function,file,line,peer,bytes\n", t->file);
    return TI_OK;
}

/* Writes a text as a value, in quotes where it needs them. */
static void put_text(FILE *f, const char *text)
{
    if (!text || !strpbrk(text, ",\"\r\n")) {
        fputs(text ? text : "", f);
        return;
    }
    putc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    putc('"', f);
}

static void row(FILE *f, const struct ti__timed *e, double start, double end, const char *state,
                double waiting)
{
    fprintf(f, "%" PRId64 ",%" PRIu64 ",%.12f,%.12f,%s,", e->rank, e->step->index, start, end,
            state);
    if (e->waits)
        fprintf(f, "%.12f", waiting);
    putc(',', f);
    put_text(f, e->site); /* that of a converted trace may be anything */
    putc(',', f);
    put_text(f, e->line.function);
    putc(',', f);
    put_text(f, e->line.file);
    if (e->line.file)
        fprintf(f, ",%d,", e->line.line);
    else
        fputs(",,", f);
}

static void enters(struct ti_timeline *t, const struct ti__timed *e)
{
    if (!(e->when.call > e->when.start))
        return;
    row(t->file, e, e->when.start, e->when.call, "computing", 0);
    fputs(",\n", t->file);
}

static void leaves(struct ti_timeline *t, const struct ti__timed *e)
{
    struct ti__about about;

    ti__about(t->show, e, &about);
    row(t->file, e, e->when.call, e->when.end, ti_op_info(e->step->ev.op)->text, e->when.waiting);
    if (about.peer >= 0)
        fprintf(t->file, "%" PRId64, about.peer);
    putc(',', t->file);
    if (about.bytes >= 0)
        fprintf(t->file, "%" PRId64, about.bytes);
    putc('\n', t->file);
}

const struct ti__format ti__csv = {
    .endings = ".csv", .begin = begin, .enters = enters, .leaves = leaves};
