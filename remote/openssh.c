/*
 * Commands by the OpenSSH client: a process each.  Hosts behind a gateway share
 * one connection to it, a master's, so that 40 of them are one for its sshd.
 *
 * What ssh says about itself goes to a fifo (-E), apart from what the command
 * says on its standard error output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/internal.h"
#include "remote/sshlog.h"

#define ARGS_MAX   48
#define GATEWAY_GO 5.0 /* a gateway that failed is not asked again for so long */

struct openssh {
    struct ti__child child;
    struct ti__sshlog log;
    char log_path[96];
};

enum gateway_state { DOWN, OPENING, UP };

struct ti__gateway {
    struct ti__gateway *next;
    struct ti_remote *r;
    char *name;
    enum gateway_state state;
    int tries;
    double failed_at;
    struct ti__timer timer; /* limit of a try, or pause before the next */
    struct ti__child master;
    struct ti__sshlog log;
    char log_path[96], socket[96];
    enum ti_channel_end why; /* it failed */
    char cause[1024], hint[512];
};

/* --- command lines ----------------------------------------------------------- */

struct args {
    const char *v[ARGS_MAX];
    int n;
    char alive[64], most[64], connect[64];
};

static void arg(struct args *a, const char *s)
{
    if (a->n == ARGS_MAX - 1)
        TI_BUG("more arguments for ssh than expected");
    a->v[a->n++] = s;
    a->v[a->n] = NULL;
}

static void option(struct args *a, const char *s)
{
    arg(a, "-o");
    arg(a, s);
}

