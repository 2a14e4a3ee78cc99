#include "replay-bridge/otf2/otf2.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/otf2/internal.h"
#include "trace/rankname.h"

ti_status ti__otf2_wrong(struct ti__otf2_rank *r, const char *fmt, ...)
{
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    if (r->foreign)
        return ti_err_set(r->im->err, TI_ERR_INPUT, "'%s': %s", r->im->path, why);
    return ti_err_set(r->im->err, TI_ERR_INPUT, "'%s': rank %lld, record %llu: %s", r->im->path,
                      (long long)r->rank, (unsigned long long)r->record, why);
}

void ti__otf2_note(struct ti__otf2 *im, enum ti__otf2_note which, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (im->noted[which])
        return;
    im->noted[which] = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_warn("%s: %s", im->path, text);
}

/* ---- ranks ---- */

/* Number the communicators of the rank: 0 the world, 1 self, then the others as defined. */
static void number_comms(struct ti__otf2_rank *r)
{
    const struct ti__otf2 *im = r->im;
    int64_t next = 2;

    r->number = ti_grow(NULL, &r->numbers_cap, im->comms.n + 1, sizeof *r->number);
    r->me = ti_grow(NULL, &r->me_cap, im->comms.n + 1, sizeof *r->me);
    r->calls = ti_grow(NULL, &r->calls_cap, im->comms.n + 1, sizeof *r->calls);
    for (size_t i = 0; i < im->comms.n; i++)
        r->number[i] = im->comm[i].kind == TI__OTF2_SELF ? 1 : -1;
    for (size_t i = 0; i < r->nof; i++) {
        int32_t c = r->of[i].comm;

        r->number[c] = im->comm[c].kind == TI__OTF2_WORLD ? 0 : next++;
        r->me[c] = r->of[i].rank;
    }
}

static void open_rank(struct ti__otf2 *im, struct ti__otf2_rank *r, int64_t rank)
{
    *r = (struct ti__otf2_rank){.im = im,
                                .rank = rank,
                                .surveys = true,
                                .of = im->member + im->first[rank],
                                .nof = im->first[rank + 1] - im->first[rank]};
    number_comms(r);
}

static void close_rank(struct ti__otf2_rank *r)
{
    for (int v = 0; v < TI_VECS; v++)
        free(r->vec[v]);
    free(r->posted);
    free(r->shared);
    free(r->request);
    free(r->calls);
    free(r->number);
    free(r->me);
    free(r->done);
    ti_map_free(&r->untraced);
}

static ti_status survey(struct ti__otf2 *im, struct OTF2_Reader_struct *reader, int64_t rank)
{
    struct ti__otf2_rank r;
    ti_status st;

    ti_progress("reading", "ranks", rank, im->np);
    open_rank(im, &r, rank);
    st = ti__otf2_read(reader, &r, im->location[rank]);
    if (!st)
        st = ti__otf2_survey_end(&r);
    im->out->records += r.record;
    close_rank(&r);
    return st;
}

/* ---- rank files ---- */

static ti_status open_file(struct ti__otf2_rank *r)
{
    const struct ti__otf2 *im = r->im;
    char name[TI_RANK_NAME_BYTES], number[32];
    int32_t self = (int32_t)r->rank;
    const char *host = im->host[r->rank] ? im->host[r->rank] : "";
    const char *const info[] = {"rank",        number,
                                "host",        host,
                                "application", "otf2",
                                "counter",     "otf2",
                                "event",       im->counts ? im->counter : "time",
                                "unit",        im->counts ? "instructions" : "nanoseconds",
                                "exact",       "no",
                                "estimate",    im->counts ? "no" : "yes",
                                "threads",     "caller",
                                "mode",        "full",
                                "extra",       TI_EXTRA_BURST ":ns " TI_EXTRA_CALL ":ns",
                                "library",     im->creator};
    ti_status st;

    ti_rank_name(r->rank, name);
    snprintf(r->path, sizeof r->path, "%s", ti_scratch_path(name));
    st = ti_writer_open(r->path, (uint32_t)r->rank, (uint32_t)im->np, im->run_id, &r->w, im->err);
    if (st)
        return st;
    snprintf(number, sizeof number, "%lld", (long long)r->rank);
    ti_writer_extras(r->w, 2);
    ti_writer_info(r->w, info, (int)(sizeof info / sizeof info[0] / 2));
    ti_writer_comm(r->w, 0, TI_KIND_WORLD, r->rank, im->np, NULL, 0, NULL);
    ti_writer_comm(r->w, 1, TI_KIND_SELF, 0, 1, &self, 0, NULL);
    for (size_t i = 0; i < r->nof; i++) {
        const struct ti__otf2_comm *c = &im->comm[r->of[i].comm];

        if (c->kind == TI__OTF2_SUB)
            ti_writer_comm(r->w, (uint32_t)r->number[r->of[i].comm], TI_KIND_CREATE, r->of[i].rank,
                           c->size, c->member, 0, NULL);
    }
    return TI_OK;
}

