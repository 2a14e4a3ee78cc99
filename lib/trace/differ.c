#include "trace/differ.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 8

static const struct {
    const char *key;
    bool counter;
} keys[] = {{"counter", true}, {"event", true}, {"unit", true},     {"threads", true},
            {"isa", false},    {"cpu", false},  {"tunables", false}};

enum { KEYS = sizeof keys / sizeof *keys };

/* A value and the ranks that have it: finished ranges are in `ranks`, the last one is `first` to
 * `last`. */
struct value {
    char *text;
    int64_t first, last;
    char ranks[256];
};

struct ti_differ {
    struct value value[KEYS][VALUES];
    int n[KEYS];
};

struct ti_differ *ti_differ_begin(void)
{
    return calloc(1, sizeof(struct ti_differ));
}

void ti_differ_free(struct ti_differ *d)
{
    for (int k = 0; d && k < KEYS; k++)
        for (int i = 0; i < d->n[k]; i++)
            free(d->value[k][i].text);
    free(d);
}

bool ti_differ_counter(const char *key)
{
    for (int k = 0; k < KEYS; k++)
        if (strcmp(keys[k].key, key) == 0)
            return keys[k].counter;
    return false;
}

/* All ranges, including the last one. */
static void with_last(const struct value *v, char *out, size_t bytes)
{
    int n;

    if (v->first == v->last)
        n = snprintf(out, bytes, "%s%" PRId64, v->ranks, v->first);
    else
        n = snprintf(out, bytes, "%s%" PRId64 "%c%" PRId64, v->ranks, v->first,
                     v->last == v->first + 1 ? ',' : '-', v->last);
    if (n >= (int)bytes)
        strcpy(out + bytes - 4, "...");
}

static void add_rank(struct value *v, int64_t rank)
{
    char ranks[sizeof v->ranks];

    if (rank == v->last + 1) {
        v->last = rank;
        return;
    }
    with_last(v, ranks, sizeof ranks - 1);
    if (strlen(ranks) < sizeof ranks - 2)
        strcat(ranks, ",");
    strcpy(v->ranks, ranks);
    v->first = v->last = rank;
}

static void add_value(struct ti_differ *d, int k, int64_t rank, const char *text)
{
    int i = 0;

    while (i < d->n[k] && strcmp(d->value[k][i].text, text) != 0)
        i++;
    if (i < d->n[k]) {
        add_rank(&d->value[k][i], rank);
    } else if (i < VALUES) {
        d->value[k][i].text = strdup(text);
        d->value[k][i].first = d->value[k][i].last = rank;
        d->n[k] += d->value[k][i].text != NULL;
    }
}

void ti_differ_add_values(struct ti_differ *d, int64_t rank,
                          const char *(*value)(const void *arg, const char *key), const void *arg)
{
    for (int k = 0; d && k < KEYS; k++) {
        const char *text = value(arg, keys[k].key);

        add_value(d, k, rank, text ? text : "");
    }
}

static const char *of_reader(const void *reader, const char *key)
{
    return ti_reader_info(reader, key);
}

void ti_differ_add(struct ti_differ *d, int64_t rank, const struct ti_reader *r)
{
    ti_differ_add_values(d, rank, of_reader, r);
}

json_t *ti_differ_json(const struct ti_differ *d)
{
    json_t *all = json_object();

    for (int k = 0; d && k < KEYS; k++) {
        json_t *values = json_object();

        for (int i = 0; i < d->n[k]; i++) {
            char ranks[sizeof d->value[k][i].ranks];

            with_last(&d->value[k][i], ranks, sizeof ranks);
            /* fails for a value that is not UTF-8, which is left out */
            json_object_set_new(values, d->value[k][i].text, json_string(ranks));
        }
        if (d->n[k] > 1)
            json_object_set(all, keys[k].key, values);
        json_decref(values);
    }
    return all;
}

char *ti_differ_text(const char *key, const json_t *values, char *buf, size_t bytes)
{
    size_t n = (size_t)snprintf(buf, bytes, "%s is ", key), i = 0;
    size_t count = json_object_size(values);
    const char *text;
    json_t *ranks;

    json_object_foreach((json_t *)(uintptr_t)values, text, ranks)
    {
        const char *list = json_string_value(ranks);

        if (n >= bytes || !list)
            break;
        n += (size_t)snprintf(buf + n, bytes - n, "%s%s on rank%s %s",
                              i == 0           ? ""
                              : i + 1 == count ? " and "
                                               : ", ",
                              *text ? text : "not set", strpbrk(list, ",-") ? "s" : "", list);
        i++;
    }
    if (n < bytes)
        snprintf(buf + n, bytes - n, ": %s",
                 ti_differ_counter(key) ? "volumes cannot be compared"
                                        : "libraries may execute other code there, and volumes "
                                          "differ");
    for (char *p = buf; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
    return buf;
}
