/* Which run the files of a run directory are of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/run_internal.h"
#include "common/hex.h"

int ti__by_claim(const void *a, const void *b)
{
    const struct ti_run_file *x = a, *y = b;

    if (x->claim != y->claim)
        return x->claim < y->claim ? -1 : 1;
    if (x->from_node != y->from_node)
        return x->from_node ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_run(const void *a, const void *b)
{
    const struct ti_run_file *const *x = a, *const *y = b;
    int order = memcmp((*x)->run_id, (*y)->run_id, sizeof(*x)->run_id);

    if (order)
        return order;
    if ((*x)->nranks != (*y)->nranks)
        return (*x)->nranks < (*y)->nranks ? -1 : 1;
    return ti__by_claim(*x, *y);
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

/* No trace is of the run that RUN.json names: RUN.json does not belong here.  `one` is an example.
 */
static ti_status json_is_foreign(const struct ti_run *run, const struct ti_run_file *one,
                                 bool other_id, struct ti_err *err)
{
    char ours[TI_RUN_ID_TEXT], theirs[TI_RUN_ID_TEXT];

    ti_hex(run->run_id, TI_RUN_ID_BYTES, ours);
    ti_hex(one->run_id, TI_RUN_ID_BYTES, theirs);
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
static ti_status read_json(struct ti_run *run, struct ti_run_file *const *file, int64_t n,
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

ti_status ti__run_identify(struct ti_run *run, struct ti_err *err)
{
    struct ti_run_file **sorted = calloc((size_t)run->nfiles, sizeof *sorted);
    const struct ti_run_file *best = NULL;
    int64_t n = 0, most = 0;
    ti_status st;

    if (!sorted)
        return ti__run_no_memory(run, err);
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
    st = read_json(run, sorted, n, best, err);
    free(sorted);
    if (st != TI_OK || run->nranks)
        return st;
    ti_err_set(err, TI_ERR_INPUT, "nothing in '%s' can be gathered: %s", run->path,
               run->file[0].problem ? run->file[0].problem : "no trace is readable");
    return TI_ERR_INPUT;
}
