#include "trips/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/names.h"
#include "common/order.h"
#include "event/event.h"
#include "fold/record_layout.h"
#include "fold/shape.h"

#define NO_LOOP    UINT32_MAX
#define SITE_BYTES 600

/* A call site with a number of loops to go out from the calls there, and a loop that is reached. */
struct meaning {
    size_t name; /* index in the map */
    uint32_t loop;
};

/* Texts with equal hashes are taken to be equal. */
struct ti_loop_names {
    const struct ti_named_node *node;
    struct ti_named_node *own; /* the same, with texts, if they are to be freed; else NULL */
    struct ti_names texts;
    struct ti_map names;     /* (hash of the site's text, loops to go out) */
    uint32_t *loops;         /* of each name: how many it may mean */
    struct ti_map pairs;     /* (name, loop): numbers of `meaning` */
    struct meaning *meaning; /* each once */
    size_t loops_cap, cap;
    uint32_t *around; /* of each node: the loop around it, or NO_LOOP */
};

const char *ti_loop_call_text(const struct ti_loop_names *names, uint32_t i)
{
    const struct ti_named_node *node = &names->node[i];

    return node->site && *node->site ? node->site : ti_op_info(node->op)->text;
}

static int64_t hash_text(const char *text, size_t n)
{
    uint64_t hash = TI_HASH_START;

    for (size_t i = 0; i < n; i++)
        hash = ti_hash_word(hash, (unsigned char)text[i]);
    return (int64_t)hash;
}

static int64_t name_of_call(const struct ti_loop_names *names, uint32_t call, uint32_t out)
{
    const char *text = ti_loop_call_text(names, call);

    return ti_map_find(&names->names, hash_text(text, strlen(text)), out, 0, 0);
}

/* False: no memory. */
static bool add_call(struct ti_loop_names *names, uint32_t call)
{
    const char *text = ti_loop_call_text(names, call);
    int64_t hash = hash_text(text, strlen(text));
    uint32_t out = 0;

    for (uint32_t loop = names->around[call]; loop != NO_LOOP; loop = names->around[loop], out++) {
        int64_t name = -1, pair = -1;
        size_t known = names->pairs.n;

        if (TI_ROOM(names->loops, &names->loops_cap, names->names.n + 1) &&
            TI_ROOM(names->meaning, &names->cap, known + 1))
            name = ti_map_put(&names->names, hash, out, 0, 0);
        if (name >= 0)
            pair = ti_map_put(&names->pairs, name, loop, 0, 0);
        if (pair < 0)
            return false;
        if (pair < (int64_t)known)
            continue;
        names->meaning[known] = (struct meaning){(size_t)name, loop};
        names->loops[name]++;
    }
    return true;
}

struct ti_loop_names *ti_loop_names_new(const struct ti_named_node *node, uint32_t n)
{
    struct ti_loop_names *names = calloc(1, sizeof *names);
    uint32_t loop = NO_LOOP;
    bool fine = names != NULL;

    if (fine) {
        names->node = node;
        names->around = calloc((size_t)n + 1, sizeof *names->around);
        fine = names->around != NULL;
    }
    for (uint32_t i = 0; fine && i < n; i++) {
        while (loop != NO_LOOP && node[loop].end <= i)
            loop = names->around[loop];
        names->around[i] = loop;
        if (node[i].loop)
            loop = i;
        else
            fine = add_call(names, i);
    }
    if (!fine) {
        ti_loop_names_free(names);
        names = NULL;
    }
    return names;
}

struct ti_loop_names *ti_loop_names_of(const struct ti_reader *r, struct ti_symbolizer *z)
{
    const struct ti_folded *f = ti_reader_folded(r);
    uint32_t n = ti_shape_nodes(f);
    struct ti_names texts = {.text = NULL};
    struct ti_named_node *node = calloc((size_t)n + 1, sizeof *node);
    struct ti_loop_names *names = NULL;
    char text[SITE_BYTES];
    bool fine = node != NULL;

