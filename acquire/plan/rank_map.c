#include "acquire/plan/rank_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/hostlist.h"
#include "common/names.h"
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

/* --- names for PRRTE ------------------------------------------------------- */

static void undot(char *name)
{
    for (; *name; name++)
        if (*name == '.')
            *name = '-';
}

/* The part of a name in front of the first dot; an address has none. */
static void label_of(const char *name, char label[TI_HOST_NAME_MAX + 1])
{
    size_t n = name[strspn(name, "0123456789.")] ? strcspn(name, ".") : strlen(name);

    snprintf(label, TI_HOST_NAME_MAX + 1, "%.*s", (int)n, name);
}

bool *ti_rank_map_undot(const struct ti_rank_map *m, const struct ti_sites *sites,
                        const bool *local)
{
    struct ti_names labels = {0}, names = {0};
    size_t n = (size_t)m->nnodes + 1;
    int64_t *of = calloc(n, sizeof *of), *users = calloc(n, sizeof *users);
    bool *undotted = calloc(n, sizeof *undotted), any = false;
    char text[TI_HOST_NAME_MAX + 1];

    for (int64_t i = 0; of && users && i < m->nnodes; i++) {
        of[i] = -1;
        if (!m->ranks[i])
            continue;
        ti_names_add(&names, sites->node[i].name);
        label_of(sites->node[i].name, text);
        of[i] = (int64_t)ti_names_add(&labels, text);
        users[of[i]]++;
    }
    for (int64_t i = 0; of && users && undotted && i < m->nnodes; i++) {
        size_t known = names.map.n;

        if (of[i] < 0 || users[of[i]] < 2 || local[i] || !strchr(sites->node[i].name, '.'))
            continue;
        snprintf(text, sizeof text, "%s", sites->node[i].name);
        undot(text);
        undotted[i] = ti_names_add(&names, text) == known; /* no other node has this name */
        any = any || undotted[i];
    }
    ti_names_free(&labels);
    ti_names_free(&names);
    free(of);
    free(users);
    if (any)
        return undotted;
    free(undotted);
    return NULL;
}

/* --- hostfiles ------------------------------------------------------------- */

/* The name of a node in a hostfile; `text` may hold it. */
static const char *name_of(const struct ti_rank_map *m, const struct ti_sites *sites, int64_t node,
                           char text[TI_HOST_NAME_MAX + 1])
{
    const char *name = sites->node[node].name;

    if (!m->undotted || !m->undotted[node])
        return name;
    snprintf(text, TI_HOST_NAME_MAX + 1, "%s", name);
    undot(text);
    return text;
}

static void print_list(const struct ti_rank_map *m, const struct ti_sites *sites, int64_t first,
                       int64_t n, FILE *out)
{
    char text[TI_HOST_NAME_MAX + 1];

    for (int64_t rank = first; rank < first + n; rank++)
        ti_print(out, "%s\n", name_of(m, sites, ti_rank_map_node_of(m, rank), text));
}

static void print_slots(const struct ti_rank_map *m, const struct ti_sites *sites, FILE *out)
{
    char text[TI_HOST_NAME_MAX + 1];

    for (int64_t i = 0; i < m->nnodes; i++)
        if (m->ranks[i])
            ti_print(out, "%s slots=%" PRId64 "\n", name_of(m, sites, i, text), m->ranks[i]);
}

/* The slot, a processor, counts only for ranks that are bound. */
static void print_rankfile(const struct ti_rank_map *m, const struct ti_sites *sites, FILE *out)
{
    char text[TI_HOST_NAME_MAX + 1];

    for (int64_t rank = 0; rank < m->np; rank++)
        ti_print(out, "rank %" PRId64 "=%s slot=0\n", rank,
                 name_of(m, sites, ti_rank_map_node_of(m, rank), text));
}

static void print_hostfile(const struct ti_rank_map *m, const struct ti_sites *sites, FILE *out)
{
    if (m->node)
        fprintf(out, "# ranks in the order of --like: mpirun --map-by seq\n");
    if (m->node)
        print_list(m, sites, 0, m->np, out);
    else
        print_slots(m, sites, out);
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

ti_status ti_rank_map_slots(const struct ti_rank_map *m, const struct ti_sites *sites,
                            const char *path, struct ti_err *err)
{
    return write_file(path, print_slots, m, sites, err);
}

ti_status ti_rank_map_rankfile(const struct ti_rank_map *m, const struct ti_sites *sites,
                               const char *path, struct ti_err *err)
{
    return write_file(path, print_rankfile, m, sites, err);
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
