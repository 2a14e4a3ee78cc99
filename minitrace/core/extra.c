#include "minitrace/core/extra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool times, has_longest;
static int nalso;
static char names[TI_ALSO_MAX * (TI_EVENT_NAME + 8) + 96], calibration_text[(TI_READINGS + 1) * 24];
static uint64_t calibration[TI_READINGS];

ti_status ti_extra_open(const struct ti_counter *counter, bool alone, int *columns,
                        struct ti_err *err)
{
    const char *wish = getenv("TIARA_TIMES");

    times = wish && wish[0] == '1';
    has_longest = counter->longest && alone;
    nalso = counter->nalso;
    snprintf(names, sizeof names, "%s%s%s%s",
             times ? TI_EXTRA_BURST ":ns " TI_EXTRA_CALL ":ns" : "",
             times && has_longest ? " " : "", has_longest ? TI_EXTRA_LONGEST ":" : "",
             has_longest ? counter->unit : "");
    for (int i = 0; i < nalso; i++) {
        size_t used = strlen(names);

        if (strpbrk(counter->also[i], " \t\n"))
            return ti_err_set(err, TI_ERR_USAGE,
                              "'%s' cannot be a column of the trace: there is a blank in it",
                              counter->also[i]);
        snprintf(names + used, sizeof names - used, "%s%s:events", used ? " " : "",
                 counter->also[i]);
    }
    *columns = 2 * times + has_longest + nalso;
    return TI_OK;
}

bool ti_extra_has_times(void)
{
    return times;
}

bool ti_extra_has_longest(void)
{
    return has_longest;
}

const char *ti_extra_names(void)
{
    return names;
}

const char *ti_extra_calibration(void)
{
    size_t used = 0;

    /* nothing is subtracted from calls; what is subtracted from the longest thread is in the
     * volume's calibration */
    calibration_text[0] = '\0';
    if (times)
        used += (size_t)snprintf(calibration_text, sizeof calibration_text, "%llu 0",
                                 (unsigned long long)calibration[0]);
    if (has_longest)
        used += (size_t)snprintf(calibration_text + used, sizeof calibration_text - used, "%s0",
                                 used ? " " : "");
    for (int i = 1; i <= nalso; i++)
        used += (size_t)snprintf(calibration_text + used, sizeof calibration_text - used, "%s%llu",
                                 used ? " " : "", (unsigned long long)calibration[i]);
    return calibration_text;
}

const char *ti_extra_times(const struct ti_account *a, char *text, size_t bytes)
{
    text[0] = '\0';
    if (times)
        snprintf(text, bytes, "elapsed %llu own %llu stopped %llu",
                 (unsigned long long)(a->end - a->begin), (unsigned long long)a->own,
                 (unsigned long long)a->stopped);
    return text;
}

uint64_t ti_extra_clock(void)
{
    struct timespec t;

    if (!times)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ti_extra_enter(struct ti_account *a, const uint64_t *at, enum ti_fate fate)
{
    if (a->inside) /* the call was left by longjmp() or an exception */
        a->call_ns += at[0] - a->entered;
    if (a->inside || !a->known)
        memcpy(a->last, at, sizeof a->last);
    for (int i = 0; i <= nalso; i++) {
        uint64_t burst = at[i] - a->last[i];
        uint64_t ours = burst < calibration[i] ? burst : calibration[i];

        a->since_poll[i] += burst - ours;
        a->own += i ? 0 : ours;
        if (fate == TI_FATE_WAITS)
            continue;
        if (fate == TI_FATE_COUNTS)
            a->burst[i] += a->since_poll[i];
        else if (i == 0)
            a->call_ns += a->since_poll[0];
        a->since_poll[i] = 0;
    }
    a->known = true;
    a->inside = true;
    a->taken = false;
    a->entered = at[0];
}

void ti_extra_leave(struct ti_account *a)
{
    uint64_t now = ti_extra_clock();

    if (!a->inside) /* MPI_Init */
        a->begin = a->end = now;
    else if (a->taken)
        a->own += now - a->entered;
    else
        a->call_ns += now - a->entered;
    a->last[0] = now;
    a->known = true;
    a->inside = false;
}

void ti_extra_read(struct ti_account *a, bool stopped, uint64_t longest, uint64_t *values)
{
    int n = 0;

    memset(values, 0, TI_EXTRAS_MAX * sizeof *values);
    if (!a->inside) /* MPI_Init */
        return;
    a->end = ti_extra_clock();
    a->call_ns += a->end - a->entered;
    a->entered = a->end;
    a->taken = true;
    if (stopped) {
        a->stopped += a->burst[0] + a->call_ns;
    } else {
        if (times) {
            values[n++] = a->burst[0];
            values[n++] = a->call_ns;
        }
        if (has_longest)
            values[n++] = longest;
        for (int i = 1; i <= nalso; i++)
            values[n++] = a->burst[i];
    }
    memset(a->burst, 0, sizeof a->burst);
    a->call_ns = 0;
}

/* ----------------------------------------------------------- calibration -- */

static uint64_t least[TI_READINGS], first[TI_READINGS];

void ti_extra_calibrate_begin(struct ti_account *a)
{
    memset(a, 0, sizeof *a);
    memset(calibration, 0, sizeof calibration);
    memset(least, 0xff, sizeof least);
}

void ti_extra_calibrate_pair(struct ti_account *a, bool second)
{
    for (int i = 0; i <= nalso; i++) {
        if (second && a->burst[i] - first[i] < least[i])
            least[i] = a->burst[i] - first[i];
        first[i] = a->burst[i];
    }
}

void ti_extra_calibrate_end(struct ti_account *a)
{
    memset(a, 0, sizeof *a);
    memcpy(calibration, least, sizeof calibration);
}
