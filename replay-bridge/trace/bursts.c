#include "replay-bridge/trace/bursts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define MOST 9e18 /* maximum of a burst after scaling */

/* The column that each kind of replay needs; NULL: none. */
static const char *const column_names[] = {[TI_BURSTS_THREADS] = TI_EXTRA_LONGEST,
                                           [TI_BURSTS_TIMES] = TI_EXTRA_BURST,
                                           [TI_BURSTS_NOTHING] = NULL};

/* ---- check of a trace ---- */

static ti_status no_column(const struct ti_bursts *bursts, const struct ti_source *s, int64_t rank,
                           uint64_t index, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT,
               "the trace does not have %s: rank %" PRId64
               " of '%s' has no column '%s' at event %" PRIu64,
               bursts->as == TI_BURSTS_TIMES ? "the duration of each burst"
                                             : "the volume of the longest thread of each burst",
               rank, ti_source_path(s), column_names[bursts->as], index);
    ti_err_hint(err, bursts->as == TI_BURSTS_TIMES
                         ? "acquire the trace with ti-acquire --times"
                         : "acquire the trace with ti-acquire --threads sum -c valgrind; the "
                           "program must not use MPI_THREAD_SERIALIZED");
    return TI_ERR_INPUT;
}

static ti_status check_unit(const struct ti_bursts *bursts, const struct ti_source *s, int64_t rank,
                            const struct ti_reader *r, struct ti_err *err)
{
    const char *has = ti_reader_info(r, "unit"), *wants = bursts->rates->unit;

    if (!has || !wants || strcmp(has, wants) == 0)
        return TI_OK;
    return ti_err_set(err, TI_ERR_INPUT,
                      "the rates of '%s' are in %.40s a second, but the volumes of rank %" PRId64
                      " of '%s' are in %.40s",
                      bursts->rates_path, wants, rank, ti_source_path(s), has);
}

static ti_status check_rank(const struct ti_bursts *bursts, const struct ti_source *s, int64_t rank,
                            const struct ti_reader *r, struct ti_err *err)
{
    if (bursts->as == TI_BURSTS_RATES)
        return check_unit(bursts, s, rank, r, err);
    return ti_reader_extra(r, column_names[bursts->as]) >= 0 ? TI_OK
                                                             : no_column(bursts, s, rank, 0, err);
}

ti_status ti_bursts_check(struct ti_source *s, const struct ti_bursts *bursts, struct ti_err *err)
{
    bool any = column_names[bursts->as] || bursts->as == TI_BURSTS_RATES;
    ti_status st = TI_OK;

    for (int64_t rank = 0; any && !st && rank < ti_source_nranks(s); rank++) {
        struct ti_reader *r;

        st = ti_source_reader(s, rank, &r, err);
        if (st)
            return st;
        st = check_rank(bursts, s, rank, r, err);
        ti_reader_close(r);
    }
    return st;
}

/* ---- rates ---- */

/* The rate of a burst: that of its call site, or of its class. */
static const struct ti_rate *rate_of(struct ti_burst_taker *t, uint32_t site, uint64_t volume)
{
    static const struct ti_rate none = {0};
    const struct ti_rates *rates = t->bursts->rates;
    const struct ti_rate *rate;
    const char *text;

    t->site_rate = ti_grow(t->site_rate, &t->sites_room, (size_t)site + 1, sizeof *t->site_rate);
    if (!t->site_rate[site]) {
        text = site ? ti_reader_string(t->r, TI_STRING_SITE, site) : NULL;
        rate = text ? ti_rates_site(rates, text) : NULL;
        t->site_rate[site] = rate ? rate : &none;
    }
    return t->site_rate[site] != &none ? t->site_rate[site] : ti_rates_class(rates, volume);
}

/* ---- the bursts of a rank ---- */

