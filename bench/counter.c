/*
 * Cost of reading a counter: counter CHOICE [ALSO].  Prints how the counter is read and
 * the CPU time of a read in nanoseconds, the least of many turns, since the machine
 * may be shared; or why it does not count here.
 */
#include <stdio.h>
#include <time.h>

#include "minitrace/counters/counter.h"

#define READS 2000
#define TURNS 200

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void turn(const struct ti_counter *c)
{
    uint64_t also[TI_ALSO_MAX];

    for (int i = 0; i < READS; i++) {
        if (c->read_also)
            c->read_also(also);
        else if (c->read)
            c->read();
        else
            (void)*c->word;
    }
}

int main(int argc, char **argv)
{
    struct ti_counter_request wish = {.choice = argc > 1 ? argv[1] : "auto",
                                      .also = argc > 2 ? argv[2] : NULL};
    struct ti_counter c;
    struct ti_err err;
    double least = 0;

    if (ti_counter_open(&wish, &c, &err) != TI_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < TURNS; i++) {
        double start = cpu_ns(), took;

        turn(&c);
        took = (cpu_ns() - start) / READS;
        least = i == 0 || took < least ? took : least;
    }
    printf("%-12s %8.1f\n", c.read_method, least);
    ti_counter_close(&c);
    return 0;
}
