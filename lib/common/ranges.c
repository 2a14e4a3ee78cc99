#include "common/ranges.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/order.h"

/* Index of the first range that ends at `rank` or after it. */
static size_t find(const struct ti_ranges *set, int64_t rank)
{
    size_t i;

    TI_FIRST(i, 0, set->n, set->range[i].last < rank);
    return i;
}

bool ti_ranges_put(struct ti_ranges *set, int64_t first, int64_t last)
{
    bool behind = set->n && set->range[set->n - 1].last < first - 1;
    size_t i = behind ? set->n : find(set, first - 1), end = i;

    /* those from `i` to before `end` touch the new range, and become one with it */
    for (; end < set->n && set->range[end].first <= last + 1; end++) {
        first = set->range[end].first < first ? set->range[end].first : first;
        last = set->range[end].last > last ? set->range[end].last : last;
    }
    if (i == end && !TI_ROOM(set->range, &set->cap, set->n + 1))
        return false;
    if (end < set->n && end != i + 1)
        memmove(&set->range[i + 1], &set->range[end], (set->n - end) * sizeof *set->range);
    set->n += 1 - (end - i);
    set->range[i] = (struct ti_range){first, last};
    return true;
}

void ti_ranges_add_range(struct ti_ranges *set, int64_t first, int64_t last)
{
    if (!ti_ranges_put(set, first, last))
        ti_no_memory(set->n + 1, sizeof *set->range);
}

void ti_ranges_add(struct ti_ranges *set, int64_t rank)
{
    ti_ranges_add_range(set, rank, rank);
}

void ti_ranges_add_all(struct ti_ranges *set, const struct ti_ranges *other)
{
    for (size_t i = 0; i < other->n; i++)
        ti_ranges_add_range(set, other->range[i].first, other->range[i].last);
}

void ti_ranges_clear(struct ti_ranges *set)
{
    set->n = 0;
}

void ti_ranges_free(struct ti_ranges *set)
{
    free(set->range);
    *set = (struct ti_ranges){0};
}

int64_t ti_ranges_count(const struct ti_ranges *set)
{
    int64_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        n += set->range[i].last - set->range[i].first + 1;
    return n;
}

bool ti_ranges_hold(const struct ti_ranges *set, int64_t rank)
{
    size_t i = find(set, rank);

    return i < set->n && set->range[i].first <= rank;
}

char *ti_ranges_text(const struct ti_ranges *set, char *buf, size_t room)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < set->n; i++) {
        const struct ti_range *r = &set->range[i];

        if (n + 48 > room) {
            snprintf(buf + n, room - n, ", ...");
            break;
        }
        n += (size_t)snprintf(buf + n, room - n, "%s%" PRId64, n ? ", " : "", r->first);
        if (r->last > r->first)
            n += (size_t)snprintf(buf + n, room - n, "-%" PRId64, r->last);
    }
    return buf;
}

/* Read a rank below `limit`; returns what follows it, or NULL: there is none. */
static const char *read_rank(const char *text, int64_t limit, int64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno || *out >= limit ? NULL : end;
}

ti_status ti_ranges_parse(struct ti_ranges *set, const char *text, int64_t limit,
                          struct ti_err *err)
{
    const char *p = text;
    int64_t first = 0, last;

    do {
        p = read_rank(p, limit, &first);
        last = first;
        if (p && *p == '-')
            p = read_rank(p + 1, limit, &last);
        if (!p || last < first || (*p && *p != ','))
            return ti_err_set(err, TI_ERR_USAGE,
                              "'%s' is no list of ranks from 0 to %" PRId64 ", such as 3 or 0,4-7",
                              text, limit - 1);
        ti_ranges_add_range(set, first, last);
    } while (*p++ == ',');
    return TI_OK;
}

json_t *ti_ranges_json(const struct ti_ranges *set)
{
    json_t *list = json_array();

    for (size_t i = 0; i < set->n; i++)
        json_array_append_new(list, json_pack("[I, I]", (json_int_t)set->range[i].first,
                                              (json_int_t)set->range[i].last));
    return list;
}

TI_ORDER_BY(by_first, struct ti_range, first)

bool ti_ranges_of_json(const json_t *list, int64_t limit, struct ti_ranges *out)
{
    struct ti_ranges all = {0};
    const json_t *item;
    size_t i;

    *out = (struct ti_ranges){0};
    if (!json_is_array(list))
        return false;
    all.range = ti_grow(NULL, &all.cap, json_array_size(list), sizeof *all.range);
    json_array_foreach(list, i, item)
    {
        const json_t *first = json_array_get(item, 0), *last = json_array_get(item, 1);
        struct ti_range *r = &all.range[all.n++];

        *r = (struct ti_range){json_integer_value(first), json_integer_value(last)};
        if (json_array_size(item) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
            r->first < 0 || r->first > r->last || r->last >= limit) {
            ti_ranges_free(&all);
            return false;
        }
    }
    if (all.n) /* in order, each is added at the end */
        qsort(all.range, all.n, sizeof *all.range, by_first);
    ti_ranges_add_all(out, &all);
    ti_ranges_free(&all);
    return true;
}
