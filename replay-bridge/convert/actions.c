#include "replay-bridge/convert/actions.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/map.h"
#include "replay-bridge/trace/files.h"

#define LINE_MOST (1 << 28)

/* ---- lines ---- */

ti_status ti_lines_open(const char *path, struct ti_lines *out, struct ti_err *err)
{
    *out = (struct ti_lines){.path = path, .f = fopen(path, "re")};
    if (!out->f)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    return TI_OK;
}

void ti_lines_close(struct ti_lines *l)
{
    if (l->f)
        fclose(l->f);
    free(l->text);
    free(l->word);
    *l = (struct ti_lines){0};
}

ti_status ti_lines_wrong(const struct ti_lines *l, struct ti_err *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ti_err_set(err, TI_ERR_INPUT, "%s:%lld: %s", l->path, (long long)l->number, text);
}

/* Read a line into l->text, without its newline.  Returns as ti_lines_next(). */
static int read_line(struct ti_lines *l, struct ti_err *err)
{
    size_t n = 0;
    int c;

    l->number++;
    while ((c = getc_unlocked(l->f)) != EOF && c != '\n') {
        if (!c)
            return ti_lines_wrong(l, err, "a byte of zero is no text"), -1;
        if (n == LINE_MOST)
            return ti_lines_wrong(l, err, "the line is too long"), -1;
        l->text = ti_grow(l->text, &l->cap, n + 2, 1);
        l->text[n++] = (char)c;
    }
    if (ferror(l->f)) {
        ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", l->path);
        return -1;
    }
    l->cut = c == EOF;
    if (c == EOF && !n)
        return 0;
    l->text = ti_grow(l->text, &l->cap, n + 1, 1);
    l->text[n] = '\0';
    return 1;
}

int ti_lines_next(struct ti_lines *l, struct ti_err *err)
{
    char *save;
    int got;

    do {
        got = read_line(l, err);
        if (got != 1)
            return got;
        l->n = 0;
        for (char *w = strtok_r(l->text, " \t\r\v\f", &save); w;
             w = strtok_r(NULL, " \t\r\v\f", &save)) {
            l->word = ti_grow(l->word, &l->word_cap, (size_t)l->n + 2, sizeof *l->word);
            l->word[l->n++] = w;
        }
    } while (!l->n || l->word[0][0] == '#');
    l->word[l->n] = NULL;
    return 1;
}

/* ---- the list ---- */

void ti_actions_free(struct ti_actions *a)
{
    for (int64_t i = 0; i < a->n; i++)
        free(a->path[i]);
    free(a->path);
    *a = (struct ti_actions){0};
}

static char *copy(const char *text)
{
    size_t none = 0, bytes = strlen(text) + 1;

    return memcpy(ti_grow(NULL, &none, bytes, 1), text, bytes);
}

/* The path of a file in the list, relative to the working directory.  The caller frees it. */
static char *locate(const char *list, const char *name)
{
    const char *slash = strrchr(list, '/');
    char path[PATH_MAX];

    if (slash && name[0] != '/' && access(name, F_OK) != 0 &&
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - list), list, name) < (int)sizeof path)
        return copy(path);
    return copy(name);
}

static ti_status read_list(const char *list, struct ti_actions *out, struct ti_err *err)
{
    struct ti_lines l;
    size_t cap = 0;
    ti_status st = ti_lines_open(list, &l, err);
    int got = 1;

    while (!st && (got = ti_lines_next(&l, err)) == 1) {
        if (l.n > 1 && out->n)
            st = ti_lines_wrong(&l, err, "a list has one file name a line");
        else if (out->n == TI_RANKS_MAX)
            st = ti_lines_wrong(&l, err, "more files than there can be ranks");
        if (st)
            break;
        out->path = ti_grow(out->path, &cap, (size_t)out->n + 1, sizeof *out->path);
        out->path[out->n++] = l.n > 1 ? copy(list) : locate(list, l.word[0]);
        if (l.n > 1) /* an action file for all ranks, not a list */
            break;
    }
    ti_lines_close(&l);
    if (!st && got < 0)
        st = TI_ERR_INPUT;
    if (!st && !out->n)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has no lines", list);
    out->merged = out->n == 1;
    return st;
}

ti_status ti_actions_list(const char *list, struct ti_actions *out, struct ti_err *err)
{
    char path[PATH_MAX];
    struct stat sb;

    *out = (struct ti_actions){0};
    if (stat(list, &sb) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", list);
    if (!S_ISDIR(sb.st_mode))
        return read_list(list, out, err);
    if (snprintf(path, sizeof path, "%s/" TI_SIM_TRACES, list) >= (int)sizeof path)
        return ti_err_set(err, TI_ERR_IO, "'%s' is too long", list);
    if (access(path, F_OK) == 0)
        return read_list(path, out, err);
    ti_err_set(err, TI_ERR_INPUT, "'%s' has no " TI_SIM_TRACES, list);
    ti_err_hint(err, "give the list of the files, one name a line in the order of ranks, as "
                     "smpirun -replay takes it");
    return TI_ERR_INPUT;
}
