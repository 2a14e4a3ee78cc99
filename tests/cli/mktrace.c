/*
 * Make a run directory, for tests of what reads one.
 *
 *   mktrace [OPTION]... DIR
 *     --np N             ranks [4]
 *     --iterations N     of the loop that the ranks pretend to run [3]
 *     --ranks A-B        write these only
 *     --run-id HEX       32 hexadecimal digits
 *     --volume N         added to every volume
 *     --noise N          volumes vary by less than this
 *     --seed N           ... otherwise than with another seed [0]
 *     --bytes N          files of about that size: barriers, as many as it takes, the same
 *                        number in each rank, with much noise
 *     --sites TEXT       module name in the call sites
 *     --build ID         build id in the call sites
 *     --host-ranks N     ranks a host [2]
 *     --counter NAME     [papi]
 *     --exact            the counter is exact
 *     --isa NAME         of the processor [x86-64-v3]
 *     --change RANK:ITERATION     another message size there
 *     --end RANK:NUMBER  how that rank ends (enum ti_end)
 *     --hold RANK        that rank is never closed: as after SIGKILL
 *     --as RANK:NAME     write that rank's file under NAME
 *     --untraced         one call that is not traced
 *     --plain            barriers only
 *     --lean             no call in which all ranks send to all: for many ranks
 *     --times[=N]        extra columns: bursts that last N (2) times as many nanoseconds
 *                        as their volume, calls of 100, and a counter with an odd name
 *     --add WHAT         at the end, something that is not sound, or looks so:
 *                        see add()
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/rankname.h"
#include "trace/writer.h"

static long np = 4, iterations = 3, first = 0, last = -1, extra, noise, host_ranks = 2;
static uint64_t chance, seed;
static long change_rank = -1, change_iteration, end_rank = -1, end_how, hold_rank = -1;
static long as_rank = -1;
static const char *as_name = "", *add_what = "", *sites = "app", *build = "", *counter = "papi",
                  *isa = "x86-64-v3";
static uint8_t run_id[TI_RUN_ID_BYTES] = "0123456789abcde";
static bool untraced, plain, lean, exact;
static uint64_t times; /* 0: none */

static struct ti_writer *w;
static uint32_t site[4];

static void event(uint64_t volume, enum ti_op op, int where, uint32_t mask, const int64_t *args,
                  struct ti_vec v0, struct ti_vec v1)
{
    struct ti_event ev = {0};

    ev.volume = volume + (uint64_t)extra;
    if (noise) {
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ev.volume += (chance >> 33) % (uint64_t)noise;
    }
    ev.op = op;
    ev.site = site[where];
    ev.mask = mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        ev.arg[__builtin_ctz(rest)] = *args++;
    ev.vec[0] = v0;
    ev.vec[1] = v1;
    if (times)
        ti_writer_event_extra(w, &ev,
                              (const uint64_t[]){times * ev.volume, 100, op == TI_OP_ISEND});
    else
        ti_writer_event(w, &ev);
}

/* Arguments in the order of the fields' bits. */
#define ARGS(...) ((const int64_t[]){__VA_ARGS__})
static const struct ti_vec none = {NULL, 8, 0};

