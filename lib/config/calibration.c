#include "config/calibration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/inifile.h"

#define FINDINGS_SHOWN 20

enum kind { TEXT, NUMBER, WHOLE, COSTS, FACTORS, RANKS };

static const struct key {
    const char *section, *name;
    enum kind kind;
    size_t offset; /* of its value in struct ti_calibration */
} keys[] = {
#define KEY(section, name, kind)                                                                   \
    {#section, #name, kind, offsetof(struct ti_calibration, section.name)},
    TI_CALIBRATION_KEYS(KEY)
#undef KEY
};

#define NKEYS (sizeof keys / sizeof *keys)

static void *value(struct ti_calibration *c, const struct key *k)
{
    return (char *)c + k->offset;
}

static const void *value_of(const struct ti_calibration *c, const struct key *k)
{
    return (const char *)c + k->offset;
}

static bool is_text(enum kind kind)
{
    return kind != NUMBER && kind != WHOLE;
}

void ti_calibration_init(struct ti_calibration *c)
{
    *c = (struct ti_calibration){0};
    for (size_t i = 0; i < NKEYS; i++) {
        if (keys[i].kind == NUMBER)
            *(double *)value(c, &keys[i]) = -1;
        else if (keys[i].kind == WHOLE)
            *(int64_t *)value(c, &keys[i]) = -1;
    }
}

void ti_calibration_free(struct ti_calibration *c)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (is_text(keys[i].kind))
            free(*(char **)value(c, &keys[i]));
    ti_calibration_init(c);
}

/* ------------------------------------------------------------------ read -- */

static bool is_kind(const char *word)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (strcmp(word, keys[i].section) == 0)
            return true;
    return false;
}

static const char *section_error(const char *kind, const char *name)
{
    static char text[160];
    char shown[64];

    if (is_kind(kind) && !*name)
        return NULL;
    if (is_kind(kind))
        snprintf(text, sizeof text, "[%s] takes no name", kind);
    else
        snprintf(text, sizeof text,
                 "unknown section '[%s]'; there are [calibration], [host], [network] and [noise]",
                 ti_ini_show(kind, shown));
    return text;
}

static const struct ti_ini_grammar grammar = {.is_kind = is_kind, .section_error = section_error};

/* Read a number at *p that ends at one of `ends` or the end, and advance *p there. */
static bool factor_number(const char **p, const char *ends, double *out)
{
    char *end;

    if (!isdigit((unsigned char)**p) || tolower((unsigned char)(*p)[1]) == 'x')
        return false;
    errno = 0;
    *out = strtod(*p, &end);
    if (!isfinite(*out) || (*end ? !strchr(ends, *end) : !strchr(ends, ';')))
        return false;
    *p = end;
    return true;
}

/* Read a size at *p that ends at ':', and advance *p past it. */
static bool factor_size(const char **p, long long *out)
{
    char *end;

    if (!isdigit((unsigned char)**p))
        return false;
    errno = 0;
    *out = strtoll(*p, &end, 10);
    if (errno || *out > INT_MAX || *end != ':')
        return false;
    *p = end + 1;
    return true;
}

bool ti_factors_check(const char *text, int values)
{
    long long size, before = -1;
    double number;

    for (const char *p = text;; p++) {
        if (!factor_size(&p, &size) || size <= before)
            return false;
        before = size;
        for (int i = 0; i < values; i++, p += i < values)
            if (!factor_number(&p, i < values - 1 ? ":" : ";", &number))
                return false;
        if (!*p)
            return true;
    }
}

bool ti_ranks_check(const char *text)
{
    long long ranks;
    double number;

    if (!ti_factors_check(text, 1))
        return false;
    for (const char *p = text; *p;) {
        if (!factor_size(&p, &ranks) || ranks < 1 || !factor_number(&p, ";", &number) ||
            !(number > 0))
            return false;
        p += *p == ';';
    }
    return true;
}

double ti_ranks_value(const char *text, int64_t ranks)
{
    long long below = 0, at = 0;
    double value_below = 0, value_at = 0;

    for (const char *p = text; *p && at < ranks;) {
        below = at;
        value_below = value_at;
        if (!factor_size(&p, &at) || !factor_number(&p, ";", &value_at))
            break;
        p += *p == ';';
    }
    if (at <= ranks || !below)
        return value_at;
    return value_below + (value_at - value_below) * (double)(ranks - below) / (double)(at - below);
}

static const struct key *find(const char *section, const char *name)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (strcmp(section, keys[i].section) == 0 && strcmp(name, keys[i].name) == 0)
            return &keys[i];
    return NULL;
}

