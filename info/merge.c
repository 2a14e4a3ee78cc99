#include "info/merge.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/check.h"
#include "bundle/manifest.h"
#include "bundle/merging.h"
#include "bundle/output.h"
#include "common/cli.h"
#include "common/map.h"
#include "common/scratch.h"
#include "trace/rankname.h"

#define BUNDLE_NAME "bundle" /* until it is published */

struct merging {
    struct ti_source **source;
    int n;
    const char *output;
    const struct ti_qualities *quality;
    struct ti_merging merging;
    int64_t before, after; /* bytes of the traces */
    int64_t kept_long;     /* ranks that are too long to be encoded again */
};

/* ---------------------------------------------------------------- sources -- */

/* Whether source `i` is of the run of the first source, and no other has its ranks. */
static ti_status check_source(const struct merging *g, int i, struct ti_err *err)
{
    const struct ti_source *s = g->source[i];
    const uint8_t *id = ti_source_run_id(s), *first = ti_source_run_id(g->source[0]);

    if (!id)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' has no trace that can be read",
                          ti_source_path(s));
    if (memcmp(id, first, TI_RUN_ID_BYTES) != 0 ||
        ti_source_nranks(s) != ti_source_nranks(g->source[0]))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' and '%s' are of different runs",
                          ti_source_path(g->source[0]), ti_source_path(s));
    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++)
        for (int k = 0; k < i && ti_source_has(s, rank); k++)
            if (ti_source_has(g->source[k], rank))
                return ti_err_set(err, TI_ERR_INPUT, "'%s' and '%s' both have rank %" PRId64,
                                  ti_source_path(g->source[k]), ti_source_path(s), rank);
    return TI_OK;
}

static ti_status open_sources(struct merging *g, char *const *paths, int n, struct ti_err *err)
{
    ti_status st = TI_OK;
    size_t cap = 0;

    g->source = ti_grow(NULL, &cap, (size_t)n, sizeof *g->source);
    while (st == TI_OK && g->n < n) {
        st = ti_source_open(paths[g->n], &g->source[g->n], err);
        if (st == TI_OK)
            st = check_source(g, g->n++, err);
    }
    return st;
}

static ti_status add_rank(struct merging *g, struct ti_source *s, int64_t rank, struct ti_err *err)
{
    struct ti_record record;
    struct ti_reader *r;
    ti_status st = ti_source_record(s, rank, g->quality, &record, err);

    if (st != TI_OK)
        return st;
    if (ti_source_merged(s) && ti_source_reader(s, rank, &r, NULL) == TI_OK) {
        g->kept_long += ti_source_is_too_long(r, g->quality);
        ti_reader_close(r);
    }
    st = ti_merging_add(&g->merging, &record, err);
    ti_record_free(&record);
    return st;
}

static ti_status add_source(struct merging *g, struct ti_source *s, struct ti_err *err)
{
    ti_status st = TI_OK;

    g->before += ti_source_size(s);
    for (int64_t rank = 0; rank < ti_source_nranks(s) && st == TI_OK; rank++) {
        if (!ti_source_has(s, rank))
            continue;
        ti_progress("merging", "ranks", rank, ti_source_nranks(s));
        st = ti_stop_check(err);
        if (st == TI_OK)
            st = add_rank(g, s, rank, err);
    }
    ti_progress_end(st == TI_OK);
    return st;
}

/* --------------------------------------------------------------- manifest -- */

/* Whether a manifest is of all ranks that were merged, and no others. */
static bool fits(const struct merging *g, const json_t *manifest)
{
    json_int_t ranks =
        json_integer_value(json_object_get(json_object_get(manifest, "totals"), "ranks"));

    return (uint64_t)ranks == ti_merger_count(g->merging.merger) &&
           json_integer_value(json_object_get(manifest, "np")) == ti_source_nranks(g->source[0]);
}

/* Make the manifest of a run directory, as ti-gather does. */
static ti_status make_manifest(const struct merging *g, char **text, size_t *bytes,
                               struct ti_err *err)
{
    struct ti_source *s = g->source[0];
    struct ti_run *run;
    ti_status st = ti_source_manifest_status(s, err);

    if (st != TI_OK)
        return st;
    st = ti_run_check(ti_source_path(s), (json_t *)(uintptr_t)ti_source_manifest(s), NULL, &run,
                      err);
    if (st != TI_OK)
        return st;
    *text = ti_manifest_text(run, bytes);
    if (!*text)
        st = ti_err_set(err, TI_ERR_IO, "memory is too short for the manifest");
    ti_run_free(run);
    return st;
}

/* Find a manifest of the ranks: free() *text. */
static ti_status find_manifest(const struct merging *g, char **text, size_t *bytes,
                               struct ti_err *err)
{
    const struct ti_source *one = g->n == 1 ? g->source[0] : NULL;

    for (int i = 0; i < g->n; i++) {
        ti_status st = ti_source_text(g->source[i], TI_MANIFEST_NAME, text, bytes, err);
        json_t *json = *text ? json_loadb(*text, *bytes, 0, NULL) : NULL;
        bool found = fits(g, json);

        json_decref(json);
        if (st != TI_OK || found)
            return st;
        free(*text);
        *text = NULL;
    }
    if (one && strcmp(ti_source_kind(one), "run directory") == 0 && !ti_source_merged(one))
        return make_manifest(g, text, bytes, err);
    ti_err_set(err, TI_ERR_INPUT, "there is no manifest of these ranks for the bundle '%s'",
               g->output);
    ti_err_hint(err, "a name that does not end in " TI_BUNDLE_SUFFIX
                     " stands for a merged trace, which needs no manifest");
    return TI_ERR_INPUT;
}

