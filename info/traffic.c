/* ti-info --traffic: the traffic between ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/sums.h"
#include "info/info.h"
#include "info/pass.h"

#define PAIRS_SHOWN 20

/* Statistics of sizes. */
struct sizes {
    uint64_t n, bytes, least, most;
    double mean,
        squares; /* mean, and sum of squared differences from it (West, CACM 22(9), 1979) */
};

struct pair {
    struct sizes messages, one_sided;
};

struct traffic {
    struct ti_map keys; /* (from, to) -> index in `pair` */
    struct pair *pair;  /* by index in `keys` */
    size_t pairs_cap;
    struct sizes messages, one_sided;     /* of all pairs */
    struct sizes collective[TI_OP_COUNT]; /* by blocking form */
    size_t talking;                       /* pairs with messages */
    bool overflow;                        /* sums of bytes are above 2^64 - 1 */
    size_t *order;                        /* the busiest pair first */
};

/* Add a size that occurs `times` times. */
static void add_size(struct traffic *t, struct sizes *s, uint64_t bytes, uint64_t times)
{
    double off = (double)bytes - s->mean;

    s->least = s->n == 0 || bytes < s->least ? bytes : s->least;
    s->most = bytes > s->most ? bytes : s->most;
    t->overflow |= !ti_sum_add(&s->n, 1, times) || !ti_sum_add(&s->bytes, bytes, times);
    s->mean += off * (double)times / (double)s->n;
    s->squares += (double)times * off * ((double)bytes - s->mean);
}

/* Computed from the sum, so that the mean of equal sizes is exact. */
static double mean(const struct sizes *s)
{
    return s->n ? (double)s->bytes / (double)s->n : 0;
}

static double deviation(const struct sizes *s)
{
    return s->n ? sqrt(s->squares / (double)s->n) : 0;
}

static struct pair *pair_of(struct traffic *t, int64_t from, int64_t to)
{
    int64_t i = ti_map_add(&t->keys, from, to, 0, 0);

    t->pair = ti_grow(t->pair, &t->pairs_cap, t->keys.n, sizeof *t->pair);
    return &t->pair[i];
}

static void add_message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    struct traffic *t = arg;
    struct pair *p = pair_of(t, from, to);

    t->talking += p->messages.n == 0;
    add_size(t, &p->messages, bytes, times);
    add_size(t, &t->messages, bytes, times);
}

static void add_one_sided(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    struct traffic *t = arg;

    add_size(t, &pair_of(t, from, to)->one_sided, bytes, times);
    add_size(t, &t->one_sided, bytes, times);
}

static void add_collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    struct traffic *t = arg;

    add_size(t, &t->collective[ti_op_base(op)], bytes, times);
}

static int by_bytes(const void *a, const void *b, void *arg)
{
    const struct traffic *t = arg;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const struct pair *x = &t->pair[i], *y = &t->pair[k];
    uint64_t xb = x->messages.bytes + x->one_sided.bytes,
             yb = y->messages.bytes + y->one_sided.bytes;
    uint64_t xn = x->messages.n + x->one_sided.n, yn = y->messages.n + y->one_sided.n;

    if (xb != yb)
        return xb > yb ? -1 : 1;
    if (xn != yn)
        return xn > yn ? -1 : 1;
    for (int part = 0; part < 2; part++)
        if (t->keys.key[i][part] != t->keys.key[k][part])
            return t->keys.key[i][part] < t->keys.key[k][part] ? -1 : 1;
    return 0;
}

static void sort_pairs(struct traffic *t)
{
    size_t none = 0;

    t->order = ti_grow(NULL, &none, t->keys.n, sizeof *t->order);
    for (size_t i = 0; i < t->keys.n; i++)
        t->order[i] = i;
    if (t->keys.n)
        qsort_r(t->order, t->keys.n, sizeof *t->order, by_bytes, t);
}

/* ------------------------------------------------------------------- text -- */

static void put_count(uint64_t n, int width)
{
    char text[32];

    printf(" %*s", width, ti_format_count(n, text, sizeof text));
}

static void put_sizes(const struct sizes *s)
{
    put_count(s->n, 10);
    put_count(s->bytes, 16);
    if (s->n) {
        printf(" %12.1f %12.1f", mean(s), deviation(s));
        put_count(s->least, 11);
        put_count(s->most, 11);
    }
}

static void print_row(const struct traffic *t, size_t i)
{
    const struct pair *p = &t->pair[i];
    const int64_t *key = t->keys.key[i];

    if (p->messages.n) {
        printf("%6" PRId64 " %6" PRId64 " message  ", key[0], key[1]);
        put_sizes(&p->messages);
        putchar('\n');
    }
    if (p->one_sided.n) {
        printf("%6" PRId64 " %6" PRId64 " one-sided", key[0], key[1]);
        put_sizes(&p->one_sided);
        putchar('\n');
    }
}

static void print_head(const char *what)
{
    printf("%-23s %10s %16s %12s %12s %11s %11s\n", what, "number", "bytes", "mean", "deviation",
           "minimum", "maximum");
}

