#include "config/host_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

/* ---- power ---- */

/* Parses a number of watts up to a comma or the end; *end is left there.  False if it is none. */
static bool parse_number(const char *text, double *out, const char **end)
{
    char *after;

    if (text[0] < '0' || text[0] > '9' || text[1] == 'x' || text[1] == 'X')
        return false;
    *out = strtod(text, &after);
    after += *after == 'W';
    *end = after;
    return isfinite(*out) && (!*after || *after == ',');
}

ti_status ti_watts_parse(const char *text, const char *what, struct ti_watts *out,
                         struct ti_err *err)
{
    struct ti_watts w = {.given = true};
    const char *end;

    if (!parse_number(text, &w.idle, &end) || *end != ',' ||
        !parse_number(end + 1, &w.full, &end) || *end) {
        ti_err_set(err, TI_ERR_USAGE, "%s: '%s' is not IDLE,FULL in watts", what, text);
        ti_err_hint(err, "100,200 is a host that takes 100 W when it is idle, and 200 W when all "
                         "its cores compute");
        return TI_ERR_USAGE;
    }
    if (w.full < w.idle) {
        ti_err_set(err, TI_ERR_USAGE,
                   "%s: a host takes less power with all cores busy (%g W) than idle (%g W)", what,
                   w.full, w.idle);
        ti_err_hint(err, "the idle power comes first: %g,%g", w.full, w.idle);
        return TI_ERR_USAGE;
    }
    *out = w;
    return TI_OK;
}

char *ti_watts_text(const struct ti_watts *w, char buf[TI_VALUES_TEXT_BYTES])
{
    snprintf(buf, TI_VALUES_TEXT_BYTES, "%g to %g W", w->idle, w->full);
    return buf;
}

/* ---- disks ---- */

ti_status ti_disk_parse(const char *text, const char *what, struct ti_disk *out, struct ti_err *err)
{
    char copy[128], *latency, *shared = NULL;
    ti_status st;

    snprintf(copy, sizeof copy, "%s", text);
    latency = strchr(copy, ',');
    if (latency) {
        *latency++ = '\0';
        shared = strchr(latency, ',');
    }
    if (shared)
        *shared++ = '\0';
    if (strlen(text) >= sizeof copy || !latency || (shared && strcmp(shared, "shared") != 0)) {
        ti_err_set(err, TI_ERR_USAGE,
                   "%s: '%.60s' is not BANDWIDTH,LATENCY or BANDWIDTH,LATENCY,"
                   "shared",
                   what, text);
        ti_err_hint(err, "500MBps,100us is a disk in each host, 10GBps,1ms,shared a file system "
                         "of all hosts");
        return TI_ERR_USAGE;
    }
    st = ti_unit_check(copy, TI_UNIT_BANDWIDTH, what, err);
    if (!st)
        st = ti_unit_check(latency, TI_UNIT_LATENCY, what, err);
    if (st)
        return st;
    *out = (struct ti_disk){.bandwidth = ti_unit_value(copy, TI_UNIT_BANDWIDTH),
                            .latency_s = ti_unit_value(latency, TI_UNIT_LATENCY),
                            .shared = shared != NULL};
    return TI_OK;
}

char *ti_disk_text(const struct ti_disk *d, char buf[TI_VALUES_TEXT_BYTES])
{
    char bandwidth[TI_UNIT_BYTES_MOST], latency[TI_UNIT_BYTES_MOST];

    ti_unit_format(d->bandwidth, TI_UNIT_BANDWIDTH, bandwidth, sizeof bandwidth);
    ti_unit_format(d->latency_s, TI_UNIT_LATENCY, latency, sizeof latency);
    snprintf(buf, TI_VALUES_TEXT_BYTES, "%s, %s%s", bandwidth, latency,
             d->shared ? ", shared" : "");
    return buf;
}
