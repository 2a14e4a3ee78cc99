/*
 * Operations on files.
 *
 * In a simulation, only accesses to data take time, on the disk of the rank's host, if it has one;
 * a collective call is a barrier of the ranks of the file.  In a live run, files are in a folder of
 * the replay (--files), under the recorded names. Nothing outside this folder is read or written.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/map.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "trace/foreign.h"

/* Size of a file that the program reads but did not write: more than it can read. */
#define INPUT_BYTES ((off_t)1 << 40)

static struct ti_replay_file *file_at(struct ti_replayer *p, const struct ti_event *ev)
{
    int64_t number = ev->arg[TI_F_FILE];

    if (number < 0 || (size_t)number >= p->nfiles || !p->file[number].open)
        ti_replay_fail(p, TI_ERR_INPUT, "file %lld is not open", (long long)number);
    return &p->file[number];
}

static struct ti_replay_file *new_file(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_file *f = TI_REPLAY_AT(p, file, nfiles, files_room, ev->arg[TI_F_FILE]);

    *f = (struct ti_replay_file){.open = true,
                                 .comm = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle};
    return f;
}

#if SIMULATED

static void together(struct ti_replayer *p, const struct ti_event *ev)
{
    if (ti_op_is(ev->op, TI_T_BY_ALL))
        ti_replay_must(p, MPI_Barrier(file_at(p, ev)->comm));
}

void ti_replay_remove_files(const struct ti_replayer *p)
{
    (void)p; /* there are none */
}

void replay_file_open(struct ti_replayer *p, const struct ti_event *ev)
{
    new_file(p, ev)->disk = ti_engine_disk();
    together(p, ev);
}

void replay_file_close(struct ti_replayer *p, const struct ti_event *ev)
{
    together(p, ev);
    file_at(p, ev)->open = false;
}

void replay_file_delete(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)p;
    (void)ev;
}

void replay_file_set(struct ti_replayer *p, const struct ti_event *ev)
{
    together(p, ev);
}

/* Whether the event is the first half of a split access, whose ranks meet in the second half. */
static bool begins(const struct ti_event *ev)
{
    const char *text = ti_op_info(ev->op)->text;
    size_t bytes = strlen(text), end = strlen("_begin");

    return bytes > end && !strcmp(text + bytes - end, "_begin");
}

/* The bytes that the access moved. */
static int64_t moved(const struct ti_event *ev)
{
    return ev->arg[ev->mask & TI_M_BYTES2 ? TI_F_BYTES2 : TI_F_BYTES];
}

static struct ti_engine_access *begin_access(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_file *f = file_at(p, ev);

    if (!f->disk)
        return NULL;
    p->accesses++;
    return ti_engine_begin_access(f->disk, moved(ev));
}

void ti_replay_access_end(struct ti_replayer *p, struct ti_engine_access **access)
{
    if (!*access)
        return;
    ti_engine_end_access(*access);
    *access = NULL;
    p->accesses--;
}

static void nonblocking_access(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = ti_replay_new_request(p);

    q->active = true;
    q->access = begin_access(p, ev);
    if (ti_op_is(ev->op, TI_T_BY_ALL))
        ti_replay_must(p, MPI_Iallgather(ti_engine_send_buffer(p, 1), 1, MPI_BYTE,
                                         ti_engine_recv_buffer(p, 1), 1, MPI_BYTE,
                                         file_at(p, ev)->comm, q->handle));
}

void replay_file_access(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_file *f = file_at(p, ev);

    if (ev->mask & TI_M_REQ) {
        nonblocking_access(p, ev);
    } else if (begins(ev)) {
        f->access = begin_access(p, ev);
    } else {
        if (f->disk && !f->access && (ev->mask & TI_M_BYTES))
            ti_engine_access(f->disk, moved(ev));
        ti_replay_access_end(p, &f->access);
        together(p, ev);
    }
}

#else

/* ---- names ---- */

/* Makes a folder unless it is there; true if it was not. */
static bool make_folder(struct ti_replayer *p, const char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    if (errno != EEXIST)
        ti_replay_fail(p, TI_ERR_IO, "cannot create folder '%s': %s", path, strerror(errno));
    return false;
}

