/*
 * Several threads and MPI: threads WHAT [LEVEL] [FILE [sum]].  On 2 ranks, and
 * serialized on 1 too.
 *
 *   serialized       three threads take turns to call
 *   helpers          only main calls; two others compute, at the same time and
 *                    while main is inside MPI
 *   allowed LEVEL    other threads call, all the time, what any thread may at any
 *                    time, while main sends
 *   storm            eight threads send, receive, test, probe and reduce at once
 *   blocked          one thread waits in MPI_Recv for what another one sends
 *   second LEVEL     another thread calls than main, while main waits for it
 *   overlap          two at once, although the level is serialized
 *   finalize LEVEL   another thread than main calls MPI_Finalize
 *
 * FILE: for serialized and helpers, rank 0 writes there, for each event between
 * init and finalize in order, within which bounds its volume must be:
 * "OPERATION LEAST MOST", or "OPERATION -" where nothing is known; and at last
 * "total LEAST MOST".  With `sum`, volumes are those of all threads.
 *
 * Work of known length is assembler, as in bursts.c.
 */
#include "tests/mpi/expect.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#define PLT  1         /* the jump in the procedure linkage table */
#define SLOP 5         /* what a known burst may be off */
#elif defined __aarch64__
#define PLT  4
#define SLOP 12        /* and PAPI counts the library's own first instructions */
#endif

#ifndef PLT
int main(void)
{
    return 77;
}
#else

#define SYNC 20000     /* more than semaphores, and a thread's start, take */
#define WORK 1000000   /* instructions */
#define AGES 20000000  /* so many that another rank has to wait */

MPI_Comm self_comm; /* operand of pair() */

void burn(int64_t n); /* n instructions, n even */
void pair(int64_t n); /* MPI_Barrier; n instructions, n even, the PLT's beside; MPI_Barrier */

#ifdef __x86_64__
__asm__(".text\n"
        ".globl burn\n"
        "burn:\n"
        "shrq $1, %rdi\n"
        "1: decq %rdi\n"
        "jnz 1b\n"
        "ret\n"
        ".globl pair\n"
        "pair:\n"
        "pushq %rbx\n"
        "movq %rdi, %rbx\n"
        "shrq $1, %rbx\n"
        "decq %rbx\n"
        "movq self_comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        "nop\n"
        "1: decq %rbx\n"
        "jnz 1b\n"
        "movq self_comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        "popq %rbx\n"
        "ret\n");
#else
__asm__(".text\n"
        ".globl burn\n"
        "burn:\n"
        "lsr x0, x0, #1\n"
        "1: subs x0, x0, #1\n"
        "b.ne 1b\n"
        "ret\n"
        ".globl pair\n"
        "pair:\n"
        "stp x29, x30, [sp, #-32]!\n"
        "mov x29, sp\n"
        "str x19, [sp, #16]\n"
        "lsr x19, x0, #1\n"
        "sub x19, x19, #1\n"
        "adrp x0, self_comm\n"
        "ldr x0, [x0, :lo12:self_comm]\n"
        "bl MPI_Barrier\n"
        "1: subs x19, x19, #1\n"
        "b.ne 1b\n"
        "adrp x0, self_comm\n"
        "ldr x0, [x0, :lo12:self_comm]\n"
        "bl MPI_Barrier\n"
        "ldr x19, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n");
#endif

static int out[64], in[64], peer;
static bool sum;

/* ------------------------------------------------------------------ truth -- */

static struct truth {
    const char *op;
    int64_t least, most; /* most < 0: not known */
} truth[200];
static int truths;
static int64_t known; /* work, of all threads */

static void event(const char *op, int64_t least, int64_t most)
{
    truth[truths++] = (struct truth){op, least, most};
}

static void unknown(const char *op)
{
    event(op, 0, -1);
}

static void exactly(const char *op, int64_t volume)
{
    event(op, volume - SLOP, volume + SLOP);
}

/* Volume of the calling thread's, and what other threads did meanwhile. */
static void about(const char *op, int64_t own, int64_t of_others)
{
    int64_t volume = own + (sum ? of_others : 0);

    event(op, volume, volume + SYNC);
}

static void tell(const char *path)
{
    FILE *f = rank == 0 ? fopen(path, "w") : NULL;

    if (!f)
        return;
    for (int i = 0; i < truths; i++)
        if (truth[i].most < 0)
            fprintf(f, "%s -\n", truth[i].op);
        else
            fprintf(f, "%s %lld %lld\n", truth[i].op, (long long)truth[i].least,
                    (long long)truth[i].most);
    fprintf(f, "total %lld %lld\n", (long long)known, (long long)known + truths * (int64_t)SYNC);
    MUST(fclose(f) == 0);
}

/* ------------------------------------------------------------- serialized -- */

enum { TAKERS = 3, TURNS = 4 };
static sem_t turn[TAKERS];

