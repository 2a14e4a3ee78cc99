#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/runjson.h"
#include "bundle/source_internal.h"
#include "common/write.h"

#define MANIFEST_MAX (INT64_C(1) << 32) /* bytes; enough for 16 million ranks */

/* Text of the bundle's manifest; NULL: there is none. */
static ti_status load_member(const struct ti_source *s, char **text, size_t *bytes,
                             struct ti_err *err)
{
    int64_t member = s->manifest_member;
    ti_status st;

    *text = NULL;
    if (member < 0)
        return TI_OK;
    st = ti_zip_load(s->zip, member, MANIFEST_MAX, text, err);
    if (!st)
        *bytes = (size_t)ti_zip_member(s->zip, member)->bytes;
    return st;
}

/* Parse the bundle's manifest; NULL if that fails. */
static json_t *parse_member(const struct ti_source *s)
{
    size_t bytes;
    char *text;
    json_t *json = NULL;

    if (load_member(s, &text, &bytes, NULL) == TI_OK && text)
        json = json_loadb(text, bytes, 0, NULL);
    free(text);
    return json;
}

/* Read RUN.json; or the manifest of an unpacked bundle. */
static void load_file(const struct ti_source *s, struct manifest *m)
{
    static const char *const names[] = {"RUN.json", TI_MANIFEST_NAME};

    for (int i = 0; i < 2 && m->st == TI_OK && !m->json; i++)
        m->st = ti_runjson_read(s->fd, s->path, names[i], &m->json, NULL, &m->why);
}

const json_t *ti_source_manifest(const struct ti_source *s)
{
    struct manifest *m = s->manifest;

    if (m->tried)
        return m->json;
    m->tried = true;
    errno = 0;
    if (s->kind == RUN_DIRECTORY)
        load_file(s, m);
    else if (s->kind == BUNDLE)
        m->json = parse_member(s);
    if (!m->json && errno == ENOMEM)
        m->st = ti__source_no_memory(s, &m->why);
    if (!json_is_object(m->json)) {
        json_decref(m->json);
        m->json = NULL;
    }
    return m->json;
}

ti_status ti_source_manifest_status(const struct ti_source *s, struct ti_err *err)
{
    ti_source_manifest(s);
    if (s->manifest->st != TI_OK)
        *err = s->manifest->why;
    return s->manifest->st;
}

void ti__source_manifest_free(struct manifest *m)
{
    if (m)
        json_decref(m->json);
    free(m);
}

static ti_status read_file(const struct ti_source *s, const char *name, char **text, size_t *bytes,
                           struct ti_err *err)
{
    int fd = openat(s->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat sb;
    ti_status st = TI_OK;

    if (fd < 0 && errno == ENOENT)
        return TI_OK;
    if (fd < 0 || fstat(fd, &sb) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s/%s'", s->path, name);
    else if (!S_ISREG(sb.st_mode) || sb.st_size > MANIFEST_MAX)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s/%s' is no file, or too large", s->path, name);
    else if (!(*text = ti_read_all(fd, MANIFEST_MAX, bytes)))
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s/%s'", s->path, name);
    if (fd >= 0)
        close(fd);
    return st;
}

ti_status ti_source_text(const struct ti_source *s, const char *name, char **text, size_t *bytes,
                         struct ti_err *err)
{
    *text = NULL;
    *bytes = 0;
    if (s->kind == RUN_DIRECTORY)
        return read_file(s, name, text, bytes, err);
    if (s->kind == BUNDLE && strcmp(name, TI_MANIFEST_NAME) == 0)
        return load_member(s, text, bytes, err);
    return TI_OK;
}
