/* JSON values that jansson cannot make of what we have.  Each is a new object, which the caller
 * owns; NULL when memory is short. */
#ifndef TI_COMMON_JSON_H
#define TI_COMMON_JSON_H

#include <jansson.h>
#include <stdint.h>

/* A string; null for NULL.  Where `text` is not UTF-8, its bytes above 127 become '?'. */
json_t *ti_json_text(const char *text);

/* An integer.  Numbers above INT64_MAX, which JSON readers refuse, become strings. */
json_t *ti_json_u64(uint64_t v);

#endif
