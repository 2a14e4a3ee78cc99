/*
 * The life of a channel until its command runs: the choice of a transport, the gateway, attempts to
 * connect with their timeouts, and what becomes of a failure.
 */
#include "remote/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/conf.h"
#include "remote/gateway.h"
#include "remote/mux.h"

#define BACKOFF_S 0.4 /* before the second attempt; then doubled, with jitter */

/* An attempt that has no data yet after so long, and after so many times what hosts lately took to
 * send their first, costs nothing and is not counted. */
#define UNANSWERED_S     3.0
#define UNANSWERED_TIMES 3.0
#define LATELY           0.9 /* part of the longest such time that is left with each new one */

static void begin_timeouts(struct ti_channel *c);

/* --- the transport ----------------------------------------------------------- */

static bool set_transport(struct ti_channel *c, const struct ti__transport *transport)
{
    void *own = calloc(1, transport->bytes);

    if (!own)
        return false;
    c->transport->stop(c);
    free(c->own);
    c->own = own;
    c->transport = transport;
    return true;
}

bool ti__channel_fall_back(struct ti_channel *c, const char *why)
{
    if (c->r->config->transport != TI_TRANSPORT_AUTO || !set_transport(c, &ti__openssh))
        return false;
    c->why_openssh = why;
    if (c->state == TI__OPENING && ti__channel_may_start(c)) {
        begin_timeouts(c);
        c->transport->start(c);
    } else if (c->state == TI__OPENING) {
        ti__slots_release(c);
        ti__timer_drop(&c->timer);
        c->state = TI__WAITING;
    }
    return true;
}

void ti__channel_choose(struct ti_channel *c)
{
    struct ti_remote *r = c->r;
    const struct ti__conf *conf = c->conf;
    const char *why = conf ? conf->needs_openssh : NULL;
    char name[600];

    if (!conf || conf->state == TI__CONF_BAD) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "%s",
                           conf ? conf->err.text : "out of memory");
        return;
    }
    if (!c->gateway && conf->jump && !(c->gateway = strdup(conf->jump))) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "out of memory");
        return;
    }
    if (!why && conf->proxy && !c->gateway)
        why = "ProxyCommand";
    if (!why && conf->control && !c->gateway && ti__mux_alive(conf->control))
        why = "a connection of ControlPath";
    if (!why && r->config->forward_agent)
        why = "the agent is forwarded";
    if (r->config->transport == TI_TRANSPORT_LIBSSH2 && why) {
        ti__channel_failed(c, TI_CHANNEL_NO_METHOD, "use the OpenSSH transport",
                           "ssh's configuration has what libssh2 cannot do: %s", why);
        return;
    }
    if (why && r->config->transport == TI_TRANSPORT_AUTO)
        ti__channel_fall_back(c, why);
    else if (!why && r->config->transport != TI_TRANSPORT_OPENSSH && ti__in_process)
        set_transport(c, ti__in_process);
    snprintf(name, sizeof name, "%s:%d", conf->host, conf->port);
    c->limiter = ti__limiter(r, c->gateway ? c->gateway : name);
    c->state = TI__WAITING;
}

/* --- timeouts ---------------------------------------------------------------- */

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

/* Where all hosts are slow, be it for the logins that are in progress, none of them is dead, and
 * opening even more would make all of them time out. */
static double unanswered_s(const struct ti_remote *r)
{
    double s = UNANSWERED_TIMES * r->first_answer_s;

    return s > UNANSWERED_S ? s : UNANSWERED_S;
}

static void on_timeout(void *arg);

/* Checks the timeouts of an attempt, and sets the timer for the next check. */
static void set_timeouts(struct ti_channel *c)
{
    struct ti__login_times t = ti__login_times(c->r, c->conf, &c->options);
    double now = ti__now(), end = min_of(c->tried_at + t.connect_s, c->heard_at + t.answer_s),
           dead = c->heard_at > c->tried_at || !c->holds_global ? end
                                                                : c->tried_at + unanswered_s(c->r);

    if (now >= end && !c->command) { /* it waits for our command */
        c->tried_at = c->heard_at = now;
        dead = end = now + min_of(t.connect_s, t.answer_s);
    }
    if (now >= end) {
        ti__channel_failed(c, TI_CHANNEL_TIMED_OUT, NULL, "no answer in %.3g s",
                           now - c->heard_at >= t.answer_s ? t.answer_s : t.connect_s);
        return;
    }
    if (now >= dead) {
        ti__slots_release_unanswered(c);
        dead = end;
    }
    ti__timer_set(&c->r->loop, &c->timer, min_of(end, dead) - now, on_timeout, c);
}

/* Time in which we did not listen is not the host's. */
static void on_timeout(void *arg)
{
    struct ti_channel *c = arg;
    double missed = ti__now() - c->heard_at;

    if (ti__timer_late(&c->timer)) {
        c->tried_at += missed;
        c->heard_at += missed;
    }
    set_timeouts(c);
}

static void begin_timeouts(struct ti_channel *c)
{
    c->tried_at = c->heard_at = ti__now();
    set_timeouts(c);
}

void ti__channel_heard(struct ti_channel *c)
{
    double now = ti__now();

    if (c->state != TI__OPENING)
        return;
    if (c->limiter && c->heard_at == c->tried_at) {
        double before = LATELY * c->r->first_answer_s;

        c->r->first_answer_s = now - c->tried_at > before ? now - c->tried_at : before;
    }
    c->heard_at = now;
}

