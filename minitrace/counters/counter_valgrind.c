/*
 * The counter valgrind: the count that the ticount tool keeps.  One request at the start returns
 * its address; from then on it is read by plain loads.  A request is a few instructions without
 * effect outside valgrind; valgrind's other tools answer it with the default, 0.
 */
#include <stddef.h>

#include "minitrace/counters/counter_impl.h"
#include "minitrace/valgrind/ticount.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

#ifdef VALGRIND_DO_CLIENT_REQUEST_EXPR
static const volatile uint64_t *ticount_word(void)
{
    return (const volatile uint64_t *)VALGRIND_DO_CLIENT_REQUEST_EXPR(
        0, TI_TICOUNT_REQ_WORD, TI_TICOUNT_VERSION, 0, 0, 0, 0);
}

static uint64_t longest(void)
{
    return VALGRIND_DO_CLIENT_REQUEST_EXPR(0, TI_TICOUNT_REQ_LONGEST, 0, 0, 0, 0, 0);
}

static void mark(void)
{
    VALGRIND_DO_CLIENT_REQUEST_STMT(TI_TICOUNT_REQ_MARK, 0, 0, 0, 0, 0);
}

static bool under_valgrind(void)
{
    return RUNNING_ON_VALGRIND != 0;
}

static const bool built_with_valgrind = true;
#else
static const volatile uint64_t *ticount_word(void)
{
    return NULL;
}

static uint64_t longest(void)
{
    return 0;
}

static void mark(void)
{
}

static bool under_valgrind(void)
{
    return false;
}

static const bool built_with_valgrind = false;
#endif

/* Under a ticount with the same protocol version. */
static bool under_ticount(void)
{
    return ticount_word() != NULL;
}

static const volatile uint64_t *words;

static uint64_t others(void)
{
    return words[1];
}

static uint64_t outside(void)
{
    return words[2];
}

static ti_status valgrind_open(const char *event, const struct ti_counter_request *wish,
                               struct ti_counter *out, struct ti_err *err)
{
    const volatile uint64_t *word = ticount_word();

    (void)event;
    if (!word) {
        if (!built_with_valgrind) {
            ti_err_set(err, TI_ERR_INPUT, "built without the valgrind counter");
            ti_err_hint(err, "install valgrind with its headers, then build again");
        } else {
            ti_err_set(err, TI_ERR_INPUT,
                       under_valgrind() ? "running under valgrind, but not under our ticount"
                                        : "not running under valgrind --tool=ticount");
            ti_err_hint(err, "run the application under 'valgrind --tool=ticount' with "
                             "VALGRIND_LIB naming the folder of ticount");
        }
        return TI_ERR_INPUT;
    }
    words = out->word = word;
    if (wish->sum) {
        out->others = others;
        out->longest = longest;
        out->mark = mark;
    }
    if (word[2] != TI_TICOUNT_NO_OUTSIDE)
        out->outside = outside;
    return TI_OK;
}

/* --command-line-only: options for other valgrind tools, from VALGRIND_OPTS or .valgrindrc, would
 * stop ours. */
static const char *const command[] = {"valgrind", "--tool=ticount", "--command-line-only=yes",
                                      "--vgdb=no", NULL};

static const struct ti_counter_wrapper wrapper = {
    .words = command,
    .tool = "ticount",
    .variable = "VALGRIND_LIB",
    .setting = "HWLOC_COMPONENTS=-x86",
    .children = "--trace-children=yes",
    .outside = "--outside=yes",
    .report = "--report=yes",
    .said = "ticount: ",
    .is_around = under_ticount,
};

const struct ti_counter_backend ti__counter_valgrind = {
    .name = "valgrind",
    .event = "guest instructions",
    .unit = "instructions",
    .read_method = "load",
    .exact = true,
    .sums = true,
    .from_start = true,
    .wrapper = &wrapper,
    .open = valgrind_open,
};
