#include "formats/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/map.h"
#include "formats/rankname.h"
#include "formats/runjson.h"
#include "formats/zip.h"

#define MANIFEST      "MANIFEST.json"
#define MANIFEST_MAX  (INT64_C(1) << 32) /* bytes; enough for 16 million ranks */
#define HEADERS_TRIED 16

enum kind { BUNDLE, RUN_DIRECTORY, RANK_FILE };

struct entry {
    int64_t rank;
    int64_t member;   /* of the bundle */
    const char *name; /* owned by the source, or by the zip for a bundle */
};

struct ti_source {
    enum kind kind;
    char *path;
    int fd; /* of the bundle, directory or file */
    struct ti_zip *zip;
    struct entry *entry; /* by rank */
    int64_t nentries;
    size_t entries_cap;
    int64_t manifest_member; /* of the bundle; -1: none */
    int64_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    const char *run_name; /* name of the trace that run_id is from; NULL: no run_id */
    struct manifest *manifest;
    struct ti_rank_lists *lists; /* shared by the readers; NULL: each reader has its own */
};

/* Parsed on demand: in a large run, this takes longer than reading one rank. */
struct manifest {
    bool tried;
    json_t *json;
    ti_status st; /* of reading RUN.json; why: its error */
    struct ti_err why;
};

static ti_status no_memory(const char *path, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
}

static void add_entry(struct ti_source *s, struct entry entry)
{
    s->entry = ti_grow(s->entry, &s->entries_cap, (size_t)s->nentries + 1, sizeof entry);
    s->entry[s->nentries++] = entry;
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

/* ------------------------------------------------------------ three kinds -- */

static ti_status open_bundle(struct ti_source *s, struct ti_err *err)
{
    ti_status st = ti_zip_open(s->fd, s->path, &s->zip, err);

    if (st != TI_OK)
        return st;
    for (int64_t i = 0; i < ti_zip_count(s->zip); i++) {
        const char *name = ti_zip_member(s->zip, i)->name;
        int64_t rank = ti_rank_of_name(name);

        if (s->manifest_member < 0 && strcmp(name, MANIFEST) == 0) {
            s->manifest_member = i;
            continue;
        }
        if (rank < 0)
            return ti_err_set(err, TI_ERR_INPUT, "'%s' is not a bundle of traces: it holds '%s'",
                              s->path, name);
        add_entry(s, (struct entry){rank, i, name});
    }
    return sort_entries(s, err);
}

static ti_status open_directory(struct ti_source *s, struct ti_err *err)
{
    int copy = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *d;
    ti_status st = TI_OK;

    if (!dir) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", s->path);
        if (copy >= 0)
            close(copy);
        return st;
    }
    while (st == TI_OK && (errno = 0, d = readdir(dir))) {
        int64_t rank = ti_rank_of_name(d->d_name);
        char *name;

        if (rank < 0)
            continue;
        name = strdup(d->d_name);
        if (name)
            add_entry(s, (struct entry){rank, 0, name});
        else
            st = no_memory(s->path, err);
    }
    if (st == TI_OK && errno)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", s->path);
    if (st == TI_OK && s->nentries == 0) {
        st = ti_err_set(err, TI_ERR_INPUT, "directory '%s' holds no rank-*.ti", s->path);
        if (faccessat(dirfd(dir), "RUN.json", F_OK, 0) == 0)
            ti_err_hint(err,
                        "traces of a run over nodes may be there still: ti-gather fetches them");
    }
    closedir(dir);
    return st == TI_OK ? sort_entries(s, err) : st;
}

