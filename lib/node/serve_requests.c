#include "node/serve_internal.h"

#include <stdio.h>
#include <string.h>

#include "node/facts.h"

/* --- answers ----------------------------------------------------------------- */

void ti__answer(struct ti__serve *s, const char *is, json_int_t id, json_t *fields)
{
    json_t *j = json_pack("{s:s, s:I}", "is", is, "id", id);

    if (fields)
        json_object_update(j, fields);
    json_decref(fields);
    ti_outbox_json(&s->out, TI_FRAME_MESSAGE, j);
}

static void answer_error(struct ti__serve *s, json_int_t id, ti_status st, const struct ti_err *err)
{
    json_t *j = ti_facts_error(err);

    json_object_set_new(j, "status", json_integer(st));
    ti__answer(s, "error", id, j);
}

const char *ti__text_of(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

json_int_t ti__number_of(const json_t *request, const char *key)
{
    return json_integer_value(json_object_get(request, key));
}

/* --- tasks ------------------------------------------------------------------- */

ti_status ti__start_task(struct ti__serve *s, const json_t *request, const char *is,
                         json_t *(*work)(void *arg), struct ti_err *err)
{
    struct ti__work w = {s, request};

    for (int i = 0; i < TI__TASKS; i++) {
        struct ti_task *t = &s->task[i];
        ti_status st;

        if (t->fd >= 0)
            continue;
        st = ti_task_start(t, work, &w, err);
        t->id = ti__number_of(request, "id");
        snprintf(t->is, sizeof t->is, "%s", is);
        return st;
    }
    return ti_err_set(err, TI_ERR_INPUT, "too many questions at once");
}

void ti__task_done(struct ti__serve *s, struct ti_task *t)
{
    json_int_t id = t->id;
    json_t *result;
    char is[32];

    snprintf(is, sizeof is, "%s", t->is);
    if (!ti_task_read(t, &result)) {
        if (strcmp(is, "merge") == 0 && ti_task_ticked(t) && !ti_outbox_full(&s->out))
            ti_outbox_json(&s->out, TI_FRAME_MESSAGE, json_pack("{s:s}", "is", "merging"));
        return;
    }
    if (strcmp(is, "merge") == 0) {
        ti_send_merged(&s->send, result, &s->out);
        json_decref(result);
    } else if (result && json_object_get(result, "error") &&
               (strcmp(is, "list") == 0 || strcmp(is, "crc") == 0 || strcmp(is, "remove") == 0)) {
        json_object_set_new(result, "status", json_integer(TI_ERR_IO));
        ti__answer(s, "error", id, result);
    } else if (result && strcmp(is, "list") == 0) {
        ti__answer_list(s, id, result);
    } else if (result) {
        ti__answer(s, is, id, result);
    } else {
        struct ti_err err;

        ti_err_set(&err, TI_ERR_IO, "the process that was at work on \"%s\" died", is);
        answer_error(s, id, TI_ERR_IO, &err);
    }
}

/* --- facts, beat, reach, unreach --------------------------------------------- */

static json_t *collect_facts(void *arg)
{
    const struct ti__work *w = arg;

    return ti_facts(w->request, w->s->folder);
}

ti_status ti__do_facts(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    return ti__start_task(s, request, "facts", collect_facts, err);
}

ti_status ti__do_beat(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t every_ms = ti__number_of(request, "every_ms"),
               listen_ms = ti__number_of(request, "listen_ms");

    if (every_ms < 0 || every_ms > 86400 * 1000)
        return ti_err_set(err, TI_ERR_INPUT, "\"every_ms\" makes no sense");
    if (listen_ms < 0 || listen_ms > 86400 * 1000)
        return ti_err_set(err, TI_ERR_INPUT, "\"listen_ms\" makes no sense");
    s->listen_s = (double)listen_ms / 1e3;
    s->beat_s = (double)every_ms / 1e3;
    s->next_beat = ti_now() + s->beat_s;
    ti__answer(s, "beat", ti__number_of(request, "id"), NULL);
    return TI_OK;
}

ti_status ti__do_reach(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    struct ti_reach reach;
    ti_status st = ti_reach_parse(request, &reach, err);

    if (st == TI_OK && ti_procs_has(&s->procs, reach.stream))
        st = ti_err_set(err, TI_ERR_INPUT, "there is a process %u already", reach.stream);
    if (st == TI_OK && !s->relay && !(s->relay = ti_relay_new(&s->out, err)))
        st = TI_ERR_IO;
    if (st == TI_OK)
        st = ti_relay_reach(s->relay, &reach, err);
    if (st == TI_OK)
        ti__answer(s, "reach", ti__number_of(request, "id"), NULL);
    return st;
}

ti_status ti__do_unreach(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t stream = ti__number_of(request, "stream");

    if (stream < 1 || stream > UINT32_MAX)
        return ti_err_set(err, TI_ERR_INPUT, "\"stream\" makes no sense");
    ti__answer(s, "unreach", ti__number_of(request, "id"),
               json_pack("{s:b}", "found", ti_relay_unreach(s->relay, (uint32_t)stream)));
    return TI_OK;
}

/* --- the requests by name ---------------------------------------------------- */

static const struct {
    const char *name;
    ti__do *act;
} requests[] = {
    {"facts", ti__do_facts},   {"open", ti__do_open},       {"spawn", ti__do_spawn},
    {"watch", ti__do_watch},   {"end", ti__do_end},         {"send", ti__do_send},
    {"remove", ti__do_remove}, {"leave", ti__do_leave},     {"ranks", ti__do_ranks},
    {"waits", ti__do_waits},   {"kill", ti__do_kill},       {"beat", ti__do_beat},
    {"reach", ti__do_reach},   {"unreach", ti__do_unreach}, {"list", ti__do_list},
    {"crc", ti__do_crc},       {"more", ti__do_more},       {"left", ti__do_left},
};

void ti__handle_request(struct ti__serve *s, const struct ti_frame *f)
{
    json_t *request = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *name = ti__text_of(request, "do");
    struct ti_err err = {"", ""};
    ti_status st = TI_ERR_INPUT;
    size_t i = 0;

    while (i < sizeof requests / sizeof *requests && name && strcmp(requests[i].name, name) != 0)
        i++;
    if (!name)
        ti_err_set(&err, st, "what came is no request");
    else if (i == sizeof requests / sizeof *requests)
        ti_err_set(&err, st, "no request is called '%s'", name);
    else
        st = requests[i].act(s, request, &err);
    if (st != TI_OK)
        answer_error(s, ti__number_of(request, "id"), st, &err);
    json_decref(request);
}
