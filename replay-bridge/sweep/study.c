#include "replay-bridge/sweep/study.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "common/map.h"
#include "common/sha256.h"

/* ---- fingerprints ---- */

static ti_status hash_file(const char *path, struct ti_sha256 *sum, struct ti_err *err)
{
    static char buf[1 << 16];
    FILE *f = fopen(path, "re");
    size_t n;
    bool bad;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    while ((n = fread(buf, 1, sizeof buf, f)) > 0)
        ti_sha256_add(sum, buf, n);
    bad = ferror(f) != 0;
    fclose(f);
    return bad ? ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path) : TI_OK;
}

static bool is_directory(const char *path)
{
    struct stat sb;

    return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

/* Checksum of a trace: the bytes of a file; or of a run directory, names and bytes of the files of
 * its ranks. */
static ti_status hash_trace(struct ti_source *s, char hex[65], struct ti_err *err)
{
    const char *path = ti_source_path(s);
    struct ti_sha256 sum;
    ti_status st = TI_OK;

    ti_sha256_begin(&sum);
    if (!is_directory(path)) {
        st = hash_file(path, &sum, err);
    } else {
        const char *before = NULL;

        for (int64_t rank = 0; rank < ti_source_nranks(s) && !st; rank++) {
            const char *name = ti_source_name(s, rank);
            char file[PATH_MAX];

            if (!name || name == before) /* a merged trace is the file of all ranks */
                continue;
            before = name;
            snprintf(file, sizeof file, "%s/%s", path, name);
            ti_sha256_add(&sum, name, strlen(name) + 1);
            st = hash_file(file, &sum, err);
        }
    }
    ti_sha256_end(&sum, hex);
    return st;
}

/* The value of an option, or NULL. */
static const char *value_of(const char *arg)
{
    const char *equals = strchr(arg, '=');

    return equals ? equals + 1 : NULL;
}

/* Records the checksum of the file that a value names, if it names one. */
static void note_file(json_t *files, const char *value)
{
    const char *path = !strncmp(value, "file:", 5) ? value + 5 : value;
    struct stat sb;
    struct ti_sha256 sum;
    char hex[65] = "";

    if (json_object_get(files, path))
        return;
    ti_sha256_begin(&sum);
    if (stat(path, &sb) == 0 && S_ISREG(sb.st_mode) && hash_file(path, &sum, NULL) == TI_OK)
        ti_sha256_end(&sum, hex);
    json_object_set_new(files, path, json_string(hex));
}

/* Path and SHA-256 of the files that the options of a point name. */
static json_t *files_of(const struct ti_study *study, const struct ti_study_point *point)
{
    json_t *files = json_object();

    for (int i = 0; i < point->args.n; i++) {
        const char *value = value_of(point->args.v[i]), *hash;

        if (!value)
            continue;
        value += strncmp(value, "file:", 5) ? 0 : 5;
        hash = json_string_value(json_object_get(study->files, value));
        if (hash && hash[0])
            json_object_set_new(files, value, json_string(hash));
    }
    return files;
}

/* ---- points ---- */

static size_t name_bytes(const char *arg)
{
    return strcspn(arg, "=");
}

/* Whether option `a` comes after option `b`, by name only. */
static bool is_after(const char *a, const char *b)
{
    size_t n = name_bytes(a), m = name_bytes(b);
    int order = strncmp(a, b, n < m ? n : m);

    return order ? order > 0 : n > m;
}

/* Sorts options by name, so that their order on the command line does not matter.  The sort is
 * stable: a repeated option stays behind the one that it overrides. */
static void sort_args(struct ti_args *args)
{
    for (int i = 1; i < args->n; i++)
        for (int j = i; j > 0 && is_after(args->v[j - 1], args->v[j]); j--) {
            char *was = args->v[j];

            args->v[j] = args->v[j - 1];
            args->v[j - 1] = was;
        }
}

static void make_point(struct ti_study *study, const struct ti_args *base, int64_t i)
{
    struct ti_study_point *point = &study->point[i];
    const struct ti_sweep *sweep = study->sweep;
    struct ti_sha256 sum;
    char hex[65];

    ti_args_add_all(&point->args, base, 0);
    for (size_t c = 0; c < sweep->n; c++)
        ti_args_addf(&point->args, "--%s=%s", sweep->choice[c].opt->name,
                     ti_sweep_value(sweep, i, c));
    sort_args(&point->args);
    ti_sha256_begin(&sum);
    for (int a = 0; a < point->args.n; a++) {
        const char *value = value_of(point->args.v[a]);

        ti_sha256_add(&sum, point->args.v[a], strlen(point->args.v[a]) + 1);
        if (value)
            note_file(study->files, value);
    }
    ti_sha256_end(&sum, hex);
    snprintf(point->id, sizeof point->id, "%.16s", hex);
}

static void point_path(const struct ti_study *study, int64_t i, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/points/%s.json", study->dir, study->point[i].id);
}

static bool says(const json_t *record, const char *key, const char *expected)
{
    const char *found = json_string_value(json_object_get(record, key));

    return found && !strcmp(found, expected);
}

/* Loads the recorded result of a point, if it is still valid. */
static void load_point(struct ti_study *study, int64_t i)
{
    char path[PATH_MAX];
    json_t *record, *files = files_of(study, &study->point[i]);
    bool good;

    point_path(study, i, path);
    record = json_load_file(path, 0, NULL);
    good = record && json_is_integer(json_object_get(record, "status")) &&
           !json_integer_value(json_object_get(record, "status"));
    if (good && !says(record, "trace_sha256", study->trace_sha256)) {
        study->other_trace++;
        good = false;
    }
    if (good && says(record, "version", ti_version()) &&
        json_equal(files, json_object_get(record, "files"))) {
        study->point[i].record = record;
        study->done++;
    } else {
        json_decref(record);
    }
    json_decref(files);
}

/* Refuses a folder with other files, so that nothing of the user's is overwritten. */
static ti_status check_dir(const char *path, struct ti_err *err)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    bool other = false, ours = false;

    if (!d)
        return errno == ENOENT ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot use '%s'", path);
    while ((entry = readdir(d))) {
        ours = ours || !strcmp(entry->d_name, "points");
        other = other || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0);
    }
    closedir(d);
    if (!other || ours)
        return TI_OK;
    ti_err_set(err, TI_ERR_USAGE, "'%s' is not empty, and holds no study", path);
    ti_err_hint(err, "give -o a new directory, or that of a study to resume");
    return TI_ERR_USAGE;
}

