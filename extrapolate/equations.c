#include "extrapolate/rule_internal.h"

#include <string.h>

#define LARGE ((wide)1 << 60) /* products of two such numbers can be added up */

typedef ti__wide wide;

wide ti_gcd(wide a, wide b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        wide r = a % b;

        a = b;
        b = r;
    }
    return a;
}

static bool is_large(const wide *row, int n)
{
    for (int i = 0; i < n; i++)
        if (row[i] > LARGE || row[i] < -LARGE)
            return true;
    return false;
}

/* Divide a row by the greatest common divisor of its members. */
static void shorten(wide *row, int n)
{
    wide divisor = 0;

    for (int i = 0; i < n; i++)
        divisor = ti_gcd(divisor, row[i]);
    for (int i = 0; i < n && divisor > 1; i++)
        row[i] /= divisor;
}

bool ti__equations_add(struct ti__equations *s, const wide *equation)
{
    int n = s->unknowns + 1, pivot = 0;
    wide row[TI_UNKNOWNS + 1];

    if (is_large(equation, n))
        return false;
    memcpy(row, equation, sizeof(wide) * (size_t)n);
    for (int r = 0; r < s->rank; r++) {
        wide a = s->row[r][s->pivot[r]], b = row[s->pivot[r]];

        for (int i = 0; i < n; i++)
            row[i] = row[i] * a - s->row[r][i] * b;
        shorten(row, n);
        if (is_large(row, n))
            return false;
    }
    while (pivot < s->unknowns && row[pivot] == 0)
        pivot++;
    if (pivot == s->unknowns)
        return row[pivot] == 0;
    memcpy(s->row[s->rank], row, sizeof row);
    s->pivot[s->rank++] = pivot;
    return true;
}

bool ti__equations_solve(const struct ti__equations *s, int64_t *out, int64_t *d)
{
    wide numerator[TI_UNKNOWNS] = {0}, divisor = 1;

    for (int r = s->rank - 1; r >= 0; r--) {
        const wide *row = s->row[r];
        int pivot = s->pivot[r];
        wide sum = row[s->unknowns] * divisor;

        for (int i = 0; i < s->unknowns; i++)
            if (i != pivot)
                sum -= row[i] * numerator[i];
        for (int i = 0; i < s->unknowns; i++)
            numerator[i] *= row[pivot];
        numerator[pivot] = sum;
        divisor *= row[pivot];
        if (is_large(&divisor, 1) || is_large(numerator, s->unknowns))
            return false;
    }
    if (divisor < 0) {
        divisor = -divisor;
        for (int i = 0; i < s->unknowns; i++)
            numerator[i] = -numerator[i];
    }
    {
        wide common = divisor;

        for (int i = 0; i < s->unknowns; i++)
            common = ti_gcd(common, numerator[i]);
        for (int i = 0; i < s->unknowns; i++)
            out[i] = (int64_t)(numerator[i] / common);
        *d = (int64_t)(divisor / common);
    }
    return true;
}
