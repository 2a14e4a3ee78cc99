#include "replay-bridge/calibrate/network.h"

#include <math.h>

#define ENVELOPE 16   /* bytes that SMPI adds to each message */
#define LEAST    0.02 /* minimum share of the network in a half round trip */
#define FASTEST  1e15 /* bytes per second, if the time does not grow with the size */

static const char *const names[TI_PARTS] = {"os", "ois", "or", "network"};

/* Seconds of a part; 0 if the samples have no times of it. */
static double cost(const struct ti_network *n, enum ti_network_part part, double size)
{
    return n->n[part] ? ti_fit_at(n->segment[part], n->n[part], size) : 0;
}

double ti_network_half(const struct ti_network *n, int64_t eager, double size)
{
    double t = cost(n, TI_PART_NETWORK, size + ENVELOPE);

    if (size <= (double)eager)
        t += cost(n, TI_PART_OS, size) + cost(n, TI_PART_OR, size);
    return t;
}

static ti_status fit_part(const struct ti_samples *s, enum ti_sample_kind kind, int most,
                          struct ti_network *out, enum ti_network_part part, struct ti_err *err)
{
    struct ti_fit_point point[TI_FIT_POINTS_MAX];
    int n = s->n[kind] < TI_FIT_POINTS_MAX ? s->n[kind] : TI_FIT_POINTS_MAX;

    for (int i = 0; i < n; i++)
        point[i] = (struct ti_fit_point){s->timed[kind][i].size, s->timed[kind][i].seconds.median,
                                         s->timed[kind][i].seconds.median};
    if (!n)
        return TI_OK;
    return ti_fit(point, n, kind == TI_SAMPLE_ISEND ? (double)s->eager + 1 : 0, most,
                  out->segment[part], &out->n[part], err);
}

static double half_of(const struct ti_samples *s, double size)
{
    for (int i = 0; i < s->n[TI_SAMPLE_HALF_TRIP]; i++)
        if (s->timed[TI_SAMPLE_HALF_TRIP][i].size == size)
            return s->timed[TI_SAMPLE_HALF_TRIP][i].seconds.median;
    return INFINITY;
}

/*
 * A receive is timed alone, but in a round trip part of it overlaps with the transfer.  So its time
 * is limited such that the send and the receive leave the share LEAST to the network.
 */
static ti_status fit_receive(const struct ti_samples *s, int most, struct ti_network *out,
                             struct ti_err *err)
{
    struct ti_fit_point point[TI_FIT_POINTS_MAX];
    int n = 0;

    for (int i = 0; i < s->n[TI_SAMPLE_RECV] && n < TI_FIT_POINTS_MAX; i++) {
        const struct ti_timing *t = &s->timed[TI_SAMPLE_RECV][i];
        double room = (1 - LEAST) * half_of(s, t->size) - cost(out, TI_PART_OS, t->size);
        double seconds = fmax(0, fmin(t->seconds.median, room));

        out->cut = out->cut || seconds < t->seconds.median;
        point[n++] = (struct ti_fit_point){t->size, seconds, t->seconds.median};
    }
    return n ? ti_fit(point, n, 0, most, out->segment[TI_PART_OR], &out->n[TI_PART_OR], err)
             : TI_OK;
}

/* Fit the network to the half round trips minus the other parts. */
static ti_status fit_network(const struct ti_samples *s, int most, struct ti_network *out,
                             struct ti_err *err)
{
    struct ti_fit_point point[TI_FIT_POINTS_MAX];
    int n = 0;

    for (int i = 0; i < s->n[TI_SAMPLE_HALF_TRIP] && n < TI_FIT_POINTS_MAX; i++) {
        const struct ti_timing *t = &s->timed[TI_SAMPLE_HALF_TRIP][i];
        double others = t->size <= (double)s->eager
                            ? cost(out, TI_PART_OS, t->size) + cost(out, TI_PART_OR, t->size)
                            : 0;

        point[n++] = (struct ti_fit_point){
            t->size + ENVELOPE, fmax(t->seconds.median - others, LEAST * t->seconds.median),
            t->seconds.median};
    }
    return ti_fit(point, n, (double)s->eager + 1 + ENVELOPE, most, out->segment[TI_PART_NETWORK],
                  &out->n[TI_PART_NETWORK], err);
}

static void judge(const struct ti_samples *s, struct ti_network *out)
{
    double sum = 0;

    for (int i = 0; i < s->n[TI_SAMPLE_HALF_TRIP]; i++) {
        const struct ti_timing *t = &s->timed[TI_SAMPLE_HALF_TRIP][i];
        double off = fabs(ti_network_half(out, s->eager, t->size) / t->seconds.median - 1);

        sum += off;
        out->max_error = fmax(out->max_error, off);
    }
    out->mean_error = sum / s->n[TI_SAMPLE_HALF_TRIP];
}

ti_status ti_network_fit(const struct ti_samples *s, int segments, struct ti_network *out,
                         struct ti_err *err)
{
    ti_status st;

