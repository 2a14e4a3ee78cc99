/*
 * random SEED STEPS: calls on requests drawn by lot, and a model that says which
 * event each of them must leave.  The model is written from the MPI standard and
 * event/event.h, and keeps for each request no more than what those two speak
 * of.
 *
 * One rank sends to itself.  Every receive has a tag of its own and gets at most
 * one message at a time, and a call that waits is made only where it can return,
 * so that what MPI may choose is which of the complete requests an any or some
 * call reports; the model takes that from the call.  A request stays in its
 * place of the array, beside those that are null.
 *
 * In the folder named by TIARA_EXPECT, the file "steps" says for each event in
 * which step it must appear.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/mpi/expect.h"

enum { N = 40 };

enum kind { NONE, RECEIVE, SEND };

static struct request {
    enum kind kind;
    bool persistent;
    bool wildcard;
    bool hidden; /* made where nothing is recorded, and not persistent: no number */
    bool active;
    bool unseen;    /* persistent, and started where nothing is recorded */
    bool matched;   /* active, and its message is on the way */
    bool cancelled; /* active, and a receive that nothing will match */
    int tag, number, value;
} requests[N]; /* of the handles */

static MPI_Request handles[N];
static int in[N], out[N], last_tag;
static bool stopped; /* by MPI_Pcontrol */

static uint32_t lot;
static int seed, step;
static FILE *steps_file;

/* As MUST, but says where in the sequence. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fprintf(stderr, "random: seed %d step %d\n", seed, step);                              \
        MUST(condition);                                                                           \
    } while (0)

/* 0 .. n - 1 (xorshift, to be the same everywhere) */
static int draw(int n)
{
    lot ^= lot << 13;
    lot ^= lot >> 17;
    lot ^= lot << 5;
    return (int)(lot % (uint32_t)n);
}

/* An event of this step. */
__attribute__((format(printf, 1, 2))) static void leaves(const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    expect("%s", text);
    if (steps_file)
        fprintf(steps_file, "step %d\n", step);
}

/* ------------------------------------------------------------- the model -- */

static bool is_none(const struct request *r)
{
    return r->kind == NONE;
}

static bool is_idle(const struct request *r)
{
    return r->persistent && !r->active;
}

/* A wait for it returns and completes it. */
static bool is_ready(const struct request *r)
{
    return r->matched || r->cancelled;
}

static bool is_returning(const struct request *r)
{
    return is_idle(r) || is_ready(r);
}

static bool is_open_receive(const struct request *r)
{
    return r->kind == RECEIVE && r->active && !is_ready(r);
}

/* A receive is not freed while it is active: it would not be known when its
 * buffer may be used again. */
static bool is_freeable(const struct request *r)
{
    return is_idle(r) || (r->kind == SEND && r->active);
}

/* Active, to the reader of the trace. */
static bool is_shown(const struct request *r)
{
    return r->active && !r->unseen && !r->hidden;
}

static bool is_any_shown(void)
{
    for (int i = 0; i < N; i++)
        if (is_shown(&requests[i]))
            return true;
    return false;
}

/* The lowest that no live request has. */
static int free_number(void)
{
    bool taken[N + 1] = {false};
    int number = 0;

    for (int i = 0; i < N; i++)
        if (!is_none(&requests[i]) && !requests[i].hidden)
            taken[requests[i].number] = true;
    while (taken[number])
        number++;
    return number;
}

/* One for which `fits` holds; -1 if there is none. */
static int pick(bool (*fits)(const struct request *))
{
    int found[N], n = 0;

    for (int i = 0; i < N; i++)
        if (fits(&requests[i]))
            found[n++] = i;
    return n ? found[draw(n)] : -1;
}

static struct request *model_make(int i, enum kind kind, bool persistent, int tag)
{
    struct request made = {.kind = kind, .persistent = persistent, .tag = tag};

    made.active = !persistent;
    made.hidden = stopped && !persistent;
    if (!made.hidden)
        made.number = free_number();
    requests[i] = made;
    return &requests[i];
}

/* The call completed it: inactive if it is persistent, gone if not. */
static void model_complete(int i)
{
    struct request *r = &requests[i];

    HOLDS(is_ready(r));
    HOLDS((handles[i] == MPI_REQUEST_NULL) == !r->persistent);
    if (r->kind == RECEIVE && !r->cancelled)
        HOLDS(in[i] == r->value);
    if (r->persistent)
        r->active = r->unseen = r->matched = r->cancelled = false;
    else
        r->kind = NONE, r->active = r->matched = r->cancelled = false;
}

/* Check a status, unless it is ignored. */
static void look_at(const MPI_Status *status, int i)
{
    const struct request *r = &requests[i];
    int flag;

    if (!status)
        return;
    MPI_Test_cancelled(status, &flag);
    HOLDS(flag == r->cancelled);
    if (r->kind == RECEIVE && !r->cancelled)
        HOLDS(status->MPI_SOURCE == 0 && status->MPI_TAG == r->tag);
}

