#include "replay-bridge/platform/placement.h"

#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/random.h"
#include "common/ranges.h"

ti_status ti_placement_parse(const char *text, struct ti_placement *out, struct ti_err *err)
{
    static const char *const words[] = {"block", "round-robin", NULL, "by-site"};
    int64_t seed;

    *out = (struct ti_placement){0};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i] && !strcmp(text, words[i])) {
            out->kind = i;
            return TI_OK;
        }
    if (!strncmp(text, "random:", 7)) {
        out->kind = TI_PLACE_RANDOM;
        if (ti_parse_int(text + 7, "--placement random", 0, INT64_MAX, &seed, err) != TI_OK)
            return TI_ERR_USAGE;
        out->seed = (uint64_t)seed;
        return TI_OK;
    }
    if (!strncmp(text, "file:", 5) && text[5]) {
        out->kind = TI_PLACE_FILE;
        out->path = text + 5;
        return TI_OK;
    }
    ti_err_set(err, TI_ERR_USAGE,
               "--placement: '%s' is not block, round-robin, random:SEED, by-site or file:PATH",
               text);
    ti_hint_word(err, text, "block round-robin random:SEED by-site");
    return TI_ERR_USAGE;
}

/* ---- hosts by name ---- */

/* Sorts by name; hosts of equal name keep their order. */
static int by_name(const void *a, const void *b)
{
    const struct ti_host *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);

    return order ? order : (*x > *y) - (*x < *y);
}

/* For each host the index of the first host of the same name; free() it. */
static uint32_t *first_of_name(const struct ti_hosts *hosts)
{
    size_t none = 0, none_first = 0;
    const struct ti_host **sorted = ti_grow(NULL, &none, hosts->n, sizeof *sorted);
    uint32_t *first = ti_grow(NULL, &none_first, hosts->n, sizeof *first);

    for (size_t i = 0; i < hosts->n; i++)
        sorted[i] = &hosts->list[i];
    qsort(sorted, hosts->n, sizeof *sorted, by_name);
    for (size_t from = 0, to; from < hosts->n; from = to)
        for (to = from; to < hosts->n && !strcmp(sorted[to]->name, sorted[from]->name); to++)
            first[sorted[to] - hosts->list] = (uint32_t)(sorted[from] - hosts->list);
    free(sorted);
    return first;
}

/* ---- a placement file ---- */

/* Sum of the slots of the host called `name` over all its lines. */
static int64_t slots_of(const struct ti_hosts *hosts, const char *name)
{
    int64_t slots = 0;

    for (size_t i = 0; i < hosts->n; i++)
        if (!strcmp(hosts->list[i].name, name))
            slots += hosts->list[i].slots;
    return slots;
}

/* Reports the first line whose ranks exceed the slots of their host. */
static ti_status check_slots(const struct ti_hosts *placed, const struct ti_hosts *slots,
                             const char *path, const char *hostfile, struct ti_err *err)
{
    uint32_t *first = first_of_name(placed);
    size_t none = 0;
    int64_t *left = ti_grow(NULL, &none, placed->n, sizeof *left);
    ti_status st = TI_OK;

    for (size_t i = 0; i < placed->n && !st; i++) {
        const struct ti_host *host = &placed->list[i];
        int64_t has = first[i] == i ? slots_of(slots, host->name) : 0;

        left[first[i]] += has - host->slots;
        if (first[i] == i && !has)
            st = ti_err_set(err, TI_ERR_INPUT, "%s:%d: '%s' has no host '%s'", path, host->line,
                            hostfile, host->name);
        else if (left[first[i]] < 0)
            st = ti_err_set(err, TI_ERR_INPUT,
                            "%s:%d: one rank too many on '%s', which has %lld slot%s in '%s'", path,
                            host->line, host->name, (long long)slots_of(slots, host->name),
                            slots_of(slots, host->name) == 1 ? "" : "s", hostfile);
    }
    free(left);
    free(first);
    return st;
}

ti_status ti_placement_read(const char *path, int64_t np, const struct ti_hosts *known,
                            const struct ti_hosts *slots, const char *hostfile,
                            struct ti_hosts *out, struct ti_err *err)
{
    struct ti_hosts placed = {0};
    ti_status st = ti_hosts_read_file(path, "placement file", &placed, err);
    int64_t n = ti_hosts_slots(&placed);

    if (!st && n != np)
        st = ti_err_set(err, TI_ERR_INPUT, "the placement file '%s' is for %lld rank%s, not %lld",
                        path, (long long)n, n == 1 ? "" : "s", (long long)np);
    if (!st && known)
        st = ti_hosts_known(&placed, known, path, err);
    if (!st && slots)
        st = check_slots(&placed, slots, path, hostfile, err);
    if (st)
        ti_hosts_free(&placed);
    else
        *out = placed;
    return st;
}

