#include "common/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTS_MAX 64
#define FIRST_ID 256 /* getopt's value of the first row; above all letters */

/* ---- did you mean ---- */

/* The number of characters to insert, remove, replace or swap with their neighbour. */
static int edits(const char *a, int na, const char *b, int nb)
{
    int row[3][TI_NEAREST_BYTES];
    int *before = row[0], *last = row[1], *now = row[2];

    for (int j = 0; j <= nb; j++)
        last[j] = j;
    for (int i = 1; i <= na; i++) {
        int *oldest = before;

        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = last[j - 1] + (tolower((unsigned char)a[i - 1]) != b[j - 1]);

            best = last[j] < best ? last[j] + 1 : best;
            best = now[j - 1] < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        before = last;
        last = now;
        now = oldest;
    }
    return last[nb];
}

void ti_nearest_try(struct ti_nearest *near, const char *candidate)
{
    int n = (int)strnlen(near->to, TI_NEAREST_BYTES);
    int m = (int)strnlen(candidate, TI_NEAREST_BYTES), distance;

    if (n == TI_NEAREST_BYTES || m == TI_NEAREST_BYTES)
        return;
    distance = edits(near->to, n, candidate, m);
    if (distance > 1 && n > 2 && strncmp(near->to, candidate, (size_t)n) == 0)
        distance = 2;
    if (!distance || distance > 2 || distance * 2 > m ||
        (near->text[0] && distance >= near->distance))
        return;
    near->distance = distance;
    strcpy(near->text, candidate);
}

static void try_words(struct ti_nearest *near, const char *words)
{
    char word[TI_NEAREST_BYTES];

    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        ti_nearest_try(near, word);
    }
}

void ti_hint_word(struct ti_err *err, const char *word, const char *words)
{
    struct ti_nearest near = {.to = word};

    try_words(&near, words);
    if (near.text[0])
        ti_err_hint(err, "did you mean '%s'?", near.text);
}

/* Whether two names have the same digits: "lu.8" and "lu.16" differ on purpose. */
static bool same_digits(const char *a, const char *b)
{
    static const char digits[] = "0123456789";

    for (;; a++, b++) {
        a += strcspn(a, digits);
        b += strcspn(b, digits);
        if (*a != *b || !*a)
            return *a == *b;
    }
}

void ti_hint_file(struct ti_err *err, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct ti_nearest near = {.to = slash ? slash + 1 : path};
    int n = slash ? (int)(slash + 1 - path) : 0;
    char folder[PATH_MAX];
    DIR *dir;

    snprintf(folder, sizeof folder, "%.*s", n, path);
    dir = n < PATH_MAX && access(path, F_OK) < 0 ? opendir(n ? folder : ".") : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' && same_digits(near.to, e->d_name))
            ti_nearest_try(&near, e->d_name);
    if (dir)
        closedir(dir);
    if (near.text[0])
        ti_err_hint(err, "did you mean '%.200s%s'?", folder, near.text);
}

/* ---- the table, --help ---- */

static void print_option(const struct ti_opt *opt)
{
    char left[64];
    const char *p = opt->help;

    if (opt->letter)
        snprintf(left, sizeof left, "-%c, --%s%s%s", opt->letter, opt->name, opt->arg ? " " : "",
                 opt->arg ? opt->arg : "");
    else
        snprintf(left, sizeof left, "    --%s%s%s", opt->name,
                 opt->arg && *opt->arg != '[' ? " " : "", opt->arg ? opt->arg : "");
    printf("  %-22s", left);
    if (strlen(left) > 21)
        printf("\n%24s", "");
    for (; *p; p++) {
        putchar(*p);
        if (*p == '\n')
            printf("%24s", "");
    }
    putchar('\n');
}

/* The command line, and the tool's rows as getopt wants them. */
static struct {
    int argc;
    char **argv;
    struct ti_opt row[OPTS_MAX]; /* those of TI_OPT_LIKE have been replaced */
    int nrows;
    struct option longs[OPTS_MAX + 3];
    char shorts[2 * OPTS_MAX + 8];
} line;

/* The options of every tool. */
static const struct ti_opt own[] = {{.letter = 'h', .name = "help", .help = "this text"},
                                    {.letter = 'V', .name = "version", .help = "version"}};

static void print_help(const struct ti_cli *cli)
{
    printf("%s\n\nUsage: %s %s\n", cli->what, cli->tool, cli->usage);
    if (cli->examples)
        printf("\nExamples:\n%s", cli->examples);
    putchar('\n');
    for (int i = 0; i < line.nrows; i++) {
        if (line.row[i].name)
            print_option(&line.row[i]);
        else
            printf("%s:\n", line.row[i].help);
    }
    print_option(&own[0]);
    print_option(&own[1]);
    if (cli->after)
        printf("\n%s", cli->after);
}

