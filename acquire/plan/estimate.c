#include "acquire/plan/estimate.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "acquire/plan/plan.h"
#include "bundle/source.h"
#include "common/cli.h"

#define CANDIDATES_MAX 100 /* former runs that are read */

static double application_seconds(const json_t *run)
{
    size_t i;
    json_t *step;

    json_array_foreach(json_object_get(run, "steps"), i, step)
    {
        const char *name = json_string_value(json_object_get(step, "name"));

        if (name && strcmp(name, "application") == 0)
            return json_number_value(json_object_get(step, "seconds"));
    }
    return 0;
}

static void copy(char *to, size_t room, const json_t *text)
{
    snprintf(to, room, "%s", json_is_string(text) ? json_string_value(text) : "");
}

bool ti_former_of(const json_t *m, struct ti_former *out)
{
    const json_t *acquisition = json_object_get(m, "acquisition");
    const json_t *totals = json_object_get(m, "totals");

    memset(out, 0, sizeof *out);
    out->np = json_integer_value(json_object_get(m, "np"));
    out->fold = json_integer_value(json_object_get(json_object_get(m, "plan"), "folding"));
    out->seconds = application_seconds(acquisition ? acquisition : m);
    if (out->seconds <= 0)
        out->seconds = json_number_value(json_object_get(totals, "app_seconds_max"));
    copy(out->backend, sizeof out->backend,
         json_object_get(json_object_get(m, "counter"), "backend"));
    copy(out->command, sizeof out->command, json_object_get(m, "command"));
    out->bytes = json_integer_value(json_object_get(totals, "bytes"));
    return out->np > 0 && out->fold > 0 && out->seconds > 0;
}

/* Read a bundle or run directory.  *told is false when it lacks something that an estimate needs.
 * TI_ERR_IO, or TI_ERR_INPUT when it is neither or damaged. */
static ti_status read_former(const char *path, struct ti_former *out, bool *told,
                             struct ti_err *err)
{
    struct ti_source *s = NULL;
    ti_status st = ti_source_open(path, &s, err);

    *told = false;
    if (st != TI_OK)
        return ti_err_prefix(err, st, "--like");
    *told = ti_former_of(ti_source_manifest(s), out);
    st = ti_source_manifest_status(s, err);
    ti_source_close(s);
    return st == TI_OK ? st : ti_err_prefix(err, st, "--like");
}

/* Read a bundle or run directory.  Whether it tells what an estimate needs. */
static bool read_any(const char *path, struct ti_former *out)
{
    struct ti_source *s = NULL;
    bool told;

    if (ti_source_open(path, &s, NULL) != TI_OK)
        return false;
    told = ti_former_of(ti_source_manifest(s), out);
    if (told && !out->bytes)
        out->bytes = ti_source_size(s); /* a run directory */
    ti_source_close(s);
    return told;
}

bool ti_former_find(const char *path, const char *application, int64_t np, const char *command,
                    const char *backend, struct ti_former *out)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0, tried = 0;
    char folder[PATH_MAX], one[PATH_MAX];
    time_t latest = 0;
    DIR *dir;

    snprintf(folder, sizeof folder, "%.*s", n, path);
    dir = opendir(n ? folder : ".");
    for (struct dirent *e; dir && tried < CANDIDATES_MAX && (e = readdir(dir));) {
        struct ti_former former;
        struct stat file;

        if (strncmp(e->d_name, application, strlen(application)) != 0 ||
            snprintf(one, sizeof one, "%s%s", folder, e->d_name) >= (int)sizeof one ||
            stat(one, &file) < 0 || (!S_ISDIR(file.st_mode) && !S_ISREG(file.st_mode)) ||
            file.st_mtime < latest)
            continue;
        tried++;
        if (!read_any(one, &former) || former.np != np || strcmp(former.backend, backend) != 0 ||
            strncmp(former.command, command, sizeof former.command - 1) != 0)
            continue;
        latest = file.st_mtime;
        *out = former;
    }
    if (dir)
        closedir(dir);
    return latest > 0;
}

