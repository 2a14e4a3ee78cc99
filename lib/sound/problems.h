/*
 * The problems of a trace: the first few are kept in full, the others are counted.  Problems with
 * the same text count with the first of them.
 */
#ifndef TI_SOUND_PROBLEMS_H
#define TI_SOUND_PROBLEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sound/text.h"

#define TI_PROBLEMS_SHOWN 10
#define TI_NO_EVENT       UINT64_MAX

struct ti_problems {
    struct ti_problem {
        int64_t rank;
        uint64_t event;           /* 0-based in the rank's stream, or TI_NO_EVENT */
        char call[TI_CALL_BYTES]; /* the event in words, or "" */
        char why[320];
        uint64_t more; /* further problems with the same text */
    } list[TI_PROBLEMS_SHOWN];
    int shown;
    uint64_t n; /* all problems */
};

/* Whether one more would be kept.  Ask before describing a problem is expensive. */
static inline bool ti_problems_room(const struct ti_problems *ps)
{
    return ps->shown < TI_PROBLEMS_SHOWN;
}

/* Add a problem of a rank's event, or TI_NO_EVENT; `call` may be NULL.  Returns the TI_CALL_BYTES
 * of `call` if the problem is kept and not only counted: ti_event_text() reads the trace, and may
 * fill them only then. */
char *ti_problems_add(struct ti_problems *ps, int64_t rank, uint64_t event, const char *call,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* How many problems there are. */
struct ti_problems_mark {
    int shown;
    uint64_t n, more[TI_PROBLEMS_SHOWN];
};
void ti_problems_remember(const struct ti_problems *ps, struct ti_problems_mark *mark);

/* Whether all problems since a mark are like others before it, or there is no room for more. */
bool ti_problems_repeat_themselves(const struct ti_problems *ps,
                                   const struct ti_problems_mark *mark);

/* Add `times` times the problems since a mark. */
void ti_problems_repeat(struct ti_problems *ps, const struct ti_problems_mark *mark,
                        uint64_t times);

/* One line each: "  rank 3, event 17, send(...): why". */
void ti_problems_print(const struct ti_problems *ps, FILE *out);

/* [{"rank": 3, "event": 17, "call": "...", "why": "...", "more": 0}, ...] */
json_t *ti_problems_json(const struct ti_problems *ps);

#endif
