/*
 * The nodes of a run, seen from here.  The fleet connects to the ti-node of each (session/conn.h),
 * sends requests, collects answers, and reports nodes that are lost.
 *
 * Where a site's nodes lack Tiara, only the first of each group of nodes is sent it from here; that
 * node is the relay to the others, and sends it on.  All other nodes are connected directly.  A
 * node that is this machine is served without SSH.
 *
 * One thread, one poll loop.
 */
#ifndef TI_ACQUIRE_FLEET_FLEET_H
#define TI_ACQUIRE_FLEET_FLEET_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "config/sites.h"
#include "remote/remote.h"
#include "session/frame.h"
#include "session/paths.h"

enum ti_fleet_node_state { TI_NODE_CONNECTING, TI_NODE_READY, TI_NODE_LOST };

struct ti_fleet_node {
    enum ti_fleet_node_state state;
    bool is_local;           /* the node is this machine */
    enum ti_channel_end end; /* if LOST: how its channel ended */
    struct ti_err why;       /* if LOST: the cause, with the node and its site */
    const char *doing;       /* its latest activity, for messages: "connecting", "running" */
    json_t *hello;           /* its HELLO; NULL: none yet */
    double ready_s;          /* seconds from ti_fleet_connect() until it was ready; 0: never */
    int64_t stderr_logged;   /* bytes of its standard error output that were logged */
    json_t *answer;          /* to the latest ti_fleet_ask_all(); NULL: none */
    struct ti_fleet_node_priv *priv;
};

struct ti_fleet;
struct ti_conn;
struct ti_conns;

/* Called from within ti_fleet_poll(); all may be NULL. */
struct ti_fleet_callbacks {
    /* a message that is no answer: "status", "ended" */
    void (*on_message)(struct ti_fleet *f, int64_t node, const json_t *message, void *arg);
    /* output of a process, or part of a trace */
    void (*on_data)(struct ti_fleet *f, int64_t node, const struct ti_frame *frame, void *arg);
    /* the node was lost, not closed by us; member->why has the cause */
    void (*on_lost)(struct ti_fleet *f, int64_t node, void *arg);
    /* a line for the log */
    void (*log)(void *arg, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
    void *arg;
};

struct ti_fleet {
    const struct ti_sites *sites; /* borrowed */
    struct ti_remote *remote;     /* for descriptors of the caller's (ti_remote_add_fd()) */
    struct ti_fleet_callbacks callbacks;
    struct ti_fleet_node *member; /* one per node of `sites` */
    int64_t n;
    int64_t ready, gone;
    int64_t shipped; /* nodes to which our files were sent */
    double begun;    /* ti_now() when connecting began */
    int sig;         /* SIGINT, SIGTERM or SIGHUP that was received; reset to 0 once handled */
    bool closing;    /* nodes that end now are not lost */

    struct ti_conns *conns;
    char folder[PATH_MAX]; /* that has our own ti-node */
    int sigfd;
    int64_t next_id;
};

/* The transport of that name; NULL: any. */
enum ti_transport ti_fleet_transport(const char *name);

/* Make a fleet; no node is contacted yet.  Nodes without `use` (NULL: all are used) count as lost
 * from the start, without a call of on_lost.  A node that says nothing for `silence_s` is lost.
 * `sites` is borrowed. */
ti_status ti_fleet_new(const struct ti_sites *sites, const bool *use, const struct ti_paths *paths,
                       const char *transport, double silence_s,
                       const struct ti_fleet_callbacks *callbacks, struct ti_fleet **out,
                       struct ti_err *err);

/* Connect to all nodes.  Returns when each is ready or lost, or a signal was received (f->sig). */
ti_status ti_fleet_connect(struct ti_fleet *f, struct ti_err *err);

/* "n7 12.1 s, n3 9.8 s": the nodes that took longest to be ready, `most` of them; free().  NULL:
 * memory is short. */
char *ti_fleet_slowest(const struct ti_fleet *f, int most);

/* Close the connections; each ti-node then ends the processes that it started.  NULL is fine. */
void ti_fleet_free(struct ti_fleet *f);

/* Tell the nodes that ti_fleet_poll() will not be called for up to so many seconds, so that they
 * do not take the silence for a lost connection. */
void ti_fleet_announce_pause(struct ti_fleet *f, double seconds);

/* Wait up to `timeout_ms` for events and handle them. */
void ti_fleet_poll(struct ti_fleet *f, int timeout_ms);

/*
 * Send a request, which is released here; "id" is added.  `done` (may be NULL) is called with the
 * answer, which may be an "error", or with NULL when the node is lost.  False: nothing was sent.
 */
typedef void ti_fleet_answer(struct ti_fleet *f, int64_t node, const json_t *answer, void *arg);
bool ti_fleet_ask(struct ti_fleet *f, int64_t node, json_t *request, ti_fleet_answer *done,
                  void *arg);

/*
 * Ask all ready nodes, and wait until each has answered or is lost, or a signal was received.
 * `request` makes the request for a node; NULL: the node is not asked.  A node that does not
 * answer within `limit_s` is abandoned.  Answers are in member.answer; check them with
 * ti_fleet_ok().  `doing` is the text of the progress line.
 */
typedef json_t *ti_fleet_make_request(struct ti_fleet *f, int64_t node, void *arg);
void ti_fleet_ask_all(struct ti_fleet *f, ti_fleet_make_request *request, void *arg, double limit_s,
                      const char *doing);

/* Whether the node answered ti_fleet_ask_all() without an error.  Otherwise `err`, unless NULL,
 * has the error and names the node. */
bool ti_fleet_ok(const struct ti_fleet *f, int64_t node, struct ti_err *err);

/* A stream for "spawn" on a node, 0 if the node is not ready, and input of the process.  False: the
 * node is not ready. */
uint32_t ti_fleet_new_stream(struct ti_fleet *f, int64_t node);
bool ti_fleet_input(struct ti_fleet *f, int64_t node, uint32_t stream, const void *data,
                    size_t bytes);

/* Abandon a node for the given cause: close its connection and call on_lost. */
void ti_fleet_abandon(struct ti_fleet *f, int64_t node, enum ti_channel_end end, const char *fmt,
                      ...) __attribute__((format(printf, 4, 5)));

/* Takes the ready connection of the node of that name out of the fleet, for another user of
 * f->conns; NULL: there is none.  Nodes that end from now on are not lost. */
struct ti_conn *ti_fleet_take(struct ti_fleet *f, const char *name);

/* "'n3.s1' of cluster a at site s1, by gateway g1" into buf; returns buf. */
char *ti_fleet_name(const struct ti_fleet *f, int64_t node, char *buf, size_t bytes);

/* The part of `text` behind "node NAME: ", for messages that name the node elsewhere. */
const char *ti_fleet_unnamed(const struct ti_fleet *f, int64_t node, const char *text);

/* The index of the node of that name, or -1. */
int64_t ti_fleet_find(const struct ti_fleet *f, const char *name);

#endif
