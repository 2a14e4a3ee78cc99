#include "acquire/plan/rank_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/order.h"
#include "common/ranges.h"

struct ti_rank_map ti_rank_map_of(const struct ti_rank_placement *place,
                                  const struct ti_order *order)
{
    return (struct ti_rank_map){.np = place->np,
                                .nnodes = place->nnodes,
                                .first = place->first,
                                .ranks = place->ranks,
                                .node = order && !order->kept ? order->node : NULL};
}

int64_t ti_rank_map_node_of(const struct ti_rank_map *m, int64_t rank)
{
    int64_t i;

    if (rank < 0 || rank >= m->np)
        return -1;
    if (m->node)
        return m->node[rank];
    /* Find the first node that begins behind the rank; an unused node begins where the next one
     * does. */
    TI_FIRST(i, 0, m->nnodes, m->first[i] <= rank);
    return i - 1;
}

struct ti_ranges ti_rank_map_ranges(const struct ti_rank_map *m, int64_t node)
{
    struct ti_ranges set = {.n = 0};

    if (!m->node && m->ranks[node])
        ti_ranges_add_range(&set, m->first[node], m->first[node] + m->ranks[node] - 1);
    for (int64_t rank = 0; m->node && rank < m->np; rank++)
        if (m->node[rank] == node)
            ti_ranges_add(&set, rank);
    return set;
}

json_t *ti_rank_map_json(const struct ti_rank_map *m, int64_t node)
{
    struct ti_ranges set = ti_rank_map_ranges(m, node);
    json_t *list = ti_ranges_json(&set);

    ti_ranges_free(&set);
    return list;
}

static void print_list(const struct ti_rank_map *m, const struct ti_sites *sites, int64_t first,
                       int64_t n, FILE *out)
{
    for (int64_t rank = first; rank < first + n; rank++)
        ti_print(out, "%s\n", sites->node[ti_rank_map_node_of(m, rank)].name);
}

static void print_hostfile(const struct ti_rank_map *m, const struct ti_sites *sites, FILE *out)
{
    if (m->node)
        fprintf(out, "# ranks in the order of --like: mpirun --map-by seq\n");
    if (m->node)
        print_list(m, sites, 0, m->np, out);
    for (int64_t i = 0; !m->node && i < m->nnodes; i++)
        if (m->ranks[i])
            ti_print(out, "%s slots=%" PRId64 "\n", sites->node[i].name, m->ranks[i]);
}

static void print_hydra(const struct ti_rank_map *m, const struct ti_sites *sites, FILE *out)
{
    for (int64_t rank = 0, n; rank < m->np; rank += n) {
        int64_t node = ti_rank_map_node_of(m, rank);

        for (n = 1; rank + n < m->np && ti_rank_map_node_of(m, rank + n) == node; n++)
            ;
        ti_print(out, "%s:%" PRId64 "\n", sites->node[node].name, n);
    }
}

/* Open `path`, where "-" is standard output, and close it after `print`. */
static ti_status
write_file(const char *path,
           void (*print)(const struct ti_rank_map *m, const struct ti_sites *sites, FILE *out),
           const struct ti_rank_map *m, const struct ti_sites *sites, struct ti_err *err)
{
    bool to_stdout = strcmp(path, "-") == 0, failed;
    FILE *f = to_stdout ? stdout : fopen(path, "we");

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    print(m, sites, f);
    failed = ferror(f);
    failed |= to_stdout ? fflush(f) != 0 : fclose(f) != 0;
    return failed ? ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path) : TI_OK;
}

ti_status ti_rank_map_hostfile(const struct ti_rank_map *m, const struct ti_sites *sites,
                               const char *path, struct ti_err *err)
{
    return write_file(path, print_hostfile, m, sites, err);
}

ti_status ti_rank_map_hydra(const struct ti_rank_map *m, const struct ti_sites *sites,
                            const char *path, struct ti_err *err)
{
    return write_file(path, print_hydra, m, sites, err);
}

ti_status ti_rank_map_list(const struct ti_rank_map *m, const struct ti_sites *sites, int64_t first,
                           int64_t n, const char *path, struct ti_err *err)
{
    FILE *f = fopen(path, "we");
    bool failed;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    print_list(m, sites, first, n, f);
    failed = ferror(f);
    failed |= fclose(f) != 0;
    return failed ? ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path) : TI_OK;
}
