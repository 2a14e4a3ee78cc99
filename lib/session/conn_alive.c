/* Whether the other side lives: heartbeats in both directions, and what is done about silence. */
#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "session/conn_internal.h"
#include "session/times.h"

/* --- heartbeats ---------------------------------------------------------- */

static double heartbeat_s(const struct ti_conns *all)
{
    double s = all->config.silence_s / 3;

    return s < TI_BEAT_MIN_S ? TI_BEAT_MIN_S : s > TI_BEAT_MAX_S ? TI_BEAT_MAX_S : s;
}

/* A node's timeout for hearing from us: a broken connection does not always end there. */
static double peer_timeout_s(const struct ti_conns *all)
{
    return all->config.silence_s > all->config.listen_s ? all->config.silence_s
                                                        : all->config.listen_s;
}

/* Requests heartbeats from the node; is itself one of ours. */
static bool send_heartbeat(struct ti_conn *conn, double listen_s)
{
    conn->heartbeat_at = ti_now();
    return ti_conn_request(conn, json_pack("{s:s, s:i, s:i, s:i}", "do", "beat", "id", 0,
                                           "every_ms", (int)(heartbeat_s(conn->all) * 1000),
                                           "listen_ms", (int)(listen_s * 1000)));
}

bool ti__conn_heartbeat(struct ti_conn *conn)
{
    return send_heartbeat(conn, peer_timeout_s(conn->all));
}

void ti_conns_announce_pause(struct ti_conns *all, double seconds)
{
    double listen_s = fmax(seconds, peer_timeout_s(all));
    struct ti_conn *conn;

    TAILQ_FOREACH(conn, &all->conns, in_all)
    if (conn->state == TI__CONN_READY && send_heartbeat(conn, listen_s))
        conn->heartbeat_at = 0; /* the next poll sends one with the usual timeout */
    for (int i = 0; i < 10; i++)
        ti_remote_poll(ti_conns_remote(all), TI_SESSION_CHECK_MS / 10);
}

/* --- silence ------------------------------------------------------------- */

static void fail_silent(struct ti_conn *conn)
{
    const char *patient = conn->all->config.patient;
    struct ti_err why;
    char from[300] = "";

    if (conn->relay)
        snprintf(from, sizeof from, " by way of '%.256s'", ti__conn_host(conn->relay));
    ti_err_set(&why, TI_ERR_REMOTE,
               "'%s' said nothing%s for %.3g s: it hangs, or the network %s is down",
               ti__conn_host(conn), from, conn->all->config.silence_s,
               conn->relay ? "between them" : "to it");
    ti_err_hint(&why, "%s waits longer", patient ? patient : "--timeout");
    ti__conn_fail(conn, TI_CHANNEL_SILENT, false, &why);
}

/* If a relay and nodes behind it are silent, the relay is the cause.  So a relayed connection is
 * silent only if its relay was heard after the timeout. */
static bool is_silent(struct ti_conn *conn)
{
    double over = conn->heard + conn->all->config.silence_s;

    if (conn->heard == 0 || ti_sessions_clock(conn->all->sessions) < over)
        return false;
    return !conn->relay || (conn->state == TI__CONN_READY && conn->relay->heard > over);
}

/* Ends silent connections and sends heartbeats. */
void ti__conns_check_timeouts(struct ti_conns *all)
{
    double now = ti_now();
    struct ti_conn *conn;

    if (now - all->checked_at < TI_SESSION_CHECK_MS / 2e3) /* the list is long */
        return;
    all->checked_at = now;
    TAILQ_FOREACH(conn, &all->conns, in_all)
    {
        if (conn->state >= TI__CONN_OVER)
            continue;
        if (conn->hello_deadline > 0 && ti_sessions_clock(all->sessions) > conn->hello_deadline)
            ti__conn_fail_text(conn, TI_CHANNEL_TIMED_OUT,
                               "its relay does not say whether it connects to it", NULL);
        else if (is_silent(conn))
            fail_silent(conn);
        else if (conn->state == TI__CONN_READY && !conn->leaving &&
                 now > conn->heartbeat_at + peer_timeout_s(all) / TI_BEATS_TO_NODE)
            ti__conn_heartbeat(conn);
    }
}
