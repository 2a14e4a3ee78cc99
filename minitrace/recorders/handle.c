#include "minitrace/recorders/handle.h"

#include <string.h>

#include "minitrace/core/state.h"

#define FIRST_ROOM 16 /* doubles */

struct ti_handle ti_no_handle = {(uintptr_t)&ti_no_handle};

static struct ti_handle *at(const struct ti_handles *t, uint32_t slot)
{
    return (struct ti_handle *)(void *)(t->entries + slot * t->entry_bytes);
}

/* The slot that has this handle, or the free slot where it belongs. */
static uint32_t slot_of(const struct ti_handles *t, uintptr_t bits)
{
    uint64_t h = (uint64_t)bits * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(h >> 40) & (t->room - 1);

    while (at(t, slot)->bits && at(t, slot)->bits != bits)
        slot = (slot + 1) & (t->room - 1);
    return slot;
}

static bool grow(struct ti_handles *t)
{
    struct ti_handles old = *t;

    t->entries = NULL;
    t->bytes = 0;
    t->room = old.room ? 2 * old.room : FIRST_ROOM;
    if (!ti_reserve((void **)&t->entries, &t->bytes, t->room * t->entry_bytes)) {
        *t = old;
        return false;
    }
    for (uint32_t i = 0; i < old.room; i++)
        if (at(&old, i)->bits)
            memcpy(at(t, slot_of(t, at(&old, i)->bits)), at(&old, i), t->entry_bytes);
    ti_unmap(old.entries, old.bytes);
    t->last = &ti_no_handle;
    return true;
}

void *ti_handle_add(struct ti_handles *t, const struct ti_handle *entry)
{
    struct ti_handle *e;

    if (2 * (t->used + 1) > t->room && !grow(t))
        return NULL;
    e = at(t, slot_of(t, entry->bits));
    t->used += !e->bits;
    if (e == t->last)
        t->last = &ti_no_handle;
    return memcpy(e, entry, t->entry_bytes);
}

void *ti_handle_search(const struct ti_handles *t, uintptr_t bits)
{
    struct ti_handle *e = t->room ? at(t, slot_of(t, bits)) : NULL;

    return e && e->bits ? e : NULL;
}

void ti_handle_forget(struct ti_handles *t, uintptr_t bits)
{
    uint32_t slot = t->room ? slot_of(t, bits) : 0;

    if (!t->room || !at(t, slot)->bits)
        return;
    if (at(t, slot) == t->last)
        t->last = &ti_no_handle;
    at(t, slot)->bits = 0;
    t->used--;
    /* close the gap: later entries may have been moved past it */
    for (slot = (slot + 1) & (t->room - 1); at(t, slot)->bits; slot = (slot + 1) & (t->room - 1)) {
        uintptr_t moved = at(t, slot)->bits;
        uint32_t to;

        at(t, slot)->bits = 0;
        to = slot_of(t, moved);
        if (to != slot) {
            memcpy(at(t, to), at(t, slot), t->entry_bytes);
            t->last = &ti_no_handle;
        }
        at(t, to)->bits = moved;
    }
}
