#include "replay-bridge/sweep/sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/* Options whose values have commas, so that only '|' separates these. */
static const char *const with_commas[] = {"topology", "bandwidth",  "latency", "loopback",
                                          "wan",      "cfg",        "start",   "noise",
                                          "trips",    "contention", "watts",   "disk"};
/* Options that select an action or an output rather than the simulation. */
static const char *const not_swept[] = {
    "sweep",     "list",          "jobs",    "output", "keep",     "timeline",    "lint",
    "quiet",     "show-platform", "verbose", "json",   "progress", "no-progress", "runs",
    "tolerance", "width",         "runner",  "versus", "scaling"};

#define IS_IN(list, name) is_in(list, sizeof list / sizeof *list, name)

static bool is_in(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name))
            return true;
    return false;
}

bool ti_sweep_passes(const struct ti_opt *opt)
{
    return !IS_IN(not_swept, opt->name);
}

/* Whether a comma of `text` is followed by a letter.  In a topology, commas stand only between
 * numbers. */
static bool begins_word(const char *text)
{
    while ((text = strchr(text, ',')))
        if (isalpha((unsigned char)*++text))
            return true;
    return false;
}

#define COMMAS_MOST 64 /* of a value that is looked at for a hint */

/* Whether `value` is several values of the option, with commas between them. */
static bool is_list(const struct ti_opt *opt, const char *value, const struct ti_sweep_judge *judge)
{
    bool begins[COMMAS_MOST + 2] = {true}; /* a value may begin after so many commas */
    char *copy = strdup(value), *from = copy, *to;
    int commas = 0, i, j;

    if (!copy)
        TI_BUG("out of memory");
    for (const char *p = value; *p; p++)
        commas += *p == ',';
    for (i = 0; commas <= COMMAS_MOST && i <= commas; i++, from = strchr(from, ',') + 1) {
        for (to = from, j = i + 1; begins[i] && j <= commas + 1; j++, to++) {
            char end = *(to += strcspn(to, ","));

            *to = '\0';
            begins[j] = begins[j] || ((i || end) && judge->accepts(opt, from, judge->arg));
            *to = end;
        }
        if (i == commas)
            break;
    }
    free(copy);
    return commas <= COMMAS_MOST && begins[commas + 1];
}

/* Whether the commas of the only value of a choice were probably meant to separate values. */
static bool is_meant_as_list(const struct ti_choice *c, const struct ti_sweep_judge *judge)
{
    const char *value = c->value.n == 1 ? c->value.v[0] : "";

    if (!judge)
        return strchr(value, ',') != NULL;
    return is_list(c->opt, value, judge) ||
           (!strcmp(c->opt->name, "topology") && begins_word(value));
}

void ti_sweep_hint(const struct ti_sweep *sweep, const struct ti_sweep_judge *judge,
                   struct ti_err *err)
{
    char old[sizeof err->hint];

    snprintf(old, sizeof old, "%s", err->hint);
    for (size_t c = 0; c < sweep->n; c++) {
        const struct ti_choice *choice = &sweep->choice[c];

        if (!is_meant_as_list(choice, judge))
            continue;
        ti_err_hint(err,
                    "a value of %s may have commas, so '|' separates its values: --sweep "
                    "'%s=VALUE|VALUE'%s%s",
                    choice->opt->name, choice->opt->name, *old ? "; " : "", old);
        return;
    }
}

void ti_sweep_free(struct ti_sweep *sweep)
{
    for (size_t c = 0; c < sweep->n; c++)
        ti_args_free(&sweep->choice[c].value);
    free(sweep->choice);
    *sweep = (struct ti_sweep){0};
}

int64_t ti_sweep_points(const struct ti_sweep *sweep)
{
    int64_t n = 1;

    for (size_t c = 0; c < sweep->n; c++)
        n *= sweep->choice[c].value.n;
    return n;
}

int ti_sweep_index(const struct ti_sweep *sweep, int64_t point, size_t c)
{
    for (size_t later = sweep->n - 1; later > c; later--)
        point /= sweep->choice[later].value.n;
    return (int)(point % sweep->choice[c].value.n);
}

const char *ti_sweep_value(const struct ti_sweep *sweep, int64_t point, size_t c)
{
    return sweep->choice[c].value.v[ti_sweep_index(sweep, point, c)];
}

/* ---- ranges ---- */

struct range {
    const char *begin, *end;  /* text before `begin` and from `end` on is kept */
    int64_t from, to, factor; /* factor 0: each number */
};

static ti_status parse_number(const char **at, int64_t *out, struct ti_err *err)
{
    char digits[32];
    size_t n = strspn(*at, "0123456789");

    snprintf(digits, sizeof digits, "%.*s", (int)n, *at);
    *at += n;
    return ti_parse_int(digits, "--sweep: a range", 0, INT64_MAX, out, err);
}

/* The first ".." between digits; NULL: none. */
static const char *find_dots(const char *value)
{
    for (const char *p = value; (p = strstr(p, "..")); p++)
        if (p > value && isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[2]))
            return p;
    return NULL;
}

/* Parses the numbers around the dots. */
static ti_status read_range(const char *value, const char *dots, struct range *r,
                            struct ti_err *err)
{
    const char *at = dots;
    ti_status st;

