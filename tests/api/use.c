/*
 * libtiara from the command line, for tests/cli/api.sh.  Uses public functions only.
 *
 *   use dump TRACE RANK [FIRST]   events as `ti-info --dump` prints them, from event FIRST on
 *   use read TRACE RANK           the same numbers by tiara_read(): OP VOLUME PEER WORLD BYTES
 *   use all TRACE                 everything else, a line each
 *   use threads TRACE             four threads, each with a trace of its own, compare what they get
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiara.h>

#define LINE "%" PRId64

static struct tiara_error err;

static int failed(void)
{
    printf("status %d: %s\n", err.status, err.text);
    return 1;
}

static int dump(struct tiara_trace *t, int64_t rank, const char *first)
{
    const struct tiara_event *ev;
    struct tiara_rank *r;
    int more;

    if (tiara_rank_open(t, rank, TIARA_EXTRAS, &r, &err))
        return failed();
    if (first && tiara_seek(r, strtoull(first, NULL, 10), &err) < 0)
        return failed();
    if (tiara_rank_end(r) != TIARA_END_UNKNOWN || tiara_rank_end_text(r)[0])
        puts("it is said how a trace ended that was not read");
    while ((more = tiara_next(r, &ev, &err)) > 0)
        puts(tiara_event_text(r));
    if (more < 0 && tiara_rank_end(r) != TIARA_END_INCOMPLETE)
        puts("a damaged trace is complete");
    if (more < 0)
        failed();
    else
        printf("%s%s", tiara_rank_end(r) == TIARA_END_COMPLETE ? "" : tiara_rank_end_text(r),
               tiara_rank_end(r) == TIARA_END_COMPLETE ? "" : "\n");
    tiara_rank_close(r);
    return more < 0;
}

static int in_records(struct tiara_trace *t, int64_t rank)
{
    struct record {
        int64_t op, volume, peer, world, bytes;
    } record[7];
    static const struct tiara_member member[] = {
        {TIARA_READ_OP, offsetof(struct record, op)},
        {TIARA_READ_VOLUME, offsetof(struct record, volume)},
        {TIARA_READ_FIELD + TIARA_PEER, offsetof(struct record, peer)},
        {TIARA_READ_WORLD + TIARA_PEER, offsetof(struct record, world)},
        {TIARA_READ_FIELD + TIARA_BYTES, offsetof(struct record, bytes)}};
    struct tiara_rank *r;
    int64_t n;

    if (tiara_rank_open(t, rank, 0, &r, &err))
        return failed();
    while ((n = tiara_read(r, member, 5, record, sizeof *record, 7, &err)) > 0)
        for (int64_t i = 0; i < n; i++) {
            const int64_t v[] = {record[i].peer, record[i].world, record[i].bytes};

            printf("%s " LINE, tiara_op_name((uint32_t)record[i].op), record[i].volume);
            for (int k = 0; k < 3; k++)
                if (v[k] == TIARA_NONE)
                    printf(" -");
                else if (v[k] <= TIARA_SELF)
                    printf(" %s", v[k] == TIARA_ANY ? "any" : "null");
                else
                    printf(" " LINE, v[k]);
            putchar('\n');
        }
    if (n < 0)
        failed();
    if (tiara_read(r, &(struct tiara_member){9999, 0}, 1, record, sizeof *record, 1, &err) != -1)
        puts("a member that makes no sense was taken");
    tiara_rank_close(r);
    return n < 0;
}

static void put_coverage(const char *of, const struct tiara_coverage *c)
{
    printf("%s of " LINE " of " LINE " ranks, " LINE " missing, " LINE " incomplete, " LINE
           " damaged, %" PRIu64 " unsound %s\n",
           of, c->read, c->ranks, c->missing, c->incomplete, c->damaged, c->unsound, c->why);
}

static bool add_up(void *arg, uint64_t volume, uint64_t times)
{
    *(uint64_t *)arg += volume * times;
    return true;
}

static void put_shape(struct tiara_trace *t, int64_t rank)
{
    struct tiara_shape *s;

    if (tiara_shape_open(t, rank, &s, &err)) {
        failed();
        return;
    }
    for (uint32_t i = 0; i < tiara_shape_nodes(s); i++) {
        struct tiara_node node;
        struct tiara_stats bytes;
        uint64_t sum = 0;

        if (tiara_shape_node(s, i, &node, &err)) {
            failed();
            break;
        }
        printf("node %" PRIu32 " to %" PRIu32 " %s '%s' %" PRIu64 " times, values %" PRIu64
               " from " LINE " to " LINE,
               i, node.end, node.is_loop ? "loop" : tiara_op_name(node.op), tiara_shape_name(s, i),
               node.passes, node.values.n, node.values.least, node.values.most);
        if (!node.is_loop && !tiara_shape_volumes(s, i, add_up, &sum, &err) &&
            sum != node.values.sum)
            printf(" SUMS DIFFER %" PRIu64 " %" PRIu64, sum, node.values.sum);
        if (node.fields >> TIARA_BYTES & 1 && !tiara_shape_field(s, i, TIARA_BYTES, &bytes, &err))
            printf(" bytes " LINE " to " LINE, bytes.least, bytes.most);
        putchar('\n');
    }
    if (!tiara_shape_field(s, tiara_shape_nodes(s), 0, &(struct tiara_stats){0}, &err))
        puts("a node that is none was taken");
    tiara_shape_close(s);
}

static void put_group(struct tiara_trace *t, uint32_t group)
{
    struct tiara_group *g;
    const struct tiara_range *range;
    struct tiara_part part;
    int64_t *value;
    size_t n;

    if (tiara_group_open(t, group, &g, &err)) {
        failed();
        return;
    }
    range = tiara_group_ranges(g, &n);
    printf("group of " LINE " ranks, %zu ranges from " LINE ", %zu parts\n", tiara_group_size(g), n,
           range->first, tiara_group_parts(g));
    value = malloc(tiara_group_parts(g) * (size_t)tiara_group_size(g) * sizeof *value + 1);
    if (!value || tiara_group_values(g, 0, tiara_group_parts(g), value, &err))
        failed();
    for (size_t i = 0; value && tiara_group_part(g, i, &part); i++)
        if (!part.is_list && strcmp(part.kind, "field") == 0)
            printf("  field %s of symbol %" PRIu32 ": %s; of the first " LINE "\n",
                   tiara_field_name(part.which), part.of, part.formula,
                   value[i * (size_t)tiara_group_size(g)]);
    free(value);
    tiara_group_close(g);
}

static void put_sums(struct tiara_trace *t)
{
    struct tiara_traffic *traffic;
    struct tiara_histogram h;
    struct tiara_phases *p;
    struct tiara_verdict *v;

    if (tiara_traffic(t, &traffic, &err)) {
        failed();
    } else {
        for (size_t i = 0; i < traffic->n; i++)
            printf("pair " LINE " " LINE " %" PRIu64 " %" PRIu64 "\n", traffic->from[i],
                   traffic->to[i], traffic->messages[i], traffic->bytes[i]);
        put_coverage("traffic", &traffic->of);
        tiara_traffic_free(traffic);
    }
    if (tiara_histogram(t, &h, &err))
        failed();
    for (int i = 0; i < TIARA_CLASSES; i++)
        if (h.bursts.count[i])
            printf("class %d %" PRIu64 " %" PRIu64 " %s\n", i, h.bursts.count[i],
                   h.bursts.class_sum[i], h.unit);
    put_coverage("histogram", &h.of);
    if (tiara_phases(t, &p, &err)) {
        failed();
    } else {
        for (size_t s = 0; s < tiara_phases_shapes(p); s++) {
            struct tiara_phase phase;

            for (uint32_t i = 0; tiara_phases_node(p, s, i, &phase); i++)
                printf("phase %zu %" PRIu32 " %s '%s' %" PRIu64 " events %" PRIu64
                       " volume %" PRIu64 " to %" PRIu64 "\n",
                       s, i, phase.is_loop ? "loop" : tiara_op_name(phase.op), phase.name,
                       phase.events, phase.volume, phase.least, phase.most);
        }
        put_coverage("phases", tiara_phases_coverage(p));
        tiara_phases_free(p);
    }
    if (tiara_verify(t, &v, &err)) {
        failed();
        return;
    }
    for (size_t i = 0; i < v->n; i++)
        printf("problem: rank " LINE " event " LINE " %s: %s\n", v->problem[i].rank,
               v->problem[i].event, v->problem[i].call, v->problem[i].why);
    printf("verified: %" PRIu64 " problems, %" PRIu64 " messages, %" PRIu64 " bytes, %" PRIu64
           " collectives\n",
           v->problems, v->messages, v->bytes, v->collectives);
    put_coverage("verified", &v->of);
    tiara_verdict_free(v);
}

static int all(struct tiara_trace *t)
{
    const char *json, *key, *value;
    uint64_t events, volume;
    struct tiara_comm comm;
    struct tiara_rank *r;
    bool complete;

    printf("%s of " LINE " ranks, " LINE " here, " LINE " bytes, run %s\n", tiara_kind(t),
           tiara_ranks(t), tiara_ranks_here(t), tiara_stored_bytes(t), tiara_run_id(t));
    if (tiara_manifest(t, &json, &err))
        failed();
    printf("manifest %s\n", json ? "here" : "none");
    for (int64_t rank = 0; rank < tiara_ranks(t); rank++) {
        if (!tiara_has(t, rank))
            continue;
        if (tiara_rank_open(t, rank, 0, &r, &err)) {
            failed();
            continue;
        }
        if (tiara_rank_totals(r, &events, &volume, &complete, &err))
            failed();
        else
            printf("rank " LINE " %" PRIu64 " events %" PRIu64 " %s, unit %s\n",
                   tiara_rank_number(r), events, volume, complete ? "complete" : "incomplete",
                   tiara_rank_info(r, "unit"));
        for (int i = 0; tiara_rank_info_at(r, i, &key, &value); i++)
            if (strcmp(key, "application") == 0)
                printf("application %s\n", value);
        for (int i = 0; i < tiara_rank_extras(r); i++)
            printf("extra %s in %s\n", tiara_rank_extra_name(r, i), tiara_rank_extra_unit(r, i));
        if (tiara_rank_comm(r, 2, &comm))
            printf("communicator 2: rank " LINE " of " LINE ", its first %d\n", comm.rank,
                   comm.size, comm.member[0]);
        printf("site 1: %s, %s\n", tiara_rank_site(r, 1), tiara_rank_source(r, 1));
        tiara_rank_close(r);
        put_shape(t, rank);
    }
    for (uint32_t g = 0; g < tiara_groups(t); g++)
        put_group(t, g);
    put_sums(t);
    if (!tiara_rank_open(t, tiara_ranks(t), 0, &r, &err))
        puts("a rank that is none was opened");
    failed();
    return 0;
}

/* --- threads ------------------------------------------------------------------ */

