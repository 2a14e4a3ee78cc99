#include "extrapolate/form.h"

#include <stdlib.h>

#include "event/symbol.h"

struct finding {
    const struct ti_reader *r;
    struct ti_folded *f;
    const char *why; /* NULL: nothing is known against it */
    const char *site;
};

void ti_form_free(struct ti_rank_form *f)
{
    free(f->bytes.data);
    free(f->number);
    free(f->value);
    free(f->step);
    *f = (struct ti_rank_form){.n = 0};
}

static void put_number(struct ti_rank_form *it, const struct ti_number *number, int64_t value)
{
    it->number = ti_grow(it->number, &it->numbers_cap, it->n + 1, sizeof *it->number);
    it->value = ti_grow(it->value, &it->values_cap, it->n + 1, sizeof *it->value);
    it->number[it->n] = *number;
    it->value[it->n++] = value;
}

static void put_step(struct ti_rank_form *it, enum ti_step_kind kind, uint32_t node)
{
    it->step = ti_grow(it->step, &it->steps_cap, it->nsteps + 1, sizeof *it->step);
    it->step[it->nsteps++] = (struct ti_form_step){kind, node, 0};
}

static void put_text(struct ti_rank_form *it, const char *text)
{
    ti_buffer_put(&it->bytes, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void put_byte(struct ti_rank_form *it, char byte)
{
    ti_buffer_put(&it->bytes, &byte, 1);
}

static void refuse(struct finding *d, uint32_t site, const char *why)
{
    if (!d->why) {
        d->why = why;
        d->site = site ? ti_reader_string(d->r, TI_STRING_SITE, site) : NULL;
    }
}

/* -------------------------------------------------------------------- columns -- */

/* Put the numbers of a column, and what its tokens are.  False: there are too many, or they are
 * malformed. */
static bool put_column(struct ti_rank_form *it, struct ti_number number, int64_t first,
                       const uint8_t *p, size_t bytes)
{
    const uint8_t *end = p + bytes, *token[TI_FORM_TOKENS];
    uint64_t head, more;
    int n = 0;

    number.token = 1;
    put_number(it, &number, first);
    while (p < end) {
        if (n == TI_FORM_TOKENS)
            return false;
        token[n++] = p;
        if (!ti_get_varint(&p, end, &head) || !ti_get_varint(&p, end, &more))
            return false;
        put_byte(it, head & 1 ? 'r' : 't');
        number.token++;
        put_number(it, &number, (int64_t)(head >> 1));
        if (head & 1) {
            int back = n - 1;

            while (back >= 0 && (uint64_t)(token[n - 1] - token[back]) != more)
                back--;
            if (back < 0)
                return false;
            ti_buffer_varint(&it->bytes, (uint64_t)(n - 1 - back));
            continue;
        }
        number.token++;
        put_number(it, &number, ti_unzigzag(more));
        more = 0;
        if (head >> 1 > 1 && !ti_get_varint(&p, end, &more))
            return false;
        number.token++;
        put_number(it, &number, ti_unzigzag(more));
    }
    put_byte(it, '.');
    return true;
}

/* ---------------------------------------------------------------------- calls -- */

static void put_mean(struct finding *d, struct ti_rank_form *it, struct ti_number number,
                     const struct ti_shape_column *c, uint32_t site)
{
    static const struct ti_bounds bounds = {0, INT64_MAX};
    const uint64_t first = (uint64_t)c->first;
    uint64_t runs = TI_RUNS_MAX, sum;
    struct ti_column_stats stats;

    if (!c->tokens)
        refuse(d, site, "its volumes are not exact");
    else if (!ti_column_stats(first, c->blob.data, c->blob.n, c->n, &stats))
        refuse(d, site, "its record is malformed");
    else if (!ti_column_sum(first, c->blob.data, c->blob.n, c->n, &bounds, &runs, &sum) ||
             sum > UINT64_C(1) << 62)
        refuse(d, site, "its volumes add up to more than 2^62");
    else
        put_number(it, &number, c->n ? (int64_t)((sum + c->n / 2) / c->n) : 0);
}

static int64_t plain(const void *list, int64_t i)
{
    return ti_vec_at(list, i);
}

static int64_t member(const void *list, int64_t i)
{
    return ((const int32_t *)list)[i];
}

/* Put a list of `n` elements; false if it has no pattern. */
static bool put_list(struct ti_rank_form *it, struct ti_number number, const void *list, int64_t n,
                     int64_t (*at)(const void *list, int64_t i))
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};
    struct ti_buffer blob = {.data = NULL};
    bool fine;

    for (int64_t i = 0; i < n; i++)
        ti_column_add(&pool, &column, (uint64_t)at(list, i));
    ti_column_put(&blob, &column);
    fine = put_column(it, number, (int64_t)ti_column_first(&column), blob.data, blob.n);
    free(blob.data);
    ti_pool_free(&pool);
    return fine;
}

