/*
 * Instructions outside of MPI and inside, by the third word of ticount (ticount.h):
 * the code between the calls is, what MPI calls is not, however a call is made and
 * left.  Prints nothing if all is as it should be.  Any number of ranks.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#include "minitrace/valgrind/ticount.h"

#if !defined __x86_64__ || !defined VALGRIND_DO_CLIENT_REQUEST_EXPR
int main(void)
{
    return 77;
}
#else

#define WORK 1000000
#define GLUE 10000 /* more than is executed beside, the loader's resolving of a name among it */

static const volatile uint64_t *words;
static jmp_buf back;
static MPI_Op op;
static int bad;
static uint64_t seen;   /* what the word was in the last callback */
static int inside_work; /* times that a callback works */
static int signals;

static __attribute__((noinline)) void work(int times)
{
    for (int i = 0; i < times; i++) {
        uint64_t n = WORK / 2;

        __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
    }
}

static void expect(const char *what, uint64_t since, int times)
{
    int64_t more = (int64_t)(seen - since) - (int64_t)times * WORK;

    if (more < 0 || more > GLUE) {
        printf("%s: %lld instructions outside, expected %d and a few\n", what,
               (long long)(seen - since), times * WORK);
        bad = 1;
    }
}

static void on_signal(int number)
{
    (void)number;
    signals++;
    work(3);
}

/* Called by MPI. */
static void look(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)len, (void)type;
    work(inside_work);
    if (inside_work)
        raise(SIGUSR1);
    seen = words[2];
}

static uint64_t look_now(void)
{
    int a = 0, b = 0;

    MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
    return seen;
}

static void jump_out(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    (void)comm;
    MPI_Error_string(*code, text, &len);
    work(2);
    longjmp(back, 1);
}

static void fail(void)
{
    MPI_Send(NULL, 1, MPI_INT, -77, 0, MPI_COMM_SELF);
}

/* All of it: in the main thread and in another, where the stack of a signal handler
 * lies above the thread's. */
static void *look_around(void *unused)
{
    static char stacks[2][65536];
    static int which;
    stack_t stack = {.ss_sp = stacks[which++], .ss_size = sizeof stacks[0]};
    int (*volatile pointer)(MPI_Comm, int *) = MPI_Comm_rank;
    int (*found)(MPI_Comm, int *);
    MPI_Errhandler handler;
    uint64_t since;
    int rank;

    sigaltstack(&stack, NULL);
    *(void **)&found = dlsym(RTLD_DEFAULT, "MPI_Comm_size");
    since = look_now();
    work(4);
    look_now();
    expect("two calls", since, 4);

    inside_work = 5;
    since = seen;
    look_now();
    look_now();
    inside_work = 0;
    expect("callbacks and signals", since, 0);

    since = seen;
    raise(SIGUSR1);
    look_now();
    expect("a signal outside", since, 3);

    since = look_now();
    for (int i = 0; i < 3; i++) {
        pointer(MPI_COMM_WORLD, &rank);
        work(1);
        found(MPI_COMM_WORLD, &rank);
        work(1);
    }
    look_now();
    expect("calls through pointers", since, 6);

    MPI_Comm_create_errhandler(jump_out, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    since = look_now();
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(back) == 0)
            fail();
        work(1);
    }
    look_now();
    expect("calls left by longjmp", since, 3);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    return unused;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    int provided;

    words = (const volatile uint64_t *)VALGRIND_DO_CLIENT_REQUEST_EXPR(0, TI_TICOUNT_REQ_WORD,
                                                                       TI_TICOUNT_VERSION, 0, 0, 0, 0);
    if (!words || words[2] == TI_TICOUNT_NO_OUTSIDE) {
        printf("not under ticount --outside=yes\n");
        return 1;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    sigaction(SIGUSR1, &action, NULL);
    MPI_Op_create(look, 1, &op);
    look_around(NULL);
    pthread_create(&thread, NULL, look_around, NULL);
    pthread_join(thread, NULL);
    if (signals != 6) {
        printf("%d signals\n", signals);
        bad = 1;
    }
    MPI_Op_free(&op);
    MPI_Finalize();
    return bad;
}
#endif
