/*
 * All ranks must count with the same counter, or their volumes cannot be compared.
 *
 * The ranks' counters go up a tree to rank 0; each rank merges the summaries of its
 * children into its own.  Rank 0 decides whether all agree, draws the run id, and sends
 * the verdict down.  The ranks below a rank follow it (ranktree.h), so most messages stay
 * within a node, and no rank needs connections to all others.
 *
 * The exchange uses messages on MPI_COMM_WORLD, with a deadline.  A collective, or a
 * communicator of our own, would wait for ever for a rank without the preloaded library.
 * Two rules keep these messages apart from the application's:
 *
 *   - A message is sent to, and expected from, traced ranks only.  A traced rank creates an
 *     empty file, its mark, in the trace directory; parent and child exchange messages
 *     after each has seen the other's mark.  If the nodes of a run have separate trace
 *     directories, TIARA_RUN_ID replaces the marks: a launcher gives it to all ranks
 *     that it traces.
 *   - A receive is posted before the message can be sent, and is never cancelled.  A
 *     message that arrives after the deadline ends in that receive, whatever the
 *     application receives.
 *
 * A rank that goes on without some of its children leaves a file that says so.  A rank that
 * comes late, or waits for such a late rank, sees that a rank above it went on, and goes on
 * at once.  Where the nodes of a run have separate trace directories, only ranks of the
 * same node see it; others wait until the deadline.
 *
 * The ranks below a rank that is not traced are not traced either.  With up to
 * TI_TREE_ARITY + 1 ranks, only rank 0 has ranks below it.  The exchange is not recorded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/begin.h"
#include "minitrace/ranktree.h"

#define TAG    31977
#define PATH   (4096 + 64)
#define GROUPS 4  /* most groups of ranks that the message names */
#define RANGES 12 /* most ranges of ranks per group */

/* How long one rank may start later than another, and the addition per rank of the run.  A test
 * library sets shorter times. */
#ifndef SILENCE_S
#define SILENCE_S        30
#define SILENCE_A_RANK_S 0.5
#endif
#define LATE_S 0.1 /* grace per child after the deadline */

#define GONE "-gone" /* how the name of a mark ends that says that its rank went on */

#define SUMMARY_MOST                                                                               \
    3072 /* bytes; small enough that MPI sends it without waiting for the                          \
          * receiver */

/* Interval between two checks for a message or a mark.  It grows, because on an oversubscribed
 * node all ranks check. */
#define LOOK_NS_MIN 200000
#define LOOK_NS_MAX 20000000

struct counting {
    bool counts;
    char what[400]; /* how it counts, or why it does not */
    char host[64];
};

struct range {
    int first, last;
};

/* Ranks that count in the same way. */
struct group {
    struct counting counting;
    bool hosts; /* the ranks are on more than one host */
    bool cut;   /* more ranges exist than fit into `range` */
    int ranks;
    int ranges;
    struct range range[RANGES];
};

/* The answers of a rank and the ranks below it. */
struct summary {
    int groups;
    int more;         /* ranks that fit into no group */
    int silent;       /* ranks without an answer */
    int first_silent; /* valid if `silent` > 0 */
    struct group group[GROUPS];
};
_Static_assert(sizeof(struct summary) <= SUMMARY_MOST, "MPI may wait for the receiver");

struct verdict {
    bool answered; /* false: the sender had no answer from above */
    bool go_on;
    uint8_t id[TI_RUN_ID_BYTES];
};

/* A rank's place in the tree. */
struct place {
    int parent;                /* -1: none */
    struct ti_subtree subtree; /* this rank and the ranks below it */
    int levels;                /* levels of the whole tree below rank 0 */
    bool left_behind;          /* a rank above this one was seen to have gone on without it */
};

/* The most that one rank may start later than another. */
static double timeout(void)
{
    return SILENCE_S + SILENCE_A_RANK_S * ti_state.nranks;
}

/* The longest time of an exchange: timeout() per level until rank 0 decides; rank 0 itself may be
 * late, and so may the ranks on the way down. */