/* Put a list of counts or requests: a short one element by element. */
static void put_vector(struct finding *d, struct ti_rank_form *it, struct ti_number number,
                       const struct ti_vec *vec, uint32_t site)
{
    if (vec->len > TI_FORM_SHORT) {
        put_byte(it, 'V');
        put_number(it, &number, vec->len);
        if (!put_list(it, number, vec, vec->len, plain))
            refuse(d, site, "a list of counts has no pattern");
        return;
    }
    put_byte(it, (char)('0' + vec->len));
    for (int64_t i = 0; i < vec->len; i++) {
        number.token = (uint8_t)(1 + i);
        put_number(it, &number, ti_vec_at(vec, i));
    }
}

static void put_vectors(struct finding *d, uint32_t i, const struct ti_shape_node *node,
                        struct ti_rank_form *it)
{
    struct ti_number number = {.kind = TI_NUMBER_ELEMENT, .of = i, .trip = -1, .site = node->site};

    for (uint32_t rest = ti_op_vecs(node->op); rest; rest &= rest - 1) {
        struct ti_vec vec;
        bool constant;

        number.field = (uint8_t)__builtin_ctz(rest);
        number.token = 0;
        if (!ti_shape_vector(d->f, i, number.field, &constant, &vec))
            refuse(d, node->site, "its record is malformed");
        else if (!constant)
            refuse(d, node->site, "a list differs from call to call");
        else
            put_vector(d, it, number, &vec, node->site);
    }
}

static void put_call(struct finding *d, uint32_t i, struct ti_rank_form *it)
{
    struct ti_shape_node node = ti_shape_node(d->f, i);
    struct ti_number number = {.of = i, .trip = -1, .site = node.site};
    uint32_t kinds, numbers;
    struct ti_event constant;
    struct ti_call call;
    size_t before = it->n;

    ti_shape_symbol(d->f, node.symbol, &call);
    constant = (struct ti_event){.op = call.op, .mask = call.mask & ~call.columns};
    memcpy(constant.arg, call.arg, sizeof call.arg);
    kinds = ti_event_kinds(&constant);
    put_step(it, TI_STEP_CALL, i);
    put_byte(it, 'C');
    put_text(it, node.site ? ti_reader_string(d->r, TI_STRING_SITE, node.site) : NULL);
    for (int k = 0; k < 5; k++)
        ti_buffer_varint(&it->bytes,
                         (uint64_t[]){call.op, call.mask, kinds, call.columns, node.arrivals}[k]);
    numbers = call.mask & ~call.columns;
    for (; numbers; numbers &= numbers - 1) {
        number.field = (uint8_t)__builtin_ctz(numbers);
        number.kind = TI_NUMBER_FIELD;
        if (!ti_kind_value(kinds, number.field))
            put_number(it, &number, call.arg[number.field]);
    }
    put_vectors(d, i, &node, it);
    for (uint32_t k = 0; k < node.columns; k++) {
        struct ti_shape_column c = ti_shape_column(d->f, i, k);

        number = (struct ti_number){
            .of = i, .trip = -1, .site = node.site, .arrival = (uint8_t)c.part.arrival};
        number.kind = c.part.kind == TI_PART_VOLUMES ? TI_NUMBER_VOLUME : TI_NUMBER_FIELD;
        number.field = c.part.which;
        if (c.part.kind == TI_PART_VOLUMES)
            put_mean(d, it, number, &c, node.site);
        else if (c.part.kind == TI_PART_FIELDS &&
                 !put_column(it, number, c.first, c.blob.data, c.blob.n))
            refuse(d, node.site, "a field differs from call to call without a pattern");
    }
    it->step[it->nsteps - 1].numbers = (uint32_t)(it->n - before);
}

/* ------------------------------------------------------------------- siblings -- */

static void put_siblings(struct finding *d, uint32_t from, uint32_t end, struct ti_rank_form *out);

/* The call site of the first call of a node. */
static uint32_t site_in(const struct ti_folded *f, uint32_t i)
{
    while (ti_shape_node(f, i).loop)
        i++;
    return ti_shape_node(f, i).site;
}

static void put_node(struct finding *d, uint32_t i, struct ti_rank_form *it)
{
    struct ti_shape_node node = ti_shape_node(d->f, i);
    struct ti_number number = {
        .kind = TI_NUMBER_TRIPS, .of = i, .trip = -1, .site = site_in(d->f, i)};
    struct ti_shape_column c;

    if (!node.loop) {
        put_call(d, i, it);
        return;
    }
    c = ti_shape_column(d->f, i, 0);
    put_step(it, TI_STEP_LOOP, i);
    put_byte(it, 'L');
    if (!put_column(it, number, c.first, c.blob.data, c.blob.n))
        refuse(d, number.site, "the trips of a loop have no pattern");
    it->step[it->nsteps - 1].numbers = (uint32_t)it->n;
    put_siblings(d, i + 1, node.end, it);
    put_byte(it, 'E');
    put_step(it, TI_STEP_END, i);
}

