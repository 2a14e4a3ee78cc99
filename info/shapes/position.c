/* ti-info --at: a place in a rank's trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/folded.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "common/json.h"
#include "fold/seek.h"
#include "info/event_json.h"
#include "trips/names.h"

/* A place that is asked for. */
enum what { EVENT, VOLUME, TIME };

struct wanted {
    enum what what;
    uint64_t value; /* nanoseconds of TIME */
};

/* ---------------------------------------------------------------- parsing -- */

/* Parse "12", "1e12" or "12.5" times `scale`; false if it is none, or too large. */
static bool parse_number(const char *text, uint64_t scale, uint64_t *out)
{
    char *end;
    double value;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*end == '\0' && errno == 0 && *out <= INT64_MAX / scale) {
        *out *= scale;
        return true;
    }
    value = strtod(text, &end) * (double)scale;
    if (*end || !(value <= 0x1p62))
        return false;
    *out = (uint64_t)(value + 0.5);
    return true;
}

static ti_status parse(const char *text, struct wanted *out, struct ti_err *err)
{
    static const char *const name[] = {[EVENT] = "event=", [VOLUME] = "volume=", [TIME] = "time="};

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        size_t n = strlen(name[i]);

        out->what = (enum what)i;
        if (strncmp(text, name[i], n) == 0 &&
            parse_number(text + n, i == TIME ? 1000000000 : 1, &out->value))
            return TI_OK;
    }
    return ti_err_set(err, TI_ERR_USAGE, "--at '%s' is none of event=N, volume=N, time=SECONDS",
                      text);
}

/* ----------------------------------------------------------------- finding -- */

/* The columns whose sum is the time; 0 if there are none. */
static uint32_t time_columns(const struct ti_reader *r)
{
    int burst = ti_reader_extra(r, TI_EXTRA_BURST), call = ti_reader_extra(r, TI_EXTRA_CALL);

    return (burst >= 0 ? 2u << burst : 0) | (call >= 0 ? 2u << call : 0);
}

static double time_of(const struct ti_reader *r, const uint64_t *sum)
{
    double ns = 0;

    for (uint32_t rest = time_columns(r); rest; rest &= rest - 1)
        ns += (double)sum[__builtin_ctz(rest)];
    return ns / 1e9;
}

/* Add up the volume and the extra columns of the whole trace. */
static bool add_up(const struct ti_reader *r, const struct ti_folded *f,
                   uint64_t sum[1 + TI_EXTRAS_MAX])
{
    bool fine = true;

    for (int k = 0; fine && k <= ti_reader_extras(r); k++)
        fine = ti_shape_sum(f, (uint32_t)k, &sum[k]);
    return fine;
}

static ti_status past_the_end(const struct ti_reader *r, const struct wanted *to,
                              const uint64_t *all, struct ti_err *err)
{
    char text[32];

    switch (to->what) {
    case EVENT:
        return ti_err_set(
            err, TI_ERR_INPUT, "rank %u has %s events; the first is number 0", ti_reader_rank(r),
            ti_format_count(ti_folded_events(ti_reader_folded(r)), text, sizeof text));
    case VOLUME:
        return ti_err_set(err, TI_ERR_INPUT, "rank %u has a volume of %s only", ti_reader_rank(r),
                          ti_format_count(all[0], text, sizeof text));
    case TIME:
        break;
    }
    return ti_err_set(err, TI_ERR_INPUT, "rank %u has a time of %.9f s only", ti_reader_rank(r),
                      time_of(r, all));
}

static ti_status find(struct ti_reader *r, const struct wanted *to, const uint64_t *all,
                      struct ti_place *out, struct ti_err *err)
{
    uint32_t columns = to->what == EVENT ? 0 : to->what == VOLUME ? 1 : time_columns(r);
    int found;

    if (to->what == TIME && !columns) {
        ti_err_set(err, TI_ERR_INPUT, "rank %u has no durations", ti_reader_rank(r));
        ti_err_hint(err, "ti-acquire --times records them");
        return TI_ERR_INPUT;
    }
    found = ti_reader_seek(r, columns, to->value, out, err);
    return found < 0 ? TI_ERR_INPUT : found ? TI_OK : past_the_end(r, to, all, err);
}

/* ---------------------------------------------------------------- printing -- */

/* The first call of a loop. */
static uint32_t first_call(const struct ti_folded *f, uint32_t node)
{
    while (ti_shape_node(f, node).loop)
        node++;
    return node;
}

static struct ti_loop_names *names_of(const struct ti_reader *r, const struct info_style *style)
{
    struct ti_loop_names *names = ti_loop_names_of(r, style->line.symbolizer);

    if (!names)
        ti_no_memory(ti_shape_nodes(ti_reader_folded(r)), sizeof(struct ti_named_node));
    return names;
}