static double total_timeout(const struct place *p)
{
    return timeout() * (p->levels + 2);
}

/* ------------------------------------------------------------------- marks -- */

static struct {
    const char *dir;
    bool needed;    /* a message may be sent only to a rank that has a mark */
    unsigned job;   /* hash of the ids of job and run: tells this run's marks from those of a run
                     * that was killed */
    time_t made;    /* when our mark was created, by the clock of the file system */
    double entered; /* when this process entered MPI_Init, by that clock; marks that say that a
                     * rank went on are younger */
    pid_t left_by;  /* the process that left such a mark; 0: none */
} marks;

/* Marks are not needed with TIARA_RUN_ID.  If all ranks share this node, marks are used even then,
 * because the directory is shared for certain. */
static bool needs_marks(void)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *id = getenv("TIARA_RUN_ID");

    if (!local)
        local = getenv("MPI_LOCALNRANKS"); /* MPICH's Hydra */
    return !id || !id[0] || (local && atoi(local) == ti_state.nranks);
}

static void mark_path(int rank, const char *ending, char *path)
{
    snprintf(path, PATH, "%s/.tiara-%08x-rank-%06d%s", marks.dir, marks.job, rank, ending);
}

/* When the file was changed. */
static double seconds_of(const struct stat *st)
{
    return (double)st->st_mtim.tv_sec + 1e-9 * (double)st->st_mtim.tv_nsec;
}

static void hash_word(const char *word)
{
    for (; word && *word; word++)
        marks.job = marks.job * 33 + (unsigned char)*word;
}

static bool make_mark(const char *dir, struct ti_err *err)
{
    char path[PATH];
    struct stat st;
    int fd;

    marks.dir = dir;
    marks.needed = ti_state.nranks > 1 && needs_marks();
    marks.job = 5381;
    hash_word(getenv("PMIX_NAMESPACE"));
    if (!marks.needed)
        hash_word(getenv("TIARA_RUN_ID"));
    mark_path(ti_state.rank, GONE, path);
    unlink(path);
    if (!marks.needed)
        return true;
    mark_path(ti_state.rank, "", path);
    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || fstat(fd, &st) != 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", path);
        if (fd >= 0)
            close(fd);
        return false;
    }
    close(fd);
    marks.made = st.st_mtime;
    marks.entered = seconds_of(&st) - (ti_seconds() - ti_state.init_start);
    return true;
}

static void remove_mark(void)
{
    char path[PATH];

    if (!marks.needed)
        return;
    mark_path(ti_state.rank, "", path);
    unlink(path);
}

/* Leave a mark that says that this rank goes on, with the children whose messages have come. */
static void leave_gone_mark(uint32_t received)
{
    char path[PATH];
    int fd;

    mark_path(ti_state.rank, GONE, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return; /* late ranks then wait until their deadline */
    if (write(fd, &received, sizeof received) != sizeof received)
        unlink(path);
    close(fd);
    marks.left_by = getpid();
}

/* The directory is empty if nothing was recorded. */
__attribute__((destructor)) static void remove_gone_mark(void)
{
    char path[PATH];

    if (marks.left_by == 0 || marks.left_by != getpid())
        return;
    mark_path(ti_state.rank, GONE, path);
    unlink(path);
    rmdir(marks.dir);
}

/* Whether the rank has gone on without some child.  *received: its children whose messages it has.
 */
static bool has_gone(int rank, uint32_t *received)
{
    char path[PATH];
    struct stat st;
    bool gone = false;
    int fd;

    mark_path(rank, GONE, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (!marks.needed || seconds_of(&st) > marks.entered))
        gone = read(fd, received, sizeof *received) == sizeof *received;
    close(fd);
    return gone;
}

/* Whether a rank above this one has gone on without it. */
static bool is_left_behind(struct place *p)
{
    struct ti_subtree b = {0, ti_state.nranks};
    uint32_t received;

    while (b.first != ti_state.rank && !p->left_behind) {
        int i = 0;

        while (ti_child(b, i).end <= ti_state.rank)
            i++;
        p->left_behind = has_gone(b.first, &received) && !(received >> i & 1);
        b = ti_child(b, i);
    }
    return p->left_behind;
}

/* Wait a while for something that has not come.  False: it is not to be waited for any longer. */
static bool pause_a_while(struct place *p, struct timespec *pause, double deadline)
{
    if (ti_seconds() > deadline || p->left_behind ||
        (pause->tv_nsec == LOOK_NS_MAX && is_left_behind(p)))
        return false;
    nanosleep(pause, NULL);
    pause->tv_nsec = pause->tv_nsec < LOOK_NS_MAX / 2 ? 2 * pause->tv_nsec : LOOK_NS_MAX;
    return true;
}

/* Whether the rank's mark appears by `deadline`, with an age that differs from that of ours by no
 * more than the exchange may take. */
static bool is_traced(int rank, struct place *p, double deadline)
{
    struct timespec pause = {.tv_nsec = LOOK_NS_MIN};
    double most = total_timeout(p);
    char path[PATH];
    struct stat st;

    if (!marks.needed)
        return true;
    mark_path(rank, "", path);
    do {
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            difftime(st.st_mtime, marks.made) <= most && difftime(marks.made, st.st_mtime) <= most)
            return true;
    } while (pause_a_while(p, &pause, deadline));
    return false;
}

