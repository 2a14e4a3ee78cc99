#include "remote/sshlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lines ------------------------------------------------------------------ */

static bool has(const char *line, const char *what)
{
    return strstr(line, what) != NULL;
}

/* Only the first cause counts: later errors are its consequences. */
static void fail(struct ti__sshlog *l, enum ti_channel_end end, const char *cause)
{
    if (l->failed)
        return;
    l->failed = true;
    l->end = end;
    snprintf(l->cause, sizeof l->cause, "%s", cause);
}

static void connect_line(struct ti__sshlog *l, const char *line)
{
    if (has(line, "refused"))
        fail(l, TI_CHANNEL_REFUSED, line);
    else if (has(line, "timed out"))
        fail(l, TI_CHANNEL_TIMED_OUT, line);
    else
        fail(l, TI_CHANNEL_UNREACHABLE, line);
}

/* "Offending ED25519 key in FILE:LINE", "host key is known for HOST and ..." */
static bool key_line(struct ti__sshlog *l, const char *line)
{
    const char *in;

    if (has(line, "Offending ") && (in = strstr(line, " key in ")) != NULL)
        snprintf(l->known, sizeof l->known, "%s", in + 8);
    else if (has(line, "REVOKED HOST KEY"))
        fail(l, TI_CHANNEL_HOST_KEY_CHANGED, "its host key is marked as revoked in known_hosts");
    else if (has(line, " revoked by file "))
        fail(l, TI_CHANNEL_HOST_KEY_CHANGED, "its host key is one of RevokedHostKeys");
    else if (has(line, "IDENTIFICATION HAS CHANGED"))
        fail(l, TI_CHANNEL_HOST_KEY_CHANGED, "its host key is not the one in known_hosts");
    else if (has(line, "host key is known for") || has(line, "Host key verification failed"))
        fail(l, TI_CHANNEL_HOST_KEY_UNKNOWN, "its host key is not in known_hosts");
    else
        return false;
    return true;
}

static void offered_line(struct ti__sshlog *l, const char *key)
{
    size_t used = strlen(l->keys);

    if (used + strlen(key) + 3 < sizeof l->keys)
        snprintf(l->keys + used, sizeof l->keys - used, "%s%s", used ? ", " : "", key);
}

/* The text after the prefix `what`, or NULL. */
static const char *after(const char *text, const char *what)
{
    size_t n = strlen(what);

    return strncmp(text, what, n) == 0 ? text + n : NULL;
}

/* "debug2: TEXT".  Only matches prefixes of TEXT, which are ssh's own: the rest may come from the
 * server, even before its host key is checked. */
static void debug_line(struct ti__sshlog *l, const char *line)
{
    static const char by_master[] = "mux_client_request_session: ";
    const char *colon = strchr(line, ':'), *text = colon && colon[1] == ' ' ? colon + 2 : "", *rest;

    if ((rest = after(text, by_master)) != NULL)
        text = rest;
    if (after(text, "Remote protocol version"))
        l->greeted = true;
    else if (after(text, "Authentication succeeded"))
        l->login = true;
    else if (after(text, "exec request accepted on channel") ||
             after(text, "master session id: ") ||
             (l->master && after(text, "Entering interactive session")))
        l->running = true;
    else if ((rest = after(text, "Exit status ")) != NULL ||
             (rest = after(text, "Received exit status from master ")) != NULL ||
             (rest = after(text, "received exit status from master ")) != NULL)
        l->status = atoi(rest);
    else if (after(text, "channel ") && has(text, ": rcvd adjust "))
        l->taken++;
    else if (after(text, "client_input_channel_req: ") && has(text, "rtype exit-signal"))
        l->signalled = true;
    else if ((rest = after(text, "Offering public key: ")) != NULL)
        offered_line(l, rest);
}