/* The call completed one. */
static void completes(const char *call, int i, const MPI_Status *status)
{
    struct request was = requests[i];

    look_at(status, i);
    model_complete(i);
    if (!is_shown(&was))
        return;
    if (was.cancelled)
        leaves("%s from=null fromtag=null req=%d", call, was.number);
    else if (was.wildcard)
        leaves("%s from=+0 fromtag=%d req=%d", call, was.tag, was.number);
    else
        leaves("%s req=%d", call, was.number);
}

/* The call completed those of the N that are set. */
static void completes_many(const char *call, const bool *set)
{
    char numbers[512] = "", matches[1024] = "";
    size_t used = 0, told = 0;

    for (int i = 0; i < N; i++) {
        struct request was = requests[i];

        if (!set[i])
            continue;
        model_complete(i);
        if (!is_shown(&was))
            continue;
        used += (size_t)sprintf(numbers + used, ",%d", was.number);
        if (was.cancelled)
            told += (size_t)sprintf(matches + told, ",%d:null:null", was.number);
        else if (was.wildcard)
            told += (size_t)sprintf(matches + told, ",%d:+0:%d", was.number, was.tag);
    }
    if (used == 0)
        return;
    if (told)
        snprintf(matches + told, sizeof matches - told, "]");
    if (is_any_shown())
        leaves("%s requests=[%s]%s%s", call, numbers + 1, told ? " matched=[" : "",
               told ? matches + 1 : "");
    else
        leaves("%s all=1%s%s", call, told ? " matched=[" : "", told ? matches + 1 : "");
}

/* --------------------------------------------------------------- the steps -- */

static void make_receive(bool persistent)
{
    int i = pick(is_none), source;
    struct request *r;

    if (i < 0)
        return;
    r = model_make(i, RECEIVE, persistent, ++last_tag);
    r->wildcard = draw(2);
    source = r->wildcard ? MPI_ANY_SOURCE : 0;
    if (!r->hidden)
        leaves("%s comm=1 peer=%s tag=%d bytes=4 esize=4 req=%d",
               persistent ? "recv_init" : "irecv", r->wildcard ? "any" : "+0(0)", r->tag,
               r->number);
    if (persistent)
        MPI_Recv_init(&in[i], 1, MPI_INT, source, r->tag, MPI_COMM_SELF, &handles[i]);
    else
        MPI_Irecv(&in[i], 1, MPI_INT, source, r->tag, MPI_COMM_SELF, &handles[i]);
}

/* A message for a receive that waits for one. */
static void send(void)
{
    int to = pick(is_open_receive), i = pick(is_none), message = step;
    struct request *r;

    if (to < 0)
        return;
    requests[to].matched = true;
    requests[to].value = step;
    if (i < 0 || draw(3) == 0) {
        if (!stopped)
            leaves("send comm=1 peer=+0(0) tag=%d bytes=4 esize=4", requests[to].tag);
        MPI_Send(&message, 1, MPI_INT, 0, requests[to].tag, MPI_COMM_SELF);
        return;
    }
    r = model_make(i, SEND, false, requests[to].tag);
    r->matched = true;
    if (!r->hidden)
        leaves("isend comm=1 peer=+0(0) tag=%d bytes=4 esize=4 req=%d", r->tag, r->number);
    out[i] = step;
    MPI_Isend(&out[i], 1, MPI_INT, 0, r->tag, MPI_COMM_SELF, &handles[i]);
}

static void model_start(int i)
{
    struct request *r = &requests[i];

    r->active = true;
    r->unseen = stopped;
    r->matched = false;
}

static void start_one(void)
{
    int i = pick(is_idle);

    if (i < 0)
        return;
    model_start(i);
    if (!stopped)
        leaves("start req=%d", requests[i].number);
    MPI_Start(&handles[i]);
}

static void start_several(void)
{
    MPI_Request copies[N];
    int which[N], n = 0;
    char numbers[512] = "";
    size_t used = 0;

    for (int i = 0; i < N; i++) {
        if (!is_idle(&requests[i]) || draw(2))
            continue;
        model_start(i);
        used += (size_t)sprintf(numbers + used, ",%d", requests[i].number);
        copies[n] = handles[i];
        which[n++] = i;
    }
    if (n && !stopped)
        leaves("startall requests=[%s]", numbers + 1);
    MPI_Startall(n, copies);
    for (int k = 0; k < n; k++)
        handles[which[k]] = copies[k];
}

static void complete(int i, bool wait)
{
    MPI_Status status, *given = draw(2) ? &status : NULL;
    int flag = 0;

    if (wait)
        MPI_Wait(&handles[i], given ? given : MPI_STATUS_IGNORE);
    while (!wait && !flag)
        MPI_Test(&handles[i], &flag, given ? given : MPI_STATUS_IGNORE);
    if (is_ready(&requests[i]))
        completes(wait ? "wait" : "test", i, given);
}

static void complete_one(void)
{
    int i = pick(is_returning);

    if (i >= 0)
        complete(i, draw(2));
}

