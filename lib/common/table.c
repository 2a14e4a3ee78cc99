#include "common/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"

#define COLUMNS_MOST 16
#define CELL_BYTES   64
#define TEXT_LEAST   12  /* characters of a text, however narrow the table is */
#define ROUNDED      4   /* digits of the largest number of a rounded column */
#define ROUNDED_FROM 1e5 /* smaller numbers do not get shorter */
#define TIME_DIGITS  5   /* of the longest time */
#define BAR_MOST     40  /* characters */

struct cell {
    union {
        size_t text; /* offset in ti_table.texts; of a bar: index in ti_table.part */
        uint64_t count;
        double value;
    };
    bool given;
};

struct row {
    enum { ROW_CELLS, ROW_TITLES, ROW_LINE } kind;
    size_t at; /* of the first cell, or of the text */
};

/* A column while the table is laid out. */
struct layout {
    int width;
    int natural;      /* width of a text that is not shortened */
    double unit;      /* of rounded numbers; 0: they are exact */
    const char *name; /* of the unit */
    int decimals;
};

struct ti_text_table {
    struct ti_table_column column[COLUMNS_MOST];
    int n;
    int next; /* column of the next cell */
    char *texts;
    size_t bytes, texts_room;
    struct cell *cell;
    size_t ncells, cells_room;
    struct row *row;
    size_t nrows, rows_room;
    double longest; /* time */
    double *part;   /* of bars, `parts` of each */
    size_t nparts, parts_room;
    int parts;
    ti_bar_put *put_bar; /* NULL: there are no bars */
    const void *put_arg;
    struct layout layout[COLUMNS_MOST];
};

/* ---- filling ---- */

struct ti_text_table *ti_table_new(const struct ti_table_column *columns, int n)
{
    size_t none = 0;
    struct ti_text_table *t = ti_grow(NULL, &none, 1, sizeof *t);

    if (n > COLUMNS_MOST)
        TI_BUG("a table with too many columns");
    memcpy(t->column, columns, (size_t)n * sizeof *columns);
    t->n = n;
    return t;
}

static size_t keep_text(struct ti_text_table *t, const char *fmt, va_list ap)
{
    size_t at = t->bytes;
    char *text = NULL;
    int n = vasprintf(&text, fmt, ap);

    if (n < 0)
        TI_BUG("no memory for a text");
    ti_strip_controls(text);
    for (char *p = text; (p = strpbrk(p, "\n\t"));)
        *p = '?';
    t->texts = ti_grow(t->texts, &t->texts_room, at + (size_t)n + 1, 1);
    memcpy(t->texts + at, text, (size_t)n + 1);
    t->bytes += (size_t)n + 1;
    free(text);
    return at;
}

static void add_row(struct ti_text_table *t, int kind, size_t at)
{
    t->row = ti_grow(t->row, &t->rows_room, t->nrows + 1, sizeof *t->row);
    t->row[t->nrows].kind = kind;
    t->row[t->nrows++].at = at;
}

static struct cell *next_cell(struct ti_text_table *t)
{
    struct cell *c;

    t->cell = ti_grow(t->cell, &t->cells_room, t->ncells + 1, sizeof *t->cell);
    if (!t->next)
        add_row(t, ROW_CELLS, t->ncells);
    t->next = (t->next + 1) % t->n;
    c = &t->cell[t->ncells++];
    c->given = true;
    return c;
}

void ti_table_text(struct ti_text_table *t, const char *fmt, ...)
{
    struct cell *c = next_cell(t);
    va_list ap;

    va_start(ap, fmt);
    c->text = keep_text(t, fmt, ap);
    va_end(ap);
}

void ti_table_count(struct ti_text_table *t, uint64_t n)
{
    next_cell(t)->count = n;
}

void ti_table_value(struct ti_text_table *t, double v)
{
    if (t->column[t->next].cells == TI_CELLS_SECONDS && v > t->longest)
        t->longest = v;
    next_cell(t)->value = v;
}

void ti_table_bar(struct ti_text_table *t, int n, const double *part)
{
    t->part = ti_grow(t->part, &t->parts_room, t->nparts + (size_t)n, sizeof *part);
    memcpy(t->part + t->nparts, part, (size_t)n * sizeof *part);
    next_cell(t)->text = t->nparts;
    t->nparts += (size_t)n;
    t->parts = n;
}

void ti_table_bars(struct ti_text_table *t, ti_bar_put *put, const void *arg)
{
    t->put_bar = put;
    t->put_arg = arg;
}

