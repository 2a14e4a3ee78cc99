#include "gather/bundle/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cli.h"
#include "formats/differ.h"
#include "formats/ranges.h"
#include "formats/rankname.h"
#include "gather/bundle/rank_scan.h"
#include "gather/bundle/scanner.h"

/* A file in the directory that is named like a rank's trace. */
struct ti_run_file {
    char *name;
    int64_t claim; /* rank in its name */
    int64_t rank;  /* rank in its header */
    int64_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    enum ti_rank_state state; /* OK: may be its rank's trace */
    char *problem;            /* unless OK */
    int64_t bytes;
    uint32_t crc32;
};

volatile sig_atomic_t ti_gather_stop;

const char *ti_rank_state_text(enum ti_rank_state state)
{
    static const char *const text[] = {
#define TEXT(name, gathered, words) words,
        TI_RANK_STATES(TEXT)
#undef TEXT
    };

    return (unsigned)state < TI_RANK_STATE_COUNT ? text[state] : "?";
}

const char *ti_run_reason(const struct ti_run_rank *rank)
{
    return rank->reason || rank->state != TI_RANK_MISSING ? rank->reason : "no file";
}

static ti_status no_memory(const struct ti_run *run, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot check '%s'", run->path);
}

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
    struct ti_run_stray *grown = realloc(run->stray, (size_t)(run->nstrays + 1) * sizeof *grown);

    if (!grown) {
        free(reason);
        return;
    }
    run->stray = grown;
    grown[run->nstrays++] = (struct ti_run_stray){name, reason};
}

/* ---------------------------------------------------------- what is there -- */

static int by_claim(const void *a, const void *b)
{
    const struct ti_run_file *x = a, *y = b;

    if (x->claim != y->claim)
        return x->claim < y->claim ? -1 : 1;
    return strcmp(x->name, y->name);
}

static ti_status list_files(struct ti_run *run, struct ti_err *err)
{
    int copy = fcntl(run->fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *d;
    int64_t room = 0;
    ti_status st = TI_OK;

    if (!dir) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", run->path);
        if (copy >= 0)
            close(copy);
        return st;
    }
    while ((errno = 0, d = readdir(dir))) {
        int64_t claim = ti_rank_of_name(d->d_name);

        if (claim < 0)
            continue;
        if (run->nfiles == room) {
            struct ti_run_file *grown;

            room = room ? room * 2 : 64;
            grown = realloc(run->file, (size_t)room * sizeof *grown);
            if (!grown)
                break;
            run->file = grown;
        }
        run->file[run->nfiles] = (struct ti_run_file){.name = strdup(d->d_name), .claim = claim};
        if (!run->file[run->nfiles].name)
            break;
        run->nfiles++;
    }
    if (errno)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read directory '%s'", run->path);
    closedir(dir);
    if (st == TI_OK && run->nfiles == 0) {
        st = ti_err_set(err, TI_ERR_INPUT, "directory '%s' holds no rank-*.ti", run->path);
        ti_err_hint(err, "RUN is the directory into which the library wrote its traces");
    }
    if (st == TI_OK)
        qsort(run->file, (size_t)run->nfiles, sizeof *run->file, by_claim);
    return st;
}

/* Reads the header fields of `f`.  Errors in the contents are handled in check_file(), after those
 * in the header. */
static ti_status read_file(const struct ti_run *run, struct ti_run_file *f, struct ti_err *err)
{
    const struct ti_rank_scan *r = ti_scanner_get(run->scanner, f->claim, f->name);

    if (!r)
        return ti_gather_stop ? ti_err_set(err, TI_ERR_IO, "interrupted") : no_memory(run, err);
    if (!r->header) {
        reject(f, r->state, strdup(r->problem));
        return TI_OK;
    }
    f->state = TI_RANK_OK;
    f->rank = r->rank;
    f->nranks = r->nranks;
    memcpy(f->run_id, r->run_id, sizeof f->run_id);
    f->bytes = r->file.st_size;
    f->crc32 = r->crc32;
    return TI_OK;
}

/* -------------------------------------------------------- which run is it -- */

