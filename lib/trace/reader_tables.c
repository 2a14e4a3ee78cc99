#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "event/columns.h"
#include "trace/reader_internal.h"

/* Whether `bytes` more may be kept. */
static bool keep(struct tables *t, uint64_t bytes)
{
    t->kept += bytes;
    return t->kept <= KEEP_MAX;
}

static bool get_text(struct tables *t, const uint8_t **p, const uint8_t *end, char **out)
{
    uint64_t bytes;

    if (!ti_get_varint(p, end, &bytes) || bytes > TI_STRING_MAX || bytes > (uint64_t)(end - *p) ||
        !keep(t, bytes + 64))
        return false;
    *out = strndup((const char *)*p, bytes);
    *p += bytes;
    return *out != NULL;
}

bool ti__tables_pairs(struct tables *t, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        struct pair *pair;

        if (!TI_ROOM(t->pair, &t->pairs_cap, t->npairs + 1))
            return false;
        pair = &t->pair[t->npairs++];
        if (!get_text(t, &p, end, &pair->key) || !get_text(t, &p, end, &pair->value))
            return false;
    }
    return true;
}

/* The strings of `kind`; NULL if there is no such kind. */
static struct strings *strings_of(struct tables *t, enum ti_string kind)
{
    switch (kind) {
    case TI_STRING_SITE:
        return &t->sites;
    case TI_STRING_CALL:
        return &t->calls;
    case TI_STRING_FILE:
        return &t->files;
    }
    return NULL;
}

bool ti__tables_strings(struct tables *t, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        struct strings *s;
        uint64_t number;

        if (!ti_get_varint(&p, end, &number) || p == end)
            return false;
        s = strings_of(t, *p++);
        if (!s || number != s->n + 1)
            return false;
        if (!TI_ROOM(s->text, &s->cap, s->n + 1) || !get_text(t, &p, end, &s->text[s->n]))
            return false;
        s->n++;
    }
    return true;
}

/* A run of members: `n` ranks from `first`, each larger by `step` than the one before. */
struct member_run {
    int64_t n, first, step;
};

/* Read the next run of at most `left` members, after the member `before`.  False if it is
 * malformed, or a member is no rank. */
static bool get_run(const uint8_t **p, const uint8_t *end, int64_t left, int64_t before,
                    uint32_t nranks, struct member_run *out)
{
    uint64_t n, first, stride = 0;
    int64_t last;

    if (!ti_get_varint(p, end, &n) || !ti_get_varint(p, end, &first) || n == 0 ||
        n > (uint64_t)left || (n > 1 && !ti_get_varint(p, end, &stride)))
        return false;
    *out = (struct member_run){(int64_t)n, ti_unzigzag(first), ti_unzigzag(stride)};
    if (out->first < -TI_RANKS_MAX || out->first > TI_RANKS_MAX || out->step < -TI_RANKS_MAX ||
        out->step > TI_RANKS_MAX)
        return false;
    out->first += before;
    last = out->first + (out->n - 1) * out->step;
    return out->first >= 0 && out->first < nranks && last >= 0 && last < nranks;
}

/* Check a list of `size` members, and go past it.  *at is set to member `index`. */
static bool check_members(const uint8_t **p, const uint8_t *end, int64_t size, uint32_t nranks,
                          int64_t index, int64_t *at)
{
    struct member_run run = {0};

    for (int64_t i = 0, last = 0; i < size; i += run.n) {
        if (!get_run(p, end, size - i, last, nranks, &run))
            return false;
        if (index >= i && index - i < run.n)
            *at = run.first + (index - i) * run.step;
        last = run.first + (run.n - 1) * run.step;
    }
    return true;
}

/* The members of a list that was checked, which is from `p` to `end`; NULL: no memory. */
static int32_t *new_members(const uint8_t *p, const uint8_t *end, int64_t size, uint32_t nranks)
{
    int32_t *member = malloc((size_t)size * sizeof *member), *next = member;
    struct member_run run;

    for (int64_t left = size, last = 0; member && left; left -= run.n) {
        if (!get_run(&p, end, left, last, nranks, &run))
            TI_BUG("a list of members changed");
        for (int64_t i = 0; i < run.n; i++)
            *next++ = (int32_t)(last = run.first + i * run.step);
    }
    return member;
}

/* Read the other group of an intercommunicator. */
static bool parse_remote(struct tables *t, struct ti_comm *comm, uint32_t nranks, const uint8_t **p,
                         const uint8_t *end)
{
    const uint8_t *list;
    uint64_t size;
    int64_t any;

    if (!ti_get_varint(p, end, &size) || size == 0 || size > nranks ||
        !keep(t, size * sizeof *comm->remote))
        return false;
    list = *p;
    if (!check_members(p, end, (int64_t)size, nranks, 0, &any))
        return false;
    comm->remote_size = (int64_t)size;
    comm->remote = new_members(list, *p, (int64_t)size, nranks);
    return comm->remote != NULL;
}