/* A text of the table on one line, without tabs. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        putchar(*text == '\n' ? ' ' : *text);
    putchar('\t');
}

/* For tools/gen-completion: a line about the tool and a line for each option, with cells that end
 * with tabs: letter, name, argument, the words to choose from, help. */
static void print_table(const struct ti_cli *cli)
{
    char letter[2] = "";

    print_cell(cli->tool);
    print_cell(cli->stop_at_operand ? "stop" : "");
    putchar('\n');
    for (int i = 0; i < line.nrows + 2; i++) {
        const struct ti_opt *opt = i < line.nrows ? &line.row[i] : &own[i - line.nrows];

        if (!opt->name)
            continue;
        letter[0] = opt->letter;
        print_cell(letter);
        print_cell(opt->name);
        print_cell(opt->arg ? opt->arg : "");
        print_cell(opt->words ? opt->words : "");
        print_cell(opt->help);
        putchar('\n');
    }
}

static int try_help(const struct ti_cli *cli)
{
    fprintf(stderr, "try '%s --help'\n", cli->tool);
    return TI_ERR_USAGE;
}

static void hint_absent(const struct ti_cli *cli, const char *option)
{
    for (const struct ti_cli_absent *a = cli->absent; a && a->name; a++) {
        size_t n = strlen(a->name);

        if (strncmp(option, "--", 2) == 0 && strncmp(option + 2, a->name, n) == 0 &&
            (!option[2 + n] || option[2 + n] == '='))
            fprintf(stderr, "hint: %s\n", a->hint);
    }
}

/* The row itself, or the row of cli->like that it takes over. */
static struct ti_opt meaning(const struct ti_cli *cli, const struct ti_opt *row)
{
    struct ti_opt opt = *row;

    if (row->kind != TI_KIND_LIKE)
        return opt;
    for (const struct ti_opt *o = cli->like->opts; o->name || o->help; o++)
        if (o->name && strcmp(o->name, row->name) == 0) {
            opt = *o;
            opt.help = row->help ? row->help : o->help;
            return opt;
        }
    TI_BUG("an option like one that does not exist");
}

static void read_table(const struct ti_cli *cli)
{
    int n = 0, s = 0;

    if (cli->stop_at_operand)
        line.shorts[s++] = '+';
    line.shorts[s++] = ':';
    for (const struct ti_opt *row = cli->opts; row->name || row->help; row++) {
        struct ti_opt *opt = &line.row[line.nrows];

        if (line.nrows == OPTS_MAX)
            TI_BUG("too many options");
        *opt = meaning(cli, row);
        line.nrows++;
        if (!opt->name)
            continue;
        line.longs[n++] = (struct option){opt->name,
                                          !opt->arg          ? no_argument
                                          : *opt->arg == '[' ? optional_argument
                                                             : required_argument,
                                          NULL, FIRST_ID + line.nrows - 1};
        if (opt->letter) {
            line.shorts[s++] = opt->letter;
            if (opt->arg)
                line.shorts[s++] = ':';
        }
    }
    line.longs[n++] = (struct option){"help", no_argument, NULL, 'h'};
    line.longs[n] = (struct option){"version", no_argument, NULL, 'V'};
    line.shorts[s++] = 'h';
    line.shorts[s] = 'V';
    opterr = 0;
}

static const struct ti_opt *row_of(int id)
{
    int i = id - FIRST_ID;

    if (id < FIRST_ID)
        for (i = 0; line.row[i].letter != id;)
            i++;
    return &line.row[i];
}

/* Whether `text`, up to its "=", begins the name of `row`. */
static bool begins(const struct ti_opt *row, const char *text)
{
    return row->name && strncmp(row->name, text, strcspn(text, "=")) == 0;
}

static void hint_nearest(const char *text)
{
    char name[TI_NEAREST_BYTES];
    struct ti_nearest near = {.to = name};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    for (int i = 0; i < line.nrows; i++)
        if (line.row[i].name)
            ti_nearest_try(&near, line.row[i].name);
    try_words(&near, "help version");
    if (near.text[0])
        fprintf(stderr, "hint: did you mean '--%s'?\n", near.text);
}

/* A long option that is no option, or several, or has an argument that it does not take. */
static void misused_long(const struct ti_cli *cli, const char *word)
{
    const char *name = word + 2;
    int n = 0;

    for (int i = 0; i < line.nrows; i++)
        n += begins(&line.row[i], name);
    if (strchr(name, '=') && n == 1) {
        fprintf(stderr, "%s: option '%.*s' takes no argument\n", cli->tool, (int)strcspn(word, "="),
                word);
        return;
    }
    if (n < 2) {
        fprintf(stderr, "%s: unknown option '%s'\n", cli->tool, word);
        hint_absent(cli, word);
        hint_nearest(name);
        return;
    }
    fprintf(stderr, "%s: option '%s' may be", cli->tool, word);
    for (int i = 0, nth = 0; i < line.nrows; i++)
        if (begins(&line.row[i], name)) {
            const char *between = !nth ? "" : nth + 1 == n ? " or" : ",";

            fprintf(stderr, "%s --%s", between, line.row[i].name);
            nth++;
        }
    fputc('\n', stderr);
}

