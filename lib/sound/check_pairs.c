/* After the first pass of the check: compare the sums of both sides of each lane (pairs.h). */
#include <stdlib.h>

#include "sound/locate.h"

static bool both_sound(const struct ti_check_state *st, const int64_t *key)
{
    return st->sound[key[0]] && st->sound[key[1]];
}

static void settle(struct ti_check *check, struct ti_lane *lane, uint64_t messages, uint64_t bytes)
{
    lane->checked = true;
    lane->messages = messages;
    lane->message_bytes = bytes;
    check->conserved.messages += messages;
    check->conserved.bytes += bytes;
}

/* Count what could not be compared.  Messages that unsound ranks send were counted before. */
static void count_unchecked(struct ti_check_state *st, const int64_t *key,
                            const struct ti_lane *lane)
{
    st->check->unchecked.messages += lane->sent.n;
    if (!ti_source_has(st->s, key[0]))
        st->check->unchecked.messages += lane->taken.n;
}

/* A lane that does not agree has one of these differences.  They are found without reading its
 * ranks again. */
enum difference {
    UNCERTAIN = 0,
    UNMATCHED = 1, /* some message has no receive, or some receive no message */
    TRUNCATED = 2  /* some message is larger than the room of its receive */
};

/* The sums decide where no message was, or may have been, cancelled or taken by a wildcard, and
 * each receive took one. */
static enum difference judge(const struct ti_check_state *st, int64_t src, int64_t dst,
                             const struct ti_lane *lane)
{
    const struct ti_side *sent = &lane->sent, *taken = &lane->taken;

    for (size_t i = 0; i < st->open.n; i++)
        if (st->open.key[i][0] == dst)
            return UNCERTAIN;
    if (st->cancels[src] || st->cancels[dst] || st->unfinished[dst])
        return UNCERTAIN;
    if (sent->n != taken->n || sent->places != taken->places)
        return UNMATCHED;
    return sent->largest > taken->largest || sent->smallest > taken->smallest ? TRUNCATED
                                                                              : UNCERTAIN;
}

/* Close a lane that does not agree, of ranks that are too long to be read again. */
static enum difference close_huge(struct ti_check_state *st, const int64_t *key,
                                  struct ti_lane *lane)
{
    enum difference found = judge(st, key[0], key[1], lane);

    if (found == UNCERTAIN)
        count_unchecked(st, key, lane);
    else if (found == UNMATCHED)
        settle(st->check, lane, 0, 0);
    else
        settle(st->check, lane, lane->sent.n, lane->sent.bytes);
    return found;
}

static void report_huge(struct ti_check_state *st, int64_t src, int64_t dst, unsigned found)
{
    if (found & UNMATCHED)
        st->check->unmatched = true;
    ti_problems_add(st->ps, src, TI_NO_EVENT, NULL,
                    found & UNMATCHED
                        ? "its messages to rank %lld are not those that rank %lld receives; the "
                          "traces are too long to find the first difference"
                        : "some message to rank %lld is larger than the room that rank %lld has "
                          "for it; the traces are too long to find the message",
                    (long long)dst, (long long)dst);
}

/* Compare the lanes of one pair: order[*at] and those after it. */
static ti_status close_pair(struct ti_check_state *st, const size_t *order, size_t *at,
                            struct ti_err *err)
{
    struct ti_pairs *p = &st->check->pairs;
    const int64_t *first = p->keys.key[order[*at]];
    uint64_t matched[TI_LANES] = {0}, bytes[TI_LANES] = {0};
    unsigned doubtful = 0, found = 0;
    size_t end = *at;
    ti_status status = TI_OK;

    for (; end < p->keys.n; end++) {
        const int64_t *key = p->keys.key[order[end]];
        struct ti_lane *lane = &p->lane[order[end]];

        if (key[0] != first[0] || key[1] != first[1])
            break;
        if (!both_sound(st, key))
            count_unchecked(st, key, lane);
        else if (ti_lane_agrees(lane))
            settle(st->check, lane, lane->sent.n, lane->sent.bytes);
        else if (st->huge[key[0]] || st->huge[key[1]])
            found |= close_huge(st, key, lane);
        else
            doubtful |= 1u << key[2];
    }
    if (found)
        report_huge(st, first[0], first[1], found);
    if (doubtful && !ti_problems_room(st->ps)) {
        st->ps->n++; /* only counted: locating it would be expensive */
        *at = end;
        return TI_OK;
    }
    if (doubtful)
        status = ti__locate_in_pair(st, first[0], first[1], doubtful, matched, bytes, err);
    for (; *at < end; ++*at) {
        int64_t lane = p->keys.key[order[*at]][2];

        if (doubtful & 1u << lane)
            settle(st->check, &p->lane[order[*at]], matched[lane], bytes[lane]);
    }
    return status;
}

ti_status ti__close_pairs(struct ti_check_state *st, struct ti_err *err)
{
    size_t *order = ti_pairs_sorted(&st->check->pairs), at = 0;
    ti_status status = order ? TI_OK : ti_err_memory(err, "check the trace");

    while (at < st->check->pairs.keys.n && !status) {
        status = close_pair(st, order, &at, err);
        if (!status)
            status = ti__pause(st, err);
    }
    free(order);
    return status;
}
