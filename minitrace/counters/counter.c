#include "minitrace/counters/counter.h"

#include <errno.h>
#include <string.h>

#include "minitrace/counters/counter_impl.h"

#define CHOICES "auto, papi, papi:EVENT, valgrind, blocks or cputime"

const volatile uint64_t ti__counter_no_word = 0;

static ti_status open_auto(const char *also, bool sum, struct ti_counter *out, struct ti_err *err)
{
    struct ti_err why = {"", ""};
    uint64_t count, own;
    ti_status st;

    if (ti__counter_under_ticount())
        return ti__counter_open_valgrind(sum, out, err);
    if (ti__counter_open_papi(TI__PAPI_DEFAULT, also, sum, out, &why) == TI_OK)
        return TI_OK;
    if (ti_counter_blocks(&count, &own))
        return ti__counter_open_blocks(sum, out, err);
    st = ti_err_set(err, TI_ERR_INPUT,
                    "no exact counter: not running under valgrind --tool=ticount, not compiled "
                    "with ti-mpicc, and %s",
                    why.text);
    ti_err_hint(err, "%s%spapi:EVENT takes another event, see papi_native_avail; cputime is an "
                     "estimate", why.hint, why.hint[0] ? "; " : "");
    return st;
}

static ti_status open_choice(const struct ti_counter_request *wish, struct ti_counter *out,
                             struct ti_err *err)
{
    const char *choice = wish->choice, *also = wish->also;
    bool sum = wish->sum;
    ti_status st;

    if (strcmp(choice, "auto") == 0)
        return open_auto(also, sum, out, err);
    if (strcmp(choice, "papi") == 0)
        return ti__counter_open_papi(TI__PAPI_DEFAULT, also, sum, out, err);
    if (strncmp(choice, "papi:", 5) == 0)
        return ti__counter_open_papi(choice + 5, also, sum, out, err);
    if (strcmp(choice, "valgrind") == 0)
        return ti__counter_open_valgrind(sum, out, err);
    if (strcmp(choice, "blocks") == 0)
        return ti__counter_open_blocks(sum, out, err);
    if (strcmp(choice, "cputime") == 0)
        return ti__counter_open_cputime(sum, out, err);
    st = ti_err_set(err, TI_ERR_USAGE, "unknown counter '%s'", choice);
    ti_err_hint(err, "choose %s", CHOICES);
    return st;
}

ti_status ti_counter_open(const struct ti_counter_request *wish, struct ti_counter *out,
                          struct ti_err *err)
{
    int saved = errno;
    struct ti_counter counter;
    ti_status st = open_choice(wish, &counter, err);

    if (st == TI_OK && wish->also && wish->also[0] && !counter.nalso)
        st = ti__counter_add_papi(wish->also, &counter, err);
    if (st == TI_OK)
        *out = counter;
    errno = saved;
    return st;
}

void ti_counter_close(struct ti_counter *counter)
{
    int saved = errno;

    ti__counter_close_papi();
    memset(counter, 0, sizeof *counter);
    errno = saved;
}
