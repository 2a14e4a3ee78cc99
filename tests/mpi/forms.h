/*
 * Collectives in each of their forms: blocking; non-blocking, completed by each
 * call that completes requests, in turn; and persistent, where MPI has them.
 *
 *     event("bcast comm=%d bytes=40 esize=4 root=0", c);
 *     CALL(Bcast, Ibcast, Bcast_init, buffer, 10, MPI_INT, 0, comm);
 *
 * expects and does what the current form is.
 */
#ifndef TI_TESTS_MPI_FORMS_H
#define TI_TESTS_MPI_FORMS_H

#include <stdbool.h>
#include <string.h>

#include "tests/mpi/expect.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

#if MPI_VERSION >= 4
#define FORMS                      3
#define PERSISTENT_CALL(Init, ...) MPI_##Init(__VA_ARGS__, MPI_INFO_NULL, &form_request)
#else
#define FORMS                      2
#define PERSISTENT_CALL(Init, ...) MPI_ERR_OTHER
#endif

static enum form form;
static MPI_Request form_request;
static int form_number; /* of the next request: those with lower ones are live */

/* The event of a collective, told in its blocking form. */
__attribute__((format(printf, 1, 2), unused)) static void event(const char *fmt, ...)
{
    char text[4096], *fields, *vectors;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (form == BLOCKING) {
        expect("%s", text);
        return;
    }
    /* the request stands behind the other fields and before the vectors */
    fields = strchr(text, ' ');
    vectors = strchr(text, '[');
    while (vectors && *vectors != ' ')
        vectors--;
    *fields++ = '\0';
    if (vectors)
        *vectors++ = '\0';
    expect("%s%s%s %s req=%d%s%s", form == NONBLOCKING ? "i" : "", text,
           form == PERSISTENT ? "_init" : "", fields, form_number, vectors ? " " : "",
           vectors ? vectors : "");
}

/* Complete the only active request *r, whose number is `number`, by one completion
 * call after the other. */
__attribute__((unused)) static void complete_one(MPI_Request *r, int number)
{
    static unsigned turn;
    int flag = 0, index, indices[1], n = 0;

    switch (turn++ % 8) {
    case 0:
        expect("wait req=%d", number);
        MPI_Wait(r, MPI_STATUS_IGNORE);
        break;
    case 1:
        expect("waitall all=1");
        MPI_Waitall(1, r, MPI_STATUSES_IGNORE);
        break;
    case 2:
        expect("waitany req=%d", number);
        MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
        break;
    case 3:
        expect("waitsome all=1");
        MPI_Waitsome(1, r, &n, indices, MPI_STATUSES_IGNORE);
        break;
    case 4:
        expect("test req=%d", number);
        while (!flag)
            MPI_Test(r, &flag, MPI_STATUS_IGNORE);
        break;
    case 5:
        expect("testall all=1");
        while (!flag)
            MPI_Testall(1, r, &flag, MPI_STATUSES_IGNORE);
        break;
    case 6:
        expect("testany req=%d", number);
        while (!flag)
            MPI_Testany(1, r, &index, &flag, MPI_STATUS_IGNORE);
        break;
    default:
        expect("testsome all=1");
        while (n == 0)
            MPI_Testsome(1, r, &n, indices, MPI_STATUSES_IGNORE);
    }
}

/* After the call of the current form: have its result. */
__attribute__((unused)) static void finish_call(void)
{
    if (form == PERSISTENT) {
        expect("start req=%d", form_number);
        MPI_Start(&form_request);
    }
    if (form != BLOCKING)
        complete_one(&form_request, form_number);
    if (form == PERSISTENT) {
        expect("request_free req=%d", form_number);
        MPI_Request_free(&form_request);
    }
}

#define CALL(Blocking, Nonblocking, Init, ...)                                                     \
    do {                                                                                           \
        int call_rc = MPI_ERR_OTHER;                                                               \
        if (form == BLOCKING)                                                                      \
            call_rc = MPI_##Blocking(__VA_ARGS__);                                                 \
        else if (form == NONBLOCKING)                                                              \
            call_rc = MPI_##Nonblocking(__VA_ARGS__, &form_request);                               \
        else                                                                                       \
            call_rc = PERSISTENT_CALL(Init, __VA_ARGS__);                                          \
        MUST(call_rc == MPI_SUCCESS);                                                              \
        finish_call();                                                                             \
    } while (0)

/* "3,0,4": the n numbers, each times `scale`.  Good until called four times more. */
__attribute__((unused)) static const char *list(const int *v, int n, int scale)
{
    static char text[4][512];
    static int turn;
    char *t = text[turn = (turn + 1) % 4];

    t[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(t + strlen(t), 512 - strlen(t), "%s%d", i ? "," : "", v[i] * scale);
    return t;
}

/* The data that is sent: int i of a rank.  Before each call `in` has this, `out` -1. */
#define ROOM 4096
static int in[ROOM], out[ROOM];

__attribute__((unused)) static int value(int of, int i)
{
    return 1000 * of + i;
}

__attribute__((unused)) static void fill(int me)
{
    for (int i = 0; i < ROOM; i++) {
        in[i] = value(me, i);
        out[i] = -1;
    }
}

/* out[at...] has what `of` sent from its int `first` on: n ints; and no more. */
__attribute__((unused)) static void must_have(int at_, int n, int of, int first)
{
    for (int i = 0; i < n; i++)
        MUST(out[at_ + i] == value(of, first + i));
    MUST(out[at_ + n] == -1);
}

#endif
