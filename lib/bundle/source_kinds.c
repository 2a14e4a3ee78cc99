#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/source_internal.h"
#include "common/cli.h"
#include "common/folder.h"
#include "common/map.h"

static ti_status add_entry(struct ti_source *s, struct entry entry, struct ti_err *err)
{
    if (!TI_ROOM(s->entry, &s->entries_cap, (size_t)s->nentries + 1))
        return ti__source_no_memory(s, err);
    s->entry[s->nentries++] = entry;
    return TI_OK;
}

static int by_rank(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->name, y->name);
}

static ti_status sort_entries(struct ti_source *s, struct ti_err *err)
{
    bool sorted = true;

    for (int64_t i = 1; i < s->nentries && sorted; i++)
        sorted = s->entry[i - 1].rank < s->entry[i].rank;
    if (!sorted)
        qsort(s->entry, (size_t)s->nentries, sizeof *s->entry, by_rank);
    for (int64_t i = 1; i < s->nentries; i++)
        if (s->entry[i - 1].rank == s->entry[i].rank)
            return ti_err_set(err, TI_ERR_INPUT,
                              "'%s' has two traces of rank %" PRId64 ": '%s' and '%s'", s->path,
                              s->entry[i].rank, s->entry[i - 1].name, s->entry[i].name);
    return TI_OK;
}

/* A source holds a merged trace, or traces of single ranks. */
static ti_status either(const struct ti_source *s, struct ti_err *err)
{
    if (s->nentries == 0)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "'%s' holds both '%s' and '%s'", s->path, TI_MERGED_NAME,
               s->entry[0].name);
    ti_err_hint(err, "only one of them can be the trace of the run: move the other away");
    return TI_ERR_INPUT;
}

/* Open the merged trace of `bytes` bytes at `offset` of `fd`. */
static ti_status open_merged(struct ti_source *s, int fd, int64_t offset, int64_t bytes,
                             struct ti_err *err)
{
    ti_status st = either(s, err);

    if (st != TI_OK)
        return st;
    if (asprintf(&s->merged_path, s->kind == MERGED_TRACE ? "%s" : "%s/" TI_MERGED_NAME, s->path) <
        0) {
        s->merged_path = NULL;
        return ti__source_no_memory(s, err);
    }
    s->merged_bytes = bytes;
    return ti_merged_open(fd, offset, bytes, s->merged_path, &s->merged, err);
}

/* ------------------------------------------------------------- four kinds -- */

static ti_status open_bundle(struct ti_source *s, struct ti_err *err)
{
    ti_status st = ti_zip_open(s->fd, s->path, &s->zip, err);
    int64_t merged = -1, offset;

    if (st != TI_OK)
        return st;
    for (int64_t i = 0; i < ti_zip_count(s->zip) && !st; i++) {
        const char *name = ti_zip_member(s->zip, i)->name;
        int64_t rank = ti_rank_of_name(name);

        if (s->manifest_member < 0 && strcmp(name, TI_MANIFEST_NAME) == 0)
            s->manifest_member = i;
        else if (merged < 0 && strcmp(name, TI_MERGED_NAME) == 0)
            merged = i;
        else if (rank >= 0)
            st = add_entry(s, (struct entry){rank, i, name}, err);
        else
            return ti_err_set(err, TI_ERR_INPUT, "'%s' is not a bundle of traces: it holds '%s'",
                              s->path, name);
    }
    if (st != TI_OK)
        return st;
    if (merged < 0)
        return sort_entries(s, err);
    st = ti_zip_data(s->zip, merged, &offset, err);
    if (st != TI_OK)
        return st;
    return open_merged(s, s->fd, offset, ti_zip_member(s->zip, merged)->bytes, err);
}

