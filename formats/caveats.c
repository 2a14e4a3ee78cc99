#include "formats/caveats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Below both, they are MPI's own: those of Open MPI 4.1 took 0.1 ms at most. */
#define OTHERS_SHARE 0.02
#define OTHERS_NS    UINT64_C(1000000)

static bool has_threads(uint64_t caller_ns, uint64_t other_ns)
{
    return other_ns > OTHERS_NS &&
           (double)other_ns > OTHERS_SHARE * ((double)caller_ns + (double)other_ns);
}

void ti_caveats_add(struct ti_caveats *c, const struct ti_reader *r)
{
    struct ti_caveats own = {.ranks = 1, .whole = ti_reader_end(r) == TI_END_COMPLETE};

#define ADD(name, key)                                                                             \
    if (key[0])                                                                                    \
        ti_reader_info_u64(r, key, &own.name);
    TI_CAVEATS(ADD)
#undef ADD
    own.events = own.whole ? ti_reader_events(r) : 0;
    own.threaded = has_threads(own.caller_ns, own.other_ns);
    ti_caveats_merge(c, &own);
}

void ti_caveats_merge(struct ti_caveats *c, const struct ti_caveats *more)
{
#define SUM(name, key) c->name += more->name;
    TI_CAVEATS(SUM)
#undef SUM
    if (more->exit_status)
        c->exit_status = more->exit_status;
}

void ti_caveats_run(struct ti_caveats *c, const json_t *run)
{
    json_int_t status = json_integer_value(json_object_get(run, "exit_status"));

    if (status > 0 && status < 256)
        c->exit_status = (int)status;
}

json_t *ti_caveats_json(const struct ti_caveats *c)
{
    json_t *j = json_object();

#define PUT(name, key) json_object_set_new(j, #name, json_integer((json_int_t)c->name));
    TI_CAVEATS(PUT)
#undef PUT
    return j;
}

static uint64_t number(const json_t *json, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(json, key));

    return value > 0 ? (uint64_t)value : 0;
}

void ti_caveats_take(struct ti_caveats *c, const json_t *json)
{
#define TAKE(name, key) c->name += number(json, #name);
    TI_CAVEATS(TAKE)
#undef TAKE
}

static bool nothing_recorded(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->whole || c->events > 2 * c->whole)
        return false;
    snprintf(buf, bytes,
             "next to nothing was recorded: %" PRIu64 " events of %" PRIu64
             " ranks, MPI_Init and MPI_Finalize at most; did the program do its work?",
             c->events, c->whole);
    return true;
}

static bool failed(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->exit_status)
        return false;
    snprintf(buf, bytes, "the program ended with status %d when it was traced", c->exit_status);
    return true;
}

static bool threaded(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->threaded)
        return false;
    snprintf(buf, bytes,
             "threads that do not call MPI took %.0f %% of the CPU time, in %" PRIu64
             " of %" PRIu64 " ranks, and what they executed is in no volume: trace with "
             "--threads sum",
             100 * (double)c->other_ns / ((double)c->caller_ns + (double)c->other_ns), c->threaded,
             c->ranks);
    return true;
}

static bool asked_for_nodes(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->node_questions)
        return false;
    snprintf(buf, bytes,
             "the program asked which ranks share a node, or for a processor's name (%" PRIu64
             " calls), and was told of the machine it was traced on: trace with "
             "--target-ranks-per-node N",
             c->node_questions);
    return true;
}

bool ti_caveats_text(const struct ti_caveats *c, int i, char *buf, size_t bytes)
{
    static bool (*const all[])(const struct ti_caveats *, char *, size_t) = {
        failed, nothing_recorded, threaded, asked_for_nodes};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k](c, buf, bytes) && i-- == 0)
            return true;
    return false;
}