static void print_pairs(const struct traffic *t, bool all)
{
    size_t n = all || t->keys.n <= PAIRS_SHOWN ? t->keys.n : PAIRS_SHOWN;
    uint64_t bytes = t->messages.bytes + t->one_sided.bytes, shown = 0;
    char text[32];

    if (!n)
        return;
    putchar('\n');
    print_head("  from     to");
    for (size_t i = 0; i < n; i++) {
        const struct pair *p = &t->pair[t->order[i]];

        print_row(t, t->order[i]);
        shown += p->messages.bytes + p->one_sided.bytes;
    }
    if (n == t->keys.n)
        return;
    printf("... and %s further pairs with %.1f %% of the bytes; --all shows them\n",
           ti_format_count(t->keys.n - n, text, sizeof text),
           bytes ? 100 * (double)(bytes - shown) / (double)bytes : 0);
}

static void print_collectives(const struct traffic *t)
{
    bool any = false;

    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        if (!t->collective[op].n)
            continue;
        if (!any) {
            putchar('\n');
            print_head("collective, by rank");
        }
        any = true;
        printf("%-23s", ti_op_info(op)->text);
        put_sizes(&t->collective[op]);
        putchar('\n');
    }
}

static void print_text(const struct ti_source *s, const struct info_pass *p,
                       const struct traffic *t, bool all)
{
    char n[32];

    info_put_clean(ti_source_path(s));
    printf(": traffic of %" PRId64 " of %" PRId64 " ranks, %s pair%s\n\n", p->ranks, p->np,
           ti_format_count(t->keys.n, n, sizeof n), t->keys.n == 1 ? "" : "s");
    print_head("all pairs");
    printf("%-23s", "messages");
    put_sizes(&t->messages);
    putchar('\n');
    if (t->one_sided.n) {
        printf("%-23s", "one-sided");
        put_sizes(&t->one_sided);
        putchar('\n');
    }
    print_pairs(t, all);
    print_collectives(t);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *sizes_json(const struct sizes *s)
{
    json_t *out = json_object();

    json_object_set_new(out, "number", ti_json_u64(s->n));
    json_object_set_new(out, "bytes", ti_json_u64(s->bytes));
    json_object_set_new(out, "mean", json_real(mean(s)));
    json_object_set_new(out, "deviation", json_real(deviation(s)));
    json_object_set_new(out, "minimum", ti_json_u64(s->least));
    json_object_set_new(out, "maximum", ti_json_u64(s->most));
    return out;
}

static json_t *collectives_json(const struct traffic *t)
{
    json_t *out = json_object();

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (t->collective[op].n)
            json_object_set_new(out, ti_op_info(op)->text, sizes_json(&t->collective[op]));
    return out;
}

static void print_sizes_json(const struct sizes *s)
{
    printf(", %" PRIu64 ", %" PRIu64 ", %.17g, %.17g, %" PRIu64 ", %" PRIu64, s->n, s->bytes,
           mean(s), deviation(s), s->least, s->most);
}

/* There may be millions of pairs, so they are not kept as JSON.  Each is a row after all other
 * keys. */
static void print_pairs_json(const struct traffic *t)
{
    printf(",\n \"columns\": [\"from\", \"to\", \"messages\", \"bytes\", \"mean\", \"deviation\", "
           "\"minimum\", \"maximum\", \"one_sided\", \"one_sided_bytes\"],\n \"pairs\": [");
    for (size_t i = 0; i < t->keys.n; i++) {
        const struct pair *p = &t->pair[t->order[i]];
        const int64_t *key = t->keys.key[t->order[i]];

        printf("%s  [%" PRId64 ", %" PRId64, i ? ",\n" : "\n", key[0], key[1]);
        print_sizes_json(&p->messages);
        printf(", %" PRIu64 ", %" PRIu64 "]", p->one_sided.n, p->one_sided.bytes);
    }
    printf("\n ]\n}\n");
}

static void print_json(const struct ti_source *s, const struct info_pass *p,
                       const struct traffic *t)
{
    json_t *out = json_object();

    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    info_pass_json(p, out);
    json_object_set_new(out, "pairs_with_messages", json_integer((json_int_t)t->talking));
    json_object_set_new(out, "messages", sizes_json(&t->messages));
    json_object_set_new(out, "one_sided", sizes_json(&t->one_sided));
    json_object_set_new(out, "collectives", collectives_json(t));
    info_print_json_open(out);
    print_pairs_json(t);
    json_decref(out);
}

ti_status info_traffic(struct ti_source *s, int64_t rank, const struct info_style *style,
                       struct ti_err *err)
{
    struct traffic *t = calloc(1, sizeof *t);
    const struct info_visitor visitor = {
        .arg = t, .message = add_message, .one_sided = add_one_sided, .collective = add_collective};
    struct info_pass pass;
    ti_status st;

    if (!t)
        return ti_err_errno(err, TI_ERR_IO, "cannot sum up the traffic");
    st = info_pass(s, rank, &visitor, &pass, err);
    t->overflow |= !ti_sum_add(&(uint64_t){t->messages.bytes}, t->one_sided.bytes, 1);
    if (st == TI_OK && t->overflow)
        st = info_too_large(s, "bytes", err);
    if (st == TI_OK) {
        sort_pairs(t);
        info_pass_warn(&pass);
        if (style->json)
            print_json(s, &pass, t);
        else if (!style->quiet)
            print_text(s, &pass, t, style->all);
        st = pass.st;
    }
    info_pass_free(&pass);
    ti_map_free(&t->keys);
    free(t->pair);
    free(t->order);
    free(t);
    return st;
}