static void iterate(long rank, long i)
{
    int64_t right = rank + 1 < np ? 1 : TI_NULL, left = rank > 0 ? -1 : TI_NULL;
    int64_t bytes = 1000 * (i + 1);
    int32_t requests[2] = {0, 1}, *counts = NULL;
    int64_t matched[3] = {0, -1, 7};

    if (rank == change_rank && i == change_iteration)
        bytes += 8;
    counts = lean ? NULL : calloc(2 * (size_t)np, sizeof *counts);
    for (long k = 0; !lean && k < np; k++) {
        counts[k] = (int32_t)(k + i);         /* what the k-th gets */
        counts[np + k] = (int32_t)(rank + i); /* what we get */
    }
    if (rank > 0)
        event(500, TI_OP_IRECV, 1, TI_M_P2P | TI_M_REQ, ARGS(0, TI_ANY, 7, bytes, 8, 0), none,
              none);
    else
        event(500, TI_OP_IRECV, 1, TI_M_P2P | TI_M_REQ, ARGS(0, left, 7, bytes, 8, 0), none, none);
    event(20, TI_OP_ISEND, 1, TI_M_P2P | TI_M_REQ, ARGS(0, right, 7, bytes, 8, 1), none, none);
    event(1000000, TI_OP_WAITALL, 2, TI_M_ALL, ARGS(1), (struct ti_vec){requests, 4, 2},
          rank > 0 ? (struct ti_vec){matched, 8, 3} : none);
    event(1, TI_OP_SENDRECV, 2, TI_M_P2P | TI_M_P2P2 | (rank > 0 ? TI_M_MATCH : 0),
          rank > 0 ? ARGS(0, right, 5, 64, 1, TI_ANY, TI_ANY, 64, 1, -1, 5)
                   : ARGS(0, right, 5, 64, 1, TI_NULL, TI_ANY, 64, 1),
          none, none);
    event(3000, TI_OP_ALLREDUCE, 3, TI_M_COLL | TI_M_REDOP, ARGS(0, 40, 8, TI_REDOP_SUM), none,
          none);
    if (!lean)
        event(7, TI_OP_ALLTOALLV, 3, TI_M_COMM | TI_M_ESIZE | TI_M_ESIZE2, ARGS(0, 4, 4),
              (struct ti_vec){counts, 4, np}, (struct ti_vec){counts + np, 4, np});
    free(counts);
}

static void send_to(long from, long to, int comm, int64_t delta, int64_t bytes, long rank,
                    bool recv)
{
    if (rank == from && !recv)
        event(1, TI_OP_SEND, 1, TI_M_P2P, ARGS(comm, delta, 99, bytes, 1), none, none);
    if (rank == to && recv)
        event(1, TI_OP_RECV, 1, TI_M_P2P, ARGS(comm, -delta, 99, bytes, 1), none, none);
}

static bool is(const char *what)
{
    return strcmp(add_what, what) == 0;
}

/* Of four ranks or more; the tag is 99. */
static void add(long rank)
{
    const int64_t cancelled[3] = {0, TI_NULL, TI_NULL};
    const int32_t request[1] = {0};

    if (is("unmatched")) { /* rank 1 sends, nobody receives */
        send_to(1, 0, 0, -1, 100, rank, false);
    } else if (is("starved")) { /* rank 0 receives, nobody sends */
        send_to(1, 0, 0, -1, 100, rank, true);
    } else if (is("truncated")) {
        send_to(1, 0, 0, -1, 100, rank, false);
        send_to(1, 0, 0, -1, 99, rank, true);
    } else if (is("comm")) { /* rank 0 to rank 2, once among the even ranks */
        send_to(0, 2, 2, 1, 100, rank, false);
        send_to(0, 2, 0, 2, 100, rank, true);
    } else if (is("wildcard")) { /* rank 2 sends what rank 0 has from rank 1 */
        send_to(2, 0, 0, -2, 100, rank, false);
        if (rank == 0)
            event(1, TI_OP_RECV, 1, TI_M_P2P | TI_M_MATCH, ARGS(0, TI_ANY, TI_ANY, 100, 1, 1, 99),
                  none, none);
    } else if (is("order")) { /* rank 1 has a barrier, the others a broadcast */
        if (rank == 1)
            event(1, TI_OP_BARRIER, 1, TI_M_COMM, ARGS(0), none, none);
        else
            event(1, TI_OP_BCAST, 1, TI_M_COLL | TI_M_ROOT, ARGS(0, 8, 1, 0), none, none);
    } else if (is("root")) {
        event(1, TI_OP_BCAST, 1, TI_M_COLL | TI_M_ROOT, ARGS(0, 8, 1, rank == 3), none, none);
    } else if (is("request")) {
        if (rank == 1)
            event(1, TI_OP_WAIT, 1, TI_M_REQ, ARGS(5), none, none);
    } else if (is("leak")) { /* rank 1 never waits */
        if (rank == 1)
            event(1, TI_OP_ISEND, 1, TI_M_P2P | TI_M_REQ, ARGS(0, -1, 99, 100, 1, 0), none, none);
        send_to(1, 0, 0, -1, 100, rank, true);
    } else if (is("cancel")) {
        if (rank != 1)
            return;
        event(1, TI_OP_IRECV, 1, TI_M_P2P | TI_M_REQ, ARGS(0, TI_ANY, 99, 100, 1, 0), none, none);
        event(1, TI_OP_CANCEL, 1, TI_M_REQ, ARGS(0), none, none);
        event(1, TI_OP_WAITALL, 1, 0, NULL, (struct ti_vec){request, 4, 1},
              (struct ti_vec){cancelled, 8, 3});
    } else if (is("pcontrol")) { /* rank 1 records what rank 0 does not */
        if (rank == 0)
            event(1, TI_OP_PCONTROL, 1, TI_M_LEVEL, ARGS(0), none, none);
        send_to(1, 0, 0, -1, 100, rank, false);
    }
}

