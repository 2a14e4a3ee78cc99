/*
 * Order and search.  Comparison functions for qsort() and bsearch(), ascending: a line outside of
 * functions defines one:
 *
 *     TI_ORDER_BY(by_rank, struct file, rank)                of structs, by a member
 *     TI_ORDER_BY_2(by_place, struct item, section, at)      by the second where the first is equal
 *     TI_ORDER_NUMBERS(by_value, double)                     of numbers
 *
 * And a search in what is sorted:
 *
 *     TI_FIRST(i, 0, n, file[i].rank < rank)                 i: the first that is not below `rank`
 */
#ifndef TI_COMMON_ORDER_H
#define TI_COMMON_ORDER_H

/* Below 0, 0 or above 0, as of two numbers. */
#define TI_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define TI_ORDER_FUNCTION(name, type, order)                                                       \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type *x = a, *y = b;                                                                 \
                                                                                                   \
        return order;                                                                              \
    }
#define TI_ORDER_NUMBERS(name, type) TI_ORDER_FUNCTION(name, type, TI_ORDER(*x, *y))
#define TI_ORDER_BY(name, type, key) TI_ORDER_FUNCTION(name, type, TI_ORDER(x->key, y->key))
#define TI_ORDER_BY_2(name, type, key, second)                                                     \
    TI_ORDER_FUNCTION(                                                                             \
        name, type, x->key != y->key ? TI_ORDER(x->key, y->key) : TI_ORDER(x->second, y->second))
#define TI_ORDER_BY_3(name, type, key, second, third)                                              \
    TI_ORDER_FUNCTION(name, type,                                                                  \
                      x->key != y->key         ? TI_ORDER(x->key, y->key)                          \
                      : x->second != y->second ? TI_ORDER(x->second, y->second)                    \
                                               : TI_ORDER(x->third, y->third))

/* Set `i` to the first of `from` to before `to` for which `before`, an expression of `i`, is false,
 * or to `to`.  It must be true for all before. */
#define TI_FIRST(i, from, to, before)                                                              \
    for (__typeof__(i) low_ = (from), high_ = (to);                                                \
         (i) = low_ < high_ ? low_ + (high_ - low_) / 2 : low_, low_ < high_;)                     \
        if (before)                                                                                \
            low_ = (i) + 1;                                                                        \
        else                                                                                       \
            high_ = (i)

#endif
