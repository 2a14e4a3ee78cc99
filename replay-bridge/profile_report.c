#include "replay-bridge/profile_report.h"

#include <stdlib.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/units.h"

#define ROWS       10 /* of a table; --json has all */
#define SITE_BYTES 600

static double number(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static const char *text(const json_t *j, const char *key)
{
    const char *value = json_string_value(json_object_get(j, key));

    return value ? value : "";
}

/* ---- ranks ---- */

static const char *const keys[] = {"computing_s", "communicating_s", "waiting_s"};
static const char *const names[] = {"computing", "communicating", "waiting"};

static double all_of(const json_t *j)
{
    return number(j, keys[0]) + number(j, keys[1]) + number(j, keys[2]);
}

static void print_share(const json_t *ranks, int which, FILE *f)
{
    double sum = 0, all = 0, least = 101, most = -1;
    size_t i, least_rank = 0, most_rank = 0;
    const json_t *rank;

    json_array_foreach(ranks, i, rank)
    {
        double time = all_of(rank);
        double share = time > 0 ? 100 * number(rank, keys[which]) / time : 0;

        sum += number(rank, keys[which]);
        all += time;
        if (share < least) {
            least = share;
            least_rank = i;
        }
        if (share > most) {
            most = share;
            most_rank = i;
        }
    }
    fprintf(f, "  %-14s %5.1f %%   %5.1f %% (rank %zu)   %5.1f %% (rank %zu)\n", names[which],
            all > 0 ? 100 * sum / all : 0, least, least_rank, most, most_rank);
}

static void print_ranks(const json_t *ranks, FILE *f)
{
    fprintf(f, "\nshare of the time:  all    least           most\n");
    for (int which = 0; which < 3; which++)
        print_share(ranks, which, f);
}

/* ---- operations and call sites ---- */

static double in_calls(const json_t *j)
{
    return number(j, "communicating_s") + number(j, "waiting_s");
}

/* The longest calls first; where there is none, the longest bursts. */
static int by_time(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    double left = in_calls(*x), right = in_calls(*y);

    if (left > right || left < right)
        return left < right ? 1 : -1;
    left = number(*x, "computing_s");
    right = number(*y, "computing_s");
    return left < right ? 1 : left > right ? -1 : 0;
}

static void print_rows(const json_t *list, const char *title, struct ti_symbolizer *z, FILE *f)
{
    size_t n = json_array_size(list), none = 0;
    const json_t **row = ti_grow(NULL, &none, n + 1, sizeof *row);
    char calls[32], site[SITE_BYTES];

    for (size_t i = 0; i < n; i++)
        row[i] = json_array_get(list, i);
    qsort(row, n, sizeof *row, by_time);
    fprintf(f, "\nseconds of all ranks       calls  communicating     waiting  computing before\n");
    for (size_t i = 0; i < n && i < ROWS; i++) {
        ti_site_text(z, text(row[i], "site"), site, sizeof site);
        ti_print(f, "  %-20s %11s %14.6f %11.6f %17.6f%s%s\n", text(row[i], "operation"),
                 ti_format_count((uint64_t)number(row[i], "calls"), calls, sizeof calls),
                 number(row[i], "communicating_s"), number(row[i], "waiting_s"),
                 number(row[i], "computing_s"), *site ? "  " : "", site);
    }
    if (n > ROWS)
        fprintf(f, "  ... and %zu more %s: --json has all\n", n - ROWS, title);
    free(row);
}

/* Whether the call site of any call is known. */
static bool has_sites(const json_t *sites)
{
    const json_t *site;
    size_t i;

    json_array_foreach(sites, i, site)
    {
        if (*text(site, "site"))
            return true;
    }
    return false;
}

void ti_profile_print(const json_t *profile, struct ti_symbolizer *symbolizer, FILE *f)
{
    print_ranks(json_object_get(profile, "ranks"), f);
    print_rows(json_object_get(profile, "operations"), "operations", symbolizer, f);
    if (has_sites(json_object_get(profile, "sites")))
        print_rows(json_object_get(profile, "sites"), "call sites", symbolizer, f);
}

/* ---- links ---- */

void ti_profile_print_links(const json_t *links, FILE *f)
{
    size_t n = json_array_size(links);
    char bytes[32], messages[32];

    fprintf(f, "\nuse of links      bytes    messages\n");
    for (size_t i = 0; i < n && i < ROWS; i++) {
        const json_t *link = json_array_get(links, i);

        ti_print(f, "  %6.2f %%    %9s %11s  %s\n", 100 * number(link, "use"),
                 ti_unit_format(number(link, "bytes"), TI_UNIT_SIZE, bytes, sizeof bytes),
                 ti_format_count((uint64_t)number(link, "messages"), messages, sizeof messages),
                 text(link, "link"));
    }
    if (n > ROWS)
        fprintf(f, "  ... and %zu more links: --json has all\n", n - ROWS);
}