/* Complete the requests from `first` on, up to one that would keep the call waiting. */
static void complete_all(bool wait, int first, int last)
{
    MPI_Status statuses[N], *given = draw(2) ? statuses : NULL;
    bool set[N] = {false};
    int n = 0, flag = 0;

    for (int i = first; i < last; i++, n++) {
        if (requests[i].active && !is_ready(&requests[i]))
            break;
        set[i] = is_ready(&requests[i]);
    }
    if (wait)
        MPI_Waitall(n, handles + first, given ? given : MPI_STATUSES_IGNORE);
    while (!wait && !flag)
        MPI_Testall(n, handles + first, &flag, given ? given : MPI_STATUSES_IGNORE);
    for (int i = first; i < first + n; i++)
        if (set[i])
            look_at(given ? given + (i - first) : NULL, i);
    completes_many(wait ? "waitall" : "testall", set);
}

static void complete_any(bool wait, int first, int last)
{
    MPI_Status status, *given = draw(2) ? &status : NULL;
    MPI_Status *passed = given ? given : MPI_STATUS_IGNORE;
    int index = MPI_UNDEFINED, flag = 1;

    if (wait)
        MPI_Waitany(last - first, handles + first, &index, passed);
    else
        MPI_Testany(last - first, handles + first, &index, &flag, passed);
    if (flag && index != MPI_UNDEFINED)
        completes(wait ? "waitany" : "testany", first + index, given);
}

static void complete_some(bool wait, int first, int last)
{
    MPI_Status statuses[N], *given = draw(2) ? statuses : NULL;
    MPI_Status *passed = given ? given : MPI_STATUSES_IGNORE;
    bool set[N] = {false};
    int n, indices[N];

    if (wait)
        MPI_Waitsome(last - first, handles + first, &n, indices, passed);
    else
        MPI_Testsome(last - first, handles + first, &n, indices, passed);
    for (int k = 0; n != MPI_UNDEFINED && k < n; k++) {
        set[first + indices[k]] = true;
        look_at(given ? given + k : NULL, first + indices[k]);
    }
    completes_many(wait ? "waitsome" : "testsome", set);
}

static void complete_several(void)
{
    int first = draw(N), last = first + 1 + draw(N - first), how = draw(3);
    bool wait = draw(2), ready = false;

    for (int i = first; i < last; i++)
        ready |= is_ready(&requests[i]);
    if (how == 0)
        complete_all(wait, first, last);
    else if (how == 1)
        complete_any(wait && ready, first, last);
    else
        complete_some(wait && ready, first, last);
}

/* If the trace shows that it is active, this and its completion are in it, even
 * where nothing is recorded. */
static void cancel(void)
{
    int i = pick(is_open_receive);

    if (i < 0)
        return;
    requests[i].cancelled = true;
    if (is_shown(&requests[i]))
        leaves("cancel req=%d", requests[i].number);
    MPI_Cancel(&handles[i]);
}

/* In the trace even where nothing is recorded, as a completion is. */
static void free_one(void)
{
    int i = pick(is_freeable);

    if (i < 0)
        return;
    if (!requests[i].hidden)
        leaves("request_free req=%d", requests[i].number);
    MPI_Request_free(&handles[i]);
    requests[i] = (struct request){0};
}

static void control(void)
{
    stopped = !stopped;
    leaves("pcontrol level=%d", !stopped);
    MPI_Pcontrol(!stopped);
}

static void take_step(void)
{
    switch (draw(32)) {
    case 0:
    case 1:
    case 2:
    case 3:
        make_receive(false);
        break;
    case 4:
    case 5:
    case 6:
        make_receive(true);
        break;
    case 7:
    case 8:
        start_one();
        break;
    case 9:
        start_several();
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
        send();
        break;
    case 16:
    case 17:
    case 18:
        complete_one();
        break;
    case 19:
    case 20:
        cancel();
        break;
    case 21:
    case 22:
        free_one();
        break;
    case 23:
        if (draw(6) == 0)
            control();
        break;
    default:
        complete_several();
    }
}

/* Nothing is left. */
static void clean_up(void)
{
    if (stopped)
        control();
    while (pick(is_open_receive) >= 0)
        cancel();
    complete_all(true, 0, N);
    while (pick(is_freeable) >= 0)
        free_one();
    HOLDS(pick(is_none) >= 0 && free_number() == 0);
}

static void begin(void)
{
    const char *dir = getenv("TIARA_EXPECT");
    char path[4096];

    lot = (uint32_t)seed * 2654435761U | 1;
    for (int i = 0; i < N; i++)
        handles[i] = MPI_REQUEST_NULL;
    if (!dir)
        return;
    snprintf(path, sizeof path, "%s/steps", dir);
    steps_file = fopen(path, "w");
    MUST(steps_file);
    setvbuf(steps_file, NULL, _IOLBF, 0); /* to know the last one after a crash */
    fputs("MPI_Init\n", steps_file);
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? atoi(argv[2]) : 0;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(argc == 3 && size == 1);
    seed = atoi(argv[1]);
    begin();
    for (step = 1; step <= count; step++)
        take_step();
    clean_up();
    if (steps_file)
        MUST(fclose(steps_file) == 0);
    expect_end();
    MPI_Finalize();
    return 0;
}
