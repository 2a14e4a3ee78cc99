#include "bundle/read_back.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/manifest.h"
#include "bundle/merging.h"
#include "bundle/source.h"
#include "common/hex.h"
#include "common/order.h"
#include "merged/merged.h"
#include "trace/rankname.h"

/*
 * Index of the member of each rank of `run`, in [nranks] that of the manifest, and in [nranks + 1]
 * that of the merged trace; -1: none.  Returns NULL when memory is short.
 */
static int64_t *find_members(const struct ti_zip *z, const struct ti_run *run)
{
    int64_t *member = malloc(((size_t)run->nranks + 2) * sizeof *member);

    if (!member)
        return NULL;
    for (int64_t i = 0; i <= run->nranks + 1; i++)
        member[i] = -1;
    for (int64_t i = 0; i < ti_zip_count(z); i++) {
        const char *name = ti_zip_member(z, i)->name;
        int64_t rank = ti_rank_of_name(name);

        if (rank >= 0 && rank < run->nranks)
            member[rank] = i;
        else if (strcmp(name, TI_MANIFEST_NAME) == 0)
            member[run->nranks] = i;
        else if (strcmp(name, TI_MERGED_NAME) == 0)
            member[run->nranks + 1] = i;
    }
    return member;
}

static bool is_recorded(struct ti_merged *m, const struct ti_run_rank *rank, int64_t i)
{
    struct ti_record record;
    bool is;

    if (ti_merged_record(m, i, &record, NULL) != TI_OK)
        return false;
    is = ti_merging_crc(&record) == rank->record;
    ti_record_free(&record);
    return is;
}

/* Whether member `member` is a merged trace of the records that were made of the traces of `run`.
 */
static bool has_records(const struct ti_zip *z, int fd, int64_t member, const struct ti_run *run)
{
    struct ti_merged *m = NULL;
    int64_t at;
    bool whole = member >= 0 && ti_zip_data(z, member, &at, NULL) == TI_OK &&
                 ti_merged_open(fd, at, ti_zip_member(z, member)->bytes, TI_MERGED_NAME, &m,
                                NULL) == TI_OK &&
                 ti_merged_count(m) == run->gathered;

    for (int64_t i = 0; whole && i < run->nranks; i++)
        if (ti_run_gathers(run, i))
            whole = is_recorded(m, &run->rank[i], i);
    ti_merged_close(m);
    return whole;
}

static bool has_files(const struct ti_zip *z, const int64_t *member, const struct ti_run *run)
{
    bool whole = ti_zip_count(z) == run->gathered + 1;

    for (int64_t i = 0; whole && i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        const struct ti_zip_member *m = member[i] < 0 ? NULL : ti_zip_member(z, member[i]);

        if (ti_run_gathers(run, i))
            whole = m && m->crc32 == rank->crc && m->bytes == rank->file.st_size;
    }
    return whole;
}

ti_status ti_bundle_open_back(int fd, const char *path, const struct ti_run *run, struct ti_zip **z,
                              int64_t **member, struct ti_err *err)
{
    ti_status st = ti_zip_open(fd, path, z, err);
    bool whole;

    if (st == TI_OK)
        st = ti_zip_verify(*z, err);
    if (st != TI_OK)
        return st;
    *member = find_members(*z, run);
    if (!*member) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s' back", path);
    }
    whole = (*member)[run->nranks] >= 0 &&
            (run->merged.groups
                 ? ti_zip_count(*z) == 2 && has_records(*z, fd, (*member)[run->nranks + 1], run)
                 : has_files(*z, *member, run));
    return whole ? TI_OK : ti_err_set(err, TI_ERR_IO, "'%s' does not hold what was gathered", path);
}

/* True if the manifest has the run id, ranks and np of `run`. */
static bool is_manifest_of(const char *text, const struct ti_run *run)
{
    json_t *manifest = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *id = json_string_value(json_object_get(manifest, "run_id"));
    char ours[TI_RUN_ID_TEXT];
    bool is;

    ti_hex(run->run_id, TI_RUN_ID_BYTES, ours);
    is = id && strcmp(id, ours) == 0 &&
         json_integer_value(json_object_get(manifest, "np")) == run->nranks &&
         json_integer_value(json_object_get(json_object_get(manifest, "totals"), "ranks")) ==
             run->gathered &&
         json_array_size(json_object_get(manifest, "ranks")) ==
             (size_t)(run->merged.groups ? 0 : run->gathered);
    json_decref(manifest);
    return is;
}

ti_status ti_bundle_read_back(int fd, const char *path, const struct ti_run *run,
                              struct ti_err *err)
{
    struct ti_zip *z = NULL;
    int64_t *member = NULL;
    char *manifest = NULL;
    ti_status st = ti_bundle_open_back(fd, path, run, &z, &member, err);

    if (st == TI_OK)
        st = ti_zip_load(z, member[run->nranks], INT64_MAX - 1, &manifest, err);
    if (st == TI_OK && !is_manifest_of(manifest, run))
        st = ti_err_set(err, TI_ERR_IO, "the manifest of '%s' is not what was written", path);
    free(manifest);
    free(member);
    ti_zip_close(z);
    return st == TI_ERR_INPUT ? TI_ERR_IO : st;
}

