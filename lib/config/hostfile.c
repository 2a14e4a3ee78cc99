#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/hostlist.h"
#include "common/map.h"
#include "common/order.h"
#include "config/sites.h"

#define SLOTS_MOST (INT64_C(1) << 24)

/* One line of the file. */
struct entry {
    char *name;
    int64_t slots; /* -1: not given */
    int64_t order;
};

struct reading {
    const char *path;
    int line;
    const char *text; /* the current line */
    struct entry *entry;
    int64_t n;
    size_t cap;
    struct ti_err *err;
};

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static ti_status wrong(const struct reading *r, const char *at, const char *what)
{
    return ti_err_set(r->err, TI_ERR_INPUT, "%s:%d:%d: %s", r->path, r->line,
                      (int)(at - r->text) + 1, what);
}

/* Length of the word at *p, up to a blank, '=' or a comment; advances *p. */
static size_t word(const char **p)
{
    const char *from;

    while (blank(**p))
        ++*p;
    from = *p;
    while (**p && !blank(**p) && **p != '=' && **p != '#')
        ++*p;
    return (size_t)(*p - from);
}

static bool is(const char *text, size_t bytes, const char *word_meant)
{
    return strlen(word_meant) == bytes && strncmp(text, word_meant, bytes) == 0;
}

static ti_status check_name(const struct reading *r, const char *name, size_t bytes)
{
    if (memchr(name, '@', bytes))
        return wrong(r, name, "a user in front of '@' belongs into ~/.ssh/config");
    if (bytes > TI_HOST_NAME_MAX)
        return wrong(r, name, "a name is too long");
    for (size_t i = 0; i < bytes; i++)
        if (!isalnum((unsigned char)name[i]) && (!strchr("._-", name[i]) || name[0] == '-'))
            return wrong(r, name + i,
                         strchr("+^", name[0]) ? "relative and excluded nodes are not known here"
                                               : "this cannot be in the name of a node");
    return TI_OK;
}

/* Read "KEY=VALUE ..." after the name. */
static ti_status parse_settings(const struct reading *r, const char *p, struct entry *e)
{
    int64_t most = -1;

    for (;;) {
        size_t bytes = word(&p), digits;
        const char *key = p - bytes, *value;
        bool slots = is(key, bytes, "slots") || is(key, bytes, "count") || is(key, bytes, "cpu");
        bool max = is(key, bytes, "max_slots") || is(key, bytes, "max-slots");
        char number[32];
        int64_t v;

        if (!bytes && (!*p || *p == '#'))
            break;
        if (!slots && !max)
            return wrong(r, key, "what may follow the name is slots=N and max_slots=N");
        while (blank(*p))
            p++;
        if (*p++ != '=')
            return wrong(r, key, "a '=' is missing behind this");
        digits = word(&p);
        value = p - digits;
        snprintf(number, sizeof number, "%.*s", (int)digits, value);
        if (digits >= sizeof number || !isdigit((unsigned char)number[0]) ||
            ti_parse_int(number, "slots", 1, SLOTS_MOST, &v, NULL) != TI_OK)
            return wrong(r, value, "slots are a whole number of 1 or more");
        *(slots ? &e->slots : &most) = v;
    }
    if (most >= 0 && e->slots > most)
        return wrong(r, r->text, "more slots than max_slots");
    return TI_OK;
}

static ti_status parse_line(struct reading *r)
{
    const char *p = r->text;
    size_t bytes = word(&p);
    const char *name = p - bytes;
    struct entry *e;
    ti_status st;

    if (!bytes)
        return *p == '=' ? wrong(r, p, "a name is missing") : TI_OK;
    st = check_name(r, name, bytes);
    if (st != TI_OK)
        return st;
    if (r->n == TI_HOSTLIST_MAX)
        return wrong(r, name, "too many lines");
    r->entry = ti_grow(r->entry, &r->cap, (size_t)r->n + 1, sizeof *e);
    e = &r->entry[r->n];
    *e = (struct entry){.name = strndup(name, bytes), .slots = -1, .order = r->n};
    if (!e->name)
        return ti_err_errno(r->err, TI_ERR_IO, "cannot read '%s'", r->path);
    r->n++;
    return parse_settings(r, p, e);
}

static ti_status parse_file(struct reading *r, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    ti_status st = TI_OK;
    ssize_t n;

    errno = 0;
    while (st == TI_OK && (n = getline(&line, &room, f)) >= 0) {
        r->line++;
        r->text = line;
        if (r->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
            r->text += 3;
        st = (ssize_t)strlen(line) < n ? wrong(r, line + strlen(line), "a byte 0: this is no text")
                                       : parse_line(r);
    }
    if (st == TI_OK && ferror(f))
        st = ti_err_errno(r->err, TI_ERR_IO, "cannot read '%s'", r->path);
    free(line);
    return st;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    return c ? c : (x->order > y->order) - (x->order < y->order);
}

TI_ORDER_BY(by_order, struct entry, order)

/* Merge the lines of each name into its first line, and add up their slots.  A line without slots
 * counts as one, unless it is the only line of the name. */
static void merge(struct reading *r)
{
    int64_t out = 0;

    if (r->n)
        qsort(r->entry, (size_t)r->n, sizeof *r->entry, by_name);
    for (int64_t i = 0; i < r->n;) {
        struct entry e = r->entry[i];
        int64_t sum = 0, from = i;

        for (; i < r->n && strcmp(r->entry[i].name, e.name) == 0; i++) {
            sum += r->entry[i].slots < 0 ? 1 : r->entry[i].slots;
            if (i > from)
                free(r->entry[i].name);
        }
        e.slots = i == from + 1 && e.slots < 0 ? 0 : sum;
        r->entry[out++] = e;
    }
    r->n = out;
    if (r->n)
        qsort(r->entry, (size_t)r->n, sizeof *r->entry, by_order);
}

static ti_status build(const struct reading *r, struct ti_sites **out)
{
    struct ti_sites *s = ti_sites_new(TI_SITES_HOSTFILE, r->path);
    bool ok = s && ti_sites_add_site(s, "here") && ti_sites_add_cluster(s, 0, "hosts");

    for (int64_t i = 0; ok && i < r->n; i++) {
        struct ti_node *node = ti_sites_add_node(s, r->entry[i].name);

        if (node)
            node->slots = r->entry[i].slots;
        ok = node != NULL;
    }
    if (!ok) {
        ti_sites_free(s);
        return ti_err_errno(r->err, TI_ERR_IO, "cannot read '%s'", r->path);
    }
    *out = s;
    return TI_OK;
}

ti_status ti_sites_read_hostfile(const char *path, struct ti_sites **out, struct ti_err *err)
{
    struct reading r = {.path = path, .err = err};
    FILE *f = fopen(path, "re");
    ti_status st;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
    st = parse_file(&r, f);
    fclose(f);
    if (st == TI_OK && !r.n)
        st = ti_err_set(err, TI_ERR_INPUT, "%s:1:1: there is no node in it", path);
    if (st == TI_OK) {
        merge(&r);
        st = build(&r, out);
    }
    for (int64_t i = 0; i < r.n; i++)
        free(r.entry[i].name);
    free(r.entry);
    return st;
}