/* Creates the parent folders of a path below our folder. */
static void make_folders(struct ti_replayer *p, char *path)
{
    const char *other;

    p->made_files = make_folder(p, p->setup->files) || p->made_files;
    other = ti_foreign(p->setup->files);
    if (other)
        ti_replay_fail(p, TI_ERR_IO,
                       "folder '%s' is not safe: '%s' belongs to another user, in a folder that "
                       "everybody can write to",
                       p->setup->files, other);
    for (char *at = path + strlen(p->setup->files) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        make_folder(p, path);
        *at = '/';
    }
}

/* Path of the event's file below our folder; free() it.  The recorded path is kept, so that
 * different files stay different.  But ".." must not lead out of the folder, and a prefix such as
 * "ufs:" must not select a file system of the MPI library. */
static char *path_of(struct ti_replayer *p, const struct ti_event *ev)
{
    const char *name = ti_reader_string(p->r, TI_STRING_FILE, ev->arg[TI_F_NAME]);
    char *path, *at;

    if (!name)
        ti_replay_fail(p, TI_ERR_INPUT, "the trace does not say which file");
    while (*name == '/')
        name++;
    if (asprintf(&path, "%s/%s", p->setup->files, *name ? name : "file") < 0)
        ti_replay_fail(p, TI_ERR_IO, "out of memory");
    for (at = path + strlen(p->setup->files) + 1; *at; at++)
        if (*at == ':' || (*at == '.' && (at[1] == '.' || at[-1] == '.')))
            *at = '_';
    make_folders(p, path);
    return path;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

void ti_replay_remove_files(const struct ti_replayer *p)
{
    if (p->made_files)
        nftw(p->setup->files, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Creates a file that the program only reads, with enough bytes, unless it exists. */
static void provide(struct ti_replayer *p, const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);

    if (fd >= 0 && ftruncate(fd, INPUT_BYTES) != 0)
        ti_replay_fail(p, TI_ERR_IO, "cannot make '%s' %lld bytes long", path,
                       (long long)INPUT_BYTES);
    if (fd >= 0)
        close(fd);
}

static int access_mode(int64_t mode)
{
    return (mode & TI_MODE_RDONLY ? MPI_MODE_RDONLY : 0) |
           (mode & TI_MODE_WRONLY ? MPI_MODE_WRONLY : 0) |
           (mode & TI_MODE_RDWR ? MPI_MODE_RDWR : 0) |
           (mode & TI_MODE_CREATE ? MPI_MODE_CREATE : 0) |
           (mode & TI_MODE_EXCL ? MPI_MODE_EXCL : 0) |
           (mode & TI_MODE_DELETE ? MPI_MODE_DELETE_ON_CLOSE : 0) |
           (mode & TI_MODE_UNIQUE ? MPI_MODE_UNIQUE_OPEN : 0) |
           (mode & TI_MODE_SEQUENTIAL ? MPI_MODE_SEQUENTIAL : 0) |
           (mode & TI_MODE_APPEND ? MPI_MODE_APPEND : 0);
}

void replay_file_open(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_file *f = new_file(p, ev);
    char *path = path_of(p, ev);

    if (!(ev->arg[TI_F_MODE] & TI_MODE_CREATE))
        provide(p, path);
    ti_replay_must(p, MPI_File_open(f->comm, path, access_mode(ev->arg[TI_F_MODE]), MPI_INFO_NULL,
                                    &f->handle));
    ti_replay_must(p, PMPI_Comm_dup(f->comm, &f->comm)); /* the program may free its own */
    f->path = path;
    f->esize = 1;
    f->sequential = (ev->arg[TI_F_MODE] & TI_MODE_SEQUENTIAL) != 0;
}

void replay_file_close(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_file *f = file_at(p, ev);

    ti_replay_must(p, MPI_File_close(&f->handle));
    ti_replay_must(p, PMPI_Comm_free(&f->comm));
    free(f->path);
    f->open = false;
}

void replay_file_delete(struct ti_replayer *p, const struct ti_event *ev)
{
    char *path = path_of(p, ev);

    provide(p, path);
    ti_replay_must(p, MPI_File_delete(path, MPI_INFO_NULL));
    free(path);
}

/* ---- views, sizes, positions ---- */

/* Position of this rank's piece among the pieces of all ranks: *before gets the bytes in front of
 * it, *all the sum.  True if the pieces form one whole: each piece follows the previous one, or all
 * begin at the same offset and `several` is true. */
static bool lies_among(struct ti_replayer *p, MPI_Comm comm, int64_t at, int64_t bytes,
                       bool several, int64_t *before, int64_t *all)
{
    int64_t own[2] = {at, bytes}, *each;
    int n, rank;
    bool same = true, follow = true;
    size_t none = 0;

    ti_replay_must(p, PMPI_Comm_size(comm, &n));
    ti_replay_must(p, PMPI_Comm_rank(comm, &rank));
    each = ti_grow(NULL, &none, 2 * (size_t)n, sizeof *each);
    ti_replay_must(p, PMPI_Allgather(own, 2, MPI_INT64_T, each, 2, MPI_INT64_T, comm));
    *before = *all = 0;
    for (int i = 0; i < n; i++) {
        same = same && each[2 * i] == each[0];
        follow = follow && each[2 * i] == each[0] + *all;
        *before += same && i < rank ? each[2 * i + 1] : 0;
        *all += each[2 * i + 1];
    }
    free(each);
    return n > 1 && (follow || (same && several));
}

/*
 * A trace has the size of a view's file type, but not its gaps.  If the pieces of all ranks form
 * one whole (lies_among()), the gaps of a rank are the pieces of the others.  Without gaps, all
 * ranks would write to the same bytes.
 */
static void set_view(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_file *f)
{
    int64_t at = ev->arg[TI_F_OFFSET], bytes = ev->arg[TI_F_BYTES], before, all;
    MPI_Datatype etype, piece, tile;

    f->esize = ev->arg[TI_F_ESIZE];
    etype = ti_replay_type(p, f->esize);
    tile = piece =
        f->esize == bytes || !f->esize ? etype : ti_replay_contiguous(p, bytes / f->esize, etype);
    if (at != TI_NULL)
        f->place = at;
    f->tiled = bytes > 1 &&
               lies_among(p, f->comm, f->place, bytes, bytes > f->esize, &before, &all) &&
               all > bytes;
    if (f->tiled) {
        ti_replay_must(p, PMPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){(MPI_Aint)before},
                                                  &piece, &tile));
        piece = tile;
        ti_replay_must(p, PMPI_Type_create_resized(piece, 0, (MPI_Aint)all, &tile));
        ti_replay_must(p, PMPI_Type_free(&piece));
        ti_replay_must(p, PMPI_Type_commit(&tile));
    }
    ti_replay_must(p, MPI_File_set_view(f->handle,
                                        at == TI_NULL ? MPI_DISPLACEMENT_CURRENT : (MPI_Offset)at,
                                        etype, tile, "native", MPI_INFO_NULL));
    if (f->tiled)
        ti_replay_must(p, PMPI_Type_free(&tile));
}