    while (at > value && isdigit((unsigned char)at[-1]))
        at--;
    r->begin = at;
    if ((st = parse_number(&at, &r->from, err)))
        return st;
    at = dots + 2;
    if ((st = parse_number(&at, &r->to, err)))
        return st;
    r->factor = 0;
    if (at[0] == 'x' && isdigit((unsigned char)at[1])) {
        at++;
        if ((st = parse_number(&at, &r->factor, err)))
            return st;
        if (r->factor < 2 || !r->from)
            return ti_err_set(err, TI_ERR_USAGE,
                              "--sweep: '%s' goes on for ever: a factor is 2 or more, and the "
                              "range begins at 1 or more",
                              value);
    }
    r->end = at;
    if (r->from > r->to)
        return ti_err_set(err, TI_ERR_USAGE, "--sweep: the range in '%s' goes down", value);
    if (find_dots(at) || *at == '.' || (r->begin > value && r->begin[-1] == '.'))
        return ti_err_set(err, TI_ERR_USAGE,
                          "--sweep: '%s' is not one range FROM..TO of whole numbers", value);
    return TI_OK;
}

static ti_status add_value(struct ti_choice *c, const char *value, struct ti_err *err)
{
    for (int i = 0; i < c->value.n; i++)
        if (!strcmp(c->value.v[i], value))
            return ti_err_set(err, TI_ERR_USAGE, "--sweep: %s has '%s' twice", c->opt->name, value);
    if (c->value.n == TI_SWEEP_POINTS_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "--sweep: more than %d values of %s",
                          TI_SWEEP_POINTS_MAX, c->opt->name);
    ti_args_add(&c->value, value);
    return TI_OK;
}

static ti_status add_expanded(struct ti_choice *c, const char *value, struct ti_err *err)
{
    const char *dots = find_dots(value);
    struct range r;
    ti_status st;

    if (!*value)
        return ti_err_set(err, TI_ERR_USAGE, "--sweep: a value of %s is empty", c->opt->name);
    if (!dots)
        return add_value(c, value, err);
    st = read_range(value, dots, &r, err);
    for (int64_t i = r.from; !st && i <= r.to; i = r.factor ? i * r.factor : i + 1) {
        char *one;

        if (asprintf(&one, "%.*s%lld%s", (int)(r.begin - value), value, (long long)i, r.end) < 0)
            TI_BUG("out of memory");
        st = add_value(c, one, err);
        free(one);
        if (i == INT64_MAX || (r.factor && i > INT64_MAX / r.factor))
            break;
    }
    return st;
}

/* ---- OPTION=VALUES ---- */

static ti_status find_option(const char *text, const struct ti_opt *opts, const struct ti_opt **out,
                             struct ti_err *err)
{
    size_t n = strcspn(text, "=");

    if (!n || text[n] != '=')
        return ti_err_set(err, TI_ERR_USAGE, "--sweep: '%s' is not OPTION=VALUE|VALUE...", text);
    for (; opts->name || opts->help; opts++)
        if (opts->name && strlen(opts->name) == n && !strncmp(opts->name, text, n)) {
            *out = opts;
            if (!opts->arg || !ti_sweep_passes(opts))
                return ti_err_set(err, TI_ERR_USAGE, "--sweep: --%s has no values to choose from",
                                  opts->name);
            return TI_OK;
        }
    return ti_err_set(err, TI_ERR_USAGE, "--sweep: there is no option --%.*s", (int)n, text);
}

/* Splits the values in place at separators, and trims blanks. */
static ti_status add_values(struct ti_choice *c, char *text, struct ti_err *err)
{
    const char *separators = IS_IN(with_commas, c->opt->name) ? "|" : "|,";
    ti_status st = TI_OK;
    bool more = true;

    while (more && !st) {
        char *end = text + strcspn(text, separators), *next = end + 1;

        more = *end != '\0';
        while (isspace((unsigned char)*text))
            text++;
        while (end > text && isspace((unsigned char)end[-1]))
            end--;
        *end = '\0';
        st = add_expanded(c, text, err);
        text = next;
    }
    return st;
}

ti_status ti_sweep_add(struct ti_sweep *sweep, const char *text, const struct ti_opt *opts,
                       struct ti_err *err)
{
    const struct ti_opt *opt = NULL;
    struct ti_choice *choice;
    char *values;
    ti_status st = find_option(text, opts, &opt, err);

    if (st)
        return st;
    for (size_t c = 0; c < sweep->n; c++)
        if (sweep->choice[c].opt == opt)
            return ti_err_set(err, TI_ERR_USAGE, "--sweep %s is given twice", opt->name);
    sweep->choice = ti_grow(sweep->choice, &sweep->cap, sweep->n + 1, sizeof *sweep->choice);
    choice = &sweep->choice[sweep->n++];
    *choice = (struct ti_choice){.opt = opt};
    values = strdup(strchr(text, '=') + 1);
    if (!values)
        TI_BUG("out of memory");
    st = add_values(choice, values, err);
    free(values);
    if (!st && ti_sweep_points(sweep) > TI_SWEEP_POINTS_MAX)
        st = ti_err_set(err, TI_ERR_USAGE, "--sweep: more than %d points", TI_SWEEP_POINTS_MAX);
    return st;
}
