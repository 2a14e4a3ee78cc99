#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "trips/internal.h"

ti_status ti_trips_add(struct ti_trips *t, const char *text, struct ti_err *err)
{
    const char *equals = strrchr(text, '=');
    struct ti_trips_loop *l;
    int64_t trips;
    ti_status st;

    if (!equals || equals == text) {
        ti_err_set(err, TI_ERR_USAGE, "--trips: '%s' is not LOOP=TRIPS", text);
        ti_err_hint(err, "ti-info --phases shows the names of loops behind '#'");
        return TI_ERR_USAGE;
    }
    if (t->n == TI_TRIPS_MOST)
        return ti_err_set(err, TI_ERR_USAGE, "--trips: more than %d loops", TI_TRIPS_MOST);
    if (equals - text >= TI_LOOP_NAME_BYTES)
        return ti_err_set(err, TI_ERR_USAGE, "--trips: the name '%.40s...' is too long", text);
    st = ti_parse_int(equals + 1, "--trips", 1, TI_RECORD_EVENTS, &trips, err);
    if (st)
        return st;
    l = &t->loop[t->n++];
    *l = (struct ti_trips_loop){.trips = (uint64_t)trips};
    memcpy(l->loop, text, (size_t)(equals - text));
    return TI_OK;
}

void ti_trips_free(struct ti_trips *t)
{
    for (int i = 0; i < t->n; i++)
        ti_ranges_free(&t->loop[i].ranks);
    *t = (struct ti_trips){.n = 0};
}

void ti__range_text(uint64_t least, uint64_t most, char *buf, size_t bytes)
{
    char a[32], b[32];

    ti_format_count(least, a, sizeof a);
    ti_format_count(most, b, sizeof b);
    snprintf(buf, bytes, "%s%s%s", a, least == most ? "" : " to ", least == most ? "" : b);
}

/* How the repeated trips are alike. */
static const char *likeness(const struct ti_trips_loop *l)
{
    if (l->length == 1)
        return "the same each time";
    if (!l->same)
        return "which differ in calls, fields or inner loops";
    if (!l->alike)
        return "which differ in volumes only";
    return l->drawn ? "which differ in statistics of volumes at most" : "which are alike";
}

/* "last trip", "last 3 trips". */
static const char *last_trips(const struct ti_trips_loop *l, char *buf, size_t bytes)
{
    if (l->tail == 1)
        snprintf(buf, bytes, "last trip");
    else
        snprintf(buf, bytes, "last %" PRIu64 " trips", l->tail);
    return buf;
}

const char *ti_trips_short_text(const struct ti_trips_loop *l, char *buf, size_t bytes)
{
    char again[80], last[40] = "";

    if (l->tail)
        last_trips(l, last, sizeof last);
    ti__range_text(l->from + 1, l->from + l->length, again, sizeof again);
    if (l->length)
        snprintf(buf, bytes, "trip%s %s again and again%s%s", l->length == 1 ? "" : "s", again,
                 l->tail ? ", then the " : "", last);
    else if (l->tail && l->trips < l->most)
        snprintf(buf, bytes, "the first trips and the %s", last);
    else
        snprintf(buf, bytes, "%s", "");
    return buf;
}

const char *ti_trips_text(const struct ti_trips_loop *l, char *buf, size_t bytes)
{
    char had[80], trips[32], again[80], next[32], last[40], how[256];

    ti__range_text(l->least, l->most, had, sizeof had);
    ti_format_count(l->trips, trips, sizeof trips);
    ti__range_text(l->from + 1, l->from + l->length, again, sizeof again);
    last_trips(l, last, sizeof last);
    if (l->length)
        snprintf(how, sizeof how, "from trip %s on, trip%s %s again and again, %s%s%s",
                 ti_format_count(l->most - l->tail + 1, next, sizeof next),
                 l->length == 1 ? "" : "s", again, likeness(l), l->tail ? "; then the " : "",
                 l->tail ? last : "");
    else
        snprintf(how, sizeof how, "%s%s%s",
                 l->trips <= l->least  ? "the first ones"
                 : l->trips >= l->most ? "as before"
                                       : "the first ones, or all of them again and again",
                 l->tail && l->trips < l->most ? ", and the " : "",
                 l->tail && l->trips < l->most ? last : "");
    snprintf(buf, bytes, "loop '%s' of %" PRId64 " rank%s: %s trip%s became %s; %s", l->loop,
             ti_ranges_count(&l->ranks), ti_ranges_count(&l->ranks) == 1 ? "" : "s", had,
             l->most == 1 ? "" : "s", trips, how);
    return buf;
}

static json_t *loop_json(const struct ti_trips_loop *l)
{
    json_t *out;

    out =
        json_pack("{s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o}", "loop", ti_json_text(l->loop), "ranks",
                  ti_ranges_json(&l->ranks), "passes", ti_json_u64(l->passes), "trips_before",
                  "minimum", ti_json_u64(l->least), "maximum", ti_json_u64(l->most), "trips",
                  ti_json_u64(l->trips), "stay_last", ti_json_u64(l->tail));
    if (!l->length) {
        json_object_set_new(out, "repeated", json_null());
        return out;
    }
    json_object_set_new(out, "repeated",
                        json_pack("{s:o, s:o, s:b, s:b}", "first", ti_json_u64(l->from + 1), "last",
                                  ti_json_u64(l->from + l->length), "same_calls", l->same,
                                  "same_volumes", l->alike));
    return out;
}

json_t *ti_trips_json(const struct ti_trips *t)
{
    json_t *list = json_array();

    for (int i = 0; i < t->n; i++)
        json_array_append_new(list, loop_json(&t->loop[i]));
    return list;
}
