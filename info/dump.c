#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "info/info.h"
#include "info/symbolizer.h"

static void need(struct info_line *line, size_t more)
{
    line->text = ti_grow(line->text, &line->cap, line->bytes + more + 1, 1);
}

static void put(struct info_line *line, const char *text)
{
    size_t n = strlen(text);

    need(line, n);
    memcpy(line->text + line->bytes, text, n + 1);
    line->bytes += n;
}

static void put_char(struct info_line *line, char c)
{
    need(line, 1);
    line->text[line->bytes++] = c;
    line->text[line->bytes] = '\0';
}

static void put_number(struct info_line *line, uint64_t v)
{
    char digits[24], *p = digits + sizeof digits - 1;

    *p = '\0';
    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    put(line, p);
}

static void put_signed(struct info_line *line, int64_t v)
{
    if (v < 0)
        put_char(line, '-');
    put_number(line, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Append text from a trace.  Characters that could break a line or a field are escaped. */
static void put_text(struct info_line *line, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c > ' ' && c <= '~' && c != '\\') {
            put_char(line, (char)c);
        } else {
            put(line, "\\x");
            put_char(line, hex[c >> 4]);
            put_char(line, hex[c & 15]);
        }
    }
}

/* Append text in quotes.  Blanks stay; characters that could break a line or the quotes are
 * escaped. */
static void put_quoted(struct info_line *line, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    put_char(line, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c >= ' ' && c <= '~' && c != '\\' && c != '"') {
            put_char(line, (char)c);
        } else {
            put(line, "\\x");
            put_char(line, hex[c >> 4]);
            put_char(line, hex[c & 15]);
        }
    }
    put_char(line, '"');
}

/* Append a special value such as "null" and return false; true if `v` is an ordinary number. */
static bool put_special(struct info_line *line, int64_t v)
{
    if (v > TI_SELF)
        return true;
    put(line, v == TI_ANY ? "any" : v == TI_NULL ? "null" : "self");
    return false;
}

static void put_delta(struct info_line *line, int64_t v)
{
    if (!put_special(line, v))
        return;
    if (v >= 0)
        put_char(line, '+');
    put_signed(line, v);
}

/* Append a peer as "+1(5)": relative and as a world rank.  Waits have no communicator, so only the
 * relative form. */
static void put_peer(struct info_line *line, const struct ti_reader *r, const struct ti_event *ev,
                     int64_t v)
{
    int64_t comm = ti_reader_event_comm(r, ev), world;

    put_delta(line, v);
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

static void put_field(struct info_line *line, const struct ti_reader *r, const struct ti_event *ev,
                      unsigned f)
{
    int64_t v = ev->arg[f];
    const char *name;
    char modes[128];

    put_char(line, ' ');
    put(line, ti_field_text(f));
    put_char(line, '=');
    switch (f) {
    case TI_F_PEER:
    case TI_F_PEER2:
    case TI_F_FROM:
        put_peer(line, r, ev, v);
        break;
    case TI_F_REDOP:
        put(line, ti_redop_text(v));
        break;
    case TI_F_MODE:
        put(line, ti_mode_text(v, modes, sizeof modes));
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

static void put_vector(struct info_line *line, const char *name, const struct ti_vec *vec)
{
    bool matched = strcmp(name, "matched") == 0;

    put_char(line, ' ');
    put(line, name);
    put(line, "=[");
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
static void put_call_site(struct info_line *line, const char *site, const struct info_style *style)
{
    const struct info_source_line *source = info_symbolizer_find(style->symbolizer, site);
    char function[512];

    if (source && source->function) {
        put(line, " function=");
        put_quoted(line, info_function_text(source, function, sizeof function));
    }
    if (source && source->file) {
        put(line, " file=");
        put_quoted(line, source->file);
        put(line, " line=");
        put_signed(line, source->line);
    }
    put(line, " site=");
    put_quoted(line, site ? site : "?");
}

void info_format_event(struct info_line *line, const struct ti_reader *r, const struct ti_event *ev,
                       const struct info_style *style)
{
    const struct ti_op_info *op = ti_op_info(ev->op);

    line->bytes = 0;
    if (!style->no_volumes) {
        put_number(line, ev->volume);
        put_char(line, ' ');
    }
    put(line, op->text);
    for (uint32_t rest = ev->mask; rest; rest &= rest - 1)
        put_field(line, r, ev, (unsigned)__builtin_ctz(rest));
    for (int v = 0; v < TI_VECS; v++)
        if (ev->vec[v].len > 0)
            put_vector(line, op->vec[v][0] ? op->vec[v] : "?", &ev->vec[v]);
    for (int i = 0; ev->extra && !style->no_volumes && i < ti_reader_extras(r); i++) {
        put_char(line, ' ');
        put_text(line, ti_reader_extra_name(r, i));
        put_char(line, '=');
        put_number(line, ev->extra[i]);
    }
    if (style->call_sites)
        put_call_site(line, ti_reader_string(r, TI_STRING_SITE, ev->site), style);
}

void info_line_free(struct info_line *line)
{
    free(line->text);
    *line = (struct info_line){0};
}

const char *info_end_text(const struct ti_reader *r, char *text, size_t bytes)
{
    const char *how = ti_end_text(ti_reader_end(r)), *why = ti_reader_info(r, "reason");

    snprintf(text, bytes, "%s%s%s", how, why && *why ? ": " : "", why ? why : "");
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
    return text;
}

static ti_status dump_rank(struct ti_source *s, int64_t rank, const struct info_style *style,
                           struct ti_err *err)
{
    struct info_line line = {0};
    struct ti_reader *r;
    struct ti_event ev;
    char end[1024];
    int more;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st != TI_OK)
        return st;
    if (ti_info_estimate(r) && !style->no_volumes) {
        const char *unit = ti_reader_info(r, "unit");

        printf("# volumes are an estimate%s", unit ? ", in " : "");
        info_put_clean(unit);
        putchar('\n');
    }
    ti_reader_want_extras(r);
    info_symbolizer_add_rank(style->symbolizer, r);
    while ((more = ti_reader_next(r, &ev, err)) > 0) {
        info_format_event(&line, r, &ev, style);
        put_char(&line, '\n');
        if (fwrite(line.text, 1, line.bytes, stdout) != line.bytes)
            break;
    }
    info_line_free(&line);
    if (more < 0)
        st = TI_ERR_INPUT;
    else if (ferror(stdout))
        st = ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    else if (ti_reader_end(r) != TI_END_COMPLETE) {
        ti_warn("rank %" PRId64 " is incomplete after %" PRIu64 " events: %s", rank,
                ti_reader_events(r), info_end_text(r, end, sizeof end));
        st = TI_ERR_PARTIAL;
    }
    ti_reader_close(r);
    return st;
}

ti_status info_dump(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err)
{
    ti_status st = TI_OK;

    if (rank >= 0)
        return dump_rank(s, rank, style, err);
    for (rank = 0; rank < ti_source_nranks(s); rank++) {
        ti_status one;

        if (!ti_source_has(s, rank)) {
            if (strcmp(ti_source_kind(s), "rank file") != 0) {
                ti_warn("rank %" PRId64 " is missing", rank);
                st = TI_ERR_PARTIAL;
            }
            continue;
        }
        printf("# rank %" PRId64 "\n", rank);
        one = dump_rank(s, rank, style, err);
        if (one != TI_OK && one != TI_ERR_PARTIAL)
            return one;
        st = one != TI_OK ? one : st;
    }
    return st;
}
