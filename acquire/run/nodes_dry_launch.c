/* The dry launch: mpirun starts a program that only prints where each rank is, to check the
 * placement before the real program runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "acquire/run/nodes.h"

/* Long, for busy machines: daemons that are cut off are noticed sooner. */
#define MIN_LIMIT_S 300.0
#define RANK_S      0.5 /* added per rank: start-up grows with the number of ranks */
#define POLL_MS 200
#define QUIET_S     20.0 /* without any rank: a message is printed once */
/* The kernel answers connections at once, however busy a machine is. */
#define CHECK_S        5.0 /* between checks for unanswered connections */
#define NO_ANSWER_S    15.0 /* after so long a connection counts as unanswered */
#define MISSING_LOOKS  3
#define RANK_TAG       "TIARA-DRY-LAUNCH"
#define NETWORK_HINT                                                                               \
    "mpirun's daemons connect from the nodes to this machine, and to each other, at any port: "    \
    "look for a firewall; where machines have several networks, 'network =' in the sites file, "   \
    "or --mca oob_tcp_if_include, says which to use"

/* --- the result ----------------------------------------------------------- */

/* Take lines off *text up to the next "RANK_TAG RANK NODE"; false: there is none.  mpirun's
 * --tag-output may put a tag before it. */
static bool next_rank(char **text, int64_t *rank, char name[300])
{
    for (char *line; (line = strsep(text, "\n")) != NULL;) {
        line = strstr(line, RANK_TAG);
        if (line && sscanf(line, RANK_TAG " %" SCNd64 " %299s", rank, name) == 2)
            return true;
    }
    return false;
}

/* Returns how many ranks are on the node they were placed on; the first other one is reported in
 * `err`. */
static int64_t count_ranks(struct ti_nodes_backend *b, char *text, int64_t *actual, char *seen,
                           struct ti_err *err)
{
    int64_t right = 0, rank, node, planned;
    char name[300];

    while (next_rank(&text, &rank, name)) {
        if (rank < 0 || rank >= b->a->o->np || seen[rank])
            continue;
        seen[rank] = 1;
        node = ti_fleet_find(b->fleet, name);
        if (node >= 0)
            actual[node]++;
        planned = ti_rank_map_node_of(&b->map, rank);
        if (node == planned)
            right++;
        else if (!err->text[0])
            ti_err_set(err, TI_ERR_REMOTE,
                       "mpirun does not place ranks as planned: rank %" PRId64
                       " is to be on '%s', and was put on '%s'",
                       rank, b->sites->node[planned].name, name);
    }
    return right;
}

static void say_actual(struct ti_nodes_backend *b, const int64_t *actual)
{
    ti_say("ranks per node:  planned  actual");
    for (int64_t i = 0, n = 0; i < b->sites->nnodes && n < 20; i++)
        if (actual[i] != b->place.ranks[i]) {
            n++;
            ti_say("  %-20s %4" PRId64 "  %4" PRId64, b->sites->node[i].name, b->place.ranks[i],
                   actual[i]);
        }
}

static ti_status judge(struct ti_nodes_backend *b, struct ti_mpirun_proc *p, struct ti_err *err)
{
    int64_t *actual = calloc((size_t)b->sites->nnodes + 1, sizeof *actual);
    char *seen = calloc((size_t)b->a->o->np + 1, 1);
    struct ti_err wrong = {"", ""};
    ti_status st = TI_ERR_REMOTE;
    int64_t right;

    if (!actual || !seen) {
        free(actual);
        free(seen);
        return ti_err_errno(err, TI_ERR_IO, "cannot count the ranks");
    }
    right = p->out_text ? count_ranks(b, p->out_text, actual, seen, &wrong) : 0;
    if (right == b->a->o->np) {
        ti_runlog_note(&b->a->log, "all %" PRId64 " ranks are where they were planned", right);
    } else if (wrong.text[0]) {
        *err = wrong;
        ti_err_hint(err, "mpirun's settings of yours (mca-params.conf, OMPI_MCA_*, behind '--') "
                         "may be in the way; nothing was traced");
        say_actual(b, actual);
    } else if (!right && !ti_rsh_commands_requested(b->rsh) && b->a->o->mpirun.n) {
        st = ti_err_set(err, TI_ERR_USAGE, "mpirun did not start anything");
        ti_err_hint(err, "see what mpirun says above; its arguments behind '--' and those of "
                         "--mca are yours");
    } else {
        ti_err_set(err, TI_ERR_REMOTE,
                   "of %" PRId64 " ranks %" PRId64
                   " were started in the dry launch (mpirun: %s %d)",
                   b->a->o->np, right, WIFEXITED(p->proc.wait_status) ? "status" : "signal",
                   WIFEXITED(p->proc.wait_status) ? WEXITSTATUS(p->proc.wait_status)
                                                  : WTERMSIG(p->proc.wait_status));
        ti_err_hint(err, "see what mpirun says above, and '%s'; " NETWORK_HINT, b->a->log_name);
    }
    free(actual);
    free(seen);
    return right == b->a->o->np ? TI_OK : st;
}

