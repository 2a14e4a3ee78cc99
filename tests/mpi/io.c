/*
 * Files: each rank has a block of a common file, on any number of ranks.  Run as
 *
 *     io all FOLDER         everything; the files are left in FOLDER
 *     io short FOLDER       collective reads at the end of the file, in two parts
 *     io sequence FOLDER    the sequence that io.inc and io_f08.f90 have in Fortran
 *     io stranger FOLDER    a file that the trace cannot know
 *
 * The bytes that a call moved are in the trace where they are fewer than it asked for.
 * Independent reads at the end of the file tell it right in every MPI library;
 * for others the event must say what the status told the application.
 */
#include "tests/mpi/expect.h"

#include <stdint.h>
#include <string.h>

#define INTS  10 /* of a block */
#define BYTES (INTS * (int)sizeof(int))

static const char *folder;
static MPI_File file;
static int number, next_file; /* the file's, and the next one's */
static MPI_Datatype gaps;     /* every second of ten ints: 20 bytes */
static MPI_Status status;
static int out[2 * INTS], in[2 * INTS];

static const char *path_of(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void fill(void)
{
    for (int i = 0; i < 2 * INTS; i++) {
        out[i] = 1000 * rank + i;
        in[i] = -1;
    }
}

static void barrier(void)
{
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Data of other ranks is there: the sync-barrier-sync of the standard. */
static void settle(void)
{
    expect("file_sync file=%d", number);
    MPI_File_sync(file);
    barrier();
    expect("file_sync file=%d", number);
    MPI_File_sync(file);
}

static void open_file(MPI_Comm comm, int comm_number, const char *name, int mode, const char *text)
{
    number = next_file++;
    expect("file_open comm=%d file=%d mode=%s name=\"%s\"", comm_number, number, text,
           path_of(name));
    MUST(MPI_File_open(comm, path_of(name), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
}

static void close_file(void)
{
    expect("file_close file=%d", number);
    MPI_File_close(&file);
}

static int64_t told(void)
{
    MPI_Count bytes;

    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return bytes;
}

/* The event of an access that asked for `asked` bytes and told `got`; `rest` is
 * the offset, if it has one. */
static void accessed(const char *op, int asked, int esize, int64_t got, const char *rest)
{
    char less[48] = "";

    if (got < asked)
        snprintf(less, sizeof less, " rbytes=%lld", (long long)got);
    expect("file_%s bytes=%d esize=%d%s file=%d%s", op, asked, esize, less, number, rest);
}

static const char *offset(int bytes)
{
    static char text[32];

    snprintf(text, sizeof text, " offset=%d", bytes);
    return text;
}

/* A call in two turns, with a status and ignoring it: STATUS is what to pass.  What
 * was moved is the same, since nothing has changed; PLACE goes back there. */
#define TWICE(op, asked, esize, rest, place, call)                                                 \
    do {                                                                                           \
        int64_t got = asked;                                                                       \
        for (int turn = 0; turn < 2; turn++) {                                                     \
            MPI_Status *STATUS = turn ? MPI_STATUS_IGNORE : &status;                               \
            place;                                                                                 \
            MUST((call) == MPI_SUCCESS);                                                           \
            if (!turn)                                                                             \
                got = told();                                                                      \
            accessed(op, asked, esize, got, rest);                                                 \
        }                                                                                          \
    } while (0)

static void seek(int bytes)
{
    MPI_File_seek(file, bytes, MPI_SEEK_SET);
}

static void seek_shared(int bytes, int whence, const char *text)
{
    expect("file_seek_shared file=%d offset=%d mode=%s", number, bytes, text);
    MPI_File_seek_shared(file, bytes, whence);
}

static void independent(void)
{
    int mine = rank * BYTES, end = size * BYTES;

    TWICE("write_at", BYTES, 4, offset(mine), (void)0,
          MPI_File_write_at(file, mine, out, INTS, MPI_INT, STATUS));
    TWICE("write_at", 0, 4, offset(mine), (void)0,
          MPI_File_write_at(file, mine, out, 0, MPI_INT, STATUS));
    settle();
    TWICE("read_at", BYTES, 4, offset(mine), (void)0,
          MPI_File_read_at(file, mine, in, INTS, MPI_INT, STATUS));
    MUST(in[0] == 1000 * rank && in[INTS - 1] == 1000 * rank + INTS - 1);
    TWICE("read_at", BYTES, 20, offset(mine), (void)0,
          MPI_File_read_at(file, mine, in, 2, gaps, STATUS));
    TWICE("read_at", BYTES, 1, offset(end - 12), (void)0,
          MPI_File_read_at(file, end - 12, in, BYTES, MPI_BYTE, STATUS));
    MPI_File_read_at(file, end - 12, in, BYTES, MPI_BYTE, &status);
    MUST(told() == 12);
    accessed("read_at", BYTES, 1, 12, offset(end - 12));
    MPI_File_read_at(file, end + 4, in, INTS, MPI_INT, &status);
    MUST(told() == 0);
    accessed("read_at", BYTES, 4, 0, offset(end + 4));

    TWICE("write", BYTES, 4, "", seek(mine), MPI_File_write(file, out, INTS, MPI_INT, STATUS));
    settle();
    TWICE("read", BYTES, 20, "", seek(mine), MPI_File_read(file, in, 2, gaps, STATUS));
    seek(end - 8);
    MPI_File_read(file, in, INTS, MPI_INT, &status);
    MUST(told() == 8);
    accessed("read", BYTES, 4, 8, "");
}

static void collective(void)
{
    int mine = rank * BYTES;

    TWICE("write_at_all", BYTES, 20, offset(mine), (void)0,
          MPI_File_write_at_all(file, mine, out, 2, gaps, STATUS));
    TWICE("write_at_all", BYTES, 4, offset(mine), (void)0,
          MPI_File_write_at_all(file, mine, out, INTS, MPI_INT, STATUS));
    TWICE("write_all", BYTES, 4, "", seek(mine),
          MPI_File_write_all(file, out, INTS, MPI_INT, STATUS));
    settle();
    TWICE("read_at_all", BYTES, 4, offset(mine), (void)0,
          MPI_File_read_at_all(file, mine, in, INTS, MPI_INT, STATUS));
    MUST(in[0] == 1000 * rank);
    TWICE("read_all", BYTES, 4, "", seek(mine), MPI_File_read_all(file, in, INTS, MPI_INT, STATUS));
    TWICE("read_at_all", 2 * BYTES, 4, offset(mine), (void)0,
          MPI_File_read_at_all(file, mine, in, 2 * INTS, MPI_INT, STATUS));
}

/* The shared file pointer; where order is a matter of time, all write the same. */
static void shared(void)
{
    int same = 4711;

    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("write_ordered", BYTES, 4, BYTES, "");
    MPI_File_write_ordered(file, out, INTS, MPI_INT, MPI_STATUS_IGNORE);
    settle();
    seek_shared(-size * BYTES, MPI_SEEK_CUR, "cur");
    accessed("read_ordered", BYTES, 4, BYTES, "");
    MPI_File_read_ordered(file, in, INTS, MPI_INT, &status);
    MUST(in[0] == 1000 * rank && told() == BYTES);
    seek_shared(0, MPI_SEEK_END, "end");
    accessed("write_shared", 4, 4, 4, "");
    MPI_File_write_shared(file, &same, 1, MPI_INT, MPI_STATUS_IGNORE);
    settle();
    seek_shared(size * BYTES, MPI_SEEK_SET, "0");
    accessed("read_shared", 4, 4, 4, "");
    MPI_File_read_shared(file, in, 1, MPI_INT, &status);
    MUST(in[0] == same);
    barrier();
    MPI_File_read_shared(file, in, 1, MPI_INT, &status); /* all of it is read */
    MUST(told() == 0);
    accessed("read_shared", 4, 4, 0, "");
    barrier();
}

static void ended(const char *op)
{
    expect("file_%s file=%d", op, number);
}

static void split(void)
{
    int mine = rank * BYTES;

    accessed("write_at_all_begin", BYTES, 4, BYTES, offset(mine));
    MPI_File_write_at_all_begin(file, mine, out, INTS, MPI_INT);
    ended("write_at_all_end");
    MPI_File_write_at_all_end(file, out, &status);
    MUST(told() == BYTES);
    seek(mine);
    accessed("write_all_begin", BYTES, 4, BYTES, "");
    MPI_File_write_all_begin(file, out, INTS, MPI_INT);
    ended("write_all_end");
    MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("write_ordered_begin", BYTES, 4, BYTES, "");
    MPI_File_write_ordered_begin(file, out, INTS, MPI_INT);
    ended("write_ordered_end");
    MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
    settle();
    accessed("read_at_all_begin", BYTES, 4, BYTES, offset(mine));
    MPI_File_read_at_all_begin(file, mine, in, INTS, MPI_INT);
    ended("read_at_all_end");
    MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
    MUST(in[0] == 1000 * rank);
    seek(mine);
    accessed("read_all_begin", BYTES, 4, BYTES, "");
    MPI_File_read_all_begin(file, in, INTS, MPI_INT);
    ended("read_all_end");
    MPI_File_read_all_end(file, in, &status);
    MUST(told() == BYTES);
    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("read_ordered_begin", BYTES, 4, BYTES, "");
    MPI_File_read_ordered_begin(file, in, INTS, MPI_INT);
    ended("read_ordered_end");
    MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE);
    MUST(in[0] == 1000 * rank);
}

static void made(const char *op, int req, const char *rest)
{
    expect("file_%s bytes=%d esize=4 req=%d file=%d%s", op, BYTES, req, number, rest);
}

static void waited(MPI_Request *request)
{
    expect("wait req=0");
    MPI_Wait(request, &status);
    MUST(told() == BYTES);
}

static void nonblocking(void)
{
    int mine = rank * BYTES;
    MPI_Request r, several[2];

    made("iwrite_at", 0, offset(mine));
    MPI_File_iwrite_at(file, mine, out, INTS, MPI_INT, &r);
    waited(&r);
    made("iwrite_at_all", 0, offset(mine));
    MPI_File_iwrite_at_all(file, mine, out, INTS, MPI_INT, &r);
    waited(&r);
    seek(mine);
    made("iwrite", 0, "");
    MPI_File_iwrite(file, out, INTS, MPI_INT, &r);
    waited(&r);
    seek(mine);
    made("iwrite_all", 0, "");
    MPI_File_iwrite_all(file, out, INTS, MPI_INT, &r);
    waited(&r);
    settle();
    made("iread_at", 0, offset(mine));
    MPI_File_iread_at(file, mine, in, INTS, MPI_INT, &several[0]);
    made("iread_at", 1, offset(0));
    MPI_File_iread_at(file, 0, in + INTS, INTS, MPI_INT, &several[1]);
    expect("waitall all=1");
    MPI_Waitall(2, several, MPI_STATUSES_IGNORE);
    MUST(in[0] == 1000 * rank && in[INTS] == 0 && in[INTS + 1] == 1);
    made("iread_at_all", 0, offset(mine));
    MPI_File_iread_at_all(file, mine, in, INTS, MPI_INT, &r);
    waited(&r);
    seek(mine);
    made("iread", 0, "");
    MPI_File_iread(file, in, INTS, MPI_INT, &r);
    waited(&r);
    seek(mine);
    made("iread_all", 0, "");
    MPI_File_iread_all(file, in, INTS, MPI_INT, &r);
    waited(&r);
    seek_shared(0, MPI_SEEK_SET, "0");
    made("iread_shared", 0, "");
    MPI_File_iread_shared(file, in, INTS, MPI_INT, &r);
    waited(&r);
    barrier();
    seek_shared(0, MPI_SEEK_SET, "0");
    for (int i = 0; i < INTS; i++)
        in[i] = i;
    made("iwrite_shared", 0, "");
    MPI_File_iwrite_shared(file, in, INTS, MPI_INT, &r);
    waited(&r);
    barrier();
}

/* Each rank sees every size-th int; offsets are in elementary types. */
static void views(void)
{
    MPI_Datatype column;

    MPI_Type_create_resized(MPI_INT, 0, size * (int)sizeof(int), &column);
    MPI_Type_commit(&column);
    expect("file_set_view bytes=4 esize=4 file=%d offset=%d", number, 8 + 4 * rank);
    MPI_File_set_view(file, 8 + 4 * rank, MPI_INT, column, "native", MPI_INFO_NULL);
    TWICE("write_at_all", BYTES, 4, offset(2), (void)0,
          MPI_File_write_at_all(file, 2, out, INTS, MPI_INT, STATUS));
    settle();
    TWICE("read_at", 8, 4, offset(3), (void)0, MPI_File_read_at(file, 3, in, 2, MPI_INT, STATUS));
    MUST(in[0] == 1000 * rank + 1 && in[1] == 1000 * rank + 2);
    MPI_Type_free(&column);
    expect("file_set_view bytes=20 esize=4 file=%d offset=0", number);
    MPI_File_set_view(file, 0, MPI_INT, gaps, "native", MPI_INFO_NULL);
    expect("file_set_view bytes=1 esize=1 file=%d offset=0", number);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
}

static void whole_file(void)
{
    MPI_Info info;

    /* less than there is: Open MPI's root makes the file longer while other ranks
     * still look how long it is, and then waits for them in vain */
    expect("file_preallocate bytes=%d file=%d", size * BYTES / 2, number);
    MPI_File_preallocate(file, size * BYTES / 2);
    expect("file_set_size bytes=%d file=%d", 3 * size * BYTES, number);
    MPI_File_set_size(file, 3 * size * BYTES);
    expect("file_set_atomicity level=1 file=%d", number);
    MPI_File_set_atomicity(file, 1);
    expect("file_set_atomicity level=0 file=%d", number);
    MPI_File_set_atomicity(file, 0);
    MPI_Info_create(&info);
    expect("file_set_info file=%d", number);
    MPI_File_set_info(file, info);
    MPI_Info_free(&info);
}

static void failing(void)
{
    MUST(MPI_File_open(MPI_COMM_WORLD, path_of("no such folder/file"), MPI_MODE_RDONLY,
                       MPI_INFO_NULL, &file) != MPI_SUCCESS);
    MUST(MPI_File_delete(path_of("no such file"), MPI_INFO_NULL) != MPI_SUCCESS);
    open_file(MPI_COMM_WORLD, 0, "data", MPI_MODE_RDONLY, "rdonly");
    MUST(MPI_File_write_at(file, 0, out, 1, MPI_INT, &status) != MPI_SUCCESS);
    MUST(MPI_File_read(file, in, -1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    close_file();
}

/* More names than the library keeps; handles and names that come again; and a
 * name that cannot stand in quotes as it is. */
static void names(void)
{
    char name[32];

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "file %d of %d", i % 150, rank);
        open_file(MPI_COMM_SELF, 1, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, "wronly+create");
        close_file();
        if (i >= 150) {
            expect("file_delete name=\"%s\"", path_of(name));
            MPI_File_delete(path_of(name), MPI_INFO_NULL);
        }
    }
    snprintf(name, sizeof name, "\"%d\\", rank);
    number = next_file++;
    expect("file_open comm=1 file=%d mode=rdwr+create+excl+delete_on_close "
           "name=\"%s/\\x22%d\\x5c\"",
           number, folder, rank);
    MPI_File_open(MPI_COMM_SELF, path_of(name),
                  MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    close_file();
}

/* Two files at once, on a communicator whose ranks are the world's backwards. */
static void two(void)
{
    MPI_Comm backwards;
    MPI_File first;
    int first_number;

    expect("comm_split comm=0 color=0 key=%d newcomm=2", -rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    open_file(backwards, 2, "one", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN,
              "wronly+create+unique_open");
    first = file;
    first_number = number;
    open_file(backwards, 2, "two", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_APPEND,
              "wronly+create+append");
    accessed("write_at", 4, 4, 4, offset(4 * rank));
    MPI_File_write_at(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    close_file();
    file = first;
    number = first_number;
    accessed("write_at", 4, 4, 4, offset(4 * rank));
    MPI_File_write_at(file, 4 * rank, &size, 1, MPI_INT, MPI_STATUS_IGNORE);
    close_file();
    expect("comm_free comm=2");
    MPI_Comm_free(&backwards);
}

/* While MPI_Pcontrol(0) holds: what later events refer to, and nothing else. */
static void region(void)
{
    MPI_Request request;

    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    open_file(MPI_COMM_WORLD, 0, "data", MPI_MODE_RDWR, "rdwr");
    expect("file_set_view bytes=4 esize=4 file=%d offset=4", number);
    MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, 0, in, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, in, 1, MPI_INT, &request);
    MPI_File_delete(path_of("no such file"), MPI_INFO_NULL);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    accessed("read_at", 4, 4, 4, offset(1));
    MPI_File_read_at(file, 1, in, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    close_file();
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
}

static void all(void)
{
    MPI_Type_vector(5, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    open_file(MPI_COMM_WORLD, 0, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, "rdwr+create");
    fill();
    independent();
    collective();
    shared();
    split();
    nonblocking();
    settle();
    views();
    whole_file();
    close_file();
    barrier();
    failing();
    if (rank == 0)
        names();
    two();
    region();
    MPI_Type_free(&gaps);
}

static void short_reads(void)
{
    int end = size * BYTES;

    open_file(MPI_COMM_WORLD, 0, "short", MPI_MODE_CREATE | MPI_MODE_RDWR, "rdwr+create");
    fill();
    accessed("write_at", BYTES, 4, BYTES, offset(rank * BYTES));
    MPI_File_write_at(file, rank * BYTES, out, INTS, MPI_INT, MPI_STATUS_IGNORE);
    settle();
    for (int turn = 0; turn < 2; turn++) {
        static int64_t got;

        seek_shared(end - size * BYTES / 2, MPI_SEEK_SET, "0");
        accessed("read_ordered_begin", BYTES, 4, BYTES, "");
        MPI_File_read_ordered_begin(file, in, INTS, MPI_INT);
        MPI_File_read_ordered_end(file, in, turn ? MPI_STATUS_IGNORE : &status);
        got = turn ? got : told();
        if (got < BYTES)
            expect("file_read_ordered_end rbytes=%lld file=%d", (long long)got, number);
        else
            ended("read_ordered_end");
        MUST(rank < size - 1 || got < BYTES); /* the last rank at least */
        barrier();
    }
    close_file();
}

/* As in Fortran. */
static void sequence(void)
{
    int mine = rank * BYTES;
    MPI_Request request;
    MPI_Info info;

    fill();
    open_file(MPI_COMM_WORLD, 0, "in sequence", MPI_MODE_CREATE | MPI_MODE_RDWR, "rdwr+create");
    accessed("write_at", BYTES, 4, BYTES, offset(mine));
    MPI_File_write_at(file, mine, out, INTS, MPI_INT, &status);
    MUST(told() == BYTES);
    accessed("write_at_all", BYTES, 4, BYTES, offset(mine));
    MPI_File_write_at_all(file, mine, out, INTS, MPI_INT, MPI_STATUS_IGNORE);
    seek(mine);
    accessed("write", BYTES, 4, BYTES, "");
    MPI_File_write(file, out, INTS, MPI_INT, MPI_STATUS_IGNORE);
    seek(mine);
    accessed("write_all", BYTES, 4, BYTES, "");
    MPI_File_write_all(file, out, INTS, MPI_INT, MPI_STATUS_IGNORE);
    settle();
    accessed("read_at", BYTES, 4, 20, offset(size * BYTES - 20));
    MPI_File_read_at(file, size * BYTES - 20, in, INTS, MPI_INT, &status);
    accessed("read_at", BYTES, 4, 20, offset(size * BYTES - 20));
    MPI_File_read_at(file, size * BYTES - 20, in, INTS, MPI_INT, MPI_STATUS_IGNORE);
    accessed("read_at_all", BYTES, 4, BYTES, offset(mine));
    MPI_File_read_at_all(file, mine, in, INTS, MPI_INT, MPI_STATUS_IGNORE);
    seek(mine);
    accessed("read", BYTES, 4, BYTES, "");
    MPI_File_read(file, in, INTS, MPI_INT, &status);
    seek(mine);
    accessed("read_all", BYTES, 4, BYTES, "");
    MPI_File_read_all(file, in, INTS, MPI_INT, MPI_STATUS_IGNORE);
    MUST(in[1] == 1000 * rank + 1);

    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("write_ordered", BYTES, 4, BYTES, "");
    MPI_File_write_ordered(file, out, INTS, MPI_INT, MPI_STATUS_IGNORE);
    settle();
    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("read_ordered", BYTES, 4, BYTES, "");
    MPI_File_read_ordered(file, in, INTS, MPI_INT, MPI_STATUS_IGNORE);
    seek_shared(0, MPI_SEEK_END, "end");
    accessed("write_shared", 4, 4, 4, "");
    MPI_File_write_shared(file, &size, 1, MPI_INT, MPI_STATUS_IGNORE);
    settle();
    seek_shared(-4 * size, MPI_SEEK_END, "end");
    accessed("read_shared", 4, 4, 4, "");
    MPI_File_read_shared(file, in, 1, MPI_INT, MPI_STATUS_IGNORE);
    MUST(in[0] == size);
    barrier();

    accessed("write_at_all_begin", BYTES, 4, BYTES, offset(mine));
    MPI_File_write_at_all_begin(file, mine, out, INTS, MPI_INT);
    ended("write_at_all_end");
    MPI_File_write_at_all_end(file, out, &status);
    seek(mine);
    accessed("write_all_begin", BYTES, 4, BYTES, "");
    MPI_File_write_all_begin(file, out, INTS, MPI_INT);
    ended("write_all_end");
    MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
    accessed("read_at_all_begin", BYTES, 4, BYTES, offset(mine));
    MPI_File_read_at_all_begin(file, mine, in, INTS, MPI_INT);
    ended("read_at_all_end");
    MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
    seek(mine);
    accessed("read_all_begin", BYTES, 4, BYTES, "");
    MPI_File_read_all_begin(file, in, INTS, MPI_INT);
    ended("read_all_end");
    MPI_File_read_all_end(file, in, &status);
    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("write_ordered_begin", BYTES, 4, BYTES, "");
    MPI_File_write_ordered_begin(file, out, INTS, MPI_INT);
    ended("write_ordered_end");
    MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
    seek_shared(0, MPI_SEEK_SET, "0");
    accessed("read_ordered_begin", BYTES, 4, BYTES, "");
    MPI_File_read_ordered_begin(file, in, INTS, MPI_INT);
    ended("read_ordered_end");
    MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE);

    made("iwrite_at", 0, offset(mine));
    MPI_File_iwrite_at(file, mine, out, INTS, MPI_INT, &request);
    waited(&request);
    made("iread_at", 0, offset(mine));
    MPI_File_iread_at(file, mine, in, INTS, MPI_INT, &request);
    waited(&request);
    made("iwrite_at_all", 0, offset(mine));
    MPI_File_iwrite_at_all(file, mine, out, INTS, MPI_INT, &request);
    waited(&request);
    made("iread_at_all", 0, offset(mine));
    MPI_File_iread_at_all(file, mine, in, INTS, MPI_INT, &request);
    waited(&request);
    seek(mine);
    made("iwrite", 0, "");
    MPI_File_iwrite(file, out, INTS, MPI_INT, &request);
    waited(&request);
    seek(mine);
    made("iread", 0, "");
    MPI_File_iread(file, in, INTS, MPI_INT, &request);
    waited(&request);
    seek(mine);
    made("iwrite_all", 0, "");
    MPI_File_iwrite_all(file, out, INTS, MPI_INT, &request);
    waited(&request);
    seek(mine);
    made("iread_all", 0, "");
    MPI_File_iread_all(file, in, INTS, MPI_INT, &request);
    waited(&request);
    seek_shared(0, MPI_SEEK_SET, "0");
    made("iwrite_shared", 0, "");
    MPI_File_iwrite_shared(file, out, INTS, MPI_INT, &request);
    waited(&request);
    settle();
    seek_shared(0, MPI_SEEK_SET, "0");
    made("iread_shared", 0, "");
    MPI_File_iread_shared(file, in, INTS, MPI_INT, &request);
    waited(&request);

    expect("file_set_view bytes=4 esize=4 file=%d offset=8", number);
    MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    expect("file_preallocate bytes=%d file=%d", size * BYTES / 2, number);
    MPI_File_preallocate(file, size * BYTES / 2);
    expect("file_set_size bytes=%d file=%d", size * BYTES, number);
    MPI_File_set_size(file, size * BYTES);
    expect("file_set_atomicity level=1 file=%d", number);
    MPI_File_set_atomicity(file, 1);
    expect("file_set_atomicity level=0 file=%d", number);
    MPI_File_set_atomicity(file, 0);
    MPI_Info_create(&info);
    expect("file_set_info file=%d", number);
    MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    close_file();
    barrier();
    if (rank == 0) {
        expect("file_delete name=\"%s\"", path_of("in sequence"));
        MPI_File_delete(path_of("in sequence"), MPI_INFO_NULL);
    }
}

/* Opened behind the trace's back, as a library that calls PMPI itself would. */
static void stranger(void)
{
    PMPI_File_open(MPI_COMM_WORLD, path_of("stranger"), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                   MPI_INFO_NULL, &file);
    MPI_File_write_all(file, out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(argc == 3);
    folder = argv[2];
    if (strcmp(argv[1], "all") == 0)
        all();
    else if (strcmp(argv[1], "short") == 0)
        short_reads();
    else if (strcmp(argv[1], "sequence") == 0)
        sequence();
    else
        stranger();
    expect_end();
    MPI_Finalize();
    return 0;
}