/* Make the manifest of the bundle: free() *text. */
static ti_status merged_manifest(const struct merging *g, char **text, size_t *bytes,
                                 struct ti_err *err)
{
    ti_status st = find_manifest(g, text, bytes, err);

    if (st == TI_OK && !ti_merging_manifest(&g->merging, text, bytes))
        st = ti_err_set(err, TI_ERR_IO, "memory is too short for the manifest");
    return st;
}

/* ----------------------------------------------------------------- output -- */

static int create(const char *name)
{
    return open(ti_scratch_path(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static ti_status cannot_write(const struct merging *g, struct ti_err *err)
{
    return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", g->output);
}

static ti_status sync_and_close(const struct merging *g, int fd, ti_status st, struct ti_err *err)
{
    if (st == TI_OK && fsync(fd) != 0)
        st = cannot_write(g, err);
    if (close(fd) != 0 && st == TI_OK)
        st = cannot_write(g, err);
    return st;
}

static ti_status write_merged(struct merging *g, struct ti_err *err)
{
    int fd = create(TI_MERGED_NAME);
    ti_status st;

    if (fd < 0)
        return cannot_write(g, err);
    st = ti_merger_write(g->merging.merger, fd, g->output, err);
    g->after = lseek(fd, 0, SEEK_END);
    return sync_and_close(g, fd, st, err);
}

/* The members have no time, so that a bundle depends only on what is in it. */
static ti_status put_members(struct merging *g, int fd, const char *manifest, size_t bytes,
                             struct ti_err *err)
{
    struct ti_zip_writer zip = {.fd = -1};
    ti_status st = ti_zip_writer_begin(&zip, fd) ? TI_OK : cannot_write(g, err);

    if (st == TI_OK)
        st = ti_merging_store(&g->merging, &zip, g->output, &g->after, err);
    if (st == TI_OK &&
        (!ti_zip_writer_manifest(&zip, manifest, bytes, 0) || !ti_zip_writer_close(&zip)))
        st = cannot_write(g, err);
    ti_zip_writer_drop(&zip);
    return st;
}

static ti_status write_bundle(struct merging *g, struct ti_err *err)
{
    char *manifest = NULL;
    size_t bytes = 0;
    ti_status st = merged_manifest(g, &manifest, &bytes, err);
    int fd;

    if (st != TI_OK)
        return st;
    fd = create(BUNDLE_NAME);
    st = fd < 0 ? cannot_write(g, err) : put_members(g, fd, manifest, bytes, err);
    if (fd >= 0)
        st = sync_and_close(g, fd, st, err);
    free(manifest);
    return st;
}

static ti_status write_output(struct merging *g, struct ti_err *err)
{
    bool bundle = ti_is_bundle_name(g->output);
    ti_status st = bundle ? write_bundle(g, err) : write_merged(g, err);

    if (st == TI_OK)
        st = ti_stop_check(err);
    if (st == TI_OK)
        st = ti_scratch_publish(bundle ? BUNDLE_NAME : TI_MERGED_NAME, g->output, err);
    return st;
}

static void report(const struct merging *g, const struct info_style *style)
{
    uint64_t groups = ti_merger_groups(g->merging.merger);
    uint64_t ranks = ti_merger_count(g->merging.merger);
    int64_t copies = g->merging.copies;
    char before[32], after[32];

    if (style->json) {
        json_t *out = json_pack("{s:I, s:I, s:I, s:I, s:I}", "ranks", (json_int_t)ranks, "groups",
                                (json_int_t)groups, "copies", (json_int_t)copies, "bytes_before",
                                (json_int_t)g->before, "bytes", (json_int_t)g->after);

        info_print_json(out);
        json_decref(out);
    } else if (!style->quiet) {
        printf("%s: %" PRIu64 " rank%s in %" PRIu64 " group%s, %" PRId64
               " stored as copies; %s before, %s now\n",
               g->output, ranks, ranks == 1 ? "" : "s", groups, groups == 1 ? "" : "s", copies,
               ti_format_size(g->before, before, sizeof before),
               ti_format_size(g->after, after, sizeof after));
    }
}

static ti_status merge(struct merging *g, struct ti_err *err)
{
    ti_status st = ti_merging_begin(&g->merging, (uint32_t)ti_source_nranks(g->source[0]),
                                    ti_source_run_id(g->source[0]), ti_scratch_dir(), err);

    for (int i = 0; i < g->n && st == TI_OK; i++)
        st = add_source(g, g->source[i], err);
    return st == TI_OK ? write_output(g, err) : st;
}

ti_status info_merge(char *const *sources, int n, const char *output, const struct ti_qualities *q,
                     const struct info_style *style, struct ti_err *err)
{
    struct merging g = {.output = output, .quality = q};
    ti_status st = open_sources(&g, sources, n, err);

    if (st == TI_OK)
        st = ti_scratch_open_beside(output, err);
    if (st == TI_OK)
        st = merge(&g, err);
    if (st == TI_OK && g.kept_long)
        ti_warn("%" PRId64 " rank%s more than %" PRIu64 " events, and kept the quality %s",
                g.kept_long, g.kept_long == 1 ? " has" : "s have", TI_REENCODE_MOST,
                g.kept_long == 1 ? "that it had" : "that they had");
    if (st == TI_OK)
        report(&g, style);
    ti_merging_end(&g.merging);
    for (int i = 0; i < g.n; i++)
        ti_source_close(g.source[i]);
    free(g.source);
    ti_scratch_close();
    return st;
}