TI_ORDER_NUMBERS(by_number, int64_t)

/* True if bundle `z` has traces of `run`.  Reads a trace's header, as the manifest may be damaged.
 */
static bool is_of(const struct ti_zip *z, int fd, const struct ti_run *run)
{
    bool is = false, opened = false;

    for (int64_t i = 0; i < ti_zip_count(z) && !opened; i++) {
        const struct ti_zip_member *m = ti_zip_member(z, i);
        struct ti_reader *r = NULL;
        int64_t at;

        if (ti_rank_of_name(m->name) < 0 || ti_zip_data(z, i, &at, NULL) != TI_OK ||
            ti_reader_open_at(fd, at, m->bytes, m->name, &r, NULL) != TI_OK)
            continue;
        opened = true;
        is = memcmp(ti_reader_run_id(r), run->run_id, TI_RUN_ID_BYTES) == 0;
        ti_reader_close(r);
    }
    return is;
}

/* True if the run directory has no trace of the rank, or one that was cut off. */
static bool is_worse(const struct ti_run_rank *here)
{
    /* one of several local files is as good */
    return here->state != TI_RANK_OK && here->state != TI_RANK_DUPLICATE;
}

/* Finds the *n ranks for which `z` has a better trace than the run directory. */
static void find_lost(const struct ti_zip *z, const struct ti_run *run, int64_t *rank, int64_t *n)
{
    *n = 0;
    for (int64_t i = 0; i < ti_zip_count(z); i++) {
        const struct ti_zip_member *m = ti_zip_member(z, i);
        int64_t r = ti_rank_of_name(m->name);
        const struct ti_run_rank *here = r >= 0 && r < run->nranks ? &run->rank[r] : NULL;

        if (here && is_worse(here) && (here->state != TI_RANK_CUT || here->file.st_size < m->bytes))
            rank[(*n)++] = r;
    }
}

/* The same for a bundle with a merged trace, if it is of this run. */
static void find_lost_merged(struct ti_source *s, const struct ti_run *run, int64_t *rank,
                             int64_t *n)
{
    const uint8_t *id = ti_source_run_id(s);

    for (int64_t r = 0; r < run->nranks && id && !memcmp(id, run->run_id, TI_RUN_ID_BYTES); r++) {
        const struct ti_run_rank *here = &run->rank[r];
        struct ti_reader *reader;

        if (!is_worse(here) || ti_source_reader(s, r, &reader, NULL) != TI_OK)
            continue;
        if (here->state != TI_RANK_CUT ||
            (ti_reader_skip(reader, NULL) == TI_OK && ti_reader_events(reader) > here->events))
            rank[(*n)++] = r;
        ti_reader_close(reader);
    }
}

/* The *n ranks of which the bundle `output` has the better trace: free() *rank.  *merged: it has
 * them in a merged trace. */
static ti_status find_better(const char *output, const struct ti_run *run, int64_t **rank,
                             int64_t *n, bool *merged, struct ti_err *err)
{
    int fd = open(output, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct ti_source *s = NULL;
    struct ti_zip *z = NULL;
    ti_status st = TI_OK;

    if (fd < 0 || ti_zip_open(fd, output, &z, NULL) != TI_OK)
        goto out; /* publish() reports what is wrong with it */
    *rank = malloc(((size_t)ti_zip_count(z) + (size_t)run->nranks + 1) * sizeof **rank);
    if (!*rank)
        st = ti_err_errno(err, TI_ERR_IO, "cannot look into '%s', which is to be replaced", output);
    else if (is_of(z, fd, run))
        find_lost(z, run, *rank, n);
    else if (ti_source_open(output, &s, NULL) == TI_OK && (*merged = ti_source_merged(s)))
        find_lost_merged(s, run, *rank, n);
out:
    ti_source_close(s);
    ti_zip_close(z);
    if (fd >= 0)
        close(fd);
    return st;
}

ti_status ti_bundle_check_replaced(const char *output, const struct ti_run *run, struct ti_err *err)
{
    char ranks[256];
    int64_t *rank = NULL, n = 0;
    bool merged = false;
    ti_status st = find_better(output, run, &rank, &n, &merged, err);

    if (st == TI_OK && n) {
        qsort(rank, (size_t)n, sizeof *rank, by_number);
        st = ti_err_set(err, TI_ERR_IO,
                        "'%s' has %s %s of this run, of which there is no such trace here, and is "
                        "not replaced",
                        output, n == 1 ? "rank" : "ranks",
                        ti_ranks_text(rank, n, ranks, sizeof ranks));
        ti_err_hint(err,
                    merged ? "\"ti-info --split '%.160s' -o DIR\" makes rank files, to be copied "
                             "to '%.160s'; or give another name with -o"
                           : "\"unzip -n '%.160s' 'rank-*' -d '%.160s'\" brings what it has back; "
                             "or give another name with -o",
                    output, run->path);
    }
    free(rank);
    return st;
}