static void make_points(struct ti_study *study, const struct ti_args *base)
{
    size_t none = 0;

    study->files = json_object();
    study->n = study->ntraces * ti_sweep_points(study->sweep);
    study->point = ti_grow(NULL, &none, (size_t)study->n, sizeof *study->point);
    for (int64_t i = 0; i < study->n; i++)
        make_point(study, base, i);
}

ti_status ti_study_open(struct ti_study *study, const struct ti_sweep *sweep,
                        const struct ti_args *base, struct ti_source *trace, const char *dir,
                        struct ti_err *err)
{
    ti_status st;

    *study = (struct ti_study){.sweep = sweep, .lock = -1, .ntraces = 1, .dir = dir};
    study->only = ti_source_path(trace);
    study->trace = &study->only;
    st = dir ? check_dir(dir, err) : TI_OK;
    if (!st)
        st = hash_trace(trace, study->trace_sha256, err);
    if (st)
        return st;
    make_points(study, base);
    for (int64_t i = 0; i < study->n && dir; i++)
        load_point(study, i);
    return TI_OK;
}

void ti_study_open_traces(struct ti_study *study, const struct ti_sweep *sweep,
                          const struct ti_args *base, const char *const *trace, int ntraces)
{
    *study = (struct ti_study){.sweep = sweep, .trace = trace, .ntraces = ntraces, .lock = -1};
    make_points(study, base);
}

void ti_study_close(struct ti_study *study)
{
    for (int64_t i = 0; study->point && i < study->n; i++) {
        ti_args_free(&study->point[i].args);
        json_decref(study->point[i].record);
    }
    free(study->point);
    json_decref(study->files);
    if (study->lock >= 0)
        close(study->lock);
    *study = (struct ti_study){.lock = -1};
}