static bool is_unrolled(const struct ti_form_step *s)
{
    return s->kind == TI_STEP_UNROLLED || (s->kind == TI_STEP_END && s->node == TI_UNROLLED_END);
}

static bool has_unrolled(const struct ti_rank_form *f)
{
    for (size_t k = 0; k < f->nsteps; k++)
        if (is_unrolled(&f->step[k]))
            return true;
    return false;
}

/* Siblings with equal forms.  None of them has an unrolled loop in it, so these do not nest. */
static bool are_equal(const struct ti_rank_form *a, const struct ti_rank_form *b, size_t n)
{
    for (; n--; a++, b++)
        if (a->bytes.n != b->bytes.n || memcmp(a->bytes.data, b->bytes.data, a->bytes.n) != 0 ||
            has_unrolled(a) || has_unrolled(b))
            return false;
    return true;
}

/* The siblings from `at` on that are the body of an unrolled loop: how many, and how often they are
 * there.  *times is 1 if they are none. */
static size_t body_at(const struct ti_rank_form *at, size_t left, size_t *times)
{
    for (size_t body = 1; body <= TI_FORM_BODY && 2 * body <= left; body++) {
        *times = 1;
        while ((*times + 1) * body <= left && are_equal(at, at + *times * body, body))
            ++*times;
        if (*times > 1)
            return body;
    }
    *times = 1;
    return 1;
}

static void add_body(struct ti_rank_form *to, const struct ti_rank_form *it)
{
    ti_buffer_put(&to->bytes, it->bytes.data, it->bytes.n);
    for (size_t k = 0; k < it->nsteps; k++) {
        put_step(to, it->step[k].kind, it->step[k].node);
        to->step[to->nsteps - 1].numbers = it->step[k].numbers;
    }
}

static void add_numbers(struct ti_rank_form *to, const struct ti_rank_form *it, int32_t trip)
{
    for (size_t k = 0; k < it->n; k++) {
        struct ti_number number = it->number[k];

        if (trip >= 0)
            number.trip = trip;
        put_number(to, &number, it->value[k]);
    }
}

static void put_siblings(struct finding *d, uint32_t from, uint32_t end, struct ti_rank_form *out)
{
    struct ti_rank_form *item = NULL;
    uint32_t *site = NULL; /* of each sibling */
    size_t n = 0, cap = 0, sites_cap = 0;

    for (uint32_t i = from; i < end && !d->why; i = ti_shape_node(d->f, i).end) {
        item = ti_grow(item, &cap, n + 1, sizeof *item);
        site = ti_grow(site, &sites_cap, n + 1, sizeof *site);
        site[n] = site_in(d->f, i);
        put_node(d, i, &item[n++]);
    }
    for (size_t i = 0, times; i < n && !d->why; i += times) {
        size_t body = body_at(item + i, n - i, &times);
        struct ti_number number = {
            .kind = TI_NUMBER_TIMES, .of = (uint32_t)i, .trip = -1, .site = site[i]};

        if (times > 1) {
            put_step(out, TI_STEP_UNROLLED, 0);
            out->step[out->nsteps - 1].numbers = 1;
            put_number(out, &number, (int64_t)times);
        }
        for (size_t k = 0; k < body; k++)
            add_body(out, &item[i + k]);
        for (size_t k = 0; k < times * body; k++)
            add_numbers(out, &item[i + k], times > 1 ? (int32_t)(k / body) : -1);
        if (times > 1)
            put_step(out, TI_STEP_END, TI_UNROLLED_END);
        times *= body;
    }
    for (size_t i = 0; i < n; i++)
        ti_form_free(&item[i]);
    free(item);
    free(site);
}

/* --------------------------------------------------------------------- tables -- */

static void put_comm(struct finding *d, const struct ti_comm *comm, struct ti_rank_form *it)
{
    struct ti_number number = {.of = comm->index, .trip = -1};

    put_byte(it, 'K');
    ti_buffer_varint(&it->bytes, comm->index);
    put_byte(it, comm->kind);
    number.kind = TI_NUMBER_COMM_RANK;
    put_number(it, &number, comm->rank);
    number.kind = TI_NUMBER_COMM_SIZE;
    put_number(it, &number, comm->size);
    number.kind = TI_NUMBER_MEMBER;
    if (comm->remote)
        refuse(d, 0, "it has intercommunicators");
    else if (!put_list(it, number, comm->member, comm->size, member))
        refuse(d, 0, "the members of a communicator have no pattern");
}

