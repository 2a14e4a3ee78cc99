/*
 * One-sided communication, in a ring and on any number of ranks: each rank
 * reaches into the window of the next one, so that what a window holds follows
 * from the standard.  Run as
 *
 *     rma all FOLDER     everything; what windows held is left in FOLDER/rank-N
 *     rma shown FOLDER   the same, but for what MPI_Pcontrol(0) hides
 *     rma sequence       the sequence that rma.inc and rma_f08.f90 have in Fortran
 *     rma stranger       a window that the trace cannot know
 */
#include "tests/mpi/expect.h"

#include <stdbool.h>
#include <string.h>

#define CELLS 16 /* ints in a window */
#define BYTES (CELLS * (int)sizeof(int))

static FILE *results;
static int next_window; /* number of the window made next */

/* The communicator of the windows, and this rank's place in it. */
static MPI_Comm comm;
static int comm_number, me, next, prev;
static bool reversed; /* its ranks are the world's backwards */

static MPI_Datatype pair; /* two ints, one apart */
static int out[8], in[8];

static const char *peer(int r)
{
    return at(r - me, reversed ? size - 1 - r : r);
}

static void on(MPI_Comm c, int number, bool backwards)
{
    comm = c;
    comm_number = number;
    reversed = backwards;
    MPI_Comm_rank(c, &me);
    next = (me + 1) % size;
    prev = (me + size - 1) % size;
}

/* Fill a window so that each cell is unlike all others anywhere. */
static void fill(int *cell)
{
    for (int i = 0; i < CELLS; i++)
        cell[i] = 1000 * me + i;
}

static void keep(const int *cell)
{
    for (int i = 0; results && i < CELLS; i++)
        fprintf(results, "%d%c", cell[i], i + 1 < CELLS ? ' ' : '\n');
}

static void fence(MPI_Win win, int w, int assert, const char *text)
{
    expect("win_fence win=%d mode=%s", w, text);
    MPI_Win_fence(assert, win);
}

static void barrier(void)
{
    expect("barrier comm=%d", comm_number);
    MPI_Barrier(comm);
}

