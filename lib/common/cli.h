/*
 * Command lines.  Each tool has one table of options: parsing, --help and the check of the man
 * pages (cli/manual) work from it.
 *
 * The syntax is that of getopt_long(3).  "-np N", mpirun's spelling, means "--np N".  -h, --help,
 * -V and --version are added to every tool.  A wrong option prints two lines to stderr.
 */
#ifndef TI_CLI_H
#define TI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_opt {
    int id;           /* what ti_cli_next() returns; a short option's own letter */
    const char *name; /* long name without dashes; NULL: this row is a heading */
    const char *arg;  /* placeholder of the argument, NULL if it takes none; "[=FILE]" if it may
                         be left out, which only long options can have */
    const char *help; /* may hold newlines, which are indented */
};

#define TI_OPT_HEADING(text) {0, NULL, NULL, text}
#define TI_OPT_END {0, NULL, NULL, NULL}
#define TI_OPT_LONG 256 /* ids from here on have no short form */

/* An option that users may expect but that the tool lacks, without dashes, and the hint to print
 * for it. */
struct ti_cli_absent {
    const char *name, *hint;
};

struct ti_cli {
    const char *tool;                   /* "ti-gather" */
    const char *what;                   /* one sentence */
    const char *usage;                  /* "[OPTION]... RUN -o BUNDLE" */
    const char *examples;               /* lines, each indented by two blanks; may be NULL */
    const struct ti_opt *opts;          /* ends with TI_OPT_END; -h and -V are added */
    const char *after;                  /* printed at the end of --help; may be NULL */
    bool stop_at_operand;               /* the first operand ends the options */
    const struct ti_cli_absent *absent; /* ends with a NULL name; may be NULL */
};

enum { TI_CLI_END = -1, TI_CLI_EXIT_OK = -2, TI_CLI_EXIT_USAGE = -3 };

/*
 * The next option: its id, with *arg set to its argument or NULL; TI_CLI_END
 * when only operands are left, from ti_cli_operand() on; TI_CLI_EXIT_OK after
 * --help or --version (the tool returns 0), TI_CLI_EXIT_USAGE after a wrong
 * option (it returns TI_ERR_USAGE).  One command line a process.
 */
int ti_cli_next(const struct ti_cli *cli, int argc, char **argv, const char **arg);

/* Index in argv of the first operand, once ti_cli_next() gave TI_CLI_END. */
int ti_cli_operand(void);

/* Print "TOOL: text" and "try 'TOOL --help'" to stderr; returns TI_ERR_USAGE. */
ti_status ti_cli_usage(const struct ti_cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Print "TOOL: sentence" and the hint, if any, to stderr; returns `st`. */
ti_status ti_cli_fail(const struct ti_cli *cli, ti_status st, const struct ti_err *err);

/* The tool's own version, "1.0.0". */
const char *ti_version(void);

/*
 * Arguments.  `what` names the option in the message.  TI_ERR_USAGE when the
 * text is not wholly a number in the range.
 */
ti_status ti_parse_int(const char *text, const char *what, int64_t min, int64_t max, int64_t *out,
                       struct ti_err *err);

/* Bytes: "4096", "512M", "16GiB", "1.5g"; K M G T are powers of 1024 with or
 * without "iB" or "B" behind. */
ti_status ti_parse_size(const char *text, const char *what, int64_t *out, struct ti_err *err);

/* "1.5 GiB" into buf; returns buf. */
char *ti_format_size(int64_t bytes, char *buf, int buf_bytes);

/* 1234567 as "1,234,567" into buf; returns buf. */
char *ti_format_count(uint64_t n, char *buf, int buf_bytes);

/*
 * Messages to the user, on stderr.  ti_say() prints "TOOL: text" unless quiet, ti_warn() "TOOL:
 * warning: text".  ti_hint() prints "hint: text": what to do about the warning before it.
 * ti_progress() overwrites one line.  It does nothing when stderr is no terminal, when quiet, or
 * when progress was turned off.  ti_progress_clear() removes the line.
 */
void ti_talk_init(const char *tool, bool quiet, bool no_progress);
void ti_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ti_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ti_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ti_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ti_progress_clear(void);

/* fprintf() for results that contain text from a file or another machine: control characters
 * become '?' (ti_strip_controls()).  Returns the bytes printed, or -1. */
int ti_print(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ti_progress_on(void);

#endif
