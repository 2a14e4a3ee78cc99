/*
 * The writer and the reader alone, on events as LU makes them.
 *
 *   codec FILE [EVENTS [NOISE]]
 *
 * Volumes are the same in every iteration, or, with NOISE, off by up to NOISE
 * parts in 1000.  Prints the median of 7 of: ns of CPU time an event to write
 * (compression and file included) and to read; then the events' bytes an action,
 * an event being two actions.  FILE is created and removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/writer.h"

#define TURNS 7
#define PLANES 64
#define STEP (8 + 2 * PLANES * 4 + 1) /* events of a time step */

static const uint8_t run_id[TI_RUN_ID_BYTES] = "codec";
static struct ti_writer *writer;
static uint32_t site[32];
static unsigned noise; /* parts in 1000 */
static uint64_t rng = 88172645463325252u;

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static uint64_t disturbed(uint64_t volume)
{
    if (!noise)
        return volume;
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return volume + rng % (volume * noise / 1000 + 1);
}

static void message(enum ti_op op, int where, int64_t peer, int64_t tag, int64_t bytes, int64_t req,
                    uint64_t volume)
{
    struct ti_event ev;

    ev.volume = disturbed(volume);
    ev.op = op;
    ev.site = site[where];
    ev.mask = TI_M_P2P | (req >= 0 ? TI_M_REQ : 0);
    ev.arg[TI_F_COMM] = 0;
    ev.arg[TI_F_PEER] = peer;
    ev.arg[TI_F_TAG] = tag;
    ev.arg[TI_F_BYTES] = bytes;
    ev.arg[TI_F_ESIZE] = 8;
    ev.arg[TI_F_REQ] = req;
    ev.vec[0].len = ev.vec[1].len = 0;
    ti_writer_event(writer, &ev);
}

static void other(enum ti_op op, int where, uint32_t mask, const int64_t *args, uint64_t volume)
{
    struct ti_event ev;

    ev.volume = disturbed(volume);
    ev.op = op;
    ev.site = site[where];
    ev.mask = mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        ev.arg[__builtin_ctz(rest)] = *args++;
    ev.vec[0].len = ev.vec[1].len = 0;
    ti_writer_event(writer, &ev);
}

/* The halo of both sides, the two sweeps, a norm. */
static void step(void)
{
    message(TI_OP_IRECV, 0, -1, 3, 163840, 0, 812000);
    message(TI_OP_IRECV, 1, 1, 3, 163840, 1, 130);
    message(TI_OP_SEND, 2, 1, 3, 163840, -1, 61000);
    message(TI_OP_SEND, 3, -1, 3, 163840, -1, 61000);
    for (int i = 0; i < 4; i++)
        other(TI_OP_WAIT, 4 + i % 2, TI_M_REQ, (const int64_t[]){i % 2}, 70);
    for (int sweep = 0; sweep < 2; sweep++)
        for (int k = 0; k < PLANES; k++) {
            int64_t way = sweep ? 1 : -1;

            message(TI_OP_RECV, 8 + sweep * 4, way, 1 + sweep, 640, -1, 450);
            message(TI_OP_RECV, 9 + sweep * 4, 8 * way, 1 + sweep, 640, -1, 260);
            message(TI_OP_SEND, 10 + sweep * 4, -way, 1 + sweep, 640, -1, 203000);
            message(TI_OP_SEND, 11 + sweep * 4, -8 * way, 1 + sweep, 640, -1, 10795);
        }
    other(TI_OP_ALLREDUCE, 20, TI_M_COLL | TI_M_REDOP, (const int64_t[]){0, 40, 8, TI_REDOP_SUM}, 90210);
}

static int fail(const struct ti_err *err)
{
    fprintf(stderr, "codec: %s\n", err->text);
    return 1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    long steps = (argc > 2 ? atol(argv[2]) : 1000000) / STEP;
    double writing[TURNS], reading[TURNS], start;
    uint64_t events = 0, base = 0;
    struct ti_err err = {"", ""};
    struct ti_event ev;
    struct stat sb;

    if (argc < 2 || steps < 1)
        return 2;
    noise = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    for (int turn = -1; turn < TURNS; turn++) { /* -1: an empty trace, for its size */
        static const int world[1] = {0};
        struct ti_reader *r;
        int more;

        unlink(argv[1]);
        start = cpu_ns();
        if (ti_writer_open(argv[1], 0, 1, run_id, &writer, &err))
            return fail(&err);
        ti_writer_info(writer, (const char *const[]){"rank", "0"}, 1);
        ti_writer_comm(writer, 0, 'w', 0, 1, world, 0, NULL);
        for (int i = 0; i < 32; i++)
            site[i] = ti_writer_string(writer, TI_STRING_SITE, "codec+0x0");
        for (long i = 0; turn >= 0 && i < steps; i++)
            step();
        if (ti_writer_close(writer, TI_END_COMPLETE, NULL, 0, &err))
            return fail(&err);
        if (stat(argv[1], &sb) != 0)
            return 1;
        if (turn < 0) {
            base = (uint64_t)sb.st_size;
            continue;
        }
        writing[turn] = cpu_ns() - start;
        start = cpu_ns();
        if (ti_reader_open(argv[1], &r, &err))
            return fail(&err);
        for (events = 0; (more = ti_reader_next(r, &ev, &err)) > 0;)
            events++;
        if (more < 0)
            return fail(&err);
        ti_reader_close(r);
        reading[turn] = cpu_ns() - start;
    }
    unlink(argv[1]);
    qsort(writing, TURNS, sizeof *writing, by_value);
    qsort(reading, TURNS, sizeof *reading, by_value);
    printf("%.1f %.1f %.4f\n", writing[TURNS / 2] / (double)events,
           reading[TURNS / 2] / (double)events,
           (double)((uint64_t)sb.st_size - base) / (2.0 * (double)events));
    return 0;
}
