#include "extrapolate/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/check.h"
#include "bundle/manifest.h"
#include "bundle/merging.h"
#include "bundle/output.h"
#include "bundle/source.h"
#include "common/cli.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/map.h"
#include "common/scratch.h"

#define BUNDLE_NAME "bundle" /* until it is published */

/* ------------------------------------------------------------------ the manifest -- */

static void note_info(struct ti_run *run, const struct ti_reader *r)
{
    static const char *const keys[] = {"application", "command", "counter",  "event",
                                       "unit",        "cpu",     "isa",      "tunables",
                                       "mpi",         "threads", "language", "library"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = ti_reader_info(r, keys[i]);

        if (value && *value && !json_object_get(run->info, keys[i]))
            json_object_set_new(run->info, keys[i], ti_json_text(value));
    }
    run->exact = run->exact && ti_info_yes(ti_reader_info(r, "exact"));
    run->estimate = run->estimate || ti_info_estimate(r);
}

static ti_status add_rank(struct ti_run *run, struct ti_source *s, int64_t rank, struct ti_err *err)
{
    struct ti_scan scan = {0};
    struct ti_reader *r;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st)
        return st;
    st = ti_scan_read(r, &scan, err);
    run->gathered++;
    run->complete++;
    run->events += scan.events;
    run->volume += scan.volume;
    run->messages += scan.messages;
    run->negative += scan.negative;
    ti_caveats_merge(&run->caveats, &scan.caveats);
    for (int op = 0; op < TI_OP_COUNT; op++) {
        run->op[op].events += scan.op[op].events;
        run->op[op].bytes += scan.op[op].bytes;
        run->op[op].got += scan.op[op].got;
    }
    for (int i = 0; i < scan.nuntraced && !st; i++)
        if (!ti_call_count_add(&run->untraced, &run->nuntraced, scan.untraced[i].name,
                               scan.untraced[i].calls))
            st = ti_err_memory(err, "make the manifest");
    note_info(run, r);
    ti_scan_free(&scan);
    ti_reader_close(r);
    return st;
}

static struct ti_run *new_run(struct ti_source *s, int64_t bytes)
{
    struct ti_run *run = calloc(1, sizeof *run);

    if (!run)
        ti_no_memory(1, sizeof *run);
    *run = (struct ti_run){.fd = -1,
                           .nranks = ti_source_nranks(s),
                           .info = json_object(),
                           .exact = true,
                           .bytes = bytes,
                           .started = ti_wall()};
    memcpy(run->run_id, ti_source_run_id(s), TI_RUN_ID_BYTES);
    return run;
}

/* Put what is said of the origin into the manifest: replaces *text. */
static bool add_origin(char **text, size_t *bytes, const json_t *about)
{
    json_t *json = json_loadb(*text, *bytes, 0, NULL);

    free(*text);
    json_object_set(json, TI_INFO_EXTRAPOLATED, (json_t *)(uintptr_t)about);
    json_object_del(json, "acquisition");
    *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(json);
    if (*text)
        *bytes = strlen(*text);
    return *text != NULL;
}

static ti_status make_manifest(const char *path, int64_t file_bytes, const json_t *about,
                               char **text, size_t *bytes, struct ti_err *err)
{
    struct ti_source *s;
    struct ti_run *run;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    run = new_run(s, file_bytes);
    for (int64_t rank = 0; rank < run->nranks && !st; rank++) {
        st = ti_stop_check(err);
        if (!st)
            st = add_rank(run, s, rank, err);
    }
    if (!st) {
        *text = ti_manifest_text(run, bytes);
        if (!*text || !add_origin(text, bytes, about))
            st = ti_err_memory(err, "make the manifest");
    }
    ti_run_free(run);
    ti_source_close(s);
    return st;
}

/* ------------------------------------------------------------------- the bundle -- */

/* The members have no time, so that a bundle depends only on what is in it. */
static bool put_members(int from, int to, int64_t bytes, const char *manifest,
                        size_t manifest_bytes)
{
    struct ti_zip_writer zip = {.fd = -1};
    bool fine = ti_zip_writer_begin(&zip, to) && ti_merging_put(&zip, from, bytes) &&
                ti_zip_writer_manifest(&zip, manifest, manifest_bytes, 0) &&
                ti_zip_writer_close(&zip);

    ti_zip_writer_drop(&zip);
    return fine;
}

static ti_status make_bundle(const char *path, int64_t bytes, const json_t *about,
                             const char *output, struct ti_err *err)
{
    char *manifest = NULL;
    size_t manifest_bytes = 0;
    ti_status st = make_manifest(path, bytes, about, &manifest, &manifest_bytes, err);
    int from, to;

    if (st)
        return st;
    from = open(path, O_RDONLY | O_CLOEXEC);
    to = open(ti_scratch_path(BUNDLE_NAME), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (from < 0 || to < 0 || !put_members(from, to, bytes, manifest, manifest_bytes) ||
        fsync(to) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    if (from >= 0)
        close(from);
    if (to >= 0 && close(to) != 0 && !st)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    free(manifest);
    return st;
}

ti_status ti_output_publish(const char *name, const char *output, const json_t *about,
                            int64_t *bytes, struct ti_err *err)
{
    bool bundle = ti_is_bundle_name(output);
    char *path = strdup(ti_scratch_path(name));
    struct stat sb = {.st_size = 0};
    ti_status st = TI_OK;

    if (!path)
        return ti_err_memory(err, "write the trace");
    if (stat(path, &sb) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read what was written");
    if (!st && bundle)
        st = make_bundle(path, sb.st_size, about, output, err);
    if (!st && bundle && stat(ti_scratch_path(BUNDLE_NAME), &sb) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read what was written");
    *bytes = sb.st_size;
    if (!st)
        st = ti_stop_check(err);
    if (!st)
        st = ti_scratch_publish(bundle ? BUNDLE_NAME : name, output, err);
    free(path);
    return st;
}
