#include "gather/fetch/loop.h"

#include <dirent.h>
#include <sys/resource.h>

#include "common/cli.h"
#include "common/clock.h"
#include "gather/fetch/abandon.h"
#include "gather/fetch/checksums.h"
#include "gather/fetch/connect.h"
#include "gather/fetch/kept.h"
#include "gather/fetch/listing.h"
#include "gather/fetch/senders.h"
#include "gather/fetch/transfer.h"

#define TICK_S        0.1 /* interval of step() and of `progress` */
#define COUNT_S       0.5 /* how often descriptors are counted */
#define ROUND_PAUSE_S 0.5 /* before the second round */
#define STEP_S        0.5 /* most that one round of the loop adds to g->clock */

static int64_t count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int64_t n = -3; /* ".", ".." and this one */

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void count(struct ti__gathering *g, bool all)
{
    struct ti_fetch *f = g->f;
    struct rusage usage;
    int64_t n;

    f->seconds = ti_now() - g->started;
    f->total = 0;
    for (int64_t i = 0; i < g->nodes.n; i++)
        f->total += f->node[i].wanted_bytes;
    ti__count_bytes(g);
    if (!all)
        return;
    n = count_descriptors();
    f->descriptors = n > f->descriptors ? n : f->descriptors;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        f->memory_bytes = (int64_t)usage.ru_maxrss * 1024;
}

static void report_progress(struct ti__gathering *g)
{
    if (g->settings->progress)
        g->settings->progress(g->f, g->settings->arg);
}

/* Marks nodes that are done, and notes when each phase ended.  Returns whether all are done. */
static bool update_states(struct ti__gathering *g)
{
    double now = ti_now() - g->started;
    bool connected = true, listed = true, over = true;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        if (!ti__in_tree(p) || ti__abandoned(p))
            continue;
        if (p->result->state != TI_FETCH_DONE && ti__idle(p)) {
            p->result->state = TI_FETCH_DONE;
            p->result->done_s = now;
        }
        connected = connected && p->result->ready_s > 0;
        listed = listed && p->listing == TI__LISTED;
        over = over && p->result->state == TI_FETCH_DONE;
    }
    if (connected && g->f->connected_s == 0)
        g->f->connected_s = now;
    if (listed && g->f->listed_s == 0)
        g->f->listed_s = now;
    return over;
}

/* Lists again on each node whose list is not known. */
static void list_again(struct ti__gathering *g)
{
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        if (p->listing != TI__UNASKED || !ti__in_tree(p) || ti__abandoned(p))
            continue;
        ti__wake(p);
        if (p->ready)
            ti__ask_list(p);
    }
}

/* In a removal: list the files once more on each node that has copies of ranks of which the bundle
 * has another node's record.  Returns whether there is such a node. */
static bool list_copies(struct ti__gathering *g)
{
    bool any = false;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        if (!p->has_copies || ti__abandoned(p))
            continue;
        any = true;
        p->listing = TI__UNASKED;
    }
    list_again(g);
    return any;
}

/* Requests missing ranks once more from nodes that are not abandoned: a file may be written late,
 * or appear late on a network file system.  Returns whether there is anything to request. */
static bool second_round(struct ti__gathering *g)
{
    bool any = false;

    if (g->round++ > 0)
        return false;
    if (g->kind == TI__REMOVE)
        return list_copies(g);
    for (int64_t i = 0; i < g->nodes.n; i++)
        ti_ranges_clear(&g->peer[i].refused);
    for (int64_t r = 0; r < g->np; r++) {
        struct ti__rank *rank = &g->rank[r];
        struct ti__peer *p = rank->named >= 0 ? &g->peer[rank->named] : NULL;

        if (rank->state == TI__WANTED && rank->damaged && rank->sender < 0)
            rank->state = TI__DAMAGED; /* no other node had it */
        if (rank->state != TI__WANTED)
            continue;
        ti__assign_sender(g, r);
        if (rank->sender < 0 && p && ti__in_tree(p) && !ti__abandoned(p) && !p->no_directory) {
            p->listing = TI__UNASKED; /* a length bounds what it may send */
            rank->sender = p->i;      /* or it says why it cannot */
            ti_ranges_add(&p->to_send, r);
            p->result->wanted++;
        }
        any = any || rank->sender >= 0;
    }
    list_again(g);
    return any;
}

static void poll_for_pause(struct ti__gathering *g)
{
    for (double until = ti_now() + ROUND_PAUSE_S; ti_now() < until && !ti_gather_stop;)
        ti_conns_poll(g->conns, 50);
}

/* Starts everything that can be started. */
static void step(struct ti__gathering *g)
{
    g->dirty = false;
    ti__abandon_stuck(g);
    for (int64_t i = 0; i < g->nodes.n; i++)
        ti__ask_crc(&g->peer[i]);
    ti__start_sends(g);
    ti__open_connections(g);
}

static void tick(struct ti__gathering *g)
{
    double now = ti_now(), passed = now - g->ticked;

    g->clock += passed < STEP_S ? passed : STEP_S;
    g->ticked = now;
}

static ti_status run_loop(struct ti__gathering *g, struct ti_err *err)
{
    double looked = 0, counted = 0;
    bool busy;

    g->dirty = true;
    g->ticked = ti_now();
    for (;;) {
        double now = ti_now();

        tick(g);
        if (g->dirty || now - looked >= TICK_S) {
            step(g);
            if (update_states(g) && !g->dirty) {
                if (!second_round(g))
                    break;
                poll_for_pause(g);
            }
        }
        if (now - looked >= TICK_S) {
            looked = now;
            count(g, now - counted >= COUNT_S);
            counted = now - counted >= COUNT_S ? now : counted;
            report_progress(g);
        }
        busy = ti_parts_read(&g->parts);
        busy = ti__checksum_local(g) || busy;
        ti_conns_poll(g->conns, busy || g->dirty ? 0 : (int)(TICK_S * 1000));
        if (ti_gather_stop)
            return ti__interrupted(g, err);
        if (g->st != TI_OK)
            return g->st;
    }
    return TI_OK;
}

ti_status ti__run_gathering(struct ti__gathering *g, struct ti_err *err)
{
    struct ti_conns_config config = {.transport = g->settings->transport,
                                     .ssh_config = g->settings->ssh_config,
                                     .via = g->nodes.via,
                                     .silence_s = (double)g->settings->timeout_s,
                                     .forward_agent = g->settings->forward_agent};
    struct ti_kept own = {.conns = NULL}, *kept = g->settings->kept ? g->settings->kept : &own;
    ti_status st = TI_OK;

    /* as the run was started, unless told otherwise */
    if (config.transport == TI_TRANSPORT_AUTO)
        config.transport = g->nodes.transport;
    g->err = err;
    ti_parts_find(&g->parts, g->nodes.dir);
    if (!kept->conns)
        st = ti_conns_new(&config, &kept->conns, err);
    g->conns = kept->conns;
    if (st == TI_OK) {
        ti__use_kept(g, kept);
        st = run_loop(g, err);
    }
    count(g, true);
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti_partial part;

        ti_receive_keep(&g->peer[i].in, &part);
    }
    report_progress(g);
    ti_progress_clear();
    ti__keep(g, kept);
    ti_kept_free(&own);
    return st;
}