static void *sum_of_all(void *path)
{
    struct tiara_error why;
    struct tiara_trace *t;
    struct tiara_traffic *traffic;
    uint64_t *sum = calloc(1, sizeof *sum);

    if (!sum || tiara_open(path, &t, &why))
        return sum;
    for (int64_t rank = 0; rank < tiara_ranks(t); rank++) {
        const struct tiara_event *ev;
        struct tiara_rank *r;

        if (tiara_rank_open(t, rank, 0, &r, &why))
            continue;
        while (tiara_next(r, &ev, &why) > 0)
            *sum += ev->volume + strlen(tiara_event_text(r));
        tiara_rank_close(r);
    }
    if (!tiara_traffic(t, &traffic, &why)) {
        for (size_t i = 0; i < traffic->n; i++)
            *sum += traffic->bytes[i];
        tiara_traffic_free(traffic);
    }
    tiara_close(t);
    return sum;
}

static int threads(char *path)
{
    pthread_t thread[4];
    uint64_t *sum[4];
    int differ = 0;

    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, sum_of_all, path))
            return 1;
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], (void **)&sum[i]);
        differ |= *sum[i] == 0 || *sum[i] != *sum[0];
    }
    printf("threads %s\n", differ ? "differ" : "agree");
    for (int i = 0; i < 4; i++)
        free(sum[i]);
    return differ;
}

int main(int argc, char **argv)
{
    struct tiara_trace *t;
    int rc;

    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "threads") == 0)
        return threads(argv[2]);
    if (tiara_open(argv[2], &t, &err))
        return failed();
    rc = strcmp(argv[1], "dump") == 0   ? dump(t, atoll(argv[3]), argc > 4 ? argv[4] : NULL)
         : strcmp(argv[1], "read") == 0 ? in_records(t, atoll(argv[3]))
                                        : all(t);
    tiara_close(t);
    return rc;
}
