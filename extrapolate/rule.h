/*
 * Rules: a number of a trace as a function of where a rank is, and of how many ranks there are.
 *
 * The number is known at some places, in runs of several sizes (the inputs), and asked for at
 * others, in a run of another size (the target).  A rule is taken from this family:
 *
 *   sum      (c0 + c1 * a1 + c2 * a2) / d, where a1 and a2 are terms (TI_TERMS)
 *   partner  x ^ m, the coordinate of a partner in a hypercube; m is a sum that does not hold x
 *   block    c0 + c1 * block(n, p, x), where block(n, p, x) are the cells of part x if n cells are
 *            divided into p parts, and the first n % p parts have one more than the others; n is
 *            between -p and p where parts remain as large when there are more (weak scaling): n % p
 *            is not below 0 then, so with n = -4 the last four parts have one less
 *            other programs deal the rest otherwise (TI_DEALS): block_last, block_ceil, block_even
 *   product  c1 * (block(n, p, x) + a) * (block(m, q, y) + b): of two axes, or of one twice; only
 *            where nothing else holds
 *
 * A rule counts only if the inputs determine it.  It gives the number at every place, exactly.  A
 * sum is found without the largest input, and fits one place more than it has constants.  A block
 * with cells at its sides has as many different numbers as constants; the proof confirms blocks.
 * All rules with as few constants that hold agree at all places of the target.  Else there is no
 * rule, and two that disagree are told.
 *
 * Source: ScalaExtrap (Wu and Mueller, PPoPP 2011) finds parameters of stencils from four sizes;
 * the family, the proof by the largest input and the demand that rules agree are ours.
 */
#ifndef TI_EXTRAPOLATE_RULE_H
#define TI_EXTRAPOLATE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TI_AXES 4

/* A place: a rank of a run, in the grid of its ranks.  Ranks are numbered with x[0] fastest. */
struct ti_spot {
    int64_t np, rank;
    int axes;
    int64_t p[TI_AXES], x[TI_AXES]; /* parts of each axis, and the coordinates in it */
    int64_t t; /* trip of a loop that the program has unrolled; 0 outside of one */
};

/* Terms of a sum: X(name, whether it has an axis, text; @ stands for the axis).  The stride of an
 * axis is the distance of ranks that are neighbours along it: p[0] * ... * p[axis - 1].  A
 * logarithm is rounded where numbers of parts are no powers of two: down or up, which are two
 * rivals. */
#define TI_TERMS(X)                                                                                \
    X(NP, false, "np")                                                                             \
    X(LOG_NP, false, "log2(np)")                                                                   \
    X(FLOOR_LOG_NP, false, "floor(log2(np))")                                                      \
    X(CEIL_LOG_NP, false, "ceil(log2(np))")                                                        \
    X(RANK, false, "rank")                                                                         \
    X(TRIP, false, "t")                                                                            \
    X(POW_TRIP, false, "2^t")                                                                      \
    X(P, true, "p@")                                                                               \
    X(LOG_P, true, "log2(p@)")                                                                     \
    X(FLOOR_LOG_P, true, "floor(log2(p@))")                                                        \
    X(CEIL_LOG_P, true, "ceil(log2(p@))")                                                          \
    X(COORDINATE, true, "@")                                                                       \
    X(STRIDE, true, "stride(@)")                                                                   \
    X(STRIDE_POW_TRIP, true, "stride(@) * 2^t")

enum ti_term_kind {
#define TI_TERM_ENUM(name, axis, text) TI_TERM_##name,
    TI_TERMS(TI_TERM_ENUM) TI_TERM_COUNT
};

#define TI_RULE_TERMS 2

struct ti_term {
    enum ti_term_kind kind;
    int axis;
};

/* How cells are dealt to parts: X(name, text).  The first parts have one more, or the last ones;
 * all but the last have as many, rounded up; or part x ends at n * (x + 1) / p. */
#define TI_DEALS(X)                                                                                \
    X(FIRST, "block")                                                                              \
    X(LAST, "block_last")                                                                          \
    X(CEIL, "block_ceil")                                                                          \
    X(EVEN, "block_even")

