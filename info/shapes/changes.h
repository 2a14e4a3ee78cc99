/*
 * How much two traces differ in volume, messages, bytes and calls: in all, by loop, by call site.
 */
#ifndef TI_INFO_SHAPES_CHANGES_H
#define TI_INFO_SHAPES_CHANGES_H

#include "info/info.h"

struct info_changes;

/* Read both traces.  Ranks that are missing, incomplete or damaged are named on stderr, and left
 * out as far as they cannot be read.  TI_ERR_INPUT, TI_ERR_IO.  Release *out with
 * info_changes_free(). */
ti_status info_changes_read(struct ti_source *const s[2], const struct info_style *style,
                            struct info_changes **out, struct ti_err *err);
void info_changes_free(struct info_changes *c); /* NULL is fine */

void info_changes_print(const struct info_changes *c, const struct info_style *style);

/* The value of "changes"; of NULL, traces that do not differ, it is empty. */
json_t *info_changes_json(const struct info_changes *c);

#endif
