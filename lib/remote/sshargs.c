#include "remote/sshargs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote/conf.h"

char *ti__put_first(const char *list, const char *first)
{
    size_t n = strlen(first);
    const char *at = list;
    char *out;

    while ((at = strstr(at, first)) != NULL) {
        if ((at == list || at[-1] == ',') && (at[n] == ',' || !at[n]))
            break;
        at += n;
    }
    if (!at || at == list)
        return strdup(list);
    if (asprintf(&out, "%s,%.*s%s", first, (int)(at - list - 1), list, at + n) < 0)
        return NULL;
    return out;
}

void ti__sshargs_free(struct ti__sshargs *a)
{
    free(a->kex);
    free(a->known);
    a->kex = a->known = NULL;
}

void ti__ssharg(struct ti__sshargs *a, const char *s)
{
    if (a->n == TI__SSHARGS_MAX - 1)
        TI_BUG("more arguments for ssh than expected");
    a->v[a->n++] = s;
    a->v[a->n] = NULL;
}

void ti__sshoption(struct ti__sshargs *a, const char *s)
{
    ti__ssharg(a, "-o");
    ti__ssharg(a, s);
}

/* Adds the user's known_hosts files and one more. */
static void add_known(struct ti__sshargs *a, const struct ti__conf *conf, const char *more)
{
    const char *users = conf && conf->users_known ? conf->users_known : "";

    if (asprintf(&a->known, "UserKnownHostsFile=%s%s%s", users, *users ? " " : "", more) < 0)
        a->known = NULL; /* no memory: the host key is then reported as unknown */
    else
        ti__sshoption(a, a->known);
}

void ti__sshargs_begin(struct ti__sshargs *a, const struct ti_remote *r,
                       const struct ti__conf *conf, const struct ti_channel_options *options,
                       const char *log_path)
{
    static const char *const fixed[] = {
        "BatchMode=yes",   "StrictHostKeyChecking=yes", "UpdateHostKeys=no",
        "ForwardX11=no",   "ClearAllForwardings=yes",   "RequestTTY=no",
        "Tunnel=no",       "PermitLocalCommand=no",     "ControlPersist=no",
        "LogLevel=DEBUG2", "ConnectionAttempts=1",      "TCPKeepAlive=yes",
        "EscapeChar=none",
    };
    static const struct ti_channel_options nothing;
    struct ti__login_times t = ti__login_times(r, conf, options);
    double silence_s, connect_s = t.connect_s < t.answer_s ? t.connect_s : t.answer_s;
    bool is_gateway = !options; /* -N sets the session type */
    int every;
    char *list;

    options = options ? options : &nothing;
    silence_s = options->silence_s > 0 ? options->silence_s : r->silence_s;
    every = (int)(silence_s / 3 + 0.5);

    ti__ssharg(a, "ssh");
    if (r->config->ssh_config) {
        ti__ssharg(a, "-F");
        ti__ssharg(a, r->config->ssh_config);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        ti__sshoption(a, fixed[i]);
    ti__sshoption(a, options->forward_agent ? "ForwardAgent=yes" : "ForwardAgent=no");
    if (options->known)
        add_known(a, conf, options->known);
    snprintf(a->alive, sizeof a->alive, "ServerAliveInterval=%d", every > 0 ? every : 1);
    ti__sshoption(a, a->alive);
    ti__sshoption(a, "ServerAliveCountMax=2");
    snprintf(a->connect, sizeof a->connect, "ConnectTimeout=%d", (int)(connect_s + 0.999));
    ti__sshoption(a, a->connect);
    if (conf && conf->kex && (list = ti__put_first(conf->kex, "curve25519-sha256")) != NULL) {
        /* The user's list, with the cheapest first: a fifteenth of the processor time. */
        if (asprintf(&a->kex, "KexAlgorithms=%s", list) < 0)
            a->kex = NULL;
        else
            ti__sshoption(a, a->kex);
        free(list);
    }
    for (unsigned i = 0; conf && i < TI__OVERRIDES; i++)
        if (conf->overrides >> i & 1 && !(i == TI__OVERRIDE_DELEGATION && options->forward_agent) &&
            !(i == TI__OVERRIDE_SESSION && is_gateway))
            ti__sshoption(a, ti__override[i].option);
    ti__ssharg(a, "-E");
    ti__ssharg(a, log_path);
}

void ti__sshargs_target(struct ti__sshargs *a, const struct ti__target *t)
{
    if (t->user) {
        ti__ssharg(a, "-l");
        ti__ssharg(a, t->user);
    }
    if (t->port) {
        ti__ssharg(a, "-p");
        ti__ssharg(a, t->port);
    }
    ti__ssharg(a, "--");
    ti__ssharg(a, t->host);
}

bool ti__next_path(struct ti_remote *r, const char *kind, char *path, size_t bytes,
                   struct ti_err *err)
{
    const char *dir = ti__remote_dir(r, err);

    snprintf(path, bytes, "%s/%s%d", dir, kind, r->logs++);
    return dir[0] != '\0';
}

void ti__remove_path(char *path)
{
    if (path[0])
        unlink(path);
    path[0] = '\0';
}
