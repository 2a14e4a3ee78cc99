/* Channels: their begin and end, output, and requests of the caller. */
#include "remote/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "remote/conf.h"
#include "remote/gateway.h"

/* --- begin and end ----------------------------------------------------------- */

void ti__channel_free(struct ti_channel *c)
{
    ti__timer_drop(&c->timer);
    if (c->own && c->transport)
        c->transport->stop(c);
    free(c->own);
    ti__queue_free(&c->input);
    free(c->host);
    free(c->gateway);
    free(c->command);
    free(c);
}

static struct ti_channel *channel_new(struct ti_remote *r, const struct ti__transport *transport,
                                      const char *host, const char *gateway, const char *command,
                                      const struct ti_channel_callbacks *calls, void *arg)
{
    struct ti_channel *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->r = r;
    c->transport = transport;
    c->host = strdup(host);
    c->command = command ? strdup(command) : NULL;
    c->own = calloc(1, transport->bytes);
    if (gateway)
        c->gateway = strdup(gateway);
    if (!c->host || (command && !c->command) || !c->own || (gateway && !c->gateway)) {
        ti__channel_free(c);
        return NULL;
    }
    c->state = TI__WAITING; /* without SSH there is nothing to choose */
    c->calls = *calls;
    c->arg = arg;
    c->prev = r->last;
    if (r->last)
        r->last->next = c;
    else
        r->first = c;
    r->last = c;
    r->live++;
    r->dirty = true;
    return c;
}

struct ti_channel *ti_remote_run(struct ti_remote *r, const char *host, const char *gateway,
                                 const char *command, const struct ti_channel_callbacks *calls,
                                 void *arg)
{
    struct ti_channel *c;

    if (r->config->via)
        return channel_new(r, &ti__via, host, NULL, command, calls, arg);
    c = channel_new(r, &ti__openssh, host, gateway, command, calls, arg);
    if (!c)
        return NULL;
    c->state = TI__CHOOSING;
    c->conf = ti__conf_of(r, host);
    if (gateway)
        ti__gateway(r, gateway); /* starts at once: it takes longest */
    return c;
}

struct ti_channel *ti_remote_local(struct ti_remote *r, const char *command,
                                   const struct ti_channel_callbacks *calls, void *arg)
{
    return channel_new(r, &ti__local, "localhost", NULL, command, calls, arg);
}

void ti__channel_end(struct ti_channel *c)
{
    struct ti_remote *r = c->r;

    if (c->state == TI__ENDED)
        return;
    ti__slots_release(c);
    ti__turn_leave(c);
    c->state = TI__ENDED;
    ti__timer_drop(&c->timer);
    c->transport->stop(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        r->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        r->last = c->prev;
    r->live--;
    c->next = r->gone;
    r->gone = c;
    c->calls.ended(c, &c->result, c->arg);
}

void ti__channel_exited(struct ti_channel *c, int wait_status)
{
    struct ti_channel_result *r = &c->result;

    if (wait_status == -1) {
        r->end = TI_CHANNEL_LOCAL;
        ti_err_set(&r->err, TI_ERR_IO, "cannot learn how the command on '%s' ended", c->host);
    } else if (WIFSIGNALED(wait_status)) {
        r->end = TI_CHANNEL_SIGNALLED;
        ti__signal_name(WTERMSIG(wait_status), r->signal);
        ti_err_set(&r->err, TI_ERR_REMOTE, "the command on '%s' was ended by SIG%s", c->host,
                   r->signal);
    } else {
        r->end = TI_CHANNEL_EXITED;
        r->status = WEXITSTATUS(wait_status);
        ti_err_set(&r->err, r->status ? TI_ERR_REMOTE : TI_OK,
                   "the command on '%s' ended with status %d", c->host, r->status);
    }
    ti__channel_end(c);
}

void ti__channel_closed(struct ti_channel *c)
{
    c->result.end = TI_CHANNEL_CLOSED;
    ti_err_set(&c->result.err, TI_OK, "the connection to '%s' was closed", c->host);
    ti__channel_end(c);
}

/* --- called by transports ---------------------------------------------------- */

void ti__channel_ready(struct ti_channel *c)
{
    if (c->state != TI__OPENING)
        return;
    ti__slots_release(c);
    c->state = TI__READY;
    ti__timer_drop(&c->timer);
    c->changed = c->r->dirty = true; /* input applies now */
    if (c->calls.ready)
        c->calls.ready(c, c->arg);
}

void ti__channel_output(struct ti_channel *c, const void *data, size_t bytes)
{
    if (c->calls.output && !c->closing)
        c->calls.output(c, data, bytes, c->arg);
}

void ti__channel_err_output(struct ti_channel *c, const void *data, size_t bytes)
{
    if (c->calls.err_output && !c->closing)
        c->calls.err_output(c, data, bytes, c->arg);
}

void ti__channel_drained(struct ti_channel *c)
{
    if (c->calls.drained && !c->closing && c->state == TI__READY)
        c->calls.drained(c, c->arg);
}

void ti__channel_input_taken(struct ti_channel *c)
{
    c->taken_at = ti__now();
}

/* --- requests of the caller -------------------------------------------------- */

void ti_channel_set_options(struct ti_channel *c, const struct ti_channel_options *options)
{
    c->options = *options;
}

bool ti_channel_command(struct ti_channel *c, const char *command)
{
    if (c->command || c->state == TI__ENDED)
        return true;
    c->command = strdup(command);
    if (c->command && c->state == TI__OPENING && c->transport->command)
        c->transport->command(c);
    c->r->dirty = true;
    return c->command != NULL;
}

bool ti_channel_write(struct ti_channel *c, const void *data, size_t bytes)
{
    if (c->closing || c->eof || c->state == TI__ENDED || !ti__queue_add(&c->input, data, bytes))
        return false;
    c->changed = c->r->dirty = true;
    return true;
}

size_t ti_channel_queued(const struct ti_channel *c)
{
    return ti__queue_bytes(&c->input);
}

double ti_channel_taken_at(const struct ti_channel *c)
{
    return c->taken_at;
}

void ti_channel_eof(struct ti_channel *c)
{
    if (c->state == TI__ENDED)
        return;
    c->eof = true;
    c->changed = c->r->dirty = true;
}

void ti_channel_close(struct ti_channel *c)
{
    c->closing = c->r->dirty = true;
}

const char *ti_channel_host(const struct ti_channel *c)
{
    return c->host;
}

const char *ti_channel_transport(const struct ti_channel *c)
{
    return c->transport->name;
}

const char *ti_channel_why_openssh(const struct ti_channel *c)
{
    return c->why_openssh;
}
