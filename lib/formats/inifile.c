#include "formats/inifile.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST     (16 << 20)
#define FINDINGS_MOST 1000
#define SECTIONS_MOST 20000
#define KEYS_MOST     1000 /* in one section */
#define SECTION_MOST  49   /* bytes that inih keeps of a section's head, and of a key */
#define KEY_MOST      49
#define NEW_SECTION   "\x01" /* stands for a new section; no line can have this key */

/* The last line that inih was given. */
enum given { HEAD, MARK, KEY, NEXT_LINE, REST_OF_LINE };

struct reading {
    struct ti_ini *ini;
    const struct ti_ini_grammar *grammar;
    const char *end, *next;  /* end of the file; start of the next line */
    const char *line;        /* start of the current line */
    int number;              /* of the current line */
    const char *rest, *stop; /* the part of its content that inih has not got yet */
    enum given given;
    char *word; /* the key of the current line */
    struct ti_ini_pos at, value_at;
    char *kind, *name; /* of the section whose head is current */
    struct ti_ini_pos name_at;
    bool skipping; /* the keys of an invalid section */
    bool failed;   /* no memory */
};

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void *grown(void *array, size_t each, int n)
{
    /* The room is the next power of two, so it is not stored. */
    if (n & (n - 1))
        return array;
    return realloc(array, each * (n ? 2 * (size_t)n : 1));
}

/* -------------------------------------------------------------- findings -- */

static void find(struct ti_ini *ini, int kind, struct ti_ini_pos at, const char *fmt, va_list ap)
{
    struct ti_ini_finding *f;

    ini->nerrors += kind != TI_INI_WARNING;
    if (ini->nfindings == FINDINGS_MOST)
        return;
    f = grown(ini->finding, sizeof *f, ini->nfindings);
    if (!f)
        return;
    ini->finding = f;
    f += ini->nfindings;
    *f = (struct ti_ini_finding){.at = at, .kind = kind, .number = ini->nfindings++};
    vsnprintf(f->text, sizeof f->text, fmt, ap);
}

void ti_ini_error(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    find(ini, TI_INI_ERROR, at, fmt, ap);
    va_end(ap);
}

void ti_ini_missing(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    find(ini, TI_INI_MISSING, at, fmt, ap);
    va_end(ap);
}

void ti_ini_warning(struct ti_ini *ini, struct ti_ini_pos at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    find(ini, TI_INI_WARNING, at, fmt, ap);
    va_end(ap);
}

static int by_place(const void *a, const void *b)
{
    const struct ti_ini_finding *x = a, *y = b;

    if (x->at.line != y->at.line)
        return x->at.line < y->at.line ? -1 : 1;
    if (x->at.column != y->at.column)
        return x->at.column < y->at.column ? -1 : 1;
    return x->number - y->number;
}

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