static double share(int64_t fold, int64_t np)
{
    return (double)(fold > 1 ? fold : 1) / (double)np;
}

double ti_estimate_seconds(const struct ti_former *f, int64_t np, int64_t fold)
{
    return f->seconds * share(fold, np) / share(f->fold, f->np);
}

/* Two digits: an estimate is no more precise. */
static void say_seconds(double s, char *text, size_t room)
{
    if (s < 9.95)
        snprintf(text, room, "%.1f s", s);
    else if (s < 119.5)
        snprintf(text, room, "%.0f s", s);
    else if (s < 119.5 * 60)
        snprintf(text, room, "%.0f min", s / 60);
    else
        snprintf(text, room, "%.*f h", s < 9.95 * 3600 ? 1 : 0, s / 3600);
}

/* Compare arguments only: the path of the program may differ. */
static const char *arguments(const char *command)
{
    return command + strcspn(command, " ");
}

char *ti_estimate_text(const struct ti_former *f, const char *path, int64_t np, int64_t fold,
                       const char *command, const char *backend, char *buf, int buf_bytes)
{
    char text[32], former[32];
    size_t room = (size_t)buf_bytes;
    int n;

    say_seconds(ti_estimate_seconds(f, np, fold), text, sizeof text);
    say_seconds(f->seconds, former, sizeof former);
    n = snprintf(buf, room, "about %s: %s took %s with %" PRId64 " rank%s a core", text, path,
                 former, f->fold, f->fold == 1 ? "" : "s");
    if (n > 0 && n < buf_bytes && f->np != np)
        n += snprintf(buf + n, room - (size_t)n, ", %" PRId64 " in all", f->np);
    if (n > 0 && n < buf_bytes && backend && f->backend[0] && strcmp(backend, f->backend) != 0)
        n += snprintf(buf + n, room - (size_t)n, ", counted with %s", f->backend);
    if (n > 0 && n < buf_bytes && command && f->command[0] &&
        strcmp(arguments(command), arguments(f->command)) != 0)
        snprintf(buf + n, room - (size_t)n, ", for '%s'", f->command);
    return buf;
}

void ti_estimate_print(const char *path, int64_t np, int64_t fold, const char *command,
                       const char *backend, FILE *out)
{
    struct ti_former former;
    struct ti_err err;
    char text[1024];
    bool told;

    if (!path)
        return;
    if (read_former(path, &former, &told, &err) != TI_OK)
        ti_print(out, "  time      not known: %s\n", err.text);
    else if (!told)
        ti_print(out, "  time      not known: '%s' does not tell how long it took\n", path);
    else
        ti_print(out, "  time      %s\n",
                 ti_estimate_text(&former, path, np, fold, command, backend, text, sizeof text));
}

void ti_estimate_connect_print(const struct ti_estimate_logins *l, FILE *out)
{
    double all = (double)l->nodes / l->at_a_time, one = (double)l->busiest / l->by_gateway,
           seconds = TI_ESTIMATE_LOGIN_S * (all > one ? all : one);
    char text[32], count[32];

    if (seconds < 10)
        return;
    say_seconds(seconds, text, sizeof text);
    ti_print(out, "  connect   about %s: %s nodes%s, %d logins at a time\n", text,
             ti_format_count((uint64_t)(one > all ? l->busiest : l->nodes), count, sizeof count),
             one > all ? " behind one gateway" : "", one > all ? l->by_gateway : l->at_a_time);
}

void ti_estimate_start_print(double seconds, FILE *out)
{
    char text[32];

    if (seconds < 60)
        return;
    say_seconds(seconds, text, sizeof text);
    ti_print(out, "  start     about %s until all ranks are through MPI_Init%s\n", text,
             seconds >= TI_START_LONG_S
                 ? ";\n            it grows with the square of the ranks on a node: use more nodes"
                 : "");
}
