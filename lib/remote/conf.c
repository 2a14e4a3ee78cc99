#include "remote/conf.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/hostclass.h"
#include "remote/internal.h"

#define ASKING_MAX     8   /* processes at a time */
#define BACKGROUND_MAX 2   /* of these, for background requests only */
#define ALONE_S        0.3 /* the first runs alone for so long: others may share its result */
#define LOG_BYTES      (64 << 10)
#define TABLE_BITS     12
#define TABLE_LISTS    (1 << TABLE_BITS)

TAILQ_HEAD(list, ti__conf);

struct ti__confs {
    struct list table[TABLE_LISTS]; /* all, by target */
    struct list urgent, background; /* WANTED */
    struct list asked;              /* with a fingerprint: asked, or being asked */
    struct list followers;          /* WANTED, and of the class of one being asked */
    int asking;
    bool hostclass_known; /* `hostclass` is final; NULL: no classes */
    struct ti__hostclass *hostclass;
    unsigned char *fingerprint; /* scratch space for a fingerprint */
    double began;               /* ti__now() at the first request; 0: none */
    struct ti__timer alone;
};

/* --- sharing results --------------------------------------------------------- */

/* Builds the host classes from the log of the first `ssh -v -G`.  A truncated log may lack files.
 */
static void learn_hostclass(struct ti__confs *all, const struct ti__conf *c)
{
    if (all->hostclass_known || c->state != TI__CONF_KNOWN)
        return;
    all->hostclass_known = true;
    ti__timer_drop(&all->alone);
    if (ti__queue_bytes(&c->errors) >= LOG_BYTES)
        return;
    all->hostclass = ti__hostclass_new(ti__queue_front(&c->errors), ti__queue_bytes(&c->errors));
    if (!all->hostclass)
        return;
    all->fingerprint = malloc(ti__hostclass_bytes(all->hostclass) + 1);
    if (all->fingerprint)
        return;
    ti__hostclass_free(all->hostclass);
    all->hostclass = NULL;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static enum ti__share fingerprint_of(struct ti__confs *all, const struct ti__conf *c,
                                     struct ti__target *t)
{
    return all->hostclass && ti__target(t, c->target)
               ? ti__hostclass_fingerprint(all->hostclass, t->host, all->fingerprint)
               : TI__SHARE_NONE;
}

/* Stores the fingerprint, so that others can share the result. */
static void remember(struct ti__confs *all, struct ti__conf *c)
{
    struct ti__target t;

    if (c->fingerprint || fingerprint_of(all, c, &t) == TI__SHARE_NONE)
        return;
    c->fingerprint = malloc(ti__hostclass_bytes(all->hostclass) + 1);
    if (!c->fingerprint)
        return;
    memcpy(c->fingerprint, all->fingerprint, ti__hostclass_bytes(all->hostclass));
    TAILQ_INSERT_HEAD(&all->asked, c, in_asked);
}

static void share_from(struct ti__conf *c, const struct ti__conf *like, const char *host,
                       enum ti__share how)
{
    char *name = strdup(host);

    if (!name) {
        c->state = TI__CONF_BAD;
        ti_err_set(&c->err, TI_ERR_IO, "out of memory");
        return;
    }
    c->like = like;
    c->user = like->user;
    c->host = name;
    c->alias = like->alias;
    c->port = like->port;
    c->family = like->family;
    c->connect_s = like->connect_s;
    c->jump = like->jump;
    c->keys_only = how == TI__SHARE_KEYS;
    c->control = c->keys_only ? NULL : like->control;
    memcpy(c->identities, like->identities, sizeof c->identities);
    c->identity_count = like->identity_count;
    c->identities_only = like->identities_only;
    c->agent = like->agent;
    c->known = like->known;
    c->users_known = like->users_known;
    c->kex = like->kex;
    c->host_keys = like->host_keys;
    c->ciphers = like->ciphers;
    c->macs = like->macs;
    c->other_auth = like->other_auth;
    c->needs_openssh = like->needs_openssh;
    c->proxy = like->proxy;
    c->overrides = like->overrides;
    c->state = TI__CONF_KNOWN;
}

/* True if `c` shares the result of another target, or will once that is asked. */
static bool can_share(struct ti__confs *all, struct ti__conf *c)
{
    struct ti__target t, of;
    enum ti__share how = fingerprint_of(all, c, &t);
    const struct ti__conf *other;

    if (how == TI__SHARE_NONE || (how == TI__SHARE_KEYS && !c->keys))
        return false;
    TAILQ_FOREACH(other, &all->asked, in_asked)
    {
        if (other == c || other->state == TI__CONF_BAD ||
            memcmp(other->fingerprint, all->fingerprint, ti__hostclass_bytes(all->hostclass)) !=
                0 ||
            !ti__target(&of, other->target) || !same(of.user, t.user) || !same(of.port, t.port))
            continue;
        if (other->state == TI__CONF_ASKED) {
            TAILQ_INSERT_TAIL(&all->followers, c, in_queue);
            return true;
        }
        if (strcmp(other->host, of.host) != 0) /* HostName is set */
            continue;
        share_from(c, other, t.host, how);
        c->r->dirty = true;
        return true;
    }
    return false;
}

static struct list *queue_of(struct ti__confs *all, const struct ti__conf *c)
{
    return c->urgent ? &all->urgent : &all->background;
}

/* --- running ssh -G ---------------------------------------------------------- */

static void on_out(void *arg, const char *data, size_t bytes)
{
    struct ti__conf *c = arg;

    if (ti__queue_bytes(&c->output) < 1 << 20)
        ti__queue_add(&c->output, data, bytes);
}

static void on_err(void *arg, const char *data, size_t bytes)
{
    struct ti__conf *c = arg;

    if (ti__queue_bytes(&c->errors) < LOG_BYTES)
        ti__queue_add(&c->errors, data, bytes);
}

/* The error messages, without debug lines, into `text`. */
static void error_text(const struct ti__conf *c, char *text, size_t room)
{
    const char *line = ti__queue_front(&c->errors), *end = line + ti__queue_bytes(&c->errors);
    size_t used = 0;

    text[0] = '\0';
    for (const char *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        int n = (int)((stop ? stop : end) - line);

        next = stop ? stop + 1 : end;
        while (n && line[n - 1] == '\r')
            n--;
        if (!n || strncmp(line, "debug", 5) == 0 || strncmp(line, "OpenSSH_", 8) == 0)
            continue;
        snprintf(text + used, room - used, "%s%.*s", used ? "\n" : ": ", n, line);
        used = strlen(text);
    }
}

/* `ssh -G` ended: the state is KNOWN or BAD. */
static void finish(struct ti__conf *c)
{
    struct ti__confs *all = c->r->confs;
    struct ti__conf *other;

    all->asking--;
    c->r->dirty = true;
    learn_hostclass(all, c);
    if (c->state == TI__CONF_KNOWN)
        remember(all, c);
    ti__timer_drop(&c->limit);
    ti__child_drop(&c->child);
    ti__queue_free(&c->output);
    ti__queue_free(&c->errors);
    while ((other = TAILQ_FIRST(&all->followers)) != NULL) {
        TAILQ_REMOVE(&all->followers, other, in_queue);
        TAILQ_INSERT_HEAD(queue_of(all, other), other, in_queue);
    }
}

static void on_ended(void *arg, int wait_status)
{
    struct ti__conf *c = arg;
    char text[2048];

    c->state = TI__CONF_KNOWN;
    if (wait_status != 0 || !ti__conf_parse(c)) {
        error_text(c, text, sizeof text);
        c->state = TI__CONF_BAD;
        ti_err_set(&c->err, TI_ERR_INPUT, "'ssh -G' does not tell how to reach it%s", text);
    }
    finish(c);
}

/* `ssh -G` may run "Match exec" commands and query name servers, and so hang. */
static void on_timeout(void *arg)
{
    struct ti__conf *c = arg;

    c->state = TI__CONF_BAD;
    ti_err_set(&c->err, TI_ERR_INPUT,
               "'ssh -G' does not say in %.3g s how to reach it: 'Match exec' or "
               "CanonicalizeHostname in ssh's configuration?",
               c->r->connect_s);
    finish(c);
}

static const struct ti__child_callbacks calls = {.out = on_out, .err = on_err, .ended = on_ended};

static void ask(struct ti__conf *c)
{
    const char *argv[13] = {"ssh"};
    struct ti__child_how how = {.argv = argv, .files = &c->r->files};
    struct ti__confs *all = c->r->confs;
    struct ti__target t;
    int n = 1;

    if (!ti__target(&t, c->target)) {
        c->state = TI__CONF_BAD;
        ti_err_set(&c->err, TI_ERR_INPUT, "'%s' is no [USER@]HOST[:PORT]", c->target);
        c->r->dirty = true;
        return;
    }
    if (c->r->config->ssh_config) {
        argv[n++] = "-F";
        argv[n++] = c->r->config->ssh_config;
    }
    if (t.user) {
        argv[n++] = "-l";
        argv[n++] = t.user;
    }
    if (t.port) {
        argv[n++] = "-p";
        argv[n++] = t.port;
    }
    if (!all->hostclass_known)
        argv[n++] = "-v"; /* logs the files that it reads */
    argv[n++] = "-G";
    argv[n++] = "-T";
    argv[n++] = "--";
    argv[n++] = t.host;
    c->state = TI__CONF_ASKED;
    c->keys_only = false;
    all->asking++;
    if (ti__child_start(&c->child, &c->r->loop, &how, &calls, c, &c->err) != TI_OK) {
        c->state = TI__CONF_BAD;
        all->asking--;
        c->r->dirty = true;
    } else {
        ti__timer_set(&c->r->loop, &c->limit, c->r->connect_s, on_timeout, c);
        remember(all, c);
    }
}

static void on_alone(void *arg)
{
    struct ti_remote *r = arg;

    r->dirty = true;
    ti__confs_start(r); /* start_pending() runs only if there are channels */
}

/* The next to run; NULL: none for now. */
static struct ti__conf *next_of(struct ti_remote *r)
{
    struct ti__confs *all = r->confs;
    struct ti__conf *c = TAILQ_FIRST(&all->urgent);

    if (all->asking >= ASKING_MAX || (!c && all->asking >= BACKGROUND_MAX))
        return NULL;
    c = c ? c : TAILQ_FIRST(&all->background);
    if (!c || all->hostclass_known || !all->asking)
        return c;
    if (ti__now() >= all->began + ALONE_S)
        return c;
    if (!all->alone.loop)
        ti__timer_set(&r->loop, &all->alone, ALONE_S, on_alone, r);
    return NULL;
}

void ti__confs_start(struct ti_remote *r)
{
    struct ti__confs *all = r->confs;
    struct ti__conf *c;

    while ((c = next_of(r)) != NULL) {
        TAILQ_REMOVE(queue_of(all, c), c, in_queue);
        if (all->began == 0)
            all->began = ti__now();
        if (!can_share(all, c))
            ask(c);
    }
}

/* --- the table --------------------------------------------------------------- */

struct ti__confs *ti__confs_new(void)
{
    struct ti__confs *all = calloc(1, sizeof *all);

    for (int i = 0; all && i < TABLE_LISTS; i++)
        TAILQ_INIT(&all->table[i]);
    if (!all)
        return NULL;
    TAILQ_INIT(&all->urgent);
    TAILQ_INIT(&all->background);
    TAILQ_INIT(&all->asked);
    TAILQ_INIT(&all->followers);
    return all;
}

static struct list *list_of(struct ti__confs *all, const char *target)
{
    uint32_t hash = 2166136261u;

    for (; *target; target++)
        hash = (hash ^ (unsigned char)*target) * 16777619u;
    return &all->table[(hash ^ hash >> 16) % TABLE_LISTS];
}

static struct ti__conf *find(struct ti_remote *r, const char *target, bool keys, bool now)
{
    struct list *list = list_of(r->confs, target);
    struct ti__conf *c;

    TAILQ_FOREACH(c, list, in_table)
    if (strcmp(c->target, target) == 0)
        return c;
    c = calloc(1, sizeof *c);
    if (!c || !(c->target = strdup(target))) {
        free(c);
        return NULL;
    }
    c->r = r;
    c->urgent = now;
    c->keys = keys;
    TAILQ_INSERT_TAIL(list, c, in_table);
    TAILQ_INSERT_TAIL(queue_of(r->confs, c), c, in_queue);
    return c;
}

/* A channel waits for it now. */
static void make_urgent(struct ti__conf *c)
{
    struct ti__confs *all = c->r->confs;
    const struct ti__conf *f;

    if (c->state != TI__CONF_WANTED || c->urgent)
        return;
    TAILQ_FOREACH(f, &all->followers, in_queue)
    if (f == c) {
        c->urgent = true;
        return;
    }
    TAILQ_REMOVE(&all->background, c, in_queue);
    c->urgent = true;
    TAILQ_INSERT_TAIL(&all->urgent, c, in_queue);
}

/* Drops what is shared with another target. */
static void unshare(struct ti__conf *c)
{
    const size_t from = offsetof(struct ti__conf, user);

    free(c->host);
    memset((char *)c + from, 0, sizeof *c - from);
    c->like = NULL;
    c->keys_only = false;
}

struct ti__conf *ti__conf_of(struct ti_remote *r, const char *target)
{
    struct ti__conf *c = find(r, target, false, true);

    if (!c)
        return NULL;
    c->keys = false;
    if (c->state == TI__CONF_KNOWN && c->keys_only) { /* host keys only are not enough now */
        unshare(c);
        c->state = TI__CONF_WANTED;
        c->urgent = true;
        TAILQ_INSERT_TAIL(&r->confs->urgent, c, in_queue);
    }
    make_urgent(c);
    return c;
}

struct ti__conf *ti__conf_of_keys(struct ti_remote *r, const char *target, bool now)
{
    struct ti__conf *c = find(r, target, true, now);

    if (c && now)
        make_urgent(c);
    return c;
}

static void conf_free(struct ti__conf *c)
{
    char *const texts[] = {c->user,  c->alias,     c->jump,    c->control, c->agent,      c->kex,
                           c->known, c->host_keys, c->ciphers, c->macs,    c->users_known};

    ti__timer_drop(&c->limit);
    ti__child_drop(&c->child);
    ti__queue_free(&c->output);
    ti__queue_free(&c->errors);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !c->like; i++)
        free(texts[i]);
    for (int i = 0; i < c->identity_count && !c->like; i++)
        free(c->identities[i]);
    free(c->host);
    free(c->target);
    free(c->fingerprint);
    free(c);
}

void ti__confs_free(struct ti__confs *all)
{
    struct ti__conf *c;

    if (!all)
        return;
    ti__timer_drop(&all->alone);
    for (int i = 0; i < TABLE_LISTS; i++)
        while ((c = TAILQ_FIRST(&all->table[i])) != NULL) {
            TAILQ_REMOVE(&all->table[i], c, in_table);
            conf_free(c);
        }
    ti__hostclass_free(all->hostclass);
    free(all->fingerprint);
    free(all);
}
