#include "remote/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/internal.h"

#define AT_A_TIME 8

/* --- what it says ------------------------------------------------------------- */

static bool is_none(const char *value)
{
    return !*value || strcmp(value, "none") == 0;
}

static void keep(char **at, const char *value)
{
    free(*at);
    *at = is_none(value) ? NULL : strdup(value);
}

/* `~` and the tokens that name us and the host; NULL: with others in it. */
static char *expanded(const struct ti__conf *c, const char *path)
{
    const char *home = getenv("HOME");
    char out[1024];
    size_t n = 0;

    if (path[0] == '~' && path[1] == '/') {
        n = (size_t)snprintf(out, sizeof out, "%s", home ? home : "");
        path++;
    } else if (path[0] == '~') {
        return NULL;
    }
    for (; *path && n < sizeof out - 1; path++) {
        const char *what = NULL;

        if (*path != '%') {
            out[n++] = *path;
            continue;
        }
        switch (*++path) {
        case '%':
            what = "%";
            break;
        case 'd':
            what = home;
            break;
        case 'h':
            what = c->host;
            break;
        case 'r':
            what = c->user;
            break;
        }
        if (!what)
            return NULL;
        n += (size_t)snprintf(out + n, sizeof out - n, "%s", what);
    }
    if (n >= sizeof out - 1)
        return NULL;
    out[n] = '\0';
    return strdup(out);
}

static void add_known(struct ti__conf *c, const char *files)
{
    char *both = NULL;

    if (is_none(files))
        return;
    if (asprintf(&both, "%s%s%s", c->known ? c->known : "", c->known ? " " : "", files) < 0)
        return;
    free(c->known);
    c->known = both;
}

static void one_word(struct ti__conf *c, const char *word, const char *value)
{
    static const struct {
        const char *word, *why;
    } only_openssh[] = {
        {"proxycommand", "ProxyCommand"},           {"certificatefile", "CertificateFile"},
        {"knownhostscommand", "KnownHostsCommand"}, {"revokedhostkeys", "RevokedHostKeys"},
        {"pkcs11provider", "PKCS11Provider"},       {"bindaddress", "BindAddress"},
        {"bindinterface", "BindInterface"},
    };

    for (size_t i = 0; i < sizeof only_openssh / sizeof *only_openssh; i++)
        if (strcmp(word, only_openssh[i].word) == 0 && !is_none(value))
            c->openssh = only_openssh[i].why;
    if (strcmp(word, "user") == 0)
        keep(&c->user, value);
    else if (strcmp(word, "hostname") == 0)
        keep(&c->host, value);
    else if (strcmp(word, "port") == 0)
        c->port = atoi(value);
    else if (strcmp(word, "hostkeyalias") == 0)
        keep(&c->alias, value);
    else if (strcmp(word, "proxyjump") == 0)
        keep(&c->jump, value);
    else if (strcmp(word, "controlpath") == 0)
        keep(&c->control, value);
    else if (strcmp(word, "identitiesonly") == 0)
        c->identities_only = strcmp(value, "yes") == 0;
    else if (strcmp(word, "userknownhostsfile") == 0)
        keep(&c->users_known, value);
    else if (strcmp(word, "kexalgorithms") == 0)
        keep(&c->kex, value);
    else if (strcmp(word, "hostkeyalgorithms") == 0)
        keep(&c->host_keys, value);
    else if (strcmp(word, "ciphers") == 0)
        keep(&c->ciphers, value);
    else if (strcmp(word, "macs") == 0)
        keep(&c->macs, value);
    else if (strcmp(word, "addressfamily") == 0)
        c->family = strcmp(value, "inet") == 0    ? AF_INET
                    : strcmp(value, "inet6") == 0 ? AF_INET6
                                                  : AF_UNSPEC;
    else if (strcmp(word, "pubkeyauthentication") == 0 &&
             (strcmp(value, "no") == 0 || strcmp(value, "false") == 0))
        c->openssh = "PubkeyAuthentication no";
    else if (strcmp(word, "gssapiauthentication") == 0 ||
             strcmp(word, "hostbasedauthentication") == 0)
        c->other_auth |= strcmp(value, "yes") == 0;
}

/* Those that need user and host for their tokens. */
static void one_path(struct ti__conf *c, const char *word, const char *value)
{
    if (strcmp(word, "identityfile") == 0 && c->identity_count < TI__IDENTITIES) {
        char *path = expanded(c, value);

        if (path && access(path, F_OK) == 0)
            c->identities[c->identity_count++] = path;
        else if (path)
            free(path);
        else
            c->openssh = "tokens in IdentityFile";
    } else if (strcmp(word, "identityagent") == 0) {
        free(c->agent);
        c->agent = NULL;
        if (value[0] == '$')
            c->agent = getenv(value + 1) ? strdup(getenv(value + 1)) : NULL;
        else if (strcmp(value, "SSH_AUTH_SOCK") == 0)
            c->agent = getenv(value) ? strdup(getenv(value)) : NULL;
        else if (!is_none(value) && !(c->agent = expanded(c, value)))
            c->openssh = "tokens in IdentityAgent";
    } else if (strcmp(word, "userknownhostsfile") == 0 ||
               strcmp(word, "globalknownhostsfile") == 0) {
        if (strpbrk(value, "%\"~"))
            c->openssh = "tokens in known_hosts files";
        else
            add_known(c, value);
    }
}

