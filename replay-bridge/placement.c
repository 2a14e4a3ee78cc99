#include "replay-bridge/placement.h"

#include <string.h>
#include <stdlib.h>

#include "check/map.h"
#include "common/cli.h"

ti_status ti_placement_parse(const char *text, struct ti_placement *out, struct ti_err *err)
{
    int64_t seed;

    *out = (struct ti_placement){0};
    if (!strcmp(text, "block"))
        return TI_OK;
    if (!strcmp(text, "round-robin")) {
        out->kind = TI_PLACE_ROUND_ROBIN;
        return TI_OK;
    }
    if (!strncmp(text, "random:", 7)) {
        out->kind = TI_PLACE_RANDOM;
        if (ti_parse_int(text + 7, "--placement random", 0, INT64_MAX, &seed, err) != TI_OK)
            return TI_ERR_USAGE;
        out->seed = (uint64_t)seed;
        return TI_OK;
    }
    return ti_err_set(err, TI_ERR_USAGE,
                      "--placement: '%s' is not block, round-robin or random:SEED", text);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Hosts' indices, one for each slot, in the order in which ranks take them. */
static void order_slots(const struct ti_hosts *hosts, const struct ti_placement *placement,
                        uint32_t *slot, size_t n)
{
    size_t at = 0;

    if (placement->kind == TI_PLACE_ROUND_ROBIN) {
        for (int64_t round = 0; at < n; round++)
            for (size_t h = 0; h < hosts->n; h++)
                if (hosts->list[h].slots > round)
                    slot[at++] = (uint32_t)h;
        return;
    }
    for (size_t h = 0; h < hosts->n; h++)
        for (int64_t i = 0; i < hosts->list[h].slots; i++)
            slot[at++] = (uint32_t)h;
    if (placement->kind == TI_PLACE_RANDOM) {
        uint64_t state = placement->seed;

        for (size_t i = 0; i + 1 < n; i++) {
            size_t j = i + (size_t)(next_random(&state) % (n - i));
            uint32_t was = slot[i];

            slot[i] = slot[j];
            slot[j] = was;
        }
    }
}

void ti_hosts_place(const struct ti_hosts *hosts, const struct ti_placement *placement, int64_t np,
                    FILE *out)
{
    size_t slots = (size_t)ti_hosts_slots(hosts), none = 0;
    uint32_t *slot = ti_more(NULL, &none, slots, sizeof *slot);

    order_slots(hosts, placement, slot, slots);
    for (int64_t rank = 0; rank < np; rank++)
        fprintf(out, "%s\n", hosts->list[slot[rank]].name);
    free(slot);
}
