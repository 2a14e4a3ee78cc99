#include "config/inifile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/order.h"
#include "common/write.h"

#define FILE_MOST     (16 << 20)
#define FINDINGS_MOST 1000
#define SECTIONS_MOST 20000
#define KEYS_MOST     1000 /* in one section */
#define SECTION_MOST  49   /* bytes of a section's head, and of a key */
#define KEY_MOST      49

struct reading {
    struct ti_ini *ini;
    const struct ti_ini_grammar *grammar;
    const char *end, *next; /* end of the file; start of the next line */
    const char *line;       /* start of the current line */
    int number;             /* of the current line */
    bool skipping;          /* the keys of an invalid section */
    bool failed;            /* no memory */
};

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* -------------------------------------------------------------- findings -- */

void ti_ini_add(struct ti_ini *ini, int kind, struct ti_ini_pos at, const char *fmt, ...)
{
    struct ti_ini_finding *f;
    va_list ap;

    ini->nerrors += kind != TI_INI_WARNING;
    if (ini->nfindings == FINDINGS_MOST)
        return;
    ini->finding = ti_grow(ini->finding, &ini->findings_cap, (size_t)ini->nfindings + 1, sizeof *f);
    f = &ini->finding[ini->nfindings];
    *f = (struct ti_ini_finding){.at = at, .kind = kind, .number = ini->nfindings++};
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
}

bool ti_ini_given_before(struct ti_ini *ini, const struct ti_ini_section *s,
                         const struct ti_ini_key *key)
{
    const struct ti_ini_key *first = ti_ini_find(s, key->name);

    if (first != key)
        ti_ini_error(ini, key->at, "'%s' was given before, in line %d", key->name, first->at.line);
    return first != key;
}

TI_ORDER_BY_3(by_place, struct ti_ini_finding, at.line, at.column, number)

ti_status ti_ini_conclude(struct ti_ini *ini, int most, char **more, struct ti_err *err)
{
    const struct ti_ini_finding *first = NULL;
    size_t bytes = 0;
    int others = 0;
    FILE *f = NULL;

    if (more) {
        *more = NULL;
        f = open_memstream(more, &bytes);
    }
    if (ini->nfindings)
        qsort(ini->finding, (size_t)ini->nfindings, sizeof *ini->finding, by_place);
    for (int i = 0; i < ini->nfindings; i++) {
        const struct ti_ini_finding *x = &ini->finding[i];

        if (x->kind != TI_INI_WARNING && (!first || x->kind < first->kind))
            first = x;
    }
    if (first)
        ti_err_set(err, TI_ERR_INPUT, "%s:%d:%d: %s", ini->path, first->at.line, first->at.column,
                   first->text);
    for (int i = 0; i < ini->nfindings; i++) {
        const struct ti_ini_finding *x = &ini->finding[i];

        if (x != first && f && others++ < most)
            fprintf(f, "%s:%d:%d: %s%s\n", ini->path, x->at.line, x->at.column,
                    x->kind == TI_INI_WARNING ? "warning: " : "", x->text);
    }
    if (f && others > most)
        fprintf(f, "%s: %d further findings are not shown\n", ini->path, others - most);
    if (f) {
        fclose(f);
        if (!bytes) {
            free(*more);
            *more = NULL;
        }
    }
    return ini->nerrors ? TI_ERR_INPUT : TI_OK;
}

bool ti_ini_number(const char *text, double *out)
{
    static const char units[] = "kMGTP";
    char *end = (char *)(uintptr_t)text;
    const char *u;
    double v = 0;

    errno = 0;
    if (isdigit((unsigned char)text[0]) && tolower((unsigned char)text[1]) != 'x')
        v = strtod(text, &end);
    while (end > text && (*end == ' ' || *end == '\t'))
        end++;
    u = end > text && *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    for (const char *step = units; u && step <= u; step++)
        v *= 1000;
    end += u != NULL;
    if (end == text || *end || errno || !(v > 0) || v > 1e18)
        return false;
    *out = v;
    return true;
}

bool ti_ini_whole(const char *text, uint64_t most, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end && *out <= most;
}

