/* SimGrid's action files, over any bytes: what is taken makes a sound trace, what is not is told
 * with its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/convert/actions.h"
#include "replay-bridge/convert/import.h"
#include "replay-bridge/trace/lower.h"
#include "tests/fuzz/fuzz.h"

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* Warnings are many and not looked at. */
void __wrap_ti_warn(const char *fmt, ...);
void __wrap_ti_warn(const char *fmt, ...)
{
    (void)fmt;
}

/* A list of names would have other files opened. */
static bool is_list(const char *path)
{
    struct ti_lines l;
    struct ti_err err;
    bool list = ti_lines_open(path, &l, &err) == TI_OK && ti_lines_next(&l, &err) == 1 && l.n == 1;

    ti_lines_close(&l);
    return list;
}

/* The trace that was written can be read, and has the numbers of the import. */
static void look(const struct ti_imported *got)
{
    struct ti_source *s;
    struct ti_lint lint;
    struct ti_problems problems;
    struct ti_err err;

    must(ti_source_open(ti_scratch_dir(), &s, &err) == TI_OK, "the trace cannot be opened");
    must(ti_source_nranks(s) == got->np, "the trace has other ranks");
    must(ti_lint(s, &ti_lower_target, 65536, &lint, &problems, &err) == TI_OK,
         "the trace cannot be linted");
    must(problems.n == lint.refused, "the trace is not sound");
    must(lint.check.events == got->events, "the trace has other events");
    ti_lint_free(&lint);
    ti_source_close(s);
}

static void try(const char *path, const struct ti_import *how)
{
    struct ti_imported got;
    struct ti_problems problems;
    struct ti_err err = {"", ""};
    ti_status st;

    must(ti_scratch_open(NULL, &err) == TI_OK, "no scratch directory");
    st = ti_import(path, how, &got, &problems, &err);
    if (st == TI_OK)
        look(&got);
    else
        must(err.text[0] && (st == TI_ERR_INPUT || st == TI_ERR_IO), "failed without a reason");
    ti_scratch_close();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct ti_import old = {
        .syntax = TI_SYNTAX_OLD, .wait = TI_WAIT_FIRST, .element = 8, .speed = 1e9};
    char path[64];
    int fd = ti_fuzz_file(data, bytes);

    ti_talk_init("fuzz", true, TI_PROGRESS_NONE);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!is_list(path)) {
        try(path, &(const struct ti_import){0});
        try(path, &old);
    }
    close(fd);
    return 0;
}
