#include "turned.h"

#include <stdbool.h>

double __real_ti_now(void);
double __wrap_ti_now(void);

static double ahead; /* of the machine's clock */
static double stands_at;
static bool stands;

double __wrap_ti_now(void)
{
    return stands ? stands_at : __real_ti_now() + ahead;
}

void turn_clock(double seconds)
{
    stands_at = __wrap_ti_now() + seconds;
    stands = true;
}

void release_clock(void)
{
    ahead = __wrap_ti_now() - __real_ti_now();
    stands = false;
}
