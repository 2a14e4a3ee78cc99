#include "bundle/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/source_internal.h"
#include "common/order.h"

#define HEADERS_TRIED 16

static ti_status no_memory(const char *path, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
}

ti_status ti__source_no_memory(const struct ti_source *s, struct ti_err *err)
{
    return no_memory(s->path, err);
}

/* ------------------------------------------------------------------- open -- */

static ti_status open_entry(const struct ti_source *s, const struct entry *e,
                            struct ti_reader **out, struct ti_err *err)
{
    char *path = NULL;
    int64_t offset;
    ti_status st;

    if (s->kind == RANK_FILE)
        return ti_reader_open(s->path, out, err);
    if (asprintf(&path, "%s/%s", s->path, e->name) < 0)
        return ti__source_no_memory(s, err);
    if (s->kind == RUN_DIRECTORY) {
        st = ti_reader_open(path, out, err);
    } else {
        st = ti_zip_data(s->zip, e->member, &offset, err);
        if (st == TI_OK)
            st = ti_reader_open_at(s->fd, offset, ti_zip_member(s->zip, e->member)->bytes, path,
                                   out, err);
    }
    free(path);
    return st;
}

static int64_t manifest_nranks(const struct ti_source *s)
{
    json_int_t np = json_integer_value(json_object_get(ti_source_manifest(s), "np"));

    return np > 0 && np <= TI_RANKS_MAX ? np : 0;
}

/* Find the number of ranks of the run.  Every trace's header has it, and a header is read faster
 * than a manifest.  ti_source_reader() checks that the headers agree. */
static ti_status find_nranks(struct ti_source *s, struct ti_err *err)
{
    if (s->merged) {
        s->nranks = ti_merged_nranks(s->merged);
        return TI_OK;
    }
    errno = 0;
    for (int64_t i = 0; i < s->nentries && i < HEADERS_TRIED; i++) {
        struct ti_reader *r;

        if (open_entry(s, &s->entry[i], &r, NULL) != TI_OK) {
            if (errno == ENOMEM)
                return ti__source_no_memory(s, err);
            continue;
        }
        s->nranks = ti_reader_nranks(r);
        memcpy(s->run_id, ti_reader_run_id(r), sizeof s->run_id);
        s->run_name = s->entry[i].name;
        ti_reader_close(r);
        return TI_OK;
    }
    s->nranks = manifest_nranks(s);
    if (errno == ENOMEM)
        return ti__source_no_memory(s, err);
    if (!s->nranks && s->nentries)
        s->nranks = s->entry[s->nentries - 1].rank + 1;
    return TI_OK;
}

ti_status ti_source_open(const char *path, struct ti_source **out, struct ti_err *err)
{
    struct ti_source *s = calloc(1, sizeof *s);
    ti_status st;

    if (!s)
        return no_memory(path, err);
    s->fd = s->merged_fd = -1;
    s->manifest_member = -1;
    s->path = strdup(path);
    s->manifest = calloc(1, sizeof *s->manifest);
    if (!s->path || !s->manifest) {
        ti_source_close(s);
        return no_memory(path, err);
    }
    /* messages call "run/" "run" */
    for (size_t n = strlen(s->path); n > 1 && s->path[n - 1] == '/'; n--)
        s->path[n - 1] = '\0';
    st = ti__source_find(s, err);
    if (st == TI_OK)
        st = find_nranks(s, err);
    if (st != TI_OK)
        ti_source_close(s);
    else
        *out = s;
    return st;
}

void ti_source_close(struct ti_source *s)
{
    if (!s)
        return;
    if (s->kind != BUNDLE)
        for (int64_t i = 0; i < s->nentries; i++)
            free((char *)(uintptr_t)s->entry[i].name);
    free(s->entry);
    ti_rank_lists_free(s->lists);
    ti_merged_close(s->merged);
    free(s->merged_path);
    ti_zip_close(s->zip);
    ti__source_manifest_free(s->manifest);
    if (s->merged_fd >= 0)
        close(s->merged_fd);
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s);
}

/* -------------------------------------------------------------- questions -- */

const char *ti_source_path(const struct ti_source *s)
{
    return s->path;
}

const char *ti_source_kind(const struct ti_source *s)
{
    static const char *const text[] = {"bundle", "run directory", "rank file", "merged trace"};

    return text[s->kind];
}

int64_t ti_source_nranks(const struct ti_source *s)
{
    return s->nranks;
}

const uint8_t *ti_source_run_id(const struct ti_source *s)
{
    if (s->merged)
        return ti_merged_run_id(s->merged);
    return s->run_name ? s->run_id : NULL;
}

static const struct entry *find_entry(const struct ti_source *s, int64_t rank)
{
    const struct entry key = {rank, 0, ""};
    int64_t i;

    if (rank >= 0 && rank < s->nentries && s->entry[rank].rank == key.rank)
        return &s->entry[rank];
    TI_FIRST(i, 0, s->nentries, s->entry[i].rank < rank);
    return i < s->nentries && s->entry[i].rank == rank ? &s->entry[i] : NULL;
}

