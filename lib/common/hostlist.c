#include "common/hostlist.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRACKETS_MAX 16 /* in one element */
#define DIGITS_MAX   18 /* of a number */

/* ---------------------------------------------------------------- expand -- */

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
    int items, item_room;
    char *bytes; /* the expanded names, NUL-terminated */
    size_t used, room;
    int *at; /* column of the element, per name */
    int64_t n, at_room;
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

/* Double the room of `array` if it is full. */
static bool grow(void *array, size_t each, int64_t n, int64_t *room)
{
    int64_t more = *room ? 2 * *room : 64;
    void *p;

    if (n < *room)
        return true;
    p = realloc(*(void **)array, (size_t)more * each);
    if (!p)
        return false;
    *(void **)array = p;
    *room = more;
    return true;
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

static int64_t number(const char *p, int digits)
{
    int64_t v = 0;

    while (digits--)
        v = 10 * v + (*p++ - '0');
    return v;
}

/* "17", "001-144" or a word, of `bytes` bytes. */
static ti_status take_item(struct expansion *x, const char *p, size_t bytes, struct item *it)
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
    it->lo = number(p, lo);
    it->hi = number(dash + 1, hi);
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

static ti_status take_bracket(struct expansion *x, struct bracket *b)
{
    const char *open = x->p++;

    b->first = x->items;
    b->n = 0;
    for (;;) {
        int64_t room = x->item_room;
        const char *start;
        ti_status st;

        skip_blanks(x);
        start = x->p;
        while (is_name(*x->p))
            x->p++;
        if (!grow(&x->item, sizeof *x->item, x->items, &room))
            return no_memory(x);
        x->item_room = (int)room;
        if (x->p == start && *x->p && !strchr(",]", *x->p))
            return bad_character(x);
        if (x->p == start && !*x->p) {
            ti_err_set(x->err, TI_ERR_INPUT, "a '[' is not closed");
            return wrong(x, open);
        }
        st = take_item(x, start, (size_t)(x->p - start), &x->item[x->items]);
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
static ti_status take_element(struct expansion *x)
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
        st = take_bracket(x, b);
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
    if (!grow(&x->at, sizeof *x->at, x->n, &x->at_room))
        return no_memory(x);
    while (x->used + (size_t)used + 1 > x->room) {
        size_t more = x->room ? 2 * x->room : 1024;
        char *p = realloc(x->bytes, more);

        if (!p)
            return no_memory(x);
        x->bytes = p;
        x->room = more;
    }
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
        ti_status st = take_element(x);
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

/* ------------------------------------------------------------------ fold -- */

/*
 * Adjacent names that differ in one number become one name with brackets.  This is repeated on the
 * result as long as it changes.  New brackets are made only to the left of existing ones, since the
 * last bracket varies fastest.
 */

/* Whether `a` and `b` differ in exactly one number.  It begins at *from in both, and ends before
 * *a_end and *b_end. */
static bool one_number(const char *a, const char *b, size_t *from, size_t *a_end, size_t *b_end)
{
    size_t i = 0, bracket = strcspn(a, "[");

    while (a[i] && a[i] == b[i])
        i++;
    while (i > 0 && isdigit((unsigned char)a[i - 1]))
        i--;
    *from = *a_end = *b_end = i;
    while (isdigit((unsigned char)a[*a_end]))
        ++*a_end;
    while (isdigit((unsigned char)b[*b_end]))
        ++*b_end;
    return *a_end > i && *b_end > i && *a_end <= bracket && *a_end - i <= DIGITS_MAX &&
           *b_end - i <= DIGITS_MAX && strcmp(a + *a_end, b + *b_end) == 0;
}

struct folding {
    char *text; /* the output */
    size_t used, room;
    bool failed;
};

static void put(struct folding *f, const char *text, size_t bytes)
{
    if (f->failed)
        return;
    while (f->used + bytes + 1 > f->room) {
        size_t more = f->room ? 2 * f->room : 256;
        char *p = realloc(f->text, more);

        if (!p) {
            f->failed = true;
            return;
        }
        f->text = p;
        f->room = more;
    }
    memcpy(f->text + f->used, text, bytes);
    f->used += bytes;
    f->text[f->used] = '\0';
}

/* Whether the number at `b` is `value`, written as in a range whose first number has `width`
 * digits. */
static bool follows(int64_t value, size_t width, const char *b, size_t digits)
{
    char text[32];
    int bytes = snprintf(text, sizeof text, "%0*" PRId64, (int)width, value);

    return (size_t)bytes == digits && memcmp(text, b, digits) == 0;
}

/* Write the numbers that the names have at `from`, as ranges. */
static void put_numbers(struct folding *f, char *const *name, int64_t n, size_t from)
{
    int64_t i = 0;

    put(f, "[", 1);
    while (i < n) {
        const char *lo = name[i] + from, *hi = lo;
        size_t lo_digits = strspn(lo, "0123456789"), hi_digits = lo_digits;
        int64_t value = number(lo, (int)lo_digits), last = i;

        while (last + 1 < n) {
            const char *next = name[last + 1] + from;
            size_t digits = strspn(next, "0123456789");

            if (!follows(value + 1, lo_digits, next, digits) || digits > DIGITS_MAX)
                break;
            value++;
            hi = next;
            hi_digits = digits;
            last++;
        }
        if (i)
            put(f, ",", 1);
        put(f, lo, lo_digits);
        if (last > i) {
            put(f, "-", 1);
            put(f, hi, hi_digits);
        }
        i = last + 1;
    }
    put(f, "]", 1);
}

/* Length of the run of names, from the first on, that differ in the same one number. */
static int64_t group(char *const *name, int64_t n, size_t *from)
{
    size_t a_end, b_end, f, e;
    int64_t m;

    if (n < 2 || !one_number(name[0], name[1], from, &a_end, &b_end))
        return 1;
    for (m = 2; m < n; m++)
        if (!one_number(name[0], name[m], &f, &e, &b_end) || f != *from || e != a_end)
            break;
    return m;
}

/* One pass over the names, in place.  *changed: names were merged. */
static bool fold_once(char **name, int64_t *n, bool *changed)
{
    int64_t out = 0;

    *changed = false;
    for (int64_t i = 0; i < *n;) {
        struct folding f = {0};
        size_t from = 0;
        int64_t m = group(name + i, *n - i, &from);

        if (m == 1) {
            name[out++] = name[i++];
            continue;
        }
        put(&f, name[i], from);
        put_numbers(&f, name + i, m, from);
        put(&f, name[i] + from + strspn(name[i] + from, "0123456789"),
            strlen(name[i] + from + strspn(name[i] + from, "0123456789")));
        for (int64_t k = i; k < i + m; k++) {
            free(name[k]);
            name[k] = NULL;
        }
        *changed = true;
        name[out++] = f.text;
        if (f.failed)
            return false;
        i += m;
    }
    for (int64_t i = out; i < *n; i++)
        name[i] = NULL;
    *n = out;
    return true;
}

char *ti_hostlist_fold(const char *const *names, int64_t n)
{
    char **name = calloc((size_t)(n > 0 ? n : 1), sizeof *name);
    struct folding all = {0};
    int64_t left = n, count_of_all = n;
    bool changed = n > 0, ok = name != NULL;

    for (int64_t i = 0; ok && i < n; i++)
        ok = (name[i] = strdup(names[i])) != NULL;
    while (ok && changed)
        ok = fold_once(name, &left, &changed);
    put(&all, "", 0);
    for (int64_t i = 0; ok && i < left; i++) {
        if (i)
            put(&all, ",", 1);
        put(&all, name[i], strlen(name[i]));
    }
    for (int64_t i = 0; name && i < count_of_all; i++)
        free(name[i]);
    free(name);
    if (!ok || all.failed) {
        free(all.text);
        return NULL;
    }
    return all.text;
}
