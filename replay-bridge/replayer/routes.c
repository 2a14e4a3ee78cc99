/*
 * ti-smpi-routes: computes the load of links from the messages between hosts.
 *
 *   smpirun -np 1 ... ti-smpi-routes PAIRS LINKS
 *
 * PAIRS is read: lines "FROM TO SLICE MESSAGES BYTES" of two hosts and a slice of time.  LINKS is
 * written: a JSON array of the links on the routes of these messages, each with bandwidth (bytes
 * per second), latency (seconds), whether messages share it, its messages and bytes, and in
 * `slices` the bytes of each slice.  Nothing is simulated: the program runs under smpirun because
 * only SimGrid knows the routes of a platform.
 */
#include <inttypes.h>
#include <jansson.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "replay-bridge/replayer/alone.h"
#include "replay-bridge/replayer/route.h"

struct carried {
    sg_link_t link;
    uint64_t messages, bytes;
    uint64_t *slice; /* bytes of each slice */
    size_t slices, room;
};

struct carriers {
    struct ti_map of; /* address of a link -> its index */
    struct carried *list;
    size_t room;
};

static void add(struct carriers *all, sg_link_t link, size_t slice, uint64_t messages,
                uint64_t bytes)
{
    int64_t i = ti_map_add(&all->of, (int64_t)(uintptr_t)link, 0, 0, 0);
    struct carried *c;

    all->list = ti_grow(all->list, &all->room, all->of.n, sizeof *all->list);
    c = &all->list[i];
    c->link = link;
    c->messages += messages;
    c->bytes += bytes;
    c->slice = ti_grow(c->slice, &c->room, slice + 1, sizeof *c->slice);
    c->slice[slice] += bytes;
    c->slices = c->slices > slice + 1 ? c->slices : slice + 1;
}

/* Takes a line of PAIRS; false if it is malformed. */
static bool add_pair(struct carriers *all, char *line)
{
    char *from = strtok(line, " "), *to = strtok(NULL, " "), *counts = strtok(NULL, "");
    sg_link_t *route = NULL;
    uint64_t messages, bytes;
    size_t slice;
    bool good =
        counts && sscanf(counts, "%zu %" SCNu64 " %" SCNu64, &slice, &messages, &bytes) == 3;

    if (good)
        route = ti_route_links(sg_host_by_name(from), sg_host_by_name(to));
    for (size_t i = 0; route && route[i]; i++)
        add(all, route[i], slice, messages, bytes);
    free(route);
    return good;
}

static bool read_pairs(struct carriers *all, const char *path)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool good = f != NULL;

    while (good && getline(&line, &room, f) > 0)
        good = add_pair(all, line);
    free(line);
    if (f)
        fclose(f);
    return good;
}

static bool write_links(const struct carriers *all, const char *path)
{
    json_t *list = json_array();
    bool good;

    for (size_t i = 0; i < all->of.n; i++) {
        const struct carried *c = &all->list[i];
        json_t *slices = json_array();

        for (size_t k = 0; k < c->slices; k++)
            json_array_append_new(slices, json_integer((json_int_t)c->slice[k]));
        json_array_append_new(
            list, json_pack("{s:s, s:f, s:f, s:b, s:I, s:I, s:o}", "link",
                            sg_link_get_name(c->link), "bandwidth", sg_link_get_bandwidth(c->link),
                            "latency", sg_link_get_latency(c->link), "shared",
                            sg_link_is_shared(c->link), "messages", (json_int_t)c->messages,
                            "bytes", (json_int_t)c->bytes, "slices", slices));
    }
    good = json_dump_file(list, path, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0;
    json_decref(list);
    return good;
}

static const struct ti_opt opts[] = {TI_OPT_END};

static const struct ti_cli cli = {
    .tool = "ti-smpi-routes",
    .what = "Compute the load of links; ti-replay --links runs it under smpirun.",
    .usage = "PAIRS LINKS",
    .opts = opts,
    .after = "Exit status: 0 success, 2 usage, 4 trouble.  More: man ti-replay\n"};

int ti_alone(int argc, char **argv)
{
    int end = ti_cli_parse(&cli, argc, argv, NULL);

    return end != TI_CLI_END ? end : (int)ti_cli_usage(&cli, "only ti-replay runs it");
}

int main(int argc, char **argv)
{
    struct carriers all = {.list = NULL};
    bool good;

    MPI_Init(&argc, &argv);
    good = argc == 3 && read_pairs(&all, argv[1]) && write_links(&all, argv[2]);
    MPI_Finalize();
    for (size_t i = 0; i < all.of.n; i++)
        free(all.list[i].slice);
    ti_map_free(&all.of);
    free(all.list);
    return good ? TI_OK : TI_ERR_IO;
}
