#include "common/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *ti_json_text(const char *text)
{
    json_t *j = text ? json_string(text) : json_null();
    char *copy;

    if (j || !(copy = strdup(text)))
        return j;
    for (char *p = copy; *p; p++)
        if (*p & 0x80)
            *p = '?';
    j = json_string(copy);
    free(copy);
    return j;
}

static size_t read_some(void *buf, size_t bytes, void *arg)
{
    const int *fd = arg;
    ssize_t n;

    do
        n = read(*fd, buf, bytes);
    while (n < 0 && errno == EINTR);
    return n < 0 ? (size_t)-1 : (size_t)n;
}

json_t *ti_json_read(int fd, json_error_t *why)
{
    return json_load_callback(read_some, &fd, 0, why);
}

json_t *ti_json_u64(uint64_t v)
{
    char digits[32];

    if (v <= INT64_MAX)
        return json_integer((json_int_t)v);
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    return json_string(digits);
}

json_t *ti_json_lines(char *text)
{
    json_t *j = json_object();
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, ' ');

        if (!value)
            continue;
        *value++ = '\0';
        if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
            json_object_set_new(j, line, json_boolean(value[0] == 't'));
        else
            json_object_set_new(j, line, ti_json_text(value));
    }
    return j;
}
