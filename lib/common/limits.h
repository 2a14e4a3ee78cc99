/* Limits of all that is read: options, files and messages. */
#ifndef TI_COMMON_LIMITS_H
#define TI_COMMON_LIMITS_H

#define TI_RANKS_MAX (1 << 24) /* of a run */

#endif
