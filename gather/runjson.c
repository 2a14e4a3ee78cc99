#include "gather/runjson.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/trace.h"

#define BYTES_MOST (INT64_C(1) << 30) /* 100,000 nodes take some 30 MB */

void ti_runjson_hint(struct ti_err *err)
{
    ti_err_hint(err, "nothing was changed: mend it, or move it away, then the traces that are here "
                     "are gathered without it, and none are fetched from nodes");
}

bool ti_runjson_is_id(const char *hex)
{
    return hex && strlen(hex) == 2 * TI_RUN_ID_BYTES &&
           strspn(hex, "0123456789abcdefABCDEF") == strlen(hex);
}

/* "run/" is shown as "run" */
static int shown(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return (int)n;
}

/* --- the file ------------------------------------------------------------ */

static ti_status read_text(int fd, const char *path, char **text, size_t *bytes, struct ti_err *err)
{
    size_t room = 0;

    for (;;) {
        ssize_t n;

        if (*bytes == room) {
            char *grown = realloc(*text, room = room ? 2 * room : 64 * 1024);

            if (!grown)
                return ti_err_errno(err, TI_ERR_IO, "cannot read '%.*s/RUN.json'", shown(path),
                                    path);
            *text = grown;
        }
        n = read(fd, *text + *bytes, room - *bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot read '%.*s/RUN.json'", shown(path), path);
        if (n == 0)
            return TI_OK;
        *bytes += (size_t)n;
        if (*bytes > BYTES_MOST)
            return ti_err_set(err, TI_ERR_INPUT, "'%.*s/RUN.json' is too long to be one",
                              shown(path), path);
    }
}

static ti_status malformed(const char *path, size_t bytes, const json_error_t *why,
                           struct ti_err *err)
{
    bool cut = json_error_code(why) == json_error_premature_end_of_input;

    if (bytes == 0)
        ti_err_set(err, TI_ERR_INPUT, "'%.*s/RUN.json' is empty", shown(path), path);
    else
        ti_err_set(err, TI_ERR_INPUT, "'%.*s/RUN.json' %s: line %d, column %d: %s", shown(path),
                   path, cut ? "ends too early" : "is malformed", why->line, why->column,
                   why->text);
    return TI_ERR_INPUT;
}

/* --- what is in it ------------------------------------------------------- */

#define KIND(type) (1u << (type))

static const struct {
    const char *key;
    unsigned kinds;
    const char *is;
} keys[] = {
    {"np", KIND(JSON_INTEGER), "a number of ranks"},
    {"run_id", KIND(JSON_STRING), "a string"},
    {"nodes", KIND(JSON_ARRAY), "a list"},
    {"transport", KIND(JSON_STRING), "a string"},
    {"counter", KIND(JSON_OBJECT), "an object"},
    {"steps", KIND(JSON_OBJECT) | KIND(JSON_ARRAY), "a list"},
};

static ti_status wrong(const char *path, const char *key, const char *is, const json_t *value,
                       struct ti_err *err)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *quote = json_is_string(value) ? "'" : "";

    ti_err_set(err, TI_ERR_INPUT, "'%.*s/RUN.json': \"%s\" has to be %s, not %s%.64s%s%s",
               shown(path), path, key, is, quote, text ? text : "?",
               text && strlen(text) > 64 ? "..." : "", quote);
    free(text);
    return TI_ERR_INPUT;
}

static ti_status check(const json_t *run, const char *path, struct ti_err *err)
{
    const json_t *np = json_object_get(run, "np"), *id = json_object_get(run, "run_id"), *node;
    char is[64];
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(run, keys[i].key);

        if (value && !json_is_null(value) && !(keys[i].kinds & KIND(json_typeof(value))))
            return wrong(path, keys[i].key, keys[i].is, value, err);
    }
    snprintf(is, sizeof is, "1 to %" PRId64 " ranks", (int64_t)TI_RANKS_MAX);
    if (json_is_integer(np) &&
        (json_integer_value(np) < 1 || json_integer_value(np) > TI_RANKS_MAX))
        return wrong(path, "np", is, np, err);
    snprintf(is, sizeof is, "%d digits in hexadecimal", 2 * TI_RUN_ID_BYTES);
    if (json_is_string(id) && !ti_runjson_is_id(json_string_value(id)))
        return wrong(path, "run_id", is, id, err);
    json_array_foreach(json_object_get(run, "nodes"), i, node) if (!json_is_object(node))
    {
        snprintf(is, sizeof is, "a list of objects, as number %zu is not", i + 1);
        return wrong(path, "nodes", is, node, err);
    }
    return TI_OK;
}

ti_status ti_runjson_read(int dir, const char *path, json_t **out, struct stat *sb,
                          struct ti_err *err)
{
    int fd = openat(dir, "RUN.json", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    json_error_t why;
    struct stat unused;
    size_t bytes = 0;
    ti_status st;

    *out = NULL;
    if (fd < 0 && errno == ENOENT)
        return TI_OK;
    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%.*s/RUN.json'", shown(path), path);
    st = fstat(fd, sb ? sb : &unused) < 0
             ? ti_err_errno(err, TI_ERR_IO, "cannot read '%.*s/RUN.json'", shown(path), path)
             : read_text(fd, path, &text, &bytes, err);
    close(fd);
    if (st == TI_OK && !(*out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why)))
        st = malformed(path, bytes, &why, err);
    else if (st == TI_OK && !json_is_object(*out))
        st = ti_err_set(err, TI_ERR_INPUT, "'%.*s/RUN.json' is no object", shown(path), path);
    else if (st == TI_OK)
        st = check(*out, path, err);
    free(text);
    if (st == TI_ERR_INPUT)
        ti_runjson_hint(err);
    if (st != TI_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}
