/* Transports that run a child process: this machine's shell (local), or a command of the user's
 * that runs commands on nodes (via: srun, oarsh). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/internal.h"

struct process {
    struct ti__child child;
};

static void on_output(void *arg, const char *data, size_t bytes)
{
    ti__channel_output(arg, data, bytes);
}

static void on_err_output(void *arg, const char *data, size_t bytes)
{
    ti__channel_err_output(arg, data, bytes);
}

static void on_drained(void *arg)
{
    ti__channel_drained(arg);
}

static void on_ended(void *arg, int wait_status)
{
    ti__channel_exited(arg, wait_status);
}

static const struct ti__child_callbacks calls = {
    .out = on_output, .err = on_err_output, .drained = on_drained, .ended = on_ended};

static void begin(struct ti_channel *c, const char *const *argv)
{
    struct process *p = c->own;
    struct ti__child_how how = {.argv = argv, .input = &c->input, .files = &c->r->files};
    struct ti_err err;

    if (ti__child_start(&p->child, &c->r->loop, &how, &calls, c, &err) != TI_OK) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "%s", err.text);
        return;
    }
    ti__channel_ready(c);
}

static void local_start(struct ti_channel *c)
{
    begin(c, (const char *const[]){"/bin/sh", "-c", c->command, NULL});
}

/* WORD with each {node} replaced; NULL: no memory. */
static char *filled_in(const char *word, const char *node)
{
    static const char mark[] = "{node}";
    size_t bytes = strlen(word) + 1, used = 0;
    const char *from = word, *at;
    char *s;

    for (at = word; (at = strstr(at, mark)) != NULL; at += sizeof mark - 1)
        bytes += strlen(node);
    s = malloc(bytes);
    if (!s)
        return NULL;
    while ((at = strstr(from, mark)) != NULL) {
        used += (size_t)sprintf(s + used, "%.*s%s", (int)(at - from), from, node);
        from = at + sizeof mark - 1;
    }
    strcpy(s + used, from);
    return s;
}

static void via_start(struct ti_channel *c)
{
    const char *const *via = c->r->config->via;
    size_t n = 0;
    char **argv;
    bool ok;

    while (via[n])
        n++;
    argv = calloc(n + 2, sizeof *argv);
    ok = argv != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = (argv[i] = filled_in(via[i], c->host)) != NULL;
    ok = ok && (argv[n] = strdup(c->command)) != NULL;
    if (ok)
        begin(c, (const char *const *)argv);
    else
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "out of memory");
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

static void process_input(struct ti_channel *c)
{
    struct process *p = c->own;

    if (c->eof)
        ti__child_eof(&p->child);
    else
        ti__child_input(&p->child);
}

static void process_stop(struct ti_channel *c)
{
    struct process *p = c->own;

    ti__child_drop(&p->child);
}

const struct ti__transport ti__local = {.name = "local",
                                        .bytes = sizeof(struct process),
                                        .start = local_start,
                                        .input = process_input,
                                        .stop = process_stop};
const struct ti__transport ti__via = {.name = "via",
                                      .bytes = sizeof(struct process),
                                      .start = via_start,
                                      .input = process_input,
                                      .stop = process_stop};