static void set_info(struct ti_replayer *p, MPI_File file)
{
    MPI_Info info;

    ti_replay_must(p, PMPI_Info_create(&info));
    ti_replay_must(p, MPI_File_set_info(file, info));
    ti_replay_must(p, PMPI_Info_free(&info));
}

void replay_file_set(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_File file = file_at(p, ev)->handle;
    MPI_Offset bytes = (MPI_Offset)ev->arg[TI_F_BYTES];
    int64_t mode = ev->arg[TI_F_MODE];

    if (ev->op == TI_OP_FILE_SET_VIEW)
        set_view(p, ev, file_at(p, ev));
    else if (ev->op == TI_OP_FILE_SET_INFO)
        set_info(p, file);
    else
        ti_replay_must(p, ev->op == TI_OP_FILE_SET_SIZE      ? MPI_File_set_size(file, bytes)
                          : ev->op == TI_OP_FILE_PREALLOCATE ? MPI_File_preallocate(file, bytes)
                          : ev->op == TI_OP_FILE_SET_ATOMICITY
                              ? MPI_File_set_atomicity(file, (int)ev->arg[TI_F_LEVEL])
                          : ev->op == TI_OP_FILE_SEEK_SHARED
                              ? MPI_File_seek_shared(file, (MPI_Offset)ev->arg[TI_F_OFFSET],
                                                     mode & TI_MODE_CUR   ? MPI_SEEK_CUR
                                                     : mode & TI_MODE_END ? MPI_SEEK_END
                                                                          : MPI_SEEK_SET)
                              : MPI_File_sync(file));
}