static ti_status open_rank_file(struct ti_source *s, struct ti_err *err)
{
    const char *base = strrchr(s->path, '/');
    struct ti_reader *r;
    char *name;
    ti_status st = ti_reader_open(s->path, &r, err);

    if (st != TI_OK)
        return st;
    name = strdup(base ? base + 1 : s->path);
    if (name)
        add_entry(s, (struct entry){ti_reader_rank(r), 0, name});
    else
        st = no_memory(s->path, err);
    ti_reader_close(r);
    return st;
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
        return no_memory(s->path, err);
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
static void find_nranks(struct ti_source *s)
{
    for (int64_t i = 0; i < s->nentries && i < HEADERS_TRIED; i++) {
        struct ti_reader *r;

        if (open_entry(s, &s->entry[i], &r, NULL) != TI_OK)
            continue;
        s->nranks = ti_reader_nranks(r);
        memcpy(s->run_id, ti_reader_run_id(r), sizeof s->run_id);
        s->run_name = s->entry[i].name;
        ti_reader_close(r);
        return;
    }
    s->nranks = manifest_nranks(s);
    if (!s->nranks && s->nentries)
        s->nranks = s->entry[s->nentries - 1].rank + 1;
}

static ti_status find_kind(struct ti_source *s, struct ti_err *err)
{
    struct stat sb;
    char magic[TI_MAGIC_BYTES] = {0};

    s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &sb) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", s->path);
    if (S_ISDIR(sb.st_mode)) {
        s->kind = RUN_DIRECTORY;
        return TI_OK;
    }
    if (!S_ISREG(sb.st_mode))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is neither a file nor a directory", s->path);
    if (sb.st_size == 0)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is empty", s->path);
    if (pread(s->fd, magic, sizeof magic, 0) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", s->path);
    if (memcmp(magic, TI_MAGIC, sizeof magic) == 0)
        s->kind = RANK_FILE;
    else if (memcmp(magic, "PK\3\4", 4) == 0)
        s->kind = BUNDLE;
    else
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' is neither a bundle, a run directory nor a rank file", s->path);
    return TI_OK;
}

ti_status ti_source_open(const char *path, struct ti_source **out, struct ti_err *err)
{
    struct ti_source *s = calloc(1, sizeof *s);
    ti_status st;

    if (!s)
        return no_memory(path, err);
    s->fd = -1;
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
    st = find_kind(s, err);
    if (st == TI_OK)
        st = s->kind == BUNDLE          ? open_bundle(s, err)
             : s->kind == RUN_DIRECTORY ? open_directory(s, err)
                                        : open_rank_file(s, err);
    if (st != TI_OK) {
        ti_source_close(s);
        return st;
    }
    find_nranks(s);
    *out = s;
    return TI_OK;
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
    ti_zip_close(s->zip);
    if (s->manifest)
        json_decref(s->manifest->json);
    free(s->manifest);
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
    static const char *const text[] = {"bundle", "run directory", "rank file"};

    return text[s->kind];
}

int64_t ti_source_nranks(const struct ti_source *s)
{
    return s->nranks;
}

static const struct entry *find_entry(const struct ti_source *s, int64_t rank)
{
    const struct entry key = {rank, 0, ""};
    int64_t low = 0, high = s->nentries;

    if (rank >= 0 && rank < s->nentries && s->entry[rank].rank == key.rank)
        return &s->entry[rank];
    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (s->entry[mid].rank < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->nentries && s->entry[low].rank == rank ? &s->entry[low] : NULL;
}

bool ti_source_has(const struct ti_source *s, int64_t rank)
{
    return find_entry(s, rank) != NULL;
}

int64_t ti_source_bytes(const struct ti_source *s, int64_t rank)
{
    const struct entry *e = find_entry(s, rank);
    struct stat sb;

    if (!e)
        return -1;
    if (s->kind == BUNDLE)
        return ti_zip_member(s->zip, e->member)->bytes;
    if (s->kind == RANK_FILE ? fstat(s->fd, &sb) : fstatat(s->fd, e->name, &sb, 0))
        return -1;
    return sb.st_size;
}

const char *ti_source_name(const struct ti_source *s, int64_t rank)
{
    const struct entry *e = find_entry(s, rank);

    return e ? e->name : NULL;
}

ti_status ti_source_share_lists(struct ti_source *s, struct ti_err *err)
{
    if (!s->lists)
        s->lists = ti_rank_lists_new();
    return s->lists ? TI_OK : no_memory(s->path, err);
}

ti_status ti_source_reader(struct ti_source *s, int64_t rank, struct ti_reader **out,
                           struct ti_err *err)
{
    const struct entry *e = find_entry(s, rank);
    struct ti_reader *r;
    ti_status st;

    if (!e)
        return ti_err_set(err, TI_ERR_INPUT, "rank %" PRId64 " is missing from '%s'", rank,
                          s->path);
    st = open_entry(s, e, &r, err);
    if (st != TI_OK)
        return st;
    ti_reader_share(r, s->lists);
    if (ti_reader_rank(r) != rank)
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
    if (st != TI_OK) {
        ti_reader_close(r);
        return st;
    }
    *out = r;
    return TI_OK;
}

static json_t *load_member(const struct ti_source *s)
{
    int64_t member = s->manifest_member;
    char *text;
    json_t *json;

    if (member < 0 || ti_zip_load(s->zip, member, MANIFEST_MAX, &text, NULL) != TI_OK)
        return NULL;
    json = json_loadb(text, (size_t)ti_zip_member(s->zip, member)->bytes, 0, NULL);
    free(text);
    return json;
}

/* Read RUN.json; or the manifest of an unpacked bundle. */
static void load_file(const struct ti_source *s, struct manifest *m)
{
    static const char *const names[] = {"RUN.json", MANIFEST};

    for (int i = 0; i < 2 && m->st == TI_OK && !m->json; i++)
        m->st = ti_runjson_read(s->fd, s->path, names[i], &m->json, NULL, &m->why);
}

const json_t *ti_source_manifest(const struct ti_source *s)
{
    struct manifest *m = s->manifest;

    if (m->tried)
        return m->json;
    m->tried = true;
    if (s->kind == RUN_DIRECTORY)
        load_file(s, m);
    else if (s->kind == BUNDLE)
        m->json = load_member(s);
    if (!json_is_object(m->json)) {
        json_decref(m->json);
        m->json = NULL;
    }
    return m->json;
}

ti_status ti_source_manifest_status(const struct ti_source *s, struct ti_err *err)
{
    ti_source_manifest(s);
    if (s->manifest->st != TI_OK)
        *err = s->manifest->why;
    return s->manifest->st;
}