/* In some programs, many communicators have the same ranks in the same order.  They share an array
 * with the world or with the communicator before. */
static const int32_t *shared_members(const struct tables *t, const struct ti_comm *comm,
                                     const int32_t *member)
{
    const struct ti_comm *same[] = {t->comm, comm > t->comm ? comm - 1 : t->comm};
    size_t bytes = (size_t)comm->size * sizeof *member;

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i] != comm && same[i]->member && same[i]->size == comm->size &&
            memcmp(same[i]->member, member, bytes) == 0)
            return same[i]->member;
    return NULL;
}

/* Whether no communicator before `i` has the same array, so that `i` frees it. */
static bool owns_members(const struct tables *t, size_t i)
{
    const int32_t *member = t->comm[i].member;

    return !t->lists && member &&
           (i == 0 || (member != t->comm[0].member && member != t->comm[i - 1].member));
}

/* Set the members of `comm`, whose list is from `p` to `end` and was checked.  False: no memory. */
static bool set_members(struct tables *t, struct ti_comm *comm, const uint8_t *p,
                        const uint8_t *end, uint32_t nranks)
{
    size_t bytes = (size_t)(end - p);
    const int32_t *shared = t->lists ? ti__rank_lists_find(t->lists, p, bytes, comm->size) : NULL;
    int32_t *member = shared ? NULL : new_members(p, end, comm->size, nranks);

    if (!shared && !member)
        return false;
    if (!shared && t->lists && !ti__rank_lists_add(t->lists, p, bytes, member, comm->size)) {
        free(member);
        return false;
    }
    if (!shared && !t->lists)
        shared = shared_members(t, comm, member);
    if (shared) {
        free(member);
        t->kept -= (uint64_t)comm->size * sizeof *member;
    }
    comm->member = shared ? shared : member;
    return true;
}

static bool parse_comm(struct tables *t, uint32_t own, uint32_t nranks, const uint8_t **pp,
                       const uint8_t *end)
{
    const uint8_t *p = *pp, *list;
    uint64_t index, rank, size;
    struct ti_comm *comm;
    int64_t at = -1;

    if (!ti_get_varint(&p, end, &index) || !ti_get_varint(&p, end, &rank) ||
        !ti_get_varint(&p, end, &size) || p == end)
        return false;
    /* numbers ascend without gaps */
    if (index > t->ncomms || size == 0 || size > nranks || rank >= size)
        return false;
    if (index == t->ncomms) {
        if (!TI_ROOM(t->comm, &t->comms_cap, t->ncomms + 1))
            return false;
        t->ncomms++;
    }
    comm = &t->comm[index];
    if (comm->member || !keep(t, sizeof *comm + size * sizeof *comm->member))
        return false;
    comm->index = (uint32_t)index;
    comm->rank = (int64_t)rank;
    comm->size = (int64_t)size;
    comm->kind = (char)*p++;
    list = p;
    if (!check_members(&p, end, (int64_t)size, nranks, (int64_t)rank, &at) || at != (int64_t)own ||
        !set_members(t, comm, list, p, nranks))
        return false;
    if (comm->kind == TI_KIND_INTER && !parse_remote(t, comm, nranks, &p, end))
        return false;
    *pp = p;
    return true;
}

bool ti__tables_comms(struct tables *t, uint32_t rank, uint32_t nranks, const uint8_t *p,
                      const uint8_t *end)
{
    while (p < end)
        if (!parse_comm(t, rank, nranks, &p, end))
            return false;
    return true;
}

bool ti__tables_long_vec(struct tables *t, const uint8_t *p, const uint8_t *end)
{
    struct long_vec *vec;
    uint64_t number, len, v;
    int64_t last = 0;

    /* each element takes at least a byte, which limits the length */
    if (!ti_get_varint(&p, end, &number) || !ti_get_varint(&p, end, &len) ||
        len > (uint64_t)(end - p) || !keep(t, sizeof *vec + len * sizeof *vec->data))
        return false;
    if (!TI_ROOM(t->vec, &t->vecs_cap, t->nvecs + 1))
        return false;
    vec = &t->vec[t->nvecs];
    *vec = (struct long_vec){number, (int64_t)len, malloc(len * sizeof *vec->data + 1)};
    if (!vec->data)
        return false;
    t->nvecs++;
    for (uint64_t i = 0; i < len; i++) {
        if (!ti_get_varint(&p, end, &v))
            return false;
        last = (int64_t)((uint64_t)last + (uint64_t)ti_unzigzag(v));
        vec->data[i] = last;
    }
    return p == end;
}

bool ti__tables_use_vec(struct tables *t, uint64_t number, struct long_vec *out)
{
    struct long_vec *next;

    if (t->vecs_used == t->nvecs || t->vec[t->vecs_used].number != number)
        return false;
    next = &t->vec[t->vecs_used];
    *out = *next;
    next->data = NULL;
    t->kept -= sizeof *next + (uint64_t)next->len * sizeof *next->data;
    if (++t->vecs_used == t->nvecs)
        t->vecs_used = t->nvecs = 0;
    return true;
}