/* How many ranks have printed their node so far.  Each byte is searched once. */
static int64_t ranks_seen(struct ti_mpirun_proc *p)
{
    size_t word = strlen(RANK_TAG);

    for (const char *at; p->out_text && (at = strstr(p->out_text + p->out_seen, RANK_TAG));) {
        p->ranks_seen++;
        p->out_seen = (size_t)(at - p->out_text) + word;
    }
    if (p->out_bytes > p->out_seen + word)
        p->out_seen = p->out_bytes - word; /* the next tag may have begun */
    return p->ranks_seen;
}

/* "'n1', 'n2' and 3 others": the used nodes for which the predicate is true. */
static void name_nodes(const struct ti_nodes_backend *b,
                       bool (*holds)(const struct ti_used_node *u), char *buf, size_t bytes)
{
    int64_t n = 0;
    size_t at = 0;

    buf[0] = '\0';
    for (int64_t i = 0; i < b->nused; i++)
        if (holds(&b->used[i]) && n++ < 3 && at < bytes)
            at += (size_t)snprintf(buf + at, bytes - at, "%s'%s'", n > 1 ? ", " : "",
                                   b->sites->node[b->used[i].node].name);
    if (n > 3 && at < bytes)
        snprintf(buf + at, bytes - at, " and %" PRId64 " more", n - 3);
}

static bool is_unanswered(const struct ti_used_node *u)
{
    return u->peer[0] && u->peer_at - u->peer_since >= NO_ANSWER_S;
}

/* The same connection was unanswered at two looks.  If that of one node is so for NO_ANSWER_S,
 * others that began later are named, too. */
static bool is_waiting(const struct ti_used_node *u)
{
    return u->peer[0] && u->peer_at > u->peer_since;
}

static bool is_daemon_missing(const struct ti_used_node *u)
{
    return u->daemon_missing >= MISSING_LOOKS;
}

static bool is_silent(const struct ti_used_node *u)
{
    return !u->counted;
}

static ti_status too_late(struct ti_nodes_backend *b, const struct ti_mpirun_proc *p, double limit,
                          struct ti_err *err)
{
    char names[1024], name[300], *text = p->out_text;
    int64_t rank;

    while (next_rank(&text, &rank, name)) {
        struct ti_used_node *u = ti__nodes_used(b, ti_fleet_find(b->fleet, name));

        if (u)
            u->counted = true;
    }
    name_nodes(b, is_silent, names, sizeof names);
    ti_err_set(err, TI_ERR_REMOTE, "the dry launch was not done within %.0f s%s%s", limit,
               names[0] ? ": no rank on " : "", names);
    ti_err_hint(err, "see '%s'; " NETWORK_HINT, b->a->log_name);
    return TI_ERR_REMOTE;
}

/* --- unanswered connections ------------------------------------------------ */

static bool has(const json_t *list, const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item) if (json_is_string(item) &&
                                          strcmp(json_string_value(item), text) == 0) return true;
    return false;
}

static void on_waits(struct ti_fleet *f, int64_t node, const json_t *answer, void *arg)
{
    struct ti_nodes_backend *b = arg;
    struct ti_used_node *u = ti__nodes_used(b, node);
    const json_t *list = json_object_get(answer, "waits");
    const json_t *alive = json_object_get(answer, "alive");
    const char *first = json_string_value(json_array_get(list, 0));

    (void)f;
    if (!u)
        return;
    u->daemon_missing = u->daemon && json_is_integer(alive) && json_integer_value(alive) == 0
                            ? u->daemon_missing + 1
                            : 0;
    u->peer_at = ti_now();
    if (u->peer[0] && has(list, u->peer))
        return;
    snprintf(u->peer, sizeof u->peer, "%s", first ? first : "");
    u->peer_since = u->peer_at;
}

static void request_waits(struct ti_nodes_backend *b)
{
    for (int64_t i = 0; i < b->nused; i++)
        if (b->fleet->member[b->used[i].node].state == TI_NODE_READY)
            ti_fleet_ask(b->fleet, b->used[i].node, json_pack("{s:s}", "do", "waits"), on_waits, b);
}

