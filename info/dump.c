#include <inttypes.h>
#include <string.h>

#include "analysis/line.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "fold/decode.h"
#include "info/event_csv.h"
#include "info/event_json.h"

/* A longer dump says how long it is, and how to see less. */
#define LONG_DUMP (UINT64_C(1) << 32)

/* Print which values are not exact; before JSON and CSV, as warnings. */
static void print_quality(const struct ti_reader *r, const struct info_style *style)
{
    const char *unit = ti_reader_info(r, "unit");
    struct ti_caveats quality = {0};
    char text[512];

    bool rows = style->json || style->csv;

    if (ti_info_estimate(r) && rows) {
        ti_warn("volumes of rank %" PRIu32 " are an estimate", ti_reader_rank(r));
    } else if (ti_info_estimate(r)) {
        printf("# volumes are an estimate%s", unit ? ", in " : "");
        info_put_clean(unit);
        putchar('\n');
    }
    ti_caveats_add_quality(&quality, r, true);
    if (rows)
        info_warn_of_caveats(&quality);
    for (int i = 0; !rows && ti_caveats_text(&quality, i, text, sizeof text); i++)
        printf("# %s\n", text);
}

static void warn_of_length(const struct ti_reader *r, uint64_t most)
{
    uint64_t n =
        ti_reader_folded(r) ? ti_folded_events(ti_reader_folded(r)) - ti_reader_events(r) : 0;
    char text[32];

    if (n < LONG_DUMP || most < LONG_DUMP)
        return;
    ti_warn("rank %" PRIu32 " has %s events to print", ti_reader_rank(r),
            ti_format_count(n, text, sizeof text));
    ti_hint("--count N prints N of them, --at WHERE begins elsewhere, --phases shows the loops");
}

/* Print an event; false if that failed. */
static bool print_event(struct ti_line *line, const struct ti_reader *r, const struct ti_event *ev,
                        const struct info_style *style)
{
    json_t *out;
    bool fine;

    if (style->csv)
        return info_csv_event(style->csv, r, ev, ti_reader_events(r) - 1, style);
    if (style->json) {
        out = info_event_json(r, ev, ti_reader_events(r) - 1, style);
        fine = json_dumpf(out, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
        json_decref(out);
        return fine;
    }
    ti_line_event(line, r, ev, &style->line);
    ti_line_put(line, "\n");
    return fwrite(line->text, 1, line->bytes, stdout) == line->bytes;
}

ti_status info_dump_rest(struct ti_reader *r, const struct info_style *style, struct ti_err *err)
{
    uint64_t left = style->count ? style->count : UINT64_MAX;
    struct ti_line line = {0};
    struct ti_event ev;
    char end[1024];
    int more = 1;

    if (style->csv)
        info_csv_begin(style->csv, r, style);
    if (!style->line.no_volumes)
        print_quality(r, style);
    warn_of_length(r, left);
    for (; left && (more = ti_reader_next(r, &ev, err)) > 0; left--)
        if (!print_event(&line, r, &ev, style))
            break;
    ti_line_free(&line);
    if (more < 0)
        return TI_ERR_INPUT;
    if (ferror(stdout))
        return ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    if (more || ti_reader_end(r) == TI_END_COMPLETE)
        return TI_OK;
    ti_warn("rank %" PRIu32 " is incomplete after %" PRIu64 " events: %s", ti_reader_rank(r),
            ti_reader_events(r), ti_reader_end_text(r, end, sizeof end));
    return TI_ERR_PARTIAL;
}

static ti_status dump_rank(struct ti_source *s, int64_t rank, const struct info_style *style,
                           struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st != TI_OK)
        return st;
    ti_reader_want_extras(r);
    ti_symbolizer_add_rank(style->line.symbolizer, r);
    st = info_dump_rest(r, style, err);
    ti_reader_close(r);
    return st;
}

ti_status info_dump(struct ti_source *s, const struct ti_ranges *ranks,
                    const struct info_style *style, struct ti_err *err)
{
    struct ti_ranges missing = {0};
    bool one = ti_ranges_count(ranks) == 1;
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++) {
        ti_status this;

        if (ranks->n && !ti_ranges_hold(ranks, rank))
            continue;
        if (!one && !ti_source_has(s, rank)) {
            ti_ranges_add(&missing, rank);
            continue;
        }
        if (!one && !style->json && !style->csv)
            printf("# rank %" PRId64 "\n", rank);
        this = dump_rank(s, rank, style, err);
        st = this != TI_OK ? this : st;
        if (st != TI_OK && st != TI_ERR_PARTIAL)
            break;
    }
    if (missing.n && (ranks->n || strcmp(ti_source_kind(s), "rank file") != 0) &&
        (st == TI_OK || st == TI_ERR_PARTIAL)) {
        info_warn_of_ranks(&missing, "rank missing", "ranks missing", "");
        st = TI_ERR_PARTIAL;
    }
    ti_ranges_free(&missing);
    return st;
}
