#include "replay-bridge/calibrate/samples.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/order.h"

static const char *const words[TI_SAMPLE_KINDS] = {"send", "isend", "recv", "half", "rate"};

struct sample {
    int kind;
    double size, seconds;
};

struct reading {
    struct sample *sample;
    int n;
    size_t room;
    bool ended;
};

TI_ORDER_BY_2(by_kind_and_size, struct sample, kind, size)

/* Parse a number at *p and move *p behind it.  It must be above 0, or 0 if `zero`. */
static bool number(char **p, bool zero, double *out)
{
    char *end;

    while (**p == ' ')
        ++*p;
    if (!isdigit((unsigned char)**p) || tolower((unsigned char)(*p)[1]) == 'x')
        return false;
    errno = 0;
    *out = strtod(*p, &end);
    *p = end;
    return isfinite(*out) && *out <= 1e15 && (*out > 0 || (zero && *out == 0));
}

static bool at_end(const char *p)
{
    return p[strspn(p, " \r\n")] == '\0';
}

static void keep(struct reading *g, const struct sample *s)
{
    g->sample = ti_grow(g->sample, &g->room, (size_t)g->n + 1, sizeof *g->sample);
    g->sample[g->n++] = *s;
}

static ti_status parse_line(struct reading *g, char *line, int at, struct ti_samples *out,
                            struct ti_err *err)
{
    struct sample s = {0};
    size_t word = strcspn(line, " \r\n");
    char *p = line + word;
    double eager;

    if (word == 3 && !strncmp(line, "end", 3)) {
        g->ended = true;
        return TI_OK;
    }
    if (word == 5 && !strncmp(line, "eager", 5)) {
        if (!number(&p, true, &eager) || !at_end(p))
            return ti_err_set(err, TI_ERR_INPUT, "line %d of the measured times: no size", at);
        out->eager = (int64_t)eager;
        return TI_OK;
    }
    while (s.kind < TI_SAMPLE_KINDS &&
           (strlen(words[s.kind]) != word || strncmp(line, words[s.kind], word)))
        s.kind++;
    if (s.kind == TI_SAMPLE_KINDS)
        return TI_OK;
    if (!number(&p, false, &s.size) || !number(&p, false, &s.seconds) || !at_end(p))
        return ti_err_set(err, TI_ERR_INPUT,
                          "line %d of the measured times: no size with a time above 0", at);
    keep(g, &s);
    return TI_OK;
}

/* The end of the samples with the kind and size of sample i. */
static int same(const struct reading *g, int i)
{
    int j = i + 1;

    while (j < g->n && by_kind_and_size(&g->sample[i], &g->sample[j]) == 0)
        j++;
    return j;
}

/* Append an element to the timings of a kind. */
static struct ti_timing *one_more(struct ti_samples *out, int kind)
{
    size_t n = (size_t)out->n[kind]++;

    out->timed[kind] = ti_grow(out->timed[kind], &out->room[kind], n + 1, sizeof *out->timed[kind]);
    return &out->timed[kind][n];
}

static void sum_up(struct reading *g, struct ti_samples *out)
{
    size_t room = 0;
    double *value = ti_grow(NULL, &room, (size_t)g->n + 1, sizeof *value);

    if (g->n)
        qsort(g->sample, (size_t)g->n, sizeof *g->sample, by_kind_and_size);
    for (int i = 0, end; i < g->n; i = end) {
        struct ti_timing *t = one_more(out, g->sample[i].kind);

        end = same(g, i);
        *t = (struct ti_timing){.size = g->sample[i].size};
        for (int k = i; k < end; k++)
            value[k - i] = g->sample[k].seconds;
        t->seconds = ti_spread_of(value, end - i);
    }
    free(value);
}

ti_status ti_samples_read(FILE *in, struct ti_samples *out, struct ti_err *err)
{
    struct reading g = {0};
    ti_status st = TI_OK;
    char *line = NULL;
    size_t room = 0;

    *out = (struct ti_samples){0};
    for (int at = 1; !st && getline(&line, &room, in) >= 0; at++)
        st = parse_line(&g, line, at, out, err);
    free(line);
    if (!st && !g.ended)
        st = ti_err_set(err, TI_ERR_INPUT, "the measured times are cut off");
    if (!st)
        sum_up(&g, out);
    free(g.sample);
    return st;
}

void ti_samples_free(struct ti_samples *s)
{
    for (int i = 0; i < TI_SAMPLE_KINDS; i++)
        free(s->timed[i]);
    *s = (struct ti_samples){0};
}