/* Nothing is asked, nothing forwarded, no key added. */
static void common_options(struct args *a, const struct ti_remote *r, const char *log_path)
{
    static const char *const fixed[] = {
        "BatchMode=yes",     "StrictHostKeyChecking=yes",
        "UpdateHostKeys=no", "ForwardAgent=no",
        "ForwardX11=no",     "ClearAllForwardings=yes",
        "RequestTTY=no",     "PermitLocalCommand=no",
        "Tunnel=no",         "ControlPersist=no",
        "LogLevel=DEBUG2",   "ConnectionAttempts=1",
        "TCPKeepAlive=yes",  "EscapeChar=none",
    };
    int every = (int)(r->silence_s / 3 + 0.5);

    arg(a, "ssh");
    if (r->config->ssh_config) {
        arg(a, "-F");
        arg(a, r->config->ssh_config);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        option(a, fixed[i]);
    snprintf(a->alive, sizeof a->alive, "ServerAliveInterval=%d", every > 0 ? every : 1);
    option(a, a->alive);
    option(a, "ServerAliveCountMax=2");
    snprintf(a->connect, sizeof a->connect, "ConnectTimeout=%d", (int)(r->connect_s + 0.999));
    option(a, a->connect);
    arg(a, "-E");
    arg(a, log_path);
}

static void target_args(struct args *a, const struct ti__target *t)
{
    if (t->user) {
        arg(a, "-l");
        arg(a, t->user);
    }
    if (t->port) {
        arg(a, "-p");
        arg(a, t->port);
    }
    arg(a, "--");
    arg(a, t->host);
}

/* A path for the next fifo or socket. */
static bool next_path(struct ti_remote *r, const char *kind, char *path, size_t bytes,
                      struct ti_err *err)
{
    const char *dir = ti__remote_dir(r, err);

    snprintf(path, bytes, "%s/%s%d", dir, kind, r->logs++);
    return dir[0] != '\0';
}

static void remove_path(char *path)
{
    if (path[0])
        unlink(path);
    path[0] = '\0';
}

/* --- gateways ---------------------------------------------------------------- */

static void gateway_open(void *arg);

static struct ti__gateway *gateway_named(struct ti_remote *r, const char *name)
{
    struct ti__gateway *g;

    for (g = r->gateways; g; g = g->next)
        if (strcmp(g->name, name) == 0)
            return g;
    g = calloc(1, sizeof *g);
    if (!g || !(g->name = strdup(name))) {
        free(g);
        return NULL;
    }
    g->r = r;
    g->failed_at = -GATEWAY_GO;
    g->next = r->gateways;
    return r->gateways = g;
}

static void gateway_stop(struct ti__gateway *g)
{
    ti__timer_drop(&g->timer);
    ti__child_drop(&g->master);
    remove_path(g->log_path);
    remove_path(g->socket);
    g->state = DOWN;
}

void ti__gateways_free(struct ti_remote *r)
{
    while (r->gateways) {
        struct ti__gateway *g = r->gateways;

        r->gateways = g->next;
        gateway_stop(g);
        free(g->name);
        free(g);
    }
}

static void openssh_connect(struct ti_channel *c, struct ti__gateway *g);

static bool waits_for(const struct ti_channel *c, const struct ti__gateway *g)
{
    const struct openssh *o = c->own;

    return c->transport == &ti__openssh && c->state == TI__OPENING && !o->child.pid && c->gateway &&
           strcmp(c->gateway, g->name) == 0;
}

/* Calls may end any channel but free none, and the next of one that ended is not
 * the list's: begin anew. */
static struct ti_channel *first_waiting(struct ti__gateway *g)
{
    struct ti_channel *c = g->r->first;

    while (c && !waits_for(c, g))
        c = c->next;
    return c;
}

static void tell_failed(struct ti__gateway *g)
{
    struct ti_channel *c;

    while ((c = first_waiting(g)) != NULL)
        ti__channel_failed(c, TI_CHANNEL_GATEWAY, g->hint[0] ? g->hint : NULL, "%s", g->cause);
}

static void gateway_failed(struct ti__gateway *g, enum ti_channel_end why)
{
    bool again = (why == TI_CHANNEL_BUSY || why == TI_CHANNEL_REFUSED) && g->tries < g->r->tries;

    gateway_stop(g);
    g->why = why;
    g->failed_at = ti__now();
    if (!again) {
        tell_failed(g);
        return;
    }
    g->state = OPENING;
    ti__timer_set(&g->r->loop, &g->timer,
                  0.4 * (double)(1 << (g->tries - 1)) * (0.5 + ti__random(g->r)), gateway_open, g);
}

static void on_gateway_log(void *arg, const char *data, size_t bytes)
{
    struct ti__gateway *g = arg;
    struct ti_channel *c;

    ti__sshlog_add(&g->log, data, bytes);
    if (g->state != OPENING || !g->log.running)
        return;
    g->state = UP;
    g->tries = 0;
    remove_path(g->log_path);
    ti__timer_drop(&g->timer);
    while ((c = first_waiting(g)) != NULL)
        openssh_connect(c, g);
}

static void on_gateway_ended(void *arg, int wait_status)
{
    struct ti__gateway *g = arg;
    enum ti_channel_end why = ti__sshlog_why(&g->log, g->cause, sizeof g->cause);

    (void)wait_status;
    ti__sshlog_hint(&g->log, why, g->name, g->hint, sizeof g->hint);
    if (g->state == UP)
        gateway_stop(g); /* its channels see it themselves */
    else
        gateway_failed(g, why);
}

static const struct ti__child_calls gateway_calls = {
    .err = on_gateway_log, .log = on_gateway_log, .ended = on_gateway_ended};

static void gateway_out_of_time(void *arg)
{
    struct ti__gateway *g = arg;

    snprintf(g->cause, sizeof g->cause, "no answer in %.3g s", g->r->connect_s);
    g->hint[0] = '\0';
    gateway_failed(g, TI_CHANNEL_TIMED_OUT);
}

static void gateway_open(void *arg_)
{
    struct ti__gateway *g = arg_;
    struct ti__target t;
    struct args a = {0};
    struct ti_err err = {0};
    char control[128];
    struct ti__child_how how = {.argv = a.v, .log_path = g->log_path, .files = &g->r->files};

    g->state = OPENING;
    g->tries++;
    memset(&g->log, 0, sizeof g->log);
    g->log.master = true;
    if (!ti__target(&t, g->name)) {
        ti_err_set(&err, TI_ERR_INPUT, "'%s' is no [USER@]HOST[:PORT]", g->name);
    } else if (next_path(g->r, "l", g->log_path, sizeof g->log_path, &err) &&
               next_path(g->r, "s", g->socket, sizeof g->socket, &err)) {
        common_options(&a, g->r, g->log_path);
        option(&a, "ControlMaster=yes");
        snprintf(control, sizeof control, "ControlPath=%s", g->socket);
        option(&a, control);
        arg(&a, "-N");
        target_args(&a, &t);
        if (ti__child_start(&g->master, &g->r->loop, &how, &gateway_calls, g, &err) == TI_OK) {
            ti__timer_set(&g->r->loop, &g->timer, g->r->connect_s, gateway_out_of_time, g);
            return;
        }
    }
    snprintf(g->cause, sizeof g->cause, "%s", err.text);
    gateway_failed(g, TI_CHANNEL_LOCAL);
}

/* --- channels ---------------------------------------------------------------- */

static void on_output(void *arg, const char *data, size_t bytes)
{
    ti__channel_output(arg, data, bytes);
}

static void on_log(void *arg, const char *data, size_t bytes)
{
    struct ti_channel *c = arg;
    struct openssh *o = c->own;

    ti__sshlog_add(&o->log, data, bytes);
    if (o->log.running && c->state == TI__OPENING) {
        remove_path(o->log_path);
        ti__channel_ready(c);
    }
}

/* Before the command runs, it is ssh that speaks, or what it goes through. */
static void on_errput(void *arg, const char *data, size_t bytes)
{
    struct ti_channel *c = arg;
    struct openssh *o = c->own;

    if (c->state == TI__READY)
        ti__channel_errput(c, data, bytes);
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
    char cause[1024], hint[512];

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
        ti__channel_over(c);
        return;
    }
    why = ti__sshlog_why(&o->log, cause, sizeof cause);
    ti__sshlog_hint(&o->log, why, c->host, hint, sizeof hint);
    ti__channel_failed(c, why, hint[0] ? hint : NULL, "%s", cause);
}