const char *ti_ini_show(const char *text, char buf[64])
{
    int n = 0;

    for (; *text && n < 48; text++) {
        unsigned char c = (unsigned char)*text;

        buf[n++] = c < 0x20 || c == 0x7f ? '?' : *text;
    }
    /* Do not cut a UTF-8 character. */
    while (*text && n > 0 && ((unsigned char)*text & 0xc0) == 0x80) {
        text--;
        n--;
    }
    strcpy(buf + n, *text ? "..." : "");
    return buf;
}

const struct ti_ini_key *ti_ini_find(const struct ti_ini_section *s, const char *name)
{
    for (int k = 0; s && k < s->nkeys; k++)
        if (strcmp(s->key[k].name, name) == 0)
            return &s->key[k];
    return NULL;
}

bool ti_ini_is_in(const char *word, const char *const *list)
{
    while (*list && strcmp(word, *list) != 0)
        list++;
    return *list;
}

static void free_section(struct ti_ini_section *s)
{
    for (int k = 0; k < s->nkeys; k++) {
        free(s->key[k].name);
        free(s->key[k].value);
        free(s->key[k].line);
    }
    free(s->key);
    free(s->kind);
    free(s->name);
}

/* ----------------------------------------------------------------- lines -- */

static struct ti_ini_pos place(const struct reading *r, const char *p)
{
    struct ti_ini_pos at = {r->number, 1};

    for (const char *c = r->line; c < p; c++)
        at.column += ((unsigned char)*c & 0xc0) != 0x80;
    return at;
}

/* The next line of the file, without its comment and outer blanks; false at the end. */
static bool next_line(struct reading *r, const char **from, const char **to)
{
    const char *stop, *p;

    if (r->next >= r->end)
        return false;
    r->line = r->next;
    r->number++;
    stop = memchr(r->line, '\n', (size_t)(r->end - r->line));
    r->next = stop ? stop + 1 : r->end;
    if (!stop)
        stop = r->end;
    for (p = r->line; p < stop && blank(*p); p++)
        ;
    *from = p;
    for (; p < stop; p++)
        if ((*p == '#' || *p == ';') && (p == r->line || blank(p[-1])))
            break;
    while (p > *from && blank(p[-1]))
        p--;
    *to = p;
    return true;
}

static char *copy(struct reading *r, const char *from, const char *to)
{
    char *s = strndup(from, (size_t)(to - from));

    if (!s)
        r->failed = true;
    return s;
}

static struct ti_ini_section *present_section(const struct reading *r)
{
    return r->ini->nsections && !r->skipping ? &r->ini->section[r->ini->nsections - 1] : NULL;
}

static struct ti_ini_key *present_key(const struct reading *r)
{
    struct ti_ini_section *s = present_section(r);

    return s && s->nkeys ? &s->key[s->nkeys - 1] : NULL;
}

static const char *skip(const char *p, const char *to)
{
    while (p < to && blank(*p))
        p++;
    return p;
}

/* The end of the word at `from`: a blank or `to`. */
static const char *word_end(const char *from, const char *to)
{
    while (from < to && !blank(*from))
        from++;
    return from;
}

/* Begin the section of a head; its keys are skipped if the head is invalid. */
static void parse_head(struct reading *r, const char *from, const char *to)
{
    const char *close = memchr(from, ']', (size_t)(to - from)), *word, *end, *name, *why;
    struct ti_ini_section s = {.at = place(r, from)};

    r->skipping = r->ini->has_heads = true;
    if (!close) {
        ti_ini_error(r->ini, s.at, "a '[' is not closed");
        return;
    }
    if (close + 1 != to) {
        ti_ini_error(r->ini, place(r, skip(close + 1, to)),
                     "there is something behind the ']' of a section");
        return;
    }
    if (close - from - 1 > SECTION_MOST) {
        ti_ini_error(r->ini, s.at, "a section's name of more than %d bytes", SECTION_MOST);
        return;
    }
    if (r->ini->nsections == SECTIONS_MOST) {
        ti_ini_error(r->ini, s.at, "more than %d sections", SECTIONS_MOST);
        return;
    }
    word = skip(from + 1, close);
    end = word_end(word, close);
    name = skip(end, close);
    while (close > name && blank(close[-1]))
        close--;
    s.kind = copy(r, word, end);
    s.name = copy(r, name, close);
    if (r->failed) {
        free_section(&s);
        return;
    }
    s.name_at = place(r, name < close && r->grammar->is_kind(s.kind) ? name : word);
    why = r->grammar->section_error(s.kind, s.name);
    if (why) {
        ti_ini_error(r->ini, s.name_at, "%s", why);
        free_section(&s);
        return;
    }
    r->ini->section =
        ti_grow(r->ini->section, &r->ini->sections_cap, (size_t)r->ini->nsections + 1, sizeof s);
    r->ini->section[r->ini->nsections++] = s;
    r->skipping = false;
}

