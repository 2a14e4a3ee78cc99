#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/fleet/fleet_internal.h"
#include "common/cli.h"

struct ti__request {
    struct ti__request *next;
    int64_t id;
    ti_fleet_answer *done;
    void *arg;
};

/* --- one node ------------------------------------------------------------- */

/* Pass an answer to its request's function, and any other message to the callback. */
void ti__fleet_message(struct ti_fleet *f, int64_t node, const json_t *message)
{
    struct ti_fleet_node_priv *p = f->member[node].priv;
    const json_t *id = json_object_get(message, "id");
    struct ti__request **at = &p->pending, *q;

    if (!json_is_integer(id)) {
        if (f->callbacks.on_message)
            f->callbacks.on_message(f, node, message, f->callbacks.arg);
        return;
    }
    while (*at && (*at)->id != json_integer_value(id))
        at = &(*at)->next;
    q = *at;
    if (!q)
        return;
    *at = q->next;
    if (q->done)
        q->done(f, node, message, q->arg);
    free(q);
}

void ti__fleet_no_answers(struct ti_fleet *f, int64_t node)
{
    struct ti_fleet_node_priv *p = f->member[node].priv;
    struct ti__request *next;

    for (struct ti__request *q = p->pending; q; q = next) {
        next = q->next;
        p->pending = next;
        if (q->done)
            q->done(f, node, NULL, q->arg);
        free(q);
    }
}

bool ti_fleet_input(struct ti_fleet *f, int64_t node, uint32_t stream, const void *data,
                    size_t bytes)
{
    struct ti_conn *conn = f->member[node].priv->conn;

    return conn && ti_conn_input(conn, stream, data, bytes);
}

uint32_t ti_fleet_new_stream(struct ti_fleet *f, int64_t node)
{
    struct ti_conn *conn = f->member[node].priv->conn;

    return conn ? ti_conn_new_stream(conn) : 0;
}

bool ti_fleet_ask(struct ti_fleet *f, int64_t node, json_t *request, ti_fleet_answer *done,
                  void *arg)
{
    struct ti_fleet_node_priv *p = f->member[node].priv;
    struct ti__request *q = request && p->conn ? calloc(1, sizeof *q) : NULL;

    if (!q) {
        json_decref(request);
        return false;
    }
    *q = (struct ti__request){p->pending, ++f->next_id, done, arg};
    json_object_set_new(request, "id", json_integer(q->id));
    p->pending = q;
    if (ti_conn_request(p->conn, request))
        return true;
    p->pending = q->next;
    free(q);
    return false;
}

/* --- all nodes ------------------------------------------------------------ */

struct round {
    int64_t asked, answered;
};

static void round_done(struct ti_fleet *f, int64_t node, const json_t *answer, void *arg)
{
    struct round *r = arg;

    r->answered++;
    if (answer)
        f->member[node].answer = json_incref((json_t *)answer);
}

/* Answers that arrive later must not be passed to a round that has ended. */
static void abandon(struct ti_fleet *f, const struct round *r)
{
    for (int64_t i = 0; i < f->n; i++)
        for (struct ti__request *q = f->member[i].priv->pending; q; q = q->next)
            if (q->arg == r)
                q->done = NULL;
}

static bool is_asked(const struct ti_fleet *f, int64_t node, const void *arg)
{
    const struct round *r = arg;

    for (struct ti__request *q = f->member[node].priv->pending; q; q = q->next)
        if (q->arg == r && q->done)
            return true;
    return false;
}

void ti_fleet_ask_all(struct ti_fleet *f, ti_fleet_make_request *request, void *arg, double limit_s,
                      const char *doing)
{
    double until = ti_conns_clock(f->conns) + limit_s;
    struct round r = {0, 0};
    char note[800];

    for (int64_t i = 0; i < f->n; i++) {
        struct ti_fleet_node *m = &f->member[i];
        json_t *json;

        json_decref(m->answer);
        m->answer = NULL;
        json = m->state == TI_NODE_READY ? request(f, i, arg) : NULL;
        if (!json)
            continue;
        m->doing = doing;
        if (ti_fleet_ask(f, i, json, round_done, &r))
            r.asked++;
        else
            m->answer = json_pack("{s:s, s:s}", "is", "error", "error",
                                  "what it is asked is too large for a message");
    }
    while (r.answered < r.asked && !f->sig && ti_conns_clock(f->conns) < until) {
        ti_fleet_poll(f, TI__FLEET_POLL_MS);
        ti_progress_show(&(struct ti_progress){
            .step = doing,
            .unit = "nodes",
            .done = r.answered,
            .of = r.asked,
            .note = ti__fleet_waiting_text(f, is_asked, &r, note, sizeof note)});
    }
    ti_progress_end(r.answered == r.asked);
    for (int64_t i = 0; i < f->n && r.answered < r.asked && !f->sig; i++)
        if (is_asked(f, i, &r))
            ti_fleet_abandon(f, i, TI_CHANNEL_TIMED_OUT, "no answer within %.0f s (%s)", limit_s,
                             doing);
    abandon(f, &r);
}

bool ti_fleet_ok(const struct ti_fleet *f, int64_t node, struct ti_err *err)
{
    const struct ti_fleet_node *m = &f->member[node];
    const char *text = json_string_value(json_object_get(m->answer, "error")), *hint, *is;
    char name[512];

    is = json_string_value(json_object_get(m->answer, "is"));
    if (is && strcmp(is, "error") != 0)
        return true;
    if (!err)
        return false;
    if (m->state == TI_NODE_LOST) {
        *err = m->why;
        return false;
    }
    hint = json_string_value(json_object_get(m->answer, "hint"));
    ti_err_set(err, TI_ERR_REMOTE, "node %s: %s", ti_fleet_name(f, node, name, sizeof name),
               text ? text : "no answer");
    if (hint && *hint)
        ti_err_hint(err, "%s", hint);
    return false;
}
