#include "formats/ranges.h"

#include <stdio.h>

json_int_t ti_ranges_edge(const json_t *list, size_t i, size_t which)
{
    return json_integer_value(json_array_get(json_array_get(list, i), which));
}

/* Index of the first range that ends at `rank` or after it. */
static size_t find(const json_t *list, int64_t rank)
{
    size_t low = 0, high = json_array_size(list);

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (ti_ranges_edge(list, mid, 1) < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void ti_ranges_add(json_t *list, int64_t rank)
{
    size_t n = json_array_size(list), i = n && ti_ranges_edge(list, n - 1, 1) < rank ? n : find(list, rank);
    bool before = i > 0 && ti_ranges_edge(list, i - 1, 1) == rank - 1,
         behind = i < n && ti_ranges_edge(list, i, 0) == rank + 1;

    if (i < n && ti_ranges_edge(list, i, 0) <= rank)
        return;
    if (before && behind) {
        json_integer_set(json_array_get(json_array_get(list, i - 1), 1), ti_ranges_edge(list, i, 1));
        json_array_remove(list, i);
    } else if (before) {
        json_integer_set(json_array_get(json_array_get(list, i - 1), 1), rank);
    } else if (behind) {
        json_integer_set(json_array_get(json_array_get(list, i), 0), rank);
    } else {
        json_array_insert_new(list, i, json_pack("[I, I]", (json_int_t)rank, (json_int_t)rank));
    }
}

int64_t ti_ranges_count(const json_t *list)
{
    int64_t n = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        n += ti_ranges_edge(list, i, 1) - ti_ranges_edge(list, i, 0) + 1;
    return n;
}

bool ti_ranges_hold(const json_t *list, int64_t rank)
{
    size_t i = find(list, rank);

    return i < json_array_size(list) && ti_ranges_edge(list, i, 0) <= rank;
}

char *ti_ranges_text(const json_t *list, char *buf, size_t room)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (n + 48 > room) {
            snprintf(buf + n, room - n, ", ...");
            break;
        }
        n += (size_t)snprintf(buf + n, room - n, "%s%" JSON_INTEGER_FORMAT, n ? ", " : "",
                              ti_ranges_edge(list, i, 0));
        if (ti_ranges_edge(list, i, 1) > ti_ranges_edge(list, i, 0))
            n += (size_t)snprintf(buf + n, room - n, "-%" JSON_INTEGER_FORMAT, ti_ranges_edge(list, i, 1));
    }
    return buf;
}
