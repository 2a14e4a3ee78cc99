#include "bundle/doubts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

#define SPREAD_MOST 2 /* ratio of the rates of two ranks that one speed may stand for */

static void doubt(struct ti_doubts *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void doubt(struct ti_doubts *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(out->text[out->n++], sizeof out->text[0], fmt, ap);
    va_end(ap);
}

bool ti_doubts_slowed(const char *counter)
{
    return counter && strcmp(counter, "valgrind") == 0;
}

void ti_doubts_of_durations(const json_t *run, bool slowed, struct ti_doubts *out)
{
    const json_t *plan = json_object_get(run, "plan");
    const char *mode = json_string_value(json_object_get(plan, "mode"));
    json_int_t folding = json_integer_value(json_object_get(plan, "folding"));

    *out = (struct ti_doubts){0};
    if (slowed)
        doubt(out, "bursts ran under valgrind, which is slower than the machine");
    if (mode && strchr(mode, 'F'))
        doubt(out, "ranks shared cores (%.40s): durations of bursts include waiting for a core",
              mode);
    else if (folding > 1)
        doubt(out,
              "ranks shared cores (up to %lld a core): durations of bursts include waiting for a "
              "core",
              (long long)folding);
}

void ti_doubts_of_rates(double least, double most, const char *unit, struct ti_doubts *out)
{
    char from[32], to[32];

    if (most <= SPREAD_MOST * least)
        return;
    doubt(out, "ranks executed %s to %s %.40s a second: one rate does not fit them",
          ti_format_count((uint64_t)least, from, sizeof from),
          ti_format_count((uint64_t)most, to, sizeof to), unit);
}