bool ti_source_has(const struct ti_source *s, int64_t rank)
{
    return s->merged ? ti_merged_has(s->merged, rank) : find_entry(s, rank) != NULL;
}

int64_t ti_source_count(const struct ti_source *s)
{
    return s->merged ? ti_merged_count(s->merged) : s->nentries;
}

struct ti_merged *ti_source_merged(const struct ti_source *s)
{
    return s->merged;
}

static int64_t bytes_of(const struct ti_source *s, const struct entry *e)
{
    struct stat sb;

    if (s->kind == BUNDLE)
        return ti_zip_member(s->zip, e->member)->bytes;
    if (s->kind == RANK_FILE ? fstat(s->fd, &sb) : fstatat(s->fd, e->name, &sb, 0))
        return -1;
    return sb.st_size;
}

int64_t ti_source_bytes(const struct ti_source *s, int64_t rank)
{
    const struct entry *e = find_entry(s, rank);

    return e ? bytes_of(s, e) : -1;
}

int64_t ti_source_size(const struct ti_source *s)
{
    int64_t size = s->merged_bytes;

    for (int64_t i = 0; i < s->nentries; i++) {
        int64_t bytes = bytes_of(s, &s->entry[i]);

        size += bytes > 0 ? bytes : 0;
    }
    return size;
}

const char *ti_source_name(const struct ti_source *s, int64_t rank)
{
    const struct entry *e = find_entry(s, rank);

    if (s->merged)
        return ti_source_has(s, rank) ? ti__base_name(s->merged_path) : NULL;
    return e ? e->name : NULL;
}

ti_status ti_source_share_lists(struct ti_source *s, struct ti_err *err)
{
    if (!s->lists)
        s->lists = ti_rank_lists_new();
    return s->lists ? TI_OK : no_memory(s->path, err);
}

void ti_source_seed(struct ti_source *s, uint64_t seed)
{
    s->seed = seed;
}

static ti_status open_record(const struct ti_source *s, int64_t rank, struct ti_reader **out,
                             struct ti_err *err)
{
    struct ti_record record;
    char *name;
    ti_status st = ti_merged_record(s->merged, rank, &record, err);

    if (st != TI_OK)
        return st;
    if (asprintf(&name, "%s, rank %" PRId64, s->merged_path, rank) < 0) {
        ti_record_free(&record);
        return ti__source_no_memory(s, err);
    }
    st = ti_reader_open_record_sharing(&record, ti_merged_nranks(s->merged),
                                       ti_merged_run_id(s->merged), name, s->lists, out, err);
    free(name);
    if (st == TI_OK)
        ti_reader_seed(*out, s->seed);
    return st;
}

/* Whether the trace of an entry is that of its rank, and of the same run as the others. */
static ti_status check_entry(const struct ti_source *s, const struct entry *e,
                             const struct ti_reader *r, struct ti_err *err)
{
    ti_status st = TI_OK;

    if (ti_reader_rank(r) != e->rank)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' in '%s' is the trace of rank %" PRIu32, e->name,
                        s->path, ti_reader_rank(r));
    else if (ti_reader_nranks(r) != s->nranks)
        st = ti_err_set(err, TI_ERR_INPUT,
                        "'%s' in '%s' is of a run of %" PRIu32
                        " ranks, the others of one of %" PRId64,
                        e->name, s->path, ti_reader_nranks(r), s->nranks);
    else if (s->run_name && memcmp(ti_reader_run_id(r), s->run_id, sizeof s->run_id) != 0)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' and '%s' in '%s' are of different runs", e->name,
                        s->run_name, s->path);
    return st;
}

ti_status ti_source_reader(struct ti_source *s, int64_t rank, struct ti_reader **out,
                           struct ti_err *err)
{
    const struct entry *e = find_entry(s, rank);
    struct ti_reader *r;
    ti_status st;

    if (!ti_source_has(s, rank))
        return ti_err_set(err, TI_ERR_INPUT, "rank %" PRId64 " is missing from '%s'", rank,
                          s->path);
    st = e ? open_entry(s, e, &r, err) : open_record(s, rank, &r, err);
    if (st != TI_OK)
        return st;
    if (e)
        ti_reader_share(r, s->lists);
    st = e ? check_entry(s, e, r, err) : TI_OK;
    if (st != TI_OK)
        ti_reader_close(r);
    else
        *out = r;
    return st;
}

ti_status ti_source_verify(struct ti_source *s, struct ti_err *err)
{
    ti_status st = s->zip ? ti_zip_verify(s->zip, err) : TI_OK;

    return st == TI_OK && s->merged ? ti_merged_verify(s->merged, err) : st;
}