static const struct ti__child_calls calls = {on_output, on_errput, on_log, on_drained, on_ended};

/* For the shell that ssh gives its ProxyCommand to.  Master's connection or none. */
static bool proxy_command(char *text, size_t bytes, const struct ti__gateway *g)
{
    const char *const quoted[] = {g->r->config->ssh_config, g->socket};
    struct ti__target t;
    int n;

    for (size_t i = 0; i < sizeof quoted / sizeof *quoted; i++)
        if (quoted[i] && strpbrk(quoted[i], "'%"))
            return false;
    if (!ti__target(&t, g->name))
        return false;
    n = snprintf(text, bytes,
                 "ProxyCommand=ssh %s%s%s -o ControlMaster=no -o ControlPath='%s' -o "
                 "ProxyCommand=false -W '[%%h]:%%p' -- '%s'",
                 quoted[0] ? "-F '" : "", quoted[0] ? quoted[0] : "", quoted[0] ? "'" : "",
                 g->socket, t.host);
    return n > 0 && (size_t)n < bytes && !strchr(t.host, '\'');
}

static void openssh_connect(struct ti_channel *c, struct ti__gateway *g)
{
    struct openssh *o = c->own;
    struct ti_remote *r = c->r;
    struct ti__target t;
    struct args a = {0};
    struct ti_err err = {0};
    char proxy[1024];
    struct ti__child_how how = {
        .argv = a.v, .log_path = o->log_path, .input = &c->input, .files = &r->files};

    memset(o, 0, sizeof *o);
    o->log.status = -1;
    if (!ti__target(&t, c->host)) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "this is no [USER@]HOST[:PORT]");
        return;
    }
    if (g && !proxy_command(proxy, sizeof proxy, g)) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "ssh cannot be told of this gateway");
        return;
    }
    if (next_path(r, "l", o->log_path, sizeof o->log_path, &err)) {
        common_options(&a, r, o->log_path);
        option(&a, "ControlMaster=no");
        if (g)
            option(&a, proxy);
        arg(&a, "-T");
        target_args(&a, &t);
        arg(&a, c->command);
        if (ti__child_start(&o->child, &r->loop, &how, &calls, c, &err) == TI_OK)
            return;
    }
    ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "%s", err.text);
}

static void openssh_start(struct ti_channel *c)
{
    struct ti__gateway *g = NULL;

    if (c->gateway && !(g = gateway_named(c->r, c->gateway))) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "out of memory");
        return;
    }
    if (!g || g->state == UP) {
        openssh_connect(c, g);
    } else if (g->state == DOWN) {
        if (ti__now() - g->failed_at < GATEWAY_GO) {
            ti__channel_failed(c, TI_CHANNEL_GATEWAY, g->hint[0] ? g->hint : NULL, "%s", g->cause);
        } else {
            g->tries = 0;
            gateway_open(g);
        }
    }
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
    remove_path(o->log_path);
}

const struct ti__transport ti__openssh = {"OpenSSH",     sizeof(struct openssh), openssh_start,
                                          openssh_input, openssh_pause,          openssh_stop};
