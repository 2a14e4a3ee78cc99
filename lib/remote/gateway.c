#include "remote/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/conf.h"
#include "remote/internal.h"
#include "remote/mux.h"
#include "remote/sshargs.h"
#include "remote/sshlog.h"

#define RETRY_AFTER_S 5.0 /* a gateway that failed is not opened again earlier */

struct ti__gateway {
    struct ti__gateway *next;
    struct ti_remote *r;
    char *name;
    const char *hop; /* last hop, in `name` */
    struct ti__conf *conf;
    enum ti__gateway_state state;
    bool is_users; /* the master is the user's: not ours to stop */
    int tries;
    double failed_at;
    double tried_at, heard_at; /* this attempt: start, and when data last came */
    struct ti__timer timer;    /* timeout of an attempt, or backoff */
    struct ti__child master;
    struct ti__sshlog log;
    char log_path[96], socket[128];
    char cause[1024], hint[512];
};

static void stop(struct ti__gateway *g)
{
    ti__timer_drop(&g->timer);
    ti__child_drop(&g->master);
    ti__remove_path(g->log_path);
    if (!g->is_users)
        ti__remove_path(g->socket);
    g->state = TI__GATEWAY_DOWN;
}

void ti__gateways_free(struct ti_remote *r)
{
    while (r->gateways) {
        struct ti__gateway *g = r->gateways;

        r->gateways = g->next;
        stop(g);
        free(g->name);
        free(g);
    }
}

/* --- its master --------------------------------------------------------------- */

static void open_master(void *arg);

static void failed(struct ti__gateway *g, enum ti_channel_end why)
{
    bool again = (why == TI_CHANNEL_BUSY || why == TI_CHANNEL_REFUSED) && g->tries < g->r->tries;

    stop(g);
    g->failed_at = ti__now();
    if (!again) {
        ti__gateway_changed(g->r, g);
        return;
    }
    g->state = TI__GATEWAY_OPENING;
    ti__timer_set(&g->r->loop, &g->timer, ti__remote_backoff(g->r, g->tries), open_master, g);
}

static void is_up(struct ti__gateway *g)
{
    g->state = TI__GATEWAY_UP;
    g->tries = 0;
    ti__remove_path(g->log_path);
    ti__timer_drop(&g->timer);
    ti__gateway_changed(g->r, g);
}

static void on_log(void *arg, const char *data, size_t bytes)
{
    struct ti__gateway *g = arg;

    ti__sshlog_add(&g->log, data, bytes);
    if (g->log.greeted)
        g->heard_at = ti__now();
    if (g->state == TI__GATEWAY_OPENING && g->log.running)
        is_up(g);
}

static void on_ended(void *arg, int wait_status)
{
    struct ti__gateway *g = arg;
    enum ti_channel_end why = ti__sshlog_why(&g->log, g->cause, sizeof g->cause);

    (void)wait_status;
    ti__sshlog_hint(&g->log, why, g->hop, g->hint, sizeof g->hint);
    if (g->state == TI__GATEWAY_UP)
        stop(g); /* its channels notice that */
    else
        failed(g, why);
}

static const struct ti__child_callbacks calls = {.err = on_log, .log = on_log, .ended = on_ended};

static void check_timeouts(void *arg)
{
    struct ti__gateway *g = arg;
    const struct ti_remote *r = g->r;
    struct ti__login_times t = ti__login_times(r, g->conf, NULL);
    int before = g->hop > g->name ? (int)(g->hop - g->name - 1) : 0; /* bytes of hops before it */
    double now = ti__now(), missed = ti__timer_late(&g->timer) ? now - g->heard_at : 0, left, quiet;

    g->tried_at += missed; /* as in attempt.c */
    g->heard_at += missed;
    left = g->tried_at + t.connect_s - now;
    quiet = g->heard_at + t.answer_s - now;
    if (left > 0 && quiet > 0) {
        ti__timer_set(&g->r->loop, &g->timer, left < quiet ? left : quiet, check_timeouts, g);
        return;
    }
    snprintf(g->cause, sizeof g->cause, "no answer in %.3g s", left > 0 ? t.answer_s : t.connect_s);
    snprintf(g->hint, sizeof g->hint,
             "is the gateway up? Try: ssh %s%.*s%s%s true; " TI__LONGER_LOGIN, before ? "-J " : "",
             before, g->name, before ? " " : "", g->hop);
    failed(g, TI_CHANNEL_TIMED_OUT);
}

/* True if each hop of the list is safe as an argument of ssh. */
static bool are_targets(const char *list)
{
    char copy[512], *rest = NULL;
    struct ti__target t;

    snprintf(copy, sizeof copy, "%s", list);
    for (char *hop = strtok_r(copy, ",", &rest); hop; hop = strtok_r(NULL, ",", &rest))
        if (!ti__target(&t, strncmp(hop, "ssh://", 6) == 0 ? hop + 6 : hop))
            return false;
    return true;
}

