#include "replay-bridge/simulation/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/scratch.h"

/* ---- counting ---- */

/* Parses "15 TIME TYPE CONTAINER VALUE FROM KEY BYTES".  KEY is SENDER_RECEIVER_TAG_MESSAGE; ranks
 * count from 1. */
static bool parse(const struct ti_messages *m, const char *line, int64_t *from, int64_t *to,
                  uint64_t *bytes)
{
    long kind;

    return sscanf(line, "%ld %*s %*s %*s %*s %*s %" SCNd64 "_%" SCNd64 "_%*s %" SCNu64, &kind, from,
                  to, bytes) == 4 &&
           kind == m->kind && --*from >= 0 && *from < m->np && --*to >= 0 && *to < m->np;
}

void ti_messages_line(struct ti_messages *m, const char *line)
{
    static const char definition[] = "%EventDef PajeStartLink ";
    int64_t from, to, pair;
    uint64_t bytes;

    if (!strncmp(line, definition, strlen(definition)))
        m->kind = strtol(line + strlen(definition), NULL, 10);
    if (!m->kind || !parse(m, line, &from, &to, &bytes))
        return;
    pair = ti_map_add(&m->pairs, m->host_of[from], m->host_of[to], 0, 0);
    m->sum = ti_grow(m->sum, &m->room, m->pairs.n, sizeof *m->sum);
    m->sum[pair].messages++;
    m->sum[pair].bytes += bytes;
}

ti_status ti_messages_write(const struct ti_messages *m, const struct ti_hosts *hosts,
                            const char *name, struct ti_err *err)
{
    FILE *f;
    ti_status st = ti_scratch_create(name, &f, err);

    if (st)
        return st;
    for (size_t i = 0; i < m->pairs.n; i++)
        fprintf(f, "%s %s %" PRIu64 " %" PRIu64 "\n", hosts->list[m->pairs.key[i][0]].name,
                hosts->list[m->pairs.key[i][1]].name, m->sum[i].messages, m->sum[i].bytes);
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

json_t *ti_messages_links(const char *path, double seconds, struct ti_err *err)
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
    }
    qsort(link, n, sizeof *link, by_use);
    for (size_t i = 0; i < n; i++)
        json_array_append(sorted, link[i]);
    free(link);
    json_decref(list);
    return sorted;
}