/* ---- ranks on slots ---- */

/* All slots, in the order of hosts. */
static void place_block(const struct ti_hosts *hosts, uint32_t *slot)
{
    for (size_t h = 0; h < hosts->n; h++)
        for (int64_t i = 0; i < hosts->list[h].slots; i++)
            *slot++ = (uint32_t)h;
}

static void place_in_turn(const struct ti_hosts *hosts, uint32_t *slot, size_t n)
{
    size_t at = 0;

    for (int64_t round = 0; at < n; round++)
        for (size_t h = 0; h < hosts->n; h++)
            if (hosts->list[h].slots > round)
                slot[at++] = (uint32_t)h;
}

static void shuffle(uint64_t seed, uint32_t *slot, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t j = i + (size_t)(ti_random(&seed) % (n - i));
        uint32_t was = slot[i];

        slot[i] = slot[j];
        slot[j] = was;
    }
}

/* ---- by site ---- */

struct share {
    int64_t slots, ranks;
    int64_t rest; /* remainder lost by rounding `ranks` down */
};

/* The number of ranks of each site, in proportion to its slots.  Ranks left over by rounding go to
 * the sites with the largest remainders. */
static struct share *shares(const struct ti_hosts *hosts, int nsites, int64_t np)
{
    size_t none = 0;
    struct share *share = ti_grow(NULL, &none, (size_t)nsites, sizeof *share);
    int64_t slots = ti_hosts_slots(hosts), left = np;

    for (size_t h = 0; h < hosts->n; h++)
        share[hosts->list[h].site].slots += hosts->list[h].slots;
    for (int s = 0; s < nsites; s++) {
        share[s].ranks = np * share[s].slots / slots;
        share[s].rest = np * share[s].slots % slots;
        left -= share[s].ranks;
    }
    for (; left > 0; left--) {
        int most = 0;

        for (int s = 1; s < nsites; s++)
            if (share[s].rest > share[most].rest)
                most = s;
        share[most].ranks++;
        share[most].rest = -1;
    }
    return share;
}

static void place_by_site(const struct ti_hosts *hosts, uint32_t *slot, int64_t np)
{
    int nsites = 0;
    struct share *share;

    for (size_t h = 0; h < hosts->n; h++)
        if (hosts->list[h].site >= nsites)
            nsites = hosts->list[h].site + 1;
    share = shares(hosts, nsites, np);
    for (int s = 0; s < nsites; s++)
        for (size_t h = 0; h < hosts->n; h++)
            for (int64_t i = 0; hosts->list[h].site == s && i < hosts->list[h].slots; i++)
                if (share[s].ranks-- > 0)
                    *slot++ = (uint32_t)h;
    free(share);
}

uint32_t *ti_place(const struct ti_hosts *hosts, const struct ti_placement *placement, int64_t np)
{
    size_t slots = (size_t)ti_hosts_slots(hosts), none = 0;
    uint32_t *slot = ti_grow(NULL, &none, slots, sizeof *slot);

    switch (placement->kind) {
    case TI_PLACE_ROUND_ROBIN:
        place_in_turn(hosts, slot, slots);
        break;
    case TI_PLACE_RANDOM:
        place_block(hosts, slot);
        shuffle(placement->seed, slot, slots);
        break;
    case TI_PLACE_BY_SITE:
        place_by_site(hosts, slot, np);
        break;
    case TI_PLACE_BLOCK:
    case TI_PLACE_FILE:
        place_block(hosts, slot);
        break;
    }
    return slot;
}

int64_t *ti_place_count(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np)
{
    size_t none = 0;
    int64_t *ranks = ti_grow(NULL, &none, hosts->n, sizeof *ranks);

    for (int64_t rank = 0; rank < np; rank++)
        ranks[host_of[rank]]++;
    return ranks;
}

void ti_place_write(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np, FILE *out)
{
    for (int64_t rank = 0; rank < np; rank++)
        fprintf(out, "%s\n", hosts->list[host_of[rank]].name);
}

json_t *ti_place_json(const struct ti_hosts *hosts, const uint32_t *host_of, int64_t np)
{
    uint32_t *first = first_of_name(hosts);
    size_t none = 0;
    struct ti_ranges *ranks = ti_grow(NULL, &none, hosts->n, sizeof *ranks);
    json_t *list = json_array();

    for (int64_t rank = 0; rank < np; rank++) {
        ti_ranges_add(&ranks[first[host_of[rank]]], rank);
    }
    for (size_t h = 0; h < hosts->n; h++) {
        if (ranks[h].n)
            json_array_append_new(list, json_pack("{s:s, s:o}", "host", hosts->list[h].name,
                                                  "ranks", ti_ranges_json(&ranks[h])));
        ti_ranges_free(&ranks[h]);
    }
    free(ranks);
    free(first);
    return list;
}
