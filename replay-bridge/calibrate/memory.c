#include "replay-bridge/calibrate/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/order.h"
#include "common/spread.h"
#include "common/units.h"

enum { EXCHANGE, COPY, KINDS };

static const char *const words[KINDS] = {"exchange", "copy"};

struct time {
    int kind, ranks;
    double size, seconds;
};

struct times {
    struct time *time;
    size_t n, room;
};

TI_ORDER_BY_3(by_kind_ranks_and_size, struct time, kind, ranks, size)

/* Whether the line is a time; *wrong: it begins like one. */
static bool parse(const char *line, struct time *t, bool *wrong)
{
    for (t->kind = 0; t->kind < KINDS; t->kind++) {
        size_t n = strlen(words[t->kind]);
        char end;

        if (strncmp(line, words[t->kind], n) != 0 || line[n] != ' ')
            continue;
        *wrong = sscanf(line + n, "%d %lf %lf %c", &t->ranks, &t->size, &t->seconds, &end) != 3 ||
                 t->ranks < 2 || !(t->size > 0) || !isfinite(t->size) || !(t->seconds > 0) ||
                 !isfinite(t->seconds);
        return !*wrong;
    }
    return false;
}

static ti_status read_times(FILE *in, struct times *t, struct ti_err *err)
{
    char *line = NULL;
    size_t room = 0;
    ti_status st = TI_OK;

    for (int at = 1; !st && getline(&line, &room, in) >= 0; at++) {
        struct time one;
        bool wrong = false;

        if (parse(line, &one, &wrong)) {
            t->time = ti_grow(t->time, &t->room, t->n + 1, sizeof *t->time);
            t->time[t->n++] = one;
        } else if (wrong) {
            st = ti_err_set(err, TI_ERR_INPUT,
                            "line %d of the measured times: no ranks and size with a time above 0",
                            at);
        }
    }
    free(line);
    if (!st && !t->n)
        st = ti_err_set(err, TI_ERR_INPUT, "the times of exchanges are missing");
    return st;
}

/* The median over sizes of the bytes a second of a rank, of the times from `from` to those of
 * another kind or number of ranks; *end is the first of these. */
static double bandwidth_of(const struct times *t, size_t from, size_t *end)
{
    size_t room = 0, rates_room = 0;
    double *seconds = NULL, *rates = NULL, median;
    int nrates = 0, n;

    for (*end = from; *end < t->n && t->time[*end].kind == t->time[from].kind &&
                      t->time[*end].ranks == t->time[from].ranks;) {
        double size = t->time[*end].size;

        for (n = 0; *end < t->n && t->time[*end].kind == t->time[from].kind &&
                    t->time[*end].ranks == t->time[from].ranks && t->time[*end].size == size;
             ++*end) {
            seconds = ti_grow(seconds, &room, (size_t)n + 1, sizeof *seconds);
            seconds[n++] = t->time[*end].seconds;
        }
        rates = ti_grow(rates, &rates_room, (size_t)nrates + 1, sizeof *rates);
        rates[nrates++] = size / ti_spread_of(seconds, n).median;
    }
    median = ti_spread_of(rates, nrates).median;
    free(seconds);
    free(rates);
    return median;
}

ti_status ti_memory_read(FILE *in, struct ti_calibration *c, struct ti_err *err)
{
    struct times t = {0};
    ti_status st = read_times(in, &t, err);
    char *text = NULL;
    size_t bytes;
    FILE *f = st ? NULL : open_memstream(&text, &bytes);

    if (f) {
        qsort(t.time, t.n, sizeof *t.time, by_kind_ranks_and_size);
        for (size_t i = 0, end; i < t.n; i = end) {
            double bandwidth = bandwidth_of(&t, i, &end);

            if (t.time[i].kind == COPY)
                c->network.copy = bandwidth;
            else
                fprintf(f, "%s%d:%.6g", i ? ";" : "", t.time[i].ranks, t.time[i].ranks * bandwidth);
        }
        fclose(f);
        free(c->network.shared);
        c->network.shared = text;
    } else if (!st) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot keep the times of exchanges");
    }
    free(t.time);
    return st;
}

void ti_memory_print(const struct ti_calibration *c, FILE *out)
{
    char text[TI_UNIT_BYTES_MOST];

    fprintf(out, "large messages within a node, both ways at once:");
    for (const char *p = c->network.shared; p && *p; p++) {
        char *end;
        long ranks = strtol(p, &end, 10);
        double all = strtod(end + 1, &end);

        fprintf(out, "%s %ld ranks %s in all", p == c->network.shared ? "" : ",", ranks,
                ti_unit_format(all, TI_UNIT_BANDWIDTH, text, sizeof text));
        p = end;
        if (!*p)
            break;
    }
    fprintf(out, "; a rank copies %s\n",
            ti_unit_format(c->network.copy, TI_UNIT_BANDWIDTH, text, sizeof text));
}
