#include "node/merge.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/scratch.h"
#include "merged/encode.h"
#include "merged/merger.h"
#include "node/facts.h"
#include "node/task.h"
#include "node/traces.h"
#include "session/messages.h"
#include "trace/rankname.h"
#include "trace/reader.h"

#define NICE    10
#define TICK_US 250000 /* of processor time: a process that waits for a disk does not tick */

/* A merge under way. */
struct merge {
    int dir;
    const char *run_id;
    char folder[32];          /* a path of `dir` */
    struct ti_merger *merger; /* NULL before the first rank */
    uint32_t nranks;          /* of the run, by its trace */
    json_t *merged;
};

/* A rank's trace, and the file that it was read from. */
struct trace {
    struct stat file;
    uint32_t crc; /* CRC-32C of the file */
    uint32_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct ti_record record;
};

bool ti_merge_ranks_ok(const json_t *ranks)
{
    const json_t *range;
    json_int_t last = -1;
    size_t i;

    if (!ti__ranks_ok(ranks, TI_MSG_MERGE_RANKS))
        return false;
    json_array_foreach(ranks, i, range)
    {
        if (json_integer_value(json_array_get(range, 0)) <= last)
            return false;
        last = json_integer_value(json_array_get(range, 1));
    }
    return true;
}

static const char *path_of(int dir, char path[32])
{
    snprintf(path, 32, "/proc/self/fd/%d", dir);
    return path;
}

int ti_merge_file(int dir)
{
    char path[32];

    return ti_scratch_unnamed(path_of(dir, path), NULL);
}

/* Read an open file.  False: it is no sound trace, it is of another rank, or it is being written.
 */
static bool read_file(const struct merge *m, int64_t rank, int fd, struct trace *t)
{
    char name[TI_RANK_NAME_BYTES];
    struct ti_reader *r;
    struct ti_err err;
    bool ok;

    if (!ti__trace_crc(fd, t->file.st_size, &t->crc) ||
        ti_reader_open_at(fd, 0, t->file.st_size, ti_rank_name(rank, name), &r, &err) != TI_OK)
        return false;
    t->nranks = ti_reader_nranks(r);
    memcpy(t->run_id, ti_reader_run_id(r), sizeof t->run_id);
    ok = ti_reader_rank(r) == rank && (!m->merger || t->nranks == m->nranks) &&
         ti_folded_encode(r, NULL, &t->record, &err) == TI_OK;
    ti_reader_close(r);
    if (ok && ti__trace_changed(fd, &t->file)) {
        ti_record_free(&t->record);
        ok = false;
    }
    return ok;
}

static ti_status add_trace(struct merge *m, const struct trace *t, struct ti_err *err)
{
    ti_status st = TI_OK;

    if (!m->merger) {
        st = ti_merger_new(t->nranks, t->run_id, m->folder, &m->merger, err);
        m->nranks = t->nranks;
    }
    if (st == TI_OK)
        st = ti_merger_add(m->merger, &t->record, err);
    if (st == TI_OK)
        json_array_append_new(m->merged,
                              json_pack("[I, I, I]", (json_int_t)t->record.rank,
                                        (json_int_t)t->file.st_size, (json_int_t)t->crc));
    return st;
}

/* A rank that cannot be merged is no error: it is sent as a file, and the receiver says what is
 * wrong with it.  TI_ERR_IO if temporary files cannot be written. */
static ti_status add_rank(struct merge *m, int64_t rank, struct ti_err *err)
{
    ti_status st = TI_OK;
    struct trace t;
    int fd = -1;

    if (ti__trace_open(m->dir, rank, m->run_id, &fd, &t.file, NULL) == TI_OK &&
        read_file(m, rank, fd, &t)) {
        st = add_trace(m, &t, err);
        ti_record_free(&t.record);
    }
    if (fd >= 0)
        close(fd);
    return st == TI_ERR_INPUT ? TI_OK : st;
}

static ti_status add_ranks(struct merge *m, const json_t *ranks, struct ti_err *err)
{
    const json_t *range;
    ti_status st = TI_OK;
    size_t i;

    json_array_foreach(ranks, i, range)
    {
        for (json_int_t r = json_integer_value(json_array_get(range, 0));
             st == TI_OK && r <= json_integer_value(json_array_get(range, 1)); r++)
            st = add_rank(m, r, err);
    }
    return st;
}

static void on_timer(int signal)
{
    int was = errno;

    (void)signal;
    ti_task_tick();
    errno = was;
}

static void tick_every(long us)
{
    struct sigaction act = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, us}, {0, us}};

    sigaction(SIGPROF, &act, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

json_t *ti_merge_ranks(const json_t *ranks, int dir, const char *run_id, int fd)
{
    struct merge m = {.dir = dir, .run_id = run_id, .merged = json_array()};
    struct ti_err err = {"", ""};
    json_t *answer;
    ti_status st;

    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
    tick_every(TICK_US);
    path_of(dir, m.folder);
    st = add_ranks(&m, ranks, &err);
    if (st == TI_OK && json_array_size(m.merged))
        st = ti_merger_write(m.merger, fd, "the merged trace", &err);
    answer = st == TI_OK ? json_pack("{s:I, s:O}", "bytes", (json_int_t)lseek(fd, 0, SEEK_END),
                                     "merged", m.merged)
                         : ti_facts_error(&err);
    tick_every(0);
    json_decref(m.merged);
    ti_merger_free(m.merger);
    return answer;
}