/* Each works before its turn, while others work and call. */
static void *taker(void *arg)
{
    int me = (int)(intptr_t)arg, flag, one;
    int64_t own = (me + 1) * WORK, inner = 2000 + 2 * me;

    for (int i = 0; i < TURNS; i++) {
        burn(own);
        sem_wait(&turn[me]);
        known += own + inner;
        if (sum)
            unknown("barrier"); /* when the others did theirs is a matter of time */
        else
            about("barrier", own, 0); /* since its own last call, or its start */
        if (sum)
            unknown("barrier");
        else
            exactly("barrier", inner + PLT);
        pair(inner);
        if (me == 1) { /* no events, but what they execute is taken out */
            MPI_Comm_size(MPI_COMM_SELF, &one);
            MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
            MUST(!flag && one == 1);
        }
        sem_post(&turn[(me + 1) % TAKERS]);
    }
    return NULL;
}

static void serialized(void)
{
    pthread_t thread[TAKERS];

    for (int i = 0; i < TAKERS; i++)
        MUST(sem_init(&turn[i], 0, i == 0) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    unknown("barrier");
    for (int i = 1; i < TAKERS; i++)
        MUST(pthread_create(&thread[i], NULL, taker, (void *)(intptr_t)i) == 0);
    taker(NULL);
    for (int i = 1; i < TAKERS; i++)
        pthread_join(thread[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    about("barrier", 0, 0);
}

/* ---------------------------------------------------------------- helpers -- */

enum { HELPERS = 2, JOBS = 3 };
static sem_t begin[HELPERS], done;

static void *helper(void *arg)
{
    int me = (int)(intptr_t)arg;

    for (int i = 0; i < JOBS; i++) {
        sem_wait(&begin[me]);
        burn((me + 1) * WORK);
        sem_post(&done);
    }
    return NULL;
}

static void wake(void)
{
    for (int i = 0; i < HELPERS; i++)
        sem_post(&begin[i]);
    known += 3 * WORK;
}

static void rest(void)
{
    for (int i = 0; i < HELPERS; i++)
        sem_wait(&done);
}

static void helpers(void)
{
    pthread_t thread[HELPERS];

    sem_init(&done, 0, 0);
    for (int i = 0; i < HELPERS; i++) {
        sem_init(&begin[i], 0, 0);
        MUST(pthread_create(&thread[i], NULL, helper, (void *)(intptr_t)i) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    unknown("barrier");

    /* between two calls, as a parallel region */
    wake();
    burn(WORK);
    rest();
    MPI_Barrier(MPI_COMM_SELF);
    known += WORK;
    about("barrier", WORK, 3 * WORK);

    /* while main computes and calls */
    wake();
    pair(WORK);
    known += WORK;
    unknown("barrier");
    if (sum)
        unknown("barrier");
    else
        exactly("barrier", WORK + PLT);
    rest();
    MPI_Barrier(MPI_COMM_SELF);
    if (sum)
        unknown("barrier");
    else
        about("barrier", 0, 0);

    /* while main is inside MPI */
    if (rank == 1)
        burn(AGES);
    else
        wake();
    MPI_Sendrecv(out, 1, MPI_INT, peer, 3, in, 1, MPI_INT, peer, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (sum)
        unknown("sendrecv");
    else
        about("sendrecv", 0, 0);
    if (rank == 1)
        wake();
    rest();
    MPI_Barrier(MPI_COMM_SELF);
    if (sum)
        unknown("barrier");
    else
        about("barrier", 0, 0);
    for (int i = 0; i < HELPERS; i++)
        pthread_join(thread[i], NULL);
}

/* ------------------------------------------------------ any level, any time -- */

static bool over;

static void *curious(void *arg)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int a, b;

    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        MPI_Initialized(&a);
        MPI_Finalized(&b);
        MUST(a && !b);
        MPI_Query_thread(&a);
        MPI_Is_thread_main(&a);
        MUST(!a);
        MPI_Get_version(&a, &b);
        MPI_Get_library_version(text, &a);
        MUST(MPI_Wtime() >= 0 && MPI_Wtick() > 0);
    }
    return arg;
}

static void talk(int times)
{
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, 8, MPI_INT, peer, 1, in, 8, MPI_INT, peer, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void allowed(void)
{
    pthread_t thread[3];

    MPI_Wtime(); /* the first call sets Open MPI's origin of time, without a lock */
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&thread[i], NULL, curious, NULL) == 0);
    talk(1000);
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    talk(10);
}

/* --------------------------------------------------------------- multiple -- */

enum { STORMERS = 8 };
static MPI_Comm comms[STORMERS];

static void *stormer(void *arg)
{
    int me = (int)(intptr_t)arg, send[2], receive[2], flag, all;
    MPI_Request request[2];
    MPI_Status status;
    MPI_Comm made;

    for (int i = 0; i < 150; i++) {
        send[0] = send[1] = rank * 1000000 + me * 1000 + i;
        receive[0] = receive[1] = -1;
        MPI_Irecv(&receive[0], 1, MPI_INT, MPI_ANY_SOURCE, me, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(&send[0], 1, MPI_INT, peer, me, MPI_COMM_WORLD, &request[1]);
        if (me % 2) {
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        } else {
            do
                MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
            while (!flag);
        }
        MPI_Isend(&send[1], 1, MPI_INT, peer, 100 + me, MPI_COMM_WORLD, &request[0]);
        do
            MPI_Iprobe(peer, 100 + me, MPI_COMM_WORLD, &flag, &status);
        while (!flag);
        MPI_Recv(&receive[1], 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Wait(&request[0], &status);
        MUST(receive[0] == peer * 1000000 + me * 1000 + i && receive[1] == receive[0]);
        MPI_Allreduce(&i, &all, 1, MPI_INT, MPI_SUM, comms[me]);
        MUST(all == 2 * i);
        if (i % 50 == 10) {
            MPI_Comm_dup(comms[me], &made);
            MPI_Comm_free(&made);
        }
    }
    return NULL;
}

static void storm(void)
{
    pthread_t thread[STORMERS];

    for (int i = 0; i < STORMERS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 1; i < STORMERS; i++)
        MUST(pthread_create(&thread[i], NULL, stormer, (void *)(intptr_t)i) == 0);
    stormer(NULL);
    for (int i = 1; i < STORMERS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < STORMERS; i++)
        MPI_Comm_free(&comms[i]);
    talk(10);
}

static void *sender(void *arg)
{
    int seven = 7;

    usleep(20000);
    MPI_Send(&seven, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    return arg;
}

static void blocked(void)
{
    pthread_t thread;
    int got = 0;

    talk(10);
    MUST(pthread_create(&thread, NULL, sender, NULL) == 0);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MUST(got == 7);
    pthread_join(thread, NULL);
    talk(10);
}

/* ---------------------------------------------------- one after the other -- */

static void *talker(void *arg)
{
    talk(20);
    return arg;
}

static void second(void)
{
    pthread_t thread;

    talk(10);
    MUST(pthread_create(&thread, NULL, talker, NULL) == 0);
    pthread_join(thread, NULL);
    talk(10);
}

/* While main makes a communicator, MPI calls this to copy an attribute. */
static int copy(MPI_Comm comm, int keyval, void *extra, void *value, void *to, int *flag)
{
    pthread_t thread;

    (void)comm, (void)keyval, (void)extra, (void)value, (void)to;
    *flag = 0;
    peer = MPI_PROC_NULL;
    MUST(pthread_create(&thread, NULL, talker, NULL) == 0);
    pthread_join(thread, NULL);
    peer = 1 - rank;
    return MPI_SUCCESS;
}

static void overlap(void)
{
    MPI_Comm made;
    int keyval;

    talk(10);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    talk(10);
    MPI_Comm_free(&made);
}

static void *finalizer(void *arg)
{
    expect_end();
    MPI_Finalize();
    return arg;
}

int main(int argc, char **argv)
{
    static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
    const char *what = argc > 1 ? argv[1] : "", *file = NULL;
    int level = MPI_THREAD_MULTIPLE, provided;
    pthread_t thread;

    if (strcmp(what, "serialized") == 0 || strcmp(what, "overlap") == 0)
        level = MPI_THREAD_SERIALIZED;
    if (strcmp(what, "helpers") == 0)
        level = MPI_THREAD_FUNNELED;
    for (int i = 2; i < argc; i++) {
        for (int l = 0; l < 4; l++)
            if (strcmp(argv[i], levels[l]) == 0)
                level = l;
        if (strchr(argv[i], '/'))
            file = argv[i];
        sum = sum || strcmp(argv[i], "sum") == 0;
    }
    MPI_Init_thread(&argc, &argv, level, &provided);
    expect_begin(provided);
    MUST(provided >= level && (size == 2 || (size == 1 && strcmp(what, "serialized") == 0)));
    self_comm = MPI_COMM_SELF;
    peer = 1 - rank;

    if (strcmp(what, "serialized") == 0)
        serialized();
    else if (strcmp(what, "helpers") == 0)
        helpers();
    else if (strcmp(what, "allowed") == 0)
        allowed();
    else if (strcmp(what, "storm") == 0)
        storm();
    else if (strcmp(what, "blocked") == 0)
        blocked();
    else if (strcmp(what, "second") == 0)
        second();
    else if (strcmp(what, "overlap") == 0)
        overlap();
    else
        talk(10);
    if (file)
        tell(file);
    if (strcmp(what, "finalize") == 0) {
        MUST(pthread_create(&thread, NULL, finalizer, NULL) == 0);
        pthread_join(thread, NULL);
    } else {
        finalizer(NULL);
    }
    return 0;
}
#endif
