/*
 * Transport: the OpenSSH client, one process for each channel.
 *
 * ssh writes its log to a fifo (-E), so that it is separate from the command's standard error.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "remote/conf.h"
#include "remote/gateway.h"
#include "remote/internal.h"
#include "remote/sshargs.h"
#include "remote/sshlog.h"

struct openssh {
    struct ti__child child;
    struct ti__sshlog log;
    char log_path[96];
};

static bool may_take(void *arg)
{
    return ti__channel_may_read(arg);
}

static void on_output(void *arg, const char *data, size_t bytes)
{
    ti__channel_output(arg, data, bytes);
}

static void on_log(void *arg, const char *data, size_t bytes)
{
    struct ti_channel *c = arg;
    struct openssh *o = c->own;

    uint64_t taken = o->log.taken;

    ti__sshlog_add(&o->log, data, bytes);
    if (o->log.greeted) /* earlier output is of ssh itself, not of the server */
        ti__channel_heard(c);
    if (o->log.taken != taken)
        ti__channel_input_taken(c);
    if (o->log.running && c->state == TI__OPENING) {
        ti__remove_path(o->log_path);
        ti__channel_ready(c);
    }
}

/* Before the command runs, standard error has output of ssh, or of its ProxyCommand. */
static void on_err_output(void *arg, const char *data, size_t bytes)
{
    struct ti_channel *c = arg;
    struct openssh *o = c->own;

    if (c->state == TI__READY)
        ti__channel_err_output(c, data, bytes);
    else
        ti__sshlog_add(&o->log, data, bytes);
}

static void on_drained(void *arg)
{
    ti__channel_drained(arg);
}

static void on_ended(void *arg, int wait_status)
{
    struct ti_channel *c = arg;
    struct openssh *o = c->own;
    bool ssh_failed = !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) == 255;
    enum ti_channel_end why;
    char cause[512], hint[512], name[600];

    if (o->log.running && c->state == TI__OPENING)
        ti__channel_ready(c);
    if (o->log.running && (!ssh_failed || o->log.status >= 0)) {
        ti__channel_exited(c, wait_status);
        return;
    }
    if (o->log.signalled) {
        c->result.end = TI_CHANNEL_SIGNALLED;
        ti_err_set(&c->result.err, TI_ERR_REMOTE, "the command on '%s' was ended by a signal",
                   c->host);
        ti__channel_end(c);
        return;
    }
    why = ti__sshlog_why(&o->log, cause, sizeof cause);
    if (why == TI_CHANNEL_UNREACHABLE && c->through && ti__gateway_refusal(c->through))
        snprintf(cause, sizeof cause, "%s", ti__gateway_refusal(c->through));
    snprintf(name, sizeof name, "%s%s%s%s", c->gateway ? "-J " : "", c->gateway ? c->gateway : "",
             c->gateway ? " " : "", c->host);
    ti__sshlog_hint(&o->log, why, name, hint, sizeof hint);
    ti__channel_failed(c, why, hint[0] ? hint : NULL, "%s", cause);
}

static const struct ti__child_callbacks calls = {may_take, on_output,  on_err_output,
                                                 on_log,   on_drained, on_ended};

/* The ProxyCommand option, quoted for a shell.  Uses the master's connection, never a new one. */
static bool proxy_command(char *text, size_t bytes, struct ti_remote *r,
                          const struct ti__gateway *g)
{
    const char *config = r->config->ssh_config, *socket = ti__gateway_socket(g);
    const struct ti__conf *conf = ti__gateway_conf(g);
    char options[256] = "";
    struct ti__target t;
    int n;

    for (unsigned i = 0; i < TI__OVERRIDE_SESSION; i++) /* -W sets the session type */
        if (conf->overrides >> i & 1)
            snprintf(options + strlen(options), sizeof options - strlen(options), " -o %s",
                     ti__override[i].option);
    if ((config && strpbrk(config, "'%")) || strpbrk(socket, "'%") ||
        !ti__target(&t, ti__gateway_host(g)) || strpbrk(t.host, "'%"))
        return false;
    n = snprintf(text, bytes,
                 "ProxyCommand=ssh %s%s%s -o ControlMaster=no -o ControlPath='%s' -o "
                 "ProxyCommand=false%s -W '[%%h]:%%p' -- '%s'",
                 config ? "-F '" : "", config ? config : "", config ? "'" : "", socket, options,
                 t.host);
    return n > 0 && (size_t)n < bytes;
}

static void openssh_start(struct ti_channel *c)
{
    struct openssh *o = c->own;
    struct ti_remote *r = c->r;
    struct ti__target t;
    struct ti__sshargs a = {0};
    struct ti_channel_options options = c->options;
    struct ti_err err = {0};
    char proxy[1024];
    struct ti__child_how how = {.argv = a.v,
                                .log_path = o->log_path,
                                .input = &c->input,
                                .files = &r->files,
                                .is_ssh = true};

    memset(o, 0, sizeof *o);
    o->log.status = -1;
    if (!ti__target(&t, c->host)) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "this is no [USER@]HOST[:PORT]");
        return;
    }
    if (c->through && !proxy_command(proxy, sizeof proxy, r, c->through)) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "ssh cannot be told of this gateway");
        return;
    }
    if (ti__next_path(r, "l", o->log_path, sizeof o->log_path, &err)) {
        options.forward_agent |= r->config->forward_agent;
        ti__sshargs_begin(&a, r, c->conf, &options, o->log_path);
        ti__sshoption(&a, "ControlMaster=no");
        if (c->through)
            ti__sshoption(&a, proxy);
        ti__ssharg(&a, "-T");
        ti__sshargs_target(&a, &t);
        ti__ssharg(&a, c->command);
        if (ti__child_start(&o->child, &r->loop, &how, &calls, c, &err) == TI_OK) {
            ti__sshargs_free(&a);
            return;
        }
    }
    ti__sshargs_free(&a);
    ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "%s", err.text);
}

static void openssh_input(struct ti_channel *c)
{
    struct openssh *o = c->own;

    if (c->eof)
        ti__child_eof(&o->child);
    else
        ti__child_input(&o->child);
}

static void openssh_pause(struct ti_channel *c)
{
    struct openssh *o = c->own;

    ti__child_pause(&o->child, c->paused);
}

static void openssh_stop(struct ti_channel *c)
{
    struct openssh *o = c->own;

    ti__child_drop(&o->child);
    ti__remove_path(o->log_path);
}

const struct ti__transport ti__openssh = {.name = "OpenSSH",
                                          .bytes = sizeof(struct openssh),
                                          .start = openssh_start,
                                          .input = openssh_input,
                                          .pause = openssh_pause,
                                          .stop = openssh_stop};
