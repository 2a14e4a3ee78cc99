#include "bundle/node_traces.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/source.h"
#include "common/map.h"
#include "common/scratch.h"
#include "merged/encode.h"
#include "merged/merged.h"

/* Where a merged trace is. */
struct trace {
    int64_t at, bytes;
    char *name;
};

struct place {
    uint32_t trace; /* index + 1; 0: the rank is not here */
    uint32_t crc32c;
    int64_t bytes;
    int32_t from_node;
};

struct ti_node_traces {
    const char *folder;
    int fd;      /* -1: there is no file yet */
    int64_t end; /* of the room that was given */

    pthread_mutex_t lock; /* protects all that follows */
    struct trace *trace;
    size_t ntraces, traces_room;
    struct place *place; /* by rank */
    int64_t nplaces;
    size_t places_room;
    struct ti_merged *open; /* one at a time: a reader has caches */
    uint32_t opened;        /* index + 1 of its trace */
};

struct ti_node_traces *ti_node_traces_new(const char *folder)
{
    size_t room = 0;
    struct ti_node_traces *t = ti_grow(NULL, &room, 1, sizeof *t);

    t->folder = folder;
    t->fd = -1;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void ti_node_traces_free(struct ti_node_traces *t)
{
    if (!t)
        return;
    ti_merged_close(t->open);
    if (t->fd >= 0)
        close(t->fd);
    pthread_mutex_destroy(&t->lock);
    for (size_t i = 0; i < t->ntraces; i++)
        free(t->trace[i].name);
    free(t->trace);
    free(t->place);
    free(t);
}

int64_t ti_node_traces_room(struct ti_node_traces *t, int64_t bytes, int *fd)
{
    int64_t at = t->end;

    if (t->fd < 0)
        t->fd = ti_scratch_unnamed(t->folder, NULL);
    if (t->fd < 0)
        return -1;
    t->end += bytes;
    *fd = t->fd;
    return at;
}

void ti_node_traces_give_back(struct ti_node_traces *t, int64_t at, int64_t bytes)
{
    (void)fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes);
    if (at + bytes == t->end)
        t->end = at;
}

static void make_places(struct ti_node_traces *t, int64_t rank)
{
    if (rank < t->nplaces)
        return;
    t->place = ti_grow(t->place, &t->places_room, (size_t)rank + 1, sizeof *t->place);
    t->nplaces = (int64_t)t->places_room;
}

static void close_trace(struct ti_node_traces *t)
{
    ti_merged_close(t->open);
    t->open = NULL;
    t->opened = 0;
}

/* Let trace `i` be the open one. */
static ti_status open_trace(struct ti_node_traces *t, uint32_t i, struct ti_err *err)
{
    const struct trace *trace = &t->trace[i];

    if (t->opened == i + 1)
        return TI_OK;
    close_trace(t);
    if (ti_merged_open(t->fd, trace->at, trace->bytes, trace->name, &t->open, err) != TI_OK)
        return TI_ERR_INPUT;
    t->opened = i + 1;
    return TI_OK;
}

