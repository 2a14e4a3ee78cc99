#include "extrapolate/original.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/scratch.h"
#include "common/sha256.h"
#include "trace/caveats.h"

/* Metadata that says how a rank was counted. */
static const char *const counted[] = {"counter", "event", "unit", "threads"};
#define COUNTED (sizeof counted / sizeof *counted)

#define MODULES_MOST 32

/* A program or library that calls MPI, as call sites name it: "lu+0x3143 [BUILD-ID]". */
struct module {
    char name[64], build[80];
};

/* How the first rank of all was counted, and what it calls MPI from. */
struct count {
    bool known;
    char value[COUNTED][64];
    struct module module[MODULES_MOST];
    int nmodules;
    const char *path;
};

static ti_status check_counter(struct count *c, const char *path, const struct ti_reader *r,
                               struct ti_err *err)
{
    for (size_t k = 0; k < COUNTED; k++) {
        const char *value = ti_reader_info(r, counted[k]);
        char is[sizeof c->value[k]];

        snprintf(is, sizeof is, "%s", value ? value : "");
        if (!c->known)
            memcpy(c->value[k], is, sizeof is);
        else if (strcmp(c->value[k], is) != 0)
            return ti_err_set(err, TI_ERR_INPUT,
                              "volumes cannot be compared: the %s is '%s' in '%s', and '%s' in "
                              "'%s', rank %" PRIu32,
                              counted[k], c->value[k], c->path, is, path, ti_reader_rank(r));
    }
    if (!c->known)
        c->path = path;
    c->known = true;
    return TI_OK;
}

/* Read the modules of a rank; returns how many. */
static int modules_of(const struct ti_reader *r, struct module *out)
{
    const char *site;
    int n = 0;

    for (int64_t i = 1; n < MODULES_MOST && (site = ti_reader_string(r, TI_STRING_SITE, i)); i++) {
        const char *plus = strchr(site, '+'), *build = strchr(site, '[');
        struct module *m = &out[n];
        bool known = !plus;

        if (known)
            continue;
        snprintf(m->name, sizeof m->name, "%.*s", (int)(plus - site), site);
        snprintf(m->build, sizeof m->build, "%s", build ? build : "");
        for (int k = 0; k < n; k++)
            known = known || strcmp(out[k].name, m->name) == 0;
        n += !known;
    }
    return n;
}

/* Whether a rank is of the same build of the same program as the first one of all. */
static ti_status check_program(struct count *c, const char *path, const struct ti_reader *r,
                               struct ti_err *err)
{
    struct module is[MODULES_MOST];
    int n = modules_of(r, is), common = 0;

    if (!c->nmodules) {
        memcpy(c->module, is, sizeof is);
        c->nmodules = n;
    }
    for (int k = 0; k < n; k++)
        for (int i = 0; i < c->nmodules; i++) {
            if (strcmp(is[k].name, c->module[i].name) != 0)
                continue;
            common++;
            if (strcmp(is[k].build, c->module[i].build) != 0)
                return ti_err_set(err, TI_ERR_INPUT,
                                  "'%s' and '%s' are of different builds of %s%s%s%s%s", c->path,
                                  path, is[k].name, *is[k].build ? ": " : "", c->module[i].build,
                                  *is[k].build ? " and " : "", is[k].build);
        }
    if (n && c->nmodules && !common)
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' and '%s' are of different programs: %s and %s call MPI", c->path,
                          path, c->module[0].name, is[0].name);
    return TI_OK;
}

/* Whether the volumes of a rank are those of its run. */
static ti_status check_quality(const char *path, const struct ti_reader *r, struct ti_err *err)
{
    struct ti_caveats c = {.ranks = 0};

    ti_caveats_add_quality(&c, r, false);
    if (c.extrapolated)
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' was extrapolated itself: begin with the traces that it was made of",
                          path);
    if (!ti_caveats_approximate(&c))
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "'%s': the volumes of rank %" PRIu32 " are not exact", path,
               ti_reader_rank(r));
    ti_err_hint(err, "ti-info --merge wrote them so (--volumes); extrapolate the traces that it "
                     "was given");
    return TI_ERR_INPUT;
}

