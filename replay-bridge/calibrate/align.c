#include "replay-bridge/calibrate/align.h"

#include <stdio.h>
#include <string.h>

void ti_rank_span_begin(struct ti_rank_span *span, const char *text)
{
    long long us = 0;

    span->machine[0] = '\0';
    if (!text || sscanf(text, "%lld %63s", &us, span->machine) != 2 || us < 0)
        span->machine[0] = '\0';
    span->from = (double)us / 1e6;
}

double ti_rank_spans_align(struct ti_rank_span *span, int64_t np)
{
    double first = span[0].from, last = span[0].from;

    for (int64_t i = 0; i < np; i++) {
        if (!span[i].machine[0] || strcmp(span[i].machine, span[0].machine) != 0)
            return -1;
        first = span[i].from < first ? span[i].from : first;
        last = span[i].from > last ? span[i].from : last;
    }
    for (int64_t i = 0; i < np; i++)
        if (span[i].from + span[i].seconds <= last)
            return -1;
    for (int64_t i = 0; i < np; i++) {
        span[i].seconds -= last - span[i].from;
        span[i].from = last;
    }
    return last - first;
}
