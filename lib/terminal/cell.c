#include "terminal/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- ink ---- */

/* Whether the character set of the environment is UTF-8.  The name is read, not the locale, which
 * need not be installed on the machine that one is logged in to. */
static bool is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL, *set;

    for (int i = 0; i < 3 && !(value && *value); i++)
        value = getenv(names[i]);
    set = value ? strchr(value, '.') : NULL;
    return set && (!strncasecmp(set, ".utf-8", 6) || !strncasecmp(set, ".utf8", 5));
}

enum ti_ink ti_ink_of(FILE *out)
{
    const char *term = getenv("TERM"), *more = getenv("COLORTERM"), *none = getenv("NO_COLOR");

    if (!isatty(fileno(out)) || !term || !*term || !strcmp(term, "dumb") || !is_utf8())
        return TI_INK_NONE;
    if (none && *none)
        return TI_INK_BLOCKS;
    return strstr(term, "256color") || (more && *more) ? TI_INK_PALETTE : TI_INK_COLOURS;
}

/* ---- colours ---- */

struct ti__pen ti__pen(FILE *out, enum ti_ink ink)
{
    return (struct ti__pen){out, ink, -1, -1};
}

static void set_colour(const struct ti__pen *pen, int from, int colour)
{
    if (colour < 0)
        fprintf(pen->out, "\033[%dm", from + 9);
    else if (pen->ink == TI_INK_PALETTE)
        fprintf(pen->out, "\033[%d;5;%dm", from + 8, colour);
    else
        fprintf(pen->out, "\033[%dm", from + colour);
}

void ti__pen_set(struct ti__pen *pen, int front, int back)
{
    if (pen->ink < TI_INK_COLOURS)
        return;
    if (front != pen->front)
        set_colour(pen, 30, front);
    if (back != pen->back)
        set_colour(pen, 40, back);
    pen->front = front;
    pen->back = back;
}

int ti__colour(enum ti_ink ink, enum ti_kind kind)
{
    static const int few[TI_KINDS] = {4, 2, 5, 3}, many[TI_KINDS] = {74, 79, 140, 215};

    return ink == TI_INK_PALETTE ? many[kind] : few[kind];
}

/* ---- blocks ---- */

const char *ti__block(enum ti_kind kind)
{
    static const char *const blocks[TI_KINDS] = {"█", "▄", "▒", "·"};

    return blocks[kind];
}

void ti__put_left(FILE *out, int eighths)
{
    static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

    fputs(blocks[eighths], out);
}

void ti__put_bottom(FILE *out, int eighths)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

    fputs(blocks[eighths], out);
}

/* The largest of some parts, but `except`; the last of them, TI_KINDS, is what is empty. */
static int largest(const double *part, int except)
{
    int most = -1;

    for (int i = 0; i <= TI_KINDS; i++)
        if (i != except && part[i] > 0 && (most < 0 || part[i] > part[most]))
            most = i;
    return most;
}

void ti__put_cell(struct ti__pen *pen, const double part[TI_KINDS], double empty)
{
    double all[TI_KINDS + 1];
    int first, second, low, high, eighths = 8;

    memcpy(all, part, TI_KINDS * sizeof *all);
    all[TI_KINDS] = empty;
    first = largest(all, -1);
    if (first < 0 || (first == TI_KINDS && pen->ink < TI_INK_COLOURS)) {
        ti__pen_set(pen, -1, -1);
        fputc(' ', pen->out);
        return;
    }
    if (pen->ink < TI_INK_COLOURS) {
        fputs(ti__block((enum ti_kind)first), pen->out);
        return;
    }
    second = largest(all, first);
    low = second >= 0 && second < first ? second : first;
    high = low == first ? second : first;
    if (high >= 0)
        eighths = (int)(8 * all[low] / (all[low] + all[high]) + 0.5);
    ti__pen_set(
        pen, low < TI_KINDS && eighths ? ti__colour(pen->ink, (enum ti_kind)low) : pen->front,
        high >= 0 && high < TI_KINDS && eighths < 8 ? ti__colour(pen->ink, (enum ti_kind)high)
                                                    : -1);
    ti__put_bottom(pen->out, low < TI_KINDS ? eighths : 0);
}

void ti__put_kinds(FILE *out, enum ti_ink ink, int indent, unsigned kinds,
                   const char *const names[TI_KINDS])
{
    struct ti__pen pen = ti__pen(out, ink);

    fprintf(out, "%*s", indent, "");
    for (int k = 0; k < TI_KINDS; k++) {
        if (!(kinds & 1u << k))
            continue;
        fputs("  ", out);
        ti__pen_set(&pen, ti__colour(ink, (enum ti_kind)k), -1);
        fputs(ink < TI_INK_COLOURS ? ti__block((enum ti_kind)k) : "█", out);
        ti__pen_set(&pen, -1, -1);
        fprintf(out, " %s", names[k]);
    }
    fputc('\n', out);
}