ti_status ti_study_begin(struct ti_study *study, struct ti_err *err)
{
    char points[PATH_MAX];

    snprintf(points, sizeof points, "%s/points", study->dir);
    if ((mkdir(study->dir, 0777) != 0 && errno != EEXIST) ||
        (mkdir(points, 0777) != 0 && errno != EEXIST))
        return ti_err_errno(err, TI_ERR_IO, "cannot make the folder '%s'", points);
    study->lock = open(points, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (study->lock < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot use '%s'", points);
    if (flock(study->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_IO, "'%s' is in use by another sweep", study->dir);
    return TI_OK;
}

/* ---- results ---- */

/* Creates DIR/NAME atomically from the output of `write`, which gets `what`. */
static ti_status write_file(const struct ti_study *study, const char *name,
                            void (*write)(FILE *out, const void *what), const void *what,
                            struct ti_err *err)
{
    char path[PATH_MAX], part[PATH_MAX + 8];
    bool bad;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", study->dir, name);
    snprintf(part, sizeof part, "%s.part", path);
    f = fopen(part, "we");
    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", part);
    write(f, what);
    bad = fflush(f) != 0 || ferror(f);
    if (fclose(f) != 0 || bad || rename(part, path) != 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
        unlink(part);
        return TI_ERR_IO;
    }
    return TI_OK;
}

static void write_json(FILE *out, const void *what)
{
    json_dumpf(what, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    fputc('\n', out);
}

static json_t *settings_of(const struct ti_study *study, int64_t i)
{
    json_t *settings = json_object();

    for (size_t c = 0; c < study->sweep->n; c++)
        json_object_set_new(settings, study->sweep->choice[c].opt->name,
                            json_string(ti_sweep_value(study->sweep, i, c)));
    return settings;
}

ti_status ti_study_record(struct ti_study *study, int64_t i, int status, json_t *result,
                          const char *error, struct ti_err *err)
{
    struct ti_study_point *point = &study->point[i];
    json_t *args = json_array();
    char name[64];

    for (int a = 0; a < point->args.n; a++)
        json_array_append_new(args, json_string(point->args.v[a]));
    point->record = json_pack(
        "{s:s, s:i, s:s*, s:o, s:o, s:s, s:s, s:s, s:o, s:o*}", "id", point->id, "status", status,
        "error", status ? error : NULL, "settings", settings_of(study, i), "options", args,
        "version", ti_version(), "trace", ti_study_trace(study, point - study->point),
        "trace_sha256", study->trace_sha256, "files", files_of(study, point), "result", result);
    if (!point->record)
        return ti_err_set(err, TI_ERR_IO, "no memory for point %s, or it is no text", point->id);
    study->done += !status;
    study->failed += status != 0;
    if (!study->dir)
        return TI_OK;
    snprintf(name, sizeof name, "points/%s.json", point->id);
    return write_file(study, name, write_json, point->record, err);
}

/* Exit status of a point that has a record. */
static int point_status(const struct ti_study_point *point)
{
    return (int)json_integer_value(json_object_get(point->record, "status"));
}

static const json_t *result_of(const struct ti_study_point *point, const char *key)
{
    return json_object_get(json_object_get(point->record, "result"), key);
}

double ti_study_point_time(const struct ti_study_point *point)
{
    const json_t *clock = result_of(point, "clock_s");

    return point_status(point) == 0 && json_is_number(clock) ? json_number_value(clock) : NAN;
}

bool ti_study_point_drawn(const struct ti_study_point *point)
{
    const json_t *copy = json_array_get(result_of(point, "jobs"), 0);

    return result_of(point, "drawn_ranks") || json_object_get(copy, "drawn_ranks");
}

struct ti_untimed ti_study_point_untimed(const struct ti_study_point *point)
{
    const json_t *of = result_of(point, "untimed");
    json_int_t comms = json_integer_value(json_object_get(of, "communicators"));
    json_int_t probes = json_integer_value(json_object_get(of, "probes"));

    return (struct ti_untimed){(uint64_t)(comms > 0 ? comms : 0),
                               (uint64_t)(probes > 0 ? probes : 0)};
}

const char *ti_study_point_engine(const struct ti_study_point *point)
{
    return ti_json_string(json_object_get(point->record, "result"), "engine");
}

/* Prints the values of the first `n` choices in point `i`. */
static void print_choices(const struct ti_study *study, int64_t i, size_t n, FILE *out)
{
    for (size_t c = 0; c < n; c++)
        ti_print(out, "%s%s=%s", c ? " " : "", study->sweep->choice[c].opt->name,
                 ti_sweep_value(study->sweep, i, c));
}

void ti_study_print_settings(const struct ti_study *study, int64_t i, FILE *out)
{
    if (study->ntraces > 1)
        ti_print(out, "%s%s", ti_study_trace(study, i), study->sweep->n ? " " : "");
    print_choices(study, i, study->sweep->n, out);
}

int64_t ti_study_groups(const struct ti_study *study)
{
    return study->runs ? study->n / study->runs : study->n;
}

void ti_study_print_group(const struct ti_study *study, int64_t group, FILE *out)
{
    int64_t runs = study->runs ? study->runs : 1;

    print_choices(study, group * runs, study->sweep->n - (study->runs ? 1 : 0), out);
}

struct ti_interval ti_study_group_times(const struct ti_study *study, int64_t group)
{
    int64_t size = study->runs ? study->runs : 1;
    size_t none = 0, n = 0;
    double *value = ti_grow(NULL, &none, (size_t)size, sizeof *value);
    struct ti_interval times;

    for (int64_t i = group * size; i < (group + 1) * size; i++) {
        double time = ti_study_point_time(&study->point[i]);

        if (!isnan(time))
            value[n++] = time;
    }
    times = ti_interval_of(value, (int)n);
    free(value);
    return times;
}

/* ---- results.csv ---- */

static void put_field(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, const json_t *number)
{
    if (json_is_number(number))
        fprintf(out, "%.12g", json_number_value(number));
    fputc(',', out);
}

static void write_csv(FILE *out, const void *what)
{
    const struct ti_study *study = what;

    for (size_t c = 0; c < study->sweep->n; c++)
        fprintf(out, "%s,", study->sweep->choice[c].opt->name);
    fprintf(
        out,
        "simulated_time_s,clock_s,wall_time_s,energy_j,untimed_communicators,untimed_probes,status,"
        "error,id\n");
    for (int64_t i = 0; i < study->n; i++) {
        const struct ti_study_point *point = &study->point[i];
        const char *error = json_string_value(json_object_get(point->record, "error"));
        struct ti_untimed untimed = ti_study_point_untimed(point);

        for (size_t c = 0; c < study->sweep->n; c++) {
            put_field(out, ti_sweep_value(study->sweep, i, c));
            fputc(',', out);
        }
        put_number(out, result_of(point, "simulated_time_s"));
        put_number(out, result_of(point, "clock_s"));
        put_number(out, result_of(point, "wall_time_s"));
        put_number(out, json_object_get(result_of(point, "energy"), "joules"));
        if (point_status(point))
            fprintf(out, ",,");
        else
            fprintf(out, "%llu,%llu,", (unsigned long long)untimed.comms,
                    (unsigned long long)untimed.probes);
        fprintf(out, "%d,", point_status(point));
        put_field(out, error ? error : "");
        fprintf(out, ",%s\n", point->id);
    }
}

/* ---- results.json ---- */

json_t *ti_study_common(const struct ti_study *study)
{
    json_t *common = NULL;
    int64_t results = 0;
    void *next;
    const char *key;
    json_t *value;

    for (int64_t i = 0; i < study->n; i++) {
        const json_t *result = json_object_get(study->point[i].record, "result");

        if (point_status(&study->point[i]) || !result)
            continue;
        if (!results++) {
            common = json_copy((json_t *)result);
            continue;
        }
        json_object_foreach_safe(common, next, key,
                                 value) if (!json_equal(value, json_object_get(result, key)))
            json_object_del(common, key);
    }
    return common ? common : json_object();
}

/* A result without the values in `common` and without the hosts of ranks. */
static json_t *own_of(const json_t *result, const json_t *common)
{
    json_t *own = json_copy((json_t *)result), *value;
    const char *key;

    json_object_foreach((json_t *)common, key, value) json_object_del(own, key);
    json_object_del(own, "rank_hosts");
    return own;
}

/* The runs of each setting together. */
static json_t *runs_json(const struct ti_study *study)
{
    json_t *list = json_array();

    for (int64_t group = 0; group < ti_study_groups(study); group++) {
        struct ti_interval times = ti_study_group_times(study, group);
        json_t *settings = settings_of(study, group * study->runs);
        json_t *one = times.n ? ti_interval_json(&times) : json_pack("{s:i}", "runs", 0);

        json_object_del(settings, "seed");
        json_object_set_new(one, "settings", settings);
        json_array_append_new(list, one);
    }
    return list;
}

json_t *ti_study_json(const struct ti_study *study)
{
    json_t *choices = json_array(), *points = json_array(), *all;
    json_t *common = study->done > 1 ? ti_study_common(study) : json_object();

    for (size_t c = 0; c < study->sweep->n; c++) {
        const struct ti_choice *choice = &study->sweep->choice[c];
        json_t *values = json_array();

        for (int v = 0; v < choice->value.n; v++)
            json_array_append_new(values, json_string(choice->value.v[v]));
        json_array_append_new(
            choices, json_pack("{s:s, s:o}", "option", choice->opt->name, "values", values));
    }
    for (int64_t i = 0; i < study->n; i++) {
        const json_t *record = study->point[i].record;
        const json_t *result = json_object_get(record, "result");

        json_array_append_new(points,
                              json_pack("{s:s, s:O, s:O, s:O*, s:o*}", "id", study->point[i].id,
                                        "settings", json_object_get(record, "settings"), "status",
                                        json_object_get(record, "status"), "error",
                                        json_object_get(record, "error"), "result",
                                        result ? own_of(result, common) : NULL));
    }
    all = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o}", "trace", study->only,
                    "trace_sha256", study->trace_sha256, "version", ti_version(), "point_count",
                    (json_int_t)study->n, "failed", (json_int_t)study->failed, "sweep", choices,
                    "common", common, "points", points);
    if (study->runs)
        json_object_set_new(all, "runs", runs_json(study));
    return all;
}

ti_status ti_study_report(const struct ti_study *study, struct ti_err *err)
{
    json_t *all = ti_study_json(study);
    ti_status st = write_file(study, "results.csv", write_csv, study, err);

    if (!st)
        st = write_file(study, "results.json", write_json, all, err);
    if (!st)
        st = write_file(study, "plot.svg", ti__study_plot, study, err);
    json_decref(all);
    return st;
}
