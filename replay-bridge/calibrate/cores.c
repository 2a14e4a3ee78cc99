#include "replay-bridge/calibrate/cores.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/order.h"

struct time {
    int node, core;
    double seconds;
};

struct times {
    struct time *time;
    size_t n, room;
};

/* ---- reading ---- */

TI_ORDER_BY_2(by_place, struct time, node, core)

static ti_status read_times(FILE *in, struct times *t, struct ti_err *err)
{
    char *line = NULL, end;
    size_t room = 0;
    ti_status st = TI_OK;

    for (int at = 1; !st && getline(&line, &room, in) >= 0; at++) {
        struct time one;

        if (strncmp(line, "core ", 5) != 0)
            continue;
        if (sscanf(line, "core %d %d %lf %c", &one.node, &one.core, &one.seconds, &end) != 3 ||
            one.node < 0 || one.core < 0 || !(one.seconds > 0) || !isfinite(one.seconds)) {
            st = ti_err_set(err, TI_ERR_INPUT,
                            "line %d of the measured times: no core with a time above 0", at);
            break;
        }
        t->time = ti_grow(t->time, &t->room, t->n + 1, sizeof *t->time);
        t->time[t->n++] = one;
    }
    free(line);
    if (!st && !t->n)
        st = ti_err_set(err, TI_ERR_INPUT, "the times of cores are missing");
    return st;
}

/* ---- variances ---- */

/* Sums of squares of a nested design, and their degrees of freedom. */
struct sums {
    double bursts, cores, nodes, total; /* of squares; total: of times */
    double bursts_free, cores_free;
    double a_time;     /* sum over cores of 1 / times of the core */
    double core_share; /* sum over nodes of 1 / cores of the node */
    double time_share; /* sum over nodes of the variance of its mean, of bursts with variance 1 */
    int64_t cores_n, nodes_n;
};

/* Adds the times of a core; returns their mean. */
static double add_core(struct sums *s, const struct time *time, size_t n)
{
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += time[i].seconds / (double)n;
    for (size_t i = 0; i < n; i++)
        s->bursts += pow(time[i].seconds - mean, 2);
    s->bursts_free += (double)n - 1;
    s->a_time += 1 / (double)n;
    s->cores_n++;
    return mean;
}

/* Adds the cores of a node; returns the mean of their means. */
static double add_node(struct sums *s, const struct time *time, size_t n)
{
    double sum = 0, squares = 0, shares = s->a_time;
    int64_t cores = s->cores_n;

    for (size_t i = 0, end; i < n; i = end) {
        double mean;

        for (end = i; end < n && time[end].core == time[i].core;)
            end++;
        mean = add_core(s, time + i, end - i);
        sum += mean;
        squares += mean * mean;
    }
    cores = s->cores_n - cores;
    shares = s->a_time - shares;
    s->cores += squares - sum * sum / (double)cores;
    s->cores_free += (double)cores - 1;
    s->core_share += 1 / (double)cores;
    s->time_share += shares / (double)(cores * cores);
    s->nodes_n++;
    return sum / (double)cores;
}

static double deviation(double variance, double mean)
{
    return variance > 0 ? sqrt(variance) / mean : 0;
}

/* Estimates by the means of cores and of nodes, all with equal weight. */
static void estimate(const struct times *t, struct ti_calibration *c)
{
    struct sums s = {0};
    double sum = 0, squares = 0, burst, core = 0, node, mean;

    for (size_t i = 0, end; i < t->n; i = end) {
        for (end = i; end < t->n && t->time[end].node == t->time[i].node;)
            end++;
        mean = add_node(&s, t->time + i, end - i);
        sum += mean;
        squares += mean * mean;
    }
    mean = sum / (double)s.nodes_n;
    c->noise.cores = s.cores_n;
    c->noise.nodes = s.nodes_n;
    if (s.bursts_free < 1)
        return;
    burst = s.bursts / s.bursts_free;
    c->noise.burst = deviation(burst, mean);
    if (s.cores_free > 0) {
        core = s.cores / s.cores_free - burst * s.a_time / (double)s.cores_n;
        c->noise.core = deviation(core, mean);
        core = core > 0 ? core : 0;
    }
    if (s.nodes_n > 1) {
        node = (squares - sum * mean) / (double)(s.nodes_n - 1) -
               (core * s.core_share + burst * s.time_share) / (double)s.nodes_n;
        c->noise.node = deviation(node, mean);
    }
}

ti_status ti_cores_read(FILE *in, struct ti_calibration *c, struct ti_err *err)
{
    struct times t = {0};
    ti_status st = read_times(in, &t, err);

    c->noise.burst = c->noise.core = c->noise.node = -1;
    if (!st) {
        qsort(t.time, t.n, sizeof *t.time, by_place);
        estimate(&t, c);
    }
    free(t.time);
    return st;
}

/* ---- output ---- */

void ti_cores_print(const struct ti_calibration *c, FILE *out)
{
    fprintf(out, "equal bursts vary by a standard deviation of");
    if (c->noise.burst < 0)
        fprintf(out, " which nothing is known: there was one of each core\n");
    if (c->noise.burst < 0)
        return;
    fprintf(out, " %.2g %%", 100 * c->noise.burst);
    if (c->noise.core >= 0)
        fprintf(out, ", cores of a node by %.2g %%", 100 * c->noise.core);
    if (c->noise.node >= 0)
        fprintf(out, ", nodes by %.2g %%", 100 * c->noise.node);
    fprintf(out, " (%" PRId64 " core%s, %" PRId64 " node%s)\n", c->noise.cores,
            c->noise.cores == 1 ? "" : "s", c->noise.nodes, c->noise.nodes == 1 ? "" : "s");
}

/* Null for what was not measured. */
static json_t *measured(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

json_t *ti_cores_json(const struct ti_calibration *c)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "burst", measured(c->noise.burst), "core",
                     measured(c->noise.core), "node", measured(c->noise.node), "cores",
                     (json_int_t)c->noise.cores, "nodes", (json_int_t)c->noise.nodes);
}