static void plain_line(struct ti__sshlog *l, const char *line)
{
    if (has(line, "Exceeded MaxStartups"))
        fail(l, TI_CHANNEL_BUSY, line);
    if (!has(line, "@@@@@") && !has(line, "Transferred: ") && !has(line, "Bytes per second: "))
        snprintf(l->last, sizeof l->last, "%s", line);
    if (key_line(l, line))
        return;
    if (has(line, "Authenticated to ")) {
        l->login = true;
        return;
    }
    if (has(line, "Could not resolve hostname"))
        fail(l, TI_CHANNEL_NO_NAME, strncmp(line, "ssh: ", 5) == 0 ? line + 5 : line);
    else if (has(line, "connect to host ") || has(line, "connect to address "))
        connect_line(l, line);
    else if (has(line, "timed out") || has(line, "Timeout, server"))
        fail(l, l->running ? TI_CHANNEL_LOST : TI_CHANNEL_TIMED_OUT, line);
    else if (has(line, "Permission denied (") || has(line, "Too many authentication failures"))
        fail(l, TI_CHANNEL_NO_AUTH, line);
    else if (has(line, "Unable to negotiate") || has(line, "no matching "))
        fail(l, TI_CHANNEL_NO_METHOD, line);
    else if (has(line, "request failed on channel"))
        fail(l, TI_CHANNEL_NO_COMMAND, line);
    else if (l->master && l->running && has(line, "open failed: "))
        snprintf(l->refusal, sizeof l->refusal, "the gateway says: %s",
                 strstr(line, "open failed: ") + 13);
    else if (has(line, "open failed: ") || has(line, "tdio forwarding request failed"))
        fail(l, TI_CHANNEL_UNREACHABLE, line);
    else if (has(line, "exchange_identification: ") || has(line, "banner exchange: "))
        fail(l, TI_CHANNEL_BUSY, line);
    else if (has(line, "Bad configuration option") || has(line, "Bad owner or permissions"))
        fail(l, TI_CHANNEL_LOCAL, line);
}

static void whole_line(struct ti__sshlog *l)
{
    while (l->used && l->line[l->used - 1] == '\r')
        l->used--;
    l->line[l->used] = '\0';
    if (strncmp(l->line, "debug", 5) == 0)
        debug_line(l, l->line);
    else if (l->used)
        plain_line(l, l->line);
    l->used = 0;
}

void ti__sshlog_add(struct ti__sshlog *l, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '\n')
            whole_line(l);
        else if (l->used < sizeof l->line - 1)
            l->line[l->used++] = data[i];
    }
}

/* --- verdict ---------------------------------------------------------------- */

enum ti_channel_end ti__sshlog_why(const struct ti__sshlog *l, char *cause, size_t bytes)
{
    if (l->running) {
        snprintf(cause, bytes, "%s", l->failed ? l->cause : "the connection was closed");
        return TI_CHANNEL_LOST;
    }
    if (l->failed) {
        snprintf(cause, bytes, "%s", l->cause);
        return l->end;
    }
    snprintf(cause, bytes, "%s", l->last[0] ? l->last : "ssh ended without a word");
    return l->login ? TI_CHANNEL_NO_COMMAND : l->greeted ? TI_CHANNEL_LOST : TI_CHANNEL_BUSY;
}

void ti__sshlog_hint(const struct ti__sshlog *l, enum ti_channel_end end, const char *host,
                     char *hint, size_t bytes)
{
    hint[0] = '\0';
    if (end == TI_CHANNEL_HOST_KEY_UNKNOWN)
        snprintf(hint, bytes, "check and add it by: ssh %s true", host);
    else if (end == TI_CHANNEL_HOST_KEY_CHANGED && l->known[0])
        snprintf(hint, bytes,
                 "if the host was installed anew, remove its old key: %s; else someone may be in "
                 "between",
                 l->known);
    else if (end == TI_CHANNEL_NO_AUTH && l->keys[0])
        snprintf(hint, bytes,
                 "these keys were tried: %s; does 'ssh -o BatchMode=yes %s true' work?", l->keys,
                 host);
    else if (end == TI_CHANNEL_NO_AUTH)
        snprintf(hint, bytes, "there was no key to try: start an ssh agent, or see ssh-keygen(1)");
}