/* The word before '=' or ':', or NULL; *after points past that character. */
static char *key_of(struct reading *r, const char *from, const char *to, const char **after)
{
    const char *p = from, *end;

    while (p < to && *p != '=' && *p != ':')
        p++;
    if (p == to)
        return NULL;
    *after = p + 1;
    for (end = p; end > from && blank(end[-1]); end--)
        ;
    return copy(r, from, end);
}

/* Whether a line continues the value above. */
static bool continues(struct reading *r, const char *from, const char *to)
{
    const struct ti_ini_key *above = present_key(r);
    const char *after;
    char *word;
    bool goes_on;

    if (from == r->line || !above || !r->grammar->may_continue ||
        !r->grammar->may_continue(above->name))
        return false;
    if (*from == '[') {
        const char *first = skip(from + 1, to), *end = first;

        while (end < to && !blank(*end) && *end != ']')
            end++;
        word = copy(r, first, end);
        goes_on = word && !r->grammar->is_kind(word);
    } else {
        word = key_of(r, from, to, &after);
        goes_on = !word || (r->grammar->holds_equals(above->name) && !r->grammar->is_key(word));
    }
    free(word);
    return goes_on;
}

/* Add a line to a value. */
static void add_line(struct reading *r, struct ti_ini_key *k, const char *from, const char *to)
{
    size_t bytes = (size_t)(to - from);

    k->value = ti_grow(k->value, &k->value_cap, (size_t)k->value_bytes + bytes + 2, 1);
    if (k->nlines)
        k->value[k->value_bytes++] = '\n';
    k->line = ti_grow(k->line, &k->lines_cap, (size_t)k->nlines + 1, sizeof *k->line);
    k->line[k->nlines++] = (struct ti_ini_line){k->value_bytes, place(r, from)};
    memcpy(k->value + k->value_bytes, from, bytes);
    k->value_bytes += (int)bytes;
    k->value[k->value_bytes] = '\0';
}

/* Parse "key = value", and add it to the present section. */
static void parse_key(struct reading *r, const char *from, const char *to)
{
    struct ti_ini_section *s = present_section(r);
    struct ti_ini_key key = {.at = place(r, from)};
    const char *after;
    char shown[64];

    key.name = key_of(r, from, to, &after);
    if (r->failed)
        return;
    if (!key.name) {
        ti_ini_error(r->ini, key.at, "neither '[SECTION]' nor 'KEY = VALUE'");
    } else if (!s) {
        ti_ini_error(r->ini, key.at, "'%s' stands before any section",
                     ti_ini_show(key.name, shown));
        r->skipping = true;
    } else if (!*key.name || strlen(key.name) > KEY_MOST) {
        ti_ini_error(r->ini, key.at, *key.name ? "a key of more than %d bytes" : "a key is missing",
                     KEY_MOST);
    } else if (s->nkeys == KEYS_MOST) {
        ti_ini_error(r->ini, key.at, "more than %d keys in a section", KEYS_MOST);
        r->skipping = true;
    } else {
        add_line(r, &key, skip(after, to), to);
        s->key = ti_grow(s->key, &s->keys_cap, (size_t)s->nkeys + 1, sizeof key);
        s->key[s->nkeys++] = key;
        return;
    }
    free(key.name);
}