static void events(long rank)
{
    int *world = calloc((size_t)np, sizeof *world), *half = calloc((size_t)np, sizeof *half);
    int mine = 0, n = 0;

    for (int i = 0; i < np; i++) {
        world[i] = i;
        if (i % 2 == rank % 2) {
            mine = i == rank ? n : mine;
            half[n++] = i;
        }
    }
    ti_writer_comm(w, 0, 'w', rank, np, world, 0, NULL);
    ti_writer_comm(w, 1, 's', 0, 1, &world[rank], 0, NULL);
    for (int i = 1; i < 4; i++) {
        char text[64];

        snprintf(text, sizeof text, *build ? "%s+0x%x [%s]" : "%s+0x%x", sites, 0x1000 + 16 * i,
                 build);
        site[i] = ti_writer_string(w, TI_STRING_SITE, text);
    }
    event(0, TI_OP_INIT, 0, 0, NULL, none, none);
    if (plain) {
        for (long i = 0; i < iterations; i++)
            event(1000, TI_OP_BARRIER, 1, TI_M_COMM, ARGS(0), none, none);
    } else {
        ti_writer_comm(w, 2, 'p', mine, n, half, 0, NULL);
        event(100, TI_OP_COMM_SPLIT, 1, TI_M_COMM | TI_M_COLOR | TI_M_KEY | TI_M_NEWCOMM,
              ARGS(0, rank % 2, 0, 2), none, none);
        if (mine + 1 < n)
            event(1000000, TI_OP_SEND, 1, TI_M_P2P, ARGS(2, 1, 0, 1000000, 1), none, none);
        if (mine > 0)
            event(0, TI_OP_RECV, 1, TI_M_P2P, ARGS(2, -1, 0, 1000000, 1), none, none);
        for (long i = 0; i < iterations; i++)
            iterate(rank, i);
        event(10, TI_OP_BCAST, 2, TI_M_COLL | TI_M_ROOT, ARGS(2, 16, 4, 0), none, none);
        if (!lean)
            event(10, TI_OP_ALLTOALL, 2, TI_M_COLL | TI_M_BYTES2 | TI_M_ESIZE2, ARGS(0, 8, 4, 8, 4),
                  none, none);
    }
    add(rank);
    if (untraced) {
        uint32_t name = ti_writer_string(w, TI_STRING_CALL, "MPI_Put");

        event(10, TI_OP_UNTRACED, 1, TI_M_CALL, ARGS(name), none, none);
    }
    event(0, TI_OP_FINALIZE, 0, 0, NULL, none, none);
    free(world);
    free(half);
}

static int write_rank(const char *dir, long rank)
{
    char path[4096], number[32], host[64], calibration[64], name[TI_RANK_NAME_BYTES];
    const char *const info[] = {
        "rank",        number,
        "host",        host,
        "application", "app",
        "command",     "app --fast",
        "counter",     counter,
        "event",       "PAPI_TOT_INS",
        "unit",        "instructions",
        "exact",       exact ? "yes" : "no",
        "isa",         isa,
        "calibration", calibration,
        "extra",       "burst_ns:ns call_ns:ns a\033::b:events",
    };
    const char *const end_info[] = {"flush_seconds", "0.25",     "app_seconds",     "2.5",
                                    "memory_bytes",  "98304",    "negative_bursts", "2",
                                    "reason",        "disk full"};
    struct ti_err err;

    chance = (seed << 32) + (uint64_t)rank;
    ti_rank_name(rank, name);
    snprintf(number, sizeof number, "%ld", rank);
    snprintf(calibration, sizeof calibration, "%ld spread 1 samples 64", 40 + rank);
    snprintf(host, sizeof host, "node-%ld", rank / host_ranks);
    snprintf(path, sizeof path, "%s/%s", dir, rank == as_rank ? as_name : name);
    if (ti_writer_open(path, (uint32_t)rank, (uint32_t)np, run_id, &w, &err) != TI_OK)
        goto failed;
    ti_writer_info(w, info, (int)(sizeof info / sizeof *info / 2) - !times);
    if (times)
        ti_writer_extras(w, 3);
    events(rank);
    if (rank == hold_rank) {
        ti_writer_flush(w);
        return 0;
    }
    if (ti_writer_close(w, rank == end_rank ? (enum ti_end)end_how : TI_END_COMPLETE, end_info,
                        rank == end_rank ? 5 : 4, &err) != TI_OK)
        goto failed;
    return 0;
failed:
    fprintf(stderr, "mktrace: %s\n", err.text);
    return 1;
}

