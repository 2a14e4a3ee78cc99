#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/hostlist.h"
#include "common/map.h"
#include "common/names.h"
#include "config/sites.h"

#define SLOTS_MOST (INT64_C(1) << 24)

/* The lines of one name. */
struct entry {
    int64_t lines, slots; /* slots: of all lines; one without a number counts as 1 */
    bool given;           /* by some line, by slots= or Hydra's colon */
    bool equals;          /* by slots= */
};

/* One line. */
struct line {
    int64_t slots; /* -1: not given */
    bool equals;   /* given by slots= */
};

struct reading {
    const char *path;
    int line;
    const char *text; /* the current line */
    struct ti_names names;
    struct entry *entry; /* by number of the name */
    size_t cap;
    FILE *more; /* for the warning */
    bool warned;
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

/* Whether `user` is who runs this: connections log in as ssh's configuration says. */
static bool is_own_user(const char *user, size_t bytes)
{
    const struct passwd *own = getpwuid(geteuid());

    return own && is(user, bytes, own->pw_name);
}

static ti_status check_name(const struct reading *r, const char *name, size_t bytes)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr in6;

    snprintf(address, sizeof address, "%.*s", (int)bytes, name);
    if (bytes < sizeof address && inet_pton(AF_INET6, address, &in6) == 1)
        return wrong(r, name, "mpirun takes no IPv6 address as a node: give its name");
    if (bytes > TI_HOST_NAME_MAX)
        return wrong(r, name, "a name is too long");
    for (size_t i = 0; i < bytes; i++)
        if (!isalnum((unsigned char)name[i]) && (!strchr("._-", name[i]) || name[0] == '-'))
            return wrong(r, name + i,
                         strchr("+^", name[0]) ? "relative and excluded nodes are not known here"
                                               : "this cannot be in the name of a node");
    return TI_OK;
}

static ti_status parse_slots(const struct reading *r, const char *value, size_t digits,
                             int64_t least, int64_t *slots)
{
    char number[32];

    snprintf(number, sizeof number, "%.*s", (int)digits, value);
    if (digits >= sizeof number || !isdigit((unsigned char)number[0]) ||
        ti_parse_int(number, "slots", least, SLOTS_MOST, slots, NULL) != TI_OK)
        return wrong(r, value,
                     least ? "slots are a whole number of 1 or more"
                           : "slots are a whole number of 0 or more");
    return TI_OK;
}

/* Read "KEY=VALUE ..." after the name. */
static ti_status parse_settings(const struct reading *r, const char *p, struct line *line)
{
    int64_t most = -1;
    ti_status st;

    for (;;) {
        size_t bytes = word(&p), length;
        const char *key = p - bytes;
        bool slots = is(key, bytes, "slots") || is(key, bytes, "count") || is(key, bytes, "cpu");
        bool max = is(key, bytes, "max_slots") || is(key, bytes, "max-slots");
        bool user = is(key, bytes, "username") || is(key, bytes, "user-name") ||
                    is(key, bytes, "user_name") || is(key, bytes, "user");

        if (!bytes && (!*p || *p == '#'))
            break;
        if (!slots && !max && !user)
            return wrong(r, key,
                         "what may follow the name is slots=N, max_slots=N and username=NAME");
        if (slots && line->slots >= 0)
            return wrong(r, key, "this line has the number of slots twice");
        while (blank(*p))
            p++;
        if (*p++ != '=')
            return wrong(r, key, "a '=' is missing behind this");
        length = word(&p);
        if (user && !is_own_user(p - length, length))
            return wrong(r, p - length, "another user than yours belongs into ~/.ssh/config");
        if (user)
            continue;
        st = parse_slots(r, p - length, length, 0, slots ? &line->slots : &most);
        if (st != TI_OK)
            return st;
        line->equals = line->equals || slots;
    }
    if (most >= 0 && line->slots > most)
        return wrong(r, r->text, "more slots than max_slots");
    return TI_OK;
}

/* Read "[USER@]NAME[:N]", where N is Hydra's form of slots=N; *name and *bytes become NAME. */
static ti_status parse_name(const struct reading *r, const char **name, size_t *bytes,
                            struct line *line)
{
    const char *at = memchr(*name, '@', *bytes), *colon, *end = *name + *bytes;

