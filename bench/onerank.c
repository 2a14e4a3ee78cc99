/*
 * Open a bundle and read one rank's trace to its end.
 *
 *   onerank BUNDLE RANK...
 *
 * Prints the median over the ranks, in elapsed milliseconds, of opening, of
 * reading, and the events read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bundle/source.h"
#include "tests/verify.h"

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int n = argc - 2;
    double *opening, *reading;
    uint64_t events = 0;
    struct ti_err err;

    if (n < 1)
        return 2;
    opening = calloc((size_t)n * 2, sizeof *opening);
    if (!opening)
        return 1;
    reading = opening + n;
    for (int i = 0; i < n; i++) {
        double start = now_ms();
        struct ti_source *s;
        struct ti_reader *r;

        if (ti_source_open(argv[1], &s, &err)) {
            fprintf(stderr, "onerank: %s\n", err.text);
            return 1;
        }
        opening[i] = now_ms() - start;
        start = now_ms();
        if (ti_source_reader(s, atoll(argv[2 + i]), &r, &err) || verify_trace(r, &events, &err)) {
            fprintf(stderr, "onerank: %s\n", err.text);
            return 1;
        }
        reading[i] = now_ms() - start;
        ti_reader_close(r);
        ti_source_close(s);
    }
    qsort(opening, (size_t)n, sizeof *opening, by_value);
    qsort(reading, (size_t)n, sizeof *reading, by_value);
    printf("%.2f %.2f %" PRIu64 "\n", opening[n / 2], reading[n / 2], events);
    free(opening);
    return 0;
}