/* A node whose daemon cannot connect or has ended; NULL: none. */
static const struct ti_used_node *find_cut_off(const struct ti_nodes_backend *b)
{
    for (int64_t i = 0; i < b->nused; i++)
        if (is_unanswered(&b->used[i]) || is_daemon_missing(&b->used[i]))
            return &b->used[i];
    return NULL;
}

static ti_status cut_off(struct ti_nodes_backend *b, const struct ti_used_node *u,
                         struct ti_err *err)
{
    char names[1024];

    if (is_daemon_missing(u)) {
        name_nodes(b, is_daemon_missing, names, sizeof names);
        ti_err_set(err, TI_ERR_REMOTE, "mpirun's daemon on %s ended without a word", names);
        ti_err_hint(err,
                    "try mpirun without us, with --leave-session-attached, to the same nodes; "
                    "what was started there is in '%s'",
                    b->a->log_name);
        return TI_ERR_REMOTE;
    }
    name_nodes(b, is_waiting, names, sizeof names);
    ti_err_set(err, TI_ERR_REMOTE, "mpirun's daemon on %s gets no answer, for instance from %s",
               names, u->peer);
    ti_err_hint(err, NETWORK_HINT);
    return TI_ERR_REMOTE;
}

/* --- the launch ---------------------------------------------------------- */

static void show(const struct ti_nodes_backend *b, int64_t seen)
{
    char note[64];

    snprintf(note, sizeof note, "%" PRId64 " of %" PRId64 " nodes reached",
             (int64_t)ti_rsh_commands_started(b->rsh), b->nused);
    ti_progress_show(&(struct ti_progress){
        .step = "dry launch", .unit = "ranks", .done = seen, .of = b->a->o->np, .note = note});
}

/* Wait until mpirun ends or has to be ended.  Returns the node whose daemon is cut off, or NULL. */
static const struct ti_used_node *wait_for_ranks(struct ti_nodes_backend *b,
                                                 struct ti_mpirun_proc *p, double limit, bool *late)
{
    double start = ti_now(), now = start, next_check = start + CHECK_S;
    const struct ti_used_node *u = NULL;
    bool said = false;

    while (ti_launch_running(&p->proc) && !b->fleet->sig && !b->a->lost_nodes && !*late && !u &&
           !p->flooded) {
        int64_t seen = ranks_seen(p);

        ti_fleet_poll(b->fleet, POLL_MS);
        now = ti_now();
        show(b, seen);
        if (now > next_check && !seen) {
            request_waits(b);
            next_check = now + CHECK_S;
        }
        if (now - start > QUIET_S && !seen && !said) {
            said = true;
            ti_progress_clear();
            ti_say("dry launch: no rank for %.0f s: the machines are busy, or mpirun's daemons do "
                   "not reach each other; waiting up to %.0f s",
                   QUIET_S, limit);
        }
        *late = now - start > limit;
        u = seen ? NULL : find_cut_off(b);
    }
    ti_progress_end(ranks_seen(p) == b->a->o->np);
    return u;
}

ti_status ti__nodes_dry_launch(struct ti_nodes_backend *b, struct ti_err *err)
{
    double limit = MIN_LIMIT_S + RANK_S * (double)b->a->o->np;
    struct ti_args command = {.n = 0};
    const struct ti_used_node *u;
    struct ti_mpirun_proc p;
    bool late = false;
    ti_status st;

    ti_step_begin(b->a, TI_STEP_DRY_LAUNCH);
    st = ti__nodes_command(b, true, &command, err);
    if (st == TI_OK)
        st = ti__mpirun_start(b, &command, true, &p, err);
    if (st != TI_OK) {
        ti_args_free(&command);
        return st;
    }
    u = wait_for_ranks(b, &p, limit, &late);
    if (ti_launch_running(&p.proc))
        ti__nodes_end(b, &p);
    ti__mpirun_close(b, &p);
    st = ti__nodes_trouble(b, err);
    if (st != TI_OK)
        ;
    else if (p.flooded)
        st = ti_err_set(err, TI_ERR_REMOTE,
                        "the dry launch, in which a rank says one line, printed more than %zu MiB",
                        p.out_bytes >> 20);
    else if (u)
        st = cut_off(b, u, err);
    else if (late)
        st = too_late(b, &p, limit, err);
    else
        st = judge(b, &p, err);
    free(p.out_text);
    ti_args_free(&command);
    ti_step_end(b->a, TI_STEP_DRY_LAUNCH);
    return st;
}