/* Store the value; NULL, or what it should have been. */
static const char *take(struct ti_calibration *c, const struct key *k, const char *text)
{
    double *number = value(c, k);
    uint64_t whole;

    switch (k->kind) {
    case NUMBER:
        if (strcmp(text, "0") == 0)
            *number = 0;
        else if (!ti_ini_number(text, number))
            return "a number, such as 2.53G";
        return NULL;
    case WHOLE:
        if (!ti_ini_whole(text, INT64_MAX, &whole))
            return "a whole number";
        *(int64_t *)value(c, k) = (int64_t)whole;
        return NULL;
    case COSTS:
        if (!ti_factors_check(text, 2))
            return "SIZE:STARTUP:PERBYTE;..., with sizes in ascending order";
        break;
    case FACTORS:
        if (!ti_factors_check(text, 1))
            return "SIZE:FACTOR;..., with sizes in ascending order";
        break;
    case RANKS:
        if (!ti_ranks_check(text))
            return "RANKS:VALUE;..., with numbers of ranks in ascending order from 1 on, and "
                   "values above 0";
        break;
    case TEXT:
        break;
    }
    free(*(char **)value(c, k));
    *(char **)value(c, k) = strdup(text);
    return NULL;
}

static void parse_key(struct ti_ini *ini, const struct ti_ini_section *s,
                      const struct ti_ini_key *key, struct ti_calibration *out)
{
    const struct key *k = find(s->kind, key->name);
    const char *wrong;
    char shown[64];

    if (ti_ini_given_before(ini, s, key))
        return;
    if (!k)
        ti_ini_error(ini, key->at, "[%s] has no key '%s'", s->kind, ti_ini_show(key->name, shown));
    else if (!key->value[0])
        ti_ini_error(ini, key->at, "'%s' has no value", key->name);
    else if ((wrong = take(out, k, key->value)))
        ti_ini_error(ini, ti_ini_at(key, 0), "%s is %s, not '%s'", k->name, wrong,
                     ti_ini_show(key->value, shown));
}

static void parse_sections(struct ti_ini *ini, struct ti_calibration *out)
{
    for (int i = 0; i < ini->nsections; i++) {
        const struct ti_ini_section *s = &ini->section[i];

        for (int before = 0; before < i; before++)
            if (strcmp(ini->section[before].kind, s->kind) == 0) {
                ti_ini_error(ini, s->at, "'[%s]' was there before, in line %d", s->kind,
                             ini->section[before].at.line);
                break;
            }
        for (int k = 0; k < s->nkeys; k++)
            parse_key(ini, s, &s->key[k], out);
    }
    if (!ini->nsections)
        ti_ini_missing(ini, (struct ti_ini_pos){1, 1},
                       "there is neither a [host] nor a [network] in it");
}

/* Report zeros in keys that are divisors: speed, bandwidth, bandwidth_factor. */
static void check_zeros(struct ti_ini *ini, const struct ti_calibration *c)
{
    struct ti_ini_pos top = {1, 1};

    if (c->host.speed == 0 || c->network.bandwidth == 0)
        ti_ini_error(ini, top, "speed and bandwidth must be above 0");
    for (const char *p = c->network.bandwidth_factor; p; p = strchr(p, ';')) {
        p += *p == ';';
        if (strtod(strchr(p, ':') + 1, NULL) == 0) {
            ti_ini_error(ini, top, "a bandwidth_factor must be above 0");
            break;
        }
    }
}

ti_status ti_calibration_read(const char *path, struct ti_calibration *out, char **more,
                              struct ti_err *err)
{
    struct ti_ini *ini = NULL;
    ti_status st;

    if (more)
        *more = NULL;
    ti_calibration_init(out);
    st = ti_ini_read(path, &grammar, &ini, err);
    if (st)
        return st;
    parse_sections(ini, out);
    check_zeros(ini, out);
    st = ti_ini_conclude(ini, FINDINGS_SHOWN, more, err);
    ti_ini_free(ini);
    return st;
}

/* ----------------------------------------------------------------- write -- */

/* Write text; characters that would end the value or begin a comment become '?'. */
static void put_text(FILE *f, const char *text)
{
    for (char before = ' '; *text; before = *text++) {
        bool comment = before == ' ' && (*text == '#' || *text == ';');

        fputc((unsigned char)*text < ' ' || comment ? '?' : *text, f);
    }
}

static void put(FILE *f, const struct ti_calibration *c, const struct key *k, const char **section)
{
    const char *text = is_text(k->kind) ? *(char *const *)value_of(c, k) : NULL;
    double number = k->kind == NUMBER  ? *(const double *)value_of(c, k)
                    : k->kind == WHOLE ? (double)*(const int64_t *)value_of(c, k)
                                       : -1;

    if ((!text || !*text) && !(number >= 0))
        return;
    if (!*section || strcmp(*section, k->section) != 0)
        fprintf(f, "\n[%s]\n", k->section);
    *section = k->section;
    fprintf(f, "%s = ", k->name);
    if (text)
        put_text(f, text);
    else if (k->kind == WHOLE)
        fprintf(f, "%" PRId64, *(const int64_t *)value_of(c, k));
    else
        fprintf(f, "%.9g", number);
    fputc('\n', f);
}

ti_status ti_calibration_write(const char *path, const struct ti_calibration *c, const char *title,
                               struct ti_err *err)
{
    FILE *f = ti_ini_create(path, title, err);
    const char *section = NULL;

    if (!f)
        return TI_ERR_IO;
    for (size_t i = 0; i < NKEYS; i++)
        put(f, c, &keys[i], &section);
    return ti_ini_finish(f, path, err);
}
