#include "replay-bridge/simulation/messages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/scratch.h"

#define SHORTEST 1e-9 /* seconds of the first slices: the precision of SimGrid's tracing here */

/* ---- counting ---- */

/* Parses "15 TIME TYPE CONTAINER VALUE FROM KEY BYTES".  KEY is SENDER_RECEIVER_TAG_MESSAGE; ranks
 * count from 1. */
static bool parse(const struct ti_messages *m, const char *line, double *time, int64_t *from,
                  int64_t *to, uint64_t *bytes)
{
    long kind;

    return sscanf(line, "%ld %lf %*s %*s %*s %*s %" SCNd64 "_%" SCNd64 "_%*s %" SCNu64, &kind, time,
                  from, to, bytes) == 5 &&
           kind == m->kind && *time >= 0 && --*from >= 0 && *from < m->np && --*to >= 0 &&
           *to < m->np;
}

static struct ti_message_sum *sum_of(struct ti_messages *m, int64_t from, int64_t to, int64_t slice)
{
    int64_t i = ti_map_add(&m->pairs, from, to, slice, 0);

    m->sum = ti_grow(m->sum, &m->room, m->pairs.n, sizeof *m->sum);
    return &m->sum[i];
}

/* Makes slices twice as long until `time` is within them. */
static void widen(struct ti_messages *m, double time)
{
    struct ti_messages wide = {.slice_s = m->slice_s > 0 ? m->slice_s : SHORTEST};
    int64_t factor = 1;

    for (; m->slices && wide.slice_s * (double)m->slices < time; factor *= 2)
        wide.slice_s *= 2;
    for (size_t i = 0; factor > 1 && i < m->pairs.n; i++) {
        const int64_t *key = m->pairs.key[i];
        struct ti_message_sum *to = sum_of(&wide, key[0], key[1], key[2] / factor);

        to->messages += m->sum[i].messages;
        to->bytes += m->sum[i].bytes;
    }
    m->slice_s = wide.slice_s;
    if (factor > 1) {
        ti_messages_free(m);
        m->pairs = wide.pairs;
        m->sum = wide.sum;
        m->room = wide.room;
    }
}

static int64_t slice_at(struct ti_messages *m, double time)
{
    int64_t slice;

    if (!m->slices)
        return 0;
    if (!(time < m->slice_s * (double)m->slices))
        widen(m, time);
    slice = (int64_t)(time / m->slice_s);
    return slice < m->slices ? slice : m->slices - 1;
}

void ti_messages_line(struct ti_messages *m, const char *line)
{
    static const char definition[] = "%EventDef PajeStartLink ";
    struct ti_message_sum *sum;
    int64_t from, to;
    uint64_t bytes;
    double time;

    if (!strncmp(line, definition, strlen(definition)))
        m->kind = strtol(line + strlen(definition), NULL, 10);
    if (!m->kind || !parse(m, line, &time, &from, &to, &bytes))
        return;
    sum = sum_of(m, m->host_of[from], m->host_of[to], slice_at(m, time));
    sum->messages++;
    sum->bytes += bytes;
}

ti_status ti_messages_write(struct ti_messages *m, double seconds, const struct ti_hosts *hosts,
                            const char *name, struct ti_err *err)
{
    FILE *f;
    ti_status st = ti_scratch_create(name, &f, err);

    if (st)
        return st;
    widen(m, seconds);
    for (size_t i = 0; i < m->pairs.n; i++)
        fprintf(f, "%s %s %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
                hosts->list[m->pairs.key[i][0]].name, hosts->list[m->pairs.key[i][1]].name,
                m->pairs.key[i][2], m->sum[i].messages, m->sum[i].bytes);
    return ti_scratch_finish(f, name, TI_OK, err);
}

void ti_messages_free(struct ti_messages *m)
{
    ti_map_free(&m->pairs);
    free(m->sum);
}

/* ---- links ---- */

static int by_use(const void *a, const void *b)
{
    double x = ti_json_number(*(json_t *const *)a, "use"),
           y = ti_json_number(*(json_t *const *)b, "use");

    return x > y ? -1 : x < y;
}

/* Has the bytes of each slice, in which messages begin, follow each other as fast as the link can
 * carry them.  The last slice has the rest. */
static json_t *carried(const struct ti_messages *m, const json_t *link, double seconds)
{
    const json_t *begun = json_object_get(link, "slices");
    size_t n = (size_t)ceil(seconds / m->slice_s);
    double most = json_is_true(json_object_get(link, "shared"))
                      ? ti_json_number(link, "bandwidth") * m->slice_s
                      : INFINITY;
    json_int_t left = 0, now;
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        left += json_integer_value(json_array_get(begun, i));
        now = i + 1 < n && (double)left > most ? (json_int_t)most : left;
        json_array_append_new(list, json_integer(now));
        left -= now;
    }
    return list;
}

json_t *ti_messages_links(const struct ti_messages *m, const char *path, double seconds,
                          struct ti_err *err)
{
    json_error_t why;
    json_t *list = json_load_file(path, 0, &why), *sorted = json_array(), **link;
    size_t n = json_array_size(list), none = 0;

    if (!list) {
        ti_err_set(err, TI_ERR_IO, "cannot read '%s': %s", path, why.text);
        json_decref(sorted);
        return NULL;
    }
    link = ti_grow(NULL, &none, n + 1, sizeof *link);
    for (size_t i = 0; i < n; i++) {
        double most = ti_json_number(json_array_get(list, i), "bandwidth") * seconds;

        link[i] = json_array_get(list, i);
        json_object_set_new(link[i], "use",
                            json_real(most > 0 ? ti_json_number(link[i], "bytes") / most : 0));
        if (m->slices)
            json_object_set_new(link[i], "slices", carried(m, link[i], seconds));
        else
            json_object_del(link[i], "slices");
    }
    qsort(link, n, sizeof *link, by_use);
    for (size_t i = 0; i < n; i++)
        json_array_append(sorted, link[i]);
    free(link);
    json_decref(list);
    return sorted;
}
