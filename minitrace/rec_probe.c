/*
 * Probes, and the messages that matched ones take out of the queue.
 *
 * Such a message is known by its handle alone until it is received: what it is,
 * its communicator, source and tag, is kept from the probe.
 */
#include "minitrace/state.h"
#include "minitrace/table.h"

#define NO_MESSAGE (-1) /* number of MPI_MESSAGE_NO_PROC */

static struct ti_table table;

/*
 * The probes that were the last events, as far as there is room.  A probe leaves
 * its message where it is: one that gives the answer it has given already, and no
 * other event since, was asked again, as in a loop that waits for two messages,
 * and how often is a matter of time.
 */
#define ANSWERS 16

static struct {
    uint64_t events; /* written when the latest of them was */
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

/* Whether this probe said so before. */
static bool is_repeated(const struct answer *a)
{
    if (answers.events != ti_writer_events(ti_state.writer))
        answers.n = 0;
    for (int i = 0; i < answers.n; i++)
        if (same(&answers.said[i], a))
            return true;
    return false;
}

/* It is an event now. */
static void remember(const struct answer *a)
{
    answers.events = ti_writer_events(ti_state.writer);
    if (answers.n < ANSWERS)
        answers.said[answers.n++] = *a;
}

static void probed(struct ti_mpi_call *c)
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
    if (is_repeated(&a)) {
        ti_poll_failed();
        return;
    }
    ti_emit(c, &ev, false);
    remember(&a);
}

void ti_pre_probe(struct ti_mpi_call *c)
{
    ti_pre_recv(c);
}

void ti_rec_probe(struct ti_mpi_call *c)
{
    probed(c);
}

void ti_pre_iprobe(struct ti_mpi_call *c)
{
    ti_pre_recv(c);
}

/* MPI_PROC_NULL always answers "yes", and there is no message: however often it
 * is asked says nothing. */
void ti_rec_iprobe(struct ti_mpi_call *c)
{
    if (*c->flag && c->peer != MPI_PROC_NULL)
        probed(c);
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

/* The call took a message of this source and tag; its number for the event. */
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

void ti_pre_mprobe(struct ti_mpi_call *c)
{
    ti_pre_recv(c);
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

void ti_pre_improbe(struct ti_mpi_call *c)
{
    ti_pre_recv(c);
}

void ti_rec_improbe(struct ti_mpi_call *c)
{
    if (*c->flag)
        ti_rec_mprobe(c);
    else
        ti_poll_failed();
}

/* The call overwrites the handle; a null one is MPI's to find. */
static void save_handle(struct ti_mpi_call *c)
{
    c->held = (int64_t)bits_of(c->message ? handle_of(c) : MPI_MESSAGE_NULL);
}

/*
 * The call received the message: begin its event, and forget it.  False if the
 * trace does not show it.  Of no message the communicator is not known: the
 * world's.
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
        ti_stop_untracked("a message that no traced call made");
        return false;
    }
    ev->arg[TI_F_COMM] = m->comm;
    ev->arg[TI_F_PEER] = m->peer;
    ev->arg[TI_F_TAG] = m->tag;
    ev->arg[TI_F_MSG] = m->number;
    ti_table_remove(&table, m);
    return ev->arg[TI_F_MSG] != TI_HIDDEN;
}

void ti_pre_mrecv(struct ti_mpi_call *c)
{
    save_handle(c);
}

void ti_rec_mrecv(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (received(&ev, c))
        ti_emit(c, &ev, true);
}

/* A message that is received although it is too long is gone all the same. */
void ti_fail_mrecv(struct ti_mpi_call *c, int rc)
{
    (void)rc;
    if ((uint64_t)c->held != bits_of(MPI_MESSAGE_NULL) && handle_of(c) == MPI_MESSAGE_NULL)
        ti_rec_mrecv(c);
}

void ti_pre_imrecv(struct ti_mpi_call *c)
{
    save_handle(c);
}

void ti_rec_imrecv(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!received(&ev, c)) {
        ti_request_hide(c);
        return;
    }
    ti_event_set(&ev, TI_F_REQ, ti_request_add(c, false, 0));
    ti_emit(c, &ev, true);
}
