/*
 * Search for the factor by which an option must change until a replay takes a given time: by
 * secants while these come closer, else by bisection of what is known.
 *
 * The caller measures times at factors x >= 1; x = 1 is the option as it is.  Use:
 * ti_search_begin(), then ti_search_next() and ti_search_note() by turns while s->end is
 * TI_SEARCH_GOES_ON.  Times of other factors may be noted, too.
 */
#ifndef TI_REPLAY_BRIDGE_SWEEP_SEARCH_H
#define TI_REPLAY_BRIDGE_SWEEP_SEARCH_H

#define TI_SEARCH_PRECISION 0.01 /* of the change of the time */
#define TI_SEARCH_NARROW    1e-4 /* relative width of a bracket around a jump */

struct ti_search {
    double base, target; /* seconds: at x = 1; to be found */
    double most;         /* the largest x to try */

    enum {
        TI_SEARCH_GOES_ON,
        TI_SEARCH_FOUND, /* at `x` the time is the target, to TI_SEARCH_PRECISION */
        TI_SEARCH_JUMP,  /* the time jumps past the target between `low` and `x` = `high` */
        TI_SEARCH_NEVER  /* up to `most`, the time is below the target */
    } end;
    double x, x_s; /* the result */

    /* The bracket: the largest x known to take less than the target, and the smallest one above it
     * that takes as long or longer (0: none is known), with their times. */
    double low, low_s, high, high_s;
    double last, last_s, before, before_s; /* the last two x that were noted */
};

/* `target` > `base`.  Notes that x = 1 takes `base` seconds. */
void ti_search_begin(struct ti_search *s, double base, double target, double most);

/* The next x to be measured. */
double ti_search_next(const struct ti_search *s);

/* Notes that `x` takes `seconds`. */
void ti_search_note(struct ti_search *s, double x, double seconds);

/* Ends the search where no x between `low` and `high` can be measured: as TI_SEARCH_JUMP if there
 * is a `high`, else as TI_SEARCH_NEVER. */
void ti_search_stop(struct ti_search *s);

#endif