static ti_status close_file(struct ti__otf2_rank *r, ti_status st)
{
    struct ti_err own;
    ti_status closed;

    if (!r->w)
        return st;
    closed = ti_writer_close(r->w, TI_END_COMPLETE, NULL, 0, &own);
    r->im->out->events += r->events;
    if (!closed || st)
        return st;
    *r->im->err = own;
    return closed;
}

static ti_status convert(struct ti__otf2 *im, struct OTF2_Reader_struct *reader, int64_t rank)
{
    struct ti__otf2_rank r;
    ti_status st;

    ti_progress("writing", "ranks", rank, im->np);
    open_rank(im, &r, rank);
    st = ti__otf2_read(reader, &r, im->location[rank]);
    r.surveys = r.has_count = false;
    r.record = r.now = r.count = 0;
    r.nrequests = 0;
    if (!st)
        st = open_file(&r);
    if (!st)
        st = ti__otf2_read(reader, &r, im->location[rank]);
    if (!st && r.depth)
        st = ti__otf2_wrong(&r, "the trace ends in %s", r.call->name);
    if (!st && !r.ended) {
        ti__otf2_note(im, TI__OTF2_NO_FINALIZE,
                      "rank %lld does not end with MPI_Finalize; it is added", (long long)rank);
        ti__otf2_end(&r);
    }
    st = close_file(&r, st);
    close_rank(&r);
    return st;
}

/* ---- the trace ---- */

static ti_status import(struct ti__otf2 *im, struct OTF2_Reader_struct *reader)
{
    ti_status st = TI_OK;

    im->out->np = im->np;
    if (strncmp(im->creator, "Score-P", 7) != 0 && strncmp(im->creator, "Tiara ", 6) != 0)
        ti__otf2_note(im, TI__OTF2_CREATOR,
                      "the trace is by '%s'; its sizes of collectives are read as Score-P writes "
                      "them",
                      im->creator);
    for (size_t i = 0; i < im->nthreads && !st; i++) {
        struct ti__otf2_rank thread = {.im = im, .foreign = true};

        st = ti__otf2_read(reader, &thread, im->thread[i]);
    }
    for (int64_t rank = 0; rank < im->np && !st; rank++)
        st = survey(im, reader, rank);
    ti_progress_end(!st);
    for (int64_t rank = 0; rank < im->np && !st; rank++)
        st = convert(im, reader, rank);
    ti_progress_end(!st);
    return st;
}

static ti_status import_here(const char *path, struct ti_otf2_imported *out, struct ti_err *err)
{
    struct ti__otf2 im = {.path = path, .out = out, .err = err};
    struct OTF2_Reader_struct *reader = NULL;
    ti_status st;

    if (getrandom(im.run_id, sizeof im.run_id, 0) != (ssize_t)sizeof im.run_id)
        return ti_err_errno(err, TI_ERR_IO, "cannot draw a run id");
    st = ti__otf2_open(&im, &reader);
    if (!st)
        st = import(&im, reader);
    ti__otf2_close(reader);
    ti__otf2_definitions_free(&im);
    return st;
}

/* ---- a process of its own ---- */

/* The result of the process, in memory that it shares with us. */
struct told {
    struct ti_otf2_imported out;
    struct ti_err err;
    ti_status st;
    bool done;
};

/* Wait for the process, which holds the other end of the pipe; end it when a signal comes. */
static int wait_for(pid_t pid, int end_of_pipe)
{
    struct pollfd p = {.fd = end_of_pipe, .events = POLLIN};
    int status = 0;

    /* a signal may come just before poll() */
    while (!ti_stopped() && poll(&p, 1, 200) <= 0)
        ;
    if (ti_stopped())
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static ti_status conclude(const char *path, const struct told *t, int status,
                          struct ti_otf2_imported *out, struct ti_err *err)
{
    ti_status st = ti_stop_check(err);

    *out = t->out;
    if (st)
        return st;
    if (!t->done)
        return ti_err_set(err, TI_ERR_INPUT, "'%s': the OTF2 library failed: %s", path,
                          WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended early");
    if (t->st)
        *err = t->err;
    return t->st;
}

/* The library loops over the counts of damaged files, which no signal handler of ours ends, and it
 * does not release its memory when it fails. */
ti_status ti_otf2_import(const char *path, struct ti_otf2_imported *out, struct ti_err *err)
{
    struct told *t =
        mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2] = {-1, -1}, status;
    ti_status st;
    pid_t pid;

    *out = (struct ti_otf2_imported){0};
    if (t == MAP_FAILED)
        return ti_err_errno(err, TI_ERR_IO, "cannot convert '%s'", path);
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot convert '%s'", path);
    } else if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        t->st = import_here(path, &t->out, &t->err);
        t->done = true;
        fflush(NULL);
        _exit(0);
    } else {
        close(ends[1]);
        ends[1] = -1;
        status = wait_for(pid, ends[0]);
        st = conclude(path, t, status, out, err);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    munmap(t, sizeof *t);
    return st;
}
