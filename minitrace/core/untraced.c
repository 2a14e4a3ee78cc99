/* Calls that have an effect on other ranks and are not recorded.  Each leaves an event with its
 * name and is counted, so that none is missing silently. */
#include <stdio.h>
#include <string.h>

#include "minitrace/core/state.h"

static struct untraced {
    const char *name;
    uint32_t string;
    uint64_t calls;
} * list;
static size_t list_bytes;
static size_t n;

static struct untraced *find(const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].name == name || strcmp(list[i].name, name) == 0)
            return &list[i];
    if (!ti_reserve((void **)&list, &list_bytes, (n + 1) * sizeof *list))
        return NULL;
    list[n] = (struct untraced){name, ti_writer_string(ti_state.writer, TI_STRING_CALL, name), 0};
    return &list[n++];
}

void ti_rec_untraced(struct ti_mpi_call *c, const char *name)
{
    struct ti_event ev = {.mask = TI_M_CALL};
    struct untraced *u;

    if (ti_state.stopped) {
        ti_state.burst = 0;
        return;
    }
    u = find(name);
    if (!u) {
        ti_stop_recording("no memory to name the calls that are not traced");
        return;
    }
    u->calls++;
    ev.arg[TI_F_CALL] = u->string;
    c->op = TI_OP_UNTRACED;
    ti_emit(c, &ev, false);
}

bool ti_untraced_list(char *buf, size_t bytes)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < n && used + 1 < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s %llu", i ? ", " : "", list[i].name,
                                 (unsigned long long)list[i].calls);
    return n > 0;
}
