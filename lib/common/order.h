/*
 * Comparison functions for qsort() and bsearch(), ascending.  A line outside of functions defines
 * one:
 *
 *     TI_ORDER_BY(by_rank, struct file, rank)                of structs, by a member
 *     TI_ORDER_BY_2(by_place, struct item, section, at)      by the second where the first is equal
 *     TI_ORDER_NUMBERS(by_value, double)                     of numbers
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

#endif
