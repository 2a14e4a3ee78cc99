/* Windows and files, by MPI handle: a hash table with linear probing. */
#include <stdio.h>

#include "minitrace/state.h"

#define FIRST_ROOM 16 /* power of two, at most half full; doubles */

static uint32_t slot_of(const struct ti_handles *t, uintptr_t handle)
{
    uint64_t h = (uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(h >> 40) & (t->room - 1);

    while (t->entry[slot].handle && t->entry[slot].handle != handle)
        slot = (slot + 1) & (t->room - 1);
    return slot;
}

static bool grow(struct ti_handles *t)
{
    struct ti_handles old = *t;

    t->entry = NULL;
    t->entry_bytes = 0;
    t->room = old.room ? 2 * old.room : FIRST_ROOM;
    if (!ti_reserve((void **)&t->entry, &t->entry_bytes, t->room * sizeof *t->entry)) {
        *t = old;
        return false;
    }
    for (uint32_t i = 0; i < old.room; i++)
        if (old.entry[i].handle)
            t->entry[slot_of(t, old.entry[i].handle)] = old.entry[i];
    ti_unmap(old.entry, old.entry_bytes);
    return true;
}

struct ti_handle *ti_handle_add(struct ti_handles *t, uintptr_t handle, int rank)
{
    struct ti_handle *e;

    if (2 * (t->used + 1) > t->room && !grow(t)) {
        ti_stop_recording("no memory to follow %u %ss", t->used, t->what);
        return NULL;
    }
    e = &t->entry[slot_of(t, handle)];
    t->used += !e->handle;
    *e = (struct ti_handle){.handle = handle, .number = t->met++, .rank = rank};
    return e;
}

struct ti_handle *ti_handle_known(struct ti_handles *t, uintptr_t handle)
{
    struct ti_handle *e = t->room ? &t->entry[slot_of(t, handle)] : NULL;

    return e && e->handle ? e : NULL;
}

struct ti_handle *ti_handle_find(struct ti_handles *t, uintptr_t handle)
{
    struct ti_handle *e = ti_handle_known(t, handle);
    char what[64];

    if (__builtin_expect(!e, 0)) {
        snprintf(what, sizeof what, "a %s that no traced call made", t->what);
        ti_stop_untracked(what);
    }
    return e;
}

void ti_handle_forget(struct ti_handles *t, uintptr_t handle)
{
    struct ti_handle *e = ti_handle_known(t, handle);

    if (!e)
        return;
    e->handle = 0;
    t->used--;
    /* close the gap: later entries may have been moved past it */
    for (uint32_t i = ((uint32_t)(e - t->entry) + 1) & (t->room - 1); t->entry[i].handle;
         i = (i + 1) & (t->room - 1)) {
        struct ti_handle moved = t->entry[i];

        t->entry[i].handle = 0;
        t->entry[slot_of(t, moved.handle)] = moved;
    }
}

int64_t ti_mode_of(const struct ti_mode *list, size_t n, int mode)
{
    int64_t ours = 0;

    for (size_t i = 0; i < n; i++)
        if (mode & list[i].theirs)
            ours |= list[i].ours;
    return ours;
}