/* The word with the letter `letter`, which getopt does not know; it leaves the word only after the
 * last letter. */
static const char *word_of(int letter)
{
    const char *last = line.argv[optind - 1];
    size_t n = strlen(last);

    if (optind == line.argc || (n > 1 && last[0] == '-' && last[n - 1] == letter))
        return last;
    return line.argv[optind];
}

static int misused(const struct ti_cli *cli, int id)
{
    const char *word = line.argv[optind - 1];

    if (id == ':') {
        fprintf(stderr, "%s: option '%s' needs an argument\n", cli->tool, word);
    } else if (optopt && optopt < FIRST_ID && strncmp(word, "--", 2) != 0) {
        word = word_of(optopt);
        fprintf(stderr, "%s: unknown option '-%c'\n", cli->tool, optopt);
        for (int i = 0; i < line.nrows; i++)
            if (line.row[i].name && strcmp(line.row[i].name, word + 1) == 0)
                fprintf(stderr, "hint: did you mean '--%s'?\n", word + 1);
    } else {
        misused_long(cli, word);
    }
    return try_help(cli);
}

/* Opens the standard streams that are closed, so that no file of the tool gets their numbers and
 * what is printed does not go into it.  Writing to standard output still fails. */
static void open_streams(void)
{
    int fd = open("/dev/null", O_RDONLY);

    while (fd >= 0 && fd < STDERR_FILENO)
        fd = open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (fd > STDERR_FILENO)
        close(fd);
}

int ti_cli_parse(const struct ti_cli *cli, int argc, char **argv, void *options)
{
    struct ti_err err = {0};

    open_streams();

    line.argc = argc;
    line.argv = argv;
    read_table(cli);
    if (argc == 2 && strcmp(argv[1], TI_CLI_TABLE) == 0) {
        print_table(cli);
        return ti_cli_shown(cli->tool);
    }
    for (;;) {
        const struct ti_opt *opt;
        int id;

        /* mpirun's spelling, which getopt would take for -n with argument "p" */
        if (optind < argc && !strcmp(argv[optind], "-np")) {
            static char np[] = "--np";

            argv[optind] = np;
        }
        id = getopt_long(argc, argv, line.shorts, line.longs, NULL);
        switch (id) {
        case -1:
            return TI_CLI_END;
        case 'h':
            print_help(cli);
            return ti_cli_shown(cli->tool);
        case 'V':
            return ti_cli_version(cli->tool);
        case ':':
        case '?':
            return misused(cli, id);
        }
        opt = row_of(id);
        if (cli->on_option)
            cli->on_option(options, opt, optarg);
        if (ti_opt_parse(opt, options, optarg, &err) != TI_OK)
            return (int)ti_cli_reject(cli, &err);
    }
}

const char *ti_cli_second_argument(void)
{
    return optind < line.argc ? line.argv[optind++] : NULL;
}

int ti_cli_operand(void)
{
    return optind;
}

ti_status ti_cli_usage(const struct ti_cli *cli, const char *fmt, ...)
{
    va_list ap;

    ti_progress_clear();
    fprintf(stderr, "%s: ", cli->tool);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    try_help(cli);
    return TI_ERR_USAGE;
}

ti_status ti_cli_reject(const struct ti_cli *cli, const struct ti_err *err)
{
    return err->hint[0] ? ti_cli_fail(cli, TI_ERR_USAGE, err) : ti_cli_usage(cli, "%s", err->text);
}

ti_status ti_cli_fail(const struct ti_cli *cli, ti_status st, const struct ti_err *err)
{
    ti_progress_clear();
    fprintf(stderr, "%s: %s\n", cli->tool, err->text);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return st;
}

ti_status ti_parse_int(const char *text, const char *what, int64_t min, int64_t max, int64_t *out,
                       struct ti_err *err)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < min || v > max) {
        if (max == INT64_MAX)
            return ti_err_set(err, TI_ERR_USAGE,
                              "%s must be a whole number of %lld or more, not '%s'", what,
                              (long long)min, text);
        return ti_err_set(err, TI_ERR_USAGE,
                          "%s must be a whole number from %lld to %lld, not '%s'", what,
                          (long long)min, (long long)max, text);
    }
    *out = v;
    return TI_OK;
}

