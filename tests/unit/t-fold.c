/* Folding: a shape stands for exactly the symbols, volumes and fields that were added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "fold/fold.h"
#include "fold/record_layout.h"
#include "tests/unit/records.h"

enum { MOST_FIELDS = 3, MOST_VOLUMES = 3 };

struct item {
    uint32_t symbol;
    int64_t volumes[MOST_VOLUMES], fields[MOST_FIELDS];
};

struct items {
    struct item *item;
    size_t n, cap;
};

static uint32_t fields_of(uint32_t symbol)
{
    return symbol % (MOST_FIELDS + 1);
}

/* Add a symbol with values that are constant, repeat, or are noise. */
static void add(struct items *l, uint32_t symbol)
{
    struct item *item;

    l->item = ti_grow(l->item, &l->cap, l->n + 1, sizeof *l->item);
    item = &l->item[l->n];
    item->symbol = symbol;
    for (int i = 0; i < MOST_VOLUMES; i++)
        item->volumes[i] = i == 0 ? (int64_t)l->n : (int64_t)records_below(3);
    for (int i = 0; i < MOST_FIELDS; i++)
        item->fields[i] = i == 0 ? (int64_t)(l->n % 5) : (int64_t)symbol;
    l->n++;
}

static struct ti_fold *fold_of(const struct items *l, uint32_t window, uint32_t nvolumes)
{
    struct ti_fold *f = ti_fold_new(window, nvolumes);

    for (size_t i = 0; i < l->n; i++) {
        const struct item *item = &l->item[i];

        ti_fold_add(f, item->symbol, item->volumes, item->fields, fields_of(item->symbol));
    }
    return f;
}

/* --------------------------------------------------------------- expansion -- */

/* A node, and how far its columns are read. */
struct copy {
    const struct ti_fold_node *node;
    struct copy *child, *next;
    struct place {
        struct ti_run_iterator runs;
        const struct ti_column_run *run;
        uint64_t i; /* in the run */
    } * place;
};

struct expansion {
    const struct items *items;
    size_t at; /* the item to come */
    uint32_t nvolumes;
    uint64_t nodes;
};

static struct copy *copy_of(struct expansion *e, const struct ti_fold_node *node)
{
    struct copy *first = NULL, **end = &first;

    for (; node; node = node->next) {
        struct copy *c = calloc(1, sizeof *c);

        assert_non_null(c);
        e->nodes++;
        c->node = node;
        c->place = calloc(node->ncolumns, sizeof *c->place);
        assert_non_null(c->place);
        for (uint32_t i = 0; i < node->ncolumns; i++)
            c->place[i].runs = ti_column_runs(&node->column[i]);
        c->child = copy_of(e, node->child);
        *end = c;
        end = &c->next;
    }
    return first;
}

static uint64_t next_value(struct copy *c, uint32_t column)
{
    struct place *p = &c->place[column];

    assert_true(column < c->node->ncolumns);
    if (!p->run || p->i == p->run->n) {
        p->run = ti_run_next(&p->runs);
        p->i = 0;
    }
    assert_non_null(p->run);
    return p->run->first + p->run->stride * p->i++;
}

/* All columns must have been read to the end; counts are right. */
static void free_copy(struct expansion *e, struct copy *c, uint32_t loops)
{
    bool first = true;

    for (struct copy *next; c; c = next, first = false) {
        const struct ti_fold_node *node = c->node;
        uint32_t begin = first ? loops : 0, n = 0;

        next = c->next;
        for (const struct ti_fold_node *child = node->child; child; child = child->next)
            n++;
        if (node->child) {
            assert_int_equal(node->nchildren, n);
            assert_int_equal(node->ncolumns, 1);
        } else {
            assert_int_equal(node->arrivals, begin + 1);
            assert_int_equal(node->ncolumns,
                             node->arrivals * e->nvolumes + fields_of(node->symbol));
        }
        for (uint32_t i = 0; i < node->ncolumns; i++) {
            const struct place *p = &c->place[i];
            struct ti_run_iterator rest = p->runs;

            assert_true((!p->run || p->i == p->run->n) && !ti_run_next(&rest));
        }
        free_copy(e, c->child, begin + 1);
        free(c->place);
        free(c);
    }
}

static void expand_leaf(struct expansion *e, struct copy *c, int64_t loops)
{
    const struct item *item = &e->items->item[e->at];
    uint32_t arrivals = c->node->arrivals;
    uint32_t arrival = loops < 0 ? arrivals - 1 : (uint32_t)loops;

    assert_true(e->at++ < e->items->n);
    assert_int_equal(c->node->symbol, item->symbol);
    assert_true(arrival < arrivals);
    for (uint32_t i = 0; i < e->nvolumes; i++)
        assert_true(next_value(c, arrival * e->nvolumes + i) == (uint64_t)item->volumes[i]);
    for (uint32_t i = 0; i < fields_of(item->symbol); i++)
        assert_true(next_value(c, arrivals * e->nvolumes + i) == (uint64_t)item->fields[i]);
}

