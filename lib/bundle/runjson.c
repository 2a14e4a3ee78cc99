#include "bundle/runjson.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/write.h"
#include "trace/trace.h"

#define BYTES_MOST (INT64_C(1) << 30) /* 100,000 nodes take about 30 MB */

/* Whether `hex` is a run id. */
static bool is_run_id(const char *hex)
{
    return hex && strlen(hex) == 2 * TI_RUN_ID_BYTES &&
           strspn(hex, "0123456789abcdefABCDEF") == strlen(hex);
}

/* The file, for messages, which call "run/" "run". */
struct file {
    const char *path, *name;
    int shown; /* bytes of the path without slashes at its end */
};

static ti_status cannot(const struct file *f, const char *what, struct ti_err *err)
{
    return ti_err_errno(err, TI_ERR_IO, "cannot %s '%.*s/%s'", what, f->shown, f->path, f->name);
}

static ti_status unusable(const struct file *f, const char *what, struct ti_err *err)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%.*s/%s' %s", f->shown, f->path, f->name, what);
}

/* --- the file ------------------------------------------------------------ */

static ti_status malformed(const struct file *f, size_t bytes, const json_error_t *why,
                           struct ti_err *err)
{
    bool cut = json_error_code(why) == json_error_premature_end_of_input;

    if (bytes == 0)
        return unusable(f, "is empty", err);
    return ti_err_set(err, TI_ERR_INPUT, "'%.*s/%s' %s: line %d, column %d: %s", f->shown, f->path,
                      f->name, cut ? "ends too early" : "is malformed", why->line, why->column,
                      why->text);
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

static ti_status wrong(const struct file *f, const char *key, const char *is, const json_t *value,
                       struct ti_err *err)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *quote = json_is_string(value) ? "'" : "";

    ti_err_set(err, TI_ERR_INPUT, "'%.*s/%s': \"%s\" has to be %s, not %s%.64s%s%s", f->shown,
               f->path, f->name, key, is, quote, text ? text : "?",
               text && strlen(text) > 64 ? "..." : "", quote);
    free(text);
    return TI_ERR_INPUT;
}

static ti_status check(const json_t *run, const struct file *f, struct ti_err *err)
{
    const json_t *np = json_object_get(run, "np"), *id = json_object_get(run, "run_id"), *node;
    char is[64];
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(run, keys[i].key);

        if (value && !json_is_null(value) && !(keys[i].kinds & KIND(json_typeof(value))))
            return wrong(f, keys[i].key, keys[i].is, value, err);
    }
    snprintf(is, sizeof is, "1 to %" PRId64 " ranks", (int64_t)TI_RANKS_MAX);
    if (json_is_integer(np) &&
        (json_integer_value(np) < 1 || json_integer_value(np) > TI_RANKS_MAX))
        return wrong(f, "np", is, np, err);
    snprintf(is, sizeof is, "%d digits in hexadecimal", 2 * TI_RUN_ID_BYTES);
    if (json_is_string(id) && !is_run_id(json_string_value(id)))
        return wrong(f, "run_id", is, id, err);
    json_array_foreach(json_object_get(run, "nodes"), i, node) if (!json_is_object(node))
    {
        snprintf(is, sizeof is, "a list of objects, as number %zu is not", i + 1);
        return wrong(f, "nodes", is, node, err);
    }
    return TI_OK;
}

/* Read and parse an open file. */
static ti_status parse(int fd, const struct file *f, json_t **out, struct ti_err *err)
{
    size_t bytes = 0;
    char *text = ti_read_all(fd, BYTES_MOST, &bytes);
    json_error_t why;
    ti_status st = TI_OK;

    errno = text ? 0 : errno;
    if (!text)
        st = errno == EFBIG ? unusable(f, "is too long to be one", err) : cannot(f, "read", err);
    else if (!(*out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why)))
        st = errno == ENOMEM ? cannot(f, "read", err) : malformed(f, bytes, &why, err);
    else if (!json_is_object(*out))
        st = unusable(f, "is no object", err);
    else
        st = check(*out, f, err);
    free(text);
    return st;
}

/* A missing file is no error; a dangling symbolic link is one. */
static ti_status not_there(int dir, const struct file *f, struct ti_err *err)
{
    struct stat sb;

    if (fstatat(dir, f->name, &sb, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(sb.st_mode))
        return unusable(f, "is a link to a file that is not there", err);
    return TI_OK;
}

ti_status ti_runjson_read(int dir, const char *path, const char *name, json_t **out,
                          struct stat *sb, struct ti_err *err)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct file f = {path, name, (int)strlen(path)};
    struct stat unused;
    ti_status st;

    while (f.shown > 1 && path[f.shown - 1] == '/')
        f.shown--;
    *out = NULL;
    if (fd < 0)
        return errno == ENOENT ? not_there(dir, &f, err) : cannot(&f, "open", err);
    st = fstat(fd, sb ? sb : &unused) < 0 ? cannot(&f, "read", err) : parse(fd, &f, out, err);
    close(fd);
    if (st != TI_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}