/* Find the rank files of a directory.  *merged: whether it has a merged trace. */
static ti_status list_directory(struct ti_source *s, DIR *dir, bool *merged, struct ti_err *err)
{
    struct dirent *d;

    while (errno = 0, d = readdir(dir)) {
        int64_t rank = ti_rank_of_name(d->d_name);
        ti_status st;
        char *name;

        *merged = *merged || strcmp(d->d_name, TI_MERGED_NAME) == 0;
        if (rank < 0)
            continue;
        name = strdup(d->d_name);
        if (!name)
            return ti__source_no_memory(s, err);
        st = add_entry(s, (struct entry){rank, 0, name}, err);
        if (st != TI_OK) {
            free(name);
            return st;
        }
    }
    return errno ? ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", s->path) : TI_OK;
}

static ti_status open_merged_file(struct ti_source *s, struct ti_err *err)
{
    struct stat sb;

    s->merged_fd = openat(s->fd, TI_MERGED_NAME, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->merged_fd < 0 || fstat(s->merged_fd, &sb) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s/" TI_MERGED_NAME "'", s->path);
    return open_merged(s, s->merged_fd, 0, sb.st_size, err);
}

static ti_status no_trace(const struct ti_source *s, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT, "directory '%s' holds no rank-*.ti", s->path);
    if (faccessat(s->fd, "RUN.json", F_OK, 0) == 0)
        ti_err_hint(err, "traces of a run over nodes may be there still: ti-gather fetches them");
    return TI_ERR_INPUT;
}

static ti_status open_directory(struct ti_source *s, struct ti_err *err)
{
    DIR *dir = ti_names_in(s->fd);
    bool merged = false;
    ti_status st;

    if (!dir)
        return ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", s->path);
    st = list_directory(s, dir, &merged, err);
    closedir(dir);
    if (st != TI_OK)
        return st;
    if (merged)
        return open_merged_file(s, err);
    return s->nentries ? sort_entries(s, err) : no_trace(s, err);
}

static ti_status open_rank_file(struct ti_source *s, struct ti_err *err)
{
    struct ti_reader *r;
    char *name;
    ti_status st = ti_reader_open(s->path, &r, err);

    if (st != TI_OK)
        return st;
    name = strdup(ti__base_name(s->path));
    st = name ? add_entry(s, (struct entry){ti_reader_rank(r), 0, name}, err)
              : ti__source_no_memory(s, err);
    if (st != TI_OK)
        free(name);
    ti_reader_close(r);
    return st;
}

static ti_status find_kind(struct ti_source *s, int64_t *bytes, struct ti_err *err)
{
    struct stat sb;
    uint8_t header[TI_HEADER_BYTES] = {0};

    s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &sb) < 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", s->path);
        ti_hint_file(err, s->path);
        return TI_ERR_IO;
    }
    if (S_ISDIR(sb.st_mode)) {
        s->kind = RUN_DIRECTORY;
        return TI_OK;
    }
    if (!S_ISREG(sb.st_mode))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is neither a file nor a directory", s->path);
    if (sb.st_size == 0)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is empty", s->path);
    if (pread(s->fd, header, sizeof header, 0) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", s->path);
    *bytes = sb.st_size;
    if (ti_merged_is(header))
        s->kind = MERGED_TRACE;
    else if (memcmp(header, TI_MAGIC, TI_MAGIC_BYTES) == 0)
        s->kind = RANK_FILE;
    else if (memcmp(header, "PK\3\4", 4) == 0)
        s->kind = BUNDLE;
    else
        return ti_err_set(
            err, TI_ERR_INPUT,
            "'%s' is neither a bundle, a run directory, a merged trace nor a rank file", s->path);
    return TI_OK;
}

ti_status ti__source_find(struct ti_source *s, struct ti_err *err)
{
    int64_t bytes = 0;
    ti_status st = find_kind(s, &bytes, err);

    if (st != TI_OK)
        return st;
    switch (s->kind) {
    case BUNDLE:
        return open_bundle(s, err);
    case RUN_DIRECTORY:
        return open_directory(s, err);
    case RANK_FILE:
        return open_rank_file(s, err);
    case MERGED_TRACE:
        break;
    }
    return open_merged(s, s->fd, 0, bytes, err);
}
