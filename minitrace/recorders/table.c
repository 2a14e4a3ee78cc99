#include "minitrace/recorders/table.h"

#include <string.h>

#include "minitrace/core/state.h"

#define FIRST_ROOM 64         /* fits into a page; doubles */
#define LAST_ROOM  (1u << 30) /* more objects than any application makes */

static uint32_t *handle_bucket(const struct ti_table *t, uint64_t handle)
{
    return &t->handles[(uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (t->room - 1)];
}

static uint32_t *place_bucket(const struct ti_table *t, uint64_t handle, const void *where)
{
    uint64_t h = handle * UINT64_C(0x9e3779b97f4a7c15) ^
                 (uint64_t)(uintptr_t)where * UINT64_C(0xc2b2ae3d27d4eb4f);

    return &t->places[(uint32_t)(h >> 32) & (t->room / 2 - 1)];
}

/* ---------------------------------------------------------------- rings -- */

/* Append an object to the ring of its handle, as the youngest. */
static void join_ring(const struct ti_table *t, uint32_t at, uint32_t leader)
{
    struct ti_ring *self = &t->live[at].same_handle, *first = &t->live[leader].same_handle;

    self->next = leader;
    self->prev = first->prev;
    t->live[first->prev].same_handle.next = at;
    first->prev = at;
}

/* Append an object to the ring of its place, as the youngest. */
static void add_to_place(const struct ti_table *t, uint32_t at)
{
    struct ti_live *live = &t->live[at];
    uint32_t *bucket = place_bucket(t, live->handle, live->where);
    struct ti_ring *self = &live->same_place, *first;

    live->placed = true;
    self->next = self->prev = at;
    if (!*bucket) {
        *bucket = at + 1;
        return;
    }
    first = &t->live[*bucket - 1].same_place;
    self->next = *bucket - 1;
    self->prev = first->prev;
    t->live[first->prev].same_place.next = at;
    first->prev = at;
}

static void remove_from_place(const struct ti_table *t, uint32_t at)
{
    const struct ti_live *live = &t->live[at];
    uint32_t *bucket = place_bucket(t, live->handle, live->where);
    const struct ti_ring *self = &live->same_place;

    if (self->next == at) {
        *bucket = 0;
        return;
    }
    t->live[self->prev].same_place.next = self->next;
    t->live[self->next].same_place.prev = self->prev;
    if (*bucket == at + 1)
        *bucket = self->next + 1;
}

/* The leader of the objects with this handle, in the chain from `n` on: index + 1, or 0. */
static inline uint32_t leader(const struct ti_table *t, uint32_t n, uint64_t handle)
{
    while (n && t->live[n - 1].handle != handle)
        n = t->live[n - 1].chain;
    return n;
}

static inline void make_leader(const struct ti_table *t, uint32_t at, uint32_t *bucket)
{
    t->live[at].leads = true;
    t->live[at].chain = *bucket;
    *bucket = at + 1;
}

/* Remove a leader from its chain; the next object of its handle leads. */
static inline void pass_lead(const struct ti_table *t, uint32_t at)
{
    const struct ti_live *live = &t->live[at];
    uint32_t *link = handle_bucket(t, live->handle), next = live->same_handle.next;

    while (*link != at + 1)
        link = &t->live[*link - 1].chain;
    if (next == at) {
        *link = live->chain;
        return;
    }
    *link = next + 1;
    t->live[next].chain = live->chain;
    t->live[next].leads = true;
}

/* -------------------------------------------------------------- numbers -- */

static uint32_t words(uint32_t bits)
{
    return (bits + 63) / 64;
}

/* Take the lowest free number, which must exist.  Slow path: the first word does not have two free
 * numbers. */
static __attribute__((noinline)) uint32_t claim_any_number(struct ti_table *t)
{
    uint32_t number = 0, at;

    for (int l = t->levels - 1; l >= 0; l--)
        number = number * 64 + (uint32_t)__builtin_ctzll(t->vacant[l][number]);
    at = number / 64;
    for (int l = 0; l < t->levels; l++, at /= 64) {
        uint64_t *word = &t->vacant[l][at];

        *word &= *word - 1; /* clear the lowest set bit */
        if (*word)
            break;
    }
    return number;
}

static inline uint32_t claim_number(struct ti_table *t)
{
    uint64_t first = *t->vacant[0];

    if (__builtin_expect((first & (first - 1)) == 0, 0)) /* the last free number of the word, or
                                                          * none */
        return claim_any_number(t);
    *t->vacant[0] = first & (first - 1);
    return (uint32_t)__builtin_ctzll(first);
}

static inline void release_number(struct ti_table *t, uint32_t number)
{
    for (int l = 0; l < t->levels; l++) {
        uint64_t *word = &t->vacant[l][number / 64], before = *word;

        *word |= UINT64_C(1) << number % 64;
        if (before)
            break;
        number /= 64;
    }
}

/* -------------------------------------------------------------- growing -- */

/* Lay out a table of `room` objects in `block`; returns its size in bytes.  With NULL, only
 * computes the size. */
static size_t lay_out(struct ti_table *t, uint32_t room, char *block)
{
    size_t bytes = (size_t)room * sizeof *t->live;
    uint32_t bits = room;

    t->block = block;
    t->room = room;
    t->live = (void *)block;
    t->levels = 0;
    do {
        bits = words(bits);
        t->vacant[t->levels++] = block ? (void *)(block + bytes) : NULL;
        bytes += bits * sizeof *t->vacant[0];
    } while (bits > 1);
    t->handles = block ? (void *)(block + bytes) : NULL;
    bytes += room * sizeof *t->handles;
    t->places = block ? (void *)(block + bytes) : NULL;
    return bytes + room / 2 * sizeof *t->places;
}

/* Objects that share a bucket keep their order. */
static void move_places(const struct ti_table *t, const struct ti_table *old)
{
    for (uint32_t b = 0; b < old->room / 2; b++) {
        uint32_t at = old->places[b] - 1;

        if (!old->places[b])
            continue;
        do {
            add_to_place(t, at);
            at = old->live[at].same_place.next;
        } while (at != old->places[b] - 1);
    }
}

static __attribute__((noinline)) bool grow(struct ti_table *t)
{
    struct ti_table old = *t;
    uint32_t room = old.room ? 2 * old.room : FIRST_ROOM;
    size_t bytes = lay_out(t, room, NULL);
    void *block = room <= LAST_ROOM ? ti_map(bytes) : NULL;

    if (!block) {
        *t = old;
        return false;
    }
    lay_out(t, room, block);
    t->block_bytes = bytes;
    if (old.room) {
        memcpy(t->live, old.live, old.room * sizeof *old.live);
        for (uint32_t at = 0; at < old.room; at++) /* all entries are in use */
            if (t->live[at].leads)
                make_leader(t, at, handle_bucket(t, t->live[at].handle));
        move_places(t, &old);
        for (uint32_t w = 0; w < words(old.room); w++)
            for (uint64_t rest = old.vacant[0][w]; rest; rest &= rest - 1)
                release_number(t, w * 64 + (uint32_t)__builtin_ctzll(rest));
        ti_unmap(old.block, old.block_bytes);
    }
    for (uint32_t n = old.room; n < room; n++)
        release_number(t, n);
    return true;
}

/* ------------------------------------------------------------------ API -- */

/* Take a free entry. */
static inline bool claim_position(struct ti_table *t, uint32_t *at)
{
    if (t->free_list) {
        *at = t->free_list - 1;
        t->free_list = t->live[*at].number;
    } else if (t->used < t->room || grow(t)) {
        *at = t->used;
    } else {
        return false;
    }
    t->used++;
    return true;
}

struct ti_live *ti_table_add(struct ti_table *t, uint64_t handle, const void *where, bool hidden)
{
    struct ti_live *live;
    uint32_t at, first, *bucket;

    if (!claim_position(t, &at))
        return NULL;
    live = &t->live[at];
    live->handle = handle;
    live->where = where;
    live->number = hidden ? TI_HIDDEN : claim_number(t);
    live->leads = live->placed = false;
    live->traits = 0;
    live->own_rank = 0;
    bucket = handle_bucket(t, handle);
    first = leader(t, *bucket, handle);
    if (__builtin_expect(first != 0, 0)) {
        join_ring(t, at, first - 1);
        add_to_place(t, at);
    } else {
        live->same_handle.next = live->same_handle.prev = at;
        make_leader(t, at, bucket);
    }
    return live;
}

void ti_table_remove(struct ti_table *t, struct ti_live *live)
{
    uint32_t at = (uint32_t)(live - t->live);

    if (live->placed)
        remove_from_place(t, at);
    if (live->leads)
        pass_lead(t, at);
    if (__builtin_expect(live->same_handle.next != at, 0)) {
        t->live[live->same_handle.prev].same_handle.next = live->same_handle.next;
        t->live[live->same_handle.next].same_handle.prev = live->same_handle.prev;
    }
    if (live->number != TI_HIDDEN)
        release_number(t, live->number);
    live->number = t->free_list;
    t->free_list = at + 1;
    t->used--;
}

/* The youngest object with this handle at this place.  NULL if none was put there: the leader is
 * the only candidate then. */
static __attribute__((noinline)) struct ti_live *find_place(const struct ti_table *t,
                                                            uint64_t handle, const void *where)
{
    uint32_t first = *place_bucket(t, handle, where), at;

    if (!first)
        return NULL;
    at = first - 1;
    do {
        at = t->live[at].same_place.prev;
        if (t->live[at].handle == handle && t->live[at].where == where)
            return &t->live[at];
    } while (at != first - 1);
    return NULL;
}

struct ti_live *ti_table_find(const struct ti_table *t, uint64_t handle, const void *where)
{
    struct ti_live *live, *there;
    uint32_t first;

    if (t->used == 0)
        return NULL;
    first = leader(t, *handle_bucket(t, handle), handle);
    if (!first)
        return NULL;
    live = &t->live[first - 1];
    if (live->same_handle.next == first - 1)
        return live;
    there = find_place(t, handle, where);
    return there ? there : live;
}
