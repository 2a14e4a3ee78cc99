/*
 * A hash table of MPI objects by handle: communicators, windows, files.
 *
 * Entries are structs of one type for each table, whose first member is a `struct ti_handle`.
 * Memory is from ti_reserve(), so the application's heap is not used.  Only the owner of ti_state
 * may use a table.
 */
#ifndef TI_MINITRACE_RECORDERS_HANDLE_H
#define TI_MINITRACE_RECORDERS_HANDLE_H

#include <stddef.h>
#include <stdint.h>

struct ti_handle {
    uintptr_t bits; /* of the C handle of an object, which is never 0; 0: the entry is free */
};

struct ti_handles {
    size_t entry_bytes;
    struct ti_handle *last; /* found last by ti_handle_find(), or &ti_no_handle */
    char *entries;          /* linear probing */
    size_t bytes;           /* of `entries` */
    uint32_t room, used;    /* number of entries: a power of two, at most half of them in use */
};

/* An empty table of entries of this type. */
#define TI_HANDLES(type)                                                                           \
    {                                                                                              \
        .entry_bytes = sizeof(type), .last = &ti_no_handle                                         \
    }

/* The handle of no object: its bits are its own address. */
extern struct ti_handle ti_no_handle __attribute__((visibility("hidden")));

/* Add a copy of *entry, which replaces an entry with its handle: MPI libraries reuse handles.
 * Returns the copy; NULL without memory. */
void *ti_handle_add(struct ti_handles *t, const struct ti_handle *entry);

/* Remove the entry with this handle, if there is one. */
void ti_handle_forget(struct ti_handles *t, uintptr_t bits);

/* The entry with this handle, or NULL.  It is valid until the next addition or removal.
 * ti_handle_find() is for handles that are likely to be looked up again. */
void *ti_handle_search(const struct ti_handles *t, uintptr_t bits);
static inline void *ti_handle_find(struct ti_handles *t, uintptr_t bits)
{
    void *found = t->last;

    if (__builtin_expect(t->last->bits == bits, 1))
        return found;
    found = ti_handle_search(t, bits);
    if (found)
        t->last = found;
    return found;
}

#endif
