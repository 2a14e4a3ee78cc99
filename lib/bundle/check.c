#include "bundle/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/node_traces.h"
#include "bundle/run_internal.h"
#include "bundle/scanner.h"
#include "common/cli.h"
#include "common/folder.h"
#include "common/map.h"
#include "trace/differ.h"
#include "trace/rankname.h"

static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *fmt, ...)
{
    char *out;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&out, fmt, ap);
    va_end(ap);
    return n < 0 ? NULL : out;
}

/* Marks `f` as not usable for its rank; takes `problem`. */
static void reject(struct ti_run_file *f, enum ti_rank_state state, char *problem)
{
    f->state = state;
    f->problem = problem;
}

static void add_stray(struct ti_run *run, const char *name, char *reason)
{
    run->stray =
        ti_grow(run->stray, &run->stray_room, (size_t)run->nstrays + 1, sizeof *run->stray);
    run->stray[run->nstrays++] = (struct ti_run_stray){name, reason};
}

/* ---------------------------------------------------------- what is there -- */

static bool add_file(struct ti_run *run, const char *name, int64_t claim, bool from_node,
                     size_t *room)
{
    run->file = ti_grow(run->file, room, (size_t)run->nfiles + 1, sizeof *run->file);
    run->file[run->nfiles] =
        (struct ti_run_file){.name = strdup(name), .claim = claim, .from_node = from_node};
    return run->file[run->nfiles].name && ++run->nfiles;
}

/* Lists the ranks that came merged, and the files.  A file in the place of such a rank was none
 * that could be used, else the rank would not have been fetched. */
static ti_status list_files(struct ti_run *run, struct ti_node_traces *from_nodes,
                            struct ti_err *err)
{
    DIR *dir = ti_names_in(run->fd);
    char usual[TI_RANK_NAME_BYTES];
    struct dirent *d;
    size_t room = 0;
    ti_status st = TI_OK;

    if (!dir)
        return ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", run->path);
    for (int64_t r = -1; (r = ti_node_traces_next(from_nodes, r + 1)) >= 0;)
        if (!add_file(run, ti_rank_name(r, usual), r, true, &room))
            break;
    while ((errno = 0, d = readdir(dir))) {
        int64_t claim = ti_rank_of_name(d->d_name);

        if (claim < 0 || (ti_node_traces_has(from_nodes, claim, NULL) &&
                          ti_rank_of_own_name(d->d_name) == claim))
            continue;
        if (!add_file(run, d->d_name, claim, false, &room))
            break;
    }
    if (errno)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", run->path);
    closedir(dir);
    if (st == TI_OK && run->nfiles == 0) {
        st = ti_err_set(err, TI_ERR_INPUT, "directory '%s' holds no rank-*.ti", run->path);
        ti_err_hint(err, "RUN is the directory into which the library wrote its traces");
    }
    if (st == TI_OK)
        qsort(run->file, (size_t)run->nfiles, sizeof *run->file, ti__by_claim);
    return st;
}

/* Copies the header fields of `f` from the scan of its file.  An error in the header is reported
 * here; check_file() reports errors in the contents. */
static ti_status read_file(const struct ti_run *run, struct ti_run_file *f, struct ti_err *err)
{
    const struct ti_rank_scan *r = ti_scanner_get(run->scanner, f->claim, f->name);

    if (!r)
        return ti_gather_stop ? ti_err_set(err, TI_ERR_IO, "interrupted")
                              : ti__run_no_memory(run, err);
    if (!r->header) {
        reject(f, r->state, strdup(r->problem));
        return TI_OK;
    }
    f->state = TI_RANK_OK;
    f->rank = r->rank;
    f->nranks = r->nranks;
    memcpy(f->run_id, r->run_id, sizeof f->run_id);
    f->bytes = r->file.st_size;
    f->crc = r->crc;
    return TI_OK;
}

/* ------------------------------------------------------------ rank by rank -- */

