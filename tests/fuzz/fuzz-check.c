/* The check of whole traces, over any bytes: a rank file, or a bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sound/check.h"
#include "sound/text.h"
#include "tests/fuzz/fuzz.h"

/* Ranks that the header speaks of: what is kept for each is no news. */
#define RANKS_MAX (1 << 20)

static ti_status see_event(void *arg, struct ti_walk *w, const struct ti_step *step, bool sound,
                           struct ti_err *err)
{
    char text[TI_CALL_BYTES];

    uint64_t *events = arg;

    (void)sound;
    if (++*events > TI_FUZZ_EVENTS)
        return ti_err_set(err, TI_ERR_PARTIAL, "enough");
    if (step->index % 16 == 0)
        ti_call_text(ti_walk_reader(w), &step->ev, text, sizeof text);
    return TI_OK;
}

static void check(struct ti_source *s)
{
    uint64_t events = 0;
    const struct ti_visitor visitor = {.event = see_event, .arg = &events};
    struct ti_problems problems = {0};
    struct ti_check result;
    struct ti_err err;
    size_t *order, at = 0;

    if (ti_check(s, &visitor, &result, &problems, &err) != TI_OK) {
        if (events <= TI_FUZZ_EVENTS)
            abort();
        ti_check_free(&result);
        return;
    }
    order = ti_pairs_sorted(&result.pairs);
    while (at < result.pairs.keys.n)
        ti_pairs_next(&result.pairs, order, &at);
    free(order);
    ti_check_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    struct ti_source *s;
    struct ti_err err;
    char path[64];
    int fd;

    if (!copy)
        return 0;
    if (bytes)
        memcpy(copy, data, bytes);
    if (bytes > 1 && copy[0] != 'P') /* no bundle */
        ti_fuzz_repair(copy, bytes);
    fd = ti_fuzz_file(copy, bytes);
    free(copy);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ti_source_open(path, &s, &err) == TI_OK) {
        if (ti_source_nranks(s) <= RANKS_MAX)
            check(s);
        ti_source_close(s);
    }
    close(fd);
    return 0;
}