/* ---- bars ---- */

/* The part that is at eighth `at` of a bar; -1: none. */
static int part_at(const int *end, int n, int at)
{
    for (int i = 0; i < n; i++)
        if (at < end[i])
            return i;
    return -1;
}

/* Print a bar with a block or colour for each kind.  Returns its characters. */
static int put_kinds(FILE *out, int width, double whole, const double *part, enum ti_ink ink)
{
    struct ti__pen pen = ti__pen(out, ink);
    int end[TI_KINDS], chars;
    double sum = 0;

    for (int k = 0; k < TI_KINDS; k++) {
        sum += part[k];
        end[k] = (int)(8 * width * sum / whole + 0.5);
    }
    chars = (end[TI_KINDS - 1] + (ink < TI_INK_COLOURS ? 3 : 7)) / 8;
    for (int c = 0; c < chars; c++) {
        int left = part_at(end, TI_KINDS, 8 * c), right = part_at(end, TI_KINDS, 8 * c + 7);
        int middle = part_at(end, TI_KINDS, 8 * c + 4);

        if (ink < TI_INK_COLOURS) {
            fputs(ti__block((enum ti_kind)middle), out);
            continue;
        }
        ti__pen_set(&pen, ti__colour(ink, (enum ti_kind)left),
                    right < 0 || right == left ? -1 : ti__colour(ink, (enum ti_kind)right));
        ti__put_left(out, end[left] - 8 * c < 8 ? end[left] - 8 * c : 8);
    }
    ti__pen_set(&pen, -1, -1);
    return chars;
}

/* The same of a bar of one kind. */
static int put_one(FILE *out, int width, enum ti_ink ink, enum ti_kind kind, double share)
{
    struct ti__pen pen = ti__pen(out, ink);
    int eighths = (int)(8 * width * share + 0.5), chars = 0;

    eighths = eighths < 1 && share > 0 ? 1 : eighths > 8 * width ? 8 * width : eighths;
    ti__pen_set(&pen, ti__colour(ink, kind), -1);
    for (; eighths > 0; eighths -= 8, chars++)
        ti__put_left(out, eighths < 8 ? eighths : 8);
    ti__pen_set(&pen, -1, -1);
    return chars;
}

static int put_bar(FILE *out, int width, double whole, int n, const double *part, const void *arg)
{
    enum ti_ink ink = *(const enum ti_ink *)arg;

    return n == TI_KINDS ? put_kinds(out, width, whole, part, ink)
                         : put_one(out, width, ink, TI_KIND_COMPUTING, part[0] / whole);
}

void ti_paint_table(struct ti_text_table *t, FILE *out, int width, enum ti_ink ink)
{
    if (ink != TI_INK_NONE)
        ti_table_bars(t, put_bar, &ink);
    ti_table_print(t, out, width);
}

void ti_paint_bar(FILE *out, int width, enum ti_ink ink, enum ti_kind kind, double share)
{
    fprintf(out, "%*s", width - put_one(out, width, ink, kind, share), "");
}

/* ---- ranks ---- */

int64_t ti__group(int64_t np, int64_t room)
{
    int64_t least = room > 1 ? (np + room - 1) / room : np, group = 1;

    while (group < least)
        group *= 2;
    return group >= 4 && group / 4 * 3 >= least ? group / 4 * 3 : group;
}

int ti__label(int64_t np)
{
    int digits = snprintf(NULL, 0, "%lld", (long long)np - 1);

    return digits > 4 ? digits : 4;
}

void ti__put_ranks(FILE *out, int indent, int64_t np, int64_t group, int each)
{
    int64_t columns = (np + group - 1) / group, every = 1;
    int at = 0, room = ti__label(np) + 1;

    while (every * each < room || (every * each < 2 * room && columns > 8))
        every *= 2;
    fprintf(out, "%*s", indent, "");
    for (int64_t c = 0; c < columns; c += every) {
        fprintf(out, "%*s", (int)(c * each) - at, "");
        at = (int)(c * each) + fprintf(out, "%lld", (long long)(c * group));
    }
    fputc('\n', out);
}

void ti__put_title(FILE *out, int width, const char *what, int64_t group, const char *unit)
{
    char ranks[96] = "";

    if (group > 1)
        snprintf(ranks, sizeof ranks, ", %lld ranks a %s", (long long)group, unit);
    fputc('\n', out);
    ti_print_wide(out, width, "%s%s", what, ranks);
}