static ti_status read_rank(struct count *c, const char *path, struct ti_reader *r,
                           struct ti_sha256 *sum, struct ti_err *err)
{
    struct ti_totals totals;
    uint8_t bytes[8];
    ti_status st = ti_reader_skip(r, err);

    if (!st && (ti_reader_end(r) != TI_END_COMPLETE || !ti_reader_totals(r, &totals)))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s': rank %" PRIu32 " is incomplete", path,
                        ti_reader_rank(r));
    if (!st)
        st = check_quality(path, r, err);
    if (!st)
        st = check_counter(c, path, r, err);
    if (!st)
        st = check_program(c, path, r, err);
    for (int i = 0; i < 8 && !st; i++)
        bytes[i] = (uint8_t)(totals.hash >> (56 - 8 * i));
    if (!st)
        ti_sha256_add(sum, bytes, sizeof bytes);
    return st;
}

static ti_status read_source(struct count *c, struct ti_source *s, struct ti_original *out,
                             struct ti_err *err)
{
    struct ti_sha256 sum;
    ti_status st = TI_OK;

    *out = (struct ti_original){.path = ti_source_path(s), .np = ti_source_nranks(s)};
    if (!ti_source_run_id(s))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' has no trace that can be read", out->path);
    ti_hex(ti_source_run_id(s), TI_RUN_ID_BYTES, out->run_id);
    ti_sha256_begin(&sum);
    for (int64_t rank = 0; rank < out->np && !st; rank++) {
        struct ti_reader *r;

        st = ti_stop_check(err);
        if (!st)
            st = ti_source_reader(s, rank, &r, err);
        if (st)
            break;
        st = read_rank(c, out->path, r, &sum, err);
        ti_reader_close(r);
    }
    ti_sha256_end(&sum, out->hash);
    if (st == TI_ERR_INPUT && !strstr(err->text, out->path))
        ti_err_prefix(err, st, "'%s'", out->path);
    return st;
}

ti_status ti_originals_read(struct ti_source *const *source, int n, struct ti_original *out,
                            struct ti_err *err)
{
    struct count c = {.known = false};
    ti_status st = TI_OK;

    for (int i = 0; i < n && !st; i++)
        st = read_source(&c, source[i], &out[i], err);
    return st;
}

void ti_originals_run_id(const struct ti_original *of, int n, int64_t np,
                         uint8_t out[TI_RUN_ID_BYTES])
{
    struct ti_sha256 sum;
    int64_t key[2];
    char text[32];

    ti_sha256_begin(&sum);
    for (int i = 0; i < n; i++) {
        ti_sha256_add(&sum, of[i].run_id, strlen(of[i].run_id));
        ti_sha256_add(&sum, of[i].hash, strlen(of[i].hash));
    }
    snprintf(text, sizeof text, "%" PRId64, np);
    ti_sha256_add(&sum, text, strlen(text));
    ti_sha256_end_key(&sum, key);
    for (int i = 0; i < TI_RUN_ID_BYTES; i++)
        out[i] = (uint8_t)((uint64_t)key[i / 8 % 2] >> (56 - 8 * (i % 8)));
}

const char *ti_originals_sizes(const struct ti_original *of, int n, char *buf, size_t room)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < n && at < room; i++)
        at += (size_t)snprintf(buf + at, room - at, "%s%" PRId64,
                               i == 0      ? ""
                               : i + 1 < n ? ", "
                                           : " and ",
                               of[i].np);
    return buf;
}

const char *ti_originals_from(const struct ti_original *of, int n, char *buf, size_t room)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < n && at < room; i++)
        at += (size_t)snprintf(buf + at, room - at, "%s%" PRId64 " %s", i ? " " : "", of[i].np,
                               of[i].run_id);
    return buf;
}

json_t *ti_originals_json(const struct ti_original *of, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:I, s:o, s:s, s:s}", "np", (json_int_t)of[i].np,
                                              "path", ti_json_text(of[i].path), "run_id",
                                              of[i].run_id, "hash", of[i].hash));
    return list;
}