static bool start_master(struct ti__gateway *g, struct ti_err *err)
{
    struct ti_remote *r = g->r;
    struct ti__target t;
    struct ti__sshargs a = {0};
    char control[160], jump[512];
    struct ti__child_how how = {.argv = a.v, .log_path = g->log_path, .is_ssh = true};
    bool ok;

    if (!ti__target(&t, g->hop)) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' is no [USER@]HOST[:PORT]", g->hop);
        return false;
    }
    if (!ti__next_path(r, "l", g->log_path, sizeof g->log_path, err) ||
        !ti__next_path(r, "s", g->socket, sizeof g->socket, err))
        return false;
    ti__sshargs_begin(&a, r, g->conf, NULL, g->log_path);
    ti__sshoption(&a, "ControlMaster=yes");
    snprintf(control, sizeof control, "ControlPath=%s", g->socket);
    ti__sshoption(&a, control);
    if (g->hop > g->name) {
        snprintf(jump, sizeof jump, "%.*s", (int)(g->hop - g->name - 1), g->name);
        if (!are_targets(jump)) {
            ti_err_set(err, TI_ERR_INPUT, "'%s' is no [USER@]HOST[:PORT],...", jump);
            return false;
        }
        ti__ssharg(&a, "-J");
        ti__ssharg(&a, jump);
    }
    ti__ssharg(&a, "-N");
    ti__sshargs_target(&a, &t);
    ok = ti__child_start(&g->master, &r->loop, &how, &calls, g, err) == TI_OK;
    ti__sshargs_free(&a);
    return ok;
}

static void open_master(void *arg)
{
    struct ti__gateway *g = arg;
    struct ti_err err = {0};

    g->state = TI__GATEWAY_OPENING;
    g->tries++;
    g->hint[0] = '\0';
    memset(&g->log, 0, sizeof g->log);
    g->log.master = true;
    g->is_users = g->conf->control && ti__mux_alive(g->conf->control);
    if (g->is_users) {
        snprintf(g->socket, sizeof g->socket, "%s", g->conf->control);
        is_up(g);
    } else if (start_master(g, &err)) {
        g->tried_at = g->heard_at = ti__now();
        check_timeouts(g);
    } else {
        snprintf(g->cause, sizeof g->cause, "%s", err.text);
        failed(g, TI_CHANNEL_LOCAL);
    }
}

/* --- interface ------------------------------------------------------------------ */

static struct ti__gateway *by_name(struct ti_remote *r, const char *name)
{
    struct ti__gateway *g;
    const char *comma;

    for (g = r->gateways; g; g = g->next)
        if (strcmp(g->name, name) == 0)
            return g;
    g = calloc(1, sizeof *g);
    if (!g || !(g->name = strdup(name))) {
        free(g);
        return NULL;
    }
    comma = strrchr(g->name, ',');
    g->hop = comma ? comma + 1 : g->name;
    g->r = r;
    g->failed_at = -RETRY_AFTER_S;
    g->next = r->gateways;
    return r->gateways = g;
}

static void begin(void *arg)
{
    struct ti__gateway *g = arg;

    if (g->conf->state == TI__CONF_KNOWN) {
        open_master(g);
    } else if (g->conf->state == TI__CONF_BAD) {
        snprintf(g->cause, sizeof g->cause, "%s", g->conf->err.text);
        g->hint[0] = '\0';
        failed(g, TI_CHANNEL_LOCAL);
    } else {
        g->r->dirty = true; /* runs `ssh -G` */
        ti__timer_set(&g->r->loop, &g->timer, 0.005, begin, g);
    }
}

struct ti__gateway *ti__gateway(struct ti_remote *r, const char *name)
{
    struct ti__gateway *g = by_name(r, name);

    if (!g || g->state != TI__GATEWAY_DOWN || ti__now() - g->failed_at < RETRY_AFTER_S)
        return g;
    g->conf = ti__conf_of(r, g->hop);
    if (!g->conf)
        return NULL;
    g->tries = 0;
    g->state = TI__GATEWAY_OPENING;
    /* Not before we return: it may call back. */
    ti__timer_set(&r->loop, &g->timer, 0, begin, g);
    return g;
}

enum ti__gateway_state ti__gateway_state(const struct ti__gateway *g)
{
    return g->state;
}

const char *ti__gateway_socket(const struct ti__gateway *g)
{
    return g->socket;
}

const struct ti__conf *ti__gateway_conf(const struct ti__gateway *g)
{
    return g->conf;
}

const char *ti__gateway_host(const struct ti__gateway *g)
{
    return g->hop;
}

void ti__gateway_why(const struct ti__gateway *g, const char **cause, const char **hint)
{
    *cause = g->cause;
    *hint = g->hint[0] ? g->hint : NULL;
}

const char *ti__gateway_refusal(const struct ti__gateway *g)
{
    return g->log.refusal[0] ? g->log.refusal : NULL;
}