/* ---- access to data ---- */

/* Whether the access is at the rank's own file pointer. */
static bool at_own_pointer(uint32_t op)
{
    return op == TI_OP_FILE_READ || op == TI_OP_FILE_READ_ALL || op == TI_OP_FILE_IREAD ||
           op == TI_OP_FILE_IREAD_ALL || op == TI_OP_FILE_READ_ALL_BEGIN;
}

/* Extends the file to `end` bytes. */
static void extend(struct ti_replayer *p, const struct ti_replay_file *f, MPI_Offset end)
{
    int fd = open(f->path, O_WRONLY);

    if (fd < 0 || pwrite(fd, "", 1, (off_t)end - 1) != 1)
        ti_replay_fail(p, TI_ERR_IO, "cannot make '%s' %lld bytes long", f->path, (long long)end);
    close(fd);
}

/* Truncates the file to `end` bytes. */
static void cut(struct ti_replayer *p, const struct ti_replay_file *f, MPI_Offset end)
{
    if (truncate(f->path, (off_t)end) != 0)
        ti_replay_fail(p, TI_ERR_IO, "cannot make '%s' %lld bytes long", f->path, (long long)end);
}

/* Offset in the file of the end of `bytes` bytes from element `at` of the view. */
static MPI_Offset end_of(struct ti_replayer *p, const struct ti_replay_file *f, MPI_Offset at,
                         int64_t bytes)
{
    MPI_Offset last;

    if (bytes < f->esize)
        return f->place + at * f->esize + bytes;
    ti_replay_must(p, PMPI_File_get_byte_offset(f->handle, at + bytes / f->esize - 1, &last));
    return last + f->esize;
}

/*
 * Makes a read return the recorded number of bytes.  Seeks of the rank's own file pointer are not
 * recorded, so the pointer is moved if the file would end too early or too late.  The shared
 * pointer has its recorded position, so the file is truncated instead.
 */
static void aim(struct ti_replayer *p, const struct ti_event *ev, const struct ti_replay_file *f)
{
    bool whole = !(ev->mask & TI_M_BYTES2), own = at_own_pointer(ev->op);
    int64_t bytes = ev->arg[whole ? TI_F_BYTES : TI_F_BYTES2];
    MPI_Offset at = (MPI_Offset)ev->arg[TI_F_OFFSET], size, end;

    if (ev->op == TI_OP_FILE_READ_SHARED && !whole) {
        ti_replay_must(p, PMPI_File_get_position_shared(f->handle, &at));
        cut(p, f, end_of(p, f, at, bytes));
    }
    if (f->sequential || !f->esize || !ev->arg[TI_F_BYTES] ||
        !(own || (ti_op_is(ev->op, TI_T_READS) && (ev->mask & TI_M_OFFSET))))
        return;
    ti_replay_must(p, PMPI_File_get_size(f->handle, &size));
    if (own)
        ti_replay_must(p, PMPI_File_get_position(f->handle, &at));
    end = end_of(p, f, at, bytes);
    if (own && (whole ? end > size : end != size)) {
        at =
            whole || f->tiled || size - bytes < f->place ? 0 : (size - bytes - f->place) / f->esize;
        ti_replay_must(p, PMPI_File_seek(f->handle, at, MPI_SEEK_SET));
        end = end_of(p, f, at, bytes);
    }
    if (bytes && end > size)
        extend(p, f, end);
}

