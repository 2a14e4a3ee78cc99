#include "replay-bridge/simulation/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL 3 /* last lines quoted if no line shows the error */

struct findings {
    bool deadlock, platform, nothing, route, option, memory, stack, ours;
    char tail[TAIL][240];
    int ntail;
};

static bool has(const char *line, const char *const *words)
{
    for (; *words; words++)
        if (strstr(line, *words))
            return true;
    return false;
}

static void copy_line(char *to, size_t bytes, const char *line)
{
    size_t n = strcspn(line, "\r\n");

    if (n >= bytes)
        n = bytes - 1;
    memcpy(to, line, n);
    to[n] = '\0';
}

/* A number, to the end of the word. */
static void copy_number(char *to, size_t bytes, const char *from)
{
    size_t n = strspn(from, "0123456789.eE+-");

    if (n < bytes) {
        memcpy(to, from, n);
        to[n] = '\0';
    }
}

static void parse_line(const char *line, struct ti_verdict *v, struct findings *f)
{
    static const char *const telling[] = {
        "Deadlock", "deadlock",     "rror",        "CRITICAL",        "terminate",
        "Aborted",  "Assert",       "assert",      "Cannot",          "cannot",
        "violated", "Segmentation", "waiting for", "connecting path", "ti-smpi-replay: ",
        NULL};
    /* texts of SimGrid, libc, the dynamic linker and ti-smpi-replay */
    static const char *const memory[] = {
        " bytes failed",         "Failed to allocate", "Failed to protect stack",
        "Could not map",         "bad_alloc",          "Cannot allocate memory",
        "failed to map segment", "out of memory",      NULL};
    static const char *const dull[] = {
        "/INFO]", "--cfg=smpi/privatization:", "Execution failed with code", NULL};
    static const char *const platform[] = {"Parse error", "parse error", "xbt_parse",
                                           "surf_parse",  "sg_platf",    "simgrid::ParseError",
                                           NULL};
    static const char *const option[] = {"Bad config key",
                                         "std::range_error: invalid ",
                                         "std::range_error: not a boolean",
                                         "Invalid factor in chunk",
                                         " has no algorithm ",
                                         " is invalid! Valid models",
                                         "Please use a valid factory",
                                         ". Valid values are: ",
                                         "std::invalid_argument: smpi/",
                                         "std::invalid_argument: network/",
                                         NULL};
    /* SimGrid's failures for a speed or bandwidth of 0 or less. */
    static const char *const nothing[] = {"The Impossible Did Happen",
                                          "Variable penalty should not be negative", NULL};
    static const char ours[] = "simulated time: ", our_clock[] = "clock at end: ";
    const char *time = strstr(line, "Simulation time ");

    /* Stock replay prints both in one line, ti-smpi-replay in two lines. */
    if (!strncmp(line, ours, strlen(ours))) {
        copy_number(v->time, sizeof v->time, line + strlen(ours));
        return;
    }
    if (!strncmp(line, our_clock, strlen(our_clock))) {
        line += strlen(our_clock);
        copy_number(v->clock, sizeof v->clock, line + strspn(line, " "));
        return;
    }
    if (time) {
        const char *clock = strstr(line, "clock=");

        copy_number(v->time, sizeof v->time, time + strlen("Simulation time "));
        if (clock)
            copy_number(v->clock, sizeof v->clock, clock + strlen("clock="));
        return;
    }
    f->deadlock = f->deadlock || strstr(line, "Deadlock") || strstr(line, "deadlock");
    f->route = f->route || strstr(line, "no connecting path") || strstr(line, "No route ");
    f->ours = f->ours || !strncmp(line, "ti-smpi-replay: ", strlen("ti-smpi-replay: "));
    if (has(line, option))
        f->option = true;
    else if (has(line, platform))
        f->platform = true;
    f->nothing = f->nothing || has(line, nothing);
    f->stack = f->stack || strstr(line, "Failed to allocate stack");
    f->memory = f->memory || f->stack || has(line, memory);
    if ((has(line, telling) || has(line, memory)) && v->nquotes < TI_VERDICT_QUOTES)
        copy_line(v->quote[v->nquotes++], sizeof v->quote[0], line);
    else if (!has(line, dull))
        copy_line(f->tail[f->ntail++ % TAIL], sizeof f->tail[0], line);
}

