#include "gather/fetch/abandon.h"

#include "common/clock.h"
#include "gather/fetch/requests.h"
#include "gather/fetch/senders.h"

#define STUCK_TIMES     10   /* a node without progress is abandoned after so many timeouts ... */
#define STUCK_S         30.0 /* ... of this many seconds if none is set, plus time for its work: */
#define READ_RATE       1e6  /* bytes/s that it reads at least */
#define FILE_RATE       400  /* files/s that it lists, or removes, at least */
#define HEARTBEAT_BYTES 256  /* a longer partial frame is no heartbeat */

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

void ti__protocol_error(struct ti__peer *p, const char *what)
{
    struct ti_err why;

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

/* Counts a frame that is still arriving as progress.  Returns the credit of all nodes for which
 * nothing arrived yet. */
static int64_t note_partial_frames(struct ti__gathering *g)
{
    int64_t owed = 0;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];
        size_t begun = p->conn ? ti_conn_partial_bytes(p->conn) : 0;

        if (begun > p->partial_bytes && begun > HEARTBEAT_BYTES) {
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

        if (!is_busy(p))
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
