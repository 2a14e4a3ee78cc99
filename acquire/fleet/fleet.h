/*
 * The nodes of a run, each with its ti-node at the end of one channel, seen
 * from here: connect all, ask all, tell all, and notice who is gone.
 *
 * One thread, one poll loop.  A node that is this machine is served without SSH.
 */
#ifndef TI_FLEET_H
#define TI_FLEET_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "formats/sites.h"
#include "node/frame.h"
#include "node/paths.h"
#include "remote/remote.h"

enum ti_fleet_node_state { TI_NODE_CONNECTING, TI_NODE_READY, TI_NODE_LOST };

struct ti_fleet_node {
    enum ti_fleet_node_state state;
    bool is_local;           /* it is this machine */
    enum ti_channel_end end; /* GONE: how */
    struct ti_err why;       /* GONE: the cause, naming the node and its site */
    const char *doing;       /* what it did last, for messages: "connecting", "running" */
    json_t *hello;           /* NULL before it came; so below */
    int64_t stderr_logged;   /* bytes of its standard error output in the log */
    json_t *answer;          /* to what ti_fleet_ask_all() asked last */
    double heard_at;         /* when something came last, or was taken, ti_now(); 0: never */
    struct ti_fleet_node_priv *priv;
};

struct ti_fleet;

/* All may be NULL; called from within ti_fleet_poll(). */
struct ti_fleet_callbacks {
    /* a message that nobody asked for: "status", "ended" */
    void (*on_message)(struct ti_fleet *f, int64_t node, const json_t *message, void *arg);
    /* bytes of a process or of a trace */
    void (*on_data)(struct ti_fleet *f, int64_t node, const struct ti_frame *frame, void *arg);
    /* the node is gone, while it was not told to go; member->why says why */
    void (*on_lost)(struct ti_fleet *f, int64_t node, void *arg);
    /* a line for the log */
    void (*log)(void *arg, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
    void *arg;
};

struct ti_fleet {
    const struct ti_sites *sites; /* borrowed */
    struct ti_remote *remote;
    struct ti_fleet_callbacks callbacks;
    struct ti_fleet_node *member; /* one a node of `sites` */
    int64_t n;
    int64_t ready, gone;
    int64_t shipped;     /* nodes that were sent our files */
    double last_shipped_at; /* when the last of them was ready, ti_now() */
    int sig;             /* SIGINT, SIGTERM or SIGHUP that came; whoever acts on it sets it to 0 */
    bool closing;        /* who goes now is not lost */

    char folder[PATH_MAX];      /* of our own ti-node */
    struct ti_payload *payload; /* what nodes without Tiara are sent */
    struct ti_remote_config config;
    double polled_at;         /* when that was last begun, ti_now() */
    double heartbeat_sent_at; /* when nodes last heard that we are there, ti_now() */
    int sigfd;
    int64_t next_id;
};

/* Nobody is connected to yet.  Nodes without `use` are gone from the start, and not
 * lost; NULL: all are used.  Connections, and what starts ti-node at the end of one, may
 * say nothing for `silence_s`. */
ti_status ti_fleet_new(const struct ti_sites *sites, const bool *use, const struct ti_paths *paths,
                       const char *transport, double silence_s,
                       const struct ti_fleet_callbacks *callbacks, struct ti_fleet **out,
                       struct ti_err *err);

/* Connect to all nodes, and wait until each is ready or gone, or a signal came. */
ti_status ti_fleet_connect(struct ti_fleet *f, struct ti_err *err);

/* Ends the channels: what runs on the nodes is ended by their ti-nodes.  NULL is fine. */
void ti_fleet_free(struct ti_fleet *f);

/* ti_fleet_poll() will not be called for up to so many seconds: nodes are to wait for us. */
void ti_fleet_announce_pause(struct ti_fleet *f, double seconds);

/* Wait up to `timeout_ms` for something to happen, and have it happen. */
void ti_fleet_poll(struct ti_fleet *f, int timeout_ms);

/*
 * Send a request (taken over), without "id".  `done` gets the answer, which may be an
 * "error"; NULL when the node is gone.  NULL: nobody wants to know.
 */
typedef void ti_fleet_answer(struct ti_fleet *f, int64_t node, const json_t *answer, void *arg);
bool ti_fleet_ask(struct ti_fleet *f, int64_t node, json_t *request, ti_fleet_answer *done,
                  void *arg);

/*
 * Ask all nodes that are ready, and wait until each has answered, or is gone, or a
 * signal came.  `request` makes what a node is asked; NULL: it is not asked.  A node
 * that does not answer within `limit_s` is gone.  The answers are in `member.answer`;
 * what is not ti_fleet_ok() there names an error of the node's.  `doing` is what the
 * progress line says.
 */
typedef json_t *ti_fleet_make_request(struct ti_fleet *f, int64_t node, void *arg);
void ti_fleet_ask_all(struct ti_fleet *f, ti_fleet_make_request *request, void *arg, double limit_s,
                      const char *doing);

/* The answer is there, and is no error.  Otherwise `err`, unless NULL, names the node. */
bool ti_fleet_ok(const struct ti_fleet *f, int64_t node, struct ti_err *err);

/* Bytes for a process there. */
bool ti_fleet_send(struct ti_fleet *f, int64_t node, enum ti_frame_type type, uint32_t stream,
                   const void *data, uint32_t bytes);
/* What has not left us yet, to that node. */
size_t ti_fleet_queued(const struct ti_fleet *f, int64_t node);

/* Give a node up, for a cause. */
void ti_fleet_abandon(struct ti_fleet *f, int64_t node, enum ti_channel_end end, const char *fmt,
                      ...) __attribute__((format(printf, 4, 5)));

/* "'n3.s1' of cluster a at site s1, by gateway g1" into buf; returns buf. */
char *ti_fleet_name(const struct ti_fleet *f, int64_t node, char *buf, size_t bytes);

/* What is behind "node NAME: " in a sentence about the node, for who has named it already. */
const char *ti_fleet_unnamed(const struct ti_fleet *f, int64_t node, const char *text);

/* The node of that name; -1. */
int64_t ti_fleet_find(const struct ti_fleet *f, const char *name);

#endif
