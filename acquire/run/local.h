/* The back end that runs all ranks on this machine. */
#ifndef TI_LOCAL_H
#define TI_LOCAL_H

#include "acquire/run/acquisition.h"

extern const struct ti_backend ti_backend_local;

#endif
