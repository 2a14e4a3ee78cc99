#include <stdlib.h>
#include <string.h>

#include "fold/trips.h"
#include "sound/walk_internal.h"

/* Beside requests, messages and counters, what must be equal for a walk to be steady. */
struct ti_walk_mark {
    uint64_t index;
    uint64_t made, asked;
    bool is_ahead;
    int64_t kept, entries;
    struct count *count;
    struct request *live;
    struct probed *probed;
    uint8_t *open;
    size_t ncounts, counts_cap, nlive, live_cap, nprobed, probed_cap, nepochs, open_cap;
};

struct ti_walk_mark *ti_walk_mark_new(void)
{
    return calloc(1, sizeof(struct ti_walk_mark));
}

void ti_walk_mark_free(struct ti_walk_mark *m)
{
    if (!m)
        return;
    free(m->count);
    free(m->live);
    free(m->probed);
    free(m->open);
    free(m);
}

/*
 * Whether the second reader is ahead of the walk, because a receive with a wildcard is completed
 * later than here, or never.  If it is neither ahead where a trip begins nor where the next one
 * does, the trip completes all such receives that it posts.  So trips that are alike match the same
 * messages, and the second reader leaves them out, too.
 */
static bool is_ahead(const struct ti_walk *w)
{
    return w->ahead.ended || w->ahead.index > w->index;
}

size_t ti_walk_extent(const struct ti_walk *w)
{
    return w->channels.n + w->nlive + w->nprobed + w->epochs.n;
}

bool ti_walk_remember(const struct ti_walk *w, struct ti_walk_mark *m)
{
    m->index = w->index;
    m->made = w->comms.made;
    m->asked = w->ahead.asked;
    m->is_ahead = is_ahead(w);
    m->kept = w->kept;
    m->entries = w->topologies.entries;
    m->ncounts = w->channels.n;
    m->nlive = w->nlive;
    m->nprobed = w->nprobed;
    m->nepochs = w->epochs.n;
    if (!TI_ROOM(m->count, &m->counts_cap, m->ncounts) ||
        !TI_ROOM(m->live, &m->live_cap, m->nlive) ||
        !TI_ROOM(m->probed, &m->probed_cap, m->nprobed) ||
        !TI_ROOM(m->open, &m->open_cap, m->nepochs))
        return false;
    if (m->ncounts)
        memcpy(m->count, w->count, m->ncounts * sizeof *m->count);
    if (m->nlive)
        memcpy(m->live, w->live, m->nlive * sizeof *m->live);
    if (m->nprobed)
        memcpy(m->probed, w->probed, m->nprobed * sizeof *m->probed);
    if (m->nepochs)
        memcpy(m->open, w->open, m->nepochs * sizeof *m->open);
    return true;
}

uint64_t ti_walk_growth(const struct ti_walk *w, const struct ti_walk_mark *m,
                        const struct ti_msg *msg)
{
    int64_t c = ti__walk_channel(w, msg);

    return c < 0 || (size_t)c >= m->ncounts ? ti_walk_posted(w, msg)
                                            : w->count[c].next - m->count[c].next;
}

/* Whether a message is that of the mark, or the one that took its place in the trip. */
static bool same_message(const struct ti_walk *w, const struct ti_walk_mark *m,
                         const struct ti_msg *is, const struct ti_msg *was, bool moved)
{
    if (is->recv != was->recv || is->mode != was->mode || is->null != was->null ||
        is->unknown != was->unknown || is->cancelling != was->cancelling ||
        is->cancelled != was->cancelled || is->hole != was->hole || is->astray != was->astray ||
        is->peer != was->peer || is->gid != was->gid || is->tag != was->tag ||
        is->partitioned != was->partitioned || is->bytes != was->bytes || is->req != was->req ||
        is->op != was->op || is->event - was->event != (moved ? w->index - m->index : 0))
        return false;
    return is->null || is->seq - was->seq == (moved ? ti_walk_growth(w, m, is) : 0);
}

static bool same_request(const struct ti_walk *w, const struct ti_walk_mark *m,
                         const struct request *is, const struct request *was)
{
    bool moved = is->event != was->event;

    if (!is->used && !was->used)
        return true;
    if (is->used != was->used || is->active != was->active || is->persistent != was->persistent ||
        is->cancelled != was->cancelled || is->op != was->op ||
        is->partitioned != was->partitioned || is->left != was->left || is->init != was->init ||
        is->nmsgs != was->nmsgs)
        return false;
    if (moved && is->event - was->event != w->index - m->index)
        return false;
    for (int i = 0; i < is->nmsgs; i++)
        if (!same_message(w, m, &is->msg[i], &was->msg[i], moved))
            return false;
    return true;
}

bool ti_walk_steady(const struct ti_walk *w, const struct ti_walk_mark *m)
{
    if (w->ahead.asked != m->asked && (m->is_ahead || is_ahead(w)))
        return false;
    if (w->comms.made != m->made || w->kept != m->kept || w->topologies.entries != m->entries ||
        w->channels.n != m->ncounts || w->nlive != m->nlive || w->nprobed != m->nprobed ||
        w->epochs.n != m->nepochs)
        return false;
    if (m->nepochs && memcmp(w->open, m->open, m->nepochs) != 0)
        return false;
    for (size_t i = 0; i < w->nlive; i++)
        if (!same_request(w, m, &w->live[i], &m->live[i]))
            return false;
    for (size_t i = 0; i < w->nprobed; i++) {
        const struct probed *is = &w->probed[i], *was = &m->probed[i];

        if (is->used != was->used ||
            (is->used && !same_message(w, m, &is->msg, &was->msg, is->msg.event != was->msg.event)))
            return false;
    }
    return true;
}

/* Let a message that is in the place of another one since the mark move on `trips` times more. */
static void move_message(const struct ti_walk *w, const struct ti_walk_mark *m, struct ti_msg *msg,
                         uint64_t trips)
{
    msg->event += trips * (w->index - m->index);
    if (!msg->null)
        msg->seq += trips * ti_walk_growth(w, m, msg);
}

uint64_t ti_walk_leave_out(struct ti_walk *w, const struct ti_walk_mark *m, uint32_t depth,
                           uint64_t times, uint64_t trips, bool *fine)
{
    uint64_t events = w->index - m->index;
    struct ti_trip_period period = {trips, events};
    bool follows = !w->ahead.r || is_ahead(w) ||
                   ti_wildcards_leave_out(&w->ahead, w->index, depth, times, &period);

    for (size_t i = 0; i < w->nlive; i++) {
        struct request *q = &w->live[i];

        if (!q->used || q->event == m->live[i].event)
            continue;
        q->event += times * events;
        for (int k = 0; k < q->nmsgs; k++)
            move_message(w, m, &q->msg[k], times);
    }
    for (size_t i = 0; i < w->nprobed; i++)
        if (w->probed[i].used && w->probed[i].msg.event != m->probed[i].msg.event)
            move_message(w, m, &w->probed[i].msg, times);
    for (size_t i = 0; i < m->ncounts; i++) {
        if (w->count[i].found != m->count[i].found) {
            w->count[i].found += times * (w->count[i].next - m->count[i].next);
            w->count[i].found_by += times * events;
        }
        w->count[i].next += times * (w->count[i].next - m->count[i].next);
        w->count[i].placed += times * (w->count[i].placed - m->count[i].placed);
    }
    *fine = ti_reader_leave_out(w->r, times, &period) && follows;
    w->left_out = true;
    w->index += times * events;
    return times * events;
}