static int by_run(const void *a, const void *b)
{
    const struct ti_run_file *const *x = a, *const *y = b;
    int order = memcmp((*x)->run_id, (*y)->run_id, sizeof(*x)->run_id);

    if (order)
        return order;
    if ((*x)->nranks != (*y)->nranks)
        return (*x)->nranks < (*y)->nranks ? -1 : 1;
    return by_claim(*x, *y);
}

static bool same_run(const struct ti_run_file *x, const struct ti_run_file *y)
{
    return x->nranks == y->nranks && memcmp(x->run_id, y->run_id, sizeof x->run_id) == 0;
}

static void parse_id(const char *hex, uint8_t id[TI_RUN_ID_BYTES])
{
    for (int i = 0; i < TI_RUN_ID_BYTES; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        id[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static void id_text(const uint8_t id[TI_RUN_ID_BYTES], char text[2 * TI_RUN_ID_BYTES + 1])
{
    for (int i = 0; i < TI_RUN_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

/* No trace is of the run that RUN.json names: RUN.json does not belong here.  `one` is an example.
 */
static ti_status json_is_foreign(const struct ti_run *run, const struct ti_run_file *one,
                                 bool other_id, struct ti_err *err)
{
    char ours[2 * TI_RUN_ID_BYTES + 1], theirs[2 * TI_RUN_ID_BYTES + 1];

    id_text(run->run_id, ours);
    id_text(one->run_id, theirs);
    if (other_id)
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s/RUN.json' is of another run than the traces that are here: its \"run_id\" "
                   "is %s, that of '%s' is %s",
                   run->path, ours, one->name, theirs);
    else
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s/RUN.json' does not fit the traces that are here: its \"np\" is %" PRId64
                   ", but '%s' is of a run of %" PRId64 " ranks",
                   run->path, run->nranks, one->name, one->nranks);
    ti_err_hint(err, TI_RUN_JSON_HINT);
    return TI_ERR_INPUT;
}

/* RUN.json decides which run it is; an error if no trace is of that run. */
static ti_status take_json(struct ti_run *run, struct ti_run_file *const *file, int64_t n,
                           const struct ti_run_file *best, struct ti_err *err)
{
    const char *id = json_string_value(json_object_get(run->json, "run_id"));
    json_int_t np = json_integer_value(json_object_get(run->json, "np"));
    const struct ti_run_file *same_id = NULL;

    if (np)
        run->nranks = np;
    if (id)
        parse_id(id, run->run_id);
    if (!best || (!id && !np))
        return TI_OK;
    for (int64_t i = 0; i < n; i++) {
        bool same = !id || memcmp(file[i]->run_id, run->run_id, sizeof run->run_id) == 0;

        if (same && (!np || file[i]->nranks == np))
            return TI_OK;
        same_id = same && !same_id ? file[i] : same_id;
    }
    return json_is_foreign(run, same_id ? same_id : best, !same_id, err);
}

/* Finds the run id and number of ranks: of RUN.json, else those that most files have. */
static ti_status find_run(struct ti_run *run, struct ti_err *err)
{
    struct ti_run_file **sorted = calloc((size_t)run->nfiles, sizeof *sorted);
    const struct ti_run_file *best = NULL;
    int64_t n = 0, most = 0;
    ti_status st;

    if (!sorted)
        return no_memory(run, err);
    for (int64_t i = 0; i < run->nfiles; i++)
        if (run->file[i].state == TI_RANK_OK)
            sorted[n++] = &run->file[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_run);
    for (int64_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && same_run(sorted[i], sorted[next]); next++)
            ;
        if (next - i > most || (next - i == most && sorted[i]->claim < best->claim)) {
            most = next - i;
            best = sorted[i];
        }
    }
    if (best) {
        run->nranks = best->nranks;
        memcpy(run->run_id, best->run_id, sizeof run->run_id);
    }
    st = take_json(run, sorted, n, best, err);
    free(sorted);
    if (st != TI_OK || run->nranks)
        return st;
    ti_err_set(err, TI_ERR_INPUT, "nothing in '%s' can be gathered: %s", run->path,
               run->file[0].problem ? run->file[0].problem : "no trace is readable");
    return TI_ERR_INPUT;
}

/* ------------------------------------------------------------ rank by rank -- */

static int find_node(struct ti_run *run, const char *host)
{
    const json_t *known;
    char **grown;

    if (!host || !*host)
        return -1;
    known = json_object_get(run->node_numbers, host);
    if (known)
        return (int)json_integer_value(known);
    grown = realloc(run->node, (size_t)(run->nnodes + 1) * sizeof *grown);
    if (!grown)
        return -1;
    run->node = grown;
    grown[run->nnodes] = strdup(host);
    if (!grown[run->nnodes])
        return -1;
    /* nocheck: a name may not be UTF-8 */
    json_object_set_new_nocheck(run->node_numbers, host, json_integer(run->nnodes));
    return run->nnodes++;
}

/* A JSON string; replaces bytes of a text that is not UTF-8. */
static json_t *json_text(const char *s)
{
    json_t *json = json_string(s);
    char *copy;

    if (json || !(copy = strdup(s)))
        return json;
    for (char *p = copy; *p; p++)
        if (*p & 0x80)
            *p = '?';
    json = json_string(copy);
    free(copy);
    return json;
}

static const char *value_of(const void *reading, const char *key)
{
    return ti_rank_scan_info(reading, key);
}

static void note_info(struct ti_run *run, const struct ti_rank_scan *r)
{
    static const char *const common[] = {"application", "command", "counter", "event",    "unit",
                                         "exact",       "cpu",     "isa",     "tunables", "mpi",
                                         "language",    "library", "threads", "mode",     "extra"};

    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        const char *value = ti_rank_scan_info(r, common[i]);

        if (value && *value && !json_object_get(run->info, common[i]))
            json_object_set_new(run->info, common[i], json_text(value));
    }
    run->exact = run->exact && ti_info_yes(ti_rank_scan_info(r, "exact"));
    run->estimate = run->estimate || ti_info_yes(ti_rank_scan_info(r, "estimate"));
    ti_differ_add_values(run->differing, r->rank, value_of, r);
}

static double number(const struct ti_rank_scan *r, const char *key)
{
    const char *value = ti_rank_scan_info(r, key);
    double v = value ? strtod(value, NULL) : 0;

    return v >= 0 && v < 1e18 ? v : 0;
}

static ti_status add_up(struct ti_run *run, const struct ti_rank_scan *r, struct ti_err *err)
{
    double v;

    run->gathered++;
    run->complete += r->state == TI_RANK_OK;
    run->bytes += r->file.st_size;
    run->events += r->events;
    run->volume += r->volume;
    run->negative += r->negative;
    ti_burst_overhead_add(&run->calibration, &r->calibration);
    ti_caveats_merge(&run->caveats, &r->caveats);
    run->whole += r->whole;
    run->outside += r->outside;
    run->blocks += r->blocks;
    run->blocks_own += r->blocks_own;
    run->with_whole += r->whole_known;
    run->with_outside += r->outside_known;
    run->messages += r->messages;
    for (int i = 0; i < r->nops; i++) {
        struct ti_op_count *op = &run->op[r->op[i].op];

        op->events += r->op[i].count.events;
        op->bytes += r->op[i].count.bytes;
        op->got += r->op[i].count.got;
    }
    for (int i = 0; i < r->nuntraced; i++)
        if (!ti_call_count_add(&run->untraced, &run->nuntraced, r->untraced[i].name,
                               r->untraced[i].calls))
            return no_memory(run, err);
    run->flush_seconds += number(r, "flush_seconds");
    v = number(r, "init_seconds");
    run->init_seconds_max = v > run->init_seconds_max ? v : run->init_seconds_max;
    v = number(r, "app_seconds");
    run->app_seconds_max = v > run->app_seconds_max ? v : run->app_seconds_max;
    v = number(r, "memory_bytes");
    if (v > (double)run->memory_bytes_max)
        run->memory_bytes_max = (int64_t)v;
    note_info(run, r);
    return TI_OK;
}

/* File `f` is chosen as its rank's trace: copies the results of its scan. */
static ti_status check_file(struct ti_run *run, struct ti_run_file *f, struct ti_err *err)
{
    struct ti_run_rank *rank = &run->rank[f->claim];
    const struct ti_rank_scan *r = ti_scanner_get(run->scanner, f->claim, f->name);

    if (!r)
        return ti_gather_stop ? ti_err_set(err, TI_ERR_IO, "interrupted") : no_memory(run, err);
    if (r->header && (r->file.st_size != f->bytes || r->crc32 != f->crc32)) {
        reject(f, TI_RANK_UNREADABLE, text("'%s' changed while it was checked", f->name));
        return TI_OK;
    }
    if (r->state != TI_RANK_OK && r->state != TI_RANK_CUT) {
        reject(f, r->state, strdup(r->problem));
        return TI_OK;
    }
    rank->file = r->file;
    rank->crc32 = r->crc32;
    rank->state = r->state;
    rank->name = f->name;
    rank->reason = r->problem ? strdup(r->problem) : NULL;
    rank->end = r->end;
    rank->events = r->events;
    rank->volume = r->volume;
    rank->hash = r->hash;
    rank->node = find_node(run, ti_rank_scan_info(r, "host")) + 1;
    return add_up(run, r, err);
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
        } else if (chosen->bytes == f[i].bytes && chosen->crc32 == f[i].crc32) {
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

static void progress(const struct ti_run *run, int64_t done)
{
    static double last;
    double now;

    if (!ti_progress_on() || ((now = ti_wall()) < last + 0.1))
        return;
    last = now;
    ti_progress("checked %" PRId64 " of %" PRId64 " traces", done, run->nfiles);
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

static void note_differences(struct ti_run *run)
{
    const char *key;
    json_t *values;

    run->differ = ti_differ_json(run->differing);
    json_object_foreach(run->differ, key, values) run->counters_differ |= ti_differ_counter(key);
    ti_differ_free(run->differing);
    run->differing = NULL;
}

static ti_status check_ranks(struct ti_run *run, struct ti_err *err)
{
    ti_status st = TI_OK;

    run->rank = calloc((size_t)run->nranks, sizeof *run->rank);
    if (!run->rank)
        return no_memory(run, err);
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
    note_differences(run);
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
        progress(run, i);
        st = read_file(run, &run->file[i], err);
    }
    ti_progress_clear();
    return st;
}

static ti_status check(struct ti_run *run, struct ti_err *err)
{
    ti_status st = read_files(run, err);

    if (st == TI_OK)
        st = find_run(run, err);
    if (st == TI_OK)
        st = check_ranks(run, err);
    if (st == TI_OK && run->gathered == 0)
        st = nothing_usable(run, err);
    return st;
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
        ti_run_free(run);
        return st;
    }
    for (size_t n = strlen(run->path); n > 1 && run->path[n - 1] == '/'; n--)
        run->path[n - 1] = '\0';
    run->json = json_incref(json);
    st = list_files(run, err);
    if (st == TI_OK) {
        run->scanner = scanner ? scanner : ti_scanner_new(run->path, NULL);
        st = run->scanner ? check(run, err) : no_memory(run, err);
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

json_t *ti_run_bad_ranks(const struct ti_run *run, bool gathered)
{
    json_t *list = json_array(), *of = json_object(); /* its items by state and reason */
    char key[4096];

    const struct ti_run_rank *last = NULL; /* the rank that was added to `same` last */
    json_t *same = NULL;

    for (int64_t i = 0; list && of && i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        const char *state = ti_rank_state_text(rank->state);
        const char *reason = ti_run_reason(rank);
        json_t *item, *why;

        if (rank->state == TI_RANK_OK || ti_run_gathers(run, i) != gathered)
            continue;
        if (last && last->state == rank->state && !last->reason && !rank->reason) {
            ti_ranges_add(same, i); /* there may be millions */
            continue;
        }
        why = reason ? json_string(reason) : NULL;
        if (reason && !why)
            why = json_string("?"); /* a file name that is not UTF-8 */
        snprintf(key, sizeof key, "%s%s%s", state, why ? ": " : "",
                 why ? json_string_value(why) : "");
        item = json_object_get(of, key);
        if (!item) {
            item = json_pack("{s:[], s:s}", "ranks", "state", state);
            if (item && why)
                json_object_set(item, "reason", why);
            json_object_set(of, key, item);
            json_array_append_new(list, item);
        }
        last = rank;
        same = json_object_get(item, "ranks");
        ti_ranges_add(same, i);
        json_decref(why);
    }
    json_decref(of);
    return list;
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
