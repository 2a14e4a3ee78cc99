/* JSON values that jansson cannot make of what we have, and members of objects. */
#ifndef TI_COMMON_JSON_H
#define TI_COMMON_JSON_H

#include <jansson.h>
#include <stdint.h>

/* A new string, which the caller owns, or NULL when memory is short; null for NULL.  Where `text`
 * is not UTF-8, its bytes above 127 become '?'. */
json_t *ti_json_text(const char *text);

/* The same of an integer.  Numbers above INT64_MAX, which JSON readers refuse, become strings. */
json_t *ti_json_u64(uint64_t v);

/* A new object of the lines "KEY VALUE" of a text, which is changed.  The values true and false are
 * booleans, all others strings. */
json_t *ti_json_lines(char *text);

/* The JSON of a file from where its descriptor is; NULL: malformed or unreadable, see `why`, which
 * may be NULL.  json_loadfd() does the same with a system call for each byte. */
json_t *ti_json_read(int fd, json_error_t *why);

/* The member `key` of an object: "" or 0 if there is none of that type. */
static inline const char *ti_json_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static inline int64_t ti_json_integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static inline double ti_json_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

#endif