ti_status ti_node_traces_add(struct ti_node_traces *t, const char *name, int64_t at, int64_t bytes,
                             const struct ti_node_rank *rank, int64_t n, struct ti_err *err)
{
    ti_status st;

    pthread_mutex_lock(&t->lock);
    t->trace = ti_grow(t->trace, &t->traces_room, t->ntraces + 1, sizeof *t->trace);
    t->trace[t->ntraces] = (struct trace){at, bytes, strdup(name)};
    st = t->trace[t->ntraces].name ? open_trace(t, (uint32_t)t->ntraces, err)
                                   : ti_err_set(err, TI_ERR_IO, "cannot read '%s'", name);
    for (int64_t i = 0; st == TI_OK && i < n; i++)
        if (!ti_merged_has(t->open, rank[i].rank))
            st = ti_err_set(err, TI_ERR_INPUT, "'%s' lacks rank %lld", name,
                            (long long)rank[i].rank);
    for (int64_t i = 0; st == TI_OK && i < n; i++) {
        make_places(t, rank[i].rank);
        t->place[rank[i].rank] = (struct place){(uint32_t)t->ntraces + 1, rank[i].crc32c,
                                                rank[i].bytes, rank[i].from_node};
    }
    if (st == TI_OK) {
        t->ntraces++;
    } else {
        close_trace(t);
        free(t->trace[t->ntraces].name);
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

void ti_node_traces_forget(struct ti_node_traces *t, int64_t rank)
{
    pthread_mutex_lock(&t->lock);
    if (rank < t->nplaces)
        t->place[rank].trace = 0;
    pthread_mutex_unlock(&t->lock);
}

bool ti_node_traces_has(struct ti_node_traces *t, int64_t rank, struct ti_node_rank *out)
{
    bool has;

    if (!t)
        return false;
    pthread_mutex_lock(&t->lock);
    has = rank < t->nplaces && t->place[rank].trace;
    if (has && out)
        *out = (struct ti_node_rank){rank, t->place[rank].bytes, t->place[rank].crc32c,
                                     t->place[rank].from_node};
    pthread_mutex_unlock(&t->lock);
    return has;
}

int64_t ti_node_traces_next(struct ti_node_traces *t, int64_t rank)
{
    int64_t last;

    if (!t)
        return -1;
    pthread_mutex_lock(&t->lock);
    while (rank < t->nplaces && !t->place[rank].trace)
        rank++;
    last = t->nplaces;
    pthread_mutex_unlock(&t->lock);
    return rank < last ? rank : -1;
}

/* Read the record of a rank, and open a reader of it.  Where `keep` is NULL, the record belongs to
 * the reader, else to the caller, who keeps it longer than the reader. */
static ti_status open_rank(struct ti_node_traces *t, int64_t rank, struct ti_record *keep,
                           struct ti_reader **out, struct ti_err *err)
{
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct ti_record record;
    const char *name = "";
    uint32_t nranks = 0;
    ti_status st;

    pthread_mutex_lock(&t->lock);
    if (rank < t->nplaces && t->place[rank].trace)
        st = open_trace(t, t->place[rank].trace - 1, err);
    else
        st = ti_err_set(err, TI_ERR_INPUT, "rank %lld is not wanted any more", (long long)rank);
    if (st == TI_OK)
        st = ti_merged_record(t->open, rank, &record, err);
    if (st == TI_OK) {
        nranks = ti_merged_nranks(t->open);
        memcpy(run_id, ti_merged_run_id(t->open), sizeof run_id);
        name = t->trace[t->place[rank].trace - 1].name;
    }
    pthread_mutex_unlock(&t->lock);
    if (st != TI_OK)
        return st;
    if (keep) {
        *keep = record;
        record.memory = NULL;
    }
    st = ti_reader_open_record(&record, nranks, run_id, name, out, err);
    if (st != TI_OK && keep)
        ti_record_free(keep);
    return st;
}

ti_status ti_node_traces_reader(struct ti_node_traces *t, int64_t rank, struct ti_reader **out,
                                struct ti_err *err)
{
    return open_rank(t, rank, NULL, out, err);
}

ti_status ti_node_traces_record(struct ti_node_traces *t, int64_t rank,
                                const struct ti_qualities *q, struct ti_record *out,
                                struct ti_err *err)
{
    struct ti_record exact;
    struct ti_reader *r;
    ti_status st = open_rank(t, rank, &exact, &r, err);
    bool enough;

    if (st != TI_OK)
        return st;
    enough = ti_source_is_enough(r, q);
    if (!enough)
        st = ti_folded_encode(r, q, out, err);
    ti_reader_close(r);
    if (enough)
        *out = exact;
    else
        ti_record_free(&exact);
    return st;
}
