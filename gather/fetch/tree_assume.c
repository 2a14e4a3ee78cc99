/* The parameters of the cost model as text: --assume. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cli.h"
#include "gather/fetch/tree.h"

/* Measured: a login's round trips and processor time with curve25519, by libssh2 and by
 * OpenSSH; relaying by one core.  Headers: of 1,538 bytes on an Ethernet, 1,448 are of TCP's. */
void ti_tree_costs_default(struct ti_tree_costs *c)
{
    *c = (struct ti_tree_costs){
        .rtt_s = 0.020,
        .inner_rtt_s = 0.0002,
        .rate = 125e6,
        .site_rate = 125e6,
        .node_rate = 100e6,
        .headers = 0.062,
        .login_cpu_s = 0.017,
        .login_rtts = 8,
        .start_s = 0.05,
        .most_new = 8,
    };
}

enum kind { SECONDS, RATE, SHARE, NUMBER, COUNT };

static const struct word {
    const char *name;
    enum kind kind;
    size_t at;
} words[] = {
    {"rtt", SECONDS, offsetof(struct ti_tree_costs, rtt_s)},
    {"inner-rtt", SECONDS, offsetof(struct ti_tree_costs, inner_rtt_s)},
    {"rate", RATE, offsetof(struct ti_tree_costs, rate)},
    {"site-rate", RATE, offsetof(struct ti_tree_costs, site_rate)},
    {"node-rate", RATE, offsetof(struct ti_tree_costs, node_rate)},
    {"headers", SHARE, offsetof(struct ti_tree_costs, headers)},
    {"login-cpu", SECONDS, offsetof(struct ti_tree_costs, login_cpu_s)},
    {"login-rtts", NUMBER, offsetof(struct ti_tree_costs, login_rtts)},
    {"start", SECONDS, offsetof(struct ti_tree_costs, start_s)},
    {"most-new", COUNT, offsetof(struct ti_tree_costs, most_new)},
};
#define WORDS (sizeof words / sizeof *words)

static const struct unit {
    enum kind kind;
    const char *name;
    double value;
} units[] = {
    {SECONDS, "us", 1e-6}, {SECONDS, "ms", 1e-3}, {SECONDS, "s", 1}, {RATE, "kbit", 125},
    {RATE, "mbit", 125e3}, {RATE, "gbit", 125e6}, {RATE, "kB", 1e3}, {RATE, "MB", 1e6},
    {RATE, "GB", 1e9},     {SHARE, "%", 0.01},    {NUMBER, "", 1},   {COUNT, "", 1},
};

static const char *expected(enum kind kind)
{
    static const char *const text[] = {
        [SECONDS] = "a time in us, ms or s, up to an hour, such as 20ms",
        [RATE] = "a rate in kbit, mbit, gbit, kB, MB or GB (a second), such as 100mbit",
        [SHARE] = "a share from 0% to 100%",
        [NUMBER] = "a number from 0 to 1000",
        [COUNT] = "a number from 1 to 256",
    };

    return text[kind];
}

static bool in_range(enum kind kind, double v)
{
    switch (kind) {
    case SECONDS:
        return v <= 3600;
    case RATE:
        return v >= 1 && v <= 1e15;
    case SHARE:
        return v <= 1;
    case NUMBER:
        return v <= 1000;
    default:
        return v >= 1 && v <= 256 && v == floor(v);
    }
}

/* strtod() alone would accept signs, "inf" and hexadecimal numbers. */
static bool parse_value(const char *text, enum kind kind, double *out)
{
    size_t digits = strspn(text, "0123456789.");
    char *end;
    double v = strtod(text, &end);

    if (!digits || end != text + digits)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].kind == kind && strcasecmp(end, units[i].name) == 0) {
            *out = v * units[i].value;
            return in_range(kind, *out);
        }
    return false;
}

static ti_status parse_word(char *text, struct ti_tree_costs *c, struct ti_err *err)
{
    struct ti_nearest near = {.to = text};
    char *value = strchr(text, '=');
    double v;

    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < WORDS; i++) {
        void *field = (char *)c + words[i].at;

        if (strcmp(words[i].name, text) != 0)
            continue;
        if (!value || !parse_value(value, words[i].kind, &v))
            return ti_err_set(err, TI_ERR_USAGE, "'%s' must be %s, not '%s'", text,
                              expected(words[i].kind), value ? value : "");
        if (words[i].kind == COUNT)
            *(int *)field = (int)v;
        else
            *(double *)field = v;
        return TI_OK;
    }
    ti_err_set(err, TI_ERR_USAGE,
               "'%s' cannot be assumed; the names are rtt, inner-rtt, rate, "
               "site-rate, node-rate, headers, login-cpu, login-rtts, start and most-new",
               text);
    for (size_t i = 0; i < WORDS; i++)
        ti_nearest_try(&near, words[i].name);
    if (near.text[0])
        ti_err_hint(err, "did you mean '%s'?", near.text);
    return TI_ERR_USAGE;
}

ti_status ti_tree_costs_parse(const char *text, struct ti_tree_costs *c, struct ti_err *err)
{
    struct ti_tree_costs changed = *c;
    char *copy = strdup(text), *word, *save;
    ti_status st = TI_OK;

    if (!copy)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", text);
    for (word = copy; word && st == TI_OK; word = save) {
        save = strchr(word, ',');
        if (save)
            *save++ = '\0';
        st = parse_word(word, &changed, err);
    }
    free(copy);
    if (st == TI_OK)
        *c = changed;
    return st;
}

static int value_text(enum kind kind, double v, char *buf, size_t room)
{
    if (kind == SECONDS)
        return snprintf(buf, room,
                        v < 1e-3 ? "%gus"
                        : v < 1  ? "%gms"
                                 : "%gs",
                        v < 1e-3 ? v * 1e6
                        : v < 1  ? v * 1e3
                                 : v);
    if (kind == RATE)
        return snprintf(buf, room, v < 125e6 ? "%gmbit" : "%ggbit",
                        v / (v < 125e6 ? 125e3 : 125e6));
    if (kind == SHARE)
        return snprintf(buf, room, "%g%%", v * 100);
    return snprintf(buf, room, "%g", v);
}

char *ti_tree_costs_text(const struct ti_tree_costs *c, char *buf, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < WORDS; i++) {
        const void *field = (const char *)c + words[i].at;
        double v = words[i].kind == COUNT ? *(const int *)field : *(const double *)field;
        char value[40];

        value_text(words[i].kind, v, value, sizeof value);
        if (n < room)
            n += (size_t)snprintf(buf + n, room - n, "%s%s=%s", i ? "," : "", words[i].name, value);
    }
    return buf;
}
