/*
 * What MPI calls is MPI's, what a signal handler executes between two calls is not:
 * bursts around calls that call back, to the instruction.  callbacks FILE, on any
 * number of ranks; rank R writes to FILE.R what its events must be, "OPERATION VOLUME"
 * or "OPERATION -" where C has computed.
 *
 * All that is executed between the calls of one play() is assembler, below.
 * TIARA_COUNTER=blocks counts the call where others do not, and not the two
 * instructions of the system's that follow a signal handler.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef __x86_64__
int main(void)
{
    return 77;
}
#else

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

/* A call of a function of MPI's or of ours; behind the last step's is NULL. */
struct step {
    int64_t rounds; /* of the loop before it, at least 1 */
    const void *function;
    int64_t arg[7];
    int64_t result;
    const char *op; /* event; NULL: there is none */
    int64_t own;    /* not MPI's: instructions that it executes */
    int fails;      /* leaves by longjmp() */
};

#define BEFORE      10 /* a step's instructions beside the loop, before the call */
#define AFTER       5  /* and behind it */

int play(struct step *steps);
extern const char play_end[];

__asm__(".text\n"
        ".globl play, play_end\n"
        "play:\n"
        "pushq %rbx\n"
        "subq $16, %rsp\n"
        "movq %rdi, %rbx\n"
        "1: movq (%rbx), %rcx\n"
        "2: decq %rcx\n"
        "jnz 2b\n"
        "movq 64(%rbx), %rax\n"
        "movq %rax, (%rsp)\n"
        "movq 16(%rbx), %rdi\n"
        "movq 24(%rbx), %rsi\n"
        "movq 32(%rbx), %rdx\n"
        "movq 40(%rbx), %rcx\n"
        "movq 48(%rbx), %r8\n"
        "movq 56(%rbx), %r9\n"
        "xorl %eax, %eax\n"
        "call *8(%rbx)\n"
        "cltq\n"
        "movq %rax, 72(%rbx)\n"
        "addq $104, %rbx\n"
        "cmpq $0, 8(%rbx)\n"
        "jne 1b\n"
        "addq $16, %rsp\n"
        "popq %rbx\n"
        "ret\n"
        "play_end:\n");
_Static_assert(sizeof(struct step) == 104 && offsetof(struct step, result) == 72,
               "as play() has it");

/* raise(SIGUSR1), and its handler. */
void signal_self(void);
void on_signal(int number);
int64_t thread;
int signals;
#define SIGNAL_SELF 5
#define ON_SIGNAL   2003
#define RETURN      2 /* where a handler returns to */

__asm__("signal_self:\n"
        "movq thread(%rip), %rdi\n"
        "movl $10, %esi\n"  /* SIGUSR1 */
        "movl $200, %eax\n" /* SYS_tkill */
        "syscall\n"
        "ret\n"
        "on_signal:\n"
        "movl $1000, %ecx\n"
        "1: decq %rcx\n"
        "jnz 1b\n"
        "incl signals(%rip)\n"
        "ret\n");

static int rank, size, bad;
static int blocks; /* is the counter */
static FILE *truth;

/* ------------------------------------------------------------------ steps -- */

static struct step steps[32];
static int n_steps;
static int64_t carried = -1; /* by a call that was left */

static struct step *step(const char *op, const void *function, int64_t a, int64_t b, int64_t c,
                         int64_t d, int64_t e, int64_t f, int64_t g)
{
    static uint64_t seed = 1;
    struct step *s = &steps[n_steps++];
    int64_t most = 1;

    seed = seed * 6364136223846793005u + 1442695040888963407u;
    for (unsigned bits = (unsigned)(seed >> 40); most < 10000 && (bits & 1); bits >>= 1)
        most *= 10;
    *s = (struct step){.function = function, .arg = {a, b, c, d, e, f, g}, .op = op};
    s->rounds = most + (int64_t)(seed >> 33) % (9 * most);
    return s;
}

#define STEP(op, name, ...) STEP_(op, name, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define STEP_(op, name, a, b, c, d, e, f, g, ...)                                                  \
    step(op, (const void *)(name), (int64_t)(a), (int64_t)(b), (int64_t)(c), (int64_t)(d),         \
         (int64_t)(e), (int64_t)(f), (int64_t)(g))

static void barrier(void)
{
    STEP("barrier", MPI_Barrier, MPI_COMM_SELF);
}

static void between(void)
{
    STEP(NULL, signal_self, 0)->own = 1 + SIGNAL_SELF + ON_SIGNAL + (blocks ? 0 : RETURN);
}