static bool each_line(struct ti__conf *c,
                      void (*f)(struct ti__conf *c, const char *word, const char *value))
{
    char *copy = strndup(ti__queue_front(&c->said), ti__queue_bytes(&c->said)), *rest = NULL;

    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(line, ' ');

        if (!space)
            continue;
        *space = '\0';
        f(c, line, space + 1);
    }
    free(copy);
    return copy != NULL;
}

static bool understand(struct ti__conf *c)
{
    const char *agent = getenv("SSH_AUTH_SOCK");

    if (!ti__queue_bytes(&c->said))
        return false;
    if (agent && *agent)
        c->agent = strdup(agent);
    return each_line(c, one_word) && c->user && c->host && c->port > 0 && c->port < 65536 &&
           each_line(c, one_path);
}

/* --- asking -------------------------------------------------------------------- */

static void on_out(void *arg, const char *data, size_t bytes)
{
    struct ti__conf *c = arg;

    if (ti__queue_bytes(&c->said) < 1 << 20)
        ti__queue_add(&c->said, data, bytes);
}

static void on_err(void *arg, const char *data, size_t bytes)
{
    struct ti__conf *c = arg;

    if (ti__queue_bytes(&c->complaint) < 4096)
        ti__queue_add(&c->complaint, data, bytes);
}

static void on_ended(void *arg, int wait_status)
{
    struct ti__conf *c = arg;
    int n = (int)ti__queue_bytes(&c->complaint);
    const char *text = n ? ti__queue_front(&c->complaint) : "";

    ti__timer_drop(&c->limit);
    c->r->look = true;
    c->r->asking--;
    c->state = TI__CONF_KNOWN;
    if (wait_status != 0 || !understand(c)) {
        while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
            n--;
        c->state = TI__CONF_BAD;
        ti_err_set(&c->err, TI_ERR_INPUT, "'ssh -G' does not tell how to reach it%s%.*s",
                   n ? ": " : "", n, text);
    }
    ti__child_drop(&c->child);
    ti__queue_free(&c->said);
    ti__queue_free(&c->complaint);
}

/* It executes what "Match exec" says, and may ask name servers. */
static void out_of_time(void *arg)
{
    struct ti__conf *c = arg;

    ti__child_drop(&c->child);
    ti__queue_free(&c->said);
    ti__queue_free(&c->complaint);
    c->r->look = true;
    c->r->asking--;
    c->state = TI__CONF_BAD;
    ti_err_set(&c->err, TI_ERR_INPUT,
               "'ssh -G' does not say in %.3g s how to reach it: 'Match exec' or "
               "CanonicalizeHostname in ssh's configuration?",
               c->r->connect_s);
}

static const struct ti__child_calls calls = {.out = on_out, .err = on_err, .ended = on_ended};

static void ask(struct ti__conf *c)
{
    const char *argv[12] = {"ssh"};
    struct ti__child_how how = {.argv = argv, .files = &c->r->files};
    struct ti__target t;
    int n = 1;

    if (!ti__target(&t, c->target)) {
        c->state = TI__CONF_BAD;
        ti_err_set(&c->err, TI_ERR_INPUT, "'%s' is no [USER@]HOST[:PORT]", c->target);
        c->r->look = true;
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
    argv[n++] = "-G";
    argv[n++] = "-T";
    argv[n++] = "--";
    argv[n++] = t.host;
    c->state = TI__CONF_ASKED;
    c->r->asking++;
    if (ti__child_start(&c->child, &c->r->loop, &how, &calls, c, &c->err) != TI_OK) {
        c->state = TI__CONF_BAD;
        c->r->asking--;
        c->r->look = true;
    } else {
        ti__timer_set(&c->r->loop, &c->limit, c->r->connect_s, out_of_time, c);
    }
}

struct ti__conf *ti__conf_of(struct ti_remote *r, const char *target)
{
    struct ti__conf *c;

    for (c = r->confs; c; c = c->next)
        if (strcmp(c->target, target) == 0)
            return c;
    c = calloc(1, sizeof *c);
    if (!c || !(c->target = strdup(target))) {
        free(c);
        return NULL;
    }
    c->r = r;
    c->next = r->confs;
    return r->confs = c;
}

void ti__confs_go(struct ti_remote *r)
{
    for (struct ti__conf *c = r->confs; c && r->asking < AT_A_TIME; c = c->next)
        if (c->state == TI__CONF_WANTED)
            ask(c);
}

void ti__confs_free(struct ti_remote *r)
{
    while (r->confs) {
        struct ti__conf *c = r->confs;
        char *const texts[] = {c->target,  c->user,  c->host,       c->alias,     c->jump,
                               c->control, c->agent, c->kex,        c->host_keys, c->ciphers,
                               c->macs,    c->known, c->users_known};

        r->confs = c->next;
        ti__timer_drop(&c->limit);
        ti__child_drop(&c->child);
        ti__queue_free(&c->said);
        ti__queue_free(&c->complaint);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            free(texts[i]);
        for (int i = 0; i < c->identity_count; i++)
            free(c->identities[i]);
        free(c);
    }
}
