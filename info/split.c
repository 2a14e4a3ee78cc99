#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/scratch.h"
#include "common/write.h"
#include "info/merge.h"
#include "trace/rankname.h"
#include "trace/writer.h"

/* A list of pairs for the writer: keys and values, borrowed from a reader. */
struct pairs {
    const char **text;
    size_t n, cap;
};

static void add_pairs(struct pairs *p, const struct ti_reader *r, int first)
{
    const char *key, *value;

    p->n = 0;
    for (int i = first; ti_reader_info_at(r, i, &key, &value); i++) {
        p->text = ti_grow(p->text, &p->cap, p->n + 2, sizeof *p->text);
        p->text[p->n++] = key;
        p->text[p->n++] = value;
    }
}

static void put_tables(struct ti_writer *w, const struct ti_reader *r)
{
    static const enum ti_string kinds[] = {TI_STRING_SITE, TI_STRING_CALL, TI_STRING_FILE};
    const struct ti_comm *comm;
    const char *text;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int64_t i = 1; (text = ti_reader_string(r, kinds[k], i)); i++)
            ti_writer_string(w, kinds[k], text);
    for (int64_t i = 0; (comm = ti_reader_comm(r, i)); i++)
        ti_writer_comm(w, comm->index, comm->kind, comm->rank, comm->size, comm->member,
                       comm->remote_size, comm->remote);
}

static ti_status put_events(struct ti_writer *w, struct ti_reader *r, struct ti_err *err)
{
    int more, extras = ti_reader_extras(r);
    struct ti_event ev;

    ti_writer_extras(w, extras);
    ti_reader_want_extras(r);
    while ((more = ti_reader_next(r, &ev, err)) > 0) {
        ti_status st = ev.extra ? ti_writer_event_extra(w, &ev, ev.extra) : ti_writer_event(w, &ev);

        if (st != TI_OK)
            return ti_writer_error(w, err);
    }
    return more < 0 ? TI_ERR_INPUT : TI_OK;
}

/* End the file as its trace ends.  A trace that was cut off has no totals. */
static ti_status end_file(struct ti_writer *w, const struct ti_reader *r, const char *path,
                          struct ti_err *err)
{
    struct pairs pairs = {NULL, 0, 0};
    struct ti_totals totals;
    struct stat sb = {.st_size = 0};
    bool whole = ti_reader_totals(r, &totals);
    ti_status st;

    add_pairs(&pairs, r, ti_reader_info_first(r));
    if (!whole) {
        ti_writer_flush(w);
        if (stat(path, &sb) != 0)
            sb.st_size = 0;
    }
    st = ti_writer_close(w, whole ? ti_reader_end(r) : TI_END_COMPLETE, pairs.text,
                         whole ? (int)(pairs.n / 2) : 0, err);
    if (st == TI_OK && !whole && truncate(path, sb.st_size) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    free(pairs.text);
    return st;
}

/* Write the events of a folded record as a rank file. */
static ti_status write_events(struct ti_reader *r, const char *path, struct ti_err *err)
{
    struct pairs pairs = {NULL, 0, 0};
    struct ti_writer *w;
    struct ti_err ignored;
    ti_status st =
        ti_writer_open(path, ti_reader_rank(r), ti_reader_nranks(r), ti_reader_run_id(r), &w, err);

    if (st != TI_OK)
        return st;
    add_pairs(&pairs, r, 0);
    if (pairs.n)
        ti_writer_info(w, pairs.text, (int)(pairs.n / 2));
    free(pairs.text);
    put_tables(w, r);
    st = put_events(w, r, err);
    if (st == TI_OK)
        return end_file(w, r, path, err);
    ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &ignored);
    return st;
}

static ti_status write_file(const char *path, const void *data, size_t bytes, struct ti_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool done = fd >= 0 && ti_write_all(fd, data, bytes);
    int cause = errno;

    if (fd >= 0 && close(fd) != 0 && done) {
        done = false;
        cause = errno;
    }
    errno = cause;
    return done ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
}

static ti_status split_rank(struct ti_source *s, int64_t rank, struct ti_err *err)
{
    char name[TI_RANK_NAME_BYTES], path[PATH_MAX];
    struct ti_reader *r;
    uint8_t *data;
    size_t bytes;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st != TI_OK)
        return st;
    snprintf(path, sizeof path, "%s", ti_scratch_path(ti_rank_name(rank, name)));
    st = ti_reader_file(r, &data, &bytes, err);
    if (st == TI_OK)
        st = data ? write_file(path, data, bytes, err) : write_events(r, path, err);
    free(data);
    ti_reader_close(r);
    return st;
}

/* Copy RUN.json and MANIFEST.json, as far as the source has them. */
static ti_status copy_texts(const struct ti_source *s, struct ti_err *err)
{
    static const char *const names[] = {"RUN.json", TI_MANIFEST_NAME};
    ti_status st = TI_OK;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && st == TI_OK; i++) {
        char *text;
        size_t bytes;

        st = ti_source_text(s, names[i], &text, &bytes, err);
        if (st == TI_OK && text)
            st = write_file(ti_scratch_path(names[i]), text, bytes, err);
        free(text);
    }
    return st;
}

static ti_status split(struct ti_source *s, int64_t *ranks, struct ti_err *err)
{
    ti_status st = TI_OK;

    *ranks = 0;
    for (int64_t rank = 0; rank < ti_source_nranks(s) && st == TI_OK; rank++) {
        if (!ti_source_has(s, rank))
            continue;
        ti_progress("writing", "ranks", rank, ti_source_nranks(s));
        st = ti_stop_check(err);
        if (st == TI_OK)
            st = split_rank(s, rank, err);
        ++*ranks;
    }
    ti_progress_end(st == TI_OK);
    return st == TI_OK ? copy_texts(s, err) : st;
}

ti_status info_split(struct ti_source *s, const char *output, const struct info_style *style,
                     struct ti_err *err)
{
    int64_t ranks;
    ti_status st = ti_scratch_open_beside(output, err);

    if (st == TI_OK)
        st = split(s, &ranks, err);
    if (st == TI_OK)
        st = ti_scratch_publish(NULL, output, err);
    if (st == TI_OK && style->json) {
        json_t *out = json_pack("{s:I}", "ranks", (json_int_t)ranks);

        info_print_json(out);
        json_decref(out);
    } else if (st == TI_OK && !style->quiet) {
        printf("%s: %" PRId64 " rank%s\n", output, ranks, ranks == 1 ? "" : "s");
    }
    ti_scratch_close();
    return st;
}
