#include "config/rates.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/order.h"
#include "config/inifile.h"

#define FINDINGS_SHOWN 20

struct reading {
    struct ti_ini *ini;
    struct ti_rates *out;
    int head;    /* line of [rates]; 0: not seen yet */
    bool failed; /* no memory */
};

/* ------------------------------------------------------------------ keys -- */

#define WORD(name) #name,
static const char *const head_keys[] = {TI_RATES_KEYS(WORD) NULL};
static const char *const rate_keys[] = {TI_RATE_KEYS(WORD) NULL};
#undef WORD
static const char *const kinds[] = {"rates", "class", "site", NULL};

static bool is_kind(const char *word)
{
    return ti_ini_is_in(word, kinds);
}

static const char *section_error(const char *kind, const char *name)
{
    static char text[160];
    char shown[64];
    uint64_t from;

    if (strcmp(kind, "class") == 0)
        return ti_ini_whole(name, UINT64_MAX, &from)
                   ? NULL
                   : "a class needs its smallest volume, a whole number: [class 1024]";
    if (is_kind(kind) && *name) {
        snprintf(text, sizeof text, "[%s] takes no name%s", kind,
                 kind[0] == 's' ? ": the key 'site' has it" : "");
        return text;
    }
    if (is_kind(kind))
        return NULL;
    snprintf(text, sizeof text,
             "unknown section '[%s]'; there are [rates], [class VOLUME] and "
             "[site]",
             ti_ini_show(kind, shown));
    return text;
}

static const struct ti_ini_grammar grammar = {.is_kind = is_kind, .section_error = section_error};

/* Report keys that the section cannot have, or has twice. */
static void check_keys(struct reading *g, const struct ti_ini_section *s)
{
    bool head = strcmp(s->kind, "rates") == 0, site = strcmp(s->kind, "site") == 0;
    char shown[64];

    for (int k = 0; k < s->nkeys; k++) {
        const struct ti_ini_key *key = &s->key[k];

        if (!ti_ini_is_in(key->name, head ? head_keys : rate_keys) ||
            (!site && strcmp(key->name, "site") == 0))
            ti_ini_error(g->ini, key->at, "[%s] has no key '%s'", s->kind,
                         ti_ini_show(key->name, shown));
        else if (!ti_ini_given_before(g->ini, s, key) && !key->value[0])
            ti_ini_error(g->ini, key->at, "'%s' has no value", key->name);
    }
}

/* The key, unless it has no value. */
static const struct ti_ini_key *find_key(const struct ti_ini_section *s, const char *name)
{
    const struct ti_ini_key *k = ti_ini_find(s, name);

    return k && k->value[0] ? k : NULL;
}

/* ---------------------------------------------------------------- values -- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Decode quoted text as put_text() writes it, "lu+0x12 \x22"; false if it is malformed.  Text
 * without quotes is copied. */
static bool unquote(const char *from, char *to)
{
    if (*from != '"') {
        strcpy(to, from);
        return true;
    }
    for (from++; *from && *from != '"'; from++) {
        int c = (unsigned char)*from;

        if (c == '\\') {
            int high = from[1] == 'x' ? hex_digit(from[2]) : -1;
            int low = high >= 0 ? hex_digit(from[3]) : -1;

            c = low >= 0 ? high * 16 + low : 0;
            from += 3;
        }
        if (c == 0)
            return false;
        *to++ = (char)c;
    }
    *to = '\0';
    return *from == '"' && from[1] == '\0';
}

static void parse_text(struct reading *g, const struct ti_ini_section *s, const char *name,
                       char **out)
{
    const struct ti_ini_key *k = find_key(s, name);
    char *text;

    if (!k)
        return;
    text = malloc(strlen(k->value) + 1);
    if (!text) {
        g->failed = true;
    } else if (unquote(k->value, text)) {
        free(*out);
        *out = text;
    } else {
        ti_ini_error(g->ini, ti_ini_at(k, 0),
                     "%s is text in quotes, without \" and \\ but for \\xNN", name);
        free(text);
    }
}

static void parse_number(struct reading *g, const struct ti_ini_section *s, const char *name,
                         const char *what, double *out)
{
    const struct ti_ini_key *k = find_key(s, name);
    bool zero = strcmp(name, "deviation") == 0 || strcmp(name, "seconds") == 0;
    char shown[64];

    if (k && !ti_ini_number(k->value, out) && !(zero && strcmp(k->value, "0") == 0))
        ti_ini_error(g->ini, ti_ini_at(k, 0), "%s, not '%s'", what, ti_ini_show(k->value, shown));
}

