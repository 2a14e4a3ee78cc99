#include "info/event_csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/line.h"
#include "common/cli.h"
#include "common/map.h"

#define END_OF_ROW "\r\n" /* RFC 4180 */

struct info_csv {
    bool begun;
    char *extra[TI_EXTRAS_MAX]; /* names of the columns */
    int nextras;
    int at[TI_EXTRAS_MAX]; /* of the current trace: index of each of these; -1: it has none */
    bool warned;
    struct ti_line row;
};

struct info_csv *info_csv_new(void)
{
    size_t none = 0;

    return ti_grow(NULL, &none, 1, sizeof(struct info_csv));
}

void info_csv_free(struct info_csv *csv)
{
    if (!csv)
        return;
    for (int i = 0; i < csv->nextras; i++)
        free(csv->extra[i]);
    ti_line_free(&csv->row);
    free(csv);
}

/* Append a text as a value; control characters become '?'. */
static void put_text(struct ti_line *row, const char *text)
{
    bool quoted = text && strpbrk(text, ",\" ");
    char one[2] = "";

    if (quoted)
        ti_line_put(row, "\"");
    for (; text && *text; text++) {
        one[0] = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
        ti_line_put(row, *text == '"' ? "\"\"" : one);
    }
    if (quoted)
        ti_line_put(row, "\"");
}

static bool is_peer(unsigned field)
{
    return field == TI_F_PEER || field == TI_F_PEER2 || field == TI_F_FROM;
}

/* ---- the header ---- */

static void put_header(struct info_csv *csv, const struct info_style *style)
{
    struct ti_line *row = &csv->row;

    row->bytes = 0;
    ti_line_put(row, style->line.no_volumes ? "rank,event" : "rank,event,volume");
    ti_line_put(row, ",operation");
    for (unsigned field = 0; field < TI_F_COUNT; field++) {
        ti_line_printf(row, ",%s", ti_field_text(field));
        if (is_peer(field))
            ti_line_printf(row, ",world_%s", ti_field_text(field));
    }
    ti_line_put(row, ",vectors");
    for (int i = 0; i < csv->nextras; i++) {
        ti_line_put(row, ",");
        put_text(row, csv->extra[i]);
    }
    if (style->line.call_sites)
        ti_line_put(row, ",site,function,file,line");
    ti_line_put(row, END_OF_ROW);
    fwrite(row->text, 1, row->bytes, stdout);
}

static void take_extras(struct info_csv *csv, const struct ti_reader *r)
{
    csv->nextras = ti_reader_extras(r);
    for (int i = 0; i < csv->nextras; i++)
        if (!(csv->extra[i] = strdup(ti_reader_extra_name(r, i))))
            TI_BUG("out of memory");
}

void info_csv_begin(struct info_csv *csv, const struct ti_reader *r, const struct info_style *style)
{
    int found = 0;

    if (!csv->begun && !style->line.no_volumes)
        take_extras(csv, r);
    for (int i = 0; i < csv->nextras; i++) {
        csv->at[i] = ti_reader_extra(r, csv->extra[i]);
        found += csv->at[i] >= 0;
    }
    if (!csv->begun)
        put_header(csv, style);
    csv->begun = true;
    if (found == ti_reader_extras(r) || style->line.no_volumes || csv->warned)
        return;
    csv->warned = true;
    ti_warn("rank %" PRIu32 " has extra columns that the first rank lacks; they are left out",
            ti_reader_rank(r));
}

/* ---- a row ---- */

/* A peer as a plain number: "+1" would be text to some readers. */
static void put_number(struct ti_line *row, int64_t v)
{
    if (v > TI_SELF)
        ti_line_printf(row, "%" PRId64, v);
    else
        ti_line_put(row, v == TI_ANY ? "any" : v == TI_NULL ? "null" : "self");
}

static void put_field(struct ti_line *row, const struct ti_reader *r, const struct ti_event *ev,
                      unsigned field)
{
    int64_t v = ev->arg[field], comm, world = -1;
    bool there = ev->mask >> field & 1;

    ti_line_put(row, ",");
    if (there && field == TI_F_NAME)
        put_text(row, ti_reader_string(r, TI_STRING_FILE, v));
    else if (there && field == TI_F_CALL)
        put_text(row, ti_reader_string(r, TI_STRING_CALL, v));
    else if (there && (field == TI_F_REDOP || field == TI_F_MODE))
        ti_line_value(row, r, field, v);
    else if (there)
        put_number(row, v);
    if (!is_peer(field))
        return;
    ti_line_put(row, ",");
    comm = there && v > TI_SELF ? ti_reader_event_comm(r, ev) : -1;
    if (comm >= 0)
        world = ti_reader_world(r, comm, v);
    if (world >= 0)
        put_number(row, world);
}

/* Vectors as in the text form: "requests=[0,1] matched=[0:-1:7]". */
static void put_vectors(struct ti_line *row, const struct ti_event *ev)
{
    const struct ti_op_info *op = ti_op_info(ev->op);
    struct ti_line text = {0};

    ti_line_put(row, ",");
    for (int v = 0; v < TI_VECS; v++)
        if (ev->vec[v].len > 0)
            ti_line_vector(&text, op->vec[v][0] ? op->vec[v] : "?", &ev->vec[v]);
    if (text.bytes)
        put_text(row, text.text + 1); /* it begins with a blank */
    ti_line_free(&text);
}

static void put_site(struct ti_line *row, const char *site, const struct info_style *style)
{
    const struct ti_site_line *line = ti_symbolizer_find(style->line.symbolizer, site);

    ti_line_put(row, ",");
    put_text(row, site);
    ti_line_put(row, ",");
    put_text(row, line ? line->function : "");
    ti_line_put(row, ",");
    put_text(row, line ? line->file : "");
    ti_line_put(row, ",");
    if (line && line->file)
        ti_line_printf(row, "%d", line->line);
}

bool info_csv_event(struct info_csv *csv, const struct ti_reader *r, const struct ti_event *ev,
                    uint64_t number, const struct info_style *style)
{
    struct ti_line *row = &csv->row;

    row->bytes = 0;
    ti_line_printf(row, "%" PRIu32 ",%" PRIu64, ti_reader_rank(r), number);
    if (!style->line.no_volumes)
        ti_line_printf(row, ",%" PRIu64, ev->volume);
    ti_line_printf(row, ",%s", ti_op_info(ev->op)->text);
    for (unsigned field = 0; field < TI_F_COUNT; field++)
        put_field(row, r, ev, field);
    put_vectors(row, ev);
    for (int i = 0; i < csv->nextras; i++) {
        ti_line_put(row, ",");
        if (ev->extra && csv->at[i] >= 0)
            ti_line_printf(row, "%" PRIu64, ev->extra[csv->at[i]]);
    }
    if (style->line.call_sites)
        put_site(row, ti_reader_string(r, TI_STRING_SITE, ev->site), style);
    ti_line_put(row, END_OF_ROW);
    return fwrite(row->text, 1, row->bytes, stdout) == row->bytes;
}