/* Of events: what they must be. */
static void say(int unknown)
{
    int64_t sum = carried < 0 ? 0 : carried;
    int known = carried >= 0, off = 0;

    carried = -1;
    for (const struct step *s = steps; s < steps + n_steps; s++) {
        if (s > steps)
            sum += AFTER;
        /* what follows a call that was left is not counted */
        sum = s == steps && known ? sum : sum + BEFORE + 2 * s->rounds + s->own;
        if (blocks && !s->own && !(s == steps && known))
            sum++;
        if (s->fails) {
            carried = sum;
            break;
        }
        if (!s->op)
            continue;
        if (off && strcmp(s->op, "pcontrol") == 0 && s->arg[0])
            sum = off = 0;
        if (off)
            continue;
        if ((s == steps && !known) || unknown)
            fprintf(truth, "%s -\n", s->op);
        else
            fprintf(truth, "%s %lld\n", s->op, (long long)sum);
        off = strcmp(s->op, "pcontrol") == 0 && !s->arg[0];
        sum = 0;
    }
    memset(steps, 0, sizeof steps);
    n_steps = 0;
}

static void all(void)
{
    play(steps);
    say(0);
}

static void must(int yes, const char *what)
{
    if (yes)
        return;
    printf("rank %d: %s\n", rank, what);
    bad = 1;
}

/* -------------------------------------------------------------- callbacks -- */

static int called;
static jmp_buf back;

static void work(void)
{
    uint64_t n = 12345;

    called++;
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
    raise(SIGUSR1);
}

/* Where MPI may be called. */
static void work_and_call(void)
{
    int number;

    work();
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    work();
    MPI_Barrier(MPI_COMM_SELF);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *of)
{
    (void)of;
    work();
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    work_and_call();
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    work_and_call();
    return MPI_SUCCESS;
}

static int forget_type(MPI_Datatype of, int key, void *value, void *extra)
{
    (void)of, (void)key, (void)value, (void)extra;
    work_and_call();
    return MPI_SUCCESS;
}

static int forget_window(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key, (void)value, (void)extra;
    work_and_call();
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    work_and_call();
}

static void on_window_error(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    work_and_call();
}

static void on_file_error(MPI_File *file, int *code, ...)
{
    (void)file, (void)code;
    work_and_call();
}

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    work();
    longjmp(back, 1);
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    work_and_call();
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = 0;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    work_and_call();
    return MPI_SUCCESS;
}

static int give_up(void *extra, int complete)
{
    (void)extra, (void)complete;
    work_and_call();
    return MPI_SUCCESS;
}

/* ------------------------------------------------------------- what is tried -- */