/* The bytes of a size; -1: it is none. */
static int64_t size_of(const char *text)
{
    static const char units[] = "kmgt";
    char *end;
    double v;

    errno = 0;
    v = strtod(text, &end);
    if (errno || end == text || !isdigit((unsigned char)text[0]))
        return -1;
    if (*end) {
        const char *u = strchr(units, tolower((unsigned char)*end));

        if (u) {
            for (long i = 0; i <= u - units; i++)
                v *= 1024;
            end++;
            if (*end == 'i' || *end == 'I')
                end++;
        }
        if (*end == 'b' || *end == 'B')
            end++;
    }
    return *end || v > 9e18 || (v > 0 && v < 1) ? -1 : (int64_t)v;
}

ti_status ti_parse_size(const char *text, const char *what, int64_t *out, struct ti_err *err)
{
    int64_t bytes = size_of(text);

    if (bytes < 1)
        return ti_err_set(err, TI_ERR_USAGE, "%s must be a size such as 512M or 16GiB, not '%s'",
                          what, text);
    *out = bytes;
    return TI_OK;
}

/* ---- the argument of an option ---- */

/* `bytes` as a user writes it: "24K", "2047M". */
static const char *plain_size(int64_t bytes, char buf[32])
{
    bool mega = bytes && bytes % (1 << 20) == 0, kilo = bytes && bytes % 1024 == 0;

    snprintf(buf, 32, "%lld%s",
             (long long)(bytes >> (mega   ? 20
                                   : kilo ? 10
                                          : 0)),
             mega   ? "M"
             : kilo ? "K"
                    : "");
    return buf;
}

static ti_status parse_size(const struct ti_opt *opt, const char *arg, int64_t *out,
                            struct ti_err *err)
{
    int64_t bytes = size_of(arg);
    char least[32], most[32];

    if (bytes >= opt->min && bytes <= opt->max) {
        *out = bytes;
        return TI_OK;
    }
    if (opt->max == INT64_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "--%s must be a size such as 512M or 16GiB, not '%s'",
                          opt->name, arg);
    return ti_err_set(err, TI_ERR_USAGE, "--%s must be a size from %s to %s, not '%s'", opt->name,
                      plain_size(opt->min, least), plain_size(opt->max, most), arg);
}

/* Index of `arg` in opt->words. */
static ti_status parse_word(const struct ti_opt *opt, const char *arg, int *index,
                            struct ti_err *err)
{
    char list[256] = "";
    const char *word = opt->words;

    for (*index = 0; *word; ++*index) {
        size_t n = strcspn(word, " "), used = strlen(list);
        bool last = !word[n];

        if (strlen(arg) == n && strncmp(word, arg, n) == 0)
            return TI_OK;
        snprintf(list + used, sizeof list - used, "%s%.*s",
                 !*index ? ""
                 : last  ? " or "
                         : ", ",
                 (int)n, word);
        word += n + !last;
    }
    ti_err_set(err, TI_ERR_USAGE, "--%s must be %s, not '%s'", opt->name, list, arg);
    ti_hint_word(err, arg, opt->words);
    return TI_ERR_USAGE;
}

ti_status ti_opt_parse(const struct ti_opt *opt, void *options, const char *arg, struct ti_err *err)
{
    char what[64];
    void *at = (char *)options + opt->at;
    const char **text = at; /* where the value is a text */
    int64_t *number = at;
    struct ti_args *args = at;
    ti_status st = TI_OK;
    int index;

    snprintf(what, sizeof what, "--%s", opt->name);
    switch (opt->kind) {
    case TI_KIND_FLAG:
        *(bool *)at = true;
        break;
    case TI_KIND_NAME:
        if (!*arg)
            st = ti_err_set(err, TI_ERR_USAGE, "%s must not be empty", what);
        *text = arg;
        break;
    case TI_KIND_TEXT:
        *text = arg;
        break;
    case TI_KIND_QUANTITY:
        st = ti_unit_check(arg, opt->unit, what, err);
        *text = arg;
        break;
    case TI_KIND_WORD:
        st = parse_word(opt, arg, &index, err);
        *text = arg;
        break;
    case TI_KIND_CHOICE:
        st = parse_word(opt, arg, &index, err);
        *(int *)at = (int)opt->min + index;
        break;
    case TI_KIND_VALUE:
        *(int *)at = (int)opt->min;
        break;
    case TI_KIND_INTEGER:
        st = ti_parse_int(arg, what, opt->min, opt->max, number, err);
        break;
    case TI_KIND_SIZE:
        st = parse_size(opt, arg, number, err);
        break;
    case TI_KIND_ARGS:
        ti_args_add(args, what);
        if (arg)
            ti_args_add(args, arg);
        break;
    case TI_KIND_FUNCTION:
        st = opt->take(options, arg, err);
        break;
    case TI_KIND_LIKE:
        TI_BUG("a row of another tool's table was not looked up");
    }
    if (opt->given)
        *(bool *)((char *)options + opt->given - 1) = true;
    return st;
}