static void parse_whole(struct reading *g, const struct ti_ini_section *s, const char *name,
                        uint64_t *out)
{
    const struct ti_ini_key *k = find_key(s, name);
    char shown[64];

    if (k && !ti_ini_whole(k->value, INT64_MAX, out))
        ti_ini_error(g->ini, ti_ini_at(k, 0), "%s is a whole number, not '%s'", name,
                     ti_ini_show(k->value, shown));
}

/* -------------------------------------------------------------- sections -- */

static void parse_head(struct reading *g, const struct ti_ini_section *s)
{
    uint64_t hosts = 0, ranks = 0;

    if (g->head)
        ti_ini_error(g->ini, s->at, "'[rates]' was there before, in line %d", g->head);
    g->head = s->at.line;
    parse_text(g, s, "unit", &g->out->unit);
    parse_text(g, s, "counter", &g->out->counter);
    parse_text(g, s, "cpu", &g->out->cpu);
    parse_whole(g, s, "hosts", &hosts);
    parse_whole(g, s, "ranks", &ranks);
    parse_number(g, s, "reference", "reference is volume a second, such as 2.53G",
                 &g->out->reference);
    g->out->hosts = (int64_t)hosts;
    g->out->ranks = (int64_t)ranks;
}

static void parse_rate(struct reading *g, const struct ti_ini_section *s)
{
    bool site = strcmp(s->kind, "site") == 0;
    struct ti_rates *out = g->out;
    struct ti_rate *r = site ? &out->site[out->nsites++] : &out->volume_class[out->nclasses++];

    r->line = s->at.line;
    if (!site && !ti_ini_whole(s->name, UINT64_MAX, &r->from))
        TI_BUG("a class without a volume was let through");
    parse_text(g, s, "site", &r->site);
    parse_number(g, s, "rate", "rate is volume a second, such as 2.53G", &r->rate);
    parse_number(g, s, "deviation", "deviation is in volume a second, such as 120M", &r->deviation);
    parse_number(g, s, "seconds", "seconds is a number", &r->seconds);
    parse_whole(g, s, "bursts", &r->bursts);
    if (!find_key(s, "rate"))
        ti_ini_missing(g->ini, s->at, "this section has no rate");
    if (site && !find_key(s, "site"))
        ti_ini_missing(g->ini, s->at, "this [site] does not say which: the key 'site' is missing");
}

TI_ORDER_BY_2(by_volume, struct ti_rate, from, line)

static int by_site(const void *a, const void *b)
{
    const struct ti_rate *x = a, *y = b;
    int c = strcmp(x->site ? x->site : "", y->site ? y->site : "");

    return c ? c : (x->line > y->line) - (x->line < y->line);
}

/* Sort classes and sites, and report duplicates. */
static void sort_rates(struct reading *g)
{
    struct ti_rates *r = g->out;

    if (r->nclasses)
        qsort(r->volume_class, (size_t)r->nclasses, sizeof *r->volume_class, by_volume);
    if (r->nsites)
        qsort(r->site, (size_t)r->nsites, sizeof *r->site, by_site);
    for (int i = 1; i < r->nclasses; i++)
        if (r->volume_class[i].from == r->volume_class[i - 1].from)
            ti_ini_error(g->ini, (struct ti_ini_pos){r->volume_class[i].line, 1},
                         "class %" PRIu64 " was there before, in line %d", r->volume_class[i].from,
                         r->volume_class[i - 1].line);
    for (int i = 1; i < r->nsites; i++)
        if (r->site[i].site && r->site[i - 1].site &&
            strcmp(r->site[i].site, r->site[i - 1].site) == 0)
            ti_ini_error(g->ini, (struct ti_ini_pos){r->site[i].line, 1},
                         "this site was there before, in line %d", r->site[i - 1].line);
}