static void operations(void)
{
    int a = 1, b = 2, sum = 0, total = 0;
    MPI_Request request;
    MPI_Op op;

    MPI_Op_create(add, 1, &op);
    called = 0;
    barrier();
    STEP(NULL, MPI_Reduce_local, &a, &b, 1, MPI_INT, op);
    barrier();
    STEP("allreduce", MPI_Allreduce, &a, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    STEP("scan", MPI_Scan, &a, &total, 1, MPI_INT, op, MPI_COMM_WORLD);
    barrier();
    all();
    must(called >= 1 && b == 3 && sum == size && total == rank + 1, "a user's operation");
    barrier();
    STEP("iallreduce", MPI_Iallreduce, &a, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
    STEP("wait", MPI_Wait, &request, MPI_STATUS_IGNORE);
    barrier();
    all();
    must(sum == size, "a user's operation, non-blocking");
    MPI_Op_free(&op);
}

static void attributes(void)
{
    int key, type_key, window_key, value, word = 0;
    MPI_Comm second;
    MPI_Win win;
    MPI_Datatype of;

    MPI_Comm_create_keyval(copy, forget, &key, NULL);
    called = 0;
    barrier();
    STEP(NULL, MPI_Comm_set_attr, MPI_COMM_WORLD, key, &value);
    STEP(NULL, MPI_Comm_set_attr, MPI_COMM_WORLD, key, &word); /* deletes the former */
    barrier();
    STEP("comm_dup", MPI_Comm_dup, MPI_COMM_WORLD, &second);
    STEP("comm_free", MPI_Comm_free, &second);
    STEP(NULL, MPI_Comm_delete_attr, MPI_COMM_WORLD, key);
    barrier();
    all();
    must(called == 8, "attributes of communicators");
    MPI_Comm_free_keyval(&key);

    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_type, &type_key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &of);
    MPI_Type_set_attr(of, type_key, &value);
    called = 0;
    barrier();
    STEP(NULL, MPI_Type_free, &of);
    barrier();
    all();
    must(called == 2, "attributes of datatypes");
    MPI_Type_free_keyval(&type_key);

    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, forget_window, &window_key, NULL);
    called = 0;
    barrier();
    STEP("win_create", MPI_Win_create, &word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    all();
    MPI_Win_set_attr(win, window_key, &value);
    barrier();
    STEP("win_free", MPI_Win_free, &win);
    barrier();
    all();
    must(called == 2, "attributes of windows");
    MPI_Win_free_keyval(&window_key);
}

static void errors(void)
{
    int word = 0;
    MPI_Errhandler handler;
    MPI_File file;
    MPI_Win win;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    called = 0;
    barrier();
    STEP(NULL, MPI_Send, &word, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
    barrier();
    STEP(NULL, MPI_Comm_call_errhandler, MPI_COMM_WORLD, MPI_ERR_OTHER);
    STEP(NULL, MPI_Send, &word, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
    barrier();
    all();
    must(called == 6, "error handler of a communicator");
    MPI_Errhandler_free(&handler);

    /* calls that are left: once with a call of MPI's next, once with a burst first */
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    called = 0;
    for (volatile int i = 0; i < 2; i++) {
        barrier();
        barrier();
        STEP(NULL, MPI_Send, &word, 1, MPI_INT, size, 1, MPI_COMM_WORLD)->fails = 1;
        if (setjmp(back) == 0)
            play(steps);
        say(0);
        if (i)
            signal_self(); /* in vain */
        barrier();
        barrier();
        between();
        barrier();
        all();
    }
    must(called == 2, "an error handler that jumps");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);

    MPI_Win_create_errhandler(on_window_error, &handler);
    barrier();
    STEP("win_create", MPI_Win_create, &word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    all();
    MPI_Win_set_errhandler(win, handler);
    called = 0;
    barrier();
    STEP(NULL, MPI_Win_call_errhandler, win, MPI_ERR_OTHER);
    barrier();
    STEP("win_free", MPI_Win_free, &win);
    all();
    must(called == 2, "error handler of a window");
    MPI_Errhandler_free(&handler);

    MPI_File_create_errhandler(on_file_error, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    called = 0;
    barrier();
    STEP(NULL, MPI_File_open, MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL,
         &file);
    barrier();
    all();
    must(called == 2, "error handler of a file");
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

static void requests(void)
{
    MPI_Request request;
    int flag = 0;

    for (int how = 0; how < 4; how++) {
        called = 0;
        barrier();
        STEP("grequest_start", MPI_Grequest_start, query, release, give_up, NULL, &request);
        if (how == 1)
            STEP("cancel", MPI_Cancel, &request);
        barrier();
        all();
        barrier();
        STEP("grequest_complete", MPI_Grequest_complete, request);
        if (how == 2)
            STEP("test", MPI_Test, &request, &flag, MPI_STATUS_IGNORE);
        else if (how == 3)
            STEP("request_free", MPI_Request_free, &request);
        else
            STEP("wait", MPI_Wait, &request, MPI_STATUS_IGNORE);
        barrier();
        all();
        /* one that is freed need not be asked */
        must(called == 4 + 2 * (how == 1) || (how == 3 && called == 2), "a generalized request");
    }
    must(flag, "a test");
}

static char *arrived;
static volatile int outside;

static void on_alarm(int number, siginfo_t *info, void *context)
{
    const char *at = (const char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)number, (void)info;
    outside = at >= (const char *)play && at < play_end;
    work();
    mkdir(arrived, 0700);
}

/* Between calls, in callbacks (work()), and while a call waits. */
static void handlers(void)
{
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval soon = {.it_value.tv_usec = 200000};
    int before = signals, word;

    barrier();
    between();
    barrier();
    STEP(NULL, MPI_Wtime, 0); /* what it returns is left alone */
    between();
    between();
    barrier();
    barrier();
    all();
    must(signals == before + 3, "signals between calls");

    if (rank > 1 || size < 2)
        return;
    if (rank == 1) {
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &soon, NULL);
        barrier();
        STEP("recv", MPI_Recv, &word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        struct stat found;

        while (stat(arrived, &found) != 0)
            usleep(10000);
        barrier();
        STEP("send", MPI_Send, &word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    }
    barrier();
    barrier();
    play(steps);
    say(outside);
}

static void nothing(void)
{
    for (int level = 1; level < 3; level++) {
        barrier();
        barrier();
        STEP("pcontrol", MPI_Pcontrol, 0);
        barrier();
        between();
        STEP(NULL, MPI_Wtime, 0);
        barrier();
        STEP("pcontrol", MPI_Pcontrol, level);
        barrier();
        between();
        STEP("pcontrol", MPI_Pcontrol, level); /* and again, to no effect */
        barrier();
        all();
    }
}

/* With a callback in it. */
static void end(void)
{
    static int value;
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
    called = 0;
    barrier();
    STEP("finalize", MPI_Finalize, 0);
    all();
    must(called == 2, "a callback in MPI_Finalize");
}

int main(int argc, char **argv)
{
    const char *counter = getenv("TIARA_COUNTER");
    struct sigaction action = {.sa_handler = on_signal};
    char name[4096];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    truth = fopen(name, "w");
    snprintf(name, sizeof name, "%s.alarm", argv[1]);
    arrived = name;
    blocks = counter && strcmp(counter, "blocks") == 0;
    thread = syscall(SYS_gettid);
    sigaction(SIGUSR1, &action, NULL);

    operations();
    attributes();
    errors();
    requests();
    handlers();
    nothing();
    end();
    return fclose(truth) != 0 || bad;
}
#endif