/* ---------------------------------------------------------------- messages -- */

/* Whether the request completes by `deadline`. */
static bool wait_until(MPI_Request *req, struct place *p, double deadline)
{
    struct timespec pause = {.tv_nsec = LOOK_NS_MIN};
    int done = 0;

    do
        PMPI_Test(req, &done, MPI_STATUS_IGNORE);
    while (!done && pause_a_while(p, &pause, deadline));
    return done;
}

/* Receive from a traced rank by `deadline`.  Returns a message, to be released with ti_unmap().
 * NULL if none arrived; the receive and its buffer then stay, for a message that comes later. */
static void *receive(int rank, size_t bytes, struct place *p, double deadline)
{
    void *message = ti_map(bytes);
    MPI_Request req;

    if (!message)
        return NULL;
    PMPI_Irecv(message, (int)bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &req);
    return wait_until(&req, p, deadline) ? message : NULL;
}

static void describe(struct counting *a, const struct ti_err *why)
{
    const struct ti_counter *c = &ti_state.counter;
    size_t n;

    memset(a, 0, sizeof *a);
    gethostname(a->host, sizeof a->host - 1);
    a->counts = !why;
    if (why) {
        snprintf(a->what, sizeof a->what, "nothing (%.380s)", why->text);
        return;
    }
    n = (size_t)snprintf(a->what, sizeof a->what, "%s, %s, in %s, %s%s", c->backend->name, c->event,
                         c->unit,
                         c->backend->estimate ? "an estimate"
                         : c->exact           ? "exact"
                                              : "not exact",
                         c->sum ? ", of all threads" : "");
    if (ti_state.extras && n < sizeof a->what)
        snprintf(a->what + n, sizeof a->what - n, "; beside it %s", ti_extra_names());
}

/* ---------------------------------------------------------------- adding up -- */

static void add_range(struct group *g, struct range r)
{
    if (g->ranges && g->range[g->ranges - 1].last + 1 == r.first && !g->cut)
        g->range[g->ranges - 1].last = r.last;
    else if (g->ranges < RANGES)
        g->range[g->ranges++] = r;
    else
        g->cut = true;
}

/* Merge a child's summary.  Children come in the order of ranks. */
static void add(struct summary *s, const struct summary *of)
{
    s->more += of->more;
    if (!s->silent)
        s->first_silent = of->first_silent;
    s->silent += of->silent;
    for (int i = 0; i < of->groups; i++) {
        const struct group *from = &of->group[i];
        struct group *g = s->group;

        while (g < s->group + s->groups && (g->counting.counts != from->counting.counts ||
                                            strcmp(g->counting.what, from->counting.what) != 0))
            g++;
        if (g == s->group + GROUPS) {
            s->more += from->ranks;
            continue;
        }
        if (g == s->group + s->groups) {
            *g = *from;
            s->groups++;
            continue;
        }
        g->ranks += from->ranks;
        g->hosts = g->hosts || from->hosts || strcmp(g->counting.host, from->counting.host) != 0;
        for (int k = 0; k < from->ranges; k++)
            add_range(g, from->range[k]);
        g->cut = g->cut || from->cut;
    }
}