static void quote_tail(struct ti_verdict *v, const struct findings *f)
{
    int from = f->ntail > TAIL ? f->ntail - TAIL : 0;

    for (int i = from; i < f->ntail && v->nquotes < TI_VERDICT_QUOTES; i++)
        memcpy(v->quote[v->nquotes++], f->tail[i % TAIL], sizeof v->quote[0]);
}

static ti_status out_of_memory(const struct findings *f, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "the simulation ran out of memory");
    if (f->stack)
        ti_err_hint(err, "the stack of each rank takes 8 MiB of address space, which 'ulimit -v' "
                         "limits; --cfg contexts/stack-size:KIB makes it smaller");
    return TI_ERR_IO;
}

/* smpirun, or its child, was ended by signal `sig`. */
static ti_status killed(int sig, struct ti_verdict *out, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "smpirun was killed by signal %d (%s)", sig, strsignal(sig));
    out->crashed = sig != SIGKILL && sig != SIGTERM && sig != SIGINT && sig != SIGHUP;
    if (sig == SIGKILL)
        ti_err_hint(err, "the kernel kills processes when memory runs out; 'dmesg' says so");
    return TI_ERR_IO;
}

ti_status ti_verdict_read(const char *path, int exit_status, struct ti_verdict *out,
                          struct ti_err *err)
{
    struct findings f = {0};
    FILE *log = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;

    *out = (struct ti_verdict){0};
    if (!log)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    while (getline(&line, &cap, log) >= 0)
        parse_line(line, out, &f);
    free(line);
    fclose(log);

    if (f.deadlock) {
        out->deadlock = true;
        ti_err_set(err, TI_ERR_INPUT, "the replay ran into a deadlock");
        ti_err_hint(err, "an application that relies on larger messages being buffered needs "
                         "--cfg smpi/send-is-detached-thresh:BYTES");
        return TI_ERR_INPUT;
    }
    if (exit_status == 0 && out->time[0]) {
        out->nquotes = 0;
        return TI_OK;
    }
    if (!out->nquotes)
        quote_tail(out, &f);
    if (f.nothing) {
        ti_err_set(err, TI_ERR_INPUT, "SimGrid cannot simulate the platform");
        ti_err_hint(err, "each speed and each bandwidth must be more than 0");
        return TI_ERR_INPUT;
    }
    if (f.platform)
        return ti_err_set(err, TI_ERR_INPUT, "SimGrid does not take the platform");
    if (f.route) {
        ti_err_set(err, TI_ERR_INPUT, "the platform has hosts without a route between them");
        ti_err_hint(err, "each pair of hosts that ranks are on needs a <route>");
        return TI_ERR_INPUT;
    }
    if (f.option)
        return ti_err_set(err, TI_ERR_USAGE, "SimGrid does not take an option given by --cfg");
    if (f.memory)
        return out_of_memory(&f, err);
    if (exit_status > 128)
        return killed(exit_status - 128, out, err);
    if (exit_status && f.ours)
        return ti_err_set(err, exit_status == TI_ERR_INPUT ? TI_ERR_INPUT : TI_ERR_IO,
                          "ti-smpi-replay failed");
    if (exit_status)
        return ti_err_set(err, TI_ERR_IO, "smpirun failed with status %d", exit_status);
    return ti_err_set(err, TI_ERR_IO, "smpirun ended without a simulated time");
}

double ti_verdict_seconds(const struct ti_verdict *v)
{
    return strtod(v->clock[0] ? v->clock : v->time, NULL);
}
