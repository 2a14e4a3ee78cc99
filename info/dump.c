#include <inttypes.h>
#include <string.h>

#include "common/cli.h"
#include "info/line.h"
#include "info/symbolizer.h"

const char *info_end_text(const struct ti_reader *r, char *text, size_t bytes)
{
    const char *how = ti_end_text(ti_reader_end(r)), *why = ti_reader_info(r, "reason");

    snprintf(text, bytes, "%s%s%s", how, why && *why ? ": " : "", why ? why : "");
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
    return text;
}

/* Print which values are not exact. */
static void print_quality(const struct ti_reader *r)
{
    struct ti_caveats quality = {0};
    char text[512];

    ti_caveats_add_quality(&quality, r, true);
    for (int i = 0; ti_caveats_text(&quality, i, text, sizeof text); i++)
        printf("# %s\n", text);
}

ti_status info_dump_rest(struct ti_reader *r, const struct info_style *style, struct ti_err *err)
{
    uint64_t left = style->count ? style->count : UINT64_MAX;
    struct info_line line = {0};
    struct ti_event ev;
    char end[1024];
    int more = 1;

    if (ti_info_estimate(r) && !style->no_volumes) {
        const char *unit = ti_reader_info(r, "unit");

        printf("# volumes are an estimate%s", unit ? ", in " : "");
        info_put_clean(unit);
        putchar('\n');
    }
    if (!style->no_volumes)
        print_quality(r);
    for (; left && (more = ti_reader_next(r, &ev, err)) > 0; left--) {
        info_format_event(&line, r, &ev, style);
        info_line_put(&line, "\n");
        if (fwrite(line.text, 1, line.bytes, stdout) != line.bytes)
            break;
    }
    info_line_free(&line);
    if (more < 0)
        return TI_ERR_INPUT;
    if (ferror(stdout))
        return ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    if (more || ti_reader_end(r) == TI_END_COMPLETE)
        return TI_OK;
    ti_warn("rank %" PRIu32 " is incomplete after %" PRIu64 " events: %s", ti_reader_rank(r),
            ti_reader_events(r), info_end_text(r, end, sizeof end));
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
    info_symbolizer_add_rank(style->symbolizer, r);
    st = info_dump_rest(r, style, err);
    ti_reader_close(r);
    return st;
}

ti_status info_dump(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err)
{
    ti_status st = TI_OK;

    if (rank >= 0)
        return dump_rank(s, rank, style, err);
    for (rank = 0; rank < ti_source_nranks(s); rank++) {
        ti_status one;

        if (!ti_source_has(s, rank)) {
            if (strcmp(ti_source_kind(s), "rank file") != 0) {
                ti_warn("rank %" PRId64 " is missing", rank);
                st = TI_ERR_PARTIAL;
            }
            continue;
        }
        printf("# rank %" PRId64 "\n", rank);
        one = dump_rank(s, rank, style, err);
        if (one != TI_OK && one != TI_ERR_PARTIAL)
            return one;
        st = one != TI_OK ? one : st;
    }
    return st;
}
