#include "replay-bridge/replayer/profile/waiting.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "event/event.h"

/* Activities kept for each rank; between these limits, KEPT of all ranks together. */
#define LEAST 32
#define MOST  1024
#define KEPT  (1 << 22)

#define PAIRS 1000000       /* entries; later ones leave out the two ranks */
#define MANY  (INT64_C(-1)) /* in place of a rank */

struct activity {
    double begin, end;
    enum ti_doing doing;
    int32_t site;
    int64_t partner;
};

struct ti_waiting {
    struct latest {
        struct activity *of;
        uint64_t n; /* so far; number N is at index N % `keep` */
    } * rank;
    int64_t np;
    uint64_t keep;
    struct ti_map keys; /* (rank, partner), site, (doing, third), site of the partner -> index */
    double *seconds;
    size_t room;
};

int32_t ti_call_sites_number(struct ti_call_sites *sites, const char *text, uint32_t op)
{
    uint64_t a = 1, b = 2;
    size_t none = 0;
    int64_t i;

    for (const char *c = text; *c; c++) {
        a = (a ^ (unsigned char)*c) * 0x9e3779b97f4a7c15u;
        a ^= a >> 29;
        b = b * 31 + (unsigned char)*c;
    }
    i = ti_map_add(&sites->keys, (int64_t)a, (int64_t)b, op, 0);
    sites->list = ti_grow(sites->list, &sites->room, sites->keys.n, sizeof *sites->list);
    if (!sites->list[i].text)
        sites->list[i] =
            (struct ti_call_site){strcpy(ti_grow(NULL, &none, strlen(text) + 1, 1), text), op};
    return (int32_t)i;
}

void ti_call_sites_free(struct ti_call_sites *sites)
{
    for (size_t i = 0; i < sites->keys.n; i++)
        free(sites->list[i].text);
    ti_map_free(&sites->keys);
    free(sites->list);
}

void ti_call_site_json(json_t *j, const char *prefix, const struct ti_call_site *site)
{
    char key[64];

    snprintf(key, sizeof key, "%soperation", prefix);
    json_object_set_new(j, key, json_string(ti_op_info(site->op)->text));
    snprintf(key, sizeof key, "%ssite", prefix);
    json_object_set_new(j, key, ti_json_text(site->text));
}

struct ti_waiting *ti_waiting_new(int64_t np)
{
    size_t none = 0;
    struct ti_waiting *w = ti_grow(NULL, &none, 1, sizeof *w);

    none = 0;
    w->rank = ti_grow(NULL, &none, (size_t)np, sizeof *w->rank);
    w->np = np;
    w->keep = (uint64_t)(KEPT / np);
    w->keep = w->keep < LEAST ? LEAST : w->keep > MOST ? MOST : w->keep;
    return w;
}

void ti_waiting_free(struct ti_waiting *w)
{
    if (!w)
        return;
    for (int64_t i = 0; i < w->np; i++)
        free(w->rank[i].of);
    ti_map_free(&w->keys);
    free(w->seconds);
    free(w->rank);
    free(w);
}

void ti_waiting_did(struct ti_waiting *w, int64_t rank, double begin, double end,
                    enum ti_doing doing, int32_t site, int64_t partner)
{
    struct latest *l = &w->rank[rank];
    size_t none = 0;

    if (!(end > begin))
        return;
    if (!l->of)
        l->of = ti_grow(NULL, &none, w->keep, sizeof *l->of);
    l->of[l->n++ % w->keep] = (struct activity){begin, end, doing, site, partner};
}

static void add(struct ti_waiting *w, int64_t rank, int64_t partner, int32_t site,
                const struct activity *other, double seconds)
{
    bool third = other->doing == TI_DOING_WAITING;
    int64_t i;

    if (w->keys.n >= PAIRS)
        rank = partner = MANY;
    i = ti_map_add(&w->keys, rank * (INT64_C(1) << 32) + partner, site,
                   (third && rank != MANY ? other->partner + 1 : 0) * 4 + other->doing,
                   other->site);
    w->seconds = ti_grow(w->seconds, &w->room, w->keys.n, sizeof *w->seconds);
    w->seconds[i] += seconds;
}

void ti_waiting_waited(struct ti_waiting *w, int64_t rank, double begin, double end, int32_t site,
                       int64_t partner, double times)
{
    const struct latest *l = &w->rank[partner];
    const struct activity unknown = {.doing = TI_DOING_UNKNOWN, .site = -1};

    for (uint64_t i = l->n; i > 0 && i + w->keep > l->n && end > begin; i--) {
        const struct activity *other = &l->of[(i - 1) % w->keep];
        double from = other->begin > begin ? other->begin : begin;
        double to = other->end < end ? other->end : end;

        if (to <= from)
            continue;
        if (end > to)
            add(w, rank, partner, site, &unknown, times * (end - to));
        add(w, rank, partner, site, other, times * (to - from));
        end = from;
    }
    if (end > begin)
        add(w, rank, partner, site, &unknown, times * (end - begin));
}

/* ---- the list ---- */

struct entry {
    const int64_t *key;
    double seconds;
};

static int by_seconds(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    for (int i = 0; i < 4; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

static json_t *rank_json(int64_t rank)
{
    return rank == MANY ? json_null() : json_integer(rank);
}

static json_t *entry_json(const struct entry *e, const struct ti_call_site *site)
{
    static const char *const words[] = {"computing", "communicating", "waiting", "unknown"};
    int64_t pair = e->key[0], doing = e->key[2] % 4, third = e->key[2] / 4 - 1;
    int64_t rank = pair < 0 ? MANY : pair >> 32, partner = pair < 0 ? MANY : pair & UINT32_MAX;
    json_t *j = json_pack("{s:o, s:o, s:f, s:s}", "rank", rank_json(rank), "for",
                          rank_json(partner), "seconds", e->seconds, "doing", words[doing]);

    ti_call_site_json(j, "", &site[e->key[1]]);
    if (e->key[3] >= 0)
        ti_call_site_json(j, "doing_", &site[e->key[3]]);
    if (third >= 0)
        json_object_set_new(j, "third", json_integer(third));
    return j;
}

json_t *ti_waiting_json(const struct ti_waiting *w, const struct ti_call_site *site)
{
    json_t *list = json_array();
    size_t none = 0;
    struct entry *entry = ti_grow(NULL, &none, w->keys.n + 1, sizeof *entry);

    for (size_t i = 0; i < w->keys.n; i++)
        entry[i] = (struct entry){w->keys.key[i], w->seconds[i]};
    qsort(entry, w->keys.n, sizeof *entry, by_seconds);
    for (size_t i = 0; i < w->keys.n; i++)
        json_array_append_new(list, entry_json(&entry[i], site));
    free(entry);
    return list;
}