/* Whether all ranks count alike.  True also if none counts: each rank reports its own reason. */
static bool all_alike(const struct summary *s)
{
    bool any = false;

    for (int i = 0; i < s->groups; i++)
        any = any || s->group[i].counting.counts;
    return !any || s->groups == 1;
}

static void name_groups(const struct summary *s, struct ti_err *err)
{
    char text[sizeof err->text];
    size_t n = 0;

    for (int i = 0; i < s->groups && n < sizeof text; i++) {
        const struct group *g = &s->group[i];
        bool one = g->ranges == 1 && g->range[0].first == g->range[0].last && !g->cut;

        n +=
            (size_t)snprintf(text + n, sizeof text - n, "%srank%s ", i ? "; " : "", one ? "" : "s");
        for (int k = 0; k < g->ranges && n < sizeof text; k++) {
            const struct range *r = &g->range[k];

            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", k ? "," : "", r->first);
            if (r->first != r->last && n < sizeof text)
                n += (size_t)snprintf(text + n, sizeof text - n, "-%d", r->last);
        }
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s on %s%s: %s", g->cut ? ",..." : "",
                                  g->counting.host, g->hosts ? " and other nodes" : "",
                                  g->counting.what);
    }
    if (s->more && n < sizeof text)
        snprintf(text + n, sizeof text - n, "; and %d other rank%s", s->more,
                 s->more == 1 ? "" : "s");
    ti_err_set(err, TI_ERR_INPUT, "the ranks are not counted alike: %s", text);
    ti_err_hint(err, "one TIARA_COUNTER must count on all ranks");
}

/* ----------------------------------------------------------------- the tree -- */

/* Sets of children; bit i is child i. */
struct children {
    uint32_t received, expected; /* its message has come; a receive was posted */
};

/* Receive the summaries of the children and merge them into *s.  A child may take as long as it
 * may itself wait for the ranks below it, plus one rank's timeout. */
static void collect(struct place *p, struct summary *s, struct children *c)
{
    double start = ti_seconds();

    *c = (struct children){0};
    for (int i = 0; i < ti_child_count(p->subtree); i++) {
        struct ti_subtree b = ti_child(p->subtree, i);
        double deadline = start + timeout() * (ti_height(b) + 1), now = ti_seconds();
        struct summary silent = {.silent = b.end - b.first, .first_silent = b.first}, *of = NULL;

        if (deadline < now + LATE_S)
            deadline = now + LATE_S;
        if (is_traced(b.first, p, deadline)) {
            c->expected |= UINT32_C(1) << i;
            of = receive(b.first, sizeof *of, p, deadline);
        }
        if (of)
            c->received |= UINT32_C(1) << i;
        add(s, of ? of : &silent);
        ti_unmap(of, sizeof *of);
    }
}

/* From now on, no child sends that has not seen our mark.  A child that came too late for
 * collect() may have seen it, and then has a mark of its own, or one that says that it went on:
 * post a receive for its message.  `unanswered`: we sent a message ourselves, and our parent may
 * come only now. */
static void close_to_late_children(struct place *p, const struct children *c, bool unanswered)
{
    int n = ti_child_count(p->subtree);
    uint32_t received;

    if (unanswered || c->received != (uint32_t)((UINT64_C(1) << n) - 1))
        leave_gone_mark(c->received);
    remove_mark();
    for (int i = 0; i < n; i++) {
        int child = ti_child(p->subtree, i).first;

        if (!(c->expected >> i & 1) && (is_traced(child, p, 0) || has_gone(child, &received)))
            ti_unmap(receive(child, sizeof(struct summary), p, 0), sizeof(struct summary));
    }
}