enum ti_deal {
#define TI_DEAL_ENUM(name, text) TI_DEAL_##name,
    TI_DEALS(TI_DEAL_ENUM) TI_DEAL_COUNT
};

enum ti_rule_kind { TI_RULE_SUM, TI_RULE_PARTNER, TI_RULE_BLOCK, TI_RULE_PRODUCT };

struct ti_rule {
    enum ti_rule_kind kind;
    int terms;
    struct ti_term term[TI_RULE_TERMS];
    int64_t c0, c[TI_RULE_TERMS], d; /* d is at least 1 */
    int axis;                        /* of a partner or block */
    int64_t cells;                   /* n of a block ... */
    enum ti_deal deal;               /* ... and how they are dealt; those of a product: FIRST */
    int axis2;                       /* of the second block of a product ... */
    int64_t cells2;                  /* ... and its cells */
    int64_t pad[2];                  /* a and b of a product */
    int unknowns;                    /* constants that were found */
};

/* A number that is known, at a place of input `input`.  Inputs are numbered by size, from 0. */
struct ti_known {
    struct ti_spot at;
    int64_t value;
    int input;
};

enum ti_rule_found {
    TI_FOUND_RULE,
    TI_FOUND_NONE,     /* no rule of the family gives all numbers */
    TI_FOUND_RIVALS,   /* two rules do, and differ at the target */
    TI_FOUND_TOO_FEW,  /* rules do, but none is determined without the largest input, and confirmed
                        */
    TI_FOUND_NO_CELLS, /* out[0] does, but a part of the target would have no cell */
    /* out[0] does, but its axis has one number of parts wherever the number is known, and another
     * one where it is asked for.  ti__find_rule() finds this out; ti_rule_find() never returns it.
     */
    TI_FOUND_ONE_SHAPE
};

/*
 * Find the rule.  out[0] is it; with TI_FOUND_RIVALS out[0] and out[1] differ at asked[*where];
 * with TI_FOUND_TOO_FEW the terms of out[0] are those of the simplest one, and its c0 is not 0 if
 * it has a constant.
 *
 * A cell of a block is `unit` at least, such as the bytes of an element.  If all parts were equal
 * in all inputs, cells of several sizes fit: all that leave no part without a cell must agree.
 */
enum ti_rule_found ti_rule_find(const struct ti_known *known, size_t n, const struct ti_spot *asked,
                                size_t nasked, int64_t unit, struct ti_rule out[2], size_t *where);

/* Whether the constants of a rule with these terms, and with a constant if its c0 is not 0, follow
 * from the places that are known and from `nmore` of another run, but for those of the largest run,
 * and are confirmed by one place more. */
bool ti_rule_is_determined(const struct ti_rule *rule, const struct ti_known *known, size_t n,
                           const struct ti_spot *more, size_t nmore);

/* The number at a place; false if the rule gives none there: no integer, one beyond 2^62, or a
 * power 2^t beyond 2^30. */
bool ti_rule_value(const struct ti_rule *rule, const struct ti_spot *at, int64_t *out);

/* Cells that all parts of a block have where parts remain as large: block(c, p, x) of them more,
 * with c the `cells` of the rule; 0 if a fixed number of cells is divided. */
int64_t ti_rule_each(const struct ti_rule *rule);

struct ti_wording;

/* Add "block(33, px, x)" or, with `each` as above, "block(8 * px - 4, px, x)". */
void ti_wording_block(struct ti_wording *t, enum ti_deal deal, int64_t cells, int64_t each,
                      int axis);

/* The rule in words, such as "320 + 40 * block(33, px, x)", into buf; cut if it does not fit.
 * Returns buf. */
const char *ti_rule_text(const struct ti_rule *rule, char *buf, size_t room);

/* The greatest common divisor, of numbers of 128 bits; that of 0 and b is b. */
__int128 ti_gcd(__int128 a, __int128 b);

/* Cells of part `x` of `p` parts of `n` cells, n below 2^62; as they are dealt, or FIRST. */
int64_t ti_block_dealt(enum ti_deal deal, int64_t n, int64_t p, int64_t x);
int64_t ti_block(int64_t n, int64_t p, int64_t x);

#endif