/* Read "[kind name]"; returns whether inih gets the line. */
static bool take_head(struct reading *r, const char *from, const char *to)
{
    const char *close = memchr(from, ']', (size_t)(to - from)), *word, *end, *name, *why;

    r->skipping = r->ini->has_heads = true;
    if (!close)
        return ti_ini_error(r->ini, r->at, "a '[' is not closed"), false;
    if (close + 1 != to)
        return ti_ini_error(r->ini, place(r, skip(close + 1, to)),
                            "there is something behind the ']' of a section"),
               false;
    if (close - from - 1 > SECTION_MOST)
        return ti_ini_error(r->ini, r->at, "a section's name of more than %d bytes", SECTION_MOST),
               false;
    word = skip(from + 1, close);
    end = word_end(word, close);
    name = skip(end, close);
    while (close > name && blank(close[-1]))
        close--;
    if (r->ini->nsections == SECTIONS_MOST)
        return ti_ini_error(r->ini, r->at, "more than %d sections", SECTIONS_MOST), false;
    free(r->kind);
    free(r->name);
    r->kind = copy(r, word, end);
    r->name = copy(r, name, close);
    if (r->failed)
        return false;
    r->name_at = place(r, name < close && r->grammar->is_kind(r->kind) ? name : word);
    why = r->grammar->section_error(r->kind, r->name);
    if (why)
        ti_ini_error(r->ini, r->name_at, "%s", why);
    r->skipping = why != NULL;
    return !why;
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

    if (from == r->line || !above || !r->grammar->may_continue(above->name))
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

/* Read "key = value"; returns whether inih gets the line. */
static bool take_key(struct reading *r, const char *from, const char *to)
{
    const char *after, *value;
    char shown[64];

    free(r->word);
    r->word = key_of(r, from, to, &after);
    if (!r->word) {
        ti_ini_error(r->ini, r->at, "neither '[SECTION]' nor 'KEY = VALUE'");
        return false;
    }
    if (!r->ini->nsections) {
        ti_ini_error(r->ini, r->at, "'%s' stands before any section", ti_ini_show(r->word, shown));
        r->skipping = true;
        return false;
    }
    if (!*r->word || strlen(r->word) > KEY_MOST) {
        ti_ini_error(r->ini, r->at, *r->word ? "a key of more than %d bytes" : "a key is missing",
                     KEY_MOST);
        return false;
    }
    if (present_section(r)->nkeys == KEYS_MOST) {
        ti_ini_error(r->ini, r->at, "more than %d keys in a section", KEYS_MOST);
        r->skipping = true;
        return false;
    }
    value = skip(after, to);
    r->value_at = place(r, value);
    r->rest = value;
    return true;
}

/* Advance to the next line that inih gets; false at the end. */
static bool advance(struct reading *r)
{
    const char *from, *to;

    while (next_line(r, &from, &to)) {
        if (from == to)
            continue;
        r->at = r->value_at = place(r, from);
        r->rest = from;
        r->stop = to;
        if (continues(r, from, to)) {
            r->given = NEXT_LINE;
            return true;
        }
        if (*from == '[' && take_head(r, from, to)) {
            r->given = HEAD;
            return true;
        }
        if (*from != '[' && !r->skipping && take_key(r, from, to)) {
            r->given = KEY;
            return true;
        }
    }
    return false;
}

/* Bytes of the value that fit into `room`, cut where nothing gets lost: inih removes outer blanks,
 * and takes a piece that begins with '#' or ';' for a comment. */
static int fits(const struct reading *r, int room)
{
    if (r->stop - r->rest <= room)
        return (int)(r->stop - r->rest);
    for (int n = room; n > 0; n--)
        if (!blank(r->rest[n - 1]) && !blank(r->rest[n]) && !strchr("#;", r->rest[n]))
            return n;
    return 0;
}

/* The reader function for inih, with the interface of fgets(). */
static char *give(char *line, int room, void *arg)
{
    struct reading *r = arg;
    int n;

    if (r->failed)
        return NULL;
    if (r->given == HEAD) {
        /* inih reports a section only with its first key. */
        r->given = MARK;
        return strcpy(line, NEW_SECTION "=\n");
    }
    if ((r->given == KEY || r->given == NEXT_LINE || r->given == REST_OF_LINE) && r->rest < r->stop)
        r->given = REST_OF_LINE;
    else if (!advance(r) || r->failed)
        return NULL;
    if (r->given == HEAD) {
        snprintf(line, (size_t)room, "[%s %s]\n", r->kind, r->name);
        return line;
    }
    n = fits(r, room - KEY_MOST - 4);
    if (!n && r->rest < r->stop) {
        ti_ini_error(r->ini, place(r, r->rest), "too many blanks in a row behind this");
        r->rest = r->stop;
        return strcpy(line, "\n");
    }
    snprintf(line, (size_t)room, "%s%s%.*s\n", r->given == KEY ? r->word : " ",
             r->given == KEY ? "=" : "", n, r->rest);
    r->rest += n;
    return line;
}

/* --------------------------------------------------------------- handler -- */

static bool add_section(struct reading *r)
{
    struct ti_ini_section *s = grown(r->ini->section, sizeof *s, r->ini->nsections);

    if (!s)
        return false;
    r->ini->section = s;
    s += r->ini->nsections++;
    *s = (struct ti_ini_section){
        .kind = r->kind, .name = r->name, .at = r->at, .name_at = r->name_at};
    r->kind = r->name = NULL;
    return true;
}

static bool add_text(struct ti_ini_key *k, const char *text)
{
    int bytes = (int)strlen(text), room = k->value_room;
    char *value = k->value;

    while (k->value_bytes + bytes + 1 > room)
        room = room ? 2 * room : 64;
    if (room > k->value_room)
        value = realloc(value, (size_t)room);
    if (!value)
        return false;
    k->value = value;
    k->value_room = room;
    memcpy(value + k->value_bytes, text, (size_t)bytes + 1);
    k->value_bytes += bytes;
    return true;
}

static bool add_line(struct ti_ini_key *k, struct ti_ini_pos at, const char *text)
{
    struct ti_ini_line *l = grown(k->line, sizeof *l, k->nlines);

    if (!l || (k->line = l, k->nlines && !add_text(k, "\n")))
        return false;
    l[k->nlines++] = (struct ti_ini_line){k->value_bytes, at};
    return add_text(k, text);
}

static bool add_key(struct reading *r, const char *name, const char *value)
{
    struct ti_ini_section *s = present_section(r);
    struct ti_ini_key *k = grown(s->key, sizeof *k, s->nkeys);

    if (!k)
        return false;
    s->key = k;
    k += s->nkeys;
    *k = (struct ti_ini_key){.name = strdup(name), .at = r->at};
    s->nkeys++;
    return k->name && add_line(k, r->value_at, value);
}

static int handle(void *arg, const char *section, const char *name, const char *value)
{
    struct reading *r = arg;
    bool ok = false;

    (void)section;
    switch (r->given) {
    case HEAD:
    case MARK:
        ok = add_section(r);
        break;
    case KEY:
        ok = add_key(r, name, value);
        break;
    case NEXT_LINE:
        ok = add_line(present_key(r), r->value_at, value);
        break;
    case REST_OF_LINE:
        ok = add_text(present_key(r), value);
        break;
    }
    r->failed |= !ok;
    return ok;
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
    size_t room = 0, n;
    FILE *f = fopen(path, "re");
    char *p = NULL;

    *bytes = 0;
    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
    do {
        char *more;

        room = room ? 2 * room : 16384;
        more = realloc(p, room);
        if (!more) {
            ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
            free(p);
            fclose(f);
            return TI_ERR_IO;
        }
        p = more;
        n = fread(p + *bytes, 1, room - *bytes, f);
        *bytes += n;
    } while (*bytes == room && *bytes <= FILE_MOST);
    if (ferror(f) || *bytes > FILE_MOST) {
        ti_status st = ferror(f) ? ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path)
                                 : ti_err_set(err, TI_ERR_INPUT, "'%s' has more than %d MiB", path,
                                              FILE_MOST >> 20);

        free(p);
        fclose(f);
        return st;
    }
    fclose(f);
    *text = p;
    return TI_OK;
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
    struct reading r = {.grammar = grammar, .given = MARK};
    char *text = NULL;
    size_t bytes = 0;
    ti_status st = load(path, &text, &bytes, err);

    if (st != TI_OK)
        return st;
    r.next = text;
    r.end = text + bytes;
    st = check_text(&r, path, err);
    r.number = 0;
    if (st != TI_OK)
        goto out;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.next += 3;
    r.ini = calloc(1, sizeof *r.ini);
    if (r.ini)
        r.ini->path = strdup(path);
    if (!r.ini || !r.ini->path || ini_parse_stream(give, &r, handle, &r) < 0 || r.failed) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
        ti_ini_free(r.ini);
        goto out;
    }
    *out = r.ini;
out:
    free(r.word);
    free(r.kind);
    free(r.name);
    free(text);
    return st;
}

static void free_key(struct ti_ini_key *k)
{
    free(k->name);
    free(k->value);
    free(k->line);
}

void ti_ini_free(struct ti_ini *ini)
{
    if (!ini)
        return;
    for (int s = 0; s < ini->nsections; s++) {
        struct ti_ini_section *x = &ini->section[s];

        for (int k = 0; k < x->nkeys; k++)
            free_key(&x->key[k]);
        free(x->key);
        free(x->kind);
        free(x->name);
    }
    free(ini->section);
    free(ini->finding);
    free(ini->path);
    free(ini);
}
