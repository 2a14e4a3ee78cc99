/*
 * Command lines.  Each tool has one table of options: parsing, --help, the completion of shells and
 * the check of the man pages (cli/manual) work from it.  A row has the kind of the option's value
 * and the member of the tool's options that it goes into, so most options need no code.
 *
 * The syntax is that of getopt_long(3).  "-np N", mpirun's spelling, means "--np N".  -h, --help,
 * -V and --version are added to every tool.  A wrong option prints two lines to stderr, and a hint
 * between them if another option is near.
 */
#ifndef TI_COMMON_CLI_H
#define TI_COMMON_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/args.h"
#include "common/err.h"
#include "common/talk.h"
#include "common/units.h"

/* A function that takes the argument of an option, NULL if there is none. */
typedef ti_status ti_opt_fn(void *options, const char *arg, struct ti_err *err);

/* A row of the table: an option, and where its value goes. */
struct ti_opt {
    char letter;      /* of the short form; 0: none */
    const char *name; /* long name without dashes; NULL: this row is a heading */
    const char *arg;  /* placeholder of the argument, NULL if it takes none; "[=FILE]" if it may
                         be left out, which only long options can have */
    const char *help; /* may hold newlines, which are indented */
    enum ti_opt_kind {
        TI_KIND_FLAG,
        TI_KIND_TEXT,
        TI_KIND_NAME,
        TI_KIND_INTEGER,
        TI_KIND_SIZE,
        TI_KIND_CHOICE,
        TI_KIND_VALUE,
        TI_KIND_WORD,
        TI_KIND_QUANTITY,
        TI_KIND_ARGS,
        TI_KIND_FUNCTION,
        TI_KIND_LIKE
    } kind;
    size_t at;         /* offset of the value in the tool's options */
    size_t given;      /* 1 + offset of a bool that is set if the option is given; 0: none */
    int64_t min, max;  /* of an integer or a size; min: of a choice, the value of its first word */
    const char *words; /* to choose from, separated by blanks */
    enum ti_unit unit;
    ti_opt_fn *take;
};

/*
 * The last part of a row: what the value is, and the member that it goes into.  The file defines
 * TI_OPT_STRUCT, the struct of its options, before its table.  A member of another type than the
 * option needs does not compile.
 *
 *     {'n', "np", "N", "number of ranks", TI_OPT_INTEGER(np, 1, TI_RANKS_MAX)},
 *
 * Strings are borrowed from argv.
 */
#define TI_OPT_AT(type, member)                                                                    \
    _Generic(&((TI_OPT_STRUCT *)0)->member, type * : offsetof(TI_OPT_STRUCT, member))
#define TI_OPT_AT2(type, other, member)                                                            \
    _Generic(&((TI_OPT_STRUCT *)0)->member, type *                                                 \
             : offsetof(TI_OPT_STRUCT, member), other *                                            \
             : offsetof(TI_OPT_STRUCT, member))

/* bool: set to true.  For options without an argument. */
#define TI_OPT_FLAG(member) .kind = TI_KIND_FLAG, .at = TI_OPT_AT(bool, member)
/* const char *: any text; a text that must not be empty; a speed, bandwidth or latency of a kind of
 * units.h; one of `list`, words separated by blanks. */
#define TI_OPT_TEXT(member) .kind = TI_KIND_TEXT, .at = TI_OPT_AT(const char *, member)
#define TI_OPT_NAME(member) .kind = TI_KIND_NAME, .at = TI_OPT_AT(const char *, member)
#define TI_OPT_QUANTITY(member, what)                                                              \
    .kind = TI_KIND_QUANTITY, .at = TI_OPT_AT(const char *, member), .unit = what
#define TI_OPT_WORD(member, list)                                                                  \
    .kind = TI_KIND_WORD, .at = TI_OPT_AT(const char *, member), .words = list
/* int or enum: one of `list`; `first` is the value of its first word, and so on upwards. */
#define TI_OPT_CHOICE(member, first, list)                                                         \
    .kind = TI_KIND_CHOICE, .at = TI_OPT_AT2(int, unsigned, member), .min = first, .words = list
/* int or enum: set to `number`.  For options without an argument. */
#define TI_OPT_VALUE(member, number)                                                               \
    .kind = TI_KIND_VALUE, .at = TI_OPT_AT2(int, unsigned, member), .min = number
/* int64_t or uint64_t: a whole number, or a size as of ti_parse_size(), and its range. */
#define TI_OPT_INTEGER(member, least, most)                                                        \
    .kind = TI_KIND_INTEGER, .at = TI_OPT_AT2(int64_t, uint64_t, member), .min = least, .max = most
#define TI_OPT_SIZE(member, least, most)                                                           \
    .kind = TI_KIND_SIZE, .at = TI_OPT_AT2(int64_t, uint64_t, member), .min = least, .max = most
