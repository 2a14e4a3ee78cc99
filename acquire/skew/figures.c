#include "acquire/skew/figures.h"

#include <math.h>
#include <stdio.h>

/* Print with three significant digits. */
static int number(double v, bool is_signed, char *buf, size_t bytes)
{
    double size = fabs(v);
    int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 4;

    if (size == 0)
        return snprintf(buf, bytes, "0");
    if (size < 0.00095)
        return snprintf(buf, bytes, is_signed ? "%+.1e" : "%.1e", v);
    return snprintf(buf, bytes, is_signed ? "%+.*f" : "%.*f", digits, v);
}

char *ti_spread_text(const struct ti_spread *s, bool is_signed, char *buf, size_t bytes)
{
    char least[32], median[32], most[32];

    number(s->min, is_signed, least, sizeof least);
    number(s->median, is_signed, median, sizeof median);
    number(s->max, is_signed, most, sizeof most);
    if (!s->n)
        snprintf(buf, bytes, "-");
    else if (s->min == s->max)
        snprintf(buf, bytes, "%s", median);
    else
        snprintf(buf, bytes, "%s (%s to %s)", median, least, most);
    return buf;
}

json_t *ti_spread_json(const struct ti_spread *s)
{
    if (!s->n)
        return json_null();
    if (!ti_spread_known(s))
        return json_pack("{s:n, s:f, s:n}", "least", "median", s->median, "most");
    return json_pack("{s:f, s:f, s:f}", "least", s->min, "median", s->median, "most", s->max);
}

static int bin_of(double size)
{
    double at = (log10(size) + TI_DEVIATION_DECADES / 2) * TI_DEVIATION_STEPS;

    return at < 0 ? 0 : at >= TI_DEVIATION_BINS ? TI_DEVIATION_BINS - 1 : (int)at;
}

static double middle_of(int bin)
{
    return pow(10, (bin + 0.5) / TI_DEVIATION_STEPS - TI_DEVIATION_DECADES / 2);
}

void ti_deviations_add(struct ti_deviations *d, double relative)
{
    if (!d->n || relative < d->min)
        d->min = relative;
    if (!d->n || relative > d->max)
        d->max = relative;
    d->n++;
    if (relative == 0)
        d->zero++;
    else
        d->bin[relative > 0][bin_of(fabs(relative))]++;
}

/* Limit a value to the exact extremes. */
static double clamp(const struct ti_deviations *d, double v)
{
    return v < d->min ? d->min : v > d->max ? d->max : v;
}

double ti_deviations_quantile(const struct ti_deviations *d, double q)
{
    uint64_t rank = d->n ? (uint64_t)(q * (double)(d->n - 1) + 0.5) : 0, seen = 0;

    if (!d->n || rank == 0)
        return d->min;
    if (rank >= d->n - 1)
        return d->max;
    for (int bin = TI_DEVIATION_BINS; bin-- > 0;)
        if ((seen += d->bin[0][bin]) > rank)
            return clamp(d, -middle_of(bin));
    if ((seen += d->zero) > rank)
        return 0;
    for (int bin = 0; bin < TI_DEVIATION_BINS; bin++)
        if ((seen += d->bin[1][bin]) > rank)
            return clamp(d, middle_of(bin));
    return d->max;
}
