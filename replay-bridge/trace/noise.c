#include "replay-bridge/trace/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

/* A factor holds for all bursts of a node or of a core, or for one burst. */
enum { NODE, CORE, BURST };

/* ---- the option ---- */

static ti_status parse_share(const char *text, double *out, struct ti_err *err)
{
    char *end;
    double value = strtod(text, &end);

    if (*end == '%') {
        value /= 100;
        end++;
    }
    if (end == text || *end || !(value >= 0 && value <= TI_NOISE_MOST))
        return ti_err_set(err, TI_ERR_USAGE,
                          "--noise: '%s' is not a standard deviation from 0 to %d00%%", text,
                          TI_NOISE_MOST);
    *out = value;
    return TI_OK;
}

static ti_status parse_part(const char *part, struct ti_noise *out, struct ti_err *err)
{
    if (!strcmp(part, "calibration"))
        out->calibration = true;
    else if (!strcmp(part, "rate"))
        out->rate = true;
    else if (!strncmp(part, "node:", 5))
        return parse_share(part + 5, &out->node, err);
    else if (!strncmp(part, "core:", 5))
        return parse_share(part + 5, &out->core, err);
    else
        return parse_share(part + (strncmp(part, "burst:", 6) ? 0 : 6), &out->burst, err);
    return TI_OK;
}

ti_status ti_noise_parse(const char *text, struct ti_noise *out, struct ti_err *err)
{
    char copy[256], *part = copy, *comma;
    uint64_t seed = out->seed;
    ti_status st;

    *out = TI_NOISE_NONE;
    out->seed = seed;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return ti_err_set(err, TI_ERR_USAGE, "--noise: '%.40s...' is too long", text);
    do {
        comma = strchr(part, ',');
        if (comma)
            *comma = '\0';
        st = parse_part(part, out, err);
        part = comma ? comma + 1 : NULL;
    } while (!st && part);
    if (st)
        ti_err_hint(err, "--noise 3%%, or some of node:1%%,core:2%%,burst:3%%; rate or calibration "
                         "takes it from the file of that option");
    else if (out->rate && out->burst >= 0)
        st = ti_err_set(err, TI_ERR_USAGE,
                        "--noise: 'rate' and a number both say how much bursts vary");
    return st;
}

bool ti_noise_any(const struct ti_noise *n)
{
    return n->rate || n->burst > 0 || n->core > 0 || n->node > 0;
}

void ti_noise_text(const struct ti_noise *n, char out[TI_NOISE_TEXT_BYTES])
{
    const struct {
        const char *name;
        double value;
    } part[] = {{"node", n->node}, {"core", n->core}, {"burst", n->rate ? 0 : n->burst}};
    size_t used = (size_t)snprintf(out, TI_NOISE_TEXT_BYTES, "%s", n->rate ? "rate" : "");

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].value > 0)
            used += (size_t)snprintf(out + used, TI_NOISE_TEXT_BYTES - used, "%s%s:%.17g",
                                     used ? "," : "", part[i].name, part[i].value);
}

/* ---- the factors ---- */

static uint64_t mix(uint64_t z)
{
    return ti_random(&z);
}

/* A number of the log-normal distribution with mean 1, by the method of Box and Muller. */
static double draw(const struct ti_noise *n, double deviation, int what, uint64_t a, uint64_t b)
{
    uint64_t key = mix(mix(mix(n->seed ^ mix((uint64_t)what)) ^ a) ^ b);
    double u = ((double)(mix(key) >> 11) + 0.5) / 9007199254740992.0;
    double v = (double)(mix(~key) >> 11) / 9007199254740992.0;
    double variance = log1p(deviation * deviation);

    return exp(sqrt(variance) * sqrt(-2 * log(u)) * cos(2 * M_PI * v) - variance / 2);
}

static uint64_t hash_of(const char *host)
{
    uint64_t hash = 0;

    for (; *host; host++)
        hash = mix(hash ^ (unsigned char)*host);
    return hash;
}

double ti_noise_lasting(const struct ti_noise *n, int64_t rank, const char *host)
{
    double factor = n->core > 0 ? draw(n, n->core, CORE, (uint64_t)rank, 0) : 1;

    return n->node > 0 ? factor * draw(n, n->node, NODE, hash_of(host), 0) : factor;
}

double ti_noise_burst(const struct ti_noise *n, double deviation, int64_t rank, uint64_t index)
{
    return deviation > 0 ? draw(n, deviation, BURST, (uint64_t)rank, index) : 1;
}