/* --- the attempt ------------------------------------------------------------- */

bool ti__channel_may_start(const struct ti_channel *c)
{
    return c->command || c->transport->command;
}

static void connect_it(struct ti_channel *c)
{
    c->state = TI__OPENING;
    c->tries++;
    if (c->limiter)
        begin_timeouts(c);
    c->transport->start(c);
}

static void gateway_failed(struct ti_channel *c)
{
    const char *cause, *hint;

    ti__gateway_why(c->through, &cause, &hint);
    ti__channel_failed(c, TI_CHANNEL_GATEWAY, hint, "%s", cause);
}

void ti__channel_start(struct ti_channel *c)
{
    if (c->limiter) {
        c->state = TI__GATEWAY;
        ti__slots_acquire(c);
    }
    if (!c->gateway) {
        connect_it(c);
        return;
    }
    c->through = ti__gateway(c->r, c->gateway);
    if (!c->through)
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "out of memory");
    else if (ti__gateway_state(c->through) == TI__GATEWAY_UP)
        connect_it(c);
    else if (ti__gateway_state(c->through) == TI__GATEWAY_DOWN)
        gateway_failed(c);
}

/* A callback may end any channel, so the search starts again after each. */
void ti__gateway_changed(struct ti_remote *r, struct ti__gateway *g)
{
    struct ti_channel *c = r->first;

    while (c) {
        if (c->state != TI__GATEWAY || c->through != g) {
            c = c->next;
            continue;
        }
        if (ti__gateway_state(g) == TI__GATEWAY_UP)
            connect_it(c);
        else
            gateway_failed(c);
        c = r->first;
    }
}

/* --- failure ----------------------------------------------------------------- */

static void retry_now(void *arg)
{
    struct ti_channel *c = arg;

    c->state = TI__WAITING;
    c->r->dirty = true;
}

/* True for failures to connect that a retry may solve.  A timeout is one only of a host that
 * answered something, or where all are slow, and only once: others are dead. */
static bool is_transient(const struct ti_channel *c, enum ti_channel_end end)
{
    return end == TI_CHANNEL_REFUSED || end == TI_CHANNEL_BUSY ||
           (end == TI_CHANNEL_TIMED_OUT && c->limiter && c->tries == 1 &&
            (c->heard_at > c->tried_at || c->r->first_answer_s > UNANSWERED_S));
}

double ti__remote_backoff(struct ti_remote *r, int tries)
{
    return BACKOFF_S * (double)(1 << (tries < 6 ? tries - 1 : 5)) * (0.5 + ti__random(r));
}

static void retry_later(struct ti_channel *c)
{
    ti__slots_release(c);
    c->transport->stop(c);
    c->state = TI__PAUSING;
    ti__timer_set(&c->r->loop, &c->timer, ti__remote_backoff(c->r, c->tries), retry_now, c);
}

/* Sets a general hint for a failure. */
static void set_hint(struct ti_channel *c, enum ti_channel_end end)
{
    struct ti_err *err = &c->result.err;
    const char *by = c->gateway ? c->gateway : "", *jump = c->gateway ? "-J " : "";

    if (end == TI_CHANNEL_NO_NAME)
        ti_err_hint(err, "is the name right, and known here? Try: getent hosts %s", c->host);
    else if (end == TI_CHANNEL_REFUSED)
        ti_err_hint(err, "does sshd run there, at this port? Try: ssh %s%s%s%s true", jump, by,
                    *by ? " " : "", c->host);
    else if (end == TI_CHANNEL_UNREACHABLE || end == TI_CHANNEL_TIMED_OUT)
        ti_err_hint(err, "is it up? Try: ssh %s%s%s%s true%s", jump, by, *by ? " " : "", c->host,
                    end == TI_CHANNEL_TIMED_OUT ? "; " TI__LONGER_LOGIN : "");
    else if (end == TI_CHANNEL_GATEWAY && *by)
        ti_err_hint(err, "is the gateway up? Try: ssh %s true", by);
    else if (end == TI_CHANNEL_BUSY)
        ti_err_hint(err, "others log in there as well: try again, or have its administrator raise "
                         "MaxStartups in sshd_config");
}

void ti__channel_failed(struct ti_channel *c, enum ti_channel_end end, const char *hint,
                        const char *fmt, ...)
{
    struct ti_err *err = &c->result.err;
    char cause[768];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(cause, sizeof cause, fmt, ap);
    va_end(ap);
    if (c->state == TI__OPENING && is_transient(c, end) && c->tries < c->r->tries) {
        retry_later(c);
        return;
    }
    c->result.end = end;
    snprintf(c->result.cause, sizeof c->result.cause, "%s", cause);
    ti_err_set(err, TI_ERR_REMOTE, "%s '%s'%s%s%s: %s",
               c->state == TI__READY ? "lost the command on" : "cannot run a command on", c->host,
               c->gateway ? " through '" : "", c->gateway ? c->gateway : "", c->gateway ? "'" : "",
               cause);
    if (hint)
        ti_err_hint(err, "%s", hint);
    else if (c->state != TI__READY)
        set_hint(c, end);
    ti__channel_end(c);
}
