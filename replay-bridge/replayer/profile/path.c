#include "replay-bridge/replayer/profile/path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define MERGE_FROM 65536 /* steps; fewer are not merged */
#define SUM_FROM   64    /* parts of a step; fewer are not summed */

struct ti_path {
    struct ti_path *before;      /* NULL: the beginning */
    struct ti_path *prev, *next; /* in the list of all steps */
    uint64_t refs;               /* of holders, and of the steps after this one */
    double end;
    struct ti_path_part *part;
    size_t n, room;
};

struct ti_path_set {
    struct ti_path *first;
    size_t steps, merge_at;
};

struct ti_path_set *ti_path_set_new(void)
{
    size_t none = 0;
    struct ti_path_set *paths = ti_grow(NULL, &none, 1, sizeof *paths);

    paths->merge_at = MERGE_FROM;
    return paths;
}

static void free_step(struct ti_path_set *paths, struct ti_path *step)
{
    if (step->prev)
        step->prev->next = step->next;
    else
        paths->first = step->next;
    if (step->next)
        step->next->prev = step->prev;
    paths->steps--;
    free(step->part);
    free(step);
}

void ti_path_set_free(struct ti_path_set *paths)
{
    while (paths && paths->first)
        free_step(paths, paths->first);
    free(paths);
}

size_t ti_path_set_steps(const struct ti_path_set *paths)
{
    return paths->steps;
}

/* ---- sums ---- */

static int by_place(const void *a, const void *b)
{
    const struct ti_path_part *x = a, *y = b;

    if (x->at.rank != y->at.rank)
        return x->at.rank < y->at.rank ? -1 : 1;
    if (x->at.site != y->at.site)
        return x->at.site < y->at.site ? -1 : 1;
    if (x->at.loop != y->at.loop)
        return x->at.loop < y->at.loop ? -1 : 1;
    return x->what < y->what ? -1 : x->what > y->what;
}

/* Sorts the parts, and adds up those of the same place and kind.  Returns their number. */
static size_t sum_up(struct ti_path_part *part, size_t n)
{
    size_t last = 0;

    if (n < 2)
        return n;
    qsort(part, n, sizeof *part, by_place);
    for (size_t i = 1; i < n; i++)
        if (by_place(&part[last], &part[i]) == 0) {
            part[last].seconds += part[i].seconds;
            part[last].count += part[i].count;
        } else {
            part[++last] = part[i];
        }
    return last + 1;
}

/* Sums are made where the array would grow, and it grows if they leave it half full. */
static void append(struct ti_path *step, const struct ti_path_part *part, size_t n)
{
    if (!n)
        return;
    if (step->n + n > step->room && step->n >= SUM_FROM) {
        step->n = sum_up(step->part, step->n);
        if (step->n > step->room / 2)
            step->part = ti_grow(step->part, &step->room, step->room + 1, sizeof *part);
    }
    step->part = ti_grow(step->part, &step->room, step->n + n, sizeof *part);
    memcpy(step->part + step->n, part, n * sizeof *part);
    step->n += n;
}

/* Merges each step with those before it that no other path can reach. */
static void merge(struct ti_path_set *paths)
{
    for (struct ti_path *step = paths->first; step; step = step->next) {
        struct ti_path *before;
        bool merged = false;

        while ((before = step->before) && before->refs == 1) {
            append(step, before->part, before->n);
            step->before = before->before; /* takes the reference that `before` had */
            free_step(paths, before);
            merged = true;
        }
        if (merged)
            step->n = sum_up(step->part, step->n);
    }
    paths->merge_at = paths->steps > MERGE_FROM / 2 ? 2 * paths->steps : MERGE_FROM;
}

struct ti_path_part *ti_path_parts(const struct ti_path *path, size_t *n)
{
    struct ti_path all = {0};

    for (; path; path = path->before)
        append(&all, path->part, path->n);
    *n = sum_up(all.part, all.n);
    return all.part;
}

/* ---- steps ---- */

/* A step after `before`, whose reference it takes. */
static struct ti_path *new_step(struct ti_path_set *paths, struct ti_path *before, double end)
{
    struct ti_path *step;
    size_t none = 0;

    if (paths->steps >= paths->merge_at)
        merge(paths);
    step = ti_grow(NULL, &none, 1, sizeof *step);
    *step = (struct ti_path){.before = before, .next = paths->first, .refs = 1, .end = end};
    if (paths->first)
        paths->first->prev = step;
    paths->first = step;
    paths->steps++;
    return step;
}

struct ti_path *ti_path_new(struct ti_path_set *paths, double now)
{
    return new_step(paths, NULL, now);
}

struct ti_path *ti_path_hold(struct ti_path *path)
{
    if (path)
        path->refs++;
    return path;
}

void ti_path_release(struct ti_path_set *paths, struct ti_path *path)
{
    while (path && --path->refs == 0) {
        struct ti_path *before = path->before;

        free_step(paths, path);
        path = before;
    }
}

double ti_path_end(const struct ti_path *path)
{
    return path->end;
}

struct ti_path *ti_path_go(struct ti_path_set *paths, struct ti_path *path,
                           const struct ti_path_place *at, int32_t what, double until)
{
    struct ti_path_part part = {*at, what, 1, until - path->end};

    if (!(part.seconds > 0))
        return path;
    if (path->refs > 1)
        path = new_step(paths, path, path->end);
    path->end = until;
    if (path->n && by_place(&path->part[path->n - 1], &part) == 0) {
        path->part[path->n - 1].seconds += part.seconds;
        path->part[path->n - 1].count++;
    } else {
        append(path, &part, 1);
    }
    return path;
}
