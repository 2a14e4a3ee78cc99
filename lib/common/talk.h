/*
 * Messages of a tool, and the progress of its work, on stderr.  One thread.
 */
#ifndef TI_COMMON_TALK_H
#define TI_COMMON_TALK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The words of --progress, see TI_OPT_PROGRESS in cli.h. */
enum ti_progress_form {
    TI_PROGRESS_AUTO, /* a line, if stderr is a terminal and the tool is not quiet */
    TI_PROGRESS_LINE, /* a line, if stderr is a terminal */
    TI_PROGRESS_JSON,
    TI_PROGRESS_NONE
};

/* The name of the tool; quiet: ti_say() prints nothing. */
void ti_talk_init(const char *tool, bool quiet, enum ti_progress_form form);

/*
 * Messages.  ti_say() prints "TOOL: text" unless quiet, ti_warn() "TOOL: warning: text".  ti_hint()
 * prints "hint: text": what to do about the warning before it.
 */
void ti_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ti_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ti_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* fprintf() for results that contain text from a file or another machine: control characters
 * become '?' (ti_strip_controls()).  Returns the bytes printed, or -1. */
int ti_print(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Progress of a step: work that takes a while.  Call ti_progress() or ti_progress_show() at any
 * rate.  The first call of a step is shown at once, later ones at most five times a second.
 *
 * On a terminal this is a line that is overwritten, and removed before a message and by
 * ti_progress_end().  Code that prints otherwise while a step is at work calls ti_progress_clear()
 * first. With --progress json, it is one object on a line of its own, written at once:
 *
 *     {"progress":{"tool":"ti-info","step":"merging","done":3,"of":8,"unit":"ranks",
 *                  "seconds":1.2,"left_s":2.0}}
 *
 * Another `step` begins another step.  `done` never falls within a step: a lower one is ignored.
 */
struct ti_progress {
    const char *step; /* "merging"; a literal, without quotes and backslashes */
    const char *unit; /* "ranks"; a literal likewise; "bytes" are shown as sizes for people; NULL:
                         nothing is counted */
    int64_t done, of; /* of: 0 while it is not known */
    double left_s;    /* seconds until the end; 0: by the rate so far; below 0: not known */
    const char *note; /* more of the line for people, parts separated by ", "; NULL: nothing */
    struct {
        const char *name; /* a literal likewise; NULL: none */
        double value;
    } also[2]; /* further members of the object */
};
void ti_progress_show(const struct ti_progress *p);

/* The same in short. */
void ti_progress(const char *step, const char *unit, int64_t done, int64_t of);

/* The step at work has ended, if there is one: remove the line.  `complete`: all of it was done,
 * which the last object says. */
void ti_progress_end(bool complete);

/* Remove the line; the next call draws it again. */
void ti_progress_clear(void);

/* Whether progress is shown at all. */
bool ti_progress_on(void);

/* Whether a call for this step would be shown now, for callers that have to compute its figures. */
bool ti_progress_due(const char *step);

/* Whether what others write to the descriptor would mix with progress. */
bool ti_progress_meets(int fd);

/* The width of lines on standard output: `given` by --width, unless it is below 0; else of the
 * variable COLUMNS, else of the terminal.  0: no limit, as where there is no terminal. */
int ti_width(int64_t given);

/* --width, for the help of tools. */
#define TI_WIDTH_HELP                                                                              \
    "print lines of up to N characters, 0: no limit\n"                                             \
    "[default: COLUMNS, else the width of the terminal]"

#endif
