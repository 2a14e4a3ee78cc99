/*
 * Recorders of files.  A file is known from opening to closing, and events refer to it by number.
 * The name of a file is written when the file is first opened or deleted.
 *
 * The volume of an event is what the call asked for.  If MPI's status says that less was moved, as
 * in a read at the end of the file, the event has the smaller volume, too.
 */
#include <string.h>

#include "minitrace/recorders/shared.h"

struct file {
    struct ti_handle handle;
    int64_t number; /* in the order in which this rank met them */
    int64_t asked;  /* bytes that the split collective in progress asked for */
};

static struct ti_handles files = TI_HANDLES(struct file);
static int64_t files_met;

static const struct ti_mode access_modes[] = {
    {MPI_MODE_RDONLY, TI_MODE_RDONLY},      {MPI_MODE_WRONLY, TI_MODE_WRONLY},
    {MPI_MODE_RDWR, TI_MODE_RDWR},          {MPI_MODE_CREATE, TI_MODE_CREATE},
    {MPI_MODE_EXCL, TI_MODE_EXCL},          {MPI_MODE_DELETE_ON_CLOSE, TI_MODE_DELETE},
    {MPI_MODE_UNIQUE_OPEN, TI_MODE_UNIQUE}, {MPI_MODE_SEQUENTIAL, TI_MODE_SEQUENTIAL},
    {MPI_MODE_APPEND, TI_MODE_APPEND},
};

/* ------------------------------------------------------------------ names -- */

/* A cache of names by hash, so that a name is not written again.  A name that was evicted gets a
 * new number when it is met again. */
#define NAMES 128

static TI_SPARSE struct {
    uint64_t hash;
    size_t bytes;
    uint32_t number;
} met[NAMES];
static unsigned names, oldest;

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = TI_HASH_START;

    for (size_t i = 0; i < bytes; i++)
        hash = ti_hash_word(hash, (unsigned char)text[i]);
    return hash;
}

/* The string number of the call's file name. */
static int64_t name_of(const struct ti_mpi_call *c)
{
    char text[TI_STRING_BYTES + 1];
    size_t bytes = c->name_bytes, shown;
    uint64_t hash;
    unsigned slot;

    if (c->binding == TI_BINDING_FORTRAN)
        while (bytes && c->name[bytes - 1] == ' ')
            bytes--;
    hash = hash_of(c->name, bytes);
    for (unsigned i = 0; i < names; i++)
        if (met[i].hash == hash && met[i].bytes == bytes)
            return met[i].number;
    shown = bytes < TI_STRING_BYTES ? bytes : TI_STRING_BYTES;
    memcpy(text, c->name, shown);
    text[shown] = '\0';
    slot = names < NAMES ? names++ : oldest++ % NAMES;
    met[slot].hash = hash;
    met[slot].bytes = bytes;
    met[slot].number = ti_writer_string(ti_state.writer, TI_STRING_FILE, text);
    return met[slot].number;
}

/* ---------------------------------------------------------- open and close -- */

/* The file that the call opened or is about to close. */
static MPI_File file_of(const struct ti_mpi_call *c)
{
    return c->binding == TI_BINDING_C ? *(const MPI_File *)c->newfile
                                      : PMPI_File_f2c(*(const MPI_Fint *)c->newfile);
}

void ti_rec_file_open(struct ti_mpi_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_known(c->comm);
    struct file new = {{(uintptr_t)file_of(c)}, files_met++, 0};
    struct ti_event ev;

    if (!comm)
        return;
    if (!ti_handle_add(&files, &new.handle)) {
        ti_stop_recording("no memory to follow %u files", files.used);
        return;
    }
    ti_event_begin(&ev, TI_M_COMM | TI_M_FILE | TI_M_NAME | TI_M_MODE);
    ev.arg[TI_F_COMM] = comm->index;
    ev.arg[TI_F_FILE] = new.number;
    ev.arg[TI_F_NAME] = name_of(c);
    ev.arg[TI_F_MODE] =
        ti_mode_of(access_modes, sizeof access_modes / sizeof *access_modes, c->mode);
    ti_emit(c, &ev, true);
}

/* An unknown handle is no failure here: MPI itself checks it.  The file is forgotten after the
 * call has succeeded, when the application's handle is gone; hence held2. */
void ti_pre_file_close(struct ti_mpi_call *c)
{
    const struct file *e = c->newfile ? ti_handle_find(&files, (uintptr_t)file_of(c)) : NULL;

    c->held = e ? e->number : -1;
    c->held2 = e ? (int64_t)e->handle.bits : 0;
}

void ti_rec_file_close(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (c->held < 0)
        return;
    ti_handle_forget(&files, (uintptr_t)c->held2);
    ti_event_begin(&ev, TI_M_FILE);
    ev.arg[TI_F_FILE] = c->held;
    ti_emit(c, &ev, true);
}

void ti_rec_file_delete(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (ti_state.stopped) {
        ti_state.burst = 0;
        return;
    }
    ti_event_begin(&ev, TI_M_NAME);
    ev.arg[TI_F_NAME] = name_of(c);
    ti_emit(c, &ev, false);
}