void ti_table_skip(struct ti_text_table *t)
{
    next_cell(t)->given = false;
}

void ti_table_titles(struct ti_text_table *t)
{
    add_row(t, ROW_TITLES, 0);
}

void ti_table_line(struct ti_text_table *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_row(t, ROW_LINE, keep_text(t, fmt, ap));
    va_end(ap);
}

void ti_table_title(struct ti_text_table *t, int column, const char *title)
{
    t->column[column].title = title;
}

/* ---- texts ---- */

/* Characters of a text in UTF-8. */
static int characters(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

/* The text after its first `n` characters. */
static const char *skip(const char *text, int n)
{
    while (*text && (n > 0 || (*text & 0xc0) == 0x80))
        n -= (*text++ & 0xc0) != 0x80;
    return text;
}

/* Print a text in `width` characters.  What stands in the middle of a longer one is left out; more
 * is kept of its end, where source lines are. */
static void put_text(const char *text, int width, FILE *out)
{
    int n = characters(text), blanks = (int)strspn(text, " "), head, left = width - 3;

    if (n <= width) {
        fputs(text, out);
        return;
    }
    if (left < 1) {
        fwrite(text, 1, (size_t)(skip(text, width) - text), out);
        return;
    }
    blanks = blanks < left / 2 ? blanks : left / 2;
    head = blanks + (left - blanks) * 2 / 5;
    fwrite(text, 1, (size_t)(skip(text, head) - text), out);
    fputs("...", out);
    fputs(skip(text, n - (left - head)), out);
}

/* Print a text and a line feed, broken at blanks. */
static void put_broken(const char *text, int width, FILE *out)
{
    while (width > 0 && characters(text) > width) {
        const char *end = skip(text, width), *blank = end;

        while (blank > text && *blank != ' ')
            blank--;
        if (blank == text && !(blank = strchr(end, ' ')))
            break;
        fwrite(text, 1, (size_t)(blank - text), out);
        putc('\n', out);
        text = blank + 1;
    }
    fputs(text, out);
    putc('\n', out);
}

void ti_print_wide(FILE *out, int width, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        TI_BUG("no memory for a text");
    va_end(ap);
    ti_strip_controls(text);
    put_broken(text, width, out);
    free(text);
}

void ti_print_labelled(FILE *out, int width, int indent, const char *text)
{
    char *clean = strdup(text), *at = clean;

    if (!clean)
        TI_BUG("no memory for a line");
    ti_strip_controls(clean);
    for (int begin = 0; width > indent && begin + characters(at) > width; begin = indent) {
        char *end = (char *)skip(at, width - begin), *blank = end;

        while (blank > at && (*blank != ' ' || (!begin && blank - at < indent)))
            blank--;
        if (blank == at && !(blank = strchr(end, ' ')))
            break;
        *blank = '\0';
        fprintf(out, "%*s", begin, "");
        put_text(at, width - begin, out);
        putc('\n', out);
        at = blank + 1;
    }
    fprintf(out, "%*s", at > clean ? indent : 0, "");
    put_text(at, width > indent ? width - (at > clean ? indent : 0) : characters(at), out);
    putc('\n', out);
    free(clean);
}

void ti_print_short(FILE *out, int width, const char *text)
{
    char *clean = strdup(text);

    if (!clean)
        TI_BUG("no memory for a line");
    ti_strip_controls(clean);
    put_text(clean, width > 0 ? width : characters(clean), out);
    putc('\n', out);
    free(clean);
}

/* ---- numbers ---- */

static double time_unit(double longest, const char **name)
{
    *name = longest >= 1 ? "s" : longest >= 1e-3 ? "ms" : "us";
    return longest >= 1 ? 1 : longest >= 1e-3 ? 1e-3 : 1e-6;
}

const char *ti_table_time_unit(const struct ti_text_table *t)
{
    const char *name;

    time_unit(t->longest, &name);
    return name;
}

/* Decimals with which a number has so many digits. */
static int decimals_of(double most, int digits)
{
    int before = most >= 1 ? (int)floor(log10(most)) + 1 : 1;

    return before < digits ? digits - before : 0;
}

/* Choose the unit of a column by its largest number. */
static void choose_unit(struct layout *l, double most)
{
    static const char *const names[] = {"", "k", "M", "G", "T", "P", "E"};
    int u = 0;

    for (l->unit = 1; u < 6 && most >= 1000 * l->unit; u++)
        l->unit *= 1000;
    l->name = names[u];
    l->decimals = u ? decimals_of(most / l->unit, ROUNDED) : 0;
}

/* The text of a cell; of numbers in `buf`. */
static const char *text_of(const struct ti_text_table *t, const struct cell *c, int column,
                           char buf[CELL_BYTES])
{
    const struct layout *l = &t->layout[column];
    enum ti_cells kind = t->column[column].cells;
    double v = kind == TI_CELLS_COUNTS ? (double)c->count : c->value;

    if (!c->given)
        return "";
    switch (kind) {
    case TI_CELLS_BARS:
        return "";
    case TI_CELLS_TEXT:
    case TI_CELLS_WORDS:
        return t->texts + c->text;
    case TI_CELLS_RANKS:
        snprintf(buf, CELL_BYTES, "%llu", (unsigned long long)c->count);
        return buf;
    case TI_CELLS_COUNTS:
        if (!(l->unit > 0))
            return ti_format_count(c->count, buf, CELL_BYTES);
        break;
    case TI_CELLS_MEANS:
        if (!(l->unit > 0)) {
            snprintf(buf, CELL_BYTES, "%.1f", v);
            return buf;
        }
        break;
    case TI_CELLS_SECONDS:
        break;
    }
    if (kind != TI_CELLS_SECONDS && !(v > 0))
        return "0";
    snprintf(buf, CELL_BYTES, "%.*f%s", l->decimals, v / l->unit,
             kind == TI_CELLS_SECONDS ? "" : l->name);
    return buf;
}

/* ---- layout ---- */

static bool is_text(const struct ti_text_table *t, int column)
{
    return t->column[column].cells == TI_CELLS_TEXT;
}

static bool is_bar(const struct ti_text_table *t, int column)
{
    return t->column[column].cells == TI_CELLS_BARS;
}

static double length_of(const struct ti_text_table *t, const struct cell *bar)
{
    double sum = 0;

    for (int i = 0; bar->given && i < t->parts; i++)
        sum += t->part[bar->text + (size_t)i];
    return sum;
}

/* Choose the least width of a column of bars, and the number that fills it. */
static void measure_bars(struct ti_text_table *t, int column)
{
    struct layout *l = &t->layout[column];

    l->width = l->natural = t->column[column].least;
    l->unit = 0;
    for (size_t i = (size_t)column; i < t->ncells; i += (size_t)t->n)
        l->unit = fmax(l->unit, length_of(t, &t->cell[i]));
}

static void measure(struct ti_text_table *t, int column)
{
    struct layout *l = &t->layout[column];
    char buf[CELL_BYTES];

    if (is_bar(t, column)) {
        measure_bars(t, column);
        return;
    }
    l->width = characters(t->column[column].title);
    for (size_t i = (size_t)column; i < t->ncells; i += (size_t)t->n) {
        int width = characters(text_of(t, &t->cell[i], column, buf));

        l->width = width > l->width ? width : l->width;
    }
    l->natural = l->width;
}

/* A column without bars is not there, nor the blanks before it. */
static bool is_there(const struct ti_text_table *t, int column)
{
    return !is_bar(t, column) || t->put_bar;
}

static int total(const struct ti_text_table *t, int gap)
{
    int sum = -gap;

    for (int i = 0; i < t->n; i++)
        sum += is_there(t, i) ? gap + t->layout[i].width : 0;
    return sum;
}

/* Share `room` characters among the bars. */
static void widen_bars(struct ti_text_table *t, int room)
{
    for (int i = 0, full = 0; room > 0 && full < t->n; i = (i + 1) % t->n, full++)
        if (is_bar(t, i) && is_there(t, i) && t->layout[i].width < BAR_MOST) {
            t->layout[i].width++;
            room--;
            full = -1;
        }
}

/* The width to keep of a text while numbers can be rounded.  The last one makes room for bars. */
static int least_of(const struct ti_text_table *t, int column)
{
    int least = t->column[column].least, last = t->n - 1;

    while (last > column && !is_text(t, last))
        last--;
    for (int i = 0; last == column && i < t->n; i++)
        least -= is_bar(t, i) && is_there(t, i) ? t->layout[i].width + 1 : 0;
    return least > TEXT_LEAST ? least : TEXT_LEAST;
}

/* Shorten texts by up to `over` characters, but not below `least`. */
static void shorten(struct ti_text_table *t, int over, bool keep)
{
    for (int i = 0; i < t->n && over > 0; i++) {
        struct layout *l = &t->layout[i];
        int least = keep ? least_of(t, i) : TEXT_LEAST;
        int less = l->width - least < over ? l->width - least : over;

        if (is_text(t, i) && less > 0) {
            l->width -= less;
            over -= less;
        }
    }
}

/* The largest number of a column that can be rounded; 0 if it is none, or is rounded. */
static double largest(const struct ti_text_table *t, int column)
{
    enum ti_cells kind = t->column[column].cells;
    double most = 0;

    if ((kind != TI_CELLS_COUNTS && kind != TI_CELLS_MEANS) || t->layout[column].unit > 0)
        return 0;
    for (size_t i = (size_t)column; i < t->ncells; i += (size_t)t->n) {
        const struct cell *c = &t->cell[i];
        double v = kind == TI_CELLS_COUNTS ? (double)c->count : c->value;

        most = c->given && v > most ? v : most;
    }
    return most;
}

/* Round the widest column that gets narrower by it.  False: there is none. */
static bool round_widest(struct ti_text_table *t)
{
    int widest = -1;

    for (int i = 0; i < t->n; i++)
        if (t->layout[i].width > characters(t->column[i].title) &&
            (widest < 0 || t->layout[i].width > t->layout[widest].width) &&
            largest(t, i) >= ROUNDED_FROM)
            widest = i;
    if (widest < 0)
        return false;
    choose_unit(&t->layout[widest], largest(t, widest));
    measure(t, widest);
    return true;
}

/* Give texts back what rounding left over. */
static void lengthen(struct ti_text_table *t, int room)
{
    for (int i = 0; i < t->n && room > 0; i++) {
        struct layout *l = &t->layout[i];
        int more = l->natural - l->width < room ? l->natural - l->width : room;

        l->width += more;
        room -= more;
    }
}

/* Choose the widths of all columns.  Returns the blanks between them. */
static int lay_out(struct ti_text_table *t, int width)
{
    int gap = 2;

    for (int i = 0; i < t->n; i++) {
        struct layout *l = &t->layout[i];

        if (t->column[i].cells == TI_CELLS_SECONDS) {
            l->unit = time_unit(t->longest, &l->name);
            l->decimals = decimals_of(t->longest / l->unit, TIME_DIGITS);
        }
        measure(t, i);
    }
    if (!width || total(t, gap) <= width) {
        widen_bars(t, width ? width - total(t, gap) : t->n * BAR_MOST);
        return gap;
    }
    gap = 1;
    shorten(t, total(t, gap) - width, true);
    while (total(t, gap) > width && round_widest(t))
        ;
    shorten(t, total(t, gap) - width, false);
    if (total(t, gap) > width)
        t->put_bar = NULL;
    lengthen(t, width - total(t, gap));
    return gap;
}

/* ---- printing ---- */

/* Print a bar, after `blanks` blanks.  Returns the blanks up to the end of its column. */
static int put_bar(const struct ti_text_table *t, const struct cell *c, int column, int blanks,
                   FILE *out)
{
    const struct layout *l = &t->layout[column];

    if (!(length_of(t, c) > 0))
        return blanks + l->width;
    fprintf(out, "%*s", blanks, "");
    return l->width - t->put_bar(out, l->width, l->unit, t->parts, t->part + c->text, t->put_arg);
}

static void put_row(const struct ti_text_table *t, const struct row *row, int gap, FILE *out)
{
    int blanks = 0; /* that are printed before the next text */
    char buf[CELL_BYTES];

    for (int i = 0; i < t->n; i++) {
        const char *text = row->kind == ROW_TITLES
                               ? t->column[i].title
                               : text_of(t, &t->cell[row->at + (size_t)i], i, buf);
        int n = characters(text), width = t->layout[i].width;

        if (!is_there(t, i))
            continue;
        if (is_bar(t, i) && row->kind == ROW_CELLS) {
            blanks = gap + put_bar(t, &t->cell[row->at + (size_t)i], i, blanks, out);
            continue;
        }
        n = n < width ? n : width;
        blanks += is_text(t, i) ? 0 : width - n;
        if (n) {
            fprintf(out, "%*s", blanks, "");
            put_text(text, width, out);
            blanks = 0;
        }
        blanks += gap + (is_text(t, i) ? width - n : 0);
    }
    putc('\n', out);
}

void ti_table_print(struct ti_text_table *t, FILE *out, int width)
{
    int gap = lay_out(t, width);

    for (size_t i = 0; i < t->nrows; i++)
        if (t->row[i].kind == ROW_LINE)
            put_broken(t->texts + t->row[i].at, width, out);
        else
            put_row(t, &t->row[i], gap, out);
    free(t->texts);
    free(t->cell);
    free(t->part);
    free(t->row);
    free(t);
}