bool ti__tables_window(struct tables *t, const struct ti_event *ev)
{
    if (ev->arg[TI_F_WIN] != (int64_t)t->nwindows || !keep(t, sizeof *t->window))
        return true;
    if (!TI_ROOM(t->window, &t->windows_cap, t->nwindows + 1))
        return false;
    t->window[t->nwindows++] = ev->arg[TI_F_COMM];
    return true;
}

static const char *find_info(const struct tables *t, const char *key)
{
    for (size_t i = 0; i < t->npairs; i++)
        if (t->pair[i].value && strcmp(t->pair[i].key, key) == 0)
            return t->pair[i].value;
    return NULL;
}

bool ti__tables_extras(struct tables *t)
{
    const char *list = find_info(t, "extra");
    char *rest = NULL, *word;

    if (!list)
        return true;
    t->extra_names = strdup(list);
    if (!t->extra_names)
        return false;
    for (word = strtok_r(t->extra_names, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *colon = strrchr(word, ':');

        if (t->nextras == TI_EXTRAS_MAX) {
            t->nextras = 0;
            break;
        }
        if (colon)
            *colon = '\0';
        t->extra[t->nextras].name = word;
        t->extra[t->nextras].unit = colon ? colon + 1 : "";
        t->nextras++;
    }
    return true;
}

static void free_strings(struct strings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->text[i]);
    free(s->text);
}

void ti__tables_free(struct tables *t)
{
    for (size_t i = 0; i < t->npairs; i++) {
        free(t->pair[i].key);
        free(t->pair[i].value);
    }
    free_strings(&t->sites);
    free_strings(&t->calls);
    free_strings(&t->files);
    for (size_t i = 0; i < t->ncomms; i++) {
        if (owns_members(t, i))
            free((void *)(uintptr_t)t->comm[i].member);
        free((void *)(uintptr_t)t->comm[i].remote);
    }
    for (size_t i = 0; i < t->nvecs; i++)
        free(t->vec[i].data);
    free(t->pair);
    free(t->extra_names);
    free(t->comm);
    free(t->window);
    free(t->vec);
}

/* ------------------------------------------------------------- questions -- */

const char *ti_reader_info(const struct ti_reader *r, const char *key)
{
    return find_info(&r->tables, key);
}

bool ti_reader_info_u64(const struct ti_reader *r, const char *key, uint64_t *out)
{
    const char *text = ti_reader_info(r, key);
    char *end;

    if (!text || !isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end;
}

bool ti_reader_info_at(const struct ti_reader *r, int i, const char **key, const char **value)
{
    if (i < 0 || (size_t)i >= r->tables.npairs || !r->tables.pair[i].value)
        return false;
    *key = r->tables.pair[i].key;
    *value = r->tables.pair[i].value;
    return true;
}

int ti_reader_extras(const struct ti_reader *r)
{
    return r->tables.nextras;
}

const char *ti_reader_extra_name(const struct ti_reader *r, int i)
{
    return r->tables.extra[i].name;
}

const char *ti_reader_extra_unit(const struct ti_reader *r, int i)
{
    return r->tables.extra[i].unit;
}

int ti_reader_extra(const struct ti_reader *r, const char *name)
{
    for (int i = 0; i < r->tables.nextras; i++)
        if (strcmp(r->tables.extra[i].name, name) == 0)
            return i;
    return -1;
}

const char *ti_reader_string(const struct ti_reader *r, enum ti_string kind, int64_t number)
{
    const struct strings *s = strings_of((struct tables *)(uintptr_t)&r->tables, kind);

    return !s || number < 1 || (uint64_t)number > s->n ? NULL : s->text[number - 1];
}

const struct ti_comm *ti_reader_comm(const struct ti_reader *r, int64_t index)
{
    if (index < 0 || (size_t)index >= r->tables.ncomms || !r->tables.comm[index].member)
        return NULL;
    return &r->tables.comm[index];
}

int64_t ti_reader_world(const struct ti_reader *r, int64_t comm, int64_t delta)
{
    const struct ti_comm *c = ti_reader_comm(r, comm);
    int64_t peer;

    if (!c || delta < -TI_RANKS_MAX || delta > TI_RANKS_MAX)
        return -1;
    peer = c->rank + delta;
    if (c->remote)
        return peer >= 0 && peer < c->remote_size ? c->remote[peer] : -1;
    return peer >= 0 && peer < c->size ? c->member[peer] : -1;
}

int64_t ti_reader_event_comm(const struct ti_reader *r, const struct ti_event *ev)
{
    int64_t win;

    if (ev->mask & TI_M_COMM2)
        return ev->arg[TI_F_COMM2];
    if (ev->mask & TI_M_COMM)
        return ev->arg[TI_F_COMM];
    win = ev->mask & TI_M_WIN ? ev->arg[TI_F_WIN] : -1;
    return win >= 0 && (size_t)win < r->tables.nwindows ? r->tables.window[win] : -1;
}