void ti_bursts_begin(struct ti_burst_taker *t, const struct ti_bursts *bursts,
                     const struct ti_source *s, int64_t rank, struct ti_reader *r)
{
    *t = (struct ti_burst_taker){.bursts = bursts, .s = s, .rank = rank, .r = r, .column = -1};
    if (!column_names[bursts->as])
        return;
    ti_reader_want_extras(r);
    t->column = ti_reader_extra(r, column_names[bursts->as]);
}

void ti_bursts_place(struct ti_burst_taker *t, int64_t core, const char *host)
{
    t->noisy = ti_noise_any(&t->bursts->noise);
    t->core = core;
    t->lasting = ti_noise_lasting(&t->bursts->noise, core, host);
}

/* The amount for a burst of threads on so many cores, of which the busiest has `longest`. */
static uint64_t on_cores(const struct ti_event *ev, uint64_t longest, uint64_t cores)
{
    uint64_t share = ev->volume / cores + (ev->volume % cores > 0);

    return longest > share ? longest : share;
}

double ti_bursts_cores(const struct ti_burst_taker *t, const struct ti_event *ev)
{
    uint64_t amount;

    if (t->bursts->as != TI_BURSTS_THREADS || t->column < 0 || !ev->extra)
        return 1;
    amount = on_cores(ev, ev->extra[t->column], (uint64_t)t->bursts->cores);
    return ev->volume > amount ? (double)ev->volume / (double)amount : 1;
}

/* The burst without noise, if it is not scaled by a rate. */
static ti_status take(struct ti_burst_taker *t, const struct ti_event *ev, uint64_t index,
                      uint64_t *out, struct ti_err *err)
{
    const struct ti_bursts *bursts = t->bursts;

    *out = bursts->as == TI_BURSTS_NOTHING ? 0 : ev->volume;
    if (!column_names[bursts->as])
        return TI_OK;
    if (t->column < 0 || !ev->extra)
        return no_column(bursts, t->s, t->rank, index, err);
    *out = ev->extra[t->column];
    if (bursts->as == TI_BURSTS_THREADS)
        *out = on_cores(ev, *out, (uint64_t)bursts->cores);
    return TI_OK;
}

static double noise_of(const struct ti_burst_taker *t, const struct ti_rate *rate, uint64_t index)
{
    const struct ti_noise *n = &t->bursts->noise;
    double deviation = !n->rate ? n->burst : rate ? rate->deviation / rate->rate : 0;

    return t->noisy ? t->lasting * ti_noise_burst(n, deviation, t->core, index) : 1;
}

ti_status ti_bursts_next(struct ti_burst_taker *t, const struct ti_event *ev, uint64_t index,
                         uint64_t *out, struct ti_err *err)
{
    const struct ti_rates *rates = t->bursts->as == TI_BURSTS_RATES ? t->bursts->rates : NULL;
    const struct ti_rate *rate = rates ? rate_of(t, ev->site, ev->volume) : NULL;
    double amount;

    if (!rate) {
        ti_status st = take(t, ev, index, out, err);

        if (st || !t->noisy || !*out)
            return st;
    }
    amount = rate ? (double)ev->volume * (rates->reference / rate->rate) : (double)*out;
    amount = amount * noise_of(t, rate, index) + t->rest;
    if (!(amount < MOST) && rate)
        return ti_err_set(err, TI_ERR_INPUT,
                          "rank %" PRId64 ", event %" PRIu64 ": a burst of %" PRIu64
                          " takes too long at the rate %g of '%s'",
                          t->rank, index, ev->volume, rate->rate, t->bursts->rates_path);
    if (!(amount < MOST))
        return ti_err_set(err, TI_ERR_INPUT,
                          "rank %" PRId64 ", event %" PRIu64 ": a burst of %" PRIu64
                          " gets too long by noise",
                          t->rank, index, *out);
    *out = amount > 0 ? (uint64_t)(amount + 0.5) : 0;
    t->rest = amount - (double)*out;
    return TI_OK;
}

void ti_bursts_end(struct ti_burst_taker *t)
{
    free(t->site_rate);
    t->site_rate = NULL;
}
