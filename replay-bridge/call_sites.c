#include "replay-bridge/call_sites.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "callsite/symbolizer.h"
#include "common/json.h"
#include "common/map.h"
#include "common/scratch.h"
#include "fold/shape.h"
#include "replay-bridge/replayer/timeline.h"
#include "trips/names.h"

#define COLUMNS_BEFORE 6     /* of the call site in a timeline */
#define LOOK_EVERY     65536 /* rows, whether the user stopped it */

/* Let the symbolizer look where the programs of all ranks were. */
static void add_programs(struct ti_symbolizer *z, const struct ti_replay_result *res)
{
    struct ti_reader *r;

    for (int i = 0; i < res->ntraces; i++)
        for (int64_t rank = 0; rank < ti_source_nranks(res->trace[i].source); rank++)
            if (ti_source_reader(res->trace[i].source, rank, &r, NULL) == TI_OK) {
                ti_symbolizer_add_rank(z, r);
                ti_reader_close(r);
            }
}

void ti_replay_name_sites(struct ti_symbolizer *z, json_t *json)
{
    const char *site = json_string_value(json_object_get(json, "site")), *key;
    json_t *value;
    size_t i;

    json_object_foreach(json, key, value) ti_replay_name_sites(z, value);
    json_array_foreach(json, i, value) ti_replay_name_sites(z, value);
    if (site)
        ti_site_line_json(*site ? ti_symbolizer_find(z, site) : NULL, json);
}

/* ---- loops ---- */

/* The reader of a rank, counted over all jobs; NULL: it cannot be read. */
static struct ti_reader *reader_of(const struct ti_replay_result *res, int64_t rank)
{
    struct ti_reader *r = NULL;

    for (int j = 0; j < res->njobs; j++) {
        const struct ti_sim_job *job = &res->job[j];

        if (rank >= job->first && rank < job->first + job->np &&
            ti_source_reader(job->trace->source, rank - job->first, &r, NULL) != TI_OK)
            r = NULL;
    }
    return r;
}

/* Name the loops of a group of ranks: those of `list` from number `i` on, in the order of the shape
 * of its first rank.  Returns the number of the first loop of the next group. */
static size_t name_group(struct ti_symbolizer *z, const struct ti_replay_result *res, json_t *list,
                         size_t i)
{
    json_t *ranks = json_object_get(json_array_get(list, i), "ranks");
    struct ti_reader *r =
        reader_of(res, json_integer_value(json_array_get(json_array_get(ranks, 0), 0)));
    const struct ti_folded *f = r ? ti_reader_folded(r) : NULL;
    struct ti_loop_names *names = f ? ti_loop_names_of(r, z) : NULL;
    uint32_t node = 0, nodes = f ? ti_shape_nodes(f) : 0;
    char name[TI_LOOP_NAME_BYTES];

    for (; json_equal(json_object_get(json_array_get(list, i), "ranks"), ranks); i++, node++) {
        while (node < nodes && !ti_shape_node(f, node).loop)
            node++;
        if (node < nodes)
            json_object_set_new(json_array_get(list, i), "name",
                                ti_json_text(ti_loop_name(names, node, name, sizeof name)));
    }
    ti_loop_names_free(names);
    if (r)
        ti_reader_close(r);
    return i;
}

static void name_loops(struct ti_symbolizer *z, const struct ti_replay_result *res, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list);)
        i = name_group(z, res, list, i);
}

/* ---- the timeline ---- */

static size_t quotes_in(const char *text)
{
    size_t n = 0;

    for (; (text = strchr(text, '"')); text++)
        n++;
    return n;
}

/* Read a row, without its line feed.  A call site in quotes may have several lines.  False: there
 * is none. */
static bool read_row(FILE *in, char **row, size_t *room)
{
    ssize_t n = getline(row, room, in), more;
    char *next = NULL;
    size_t next_room = 0;

    while (n > 0 && quotes_in(*row) % 2 && (more = getline(&next, &next_room, in)) > 0) {
        *row = ti_grow(*row, room, (size_t)(n + more) + 1, 1);
        memcpy(*row + n, next, (size_t)more + 1);
        n += more;
    }
    free(next);
    if (n > 0 && (*row)[n - 1] == '\n')
        (*row)[n - 1] = '\0';
    return n > 0;
}