static void put_tables(struct finding *d, struct ti_rank_form *it)
{
    static const enum ti_string kinds[] = {TI_STRING_CALL, TI_STRING_FILE};
    const char *text;

    for (int64_t i = 0; ti_reader_comm(d->r, i); i++)
        put_comm(d, ti_reader_comm(d->r, i), it);
    for (int k = 0; k < 2; k++)
        for (int64_t i = 1; (text = ti_reader_string(d->r, kinds[k], i)); i++) {
            put_byte(it, 'S');
            put_text(it, text);
        }
}

const char *ti_form_find(const struct ti_reader *r, struct ti_rank_form *out, const char **site)
{
    struct finding d = {.r = r, .f = ti_reader_folded(r)};
    struct ti_rank_form all = {.n = 0};

    if (!d.f)
        refuse(&d, 0, "its calls do not repeat: it is no nest of loops");
    if (!d.why)
        put_tables(&d, &all);
    if (!d.why)
        put_siblings(&d, 0, ti_shape_nodes(d.f), &all);
    *out = all;
    *site = d.site;
    return d.why;
}

/* ------------------------------------------------------------------- unrolling -- */

/* A form with more unrolled loops in the making, of `f` and of `more`, which go ahead together. */
struct unrolling {
    struct ti_rank_form out;
    const struct ti_rank_form *f, *more;
    size_t step, other; /* the next ones of both */
    size_t number;      /* the next one of f */
    bool in, in_other;  /* an unrolled loop of f, of more */
    size_t times;       /* of that of f */
    size_t body;        /* numbers of a trip, so far */
    bool added;         /* that loop is only in `more` */
};

static void take_numbers(struct unrolling *u, size_t n)
{
    for (; n--; u->number++) {
        struct ti_number number = u->f->number[u->number];

        if (u->added)
            number.trip = 0;
        put_number(&u->out, &number, u->f->value[u->number]);
    }
}

static void take_step(struct unrolling *u)
{
    const struct ti_form_step *s = &u->f->step[u->step++];

    put_step(&u->out, s->kind, s->node);
    u->out.step[u->out.nsteps - 1].numbers = s->numbers;
    u->body += s->numbers;
    take_numbers(u, s->numbers);
}

/* Begin an unrolled loop of either form, or of both. */
static bool begin_unrolled(struct unrolling *u, bool own, bool other)
{
    struct ti_number times = {.kind = TI_NUMBER_TIMES, .trip = -1};

    if (u->in || u->in_other)
        return false;
    u->in = own;
    u->in_other = other;
    u->other += other;
    if (own) {
        u->times = (size_t)u->f->value[u->number];
        take_step(u);
    } else {
        if (u->number < u->f->n)
            times.site = u->f->number[u->number].site;
        put_step(&u->out, TI_STEP_UNROLLED, 0);
        u->out.step[u->out.nsteps - 1].numbers = 1;
        put_number(&u->out, &times, 1);
        u->added = true;
    }
    u->body = 0;
    return true;
}

static bool end_unrolled(struct unrolling *u, bool own, bool other)
{
    if (own != u->in || other != u->in_other)
        return false;
    if (own)
        take_numbers(u, (u->times - 1) * u->body);
    put_step(&u->out, TI_STEP_END, TI_UNROLLED_END);
    u->added = u->in = u->in_other = false;
    u->step += own;
    u->other += other;
    return true;
}

static bool unroll(struct unrolling *u)
{
    while (u->number < u->f->n && u->f->number[u->number].kind >= TI_NUMBER_COMM_RANK)
        take_numbers(u, 1);
    while (u->step < u->f->nsteps || u->other < u->more->nsteps) {
        const struct ti_form_step *s = &u->f->step[u->step], *o = &u->more->step[u->other];
        bool own = u->step < u->f->nsteps && is_unrolled(s);
        bool other = u->other < u->more->nsteps && is_unrolled(o);
        bool own_ends = own && s->kind == TI_STEP_END, other_ends = other && o->kind == TI_STEP_END;

        if (!own && !other) {
            take_step(u);
            u->other++;
        } else if (own_ends || other_ends ? !end_unrolled(u, own_ends, other_ends)
                                          : !begin_unrolled(u, own, other)) {
            return false;
        }
    }
    return true;
}

bool ti_form_unroll(struct ti_rank_form *f, const struct ti_rank_form *more)
{
    struct unrolling u = {.f = f, .more = more};
    bool fine = unroll(&u);

    if (fine) {
        struct ti_buffer bytes = f->bytes;

        f->bytes = (struct ti_buffer){.data = NULL};
        ti_form_free(f);
        *f = u.out;
        f->bytes = bytes;
    } else {
        ti_form_free(&u.out);
    }
    return fine;
}