    for (uint32_t i = 0; fine && i < n; i++) {
        struct ti_shape_node from = ti_shape_node(f, i);
        const char *site = from.loop ? NULL : ti_reader_string(r, TI_STRING_SITE, from.site);
        int64_t number = ti_names_put(&texts, ti_site_text(z, site, text, sizeof text));

        fine = number >= 0;
        if (fine)
            node[i] = (struct ti_named_node){from.end, from.loop, from.op, texts.text[number]};
    }
    if (fine)
        names = ti_loop_names_new(node, n);
    if (!names) {
        free(node);
        ti_names_free(&texts);
        return NULL;
    }
    names->own = node;
    names->texts = texts;
    return names;
}

void ti_loop_names_free(struct ti_loop_names *names)
{
    if (!names)
        return;
    free(names->own);
    ti_names_free(&names->texts);
    ti_map_free(&names->names);
    ti_map_free(&names->pairs);
    free(names->loops);
    free(names->meaning);
    free(names->around);
    free(names);
}

/* How many of the loops that a name may mean come before `loop`. */
static size_t meant_before(const struct ti_loop_names *names, int64_t name, uint32_t loop)
{
    size_t n = 0;

    for (size_t i = 0; i < names->pairs.n; i++)
        n += names->meaning[i].name == (size_t)name && names->meaning[i].loop < loop;
    return n;
}

/* The best name so far; the order of the members is that of their weight. */
struct choice {
    bool several;
    uint32_t out;
    bool by_some; /* not all ranks make the call */
    uint32_t call;
    int64_t name;
};

static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->several != b->several)
        return b->several;
    if (a->out != b->out)
        return a->out < b->out;
    return a->by_some != b->by_some && b->by_some;
}

const char *ti_loop_name(const struct ti_loop_names *names, uint32_t i, char *buf, size_t bytes)
{
    struct choice best = {.several = true, .out = UINT32_MAX};
    char outwards[TI_SHAPE_DEPTH + 1], which[32] = "";

    for (uint32_t call = i + 1; call < names->node[i].end; call++) {
        struct choice c = {.call = call};

        if (names->node[call].loop)
            continue;
        for (uint32_t loop = names->around[call]; loop != i; loop = names->around[loop])
            c.out++;
        c.by_some = !ti_op_is(names->node[call].op, TI_T_BY_ALL);
        c.name = name_of_call(names, call, c.out);
        c.several = names->loops[c.name] > 1;
        if (best.out == UINT32_MAX || is_better(&c, &best))
            best = c;
    }
    memset(outwards, '^', sizeof outwards);
    if (best.several)
        snprintf(which, sizeof which, "[%zu]", 1 + meant_before(names, best.name, i));
    snprintf(buf, bytes, "%s%.*s%s", ti_loop_call_text(names, best.call), (int)best.out, outwards,
             which);
    return buf;
}

TI_ORDER_NUMBERS(by_number, uint32_t)

/* Take "[K]" or "[*]" off the end of a name of *n characters; returns what it is, 0 if there is
 * none. */
static uint64_t take_which(const char *name, size_t *n)
{
    size_t digits = *n && name[*n - 1] == ']' ? *n - 1 : 0, at = digits;

    if (*n >= 3 && strcmp(name + *n - 3, "[*]") == 0) {
        *n -= 3;
        return TI_LOOPS_ALL;
    }
    while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    if (!at || at == digits || digits - at > 9 || name[at - 1] != '[')
        return 0;
    *n = at - 1;
    return strtoull(name + at, NULL, 10);
}

size_t ti_loop_find(const struct ti_loop_names *names, const char *name, uint32_t *out, size_t most,
                    uint64_t *which)
{
    size_t length = strlen(name), n = 0, cap = 0;
    uint32_t outwards = 0, *all = NULL;
    int64_t is;

    *which = take_which(name, &length);
    for (; length && name[length - 1] == '^'; length--)
        outwards++;
    is = ti_map_find(&names->names, hash_text(name, length), outwards, 0, 0);
    for (size_t i = 0; is >= 0 && i < names->pairs.n; i++) {
        if (names->meaning[i].name != (size_t)is)
            continue;
        all = ti_grow(all, &cap, n + 1, sizeof *all);
        all[n++] = names->meaning[i].loop;
    }
    if (n)
        qsort(all, n, sizeof *all, by_number);
    for (size_t i = 0; i < n && i < most; i++)
        out[i] = all[i];
    free(all);
    return n;
}