static long two(const char *text, char between, long *second)
{
    char *end;
    long one = strtol(text, &end, 10);

    *second = *end == between ? strtol(end + 1, NULL, 10) : one;
    return one;
}

/* A barrier with that much noise takes so many bytes, the rest of a file that many. */
static void fill(long bytes)
{
    const double barrier = 4.97;
    const long rest = 630;

    plain = true;
    noise = 1000000000;
    iterations = bytes > rest ? (long)((double)(bytes - rest) / barrier) : 0;
}

static void parse_hex(const char *hex)
{
    for (size_t i = 0; i < sizeof run_id && hex[2 * i] && hex[2 * i + 1]; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        run_id[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {
        {"np", 1, NULL, 'n'},     {"iterations", 1, NULL, 'i'}, {"ranks", 1, NULL, 'r'},
        {"run-id", 1, NULL, 'I'}, {"volume", 1, NULL, 'v'},     {"sites", 1, NULL, 's'},
        {"build", 1, NULL, 'B'},  {"host-ranks", 1, NULL, 'H'}, {"counter", 1, NULL, 'C'},
        {"change", 1, NULL, 'c'}, {"noise", 1, NULL, 'N'},      {"end", 1, NULL, 'e'},
        {"hold", 1, NULL, 'k'},   {"as", 1, NULL, 'a'},         {"untraced", 0, NULL, 'u'},
        {"plain", 0, NULL, 'p'},  {"exact", 0, NULL, 'x'},      {"add", 1, NULL, 'A'},
        {"isa", 1, NULL, 'S'},    {"times", 2, NULL, 'T'},      {"seed", 1, NULL, 'D'},
        {"bytes", 1, NULL, 'b'},  {"lean", 0, NULL, 'l'},       {NULL, 0, NULL, 0},
    };
    int id;

    while ((id = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (id) {
        case 'S':
            isa = optarg;
            break;
        case 'n':
            np = atol(optarg);
            break;
        case 'i':
            iterations = atol(optarg);
            break;
        case 'r':
            first = two(optarg, '-', &last);
            break;
        case 'I':
            parse_hex(optarg);
            break;
        case 'v':
            extra = atol(optarg);
            break;
        case 'N':
            noise = atol(optarg);
            break;
        case 's':
            sites = optarg;
            break;
        case 'B':
            build = optarg;
            break;
        case 'H':
            host_ranks = atol(optarg);
            break;
        case 'C':
            counter = optarg;
            break;
        case 'c':
            change_rank = two(optarg, ':', &change_iteration);
            break;
        case 'e':
            end_rank = two(optarg, ':', &end_how);
            break;
        case 'k':
            hold_rank = atol(optarg);
            break;
        case 'a':
            as_rank = atol(optarg);
            as_name = strchr(optarg, ':') ? strchr(optarg, ':') + 1 : "";
            break;
        case 'u':
            untraced = true;
            break;
        case 'x':
            exact = true;
            break;
        case 'l':
            lean = true;
            break;
        case 'p':
            plain = true;
            break;
        case 'A':
            add_what = optarg;
            break;
        case 'T':
            times = optarg ? strtoull(optarg, NULL, 10) : 2;
            break;
        case 'D':
            seed = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            fill(atol(optarg));
            break;
        default:
            return 2;
        }
    }
    if (optind + 1 != argc || np < 1 || np > TI_RANKS_MAX || host_ranks < 1)
        return 2;
    if (last < 0 || last >= np)
        last = np - 1;
    mkdir(argv[optind], 0777);
    for (long rank = first; rank <= last; rank++)
        if (write_rank(argv[optind], rank))
            return 1;
    return 0;
}