static ti_status interpret(struct reading *g, char **more, struct ti_err *err)
{
    size_t n = (size_t)g->ini->nsections + 1;

    g->out = calloc(1, sizeof *g->out);
    if (g->out) {
        g->out->volume_class = calloc(n, sizeof *g->out->volume_class);
        g->out->site = calloc(n, sizeof *g->out->site);
    }
    g->failed = !g->out || !g->out->volume_class || !g->out->site;
    for (int i = 0; i < g->ini->nsections && !g->failed; i++) {
        const struct ti_ini_section *s = &g->ini->section[i];

        check_keys(g, s);
        if (strcmp(s->kind, "rates") == 0)
            parse_head(g, s);
        else
            parse_rate(g, s);
    }
    if (g->failed)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", g->ini->path);
    sort_rates(g);
    if (!g->out->reference && g->out->nclasses)
        g->out->reference = g->out->volume_class[0].rate;
    if (!g->out->nclasses)
        ti_ini_missing(g->ini, (struct ti_ini_pos){1, 1},
                       "there is no '[class VOLUME]' in it; [class 0] is for all bursts");
    return ti_ini_conclude(g->ini, FINDINGS_SHOWN, more, err);
}

ti_status ti_rates_read(const char *path, struct ti_rates **out, char **more, struct ti_err *err)
{
    struct reading g = {0};
    ti_status st;

    if (more)
        *more = NULL;
    st = ti_ini_read(path, &grammar, &g.ini, err);
    if (st != TI_OK)
        return st;
    st = interpret(&g, more, err);
    if (st == TI_OK)
        *out = g.out;
    else
        ti_rates_free(g.out);
    ti_ini_free(g.ini);
    return st;
}

void ti_rates_free(struct ti_rates *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->nclasses; i++)
        free(r->volume_class[i].site);
    for (int i = 0; i < r->nsites; i++)
        free(r->site[i].site);
    free(r->volume_class);
    free(r->site);
    free(r->unit);
    free(r->counter);
    free(r->cpu);
    free(r);
}

/* --------------------------------------------------------------- look-up -- */

const struct ti_rate *ti_rates_site(const struct ti_rates *r, const char *site)
{
    int i;

    TI_FIRST(i, 0, r->nsites, strcmp(r->site[i].site, site) < 0);
    return i < r->nsites && !strcmp(r->site[i].site, site) ? &r->site[i] : NULL;
}

const struct ti_rate *ti_rates_class(const struct ti_rates *r, uint64_t volume)
{
    int i;

    TI_FIRST(i, 1, r->nclasses, r->volume_class[i].from <= volume);
    return &r->volume_class[i - 1];
}

/* ----------------------------------------------------------------- write -- */

/* Write quoted text.  Characters that could end it or begin a comment are escaped. */
static void put_text(FILE *f, const char *key, const char *text)
{
    if (!text)
        return;
    fprintf(f, "%s = \"", key);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < ' ' || c > '~' || strchr("\"\\#;", c))
            fprintf(f, "\\x%02x", c);
        else
            fputc(c, f);
    }
    fputs("\"\n", f);
}

/* Write "2.53G", with six digits. */
static void put_number(FILE *f, const char *key, double v)
{
    static const char units[] = " kMGTP";
    int u = 0;

    for (; v >= 1000 && u < (int)sizeof units - 2; u++)
        v /= 1000;
    fprintf(f, "%s = %.6g", key, v);
    if (u)
        fputc(units[u], f);
    fputc('\n', f);
}

static void put_rate(FILE *f, const struct ti_rate *r)
{
    if (r->site) {
        fputs("\n[site]\n", f);
        put_text(f, "site", r->site);
    } else {
        fprintf(f, "\n[class %" PRIu64 "]\n", r->from);
    }
    put_number(f, "rate", r->rate);
    put_number(f, "deviation", r->deviation);
    fprintf(f, "bursts = %" PRIu64 "\n", r->bursts);
    fprintf(f, "seconds = %.9g\n", r->seconds);
}

ti_status ti_rates_write(const char *path, const struct ti_rates *r, const char *title,
                         struct ti_err *err)
{
    FILE *f = ti_ini_create(path, title, err);

    if (!f)
        return TI_ERR_IO;
    fputs("\n[rates]\n", f);
    put_text(f, "unit", r->unit);
    put_text(f, "counter", r->counter);
    put_text(f, "cpu", r->cpu);
    fprintf(f, "hosts = %" PRId64 "\nranks = %" PRId64 "\n", r->hosts, r->ranks);
    if (r->reference > 0)
        put_number(f, "reference", r->reference);
    for (int i = 0; i < r->nclasses; i++)
        put_rate(f, &r->volume_class[i]);
    for (int i = 0; i < r->nsites; i++)
        put_rate(f, &r->site[i]);
    return ti_ini_finish(f, path, err);
}
