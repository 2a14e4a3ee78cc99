/* [USER@]HOST[:PORT]. */
#include "remote/internal.h"

#include <stdlib.h>
#include <string.h>

/* Names may end up in a ProxyCommand, and so in a shell: allows what OpenSSH allows there.  A
 * leading '-' would be an option of ssh. */
static bool is_plain_name(const char *name, const char *never)
{
    if (!*name || *name == '-')
        return false;
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || *name == 0x7f || strchr(never, *name))
            return false;
    return true;
}

bool ti__target(struct ti__target *t, const char *text)
{
    char *at, *host, *colon;

    memset(t, 0, sizeof *t);
    if (strlen(text) >= sizeof t->copy)
        return false;
    strcpy(t->copy, text);
    host = t->copy;
    at = strrchr(t->copy, '@');
    if (at) {
        *at = '\0';
        t->user = t->copy;
        host = at + 1;
    }
    if (*host == '[') {
        char *end = strchr(++host, ']');

        if (!end || (end[1] && end[1] != ':'))
            return false;
        *end = '\0';
        if (end[1])
            t->port = end + 2;
    } else if ((colon = strchr(host, ':')) != NULL && !strchr(colon + 1, ':')) {
        *colon = '\0';
        t->port = colon + 1;
    }
    t->host = host;
    if (t->port) {
        char *end;
        long port = strtol(t->port, &end, 10);

        if (end == t->port || *end || port < 1 || port > 65535)
            return false;
    }
    return is_plain_name(host, "'`\"$\\;&<>|(){},") &&
           (!t->user || is_plain_name(t->user, "'`\";&<>|(){}"));
}

bool ti_remote_is_target(const char *host)
{
    struct ti__target t;

    return ti__target(&t, host);
}
