#include "node/serve_internal.h"

#include <string.h>

#include "common/json.h"
#include "node/facts.h"
#include "node/merge.h"
#include "node/traces.h"

#define LISTED 1000 /* traces in one message */
#define CRCS   1000 /* ranks in one request */

static const char *directory_of(const struct ti__serve *s)
{
    return s->open ? s->dir.path : NULL;
}

static const char *run_id_of(const struct ti__serve *s)
{
    return s->open ? s->shared->run_id : NULL;
}

static json_t *or_error(json_t *result, const struct ti_err *err)
{
    return result ? result : ti_facts_error(err);
}

/* --- list -------------------------------------------------------------------- */

static json_t *list_traces(void *arg)
{
    const struct ti__work *w = arg;
    struct ti_err err = {"", ""};

    return or_error(ti_traces_list(w->request, directory_of(w->s), run_id_of(w->s), &err), &err);
}

ti_status ti__do_list(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    return ti__start_task(s, request, "list", list_traces, err);
}

void ti__answer_list(struct ti__serve *s, json_int_t id, json_t *result)
{
    json_t *traces = json_object_get(result, "traces"), *some = json_array(), *trace;
    size_t n = json_array_size(traces), i;

    json_array_foreach(traces, i, trace)
    {
        json_array_append(some, trace);
        if (json_array_size(some) < LISTED && i + 1 < n)
            continue;
        ti__answer(s, "listed", id, json_pack("{s:o}", "traces", some));
        some = json_array();
    }
    json_decref(some);
    json_object_set_new(result, "traces", json_integer((json_int_t)n));
    ti__answer(s, "list", id, result);
}

/* --- crc, remove ------------------------------------------------------------- */

static json_t *compute_crcs(void *arg)
{
    const struct ti__work *w = arg;
    struct ti_err err = {"", ""};

    return or_error(ti_traces_crc(w->request, directory_of(w->s), run_id_of(w->s), &err), &err);
}

ti_status ti__do_crc(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    const json_t *ranks = json_object_get(request, "ranks");

    if (!ti__ranks_ok(ranks, CRCS))
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"ranks\" must be a list of [FIRST, LAST], %d ranks at most", CRCS);
    return ti__start_task(s, request, "crc", compute_crcs, err);
}

/* Once nobody needs the traces of our run, nobody needs its folders for Open MPI: whatever becomes
 * of us then, no folder stays. */
static json_t *remove_traces(void *arg)
{
    const struct ti__work *w = arg;
    const char *id = ti__text_of(w->request, "run_id");
    struct ti_err err = {"", ""};
    int64_t removed;
    ti_status st;

    if (!id || strcmp(id, w->s->shared->run_id) == 0)
        ti__remove_folders(w->s->shared);
    st = ti_traces_remove(w->request, directory_of(w->s), run_id_of(w->s), &removed, &err);
    return or_error(st == TI_OK ? json_pack("{s:I}", "removed", (json_int_t)removed) : NULL, &err);
}

ti_status ti__do_remove(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    return ti__start_task(s, request, "remove", remove_traces, err);
}

/* --- left -------------------------------------------------------------------- */

static json_t *look_for_left(void *arg)
{
    const struct ti__work *w = arg;
    const char *bases[] = {ti_json_string(w->request, "base"), NULL};
    json_t *left = ti_left_find(bases, json_string_value(json_object_get(w->request, "run_id")));

    if (left && json_is_true(json_object_get(w->request, "remove")))
        ti_left_remove(left);
    return left;
}

ti_status ti__do_left(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    const char *id = ti__text_of(request, "run_id");

    if (s->open || *ti_json_string(request, "base") != '/')
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"left\" needs an absolute \"base\", and no open run");
    if (id ? strlen(id) < 12 || strspn(id, "0123456789abcdef") < strlen(id)
           : json_is_true(json_object_get(request, "remove")))
        return ti_err_set(err, TI_ERR_INPUT, "\"run_id\" must be 12 digits or more of a run's");
    return ti__start_task(s, request, "left", look_for_left, err);
}

/* --- send, more -------------------------------------------------------------- */

static json_t *merge_ranks(void *arg)
{
    const struct ti__work *w = arg;
    const struct ti_send *send = &w->s->send;

    return ti_merge_ranks(send->ranks, send->dir, send->run_id, send->merged_fd);
}

ti_status ti__do_send(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    ti_status st = ti_send_start(&s->send, request, directory_of(s), run_id_of(s), err);

    if (st != TI_OK)
        return st;
    s->send.id = ti__number_of(request, "id");
    if (s->send.merging && ti__start_task(s, request, "merge", merge_ranks, err) != TI_OK) {
        json_t *result = ti_facts_error(err);

        ti_send_merged(&s->send, result, &s->out);
        json_decref(result);
    }
    return TI_OK;
}

ti_status ti__do_more(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    (void)err;
    ti_send_credit(&s->send, request);
    return TI_OK;
}