/* Print the loops around the place. */
static void print_loops(const struct ti_reader *r, const struct ti_place *place,
                        const struct info_style *style)
{
    struct ti_loop_names *names = names_of(r, style);
    char name[TI_LOOP_NAME_BYTES], trip[32], trips[32];

    for (uint32_t d = 0; d < place->depth; d++)
        ti_print(stdout, "%*sloop at %s: trip %s of %s\n", (int)(2 * d), "",
                 ti_loop_name(names, place->loop[d].loop, name, sizeof name),
                 ti_format_count(place->loop[d].trip, trip, sizeof trip),
                 ti_format_count(place->loop[d].trips, trips, sizeof trips));
    ti_loop_names_free(names);
}

static void print_sums(const struct ti_reader *r, const struct ti_place *place, const uint64_t *all)
{
    char before[32], of[32];

    printf("%-14s %s of %s\n", "volume before",
           ti_format_count(place->before[0], before, sizeof before),
           ti_format_count(all[0], of, sizeof of));
    if (time_columns(r))
        printf("%-14s %.9f of %.9f s\n", "time before", time_of(r, place->before), time_of(r, all));
}

static ti_status print(struct ti_reader *r, const struct ti_place *place, const uint64_t *all,
                       const struct info_style *style, struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);
    struct info_style one = *style;
    char n[32], of[32];

    printf("rank %" PRIu32 ", event %s of %s\n", ti_reader_rank(r),
           ti_format_count(place->event, n, sizeof n),
           ti_format_count(ti_folded_events(f), of, sizeof of));
    print_loops(r, place, style);
    print_sums(r, place, all);
    one.count = 1;
    return info_dump_rest(r, &one, err);
}

/* ------------------------------------------------------------------- JSON -- */

/* The loops around the place, from the outermost on. */
static json_t *loops_json(const struct ti_reader *r, const struct ti_place *place,
                          const struct info_style *style)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct ti_loop_names *names = names_of(r, style);
    json_t *list = json_array();
    char name[TI_LOOP_NAME_BYTES];

    for (uint32_t d = 0; d < place->depth; d++) {
        uint32_t call = first_call(f, place->loop[d].loop);
        const char *site = ti_reader_string(r, TI_STRING_SITE, ti_shape_node(f, call).site);
        json_t *one = json_object();

        json_object_set_new(
            one, "loop",
            info_json_text(ti_loop_name(names, place->loop[d].loop, name, sizeof name)));
        json_object_set_new(one, "call", json_string(ti_op_info(ti_shape_node(f, call).op)->text));
        json_object_set_new(one, "site", ti_json_text(site && *site ? site : NULL));
        ti_site_line_json(ti_symbolizer_find(style->line.symbolizer, site), one);
        json_object_set_new(one, "trip", ti_json_u64(place->loop[d].trip));
        json_object_set_new(one, "trips", ti_json_u64(place->loop[d].trips));
        json_array_append_new(list, one);
    }
    ti_loop_names_free(names);
    return list;
}

static ti_status print_json(const struct ti_source *s, struct ti_reader *r,
                            const struct ti_place *place, const uint64_t *all,
                            const struct info_style *style, struct ti_err *err)
{
    json_t *out = json_object();
    struct ti_event ev;
    int more = ti_reader_next(r, &ev, err);

    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    json_object_set_new(out, "rank", json_integer(ti_reader_rank(r)));
    json_object_set_new(out, "event", ti_json_u64(place->event));
    json_object_set_new(out, "events", ti_json_u64(ti_folded_events(ti_reader_folded(r))));
    json_object_set_new(out, "loops", loops_json(r, place, style));
    json_object_set_new(out, "volume_before", ti_json_u64(place->before[0]));
    json_object_set_new(out, "volume", ti_json_u64(all[0]));
    if (time_columns(r)) {
        json_object_set_new(out, "seconds_before", json_real(time_of(r, place->before)));
        json_object_set_new(out, "seconds", json_real(time_of(r, all)));
    }
    if (more > 0) {
        json_object_set_new(out, "at", info_event_json(r, &ev, place->event, style));
        info_print_json(out);
    }
    json_decref(out);
    return more < 0 ? TI_ERR_INPUT : TI_OK;
}

ti_status info_position(struct ti_source *s, int64_t rank, const char *at, bool dump,
                        const struct info_style *style, struct ti_err *err)
{
    uint64_t all[1 + TI_EXTRAS_MAX];
    struct ti_place *place;
    struct wanted to = {.what = EVENT};
    struct ti_reader *r;
    ti_status st = parse(at, &to, err);

    if (!st)
        st = ti_folded_open_rank(s, rank, &r, err);
    if (st)
        return st;
    place = malloc(sizeof *place);
    if (!place)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read rank %" PRId64, rank);
    else if (!add_up(r, ti_reader_folded(r), all))
        st = ti_err_set(err, TI_ERR_INPUT, "rank %" PRId64 " is damaged", rank);
    else
        st = find(r, &to, all, place, err);
    if (!st) {
        ti_reader_want_extras(r);
        ti_symbolizer_add_rank(style->line.symbolizer, r);
        st = dump          ? info_dump_rest(r, style, err)
             : style->json ? print_json(s, r, place, all, style, err)
                           : print(r, place, all, style, err);
    }
    free(place);
    ti_reader_close(r);
    return st;
}