    if (at && !is_own_user(*name, (size_t)(at - *name)))
        return wrong(r, *name, "another user than yours belongs into ~/.ssh/config");
    if (at)
        *name = at + 1;
    *bytes = (size_t)(end - *name);
    colon = memchr(*name, ':', *bytes);
    if (colon && colon > *name && !memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        *bytes = (size_t)(colon - *name);
        if (parse_slots(r, colon + 1, (size_t)(end - colon - 1), 1, &line->slots) != TI_OK)
            return TI_ERR_INPUT;
    }
    return *bytes ? check_name(r, *name, *bytes) : wrong(r, *name, "a name is missing");
}

static ti_status parse_line(struct reading *r)
{
    const char *p = r->text;
    size_t bytes = word(&p);
    const char *name = p - bytes;
    char text[TI_HOST_NAME_MAX + 1];
    struct line line = {.slots = -1};
    struct entry *e;
    ti_status st;
    size_t i;

    if (!bytes)
        return *p == '=' ? wrong(r, p, "a name is missing") : TI_OK;
    st = parse_name(r, &name, &bytes, &line);
    if (st != TI_OK)
        return st;
    if (r->names.map.n == TI_HOSTLIST_MAX)
        return wrong(r, name, "too many nodes");
    st = parse_settings(r, p, &line);
    if (st != TI_OK)
        return st;
    snprintf(text, sizeof text, "%.*s", (int)bytes, name);
    i = ti_names_add(&r->names, text);
    r->entry = ti_grow(r->entry, &r->cap, i + 1, sizeof *e);
    e = &r->entry[i];
    if (line.equals && e->equals && !r->warned && r->more) {
        r->warned = true;
        fprintf(r->more,
                "%s:%d: warning: '%s' is listed again: slots are added up, where Open MPI "
                "refuses the file\n",
                r->path, r->line, text);
    }
    e->lines++;
    e->slots += line.slots < 0 ? 1 : line.slots;
    e->given |= line.slots >= 0;
    e->equals |= line.equals;
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

/* Nodes without slots get no ranks: they are left out. */
static ti_status build(const struct reading *r, struct ti_sites **out)
{
    struct ti_sites *s = ti_sites_new(TI_SITES_HOSTFILE, r->path);
    bool ok = s && ti_sites_add_site(s, "here") && ti_sites_add_cluster(s, 0, "hosts");

    for (size_t i = 0; ok && i < r->names.map.n; i++) {
        const struct entry *e = &r->entry[i];
        struct ti_node *node;

        if (!e->slots)
            continue;
        node = ti_sites_add_node(s, r->names.text[i]);
        if (node)
            node->slots = e->lines > 1 || e->given ? e->slots : 0;
        ok = node != NULL;
    }
    if (!ok) {
        ti_sites_free(s);
        return ti_err_errno(r->err, TI_ERR_IO, "cannot read '%s'", r->path);
    }
    if (!s->nnodes) {
        ti_sites_free(s);
        return ti_err_set(r->err, TI_ERR_INPUT, "%s:1:1: there is no node%s in it", r->path,
                          r->names.map.n ? " with slots" : "");
    }
    *out = s;
    return TI_OK;
}

ti_status ti_sites_read_hostfile(const char *path, struct ti_sites **out, char **more,
                                 struct ti_err *err)
{
    struct reading r = {.path = path, .err = err};
    FILE *f = fopen(path, "re");
    size_t bytes = 0;
    char *text = NULL;
    ti_status st;

    if (more)
        *more = NULL;
    if (!f) {
        ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
        ti_hint_file(err, path);
        return TI_ERR_IO;
    }
    r.more = more ? open_memstream(&text, &bytes) : NULL;
    st = parse_file(&r, f);
    fclose(f);
    if (r.more && fclose(r.more) == 0 && bytes)
        *more = text;
    else
        free(text);
    if (st == TI_OK)
        st = build(&r, out);
    ti_names_free(&r.names);
    free(r.entry);
    return st;
}