/* struct ti_args: the option and its argument are added, for another program. */
#define TI_OPT_ARGS(member) .kind = TI_KIND_ARGS, .at = TI_OPT_AT(struct ti_args, member)
/* A function takes the argument. */
#define TI_OPT_FUNCTION(fn) .kind = TI_KIND_FUNCTION, .take = fn
/* Also set this bool, if the option is given. */
#define TI_OPT_GIVEN(member) .given = 1 + TI_OPT_AT(bool, member)

/* A whole row: the option `name` of cli->like, with a help of its own unless that is NULL. */
#define TI_OPT_LIKE(option, text)                                                                  \
    {                                                                                              \
        .name = option, .help = text, .kind = TI_KIND_LIKE                                         \
    }
/* Two whole rows: --progress and --no-progress, into a member of type enum ti_progress_form. */
#define TI_OPT_PROGRESS(member)                                                                    \
    {.name = "progress",                                                                           \
     .arg = "FORM",                                                                                \
     .help = "auto: a line on a terminal, unless --quiet; line:\n"                                 \
             "also with --quiet; json: a JSON object a line, for\n"                                \
             "scripts; none [default: auto]",                                                      \
     TI_OPT_CHOICE(member, TI_PROGRESS_AUTO, "auto line json none")},                              \
    {                                                                                              \
        .name = "no-progress", .help = "the same as --progress none",                              \
        TI_OPT_VALUE(member, TI_PROGRESS_NONE)                                                     \
    }
#define TI_OPT_HEADING(text)                                                                       \
    {                                                                                              \
        .help = text                                                                               \
    }
#define TI_OPT_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }

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
    /* The tool whose rows TI_OPT_LIKE takes over; NULL: none.  The options of this tool must begin
     * with the options of that one. */
    const struct ti_cli *like;
    /* Called for each option before its argument is taken; may be NULL. */
    void (*on_option)(void *options, const struct ti_opt *opt, const char *arg);
};

/* The only argument with which every tool prints its table for tools/gen-completion. */
#define TI_CLI_TABLE "--option-table"

/* The result of ti_cli_parse() when the tool continues; no exit status has this value. */
enum { TI_CLI_END = -1 };

/*
 * Parse the command line into `options`, the tool's TI_OPT_STRUCT.  Returns TI_CLI_END to continue:
 * the operands are then in argv from ti_cli_operand() on.  Any other value is the exit status:
 * TI_OK after --help or --version, or TI_ERR_IO if their text could not be written; TI_ERR_USAGE
 * after an error, which has been printed.  One command line a process.
 *
 * Standard streams that are closed are opened, see cli.c.
 */
int ti_cli_parse(const struct ti_cli *cli, int argc, char **argv, void *options);

/* Print the version, the commit, the libraries that the program uses and what this build of Tiara
 * has.  Returns the exit status, as does ti_cli_shown(), after any text on standard
 * output: TI_ERR_IO, and says so, if the text could not be written. */
int ti_cli_version(const char *tool);
int ti_cli_shown(const char *tool);

/* For a program that only other programs start: answer --help, by `usage`, or --version, if that is
 * the command line.  Returns the exit status, or TI_CLI_END. */
int ti_cli_helper(const char *tool, const char *usage, int argc, char **argv);

/* Take the argument of one option into `options`.  TI_ERR_USAGE and a sentence if it is wrong. */
ti_status ti_opt_parse(const struct ti_opt *opt, void *options, const char *arg,
                       struct ti_err *err);

/* For the function of an option with two arguments: the second; NULL: there is none. */
const char *ti_cli_second_argument(void);

/* Index in argv of the first operand, once ti_cli_parse() has returned TI_CLI_END. */
int ti_cli_operand(void);

/* Print "TOOL: text" and "try 'TOOL --help'" to stderr; returns TI_ERR_USAGE. */
ti_status ti_cli_usage(const struct ti_cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Print a sentence about the command line, and the hint, else "try 'TOOL --help'".  Returns
 * TI_ERR_USAGE. */
ti_status ti_cli_reject(const struct ti_cli *cli, const struct ti_err *err);

/* Print "TOOL: sentence" and the hint, if any, to stderr; returns `st`. */
ti_status ti_cli_fail(const struct ti_cli *cli, ti_status st, const struct ti_err *err);

/*
 * "Did you mean": the candidate nearest to a text that was not understood.  Set `to`, try the
 * candidates; `text` is then the nearest, or "" if none is near enough to be meant.  Near is what
 * differs by two letters at most (to insert, remove, replace or swap) and by less than half, or
 * what the text begins.  Capitals in `to` count as small letters.
 */
enum { TI_NEAREST_BYTES = 256 };
struct ti_nearest {
    const char *to;
    char text[TI_NEAREST_BYTES];
    int distance;
};
void ti_nearest_try(struct ti_nearest *near, const char *candidate);

/* Add the hint "did you mean" to an error: by the nearest of `words`, separated by blanks; by the
 * nearest name in the folder of `path`, if there is no such file.  Nothing is near: no hint. */
void ti_hint_word(struct ti_err *err, const char *word, const char *words);
void ti_hint_file(struct ti_err *err, const char *path);

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

#endif
