#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/hostlist.h"
#include "common/map.h"
#include "common/names.h"
#include "config/sites.h"

#define SLOTS_MOST (INT64_C(1) << 24)

/* The lines of one name. */
struct entry {
    int64_t lines, slots; /* slots: of all lines; one without slots= counts as 1 */
    bool given;           /* by some line */
};

struct reading {
    const char *path;
    int line;
    const char *text; /* the current line */
    struct ti_names names;
    struct entry *entry; /* by number of the name */
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

/* Read "KEY=VALUE ..." after the name.  The slots stay as they are if they are not given. */
static ti_status parse_settings(const struct reading *r, const char *p, int64_t *number_of_slots)
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
        *(slots ? number_of_slots : &most) = v;
    }
    if (most >= 0 && *number_of_slots > most)
        return wrong(r, r->text, "more slots than max_slots");
    return TI_OK;
}

static ti_status parse_line(struct reading *r)
{
    const char *p = r->text;
    size_t bytes = word(&p);
    const char *name = p - bytes;
    char text[TI_HOST_NAME_MAX + 1];
    int64_t slots = -1;
    struct entry *e;
    ti_status st;
    size_t i;

    if (!bytes)
        return *p == '=' ? wrong(r, p, "a name is missing") : TI_OK;
    st = check_name(r, name, bytes);
    if (st != TI_OK)
        return st;
    if (r->names.map.n == TI_HOSTLIST_MAX)
        return wrong(r, name, "too many nodes");
    st = parse_settings(r, p, &slots);
    if (st != TI_OK)
        return st;
    snprintf(text, sizeof text, "%.*s", (int)bytes, name);
    i = ti_names_add(&r->names, text);
    r->entry = ti_grow(r->entry, &r->cap, i + 1, sizeof *e);
    e = &r->entry[i];
    e->lines++;
    e->slots += slots < 0 ? 1 : slots;
    e->given |= slots >= 0;
    return TI_OK;
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

static ti_status build(const struct reading *r, struct ti_sites **out)
{
    struct ti_sites *s = ti_sites_new(TI_SITES_HOSTFILE, r->path);
    bool ok = s && ti_sites_add_site(s, "here") && ti_sites_add_cluster(s, 0, "hosts");

    for (size_t i = 0; ok && i < r->names.map.n; i++) {
        struct ti_node *node = ti_sites_add_node(s, r->names.text[i]);
        const struct entry *e = &r->entry[i];

        if (node)
            node->slots = e->lines > 1 || e->given ? e->slots : 0;
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

    if (!f) {
        ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
        ti_hint_file(err, path);
        return TI_ERR_IO;
    }
    st = parse_file(&r, f);
    fclose(f);
    if (st == TI_OK && !r.names.map.n)
        st = ti_err_set(err, TI_ERR_INPUT, "%s:1:1: there is no node in it", path);
    if (st == TI_OK)
        st = build(&r, out);
    ti_names_free(&r.names);
    free(r.entry);
    return st;
}
