#include <string.h>

#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "info/info.h"
#include "timeline/timeline.h"

struct hosts {
    struct ti_source *source;
    char text[256]; /* of the last rank */
};

/* The host that a rank ran on; "" if its trace does not tell. */
static const char *host_of(const void *of, int64_t rank)
{
    struct hosts *h = (struct hosts *)(uintptr_t)of;
    struct ti_reader *r = NULL;
    const char *host;

    h->text[0] = '\0';
    if (!ti_source_has(h->source, rank) || ti_source_reader(h->source, rank, &r, NULL) != TI_OK)
        return h->text;
    host = ti_reader_info(r, "host");
    snprintf(h->text, sizeof h->text, "%s", host ? host : "");
    ti_reader_close(r);
    return h->text;
}

/* Let the symbolizer look where the programs of all ranks were. */
static void add_programs(struct ti_source *s, struct ti_symbolizer *z)
{
    struct ti_reader *r;

    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++)
        if (ti_source_has(s, rank) && ti_source_reader(s, rank, &r, NULL) == TI_OK) {
            ti_symbolizer_add_rank(z, r);
            ti_reader_close(r);
        }
}

static void report(const char *path, const struct ti_timeline_told *told,
                   const struct info_style *style)
{
    char events[32];

    if (style->json) {
        json_t *out = json_pack("{s:s, s:o, s:b, s:o, s:o}", "timeline", path, "events",
                                ti_json_u64(told->events), "aligned", (int)told->aligned, "missing",
                                ti_ranges_json(&told->missing), "incomplete",
                                ti_ranges_json(&told->incomplete));

        info_print_json(out);
        json_decref(out);
    } else if (!style->quiet) {
        printf("%s: %s events\n", path, ti_format_count(told->events, events, sizeof events));
    }
    if (!told->aligned && !style->quiet)
        ti_warn("ranks have no common clock: the timeline lets all of them leave MPI_Init at the "
                "same time");
    info_warn_of_ranks(&told->missing, "rank missing", "ranks missing", "");
    info_warn_of_ranks(&told->incomplete, "rank incomplete", "ranks incomplete", "");
}

ti_status info_timeline(struct ti_source *s, const char *path, const struct info_style *style,
                        struct ti_err *err)
{
    const struct ti_timeline_job job = {ti_source_path(s), s, 0};
    struct hosts hosts = {s, ""};
    const struct ti_timeline_show show = {.job = &job,
                                          .njobs = 1,
                                          .np = ti_source_nranks(s),
                                          .symbolizer = style->line.symbolizer,
                                          .host = host_of,
                                          .of = &hosts};
    struct ti_timeline_told told = {0};
    struct ti_timeline *t = NULL;
    ti_status st = ti_timeline_open(path, &t, err);

    if (!st)
        st = ti_source_share_lists(s, err);
    if (!st) {
        add_programs(s, style->line.symbolizer);
        st = ti_timeline_write(t, &show, &told, err);
    }
    if (!st) {
        report(path, &told, style);
        st = told.missing.n || told.incomplete.n ? TI_ERR_PARTIAL : TI_OK;
    }
    ti_timeline_told_free(&told);
    ti_timeline_close(t);
    return st;
}
