/* The public functions of libtiara, over any bytes: a rank file, a merged trace, or a bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/tiara.h"
#include "event/columns.h"
#include "tests/fuzz/fuzz.h"

#define RANKS_READ  16
#define EVENTS_READ (1u << 16)
#define NODES_READ  (1u << 12)

static struct tiara_error err;

/* Calls what the header promises of a rank; aborts where two ways give different events.  Returns
 * whether it was read to its end: a trace of few bytes may claim 2^32 events. */
static bool read_rank(struct tiara_trace *t, int64_t rank)
{
    int64_t record[4], filled;
    static const struct tiara_member member[] = {{TIARA_READ_OP, 0},
                                                 {TIARA_READ_VOLUME, 8},
                                                 {TIARA_READ_FIELD + TIARA_BYTES, 16},
                                                 {TIARA_READ_WORLD + TIARA_PEER, 24}};
    const struct tiara_event *ev;
    struct tiara_rank *r, *again;
    const char *key, *value;
    uint64_t events, volume;
    struct tiara_comm comm;
    bool complete;
    int more = 1;

    if (tiara_rank_open(t, rank, TIARA_EXTRAS, &r, &err))
        return false;
    if (tiara_rank_open(t, rank, 0, &again, &err))
        abort();
    for (int i = 0; i < tiara_rank_extras(r); i++)
        if (!tiara_rank_extra_name(r, i) || !tiara_rank_extra_unit(r, i))
            abort();
    for (unsigned n = 0; n < EVENTS_READ && (more = tiara_next(r, &ev, &err)) > 0; n++) {
        filled = tiara_read(again, member, 4, record, sizeof record, 1, &err);
        /* damage in an extra column may end the one and not the other, never the other way round */
        if (filled != 1 || record[0] != (int64_t)ev->op || (uint64_t)record[1] != ev->volume ||
            record[3] != tiara_rank_world(r, TIARA_PEER) || !tiara_op_name(ev->op))
            abort();
        for (int v = 0; v < 2; v++)
            if (ev->vector[v].length)
                tiara_vector_at(&ev->vector[v], ev->vector[v].length - 1);
        if (n < 64 && (!tiara_event_text(r) || !tiara_rank_source(r, ev->site)))
            abort();
        if (ev->fields >> TIARA_COMM & 1)
            tiara_rank_comm(r, ev->value[TIARA_COMM], &comm);
        if (ev->fields >> TIARA_CALL & 1)
            tiara_rank_name(r, TIARA_CALL, ev->value[TIARA_CALL]);
    }
    tiara_rank_end_text(r);
    if (tiara_seek(r, 3, &err) > 0)
        tiara_next(r, &ev, &err);
    tiara_rank_totals(again, &events, &volume, &complete, &err);
    for (int i = 0; tiara_rank_info_at(again, i, &key, &value); i++)
        if (!key || !value)
            abort();
    tiara_rank_close(again);
    tiara_rank_close(r);
    return more <= 0;
}

static bool count(void *arg, uint64_t volume, uint64_t times)
{
    (void)volume;
    (void)times;
    return ++*(unsigned *)arg < EVENTS_READ;
}

static void read_shape(struct tiara_trace *t, int64_t rank)
{
    struct tiara_shape *s;

    if (tiara_shape_open(t, rank, &s, &err))
        return;
    for (uint32_t i = 0; i < tiara_shape_nodes(s) && i < NODES_READ; i++) {
        struct tiara_stats stats;
        struct tiara_node node;
        unsigned n = 0;

        if (tiara_shape_node(s, i, &node, &err))
            break;
        if (node.end <= i || node.end > tiara_shape_nodes(s) || !tiara_shape_name(s, i))
            abort();
        for (int field = 0; !node.is_loop && field < tiara_fields(); field++)
            if (!tiara_shape_field(s, i, field, &stats, &err) && !(node.fields >> field & 1))
                abort();
        if (!node.is_loop)
            tiara_shape_volumes(s, i, count, &n, &err);
    }
    tiara_shape_close(s);
}

static void read_group(struct tiara_trace *t, uint32_t group)
{
    struct tiara_group *g;
    struct tiara_part part;
    size_t n;

    if (tiara_group_open(t, group, &g, &err))
        return;
    tiara_group_ranges(g, &n);
    for (size_t i = 0; i < NODES_READ && tiara_group_part(g, i, &part); i++)
        if (tiara_group_size(g) <= RANKS_READ) {
            int64_t value[RANKS_READ];

            tiara_group_values(g, i, 1, value, &err);
        }
    tiara_group_close(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    struct tiara_trace *t;
    const char *json;
    char path[64];
    int64_t read = 0;
    int fd;

    if (!copy)
        return 0;
    if (bytes)
        memcpy(copy, data, bytes);
    ti_fuzz_repair(copy, bytes);
    fd = ti_fuzz_file(copy, bytes);
    free(copy);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tiara_open(path, &t, &err) == TIARA_OK) {
        tiara_manifest(t, &json, &err);
        for (int64_t rank = 0; rank < tiara_ranks(t) && read < RANKS_READ; rank++) {
            if (!tiara_has(t, rank))
                continue;
            read++;
            if (read_rank(t, rank) || tiara_groups(t))
                read_shape(t, rank); /* folds it, if it is not stored so */
        }
        for (uint32_t group = 0; group < tiara_groups(t) && group < RANKS_READ; group++)
            read_group(t, group);
        tiara_close(t);
    } else if (!err.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}
