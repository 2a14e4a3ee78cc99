#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostlist_internal.h"
#include "common/map.h"

#define BRACKETS_MAX 16 /* in one element */

struct item { /* in a bracket: a word, or numbers from lo to hi */
    const char *text;
    int bytes, width;
    int64_t lo, hi;
    bool range;
};

struct bracket {
    const char *prefix; /* the text before it */
    int prefix_bytes;
    int first, n; /* its items */
};

struct expansion {
    const char *text, *p; /* the list, and the reading position */
    const char *element;  /* the current element */
    struct bracket bracket[BRACKETS_MAX];
    int brackets;
    const char *tail; /* the text after the last bracket */
    int tail_bytes;
    struct item *item;
    int items;
    size_t items_cap;
    char *bytes; /* the expanded names, NUL-terminated */
    size_t used, bytes_cap;
    int *at; /* column of the element, per name */
    int64_t n;
    size_t at_cap;
    char name[TI_HOST_NAME_MAX + 1];
    int *column;
    struct ti_err *err;
};

static ti_status wrong(struct expansion *x, const char *where)
{
    *x->column = (int)(where - x->text) + 1;
    return TI_ERR_INPUT;
}

/* The character at `p`, for a message: a whole UTF-8 character, or something printable. */
static const char *show(const char *p, char buf[8])
{
    unsigned char c = (unsigned char)*p;
    int bytes = c < 0xc2 || c > 0xf4 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    bool whole = bytes > 1 && !(c == 0xc2 && (unsigned char)p[1] < 0xa0);

    for (int i = 1; whole && i < bytes; i++)
        whole = ((unsigned char)p[i] & 0xc0) == 0x80;
    if (whole)
        snprintf(buf, 8, "%.*s", bytes, p);
    else
        snprintf(buf, 8, c < 0x20 || c >= 0x7f ? "\\x%02x" : "%c", c);
    return buf;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._-", c));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct expansion *x)
{
    while (is_blank(*x->p))
        x->p++;
}

static ti_status no_memory(struct expansion *x)
{
    return ti_err_errno(x->err, TI_ERR_IO, "cannot expand a hostlist");
}

static ti_status bad_character(struct expansion *x)
{
    char c[8];

    if (!*x->p)
        ti_err_set(x->err, TI_ERR_INPUT, "a ']' is missing");
    else if (*x->p == '[')
        ti_err_set(x->err, TI_ERR_INPUT, "a '[' inside of brackets");
    else if (strchr("@:", *x->p))
        ti_err_set(x->err, TI_ERR_INPUT,
                   "'%c' in the name of a node: user and port belong into ~/.ssh/config", *x->p);
    else
        ti_err_set(x->err, TI_ERR_INPUT, "'%s' cannot be in the name of a node", show(x->p, c));
    return wrong(x, x->p);
}

static int digits_of(const char *p, const char *end)
{
    int n = 0;

    while (p + n < end && isdigit((unsigned char)p[n]))
        n++;
    return n;
}

/* "17", "001-144" or a word, of `bytes` bytes. */
static ti_status parse_item(struct expansion *x, const char *p, size_t bytes, struct item *it)
{
    const char *end = p + bytes, *dash = memchr(p, '-', bytes);
    int lo = digits_of(p, end), hi;

    *it = (struct item){.text = p, .bytes = (int)bytes};
    if (!bytes) {
        ti_err_set(x->err, TI_ERR_INPUT, "a number or a word is missing in brackets");
        return wrong(x, p);
    }
    if (lo && lo + 2 < end - p && strncmp(p + lo, "..", 2) == 0) {
        ti_err_set(x->err, TI_ERR_INPUT, "a range has a '-', not '..'");
        return wrong(x, p + lo);
    }
    if (!dash)
        return TI_OK;
    hi = digits_of(dash + 1, end);
    if (p + lo != dash || !lo || !hi || dash + 1 + hi != end) {
        ti_err_set(x->err, TI_ERR_INPUT, "a range is of two numbers, not '%.*s'",
                   (int)(end - p) < 64 ? (int)(end - p) : 64, p);
        return wrong(x, p);
    }
    if (lo > DIGITS_MAX || hi > DIGITS_MAX) {
        ti_err_set(x->err, TI_ERR_INPUT, "a number of more than %d digits", DIGITS_MAX);
        return wrong(x, lo > DIGITS_MAX ? p : dash + 1);
    }
    it->range = true;
    it->width = lo;
    it->lo = ti__hostlist_number(p, lo);
    it->hi = ti__hostlist_number(dash + 1, hi);
    if (it->hi < it->lo) {
        ti_err_set(x->err, TI_ERR_INPUT, "a range must ascend, not '%.*s'", (int)(end - p), p);
        return wrong(x, p);
    }
    if (hi < lo || (hi > lo && dash[1] == '0')) {
        ti_err_set(x->err, TI_ERR_INPUT, "'%.*s' has numbers of different widths", (int)(end - p),
                   p);
        return wrong(x, p);
    }
    return TI_OK;
}

static ti_status parse_bracket(struct expansion *x, struct bracket *b)
{
    const char *open = x->p++;

    b->first = x->items;
    b->n = 0;
    for (;;) {
        const char *start;
        ti_status st;

        skip_blanks(x);
        start = x->p;
        while (is_name(*x->p))
            x->p++;
        x->item = ti_grow(x->item, &x->items_cap, (size_t)x->items + 1, sizeof *x->item);
        if (x->p == start && *x->p && !strchr(",]", *x->p))
            return bad_character(x);
        if (x->p == start && !*x->p) {
            ti_err_set(x->err, TI_ERR_INPUT, "a '[' is not closed");
            return wrong(x, open);
        }
        st = parse_item(x, start, (size_t)(x->p - start), &x->item[x->items]);
        if (st != TI_OK)
            return st;
        x->items++;
        b->n++;
        skip_blanks(x);
        if (*x->p == ']')
            break;
        if (!*x->p) {
            ti_err_set(x->err, TI_ERR_INPUT, "a '[' is not closed");
            return wrong(x, open);
        }
        if (*x->p != ',')
            return is_name(*x->p)
                       ? (ti_err_set(x->err, TI_ERR_INPUT, "a comma is missing"), wrong(x, x->p))
                       : bad_character(x);
        x->p++;
    }
    x->p++;
    return TI_OK;
}

/* Read one element, up to a comma or the end. */
static ti_status parse_element(struct expansion *x)
{
    const char *start = x->p;

    x->element = start;
    x->brackets = x->items = 0;
    for (;;) {
        struct bracket *b = &x->bracket[x->brackets];
        ti_status st;

        while (is_name(*x->p))
            x->p++;
        if (*x->p != '[')
            break;
        if (x->brackets == BRACKETS_MAX) {
            ti_err_set(x->err, TI_ERR_INPUT, "more than %d brackets in a name", BRACKETS_MAX);
            return wrong(x, x->p);
        }
        b->prefix = start;
        b->prefix_bytes = (int)(x->p - start);
        st = parse_bracket(x, b);
        if (st != TI_OK)
            return st;
        x->brackets++;
        start = x->p;
    }
    x->tail = start;
    x->tail_bytes = (int)(x->p - start);
    if (x->p == x->element && (!*x->p || *x->p == ',')) {
        ti_err_set(x->err, TI_ERR_INPUT, "a name is missing");
        return wrong(x, x->p);
    }
    skip_blanks(x);
    if (is_name(*x->p) || *x->p == '[') {
        ti_err_set(x->err, TI_ERR_INPUT, "a comma is missing");
        return wrong(x, x->p);
    }
    if (*x->p == ']') {
        ti_err_set(x->err, TI_ERR_INPUT, "a ']' without a '['");
        return wrong(x, x->p);
    }
    return *x->p && *x->p != ',' ? bad_character(x) : TI_OK;
}

/* Number of names that the element expands to; -1 if too many. */
static int64_t count(const struct expansion *x)
{
    int64_t all = 1;

    for (int b = 0; b < x->brackets; b++) {
        int64_t sum = 0;

        for (int i = 0; i < x->bracket[b].n; i++) {
            const struct item *it = &x->item[x->bracket[b].first + i];

            if (it->hi - it->lo >= TI_HOSTLIST_MAX)
                return -1;
            sum += it->hi - it->lo + 1;
            if (sum > TI_HOSTLIST_MAX)
                return -1;
        }
        all *= sum;
        if (all > TI_HOSTLIST_MAX)
            return -1;
    }
    return all;
}

static ti_status emit(struct expansion *x, int used)
{
    if (x->name[0] == '-') {
        ti_err_set(x->err, TI_ERR_INPUT, "the name of a node cannot begin with '-'");
        return wrong(x, x->element);
    }
    if (x->name[0] == '.' || memmem(x->name, (size_t)used, "..", 2)) {
        ti_err_set(x->err, TI_ERR_INPUT, "a name has nothing in front of a '.'");
        return wrong(x, x->element);
    }
    x->at = ti_grow(x->at, &x->at_cap, (size_t)x->n + 1, sizeof *x->at);
    x->bytes = ti_grow(x->bytes, &x->bytes_cap, x->used + (size_t)used + 1, 1);
    memcpy(x->bytes + x->used, x->name, (size_t)used);
    x->bytes[x->used + (size_t)used] = '\0';
    x->used += (size_t)used + 1;
    x->at[x->n++] = (int)(x->element - x->text) + 1;
    return TI_OK;
}

static ti_status append(struct expansion *x, int *used, const char *text, int bytes)
{
    if (bytes > TI_HOST_NAME_MAX - *used) {
        ti_err_set(x->err, TI_ERR_INPUT, "a name of more than %d bytes", TI_HOST_NAME_MAX);
        return wrong(x, x->element);
    }
    memcpy(x->name + *used, text, (size_t)bytes);
    *used += bytes;
    return TI_OK;
}

/* Add all names whose first `used` bytes are written, by expanding bracket `b` and those after it.
 */
static ti_status multiply(struct expansion *x, int b, int used)
{
    const struct bracket *br = &x->bracket[b];
    ti_status st;

    if (b == x->brackets) {
        st = append(x, &used, x->tail, x->tail_bytes);
        return st == TI_OK ? emit(x, used) : st;
    }
    st = append(x, &used, br->prefix, br->prefix_bytes);
    for (int i = 0; i < br->n && st == TI_OK; i++) {
        const struct item it = x->item[br->first + i];

        for (int64_t v = it.lo; v <= it.hi && st == TI_OK; v++) {
            char digits[32];
            int now = used;

            if (it.range)
                st = append(x, &now, digits,
                            snprintf(digits, sizeof digits, "%0*" PRId64, it.width, v));
            else
                st = append(x, &now, it.text, it.bytes);
            if (st == TI_OK)
                st = multiply(x, b + 1, now);
        }
    }
    return st;
}

static ti_status expand_all(struct expansion *x)
{
    skip_blanks(x);
    if (!*x->p) {
        ti_err_set(x->err, TI_ERR_INPUT, "there is no name in it");
        return wrong(x, x->p);
    }
    for (;;) {
        ti_status st = parse_element(x);
        int64_t more;

        if (st != TI_OK)
            return st;
        more = count(x);
        if (more < 0 || x->n + more > TI_HOSTLIST_MAX) {
            ti_err_set(x->err, TI_ERR_INPUT, "more than %d names", TI_HOSTLIST_MAX);
            return wrong(x, x->element);
        }
        st = multiply(x, 0, 0);
        if (st != TI_OK || !*x->p)
            return st;
        x->p++;
        skip_blanks(x);
    }
}

/* Copy pointers and strings into one block. */
static char **pack(const struct expansion *x)
{
    size_t table = (size_t)x->n * sizeof(char *);
    char **names = malloc(table + x->used), *p = (char *)names + table;

    if (!names)
        return NULL;
    memcpy(p, x->bytes, x->used);
    for (int64_t i = 0; i < x->n; i++) {
        names[i] = p;
        p += strlen(p) + 1;
    }
    return names;
}

ti_status ti__hostlist_expand(const char *text, char ***names, int **at, int64_t *n, int *column,
                              struct ti_err *err)
{
    int unused;
    struct expansion x = {.text = text, .p = text, .column = column ? column : &unused, .err = err};
    ti_status st;

    *x.column = 1;
    st = expand_all(&x);
    if (st == TI_OK) {
        char **packed = pack(&x);

        if (packed) {
            *names = packed;
            *n = x.n;
        } else {
            st = no_memory(&x);
        }
    }
    if (st == TI_OK && at)
        *at = x.at;
    else
        free(x.at);
    free(x.bytes);
    free(x.item);
    return st;
}

ti_status ti_hostlist_expand(const char *text, char ***names, int64_t *n, int *column,
                             struct ti_err *err)
{
    int where = 1;
    ti_status st = ti__hostlist_expand(text, names, NULL, n, &where, err);

    if (st == TI_ERR_INPUT)
        ti_err_prefix(err, st, "column %d", where);
    if (column)
        *column = where;
    return st;
}
