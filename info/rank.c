#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/table.h"
#include "info/summary.h"
#include "trace/rankname.h"

static void print_comms(const struct ti_reader *r, int width)
{
    char members[200], row[300];

    printf("\n%-14s %8s %8s  %s\n", "communicator", "rank", "size", "world ranks");
    for (int64_t i = 0; ti_reader_comm(r, i); i++) {
        const struct ti_comm *c = ti_reader_comm(r, i);
        int64_t *wide = malloc((size_t)c->size * sizeof *wide + 1);
        bool ascending = wide != NULL;

        for (int64_t k = 0; wide && k < c->size; k++) {
            wide[k] = c->member[k];
            ascending = ascending && (k == 0 || wide[k] > wide[k - 1]);
        }
        snprintf(row, sizeof row, "%-14" PRId64 " %8" PRId64 " %8" PRId64 "  %s", i, c->rank,
                 c->size,
                 ascending ? ti_ranks_text(wide, c->size, members, sizeof members)
                           : "(in an order of their own)");
        ti_print_short(stdout, width, row);
        free(wide);
    }
}

static void print_rank(struct ti_source *s, struct ti_reader *r, const struct ti_scan *scan,
                       const struct info_extras *extras, int width)
{
    struct summary sum = {.s = s,
                          .messages = scan->messages,
                          .untraced = scan->untraced,
                          .nuntraced = scan->nuntraced};
    const char *key, *value;
    int64_t rank = ti_reader_rank(r), bytes = ti_source_bytes(s, rank);
    char n[32], end[1024];

    memcpy(sum.op, scan->op, sizeof sum.op);
    printf("%s: rank %" PRId64 " of %" PRId64 ", %s\n", ti_source_path(s), rank,
           ti_source_nranks(s), ti_reader_end_text(r, end, sizeof end));
    info_put_line("file", ti_source_name(s, rank));
    info_put_line("events", ti_format_count(scan->events, n, sizeof n));
    info_put_line("volume", ti_format_count(scan->volume, n, sizeof n));
    info_put_volumes(&sum);
    if (bytes >= 0)
        printf("%-12s %s bytes\n", "stored", ti_format_count((uint64_t)bytes, n, sizeof n));
    if (scan->no_hash)
        info_put_line("hash", "unknown: the trace was cut off, and too long to read");
    else
        printf("%-12s %016" PRIx64 "\n", "hash", scan->hash);
    info_put_caveats(&scan->caveats);
    info_put_operations(&sum, width);
    if (extras)
        info_extras_print(extras, width);
    print_comms(r, width);
    putchar('\n');
    for (int i = 0; ti_reader_info_at(r, i, &key, &value); i++) {
        info_put_clean(key);
        printf("%*s ", strlen(key) < 16 ? 16 - (int)strlen(key) : 0, "");
        info_put_clean(value);
        putchar('\n');
    }
}

static void print_rank_json(struct ti_source *s, struct ti_reader *r, const struct ti_scan *scan,
                            const struct info_extras *extras)
{
    struct summary sum = {.s = s, .messages = scan->messages};
    json_t *out = json_object(), *info = json_object(), *untraced = json_object();
    int64_t bytes = ti_source_bytes(s, ti_reader_rank(r));
    const char *key, *value;
    char hash[24];

    memcpy(sum.op, scan->op, sizeof sum.op);
    for (int i = 0; ti_reader_info_at(r, i, &key, &value); i++)
        json_object_set_new(info, key, info_json_text(value));
    for (int i = 0; i < scan->nuntraced; i++)
        json_object_set_new(untraced, scan->untraced[i].name, ti_json_u64(scan->untraced[i].calls));
    snprintf(hash, sizeof hash, "%016" PRIx64, scan->hash);
    json_object_set_new(out, "rank", json_integer(ti_reader_rank(r)));
    json_object_set_new(out, "np", json_integer(ti_source_nranks(s)));
    json_object_set_new(out, "end", json_string(ti_end_word(scan->end)));
    json_object_set_new(out, "events", ti_json_u64(scan->events));
    json_object_set_new(out, "volume", ti_json_u64(scan->volume));
    json_object_set_new(out, "bytes", bytes < 0 ? json_null() : json_integer(bytes));
    json_object_set_new(out, "hash", scan->no_hash ? json_null() : json_string(hash));
    json_object_set_new(out, "caveats", info_json_caveats(&scan->caveats));
    info_json_volumes(out, &sum);
    json_object_set_new(out, "operations", info_json_operations(&sum));
    json_object_set_new(out, "untraced", untraced);
    if (extras)
        info_extras_json(extras, out);
    json_object_set_new(out, "info", info);
    info_print_json(out);
    json_decref(out);
}

ti_status info_rank(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err)
{
    struct ti_scan scan = {0};
    struct info_extras *extras = NULL;
    struct ti_reader *r;
    char end[1024];
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st != TI_OK)
        return st;
    st = ti_scan_read(r, &scan, err);
    if (st == TI_OK && ti_reader_extras(r))
        st = info_extras_read(s, rank, &extras, err);
    if (style->json)
        print_rank_json(s, r, &scan, extras);
    else if (!style->quiet)
        print_rank(s, r, &scan, extras, style->width);
    else if (st == TI_OK && scan.end != TI_END_COMPLETE)
        printf("rank %" PRId64 ": %s\n", rank, ti_reader_end_text(r, end, sizeof end));
    info_extras_free(extras);
    ti_scan_free(&scan);
    ti_reader_close(r);
    return st;
}