/* Expand a list of nodes.  `loops` says how the first one is reached: -1, from the node before; or
 * from the end of the loop around so many loops that begin with it. */
static void expand(struct expansion *e, struct copy *first, int64_t loops)
{
    for (struct copy *c = first; c; c = c->next, loops = -1) {
        uint64_t trips;

        if (!c->child) {
            expand_leaf(e, c, loops);
            continue;
        }
        trips = next_value(c, 0);
        assert_true(trips > 0);
        for (uint64_t i = 0; i < trips; i++)
            expand(e, c->child, i ? 0 : loops < 0 ? -1 : loops + 1);
    }
}

/* The shape stands for the first items. */
static void must_stand(const char *what, struct ti_fold *f, const struct items *l,
                       uint32_t nvolumes)
{
    struct expansion e = {l, 0, nvolumes, 0};
    uint64_t n, nodes = ti_fold_nodes(f), listed = 0;
    const struct ti_fold_node *shape = (ti_fold_end(f), ti_fold_shape(f, &n));
    struct copy *copy = copy_of(&e, shape);

    for (const struct ti_fold_node *node = shape; node; node = node->next)
        listed++;
    expand(&e, copy, -1);
    free_copy(&e, copy, 0);
    if (e.at != l->n || n != listed || nodes != e.nodes)
        fail_msg("%s: %zu items of %zu, %llu nodes of %llu", what, e.at, l->n,
                 (unsigned long long)e.nodes, (unsigned long long)nodes);
}

/* The shape of the items stands for them. */
static void must_fold(const char *what, const struct items *l, uint32_t window, uint32_t nvolumes)
{
    struct ti_fold *f = fold_of(l, window, nvolumes);

    must_stand(what, f, l, nvolumes);
    ti_fold_free(f);
}

/* ---------------------------------------------------------- random programs -- */

enum { PARTS = 6 };

/* A loop of a program, or a call if it has no parts. */
struct part {
    uint32_t symbol;
    struct part *part[PARTS];
    uint32_t n;
    uint32_t trips, vary;  /* `vary`: from 0 to so many more, now and then */
    bool rotated, partial; /* the first trip begins, the last one ends in the middle */
};

struct program {
    struct part *part[512];
    uint32_t n;
    size_t most; /* items */
};

static struct part *new_part(struct program *p, uint32_t depth, uint32_t symbols)
{
    struct part *part;

    if (p->n && (p->n >= 500 || !records_below(8))) /* equal bodies in different places */
        return p->part[records_below(p->n)];
    part = calloc(1, sizeof *part);
    assert_non_null(part);
    part->symbol = records_below(symbols);
    if (depth > 0) {
        part->n = 1 + records_below(PARTS);
        part->trips = 1 + records_below(records_below(4) ? 5 : 40);
        part->vary = records_below(3) ? 0 : records_below(4);
        part->rotated = !records_below(5);
        part->partial = !records_below(5);
    }
    for (uint32_t i = 0; i < part->n; i++) {
        bool loop = i == 0 ? records_below(2) : !records_below(3);

        part->part[i] = new_part(p, loop ? depth - 1 : 0, symbols);
    }
    p->part[p->n++] = part;
    return part;
}

static void run_part(const struct program *p, const struct part *part, struct items *l)
{
    uint32_t trips =
        part->trips + (part->vary && !records_below(4) ? records_below(part->vary) : 0);

    if (!part->n && l->n < p->most)
        add(l, part->symbol);
    for (uint32_t trip = 0; trip < trips && l->n < p->most; trip++) {
        uint32_t from = part->rotated && trip == 0 ? part->n / 2 : 0;
        uint32_t end = part->partial && trip && trip + 1 == trips ? part->n - part->n / 2 : part->n;

        for (uint32_t i = from; i < end; i++)
            run_part(p, part->part[i], l);
    }
}

static void test_programs(void **state)
{
    static const uint32_t windows[] = {4, 8, 16, 33, 100, 256, 1024};
    struct items l = {NULL, 0, 0};

    (void)state;
    for (uint32_t turn = 0; turn < 500; turn++) {
        struct program p = {.n = 0};
        struct part *part;

        records_seed = turn;
        p.most = turn % 50 ? 1000 : 20000;
        part = new_part(&p, 1 + turn % 6, 2 + records_below(20));
        for (l.n = 0; l.n < p.most / 2;)
            run_part(&p, part, &l);
        must_fold("program", &l, windows[turn % 7], 1 + turn % MOST_VOLUMES);
        for (uint32_t i = 0; i < p.n; i++)
            free(p.part[i]);
    }
    free(l.item);
}

