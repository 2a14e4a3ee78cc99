#include "gather/fetch/removal.h"

#include "gather/fetch/abandon.h"
#include "gather/fetch/copies.h"
#include "gather/fetch/failures.h"

#define REMOVE_RANGES_MAX 2000 /* of one "remove", so that it fits into a frame */
#define NOT_GATHERED      "it is not what was gathered"
#define NOT_ITS_OWN       "the bundle has it as another node merged it"

void ti__check_removable(struct ti__peer *p, int64_t rank, int64_t bytes)
{
    const struct ti_run_rank *r;

    if (p->gathering->rank[rank].state != TI__WANTED ||
        (p->node->ranks_known && !ti_ranges_hold(&p->node->ranks, rank)))
        return;
    r = &p->gathering->run->rank[rank];
    if (ti_ranges_hold(&p->remove_answered, rank))
        ti__add_finding(p->gathering, p->i, -1, rank,
                        "it could not be removed: is the directory writable?", NULL);
    else if (r->from_node && r->from_node != p->i + 1 && p->gathering->round == 0)
        p->has_copies = true;
    else if (r->from_node && r->from_node != p->i + 1)
        ti__add_finding(p->gathering, p->i, -1, rank, NOT_ITS_OWN, NULL);
    else if (r->file.st_size == bytes)
        ti__queue_checksum(p, rank);
    else
        ti__add_finding(p->gathering, p->i, -1, rank, NOT_GATHERED, NULL);
}

void ti__remove_if_equal(struct ti__peer *p, int64_t rank, int64_t bytes, uint32_t crc)
{
    const struct ti_run_rank *r = &p->gathering->run->rank[rank];

    if (r->file.st_size == bytes && r->crc32c == crc)
        ti_ranges_add(&p->to_send, rank);
    else
        ti__add_finding(p->gathering, p->i, -1, rank, NOT_GATHERED, NULL);
}

void ti__ask_remove(struct ti__peer *p)
{
    struct ti_ranges later = {0};

    if (!p->to_send.n || p->to_checksum.n || p->checksumming.n)
        return;
    ti_ranges_clear(&p->being_removed);
    for (size_t i = 0; i < p->to_send.n; i++)
        ti_ranges_add_range(i < REMOVE_RANGES_MAX ? &p->being_removed : &later,
                            p->to_send.range[i].first, p->to_send.range[i].last);
    ti_ranges_free(&p->to_send);
    p->to_send = later;
    p->removing = true;
    ti__made_progress(p);
    ti__request(p, json_pack("{s:s, s:i, s:o, s:s, s:s}", "do", "remove", "id", 4, "ranks",
                             ti_ranges_json(&p->being_removed), "directory", p->node->directory,
                             "run_id", p->gathering->nodes.run_id));
}

bool ti__on_removed(struct ti__peer *p, const json_t *j)
{
    json_int_t n = json_integer_value(json_object_get(j, "removed"));
    bool again;

    if (!p->removing || n < 0 || n > ti_ranges_count(&p->being_removed)) {
        ti__protocol_error(p, "more traces removed than there were");
        return false;
    }
    ti__made_progress(p);
    p->gathering->removed += n;
    p->removing = false;
    p->some_remain = p->some_remain || n < ti_ranges_count(&p->being_removed);
    ti_ranges_add_all(&p->remove_answered, &p->being_removed);
    ti_ranges_clear(&p->being_removed);
    p->gathering->dirty = true;
    ti__ask_remove(p);
    again = !p->removing && p->some_remain;
    if (again)
        p->some_remain = false;
    return again;
}