/* File `f` is chosen as its rank's trace: copies the results of its scan. */
static ti_status check_file(struct ti_run *run, struct ti_run_file *f, struct ti_err *err)
{
    struct ti_run_rank *rank = &run->rank[f->claim];
    const struct ti_rank_scan *r = ti_scanner_get(run->scanner, f->claim, f->name);

    if (!r)
        return ti_gather_stop ? ti_err_set(err, TI_ERR_IO, "interrupted")
                              : ti__run_no_memory(run, err);
    if (r->header && (r->file.st_size != f->bytes || r->crc != f->crc)) {
        reject(f, TI_RANK_UNREADABLE, text("'%s' changed while it was checked", f->name));
        return TI_OK;
    }
    if (r->state != TI_RANK_OK && r->state != TI_RANK_CUT) {
        reject(f, r->state, strdup(r->problem));
        return TI_OK;
    }
    rank->file = r->file;
    rank->crc = r->crc;
    rank->from_node = r->from_node;
    if (r->from_node)
        rank->crc32c = r->crc;
    rank->state = r->state;
    rank->name = f->name;
    rank->reason = r->problem ? strdup(r->problem) : NULL;
    rank->end = r->end;
    rank->events = r->events;
    rank->volume = r->volume;
    rank->hash = r->hash;
    rank->node = ti__run_node(run, ti_rank_scan_info(r, "host")) + 1;
    return ti__run_add_up(run, r, err);
}

/* Rejects `f` if its header contradicts its name or the run. */
static void judge_file(const struct ti_run *run, struct ti_run_file *f)
{
    if (f->state != TI_RANK_OK)
        return;
    if (f->nranks != run->nranks)
        reject(f, TI_RANK_FOREIGN,
               text("'%s' is of a run of %" PRId64 " ranks", f->name, f->nranks));
    else if (memcmp(f->run_id, run->run_id, sizeof run->run_id) != 0)
        reject(f, TI_RANK_FOREIGN, text("'%s' is of another run", f->name));
    else if (f->rank != f->claim)
        reject(f, TI_RANK_MISNAMED,
               text("'%s' holds the trace of rank %" PRId64, f->name, f->rank));
}

/* Chooses among the `n` files that claim one rank; n is nearly always 1. */
static ti_status settle_rank(struct ti_run *run, struct ti_run_file *f, int64_t n,
                             struct ti_err *err)
{
    struct ti_run_file *chosen = NULL;
    struct ti_run_rank *rank = &run->rank[f->claim];
    ti_status st;

    for (int64_t i = 0; i < n; i++) {
        judge_file(run, &f[i]);
        if (f[i].state != TI_RANK_OK)
            continue;
        if (!chosen) {
            chosen = &f[i];
        } else if (chosen->from_node) { /* there are no bytes to compare */
            reject(&f[i], TI_RANK_DUPLICATE,
                   text("'%s': its rank came merged from a node", f[i].name));
        } else if (chosen->bytes == f[i].bytes && chosen->crc == f[i].crc) {
            reject(&f[i], TI_RANK_DUPLICATE,
                   text("'%s' is the same as '%s'", f[i].name, chosen->name));
        } else {
            reject(&f[i], TI_RANK_DUPLICATE, text("'%s' and '%s' differ", chosen->name, f[i].name));
            reject(chosen, TI_RANK_DUPLICATE, strdup(f[i].problem));
            chosen = NULL;
            break;
        }
    }
    if (chosen) {
        st = check_file(run, chosen, err);
        if (st != TI_OK)
            return st;
    }
    for (int64_t i = 0; i < n; i++) {
        if (f[i].state == TI_RANK_OK)
            continue;
        if (rank->state == TI_RANK_MISSING) {
            rank->state = f[i].state;
            rank->name = f[i].name;
            rank->reason = f[i].problem;
        } else {
            add_stray(run, f[i].name, f[i].problem);
            run->foreign += f[i].state == TI_RANK_FOREIGN;
        }
        f[i].problem = NULL;
    }
    return TI_OK;
}

static void explain_missing(struct ti_run *run)
{
    /* a misnamed trace affects two ranks */
    for (int64_t i = 0; i < run->nfiles; i++) {
        const struct ti_run_file *f = &run->file[i];
        struct ti_run_rank *rank;

        if (f->state != TI_RANK_MISNAMED)
            continue;
        rank = &run->rank[f->rank];
        if (rank->state == TI_RANK_MISSING && !rank->reason)
            rank->reason = text("no file; but '%s' holds its trace", f->name);
    }
}

