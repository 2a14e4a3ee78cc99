/*
 * Rate files: how many instructions a second bursts execute, by call site and by volume.
 *
 * One rate for all bursts does not fit most programs: a short burst works in the caches, a long
 * one on memory.  ti-info --rates writes such a file from a trace with durations, a person may
 * edit it, and a replay asks it for the rate of each burst.  tiara-rates(5) describes the file;
 * its text is that of sites files (inifile.h).
 */
#ifndef TI_CONFIG_RATES_H
#define TI_CONFIG_RATES_H

#include <stdint.h>

#include "common/err.h"

/* The keys: X(name).  All but `site` of [site] and `rate` may be left out. */
#define TI_RATES_KEYS(X) X(unit) X(counter) X(cpu) X(hosts) X(ranks) X(reference)
#define TI_RATE_KEYS(X)  X(site) X(rate) X(deviation) X(bursts) X(seconds)

/* A class of bursts, by volume, or the bursts in front of one call site. */
struct ti_rate {
    uint64_t from;    /* class: smallest volume; the class ends where the next one begins */
    char *site;       /* site: its text in the trace; class: NULL */
    double rate;      /* volume a second, above 0 */
    double deviation; /* standard deviation of the rate, by time; 0: not known */
    uint64_t bursts;  /* number of bursts measured; 0: not known */
    double seconds;   /* their total duration; 0: not known */
    int line;         /* in the file; 0 */
};

struct ti_rates {
    /* From the trace that the rates were measured on; NULL or 0 if not in the file. */
    char *unit;    /* of volumes, "instructions" */
    char *counter; /* "papi" */
    char *cpu;     /* models of processors */
    int64_t hosts, ranks;

    /* Speed of a host on which bursts run at these rates, in volume a second.  If the file lacks
     * it, ti_rates_read() takes the rate of the first class.  ti_rates_write() omits 0. */
    double reference;

    struct ti_rate *volume_class; /* at least one, in ascending order of `from` */
    int nclasses;
    struct ti_rate *site; /* in ascending order of the text */
    int nsites;
};

/* Most sites in a file. */
#define TI_RATES_SITES_MAX 16384

/*
 * Read a rate file.  *out is set on success only; release it with ti_rates_free().  TI_ERR_IO, or
 * TI_ERR_INPUT with "FILE:LINE:COLUMN: what is wrong" for what is malformed, unknown, given twice
 * or missing.  Up to 20 further findings go to `more`, as with ti_sites_read() (may be NULL).
 */
ti_status ti_rates_read(const char *path, struct ti_rates **out, char **more, struct ti_err *err);
void ti_rates_free(struct ti_rates *r); /* NULL is fine */

/* The class whose rate a burst of `volume` has, if the site of the call after it has none; a volume
 * below all classes belongs to the first. */
const struct ti_rate *ti_rates_class(const struct ti_rates *r, uint64_t volume);

/* The entry of a site, whose rate holds for any volume; NULL if the file lacks it.  The search
 * takes log(n) comparisons of text, so look up each site once. */
const struct ti_rate *ti_rates_site(const struct ti_rates *r, const char *site);

/*
 * Write a rate file that ti_rates_read() accepts.  `title`, lines of text, becomes a comment at the
 * top; classes and sites are written in the order of `r`.  "-" is stdout.  TI_ERR_IO.
 */
ti_status ti_rates_write(const char *path, const struct ti_rates *r, const char *title,
                         struct ti_err *err);

#endif
