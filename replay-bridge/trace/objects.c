#include "replay-bridge/trace/objects.h"

#include <stdio.h>
#include <stdlib.h>

enum kind { COMM, WINDOW, OPEN_FILE };

struct ti_made_object {
    bool here;
    int64_t rank, size; /* of a window: the own rank in it, and the number of its ranks */
};

static struct ti_made_object *object(struct ti_objects *o, enum kind kind, int64_t number)
{
    size_t known = o->numbers.n;
    int64_t i = ti_map_add(&o->numbers, kind, number, 0, 0);

    o->object = ti_grow(o->object, &o->cap, o->numbers.n, sizeof o->object[0]);
    if ((size_t)i == known)
        o->object[i] = (struct ti_made_object){0};
    return &o->object[i];
}

static struct ti_made_object *set(struct ti_objects *o, enum kind kind, int64_t number, bool here)
{
    struct ti_made_object *it = object(o, kind, number);

    if (it->here != here)
        o->hash ^= ti_hash_word(ti_hash_word(TI_HASH_START, (uint64_t)kind), (uint64_t)number);
    it->here = here;
    return it;
}

/* NULL: the rank does not have it. */
static const struct ti_made_object *find(const struct ti_objects *o, enum kind kind, int64_t number)
{
    int64_t i = ti_map_find(&o->numbers, kind, number, 0, 0);

    return i >= 0 && o->object[i].here ? &o->object[i] : NULL;
}

void ti_objects_begin(struct ti_objects *o)
{
    ti_map_clear(&o->numbers);
    o->hash = 0;
    set(o, COMM, 0, true);
    set(o, COMM, 1, true);
}

void ti_objects_free(struct ti_objects *o)
{
    ti_map_free(&o->numbers);
    ti_map_free(&o->group);
    free(o->object);
    *o = (struct ti_objects){0};
}

/* ---- what an event needs ---- */

static bool frees_comm(const struct ti_event *ev)
{
    return ev->op == TI_OP_COMM_FREE || ev->op == TI_OP_COMM_DISCONNECT;
}

static bool makes_window(const struct ti_event *ev)
{
    return (ev->mask & TI_M_WIN) && (ev->mask & TI_M_COMM);
}

static const char *missing(const char *what, int64_t number, char *buf, size_t bytes)
{
    snprintf(buf, bytes, "%s %lld does not exist here", what, (long long)number);
    return buf;
}

/* Peers are relative to the own rank. */
static bool has_rank(const struct ti_made_object *window, int64_t peer)
{
    return peer == TI_NULL || (peer >= -window->rank && peer < window->size - window->rank);
}

/* The only vector of these events is a group, of different ranks. */
static const char *partner_fault(struct ti_objects *o, const struct ti_made_object *window,
                                 const struct ti_event *ev)
{
    ti_map_clear(&o->group);
    for (int64_t i = 0; i < ev->vec[0].len; i++) {
        int64_t peer = ti_vec_at(&ev->vec[0], i);

        if (peer == TI_NULL || !has_rank(window, peer))
            return "its partner is no rank of the window";
        if (ti_map_add(&o->group, peer, 0, 0, 0) != i)
            return "its group has a rank twice";
    }
    return !(ev->mask & TI_M_PEER) || has_rank(window, ev->arg[TI_F_PEER])
               ? NULL
               : "its partner is no rank of the window";
}

/* The reason if the event makes a communicator that is larger than the one that it is made of.
 * Operations on the two groups of an intercommunicator may do so. */
static const char *too_large(const struct ti_reader *r, const struct ti_event *ev, char *buf,
                             size_t bytes)
{
    const struct ti_comm *of = ti_reader_comm(r, ev->arg[TI_F_COMM]), *made = NULL;

    if ((ev->mask & TI_M_NEWCOMM) && ev->arg[TI_F_NEWCOMM] >= 0)
        made = ti_reader_comm(r, ev->arg[TI_F_NEWCOMM]);
    if (!of || !made || of->remote || made->remote || made->size <= of->size)
        return NULL;
    snprintf(buf, bytes, "communicator %lld has %lld ranks, too few for the new one of %lld",
             (long long)ev->arg[TI_F_COMM], (long long)of->size, (long long)made->size);
    return buf;
}

static const char *refusal(struct ti_objects *o, const struct ti_reader *r,
                           const struct ti_event *ev, char *buf, size_t bytes)
{
    const struct ti_made_object *window;

    if ((ev->mask & TI_M_COMM) && !find(o, COMM, ev->arg[TI_F_COMM]))
        return missing("communicator", ev->arg[TI_F_COMM], buf, bytes);
    if (frees_comm(ev) && ev->arg[TI_F_COMM] <= 1)
        return "a predefined communicator cannot be freed";
    if ((ev->mask & TI_M_FILE) && ev->op != TI_OP_FILE_OPEN &&
        !find(o, OPEN_FILE, ev->arg[TI_F_FILE]))
        return missing("file", ev->arg[TI_F_FILE], buf, bytes);
    if (!(ev->mask & TI_M_WIN) || makes_window(ev))
        return too_large(r, ev, buf, bytes);
    window = find(o, WINDOW, ev->arg[TI_F_WIN]);
    if (!window)
        return missing("window", ev->arg[TI_F_WIN], buf, bytes);
    return partner_fault(o, window, ev);
}

/* ---- what an event makes and frees ---- */

static void make_and_free(struct ti_objects *o, const struct ti_reader *r,
                          const struct ti_event *ev)
{
    if ((ev->mask & TI_M_NEWCOMM) && ev->arg[TI_F_NEWCOMM] >= 0 &&
        ti_reader_comm(r, ev->arg[TI_F_NEWCOMM]))
        set(o, COMM, ev->arg[TI_F_NEWCOMM], true);
    if (frees_comm(ev))
        set(o, COMM, ev->arg[TI_F_COMM], false);
    if (ev->mask & TI_M_FILE)
        set(o, OPEN_FILE, ev->arg[TI_F_FILE], ev->op != TI_OP_FILE_CLOSE);
    if (makes_window(ev)) {
        const struct ti_comm *c = ti_reader_comm(r, ev->arg[TI_F_COMM]);
        struct ti_made_object *window = set(o, WINDOW, ev->arg[TI_F_WIN], true);

        window->rank = c ? c->rank : 0;
        window->size = c ? c->size : 0;
    } else if (ev->op == TI_OP_WIN_FREE) {
        set(o, WINDOW, ev->arg[TI_F_WIN], false);
    }
}

const char *ti_objects_use(struct ti_objects *o, const struct ti_reader *r,
                           const struct ti_event *ev, char *buf, size_t bytes)
{
    const char *why = refusal(o, r, ev, buf, bytes);

    if (!why)
        make_and_free(o, r, ev);
    return why;
}
