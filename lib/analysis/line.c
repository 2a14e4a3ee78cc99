#include "analysis/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callsite/symbolizer.h"
#include "common/map.h"

static bool need(struct ti_line *line, size_t more)
{
    if (TI_ROOM(line->text, &line->cap, line->bytes + more + 1))
        return true;
    if (!line->may_fail)
        ti_no_memory(line->bytes + more + 1, 1);
    line->no_memory = true;
    return false;
}

void ti_line_put(struct ti_line *line, const char *text)
{
    size_t n = strlen(text);

    if (!need(line, n))
        return;
    memcpy(line->text + line->bytes, text, n + 1);
    line->bytes += n;
}

void ti_line_printf(struct ti_line *line, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !need(line, (size_t)n))
        return;
    va_start(ap, fmt);
    vsnprintf(line->text + line->bytes, (size_t)n + 1, fmt, ap);
    va_end(ap);
    line->bytes += (size_t)n;
}

static void put_char(struct ti_line *line, char c)
{
    if (!need(line, 1))
        return;
    line->text[line->bytes++] = c;
    line->text[line->bytes] = '\0';
}

static void put_number(struct ti_line *line, uint64_t v)
{
    char digits[24], *p = digits + sizeof digits - 1;

    *p = '\0';
    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    ti_line_put(line, p);
}

static void put_signed(struct ti_line *line, int64_t v)
{
    if (v < 0)
        put_char(line, '-');
    put_number(line, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Append text from a trace.  Characters that could break a line or a field are escaped. */
static void put_text(struct ti_line *line, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c > ' ' && c <= '~' && c != '\\') {
            put_char(line, (char)c);
        } else {
            ti_line_put(line, "\\x");
            put_char(line, hex[c >> 4]);
            put_char(line, hex[c & 15]);
        }
    }
}

/* Append text in quotes.  Blanks stay; characters that could break a line or the quotes are
 * escaped. */
static void put_quoted(struct ti_line *line, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    put_char(line, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c >= ' ' && c <= '~' && c != '\\' && c != '"') {
            put_char(line, (char)c);
        } else {
            ti_line_put(line, "\\x");
            put_char(line, hex[c >> 4]);
            put_char(line, hex[c & 15]);
        }
    }
    put_char(line, '"');
}

/* Append a special value such as "null" and return false; true if `v` is an ordinary number. */
static bool put_special(struct ti_line *line, int64_t v)
{
    if (v > TI_SELF)
        return true;
    ti_line_put(line, v == TI_ANY ? "any" : v == TI_NULL ? "null" : "self");
    return false;
}

static void put_delta(struct ti_line *line, int64_t v)
{
    if (!put_special(line, v))
        return;
    if (v >= 0)
        put_char(line, '+');
    put_signed(line, v);
}

/* Append a peer's world rank, as "(5)".  Waits have no communicator, so nothing is appended. */
static void put_world(struct ti_line *line, const struct ti_reader *r, const struct ti_event *ev,
                      int64_t v)
{
    int64_t comm = ti_reader_event_comm(r, ev), world;

    if (v <= TI_SELF || comm < 0)
        return;
    world = ti_reader_world(r, comm, v);
    put_char(line, '(');
    if (world < 0)
        put_char(line, '?');
    else
        put_number(line, (uint64_t)world);
    put_char(line, ')');
}

static bool is_peer(unsigned field)
{
    return field == TI_F_PEER || field == TI_F_PEER2 || field == TI_F_FROM;
}

void ti_line_value(struct ti_line *line, const struct ti_reader *r, unsigned field, int64_t v)
{
    const char *name;
    char modes[128];

    switch (field) {
    case TI_F_PEER:
    case TI_F_PEER2:
    case TI_F_FROM:
        put_delta(line, v);
        break;
    case TI_F_REDOP:
        ti_line_put(line, ti_redop_text(v));
        break;
    case TI_F_MODE:
        ti_line_put(line, ti_mode_text(v, modes, sizeof modes));
        break;
    case TI_F_NAME:
        name = ti_reader_string(r, TI_STRING_FILE, v);
        put_quoted(line, name ? name : "?");
        break;
    case TI_F_CALL:
        name = ti_reader_string(r, TI_STRING_CALL, v);
        put_text(line, name ? name : "?");
        break;
    default:
        if (put_special(line, v))
            put_signed(line, v);
    }
}

void ti_line_field(struct ti_line *line, const struct ti_reader *r, const struct ti_event *ev,
                   unsigned field)
{
    put_char(line, ' ');
    ti_line_put(line, ti_field_text(field));
    put_char(line, '=');
    ti_line_value(line, r, field, ev->arg[field]);
    if (is_peer(field))
        put_world(line, r, ev, ev->arg[field]);
}

void ti_line_vector(struct ti_line *line, const char *name, const struct ti_vec *vec)
{
    bool matched = strcmp(name, "matched") == 0;

    put_char(line, ' ');
    ti_line_put(line, name);
    ti_line_put(line, "=[");
    for (int64_t i = 0; i < vec->len; i++) {
        int64_t v = ti_vec_at(vec, i);

        if (i)
            put_char(line, matched && i % 3 ? ':' : ',');
        if (matched && i % 3 == 1)
            put_delta(line, v);
        else if (put_special(line, v))
            put_signed(line, v);
    }
    put_char(line, ']');
}

/* Append a call site, and before it its source line as far as it is known. */
static void put_call_site(struct ti_line *line, const char *site, struct ti_symbolizer *z)
{
    const struct ti_site_line *source = ti_symbolizer_find(z, site);
    char function[512];

    if (source && source->function) {
        ti_line_put(line, " function=");
        put_quoted(line, ti_function_text(source, function, sizeof function));
    }
    if (source && source->file) {
        ti_line_put(line, " file=");
        put_quoted(line, source->file);
        ti_line_put(line, " line=");
        put_signed(line, source->line);
    }
    ti_line_put(line, " site=");
    put_quoted(line, site ? site : "?");
}

void ti_line_event(struct ti_line *line, const struct ti_reader *r, const struct ti_event *ev,
                   const struct ti_line_style *style)
{
    const struct ti_op_info *op = ti_op_info(ev->op);

    line->bytes = 0;
    if (!style->no_volumes) {
        put_number(line, ev->volume);
        put_char(line, ' ');
    }
    ti_line_put(line, op->text);
    for (uint32_t rest = ev->mask; rest; rest &= rest - 1)
        ti_line_field(line, r, ev, (unsigned)__builtin_ctz(rest));
    for (int v = 0; v < TI_VECS; v++)
        if (ev->vec[v].len > 0)
            ti_line_vector(line, op->vec[v][0] ? op->vec[v] : "?", &ev->vec[v]);
    for (int i = 0; ev->extra && !style->no_volumes && i < ti_reader_extras(r); i++) {
        put_char(line, ' ');
        put_text(line, ti_reader_extra_name(r, i));
        put_char(line, '=');
        put_number(line, ev->extra[i]);
    }
    if (style->call_sites)
        put_call_site(line, ti_reader_string(r, TI_STRING_SITE, ev->site), style->symbolizer);
}

void ti_line_free(struct ti_line *line)
{
    free(line->text);
    *line = (struct ti_line){0};
}