/* --------------------------------------------------------------- sequences -- */

static void test_random(void **state)
{
    struct items l = {NULL, 0, 0};

    (void)state;
    for (uint32_t turn = 0; turn < 200; turn++) {
        uint32_t symbols = 1 + records_below(turn % 2 ? 4 : 60);

        records_seed = turn;
        for (l.n = 0; l.n < 2000;)
            add(&l, records_below(symbols));
        must_fold("random", &l, 4U << turn % 9, 1 + turn % MOST_VOLUMES);
    }
    free(l.item);
}

/* Symbol `i` of a sequence without end. */
typedef uint32_t sequence_fn(uint32_t i);

static uint32_t ones(uint32_t i)
{
    return (uint32_t)__builtin_popcount(i);
}

/* No part stands three times in a row. */
static uint32_t thue_morse(uint32_t i)
{
    return ones(i) & 1;
}

/* No part stands twice in a row. */
static uint32_t square_free(uint32_t i)
{
    return 1 + thue_morse(i + 1) - thue_morse(i);
}

/* No period at all, and many near it: 0 1 0 0 1 0 1 0 ... */
static uint32_t fibonacci(uint32_t i)
{
    uint32_t a = 1, b = 2; /* lengths of words, each of which is the two before */

    while (b <= i) {
        b += a;
        a = b - a;
    }
    while (i > 1) {
        if (i >= b)
            i -= b;
        a = b - a;
        b -= a;
    }
    return i;
}

/* a, b, a a, b, a a a, b, ... */
static uint32_t longer(uint32_t i)
{
    for (uint32_t n = 1; i > n; n++)
        i -= n + 1;
    return i == 0 ? 1 : 0;
}

/* Every word of 12 bits once. */
static uint32_t de_bruijn(uint32_t i)
{
    static uint8_t bit[4096], used[4096];
    static bool known;

    for (uint32_t word = 0, at = 0; !known && at < 4096; at++) {
        uint32_t next = (word << 1 | 1) & 4095;

        if (used[next])
            next--;
        used[next] = 1;
        bit[at] = next & 1;
        word = next;
    }
    known = true;
    return bit[i % 4096];
}

/* The power of two that divides i + 1: parts of parts, as of a binary counter. */
static uint32_t ruler(uint32_t i)
{
    return (uint32_t)__builtin_ctz(i + 1);
}

static void test_adversaries(void **state)
{
    static const struct {
        const char *name;
        sequence_fn *symbol;
    } all[] = {{"Thue-Morse", thue_morse},
               {"square-free", square_free},
               {"Fibonacci", fibonacci},
               {"longer", longer},
               {"de Bruijn", de_bruijn},
               {"ruler", ruler},
               {"ones", ones}};
    struct items l = {NULL, 0, 0};

    (void)state;
    records_seed = 1;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        for (uint32_t window = 4; window <= 1024; window *= 4) {
            l.n = 0;
            for (uint32_t i = 0; i < 10000; i++)
                add(&l, all[k].symbol(i));
            must_fold(all[k].name, &l, window, 2);
        }
    }
    free(l.item);
}

/* ------------------------------------------------------------------- shape -- */

/* Add the symbols of a text: a letter is a symbol, 3(ab) a loop of three trips, N(ab) one of
 * `trips`.  Returns the place behind the closing bracket. */
static const char *add_text(struct items *l, const char *text, uint32_t trips)
{
    while (*text && *text != ')') {
        const char *body = strchr(text, '('), *end = NULL;
        uint32_t n = trips;

        if (*text >= 'a' && *text <= 'z') {
            add(l, (uint32_t)*text++);
            continue;
        }
        if (*text != 'N')
            n = (uint32_t)strtoul(text, NULL, 10);
        assert_non_null(body);
        for (uint32_t i = 0; i < n; i++)
            end = add_text(l, body + 1, trips);
        text = end;
    }
    return *text ? text + 1 : text;
}

static char *put_shape(char *p, const struct ti_fold_node *node)
{
    for (; node; node = node->next) {
        if (!node->child) {
            *p++ = (char)node->symbol;
            continue;
        }
        *p++ = '(';
        p = put_shape(p, node->child);
        *p++ = ')';
    }
    *p = '\0';
    return p;
}

