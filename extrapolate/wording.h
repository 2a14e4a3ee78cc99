/*
 * Texts that are put together in a buffer of fixed size; what does not fit is cut.
 */
#ifndef TI_EXTRAPOLATE_WORDING_H
#define TI_EXTRAPOLATE_WORDING_H

#include <stdarg.h>
#include <stdio.h>

struct ti_wording {
    char *at; /* the end of what is there */
    size_t room;
};

__attribute__((format(printf, 2, 3))) static inline void ti_wording_add(struct ti_wording *t,
                                                                        const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(t->at, t->room, fmt, args);
    va_end(args);
    n = n < 0 ? 0 : (size_t)n < t->room ? n : t->room ? (int)t->room - 1 : 0;
    t->at += n;
    t->room -= (size_t)n;
}

#endif
