#include "common/cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTS_MAX 64

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

const char *ti_version(void)
{
    return TI_VERSION;
}

static void print_option(const struct ti_opt *opt)
{
    char left[64];
    const char *p = opt->help;

    if (opt->id < TI_OPT_LONG)
        snprintf(left, sizeof left, "-%c, --%s%s%s", opt->id, opt->name, opt->arg ? " " : "",
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

static void print_help(const struct ti_cli *cli)
{
    static const struct ti_opt help = {'h', "help", NULL, "this text"};
    static const struct ti_opt version = {'V', "version", NULL, "version"};
    const struct ti_opt *opt;

    printf("%s\n\nUsage: %s %s\n", cli->what, cli->tool, cli->usage);
    if (cli->examples)
        printf("\nExamples:\n%s", cli->examples);
    putchar('\n');
    for (opt = cli->opts; opt->help; opt++) {
        if (opt->name)
            print_option(opt);
        else
            printf("%s:\n", opt->help);
    }
    print_option(&help);
    print_option(&version);
    if (cli->after)
        printf("\n%s", cli->after);
}

static int try_help(const struct ti_cli *cli)
{
    fprintf(stderr, "try '%s --help'\n", cli->tool);
    return TI_CLI_EXIT_USAGE;
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

int ti_cli_next(const struct ti_cli *cli, int argc, char **argv, const char **arg)
{
    static struct option longs[OPTS_MAX + 3];
    static char shorts[2 * OPTS_MAX + 8];
    int n = 0, s = 0, id;

    if (!shorts[0]) {
        const struct ti_opt *opt;

        if (cli->stop_at_operand)
            shorts[s++] = '+';
        shorts[s++] = ':';
        for (opt = cli->opts; opt->help; opt++) {
            if (!opt->name)
                continue;
            if (n == OPTS_MAX)
                TI_BUG("too many options");
            longs[n++] = (struct option){opt->name,
                                         !opt->arg          ? no_argument
                                         : *opt->arg == '[' ? optional_argument
                                                            : required_argument,
                                         NULL, opt->id};
            if (opt->id < TI_OPT_LONG) {
                shorts[s++] = (char)opt->id;
                if (opt->arg)
                    shorts[s++] = ':';
            }
        }
        longs[n++] = (struct option){"help", no_argument, NULL, 'h'};
        longs[n] = (struct option){"version", no_argument, NULL, 'V'};
        shorts[s++] = 'h';
        shorts[s] = 'V';
        opterr = 0;
    }
    /* mpirun's spelling, which getopt would take for -n with argument "p" */
    if (optind < argc && !strcmp(argv[optind], "-np")) {
        static char np[] = "--np";

        argv[optind] = np;
    }
    id = getopt_long(argc, argv, shorts, longs, NULL);
    *arg = optarg;
    switch (id) {
    case -1:
        return TI_CLI_END;
    case 'h':
        print_help(cli);
        return TI_CLI_EXIT_OK;
    case 'V':
        printf("%s (Tiara) %s\n", cli->tool, ti_version());
        return TI_CLI_EXIT_OK;
    case ':':
        fprintf(stderr, "%s: option '%s' needs an argument\n", cli->tool, argv[optind - 1]);
        return try_help(cli);
    case '?':
        if (optopt && optopt < TI_OPT_LONG && strncmp(argv[optind - 1], "--", 2) != 0)
            fprintf(stderr, "%s: unknown option '-%c'\n", cli->tool, optopt);
        else
            fprintf(stderr, "%s: unknown or misused option '%s'\n", cli->tool, argv[optind - 1]);
        hint_absent(cli, argv[optind - 1]);
        return try_help(cli);
    default:
        return id;
    }
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

ti_status ti_parse_size(const char *text, const char *what, int64_t *out, struct ti_err *err)
{
    static const char units[] = "kmgt";
    char *end;
    double v;

    errno = 0;
    v = strtod(text, &end);
    if (errno || end == text || !isdigit((unsigned char)text[0]))
        goto bad;
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
    if (*end || v < 1 || v > 9e18)
        goto bad;
    *out = (int64_t)v;
    return TI_OK;
bad:
    return ti_err_set(err, TI_ERR_USAGE, "%s must be a size such as 512M or 16GiB, not '%s'", what,
                      text);
}

char *ti_format_size(int64_t bytes, char *buf, int buf_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    unsigned u = 0;

    while (v >= 1024 && u + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        u++;
    }
    snprintf(buf, (size_t)buf_bytes, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return buf;
}

char *ti_format_count(uint64_t n, char *buf, int buf_bytes)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), o = 0;

    for (int i = 0; i < len && o < buf_bytes - 1; i++) {
        if (i && (len - i) % 3 == 0 && o < buf_bytes - 1)
            buf[o++] = ',';
        if (o < buf_bytes - 1)
            buf[o++] = digits[i];
    }
    buf[o] = '\0';
    return buf;
}
