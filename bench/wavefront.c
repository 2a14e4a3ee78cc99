/*
 * Make the run directory of a wavefront, the pattern of LU, for `make bench B=replay`.
 *
 *   wavefront RANKS STEPS DIR
 *
 * Ranks are a grid as square as can be.  In each step a rank receives from the west and the north,
 * computes, and sends to the east and the south; in every other step the other way round, so that
 * no rank runs far ahead.  In the middle of the steps and at their end there
 * is an allreduce, at the start a broadcast.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "trace/rankname.h"
#include "trace/writer.h"

#define BYTES  2000
#define VOLUME 100000

static struct ti_writer *w;
static int64_t nx, ny;

static void put(uint32_t op, uint64_t volume, uint32_t mask, int64_t peer, int64_t bytes)
{
    struct ti_event ev = {.op = op, .mask = mask, .volume = volume};

    ev.arg[TI_F_PEER] = peer;
    ev.arg[TI_F_BYTES] = bytes;
    ev.arg[TI_F_ESIZE] = 8;
    ev.arg[TI_F_REDOP] = TI_REDOP_SUM;
    ti_writer_event(w, &ev);
}

static void step(int64_t x, int64_t y, bool back)
{
    bool west = x > 0, east = x + 1 < nx, north = y > 0, south = y + 1 < ny;
    int64_t way = back ? -1 : 1;

    if (back ? east : west)
        put(TI_OP_RECV, 0, TI_M_P2P, -way, BYTES);
    if (back ? south : north)
        put(TI_OP_RECV, 0, TI_M_P2P, -way * nx, BYTES);
    if (back ? west : east)
        put(TI_OP_SEND, VOLUME, TI_M_P2P, way, BYTES);
    if (back ? north : south)
        put(TI_OP_SEND, 0, TI_M_P2P, way * nx, BYTES);
}

static void write_rank(const char *dir, int64_t rank, int64_t np, int64_t steps)
{
    static const uint8_t run_id[TI_RUN_ID_BYTES] = {1};
    static const char *const info[] = {"counter", "papi", "unit", "instructions", "exact", "yes"};
    char path[4096], name[64];
    struct ti_err err;

    ti_rank_name(rank, name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (ti_writer_open(path, (uint32_t)rank, (uint32_t)np, run_id, &w, &err) != TI_OK) {
        fprintf(stderr, "wavefront: %s\n", err.text);
        exit(1);
    }
    ti_writer_info(w, info, 3);
    ti_writer_comm(w, 0, TI_KIND_WORLD, rank, np, NULL, 0, NULL);
    ti_writer_comm(w, 1, TI_KIND_SELF, 0, 1, &(int){(int)rank}, 0, NULL);
    put(TI_OP_INIT, 0, TI_M_LEVEL, 0, 0);
    put(TI_OP_BCAST, 0, TI_M_COLL | TI_M_ROOT, 0, 40);
    for (int64_t i = 0; i < steps; i++) {
        step(rank % nx, rank / nx, i % 2);
        if (i == steps / 2 || i + 1 == steps)
            put(TI_OP_ALLREDUCE, 0, TI_M_COLL | TI_M_REDOP, 0, 40);
    }
    put(TI_OP_FINALIZE, 0, 0, 0, 0);
    if (ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err) != TI_OK) {
        fprintf(stderr, "wavefront: %s\n", err.text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    int64_t np = argc == 4 ? atoll(argv[1]) : 0, steps = argc == 4 ? atoll(argv[2]) : 0;

    if (np < 1 || steps < 1 || mkdir(argv[3], 0777) != 0) {
        fprintf(stderr, "usage: wavefront RANKS STEPS DIR (which must not exist)\n");
        return 2;
    }
    for (nx = 1; nx * nx < np || np % nx; nx++)
        ;
    ny = np / nx;
    for (int64_t rank = 0; rank < np; rank++)
        write_rank(argv[3], rank, np, steps);
    return 0;
}
