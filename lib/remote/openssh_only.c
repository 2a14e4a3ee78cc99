/* For programs that are linked without libssh2, instead of libssh2.c. */
#include "remote/internal.h"

const struct ti__transport *const ti__in_process = NULL;
