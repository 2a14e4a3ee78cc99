/*
 * The parts of this room, for its own files:
 *
 *   survey.c   all ranks are looked at: where their loops are, and how trips repeat
 *   find.c     one rank: where a loop is
 *   names.c    names of loops (names.h)
 *   period.c   which trips repeat others
 *   write.c    all ranks are changed, merged and checked
 *   change.c   one rank: its nodes, with their columns, go into a builder
 *   columns.c  one column
 *   text.c     the option is read, and the result told
 */
#ifndef TI_TRIPS_INTERNAL_H
#define TI_TRIPS_INTERNAL_H

#include "fold/pool.h"
#include "fold/quality_columns.h"
#include "fold/record_layout.h"
#include "fold/shape.h"
#include "merged/builder.h"
#include "trace/caveats.h"
#include "trips/names.h"
#include "trips/trips.h"

/* From trip `lead` on, but for the last `tail` trips, trip i + `length` is like trip i; length 0:
 * there is no such period. */
struct ti__period {
    uint64_t lead, length, tail;
};

/* The period of trips that have both; no period if any has none. */
struct ti__period ti__period_both(struct ti__period a, struct ti__period b);

/* A change of one loop, which is the same on all ranks. */
struct ti__change {
    uint64_t trips;
    struct ti__period same, alike; /* without regard to volumes, and with */
};

/* A pass of a loop, by numbers of trips, from 0.  The new pass is the first `kept` trips; then of
 * the window, which are `length` trips from number `from` on, the `first` trips from its number
 * `start` on; `whole` times the window; the `last` first trips of the window; and the last `tail`
 * trips. */
struct ti__pass {
    uint64_t had; /* trips before the change */
    uint64_t kept, from, length, start, first, whole, last, tail;
    uint64_t period; /* of the trips in the window; 0: none is known */
    bool volumes;    /* it holds of volumes, too */
};
struct ti__pass ti__pass_of(const struct ti__change *change, uint64_t had);

/* Make the window a single period.  This says the same of columns that repeat with it. */
void ti__pass_shorten(struct ti__pass *p);

/* A counter of the values of a column in the body of a loop, trip by trip. */
struct ti__counter {
    struct ti_cursor *trips; /* of the loops inside the loop that a value goes through, outermost
                              * first: each pass of the last one has a value for each trip */
    uint32_t n;
    bool less; /* ... but for the first trip of each pass */
    bool back; /* the same of the loop itself: the bursts between its trips */
};

/* Make a counter of a column of `node`.  False, and there is nothing to free, if the column has its
 * values for what is around the loop: these are the bursts before it. */
bool ti__counter_new(struct ti_folded *f, uint32_t loop, uint32_t node,
                     const struct ti_shape_column *c, struct ti__counter *out);
void ti__counter_free(struct ti__counter *c);

/* Count the values of the next `trips` trips; `first`: they begin with the first trip of a pass.
 * False if a column is malformed. */
bool ti__counter_next(struct ti__counter *c, uint64_t trips, bool first, uint64_t *values);

/* Whether the values of a column are levels (fold/levels.h). */
bool ti__column_is_levels(const struct ti_shape_column *c);

/* Find out how the trips of a loop repeat: without regard to volumes, and with.  Passes that get
 * more trips are looked at; if there are none, those that get fewer.  False if the record is
 * malformed. */
bool ti__periods_find(struct ti_folded *f, uint32_t loop, uint64_t trips, struct ti__period *same,
                      struct ti__period *alike);

/* Put column `k` of node `i`, in the body of the loop, as it becomes.  NULL, or why that cannot be
 * done. */
const char *ti__change_column(struct ti_folded *f, uint32_t loop, const struct ti__change *change,
                              uint32_t i, uint32_t k, struct ti_builder *b);

/* Make the record of a changed rank; `reader` is at the end.  `changed`: metadata; NULL: as it is.
 * `hash_most` as of ti_builder_finish(). */
ti_status ti__change_rank(struct ti_reader *reader, uint32_t loop, const struct ti__change *change,
                          const char *changed, uint64_t hash_most, struct ti_record *out,
                          struct ti_err *err);

/* Write "50", or "3 to 7". */
void ti__range_text(uint64_t least, uint64_t most, char *buf, size_t bytes);

/* The loops of a rank that a name means. */
#define TI__FOUND_MOST 1024
struct ti__found {
    uint32_t loop[TI__FOUND_MOST]; /* in ascending order */
    size_t n;
    size_t meanings; /* loops that the name without [K] means */
    bool all;        /* the name has [*] */
};

/* Find them: out->n is 0 if there are none.  TI_ERR_INPUT if it is not clear which one is meant, or
 * one cannot be changed. */
ti_status ti__loop_find(struct ti_reader *r, const struct ti_loop_names *names, const char *name,
                        struct ti__found *out, struct ti_err *err);

/* TI_ERR_INPUT, since no loop has a name: the error lists those that there are. */
ti_status ti__loop_missing(const struct ti_reader *r, const struct ti_loop_names *names,
                           const char *name, struct ti_err *err);

/* A loop, or several by one name, that is asked for. */
struct ti__asked_loop {
    struct ti_trips_loop *asked;
    int number; /* among those that are asked for */
    struct ti__change change;
    uint32_t depth;               /* loops around it, at most */
    size_t meanings;              /* loops that the name means */
    int64_t rank;                 /* the first one that has it */
    struct ti_column_stats trips; /* that it has there */
    uint64_t hash;                /* of these trips, pass by pass */
};

/* The loops of a rank that change, in descending order: inner ones come before those around them.
 */
struct ti__loop_places {
    struct ti__loop_place {
        uint32_t node;
        int number; /* of what is asked for */
    } * place;
    size_t n, cap;
};

/* All that goes through the ranks of a source. */
struct ti__job {
    struct ti_source *s;
    struct ti_symbolizer *z;
    int64_t np;
    struct ti__asked_loop loop[TI_TRIPS_MOST]; /* once they are found, inner ones come first */
    int order[TI_TRIPS_MOST];                  /* by number: index in loop[] */
    int n;
    struct ti__loop_places *places; /* of each rank */
};

/* Open a reader of a rank, which is folded if it is not, and is at the end. */
ti_status ti__rank_open(struct ti_source *s, int64_t rank, struct ti_reader **out,
                        struct ti_err *err);

/* The same, with changes made: the first `most` of those of the first `loops` loops of the job. */
ti_status ti__rank_open_changed(const struct ti__job *j, int64_t rank, int loops, size_t most,
                                struct ti_reader **out, struct ti_err *err);

/* Look at all ranks: fill the job, and what is known of its loops. */
ti_status ti__survey(struct ti__job *j, struct ti_err *err);

#endif
