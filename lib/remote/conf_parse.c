/* Reads what `ssh -G` prints. */
#include "remote/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MAX_S 86400.0 /* a relay is told no more */

static bool is_none(const char *value)
{
    return !*value || strcmp(value, "none") == 0;
}

static void keep(char **at, const char *value)
{
    free(*at);
    *at = is_none(value) ? NULL : strdup(value);
}

/* Expands `~`, %d, %h, %r and %%; NULL: there are other tokens, or ${VARIABLE}. */
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

        if (path[0] == '$' && path[1] == '{')
            return NULL;
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

const struct ti__override ti__override[TI__OVERRIDES] = {
    {"remotecommand", "none", "RemoteCommand=none"},
    {"stdinnull", "no", "StdinNull=no"},
    {"forkafterauthentication", "no", "ForkAfterAuthentication=no"},
    {"gssapidelegatecredentials", "no", "GSSAPIDelegateCredentials=no"},
    {"sessiontype", "default", "SessionType=default"},
};

static void parse_word(struct ti__conf *c, const char *word, const char *value)
{
    static const struct {
        const char *word, *why;
    } only_openssh[] = {
        {"certificatefile", "CertificateFile"}, {"knownhostscommand", "KnownHostsCommand"},
        {"revokedhostkeys", "RevokedHostKeys"}, {"pkcs11provider", "PKCS11Provider"},
        {"bindaddress", "BindAddress"},         {"bindinterface", "BindInterface"},
    };

    for (size_t i = 0; i < sizeof only_openssh / sizeof *only_openssh; i++)
        if (strcmp(word, only_openssh[i].word) == 0 && !is_none(value))
            c->needs_openssh = only_openssh[i].why;
    for (size_t i = 0; i < TI__OVERRIDES; i++)
        if (strcmp(word, ti__override[i].word) == 0 && strcmp(value, ti__override[i].usual) != 0)
            c->overrides |= 1U << i;
    if (strcmp(word, "proxycommand") == 0)
        c->proxy = !is_none(value);
    else if (strcmp(word, "user") == 0)
        keep(&c->user, value);
    else if (strcmp(word, "hostname") == 0)
        keep(&c->host, value);
    else if (strcmp(word, "port") == 0)
        c->port = atoi(value);
    else if (strcmp(word, "connecttimeout") == 0)
        c->connect_s = atof(value) < CONNECT_MAX_S ? atof(value) : CONNECT_MAX_S; /* "none": 0 */
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
        c->needs_openssh = "PubkeyAuthentication no";
    else if (strcmp(word, "gssapiauthentication") == 0 ||
             strcmp(word, "hostbasedauthentication") == 0)
        c->other_auth |= strcmp(value, "yes") == 0;
}

/* Settings whose tokens need user and host, so these are parsed in a second pass. */
static void parse_path(struct ti__conf *c, const char *word, const char *value)
{
    if (strcmp(word, "identityfile") == 0 && c->identity_count < TI__IDENTITIES) {
        char *path = expanded(c, value);

        if (path && access(path, F_OK) == 0)
            c->identities[c->identity_count++] = path;
        else if (path)
            free(path);
        else
            c->needs_openssh = "tokens in IdentityFile";
    } else if (strcmp(word, "identityagent") == 0) {
        free(c->agent);
        c->agent = NULL;
        if (value[0] == '$' && value[1] != '{')
            c->agent = getenv(value + 1) ? strdup(getenv(value + 1)) : NULL;
        else if (strcmp(value, "SSH_AUTH_SOCK") == 0)
            c->agent = getenv(value) ? strdup(getenv(value)) : NULL;
        else if (!is_none(value) && !(c->agent = expanded(c, value)))
            c->needs_openssh = "tokens in IdentityAgent";
    } else if (strcmp(word, "userknownhostsfile") == 0 ||
               strcmp(word, "globalknownhostsfile") == 0) {
        if (strpbrk(value, "%\"~"))
            c->needs_openssh = "tokens in known_hosts files";
        else
            add_known(c, value);
    }
}

static bool each_line(struct ti__conf *c,
                      void (*f)(struct ti__conf *c, const char *word, const char *value))
{
    char *copy = strndup(ti__queue_front(&c->output), ti__queue_bytes(&c->output)), *rest = NULL;

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

bool ti__conf_parse(struct ti__conf *c)
{
    const char *agent = getenv("SSH_AUTH_SOCK");

    if (!ti__queue_bytes(&c->output))
        return false;
    if (agent && *agent)
        c->agent = strdup(agent);
    return each_line(c, parse_word) && c->user && c->host && c->port > 0 && c->port < 65536 &&
           each_line(c, parse_path);
}
