#include "gather/fetch/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/ranges.h"

#define LINES_MAX 20 /* of one kind */

void ti_fetch_free(struct ti_fetch *f)
{
    for (int i = 0; i < f->nfailures; i++) {
        free(f->failure[i].node);
        free(f->failure[i].site);
        free(f->failure[i].through);
        free(f->failure[i].why);
        free(f->failure[i].hint);
        ti_ranges_free(&f->failure[i].ranks);
    }
    free(f->failure);
    for (int64_t i = 0; i < f->nnodes; i++) {
        free(f->node[i].name);
        free(f->node[i].site);
        free(f->node[i].why);
        free(f->node[i].hint);
        ti_ranges_free(&f->node[i].not_compared);
    }
    free(f->node);
    free(f->closed);
    ti_ranges_free(&f->away);
    *f = (struct ti_fetch){0};
}

/* True if both have the same cause: their texts differ only in the node's name. */
static bool same_cause(const struct ti_fetch_failure *a, const struct ti_fetch_failure *b)
{
    const char *p = a->why, *q = b->why;
    size_t na = strlen(a->node ? a->node : ""), nb = strlen(b->node ? b->node : "");

    if (!a->node || !b->node || strcmp(a->site ? a->site : "", b->site ? b->site : "") != 0)
        return false;
    while (*p && *q) {
        if (strncmp(p, a->node, na) == 0 && strncmp(q, b->node, nb) == 0 && na && nb) {
            p += na;
            q += nb;
        } else if (*p++ != *q++) {
            return false;
        }
    }
    return *p == *q;
}

static const char *of_site(const struct ti_fetch_failure *x, char buf[300])
{
    snprintf(buf, 300, "%s%.256s", x->site ? " of " : "", x->site ? x->site : "");
    return buf;
}

static void print_one(const struct ti_fetch_failure *x)
{
    char ranks[256], numbers[280] = "", site[300], through[300] = "";

    if (x->ranks.n)
        snprintf(numbers, sizeof numbers, "%s %s",
                 ti_ranges_count(&x->ranks) == 1 ? "rank" : "ranks",
                 ti_ranges_text(&x->ranks, ranks, sizeof ranks));
    if (x->through)
        snprintf(through, sizeof through, " (through '%.256s')", x->through);
    if (x->node)
        ti_warn("node '%s'%s%s%s%s: %s", x->node, of_site(x, site), through, *numbers ? ", " : "",
                numbers, x->why);
    else
        ti_warn("%s: %s", numbers, x->why);
}

/* "12 nodes of site1, 96 ranks: why: n1, n2, ..." */
static void print_group(const struct ti_fetch *f, int first, const char *seen, int n, int64_t ranks)
{
    const struct ti_fetch_failure *x = &f->failure[first];
    char names[512] = "", site[300];
    size_t used = 0;

    for (int i = first; i < f->nfailures; i++) {
        if (i != first && (!seen || seen[i] != 2))
            continue;
        if (used + strlen(f->failure[i].node) + 8 > sizeof names) {
            snprintf(names + used, sizeof names - used, ", ...");
            break;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 f->failure[i].node);
    }
    ti_warn("%d nodes%s, %" PRId64 " ranks: %s: %s", n, of_site(x, site), ranks, x->why, names);
}

/* Prints a failure together with others of the same cause.  `seen`: 1 for those printed. */
static void print_cause(const struct ti_fetch *f, int first, char *seen)
{
    const struct ti_fetch_failure *x = &f->failure[first];
    int64_t ranks = ti_ranges_count(&x->ranks);
    int n = 1;

    for (int i = first + 1; seen && i < f->nfailures; i++)
        if (!seen[i] && same_cause(x, &f->failure[i])) {
            seen[i] = 2;
            ranks += ti_ranges_count(&f->failure[i].ranks);
            n++;
        }
    if (n > 1)
        print_group(f, first, seen, n, ranks);
    else
        print_one(x);
    for (int i = first; seen && i < f->nfailures; i++)
        seen[i] = seen[i] == 2 ? 1 : seen[i];
}

/* Ranks whose copies on other nodes were used without comparison. */
static void print_not_compared(const struct ti_fetch *f)
{
    char ranks[256];
    int lines = 0;

    for (int64_t i = 0; i < f->nnodes && lines <= LINES_MAX; i++) {
        const struct ti_fetch_node *x = &f->node[i];

        if (!x->not_compared.n)
            continue;
        if (lines++ == LINES_MAX)
            ti_warn("... and others: --json has them all");
        else
            ti_warn("node '%s' has %s %s too: whether they are equal is not known", x->name,
                    ti_ranges_count(&x->not_compared) == 1 ? "rank" : "ranks",
                    ti_ranges_text(&x->not_compared, ranks, sizeof ranks));
    }
}

void ti_fetch_report(const struct ti_fetch *f)
{
    char *seen = calloc((size_t)f->nfailures + 1, 1);
    const char *said = "";
    int lines = 0;

    for (int i = 0; i < f->nfailures; i++) {
        const struct ti_fetch_failure *x = &f->failure[i];

        if (seen && seen[i])
            continue;
        if (lines++ == LINES_MAX) {
            ti_warn("... and others: --json has them all");
            break;
        }
        print_cause(f, i, seen);
        if (x->hint && strcmp(x->hint, said) != 0)
            ti_hint("%s", x->hint);
        said = x->hint ? x->hint : said;
    }
    free(seen);
    print_not_compared(f);
}

bool ti_fetch_all_gone(const struct ti_fetch *f)
{
    for (int i = 0; i < f->nfailures; i++)
        if (!f->failure[i].gone)
            return false;
    return f->nfailures > 0;
}

json_t *ti_fetch_json(const struct ti_fetch *f)
{
    json_t *list = json_array();

    for (int i = 0; list && i < f->nfailures; i++) {
        const struct ti_fetch_failure *x = &f->failure[i];
        json_t *item = json_pack("{s:s?, s:s?, s:s?, s:o, s:s, s:s?}", "node", x->node, "site",
                                 x->site, "through", x->through, "ranks", ti_ranges_json(&x->ranks),
                                 "error", x->why, "hint", x->hint);

        json_array_append_new(list, item ? item : json_null());
    }
    return list;
}