/* -------------------------------------------------------- all but the data -- */

/* Begin an event on the call's file.  If it is unknown, end the recording and return NULL. */
static struct file *begin(struct ti_event *ev, const struct ti_mpi_call *c)
{
    struct file *file = ti_handle_find(&files, (uintptr_t)c->file);

    if (!file) {
        ti_stop_unknown("file");
        return NULL;
    }
    ti_event_begin(ev, TI_M_FILE);
    ev->arg[TI_F_FILE] = file->number;
    return file;
}

/* Recorded even while MPI_Pcontrol(0) holds: later explicit offsets are in units of the view's
 * elements. */
void ti_rec_file_set_view(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    ev.mask |= TI_M_BYTES | TI_M_ESIZE | TI_M_OFFSET;
    ev.arg[TI_F_OFFSET] = c->offset == MPI_DISPLACEMENT_CURRENT ? TI_NULL : c->offset;
    ev.arg[TI_F_ESIZE] = ti_type_bytes(c->type);
    ev.arg[TI_F_BYTES] = ti_type_bytes(c->type2);
    ti_emit(c, &ev, true);
}

/* Calls whose fields are those of the operation. */
void ti_rec_file_call(struct ti_mpi_call *c)
{
    uint32_t fields = ti_op_info(c->op)->fields;
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    ev.mask = fields;
    if (fields & TI_M_BYTES)
        ev.arg[TI_F_BYTES] = c->bytes;
    if (fields & TI_M_LEVEL)
        ev.arg[TI_F_LEVEL] = c->level != 0; /* a LOGICAL may be true as -1 */
    if (fields & TI_M_OFFSET)
        ev.arg[TI_F_OFFSET] = c->offset;
    if (fields & TI_M_MODE)
        ev.arg[TI_F_MODE] = c->mode == MPI_SEEK_CUR   ? TI_MODE_CUR
                            : c->mode == MPI_SEEK_END ? TI_MODE_END
                                                      : TI_MODE_NONE;
    ti_emit(c, &ev, false);
}

/* ------------------------------------------------------------- data access -- */

/* Lend a status to a call that ignores it.  It starts with an impossible size, because some MPI
 * functions leave the status alone when there is nothing to move. */
void ti_pre_file_access(struct ti_mpi_call *c)
{
    const void *given = c->status;
    MPI_Status none = {0};

    ti_lend_status(c);
    if (c->status == given)
        return;
    PMPI_Status_set_elements_x(&none, MPI_BYTE, INT64_MAX / 2); /* INT64_MAX kills MPICH */
    if (c->binding == TI_BINDING_C)
        *(MPI_Status *)c->status = none;
    else
        PMPI_Status_c2f(&none, c->status);
}

/* Set what was moved, if that is less than `asked`.  MPI libraries store bytes in a status, so
 * asking for MPI_BYTE is right for every type. */
static void set_moved(struct ti_event *ev, const struct ti_mpi_call *c, int64_t asked)
{
    MPI_Count moved = 0;
    MPI_Status s;

    if (c->binding == TI_BINDING_C)
        s = *(const MPI_Status *)c->status;
    else
        PMPI_Status_f2c(c->status, &s);
    if (PMPI_Get_elements_x(&s, MPI_BYTE, &moved) != MPI_SUCCESS || moved < 0 || moved >= asked)
        return;
    ev->mask |= TI_M_BYTES2;
    ev->arg[TI_F_BYTES2] = moved;
}

/* Begin an event of a call that moves data; NULL if its file is unknown. */
static struct file *transfer(struct ti_event *ev, const struct ti_mpi_call *c)
{
    struct file *file = begin(ev, c);
    int64_t esize;

    if (!file)
        return NULL;
    esize = ti_type_bytes(c->type);
    ev->mask |= TI_M_BYTES | TI_M_ESIZE;
    ev->arg[TI_F_BYTES] = ti_bytes(c->count, esize);
    ev->arg[TI_F_ESIZE] = esize;
    if (ti_op_info(c->op)->fields & TI_M_OFFSET) {
        ev->mask |= TI_M_OFFSET;
        ev->arg[TI_F_OFFSET] = c->offset;
    }
    return file;
}

void ti_rec_file_access(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!transfer(&ev, c))
        return;
    set_moved(&ev, c, ev.arg[TI_F_BYTES]);
    ti_emit(c, &ev, false);
}

void ti_rec_file_iaccess(struct ti_mpi_call *c)
{
    struct ti_event ev;

    ti_request_emit(c, ti_state.stopped || !transfer(&ev, c) ? NULL : &ev);
}

/* A file has at most one split collective in progress. */
void ti_rec_file_begin(struct ti_mpi_call *c)
{
    struct ti_event ev;
    struct file *file = transfer(&ev, c);

    if (!file)
        return;
    file->asked = ev.arg[TI_F_BYTES];
    ti_emit(c, &ev, false);
}

void ti_rec_file_end(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct file *file = begin(&ev, c);

    if (!file)
        return;
    set_moved(&ev, c, file->asked);
    ti_emit(c, &ev, false);
}