/* The call site of a row, which is the last column, without quotes; free() it. */
static char *site_of(const char *row)
{
    char *site, *to;

    for (int i = 0; row && i < COLUMNS_BEFORE; i++) {
        row = strchr(row, ',');
        row += row != NULL;
    }
    site = strdup(row ? row : "");
    if (!site || *site != '"')
        return site;
    to = site;
    for (const char *from = site + 1; *from && !(from[0] == '"' && !from[1]); from++) {
        *to++ = *from;
        from += from[0] == '"' && from[1] == '"';
    }
    *to = '\0';
    return site;
}

static ti_status name_rows(struct ti_symbolizer *z, FILE *in, FILE *out, struct ti_err *err)
{
    char *row = NULL, *site;
    size_t room = 0;
    ti_status st = TI_OK;

    if (read_row(in, &row, &room))
        fprintf(out, "%s,function,file,line\n", row);
    for (uint64_t i = 0; !st && read_row(in, &row, &room); i++) {
        const struct ti_site_line *line;

        site = site_of(row);
        line = site && *site ? ti_symbolizer_find(z, site) : NULL;
        fprintf(out, "%s,", row);
        ti_timeline_put_text(out, line && line->function ? line->function : "");
        putc(',', out);
        ti_timeline_put_text(out, line && line->file ? line->file : "");
        if (line && line->file)
            fprintf(out, ",%d\n", line->line);
        else
            fputs(",\n", out);
        free(site);
        if (i % LOOK_EVERY == 0)
            st = ti_stop_check(err);
    }
    free(row);
    return st;
}

/* Write the rows of `path` with their source lines into `out`, and give it the name `path`. */
static ti_status rewrite(struct ti_symbolizer *z, const char *path, const char *part, FILE *out,
                         const struct stat *is, struct ti_err *err)
{
    FILE *in = fopen(path, "re");
    bool read = false, written;
    ti_status st =
        in ? name_rows(z, in, out, err) : ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);

    if (in) {
        read = !ferror(in);
        fclose(in);
    }
    written = !ferror(out) && fchmod(fileno(out), is->st_mode & 07777) == 0;
    if (fclose(out) != 0 || (!st && (!read || !written || rename(part, path) != 0)))
        st = st ? st : ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    return st;
}

static ti_status name_timeline(struct ti_symbolizer *z, const char *timeline, struct ti_err *err)
{
    char *path = realpath(timeline, NULL), *part = NULL;
    struct stat is;
    ti_status st = TI_OK;
    int fd = -1;
    FILE *out;

    if (path && stat(path, &is) == 0 && S_ISREG(is.st_mode)) {
        if (asprintf(&part, "%s.XXXXXX", path) < 0)
            part = NULL;
        fd = part ? mkostemp(part, O_CLOEXEC) : -1;
        out = fd >= 0 ? fdopen(fd, "w") : NULL;
        st = out ? rewrite(z, path, part, out, &is, err)
                 : ti_err_errno(err, TI_ERR_IO, "cannot write a file beside '%s'", timeline);
        if (st && fd >= 0)
            unlink(part);
    }
    free(part);
    free(path);
    return st;
}

ti_status ti_replay_name_call_sites(const struct ti_replay_options *o, struct ti_replay_result *res,
                                    struct ti_err *err)
{
    ti_status st = TI_OK;

    if (!res->profile && !o->timeline)
        return TI_OK;
    res->symbolizer = ti_symbolizer_open(o->debug_dir);
    add_programs(res->symbolizer, res);
    ti_replay_name_sites(res->symbolizer, res->profile);
    name_loops(res->symbolizer, res, json_object_get(res->profile, "loops"));
    if (o->timeline && ti_timeline_has_sites(o->timeline))
        st = name_timeline(res->symbolizer, o->timeline, err);
    if (!st && !o->quiet)
        ti_symbolizer_advise(res->symbolizer);
    return st;
}
