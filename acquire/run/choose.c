#include "acquire/run/choose.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minitrace/counters/counter.h"
#include "node/program.h"

/* The result that the trying child sends. */
struct answer {
    ti_status status;
    char backend[16];
    char event[64];
    bool exact, estimate;
    struct ti_err err;
};

static void answer(const struct ti_counter_request *wish, int fd)
{
    struct ti_counter counter;
    struct answer a;

    memset(&a, 0, sizeof a);
    a.status = ti_counter_open(wish, &counter, &a.err);
    if (a.status == TI_OK) {
        memcpy(a.backend, counter.backend, sizeof a.backend);
        memcpy(a.event, counter.event, sizeof a.event);
        a.exact = counter.exact;
        a.estimate = counter.estimate;
    }
    if (write(fd, &a, sizeof a) != (ssize_t)sizeof a)
        _exit(1);
    _exit(0);
}

static ti_status try_wish(const struct ti_counter_request *wish, struct ti_counter_choice *out,
                          struct ti_err *err)
{
    struct answer a;
    ssize_t got;
    int fd[2];
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot try counter '%s'", wish->choice);
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        answer(wish, fd[1]);
    close(fd[1]);
    got = pid < 0 ? -1 : read(fd[0], &a, sizeof a);
    close(fd[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    if (got != (ssize_t)sizeof a)
        return ti_err_set(err, TI_ERR_IO, "cannot try counter '%s': the process that tried died",
                          wish->choice);
    if (a.status != TI_OK) {
        *err = a.err;
        return a.status;
    }
    memcpy(out->backend, a.backend, sizeof out->backend);
    memcpy(out->event, a.event, sizeof out->event);
    out->exact = a.exact;
    out->estimate = a.estimate;
    if (strcmp(a.backend, "papi") == 0)
        snprintf(out->counter, sizeof out->counter, "papi:%s", a.event);
    else
        snprintf(out->counter, sizeof out->counter, "%s", a.backend);
    return TI_OK;
}

/* Software-defined events come from libraries of the program: only its ranks can try them. */
static bool is_programs_own(const char *events)
{
    return strstr(events, "sde:::") != NULL;
}

static ti_status try_counter(const char *wanted, bool sum, struct ti_counter_choice *out,
                             struct ti_err *err)
{
    if (is_programs_own(wanted)) {
        strcpy(out->backend, "papi");
        snprintf(out->event, sizeof out->event, "%s", wanted + strlen("papi:"));
        snprintf(out->counter, sizeof out->counter, "%s", wanted);
        return TI_OK;
    }
    return try_wish(&(struct ti_counter_request){.choice = wanted, .sum = sum}, out, err);
}

ti_status ti_counter_check_also(const char *also, bool sum, const struct ti_counter_choice *choice,
                                struct ti_err *err)
{
    /* other counters need the program; take one that works without */
    bool here = strcmp(choice->backend, "papi") == 0 && !is_programs_own(choice->counter);
    struct ti_counter_request wish = {
        .choice = here ? choice->counter : "cputime", .sum = sum, .also = also};
    struct ti_counter_choice ignored;

    if (is_programs_own(also))
        return TI_OK;
    return try_wish(&wish, &ignored, err);
}

/* Run a small program under our valgrind tool, which must report a count.  *first is the first
 * line of its output otherwise. */
static bool tool_counts(const char *lib, char *first, size_t first_bytes)
{
    char text[4096];
    size_t used = 0;
    ssize_t got;
    int fd[2], status = -1;
    pid_t pid;
    const char *p;

    first[0] = '\0';
    if (pipe2(fd, O_CLOEXEC) < 0)
        return false;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        unsetenv("LD_PRELOAD");
        if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
            dup2(fd[1], STDERR_FILENO) >= 0 && setenv("VALGRIND_LIB", lib, 1) == 0)
            execlp("valgrind", "valgrind", "--tool=ticount", "--command-line-only=yes", "--vgdb=no",
                   "--report=yes", "true", (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    while (pid > 0 && used < sizeof text - 1 &&
           (got = read(fd[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(fd[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    snprintf(first, first_bytes, "%.*s", (int)strcspn(text, "\n"), text);
    p = strstr(text, "ticount: ");
    return status == 0 && p && strtoull(p + 9, NULL, 10) > 1000;
}

static ti_status choose_valgrind(const char *lib, struct ti_counter_choice *out, struct ti_err *err)
{
    char path[PATH_MAX], said[256];

    if (!ti_find_on_path("valgrind", path)) {
        ti_err_set(err, TI_ERR_INPUT, "cannot count with valgrind: it is not installed");
        ti_err_hint(err, "install valgrind, or choose another counter with -c");
        return TI_ERR_INPUT;
    }
    if (!lib) {
        ti_err_set(err, TI_ERR_INPUT,
                   "cannot count with valgrind: our tool for it, ticount, is missing");
        ti_err_hint(err,
                    "build again with valgrind's headers installed, or choose another counter");
        return TI_ERR_INPUT;
    }
    if (strlen(lib) >= sizeof out->valgrind_lib)
        return ti_err_set(err, TI_ERR_INPUT, "the path '%s' is too long", lib);
    if (!tool_counts(lib, said, sizeof said)) {
        ti_err_set(err, TI_ERR_INPUT,
                   "cannot count with valgrind: 'valgrind --tool=ticount true' failed%s%s",
                   said[0] ? ": " : "", said);
        ti_err_hint(err, "ticount in '%s' must have been built for the installed valgrind", lib);
        return TI_ERR_INPUT;
    }
    strcpy(out->counter, "valgrind");
    strcpy(out->backend, "valgrind");
    strcpy(out->event, "guest instructions");
    strcpy(out->valgrind_lib, lib);
    out->exact = out->valgrind = true;
    return TI_OK;
}

static ti_status choose_blocks(bool sum, const struct ti_program *program,
                               struct ti_counter_choice *out, struct ti_err *err)
{
    /* what a script starts is not known before it runs */
    if (program->is_elf && !program->blocks) {
        ti_err_set(err, TI_ERR_INPUT, "cannot count blocks: '%s' was not compiled with ti-mpicc",
                   program->given);
        ti_err_hint(err, "compile and link it with ti-mpicc, ti-mpicxx or ti-mpifort, or choose "
                         "another counter with -c");
        return TI_ERR_INPUT;
    }
    if (sum) {
        ti_err_set(err, TI_ERR_INPUT, "blocks are counted for each thread alone");
        ti_err_hint(err, "-c valgrind, -c papi and -c cputime count all threads, of the program as "
                         "mpicc compiles it; --threads caller leaves out what threads execute that "
                         "do not call MPI");
        return TI_ERR_INPUT;
    }
    strcpy(out->counter, "blocks");
    strcpy(out->backend, "blocks");
    strcpy(out->event, TI_BLOCKS_EVENT);
    out->exact = true;
    return TI_OK;
}

static ti_status choose_auto(bool sum, const struct ti_program *program, const char *lib,
                             struct ti_counter_choice *out, struct ti_err *err)
{
    struct ti_err why = {"", ""}, why_not = {"", ""};

    if (try_counter("papi", sum, out, &why) == TI_OK)
        return TI_OK;
    if ((program->blocks && choose_blocks(sum, program, out, &why_not) == TI_OK) ||
        choose_valgrind(lib, out, &why_not) == TI_OK) {
        snprintf(out->why, sizeof out->why, "%s", why.text);
        return TI_OK;
    }
    ti_err_set(err, TI_ERR_INPUT, "no exact counter works here: %s; %s", why.text, why_not.text);
    ti_err_hint(err,
                "make papi or valgrind work, %schoose another event with -c papi:EVENT (see "
                "papi_native_avail), or take an estimate with -c cputime",
                sum ? "" : "compile with ti-mpicc, ");
    return TI_ERR_INPUT;
}

ti_status ti_counter_choose(const char *wanted, bool sum, const struct ti_program *program,
                            const char *lib, struct ti_counter_choice *out, struct ti_err *err)
{
    memset(out, 0, sizeof *out);
    if (strcmp(wanted, "auto") == 0)
        return choose_auto(sum, program, lib, out, err);
    if (strcmp(wanted, "blocks") == 0)
        return choose_blocks(sum, program, out, err);
    if (strcmp(wanted, "valgrind") == 0)
        return choose_valgrind(lib, out, err);
    return try_counter(wanted, sum, out, err);
}