static void send_verdict(const struct place *p, const struct verdict *v, const struct children *c)
{
    for (int i = 0; i < ti_child_count(p->subtree); i++)
        if (c->received >> i & 1)
            PMPI_Send(v, sizeof *v, MPI_BYTE, ti_child(p->subtree, i).first, TAG, MPI_COMM_WORLD);
}

/* Sets v->answered.  Returns false if a message was sent that nothing answered. */
static bool report_up(struct place *p, const struct summary *s, struct verdict *v)
{
    double deadline = ti_seconds() + total_timeout(p);
    struct verdict *verdict;

    v->answered = false;
    if (!is_traced(p->parent, p, deadline))
        return true;
    PMPI_Send(s, sizeof *s, MPI_BYTE, p->parent, TAG, MPI_COMM_WORLD);
    verdict = receive(p->parent, sizeof *verdict, p, deadline);
    if (verdict)
        *v = *verdict;
    ti_unmap(verdict, sizeof *verdict);
    return verdict;
}

static void decide(const struct summary *s, struct verdict *v, struct ti_err *err)
{
    if (s->silent)
        ti_stderr_line("%d of %d ranks, rank %d first, are not traced, or came more than %.0f s "
                       "late: was LD_PRELOAD handed on?  (and TIARA_RUN_ID, where nodes have trace "
                       "directories of their own)",
                       s->silent, ti_state.nranks, s->first_silent, timeout());
    if (v->go_on && !all_alike(s)) {
        v->go_on = false;
        name_groups(s, err);
    }
}

/* Say why there was no answer from above. */
static void explain_silence(const struct place *p, struct ti_err *err)
{
    ti_state.speaks_for_rank_0 = ti_state.rank == 1 || p->left_behind;
    if (p->left_behind) {
        ti_err_set(err, TI_ERR_INPUT,
                   "this rank, or one above it, came too late: others went on without it");
        ti_err_hint(err, "all ranks must come to the end of MPI_Init within %.0f s", timeout());
        return;
    }
    if (p->parent == 0)
        ti_err_set(err, TI_ERR_INPUT, "rank 0 is not traced");
    else
        ti_err_set(err, TI_ERR_INPUT, "rank %d, or one above it, is not traced", p->parent);
    ti_err_hint(err, "hand LD_PRELOAD on to all ranks; and TIARA_RUN_ID, where nodes have trace "
                     "directories of their own");
}

bool ti_agree(const char *dir, const struct ti_err *why, bool go_on, uint8_t id[TI_RUN_ID_BYTES],
              struct ti_err *err)
{
    struct place place = {.levels = ti_height((struct ti_subtree){0, ti_state.nranks})};
    struct summary *s = ti_map(sizeof *s); /* too large for the stack */
    struct verdict v = {.answered = true, .go_on = go_on};
    struct children children;
    bool heard = true;

    if (!s) {
        ti_err_set(err, TI_ERR_IO, "no memory");
        return false;
    }
    if (!make_mark(dir, err)) {
        ti_unmap(s, sizeof *s);
        return false;
    }
    place.subtree = ti_subtree_of(ti_state.rank, ti_state.nranks, &place.parent);
    s->groups = 1;
    s->group[0].ranks = 1;
    describe(&s->group[0].counting, why);
    add_range(&s->group[0], (struct range){ti_state.rank, ti_state.rank});
    collect(&place, s, &children);
    if (place.parent < 0) {
        memcpy(v.id, id, sizeof v.id);
        decide(s, &v, err);
    } else {
        err->text[0] = err->hint[0] = '\0';
        heard = report_up(&place, s, &v);
    }
    close_to_late_children(&place, &children, !heard);
    send_verdict(&place, &v, &children);
    if (v.answered)
        memcpy(id, v.id, sizeof v.id);
    else
        explain_silence(&place, err);
    ti_unmap(s, sizeof *s);
    return v.answered && v.go_on;
}
