/*
 * Recorders of probes, and of messages that matched probes take out of the queue.
 *
 * Until such a message is received, only its handle is known to the application: its communicator,
 * source and tag are kept from the probe.
 */
#include "minitrace/recorders/shared.h"
#include "minitrace/recorders/table.h"

#define NO_MESSAGE (-1) /* the number of MPI_MESSAGE_NO_PROC in the trace */

static struct ti_table table;

/*
 * The probes that were the last events, at most ANSWERS.  A probe leaves its message in the queue.
 * A probe that gives the same answer as one of them, with no other event since, only repeats it,
 * as in a loop that waits for two messages.  The number of repetitions depends on time, so they
 * are not recorded.
 */
#define ANSWERS 16

static TI_SPARSE struct {
    uint64_t events; /* number of events written up to the last of them */
    int n;
    struct answer {
        uint16_t op;
        int64_t comm, peer, tag, from, fromtag;
    } said[ANSWERS];
} answers;

static bool same(const struct answer *a, const struct answer *b)
{
    return a->op == b->op && a->comm == b->comm && a->peer == b->peer && a->tag == b->tag &&
           a->from == b->from && a->fromtag == b->fromtag;
}

/* Whether a probe with this answer is among the last events. */
static bool is_repeated(const struct answer *a)
{
    for (int i = 0; i < answers.n; i++)
        if (same(&answers.said[i], a))
            return true;
    return false;
}

/* The probe was recorded. */
static void remember(const struct answer *a)
{
    answers.events = ti_writer_events(ti_state.writer);
    if (answers.n < ANSWERS)
        answers.said[answers.n++] = *a;
}

void ti_rec_probe(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = ti_envelope(&ev, c);
    struct answer a = {.op = c->op};

    if (!comm)
        return;
    if (ti_wildcard(c->peer, c->tag)) {
        ti_match(&ev, c, c->status, comm->rank);
        a.from = ev.arg[TI_F_FROM];
        a.fromtag = ev.arg[TI_F_FROMTAG];
    }
    a.comm = ev.arg[TI_F_COMM];
    a.peer = ev.arg[TI_F_PEER];
    a.tag = ev.arg[TI_F_TAG];
    if (answers.events != ti_writer_events(ti_state.writer))
        answers.n = 0; /* another event came after them */
    if (is_repeated(&a)) {
        ti_poll_failed();
        return;
    }
    ti_emit(c, &ev, false);
    remember(&a);
}

/* With MPI_PROC_NULL the answer is always "yes" and there is no message, so the number of calls
 * has no meaning. */
void ti_rec_iprobe(struct ti_mpi_call *c)
{
    if (*c->flag && c->peer != MPI_PROC_NULL)
        ti_rec_probe(c);
    else
        ti_poll_failed();
}

/* ------------------------------------------------------ matched messages -- */

static MPI_Message handle_of(const struct ti_mpi_call *c)
{
    return c->binding == TI_BINDING_C ? *(MPI_Message *)c->message
                                      : PMPI_Message_f2c(*(MPI_Fint *)c->message);
}

static uint64_t bits_of(MPI_Message handle)
{
    return ti_bits(&handle, sizeof handle);
}

/* Add the message that the call took; returns its number for the event. */
static int64_t add(struct ti_mpi_call *c, const struct ti_event *ev)
{
    bool match = ev->mask & TI_M_MATCH;
    struct ti_live *m = ti_table_add(&table, bits_of(handle_of(c)), c->message, ti_state.stopped);

    if (!m) {
        ti_stop_recording("no memory to follow %u messages", table.used);
        return NO_MESSAGE;
    }
    m->comm = (uint32_t)ev->arg[TI_F_COMM];
    m->peer = (int)ev->arg[match ? TI_F_FROM : TI_F_PEER];
    m->tag = (int)ev->arg[match ? TI_F_FROMTAG : TI_F_TAG];
    return m->number;
}

void ti_rec_mprobe(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = ti_envelope(&ev, c);

    if (!comm)
        return;
    if (ti_wildcard(c->peer, c->tag))
        ti_match(&ev, c, c->status, comm->rank);
    ti_event_set(&ev, TI_F_MSG, c->peer == MPI_PROC_NULL ? NO_MESSAGE : add(c, &ev));
    ti_emit(c, &ev, false);
}

void ti_rec_improbe(struct ti_mpi_call *c)
{
    if (*c->flag)
        ti_rec_mprobe(c);
    else
        ti_poll_failed();
}

/* Save the handle, which the call overwrites.  MPI itself reports a null one. */
void ti_pre_mrecv(struct ti_mpi_call *c)
{
    c->held = (int64_t)bits_of(c->message ? handle_of(c) : MPI_MESSAGE_NULL);
}

/*
 * Begin the event of a call that received a matched message, and remove the message from the
 * table.  False if the trace does not show it.  MPI_MESSAGE_NO_PROC has no known communicator: the
 * event has MPI_COMM_WORLD.
 */
static bool received(struct ti_event *ev, struct ti_mpi_call *c)
{
    struct ti_live *m;

    ti_event_begin(ev, TI_M_COMM | TI_M_PEER | TI_M_TAG | TI_M_MSG);
    ti_content(ev, c);
    if ((uint64_t)c->held == bits_of(MPI_MESSAGE_NO_PROC)) {
        ev->arg[TI_F_COMM] = 0;
        ev->arg[TI_F_PEER] = TI_NULL;
        ev->arg[TI_F_TAG] = TI_ANY;
        ev->arg[TI_F_MSG] = NO_MESSAGE;
        return !ti_state.stopped;
    }
    m = ti_table_find(&table, (uint64_t)c->held, c->message);
    if (!m) {
        ti_stop_unknown("message");
        return false;
    }
    ev->arg[TI_F_COMM] = m->comm;
    ev->arg[TI_F_PEER] = m->peer;
    ev->arg[TI_F_TAG] = m->tag;
    ev->arg[TI_F_MSG] = m->number;
    ti_table_remove(&table, m);
    return ev->arg[TI_F_MSG] != TI_HIDDEN;
}

void ti_rec_mrecv(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (received(&ev, c))
        ti_emit(c, &ev, true);
}

/* The call also receives a message that is longer than the buffer, and fails. */
void ti_fail_mrecv(struct ti_mpi_call *c, int rc)
{
    (void)rc;
    if ((uint64_t)c->held != bits_of(MPI_MESSAGE_NULL) && handle_of(c) == MPI_MESSAGE_NULL)
        ti_rec_mrecv(c);
}

void ti_rec_imrecv(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!received(&ev, c)) {
        ti_request_hide(c);
        return;
    }
    ti_event_set(&ev, TI_F_REQ, ti_request_add(c, false, false, 0));
    ti_emit(c, &ev, true);
}