static void must_have_shape(const char *text, uint32_t trips, const char *expected)
{
    struct items l = {NULL, 0, 0};
    struct ti_fold *f;
    char *got;
    uint64_t n;

    add_text(&l, text, trips);
    must_fold(text, &l, 1024, 1);
    f = fold_of(&l, 1024, 1);
    got = malloc(3 * l.n + 1);
    assert_non_null(got);
    put_shape(got, ti_fold_shape(f, &n));
    if (strcmp(got, expected) != 0)
        fail_msg("%s, %u trips: the shape is %s, expected %s", text, trips, got, expected);
    free(got);
    ti_fold_free(f);
    free(l.item);
}

/* Trip counts are no part of a shape. */
static void test_shapes(void **state)
{
    static const struct {
        const char *text, *shape;
    } all[] = {
        {"xN(a)y", "x(a)y"},
        {"xN(ab)y", "x(ab)y"},
        {"xN(abcde)y", "x(abcde)y"},
        {"N(3(ab)c)", "((ab)c)"},
        {"N(xN(ab)c)", "(x(ab)c)"},
        {"xN(N(3(a)b)c)y", "x(((a)b)c)y"},
        {"iN(aN(bc)dN(ef)g)h", "i(a(bc)d(ef)g)h"},
        {"N(aabN(cd))", "((a)b(cd))"},
        {"N(aN(b))", "(a(b))"},
        {"N(aN(bN(cd)))", "(a(b(cd)))"},
        {"N(aN(bN(cdefg)))", "(a(b(cdefg)))"},
        {"N(abcN(defN(ghi)))", "(abc(def(ghi)))"},
        {"N(N(N(ab)c)d)", "(((ab)c)d)"},
        {"N(N(ab)cN(ab))", "((ab)c)(ab)"},
        {"3(aaab)aaaaab", "((a)b)"},
        {"abaab", "((a)b)"},
        {"aababN(ab)ab", "((a)b)"},
        {"3(abc)abababcN(ab)cabc", "((ab)c)"},
        {"xabcyN(xabbbcy)xabbcbcy", "(xa((b)c)y)"},
        {"aab3(aab)aaaaabaab", "((a)b)"},
        {"bcN(abc)a", "(bca)"},
        {"bcN(abc)ad", "(bca)d"},
        {"N(abc)abd", "(abc)abd"},
        {"N(ab)xN(ab)y", "(ab)x(ab)y"},
        {"N(abcdefghijklmnopqrstuvw5(xyz)5(zyx))", "(abcdefghijklmnopqrstuvw(xyz)(zyx))"},
        {"N(iN(a2(bc)de)fN(a2(bc)de)g)", "(i(a(bc)de)f(a(bc)de)g)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = all[i].text, *n = strchr(text, 'N');

        must_have_shape(text, 10, all[i].shape);
        must_have_shape(text, n && strchr(n + 1, 'N') ? 25 : 1000, all[i].shape);
    }
    must_have_shape("xN(ab)y", 100000, "x(ab)y");
}

static uint32_t depth_of(const struct ti_fold_node *node)
{
    uint32_t deepest = 0;

    for (; node; node = node->next) {
        uint32_t depth = node->child ? 1 + depth_of(node->child) : 0;

        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

/* 1 1, 1 2 1 2, 1 2 3 1 2 3, ...: each word is a loop around the one before. */
static void test_depth(void **state)
{
    struct items l = {NULL, 0, 0};
    struct ti_fold *f;
    uint64_t n;

    (void)state;
    for (uint32_t word = 1; word <= 250; word++)
        for (uint32_t i = 0; i < 2 * word; i++)
            add(&l, i % word);
    must_fold("depth", &l, 1024, 2);
    f = fold_of(&l, 1024, 2);
    assert_in_range(depth_of(ti_fold_shape(f, &n)), 20, TI_SHAPE_DEPTH);
    ti_fold_free(f);
    free(l.item);
}

/* Nodes do not depend on trips, for leaves with any number of columns. */
static void test_nodes(void **state)
{
    (void)state;
    for (uint32_t nvolumes = 1; nvolumes <= 17; nvolumes++) {
        static const int64_t volumes[17];
        struct ti_fold *f = ti_fold_new(64, nvolumes);

        for (int i = 0; i < 13 * 2000; i++) /* ((a a a b) * 3 c) * 2000 */
            ti_fold_add(f, i % 13 == 12 ? 'c' : i % 13 % 4 == 3 ? 'b' : 'a', volumes, NULL, 0);
        assert_int_equal(ti_fold_nodes(f), 6);
        ti_fold_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),    cmocka_unit_test(test_random),
        cmocka_unit_test(test_adversaries), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_depth),       cmocka_unit_test(test_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