static void parse(struct reading *r)
{
    const char *from, *to;

    while (!r->failed && next_line(r, &from, &to)) {
        if (from == to)
            continue;
        if (continues(r, from, to))
            add_line(r, present_key(r), from, to);
        else if (*from == '[')
            parse_head(r, from, to);
        else if (!r->skipping)
            parse_key(r, from, to);
    }
}

/* ------------------------------------------------------------------ read -- */

struct ti_ini_pos ti_ini_at(const struct ti_ini_key *key, int offset)
{
    const struct ti_ini_line *l = key->line;
    struct ti_ini_pos at;

    while (l + 1 < key->line + key->nlines && l[1].offset <= offset)
        l++;
    at = l->at;
    for (int i = l->offset; i < offset && i < key->value_bytes; i++)
        at.column += ((unsigned char)key->value[i] & 0xc0) != 0x80;
    return at;
}

/* Read the whole file; free() *text. */
static ti_status load(const char *path, char **text, size_t *bytes, struct ti_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ti_status st = TI_OK;

    *text = NULL;
    *bytes = 0;
    if (fd < 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
        ti_hint_file(err, path);
        return TI_ERR_IO;
    }
    *text = ti_read_all(fd, FILE_MOST, bytes);
    if (!*text && errno == EFBIG)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has more than %d MiB", path, FILE_MOST >> 20);
    else if (!*text)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    close(fd);
    return st;
}

/* Reject files that are not text. */
static ti_status check_text(struct reading *r, const char *path, struct ti_err *err)
{
    const char *nul = memchr(r->next, '\0', (size_t)(r->end - r->next)), *p = r->next;

    if (r->end - p >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0))
        return ti_err_set(err, TI_ERR_INPUT, "%s:1:1: this is UTF-16, not UTF-8", path);
    if (!nul && memchr(p, '\r', (size_t)(r->end - p)) && !memchr(p, '\n', (size_t)(r->end - p)))
        return ti_err_set(err, TI_ERR_INPUT, "%s:1:1: its lines end in CR alone", path);
    if (!nul)
        return TI_OK;
    r->line = p;
    for (r->number = 1; (p = memchr(r->line, '\n', (size_t)(nul - r->line))); r->number++)
        r->line = p + 1;
    return ti_err_set(err, TI_ERR_INPUT, "%s:%d:%d: a byte 0: this is no text", path, r->number,
                      place(r, nul).column);
}

ti_status ti_ini_read(const char *path, const struct ti_ini_grammar *grammar, struct ti_ini **out,
                      struct ti_err *err)
{
    struct reading r = {.grammar = grammar};
    char *text;
    size_t bytes;
    ti_status st = load(path, &text, &bytes, err);

    r.next = text;
    r.end = text + bytes;
    if (st == TI_OK)
        st = check_text(&r, path, err);
    if (st != TI_OK)
        goto out;
    r.number = 0;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.next += 3;
    r.ini = calloc(1, sizeof *r.ini);
    r.failed = !r.ini || !(r.ini->path = strdup(path));
    if (!r.failed)
        parse(&r);
    if (r.failed) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
        ti_ini_free(r.ini);
        goto out;
    }
    *out = r.ini;
out:
    free(text);
    return st;
}

void ti_ini_free(struct ti_ini *ini)
{
    if (!ini)
        return;
    for (int s = 0; s < ini->nsections; s++)
        free_section(&ini->section[s]);
    free(ini->section);
    free(ini->finding);
    free(ini->path);
    free(ini);
}

/* ----------------------------------------------------------------- write -- */

static void put_title(FILE *f, const char *title)
{
    bool start = true;

    for (; *title; title++) {
        if (start)
            fputs(*title == '\n' ? "#" : "# ", f);
        start = *title == '\n';
        fputc((unsigned char)*title < ' ' && !start ? '?' : *title, f);
    }
    if (!start)
        fputc('\n', f);
}

FILE *ti_ini_create(const char *path, const char *title, struct ti_err *err)
{
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

    if (f)
        put_title(f, title);
    else
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    return f;
}

ti_status ti_ini_finish(FILE *f, const char *path, struct ti_err *err)
{
    bool failed = ferror(f) != 0;

    failed |= (f == stdout ? fflush(f) : fclose(f)) != 0;
    return failed ? ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path) : TI_OK;
}