/* Arguments of any access. */
struct access {
    MPI_File file;
    MPI_Offset at;
    void *data;
    int count;
    MPI_Datatype type;
    MPI_Request *request;
};

#define DATA a->data, a->count, a->type

#define ACCESS(NAME, name)                                                                          \
    static int NAME(const struct access *a, uint32_t op)                                            \
    {                                                                                               \
        MPI_Status *s = MPI_STATUS_IGNORE;                                                          \
        MPI_File f = a->file;                                                                       \
                                                                                                    \
        return op == TI_OP_FILE_##NAME             ? MPI_File_##name(f, DATA, s)                    \
               : op == TI_OP_FILE_##NAME##_AT      ? MPI_File_##name##_at(f, a->at, DATA, s)        \
               : op == TI_OP_FILE_##NAME##_ALL     ? MPI_File_##name##_all(f, DATA, s)              \
               : op == TI_OP_FILE_##NAME##_AT_ALL  ? MPI_File_##name##_at_all(f, a->at, DATA, s)    \
               : op == TI_OP_FILE_##NAME##_SHARED  ? MPI_File_##name##_shared(f, DATA, s)           \
               : op == TI_OP_FILE_##NAME##_ORDERED ? MPI_File_##name##_ordered(f, DATA, s)          \
               : op == TI_OP_FILE_I##NAME          ? MPI_File_i##name(f, DATA, a->request)          \
               : op == TI_OP_FILE_I##NAME##_AT  ? MPI_File_i##name##_at(f, a->at, DATA, a->request) \
               : op == TI_OP_FILE_I##NAME##_ALL ? MPI_File_i##name##_all(f, DATA, a->request)       \
               : op == TI_OP_FILE_I##NAME##_AT_ALL                                                  \
                   ? MPI_File_i##name##_at_all(f, a->at, DATA, a->request)                          \
               : op == TI_OP_FILE_I##NAME##_SHARED                                                  \
                   ? MPI_File_i##name##_shared(f, DATA, a->request)                                 \
               : op == TI_OP_FILE_##NAME##_ALL_BEGIN ? MPI_File_##name##_all_begin(f, DATA)         \
               : op == TI_OP_FILE_##NAME##_ALL_END   ? MPI_File_##name##_all_end(f, a->data, s)     \
               : op == TI_OP_FILE_##NAME##_AT_ALL_BEGIN                                             \
                   ? MPI_File_##name##_at_all_begin(f, a->at, DATA)                                 \
               : op == TI_OP_FILE_##NAME##_AT_ALL_END                                               \
                   ? MPI_File_##name##_at_all_end(f, a->data, s)                                    \
               : op == TI_OP_FILE_##NAME##_ORDERED_BEGIN                                            \
                   ? MPI_File_##name##_ordered_begin(f, DATA)                                       \
               : op == TI_OP_FILE_##NAME##_ORDERED_END                                              \
                   ? MPI_File_##name##_ordered_end(f, a->data, s)                                   \
                   : -1;                                                                            \
    }

ACCESS(READ, read)
ACCESS(WRITE, write)

void replay_file_access(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = ev->mask & TI_M_REQ ? ti_replay_new_request(p) : NULL;
    struct ti_replay_file *f = file_at(p, ev);
    struct access a = {
        .file = f->handle, .at = (MPI_Offset)ev->arg[TI_F_OFFSET], .request = q ? q->handle : NULL};
    int returned;

    if (q)
        q->active = true;
    a.count =
        ti_replay_count(p, TI_ELEMENTS_DATA, ev->arg[TI_F_BYTES], ev->arg[TI_F_ESIZE], &a.type);
    /* Writes use the receive buffer too: its contents have no meaning. */
    a.data = ti_engine_recv_buffer(p, (size_t)ev->arg[TI_F_BYTES]);
    aim(p, ev, f);
    returned = READ(&a, ev->op);
    ti_replay_must(p, returned == -1 ? WRITE(&a, ev->op) : returned);
}

#endif