/* Between fences; the origin is no contiguous type. */
static void fences(MPI_Win win, int w, int *cell)
{
    out[0] = 7 * me;
    out[2] = 7 * me + 1;
    fence(win, w, MPI_MODE_NOPRECEDE, "noprecede");
    expect("put peer=%s bytes=8 esize=8 rbytes=8 resize=4 win=%d", peer(next), w);
    MPI_Put(out, 1, pair, next, 0, 2, MPI_INT, win);
    expect("accumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=sum win=%d", peer(next), w);
    MPI_Accumulate(&(int){5}, 1, MPI_INT, next, 2, 1, MPI_INT, MPI_SUM, win);
    expect("get peer=%s bytes=8 esize=8 rbytes=8 resize=4 win=%d", peer(next), w);
    MPI_Get(in, 1, pair, next, 3, 2, MPI_INT, win);
    expect("put peer=null bytes=12 esize=4 rbytes=12 resize=4 win=%d", w);
    MPI_Put(out, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win);
    expect("get peer=null bytes=4 esize=4 rbytes=4 resize=4 win=%d", w);
    MPI_Get(in + 4, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    expect("accumulate peer=null bytes=4 esize=4 rbytes=4 resize=4 redop=max win=%d", w);
    MPI_Accumulate(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_MAX, win);
    expect("put peer=%s bytes=0 esize=4 rbytes=0 resize=4 win=%d", peer(next), w);
    MPI_Put(out, 0, MPI_INT, next, 0, 0, MPI_INT, win);
    fence(win, w, MPI_MODE_NOSTORE | MPI_MODE_NOPUT, "nostore+noput");
    MUST(cell[0] == 7 * prev && cell[1] == 7 * prev + 1 && cell[2] == 1000 * me + 7);
    MUST(in[0] == 1000 * next + 3 && in[2] == 1000 * next + 4);
    fence(win, w, MPI_MODE_NOSUCCEED, "nosucceed");
}

static void locks(MPI_Win win, int w, int *cell)
{
    barrier();
    expect("win_lock peer=%s win=%d mode=exclusive", peer(next), w);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    expect("put peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(next), w);
    MPI_Put(&(int){70 + me}, 1, MPI_INT, next, 5, 1, MPI_INT, win);
    expect("win_flush peer=%s win=%d", peer(next), w);
    MPI_Win_flush(next, win);
    expect("get peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(next), w);
    MPI_Get(in, 1, MPI_INT, next, 5, 1, MPI_INT, win);
    expect("win_flush_local peer=%s win=%d", peer(next), w);
    MPI_Win_flush_local(next, win);
    MUST(in[0] == 70 + me);
    expect("win_unlock peer=%s win=%d", peer(next), w);
    MPI_Win_unlock(next, win);

    expect("win_lock peer=%s win=%d mode=nocheck", peer(next), w);
    MPI_Win_lock(MPI_LOCK_SHARED, next, MPI_MODE_NOCHECK, win);
    expect("get peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(next), w);
    MPI_Get(in, 1, MPI_INT, next, 6, 1, MPI_INT, win);
    expect("win_unlock peer=%s win=%d", peer(next), w);
    MPI_Win_unlock(next, win);
    MUST(in[0] == 1000 * next + 6);
    barrier();
    expect("win_lock peer=+0(%d) win=%d mode=0", rank, w);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    MUST(cell[5] == 70 + prev);
    expect("win_unlock peer=+0(%d) win=%d", rank, w);
    MPI_Win_unlock(me, win);
}

static void waited(MPI_Request *request)
{
    expect("wait req=0");
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Requests; only this rank reaches into the next one's window. */
static void with_requests(MPI_Win win, int w)
{
    MPI_Request request, several[3];

    expect("rput peer=%s bytes=4 esize=4 rbytes=4 resize=4 req=0 win=%d", peer(next), w);
    MPI_Rput(&(int){80 + me}, 1, MPI_INT, next, 7, 1, MPI_INT, win, &request);
    waited(&request);
    expect("raccumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=prod req=0 win=%d",
           peer(next), w);
    MPI_Raccumulate(&(int){3}, 1, MPI_INT, next, 8, 1, MPI_INT, MPI_PROD, win, &request);
    waited(&request);
    expect("win_flush peer=%s win=%d", peer(next), w);
    MPI_Win_flush(next, win);
    expect("rget peer=%s bytes=8 esize=4 rbytes=8 resize=4 req=0 win=%d", peer(next), w);
    MPI_Rget(in, 2, MPI_INT, next, 7, 2, MPI_INT, win, &request);
    waited(&request);
    MUST(in[0] == 80 + me && in[1] == 3 * (1000 * next + 8));
    expect("rget_accumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=band req=0 win=%d",
           peer(next), w);
    MPI_Rget_accumulate(&(int){0}, 1, MPI_INT, in, 1, MPI_INT, next, 9, 1, MPI_INT, MPI_BAND, win,
                        &request);
    waited(&request);
    MUST(in[0] == 1000 * next + 9);

    /* several at once, one with nobody, and one that ignores its origin */
    expect("rput peer=null bytes=4 esize=4 rbytes=4 resize=4 req=0 win=%d", w);
    MPI_Rput(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &several[0]);
    expect("rget peer=%s bytes=8 esize=8 rbytes=8 resize=4 req=1 win=%d", peer(next), w);
    MPI_Rget(in, 1, pair, next, 10, 2, MPI_INT, win, &several[1]);
    expect("rget_accumulate peer=%s bytes=0 esize=0 rbytes=4 resize=4 redop=no_op req=2 win=%d",
           peer(next), w);
    MPI_Rget_accumulate(NULL, 0, MPI_INT, in + 4, 1, MPI_INT, next, 11, 1, MPI_INT, MPI_NO_OP, win,
                        &several[2]);
    expect("waitall all=1");
    MPI_Waitall(3, several, MPI_STATUSES_IGNORE);
    MUST(in[0] == 1000 * next + 10 && in[2] == 1000 * next + 11 && in[4] == 1000 * next + 11);
}

static void atomics(MPI_Win win, int w)
{
    int was;

    expect("fetch_and_op peer=%s bytes=4 esize=4 redop=sum win=%d", peer(next), w);
    MPI_Fetch_and_op(&(int){9}, &was, MPI_INT, next, 12, MPI_SUM, win);
    expect("win_flush_all win=%d", w);
    MPI_Win_flush_all(win);
    MUST(was == 1000 * next + 12);
    expect("fetch_and_op peer=%s bytes=4 esize=4 redop=no_op win=%d", peer(next), w);
    MPI_Fetch_and_op(NULL, &was, MPI_INT, next, 12, MPI_NO_OP, win);
    expect("win_flush_local_all win=%d", w);
    MPI_Win_flush_local_all(win);
    MUST(was == 1000 * next + 21);
    expect("compare_and_swap peer=%s bytes=4 esize=4 win=%d", peer(next), w);
    MPI_Compare_and_swap(&(int){-1}, &was, in, MPI_INT, next, 12, win);
    expect("win_flush peer=%s win=%d", peer(next), w);
    MPI_Win_flush(next, win);
    MUST(in[0] == 1000 * next + 21);
    expect("get_accumulate peer=%s bytes=0 esize=0 rbytes=4 resize=4 redop=no_op win=%d",
           peer(next), w);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, next, 12, 1, MPI_INT, MPI_NO_OP,
                       win);
    expect("win_flush peer=%s win=%d", peer(next), w);
    MPI_Win_flush(next, win);
    MUST(in[0] == -1);
    expect("get_accumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=replace win=%d",
           peer(next), w);
    MPI_Get_accumulate(&(int){-2}, 1, MPI_INT, in, 1, MPI_INT, next, 12, 1, MPI_INT, MPI_REPLACE,
                       win);
    expect("win_flush peer=%s win=%d", peer(next), w);
    MPI_Win_flush(next, win);
    MUST(in[0] == -1);
}

static void lock_all(MPI_Win win, int w)
{
    expect("win_lock_all win=%d mode=0", w);
    MPI_Win_lock_all(0, win);
    with_requests(win, w);
    atomics(win, w);
    expect("win_sync win=%d", w);
    MPI_Win_sync(win);
    expect("win_unlock_all win=%d", w);
    MPI_Win_unlock_all(win);
    barrier();
    expect("win_lock_all win=%d mode=nocheck", w);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    expect("win_unlock_all win=%d", w);
    MPI_Win_unlock_all(win);
}

/* A group of ranks of the communicator. */
static MPI_Group group_of(int n, const int *ranks)
{
    MPI_Group all, group;

    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, n, ranks, &group);
    MPI_Group_free(&all);
    return group;
}

/* Post, start, complete, wait: with both neighbours, as far as there are two. */
static void generalized(MPI_Win win, int w, int *cell)
{
    int both[2] = {next, prev}, n = size > 2 ? 2 : 1, flag = 0;
    MPI_Group group = group_of(n, both), nobody = group_of(0, both);
    char list[64];

    if (n == 2)
        snprintf(list, sizeof list, "[%d,%d]", next - me, prev - me);
    else
        snprintf(list, sizeof list, "[%d]", next - me);

    expect("win_post win=%d mode=nostore group=%s", w, list);
    MPI_Win_post(group, MPI_MODE_NOSTORE, win);
    expect("win_start win=%d mode=0 group=%s", w, list);
    MPI_Win_start(group, 0, win);
    for (int i = 0; i < n; i++) {
        expect("put peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(both[i]), w);
        MPI_Put(&me, 1, MPI_INT, both[i], 14 + i, 1, MPI_INT, win);
    }
    expect("win_complete win=%d", w);
    MPI_Win_complete(win);
    expect("win_wait win=%d", w);
    MPI_Win_wait(win);
    MUST(cell[14] == prev && (n == 1 || cell[15] == next));

    expect("win_post win=%d mode=0 group=%s", w, list);
    MPI_Win_post(group, 0, win);
    expect("win_start win=%d mode=0 group=%s", w, list);
    MPI_Win_start(group, 0, win);
    expect("win_complete win=%d", w);
    MPI_Win_complete(win);
    expect("win_test win=%d", w); /* when it says yes */
    while (!flag)
        MPI_Win_test(win, &flag);

    /* nobody at all */
    expect("win_start win=%d mode=nocheck", w);
    MPI_Win_start(nobody, MPI_MODE_NOCHECK, win);
    expect("win_complete win=%d", w);
    MPI_Win_complete(win);
    MPI_Group_free(&group);
    MPI_Group_free(&nobody);
}

static void everything(MPI_Win win, int w, int *cell)
{
    fill(cell);
    barrier();
    fences(win, w, cell);
    barrier();
    locks(win, w, cell);
    lock_all(win, w);
    barrier();
    generalized(win, w, cell);
    barrier();
    keep(cell);
}

static void free_window(MPI_Win *win, int w)
{
    expect("win_free win=%d", w);
    MPI_Win_free(win);
}

static void created(void)
{
    int cell[CELLS], w = next_window++;
    MPI_Info info;
    MPI_Win win;

    expect("win_create comm=%d bytes=%d esize=4 win=%d", comm_number, BYTES, w);
    MPI_Win_create(cell, sizeof cell, sizeof *cell, MPI_INFO_NULL, comm, &win);
    everything(win, w, cell);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    expect("win_set_info win=%d", w);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    free_window(&win, w);
}

static void allocated(void)
{
    int *cell, w = next_window++;
    MPI_Win win;

    expect("win_allocate comm=%d bytes=%d esize=4 win=%d", comm_number, BYTES, w);
    MPI_Win_allocate(BYTES, sizeof *cell, MPI_INFO_NULL, comm, &cell, &win);
    everything(win, w, cell);
    free_window(&win, w);
}

/* Sizes differ from rank to rank: me ints here, one at least. */
static void shared(void)
{
    int *cell, *theirs, w = next_window++, ints = me + 1, unit;
    MPI_Aint bytes;
    MPI_Win win;

    expect("win_allocate_shared comm=%d bytes=%d esize=4 win=%d", comm_number, 4 * ints, w);
    MPI_Win_allocate_shared(4 * ints, sizeof *cell, MPI_INFO_NULL, comm, &cell, &win);
    MPI_Win_shared_query(win, next, &bytes, &unit, &theirs);
    MUST(bytes == 4 * (next + 1) && unit == 4);
    expect("win_lock_all win=%d mode=nocheck", w);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    theirs[0] = me;
    expect("win_sync win=%d", w);
    MPI_Win_sync(win);
    barrier();
    expect("win_sync win=%d", w);
    MPI_Win_sync(win);
    MUST(cell[0] == prev);
    expect("win_unlock_all win=%d", w);
    MPI_Win_unlock_all(win);
    free_window(&win, w);
}

static void dynamic(void)
{
    int cell[CELLS], w = next_window++;
    MPI_Aint here, there;
    MPI_Win win;

    fill(cell);
    expect("win_create_dynamic comm=%d win=%d", comm_number, w);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
    expect("win_attach bytes=%d win=%d", BYTES, w);
    MPI_Win_attach(win, cell, sizeof cell);
    MPI_Get_address(cell, &here);
    expect("sendrecv comm=%d peer=%s tag=1 bytes=8 esize=8 rpeer=%s rtag=1 rbytes=8 resize=8",
           comm_number, peer(prev), peer(next));
    MPI_Sendrecv(&here, 1, MPI_AINT, prev, 1, &there, 1, MPI_AINT, next, 1, comm,
                 MPI_STATUS_IGNORE);
    fence(win, w, 0, "0");
    expect("put peer=%s bytes=4 esize=4 rbytes=4 resize=1 win=%d", peer(next), w);
    MPI_Put(&me, 1, MPI_INT, next, there, 4, MPI_BYTE, win);
    fence(win, w, 0, "0");
    MUST(cell[0] == prev);
    keep(cell);
    expect("win_detach win=%d", w);
    MPI_Win_detach(win, cell);
    free_window(&win, w);
}

/* Several at a time, freed in another order: numbers are never used again. */
static void many(void)
{
    enum { N = 40 };
    MPI_Win win[N];
    int w = next_window;

    next_window += N;
    for (int i = 0; i < N; i++) {
        expect("win_create comm=%d bytes=0 esize=1 win=%d", comm_number, w + i);
        MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win[i]);
    }
    for (int i = 0; i < N; i += 2)
        free_window(&win[i], w + i);
    for (int i = 1; i < N; i += 2)
        fence(win[i], w + i, 0, "0");
    for (int i = N - 1; i > 0; i -= 2)
        free_window(&win[i], w + i);
}

/* Calls that fail are no events. */
static void failing(void)
{
    int cell[CELLS] = {0}, w = next_window++;
    MPI_Win win;

    expect("win_create comm=%d bytes=%d esize=4 win=%d", comm_number, BYTES, w);
    MPI_Win_create(cell, sizeof cell, sizeof *cell, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    fence(win, w, 0, "0");
    MUST(MPI_Put(out, 1, MPI_INT, size, 0, 1, MPI_INT, win) != MPI_SUCCESS);
    MUST(MPI_Get(out, -1, MPI_INT, next, 0, 1, MPI_INT, win) != MPI_SUCCESS);
    fence(win, w, 0, "0");
    free_window(&win, w);
}

/* While MPI_Pcontrol(0) holds windows are followed, and nothing else. */
static void region(void)
{
    int cell[CELLS] = {0}, w = next_window++;
    MPI_Request request;
    MPI_Win win, brief;

    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    expect("win_create comm=%d bytes=%d esize=4 win=%d", comm_number, BYTES, w);
    MPI_Win_create(cell, sizeof cell, sizeof *cell, MPI_INFO_NULL, comm, &win);
    expect("win_create_dynamic comm=%d win=%d", comm_number, next_window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &brief);
    free_window(&brief, next_window++);
    MPI_Win_lock_all(0, win);
    MPI_Rput(&me, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* of none that the trace has */
    expect("put peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(next), w);
    MPI_Put(&me, 1, MPI_INT, next, 1, 1, MPI_INT, win);
    expect("win_unlock_all win=%d", w);
    MPI_Win_unlock_all(win);
    free_window(&win, w);
    MUST(cell[0] == prev && cell[1] == prev);
}

/* `hiding`: with what MPI_Pcontrol(0) hides. */
static void all(const char *folder, bool hiding)
{
    MPI_Comm backwards;
    char path[4096];

    snprintf(path, sizeof path, "%s/rank-%d", folder, rank);
    results = fopen(path, "w");
    MUST(results);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    on(MPI_COMM_WORLD, 0, false);
    created();
    allocated();
    shared();
    dynamic();
    many();
    failing();
    if (hiding)
        region();
    expect("comm_split comm=0 color=0 key=%d newcomm=2", -rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    on(backwards, 2, true);
    created();
    allocated();
    expect("comm_free comm=2");
    MPI_Comm_free(&backwards);
    MPI_Type_free(&pair);
    MUST(fclose(results) == 0);
}

/* As in Fortran. */
static void sequence(void)
{
    int w, cell[CELLS], *base, flag = 0, self;
    MPI_Request request;
    MPI_Group group, origin;
    MPI_Win win, other;
    MPI_Info info;

    on(MPI_COMM_WORLD, 0, false);
    fill(cell);
    w = next_window++;
    expect("win_create comm=0 bytes=%d esize=4 win=%d", BYTES, w);
    MPI_Win_create(cell, sizeof cell, sizeof *cell, MPI_INFO_NULL, comm, &win);
    fence(win, w, MPI_MODE_NOPRECEDE, "noprecede");
    expect("put peer=%s bytes=8 esize=4 rbytes=8 resize=4 win=%d", peer(next), w);
    out[0] = out[1] = me;
    MPI_Put(out, 2, MPI_INT, next, 0, 2, MPI_INT, win);
    expect("accumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=sum win=%d", peer(next), w);
    MPI_Accumulate(out, 1, MPI_INT, next, 2, 1, MPI_INT, MPI_SUM, win);
    expect("get peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(next), w);
    MPI_Get(in, 1, MPI_INT, next, 3, 1, MPI_INT, win);
    expect("put peer=null bytes=4 esize=4 rbytes=4 resize=4 win=%d", w);
    MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    fence(win, w, MPI_MODE_NOSUCCEED, "nosucceed");
    MUST(cell[1] == prev && cell[2] == 1000 * me + 2 + prev && in[0] == 1000 * next + 3);
    barrier();

    expect("win_lock peer=%s win=%d mode=exclusive", peer(next), w);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    expect("fetch_and_op peer=%s bytes=4 esize=4 redop=sum win=%d", peer(next), w);
    MPI_Fetch_and_op(out, in, MPI_INT, next, 4, MPI_SUM, win);
    expect("win_flush peer=%s win=%d", peer(next), w);
    MPI_Win_flush(next, win);
    MUST(in[0] == 1000 * next + 4);
    expect("compare_and_swap peer=%s bytes=4 esize=4 win=%d", peer(next), w);
    self = 1000 * next + 5;
    MPI_Compare_and_swap(out, &self, in, MPI_INT, next, 5, win);
    expect("win_flush_local peer=%s win=%d", peer(next), w);
    MPI_Win_flush_local(next, win);
    MUST(in[0] == self);
    expect("get_accumulate peer=%s bytes=0 esize=0 rbytes=4 resize=4 redop=no_op win=%d",
           peer(next), w);
    MPI_Get_accumulate(out, 0, MPI_INT, in, 1, MPI_INT, next, 5, 1, MPI_INT, MPI_NO_OP, win);
    expect("win_unlock peer=%s win=%d", peer(next), w);
    MPI_Win_unlock(next, win);
    MUST(in[0] == me);
    barrier();

    expect("win_lock_all win=%d mode=nocheck", w);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    expect("rput peer=%s bytes=4 esize=4 rbytes=4 resize=4 req=0 win=%d", peer(next), w);
    MPI_Rput(out, 1, MPI_INT, next, 6, 1, MPI_INT, win, &request);
    waited(&request);
    expect("rget peer=%s bytes=4 esize=4 rbytes=4 resize=4 req=0 win=%d", peer(next), w);
    MPI_Rget(in, 1, MPI_INT, next, 7, 1, MPI_INT, win, &request);
    waited(&request);
    MUST(in[0] == 1000 * next + 7);
    expect("raccumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=sum req=0 win=%d",
           peer(next), w);
    MPI_Raccumulate(out, 1, MPI_INT, next, 8, 1, MPI_INT, MPI_SUM, win, &request);
    waited(&request);
    expect("rget_accumulate peer=%s bytes=4 esize=4 rbytes=4 resize=4 redop=max req=0 win=%d",
           peer(next), w);
    MPI_Rget_accumulate(out, 1, MPI_INT, in, 1, MPI_INT, next, 9, 1, MPI_INT, MPI_MAX, win,
                        &request);
    waited(&request);
    MUST(in[0] == 1000 * next + 9);
    expect("win_flush_all win=%d", w);
    MPI_Win_flush_all(win);
    expect("win_flush_local_all win=%d", w);
    MPI_Win_flush_local_all(win);
    expect("win_sync win=%d", w);
    MPI_Win_sync(win);
    expect("win_unlock_all win=%d", w);
    MPI_Win_unlock_all(win);
    barrier();

    group = group_of(1, &next);
    origin = group_of(1, &prev);
    for (int turn = 0; turn < 2; turn++) {
        expect("win_post win=%d mode=0 group=[%d]", w, prev - me);
        MPI_Win_post(origin, 0, win);
        expect("win_start win=%d mode=0 group=[%d]", w, next - me);
        MPI_Win_start(group, 0, win);
        expect("put peer=%s bytes=4 esize=4 rbytes=4 resize=4 win=%d", peer(next), w);
        MPI_Put(out, 1, MPI_INT, next, 10, 1, MPI_INT, win);
        expect("win_complete win=%d", w);
        MPI_Win_complete(win);
        expect(turn ? "win_wait win=%d" : "win_test win=%d", w);
        if (turn)
            MPI_Win_wait(win);
        while (!flag)
            MPI_Win_test(win, &flag);
        MUST(cell[10] == prev);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&origin);

    expect("win_allocate comm=0 bytes=%d esize=4 win=%d", BYTES, next_window);
    MPI_Win_allocate(BYTES, 4, MPI_INFO_NULL, comm, &base, &other);
    free_window(&other, next_window++);
    expect("win_allocate_shared comm=0 bytes=%d esize=4 win=%d", BYTES, next_window);
    MPI_Win_allocate_shared(BYTES, 4, MPI_INFO_NULL, comm, &base, &other);
    free_window(&other, next_window++);
    expect("win_create_dynamic comm=0 win=%d", next_window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &other);
    expect("win_attach bytes=%d win=%d", BYTES, next_window);
    MPI_Win_attach(other, cell, sizeof cell);
    expect("win_detach win=%d", next_window);
    MPI_Win_detach(other, cell);
    free_window(&other, next_window++);
    MPI_Info_create(&info);
    expect("win_set_info win=%d", w);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    free_window(&win, w);
}

/* Made behind the trace's back, as a library that calls PMPI itself would. */
static void stranger(void)
{
    MPI_Win win;

    PMPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    if (argc == 3 && strcmp(argv[1], "all") == 0)
        all(argv[2], true);
    else if (argc == 3 && strcmp(argv[1], "shown") == 0)
        all(argv[2], false);
    else if (argc == 2 && strcmp(argv[1], "sequence") == 0)
        sequence();
    else
        stranger();
    expect_end();
    MPI_Finalize();
    return 0;
}