static ti_status check_ranks(struct ti_run *run, struct ti_err *err)
{
    ti_status st = TI_OK;

    run->rank = calloc((size_t)run->nranks, sizeof *run->rank);
    if (!run->rank)
        return ti__run_no_memory(run, err);
    run->exact = true;
    run->differing = ti_differ_begin();
    for (int64_t i = 0, next; i < run->nfiles && st == TI_OK; i = next) {
        for (next = i + 1; next < run->nfiles && run->file[next].claim == run->file[i].claim;
             next++)
            ;
        if (run->file[i].claim < run->nranks) {
            st = settle_rank(run, &run->file[i], next - i, err);
        } else {
            for (int64_t f = i; f < next; f++, run->foreign++)
                add_stray(
                    run, run->file[f].name,
                    text("'%s': the run has %" PRId64 " ranks", run->file[f].name, run->nranks));
        }
        if (ti_gather_stop)
            st = ti_err_set(err, TI_ERR_IO, "interrupted");
    }
    explain_missing(run);
    ti__run_note_differences(run);
    return st;
}

static ti_status nothing_usable(const struct ti_run *run, struct ti_err *err)
{
    for (int64_t i = 0; i < run->nranks; i++)
        if (run->rank[i].state != TI_RANK_MISSING)
            return ti_err_set(err, TI_ERR_INPUT, "nothing in '%s' can be gathered: %s", run->path,
                              run->rank[i].reason ? run->rank[i].reason : "?");
    return ti_err_set(err, TI_ERR_INPUT, "nothing in '%s' can be gathered: %s", run->path,
                      run->nstrays && run->stray[0].reason ? run->stray[0].reason : "no trace");
}

static ti_status read_files(struct ti_run *run, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int64_t i = 0; st == TI_OK && i < run->nfiles; i++) {
        ti_progress("checking", "ranks", i, run->nfiles);
        st = read_file(run, &run->file[i], err);
    }
    ti_progress_end(st == TI_OK);
    return st;
}

static ti_status check(struct ti_run *run, struct ti_err *err)
{
    ti_status st = read_files(run, err);

    if (st == TI_OK)
        st = ti__run_identify(run, err);
    if (st == TI_OK)
        st = check_ranks(run, err);
    if (st == TI_OK && run->gathered == 0)
        st = nothing_usable(run, err);
    return st;
}

void ti_run_free(struct ti_run *run)
{
    if (!run)
        return;
    for (int64_t i = 0; run->rank && i < run->nranks; i++)
        free(run->rank[i].reason);
    for (int i = 0; i < run->nstrays; i++)
        free(run->stray[i].reason);
    for (int i = 0; i < run->nnodes; i++)
        free(run->node[i]);
    for (int i = 0; i < run->nuntraced; i++)
        free(run->untraced[i].name);
    for (int64_t i = 0; i < run->nfiles; i++) {
        free(run->file[i].name);
        free(run->file[i].problem);
    }
    json_decref(run->json);
    json_decref(run->info);
    json_decref(run->node_numbers);
    json_decref(run->differ);
    json_decref(run->gathering);
    ti_differ_free(run->differing);
    free(run->rank);
    free(run->stray);
    free(run->node);
    free(run->untraced);
    free(run->file);
    if (run->fd >= 0)
        close(run->fd);
    free(run->path);
    free(run);
}

ti_status ti_run_check(const char *path, json_t *json, struct ti_scanner *scanner,
                       struct ti_run **out, struct ti_err *err)
{
    struct ti_run *run = calloc(1, sizeof *run);
    ti_status st;

    if (!run) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot check '%s'", path);
    }
    run->started = ti_wall();
    run->path = strdup(path);
    run->info = json_object();
    run->node_numbers = json_object();
    run->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!run->path || !run->info || !run->node_numbers || run->fd < 0) {
        st = errno == ENOTDIR ? ti_err_set(err, TI_ERR_INPUT, "'%s' is not a run directory", path)
                              : ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
        ti_hint_file(err, path);
        ti_run_free(run);
        return st;
    }
    for (size_t n = strlen(run->path); n > 1 && run->path[n - 1] == '/'; n--)
        run->path[n - 1] = '\0';
    run->json = json_incref(json);
    st = list_files(run, ti_scanner_from_nodes(scanner), err);
    if (st == TI_OK) {
        run->scanner = scanner ? scanner : ti_scanner_new(run->path, NULL, NULL);
        st = run->scanner ? check(run, err) : ti__run_no_memory(run, err);
        if (!scanner)
            ti_scanner_free(run->scanner);
        run->scanner = NULL;
    }
    if (st != TI_OK) {
        ti_run_free(run);
        return st;
    }
    run->check_seconds = ti_wall() - run->started;
    *out = run;
    return TI_OK;
}
