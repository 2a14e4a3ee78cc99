/*
 * Bytes of a run's traces, and of the same traces as text.
 *
 *   tracebytes RUN          prints: events, bytes of the rank files, bytes of
 *                           the chunks that hold events
 *   tracebytes --text RUN   SimGrid's time-independent actions: for each event
 *                           the burst before it and the call
 *   tracebytes --most KEY RUN   the largest of all ranks' metadata KEY
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "bundle/source.h"
#include "event/columns.h"

static int fail(const struct ti_err *err)
{
    fprintf(stderr, "tracebytes: %s\n", err->text);
    return 1;
}

/* Chunks of events and of their long vectors, headers included. */
static int64_t event_chunks(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t at = TI_HEADER_BYTES, bytes = 0;
    uint8_t h[TI_CHUNK_BYTES];

    while (fd >= 0 && pread(fd, h, sizeof h, at) == (ssize_t)sizeof h) {
        int64_t chunk = TI_CHUNK_BYTES + (int64_t)ti_get_u32(h + 24) + TI_CRC_BYTES;

        if (h[0] == TI_CHUNK_EVT || h[0] == TI_CHUNK_VEC || h[0] == TI_CHUNK_FLD)
            bytes += chunk;
        at += chunk;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

static int64_t value(const struct ti_event *ev, enum ti_field f)
{
    return ev->mask & 1u << f ? ev->arg[f] : 0;
}

static void print_vec(const struct ti_vec *vec)
{
    for (int64_t i = 0; i < vec->len; i++)
        printf(" %" PRId64, ti_vec_at(vec, i));
}

/* As SimGrid's tracing writes it; what it has no action for, in the same way. */
static void print_event(const struct ti_reader *r, const struct ti_event *ev)
{
    uint32_t rank = ti_reader_rank(r);
    int64_t bytes = value(ev, TI_F_BYTES);

    printf("%" PRIu32 " compute %" PRIu64 "\n%" PRIu32 " %s", rank, ev->volume, rank,
           ti_op_info(ev->op)->text);
    if (ev->mask & TI_M_PEER)
        printf(" %" PRId64 " %" PRId64 " %" PRId64,
               ti_reader_world(r, ti_reader_event_comm(r, ev), ev->arg[TI_F_PEER]), value(ev, TI_F_TAG), bytes);
    else if (ev->mask & TI_M_BYTES)
        printf(" %" PRId64, bytes);
    if (ev->mask & TI_M_ROOT)
        printf(" %" PRId64, ev->arg[TI_F_ROOT]);
    if (ev->mask & TI_M_REDOP)
        printf(" 0"); /* the reduction's own computation */
    if (ev->mask & TI_M_REQ && !(ev->mask & TI_M_PEER))
        printf(" %" PRId64, ev->arg[TI_F_REQ]);
    print_vec(&ev->vec[0]);
    print_vec(&ev->vec[1]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    bool text = argc == 3 && strcmp(argv[1], "--text") == 0;
    bool most = argc == 4 && strcmp(argv[1], "--most") == 0;
    int64_t files = 0, chunks = 0, largest = 0;
    uint64_t events = 0;
    struct ti_source *s;
    struct ti_err err;

    if (argc != 2 && !text && !most)
        return 2;
    if (ti_source_open(argv[argc - 1], &s, &err))
        return fail(&err);
    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++) {
        struct ti_reader *r;
        struct ti_event ev;
        char path[4096];
        int more;

        if (ti_source_reader(s, rank, &r, &err))
            return fail(&err);
        while ((more = ti_reader_next(r, &ev, &err)) > 0) {
            events++;
            if (text)
                print_event(r, &ev);
        }
        if (more < 0)
            return fail(&err);
        if (most && ti_reader_info(r, argv[2]) && atoll(ti_reader_info(r, argv[2])) > largest)
            largest = atoll(ti_reader_info(r, argv[2]));
        ti_reader_close(r);
        files += ti_source_bytes(s, rank);
        snprintf(path, sizeof path, "%s/%s", ti_source_path(s), ti_source_name(s, rank));
        chunks += event_chunks(path);
    }
    if (most)
        printf("%" PRId64 "\n", largest);
    else if (!text)
        printf("%" PRIu64 " %" PRId64 " %" PRId64 "\n", events, files, chunks);
    ti_source_close(s);
    return 0;
}
