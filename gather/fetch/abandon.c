#include "gather/fetch/abandon.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "gather/fetch/requests.h"
#include "gather/fetch/senders.h"
#include "session/frame.h"

#define STUCK_TIMES     10    /* a node without progress is abandoned after so many timeouts ... */
#define STUCK_S         30.0  /* ... of this many seconds if none is set, plus time for its work: */
#define READ_RATE       1e6   /* bytes/s that it reads at least */
#define FILE_RATE       400   /* files/s that it lists, or removes, at least */
#define MERGE_RATE      256e3 /* bytes/s of files that it merges at least: 1/20 of the usual */
#define LINK_RATE       500   /* bytes/s that arrive at least, from all nodes together */
#define LISTED_BYTES    64    /* that a "listed" has for each trace */
#define FRAME_S         (TI_FRAME_MAX / LINK_RATE) /* for one frame */
#define HEARTBEAT_BYTES 256                        /* a longer partial frame is no heartbeat */

void ti__abandon(struct ti__peer *p, const struct ti_err *why)
{
    if (ti__abandoned(p))
        return;
    p->why = *why;
    p->result->state = TI_FETCH_FAILED;
    p->result->done_s = ti_now() - p->gathering->started;
    p->gathering->dirty = true;
    ti__requeue(p);
    ti__release_ranks(p);
}

void ti__protocol_error(struct ti__peer *p, const char *format, ...)
{
    struct ti_err why;
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ti_err_set(&why, TI_ERR_REMOTE, "what ti-node sends makes no sense: %s", what);
    p->end = TI_CHANNEL_CLOSED;
    ti__abandon(p, &why);
    if (p->conn)
        ti_conn_close(p->conn);
}

/* --- nodes without progress ---------------------------------------------- */

static bool is_busy(const struct ti__peer *p)
{
    return p->ready && !ti__abandoned(p) &&
           (p->listing == TI__ASKED || p->requested.n || p->checksumming.n || p->removing);
}

/* Counts a frame that is still arriving as progress, for FRAME_S.  Returns the credit of all nodes
 * for which nothing arrived yet. */
static int64_t note_partial_frames(struct ti__gathering *g)
{
    int64_t owed = 0;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];
        size_t begun = p->conn ? ti_conn_partial_bytes(p->conn) : 0;

        if (begun < p->partial_bytes || !begun)
            p->partial_since = g->clock;
        if (begun > p->partial_bytes && begun > HEARTBEAT_BYTES &&
            g->clock - p->partial_since < FRAME_S) {
            ti__made_progress(p);
            g->data_at = g->clock;
        }
        p->partial_bytes = begun;
        owed += p->requested.n ? p->window.owed : 0;
    }
    return owed;
}

/* Includes the time to read files and to list them; a directory may have the traces of all ranks.
 */
static double stuck_timeout_s(const struct ti__peer *p)
{
    double timeout_s =
        p->gathering->settings->timeout_s > 0 ? (double)p->gathering->settings->timeout_s : STUCK_S;
    int64_t files = p->listing == TI__ASKED || p->removing ? p->gathering->np
                                                           : ti_ranges_count(&p->checksumming);

    return STUCK_TIMES * timeout_s + (double)(p->crc_bytes + p->read_bytes) / READ_RATE +
           (double)files / FILE_RATE;
}

/* The longest that a "list" or "send" may take, however often it makes progress.  Bytes of all
 * nodes count, because they may share a slow link. */
static double request_timeout_s(const struct ti__peer *p)
{
    int64_t arrived = p->gathering->f->bytes - p->asked_bytes + (int64_t)p->partial_bytes,
            listed = p->listing == TI__ASKED ? p->gathering->np : 0;

    return stuck_timeout_s(p) + (double)p->read_bytes / MERGE_RATE +
           (double)ti_ranges_count(&p->requested) / FILE_RATE +
           (double)(arrived + listed * LISTED_BYTES) / LINK_RATE;
}

/* Abandons a node whose list, data or notices of merging come without end.  Returns whether it
 * did. */
static bool abandon_endless(struct ti__peer *p)
{
    double spent_s = p->gathering->clock - p->asked_at;
    struct ti_err why;

    if ((!p->requested.n && p->listing != TI__ASKED) || spent_s < request_timeout_s(p))
        return false;
    ti_err_set(&why, TI_ERR_REMOTE,
               "it did not finish in %.0f s, in which %" PRId64 " bytes of traces came from all "
               "nodes",
               spent_s, p->gathering->f->bytes - p->asked_bytes);
    ti_err_hint(&why, "--timeout waits longer");
    p->end = TI_CHANNEL_SILENT;
    ti__abandon(p, &why);
    return true;
}

/* Abandons nodes that answer but make no progress.  Heartbeats prove only that the process runs:
 * its disk may hang, or it may be malicious.  It may still work as a relay.
 *
 * On a slow link an answer may be queued behind data of other nodes: at most twice their credit,
 * since credit is renewed while data arrives.  Until that much has come, the node gets more time.
 */
void ti__abandon_stuck(struct ti__gathering *g)
{
    int64_t owed = note_partial_frames(g);

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];
        bool behind = g->data_at > p->progress_at && g->f->bytes - p->progress_bytes < 2 * owed;
        double timeout_s;
        struct ti_err why;

        if (!is_busy(p) || abandon_endless(p))
            continue;
        timeout_s = stuck_timeout_s(p);
        if (g->clock - (behind ? g->data_at : p->progress_at) < timeout_s)
            continue;
        ti_err_set(&why, TI_ERR_REMOTE,
                   "it answers, but made no progress in %.0f s: is its disk, or "
                   "the file system of '%s', stuck?",
                   timeout_s, p->node->directory);
        ti_err_hint(&why, "--timeout waits longer");
        p->end = TI_CHANNEL_SILENT;
        ti__abandon(p, &why);
    }
}