    *out = (struct ti_network){0};
    if (!s->n[TI_SAMPLE_HALF_TRIP])
        return ti_err_set(err, TI_ERR_INPUT, "no round trip was measured");
    if ((st = fit_part(s, TI_SAMPLE_SEND, segments, out, TI_PART_OS, err)) ||
        (st = fit_part(s, TI_SAMPLE_ISEND, segments, out, TI_PART_OIS, err)) ||
        (st = fit_receive(s, segments, out, err)) || (st = fit_network(s, segments, out, err)))
        return st;
    judge(s, out);
    return TI_OK;
}

/* ------------------------------------------------------------ calibration -- */

/* In SimGrid a range begins above its number: the first at 0, the others one byte before ours. */
static long range(const struct ti_segment *s, int i)
{
    return i ? (long)s[i].from - 1 : 0;
}

static char *costs(const struct ti_segment *s, int n)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = n ? open_memstream(&text, &bytes) : NULL;

    for (int i = 0; i < n && f; i++)
        fprintf(f, "%s%ld:%.6g:%.6g", i ? ";" : "", range(s, i), s[i].startup, s[i].per_byte);
    if (f)
        fclose(f);
    return text;
}

static double bandwidth(const struct ti_segment *s)
{
    return s->per_byte > 1 / FASTEST ? 1 / s->per_byte : FASTEST;
}

/* SMPI's latency factors, relative to `latency`; if that is 0, bandwidth factors, relative to the
 * bandwidth of the last segment. */
static char *factors(const struct ti_segment *s, int n, double latency)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    for (int i = 0; i < n && f; i++)
        fprintf(f, "%s%ld:%.6g", i ? ";" : "", range(s, i),
                latency > 0 ? s[i].startup / latency : bandwidth(&s[i]) / bandwidth(&s[n - 1]));
    if (f)
        fclose(f);
    return text;
}

ti_status ti_network_calibration(const struct ti_network *n, int64_t eager,
                                 struct ti_calibration *c, struct ti_err *err)
{
    const struct ti_segment *net = n->segment[TI_PART_NETWORK];
    int k = n->n[TI_PART_NETWORK];

    /* The latency is that of a small message, os and or included: they may leave the network next
     * to nothing, and a user who sets another latency means that of a message. */
    c->network.latency = fmax(ti_network_half(n, eager, 1), 1e-9);
    c->network.bandwidth = bandwidth(&net[k - 1]);
    c->network.eager = eager;
    c->network.os = costs(n->segment[TI_PART_OS], n->n[TI_PART_OS]);
    c->network.ois = costs(n->segment[TI_PART_OIS], n->n[TI_PART_OIS]);
    c->network.or = costs(n->segment[TI_PART_OR], n->n[TI_PART_OR]);
    c->network.latency_factor = factors(net, k, c->network.latency);
    c->network.bandwidth_factor = factors(net, k, 0);
    if (!c->network.latency_factor || !c->network.bandwidth_factor)
        return ti_err_errno(err, TI_ERR_IO, "cannot keep the calibration");
    return TI_OK;
}

/* ------------------------------------------------------------------ table -- */

void ti_network_print(const struct ti_network *n, FILE *out)
{
    fprintf(out, "%-8s %10s %12s %12s %6s %8s %8s\n", "part", "from, B", "startup, us", "MB/s",
            "sizes", "error, %", "most, %");
    for (int part = 0; part < TI_PARTS; part++)
        for (int i = 0; i < n->n[part]; i++) {
            const struct ti_segment *s = &n->segment[part][i];
            double from = s->from - (part == TI_PART_NETWORK ? ENVELOPE : 0);

            fprintf(out, "%-8s %10.0f %12.3f ", i ? "" : names[part], i ? from : 0,
                    1e6 * s->startup);
            if (s->per_byte > 1 / FASTEST)
                fprintf(out, "%12.5g", 1e-6 / s->per_byte);
            else
                fprintf(out, "%12s", "-");
            fprintf(out, " %6d %8.1f %8.1f\n", s->points, 100 * s->mean_error, 100 * s->max_error);
        }
    fprintf(out, "half round trips by all parts: error %.1f %%, at most %.1f %%\n",
            100 * n->mean_error, 100 * n->max_error);
}

json_t *ti_network_json(const struct ti_network *n)
{
    json_t *list = json_array();

    for (int part = 0; part < TI_PARTS; part++)
        for (int i = 0; i < n->n[part]; i++) {
            const struct ti_segment *s = &n->segment[part][i];

            json_array_append_new(
                list,
                json_pack("{s:s, s:f, s:f, s:f, s:i, s:f, s:f}", "part", names[part], "from_bytes",
                          i ? s->from - (part == TI_PART_NETWORK ? ENVELOPE : 0) : 0, "startup_s",
                          s->startup, "byte_s", s->per_byte, "sizes", s->points, "error_pct",
                          100 * s->mean_error, "error_most_pct", 100 * s->max_error));
        }
    return json_pack("{s:o, s:b, s:f, s:f}", "segments", list, "or_cut", n->cut, "error_pct",
                     100 * n->mean_error, "error_most_pct", 100 * n->max_error);
}
