/* ti-info: inspect traces. */

#include <string.h>

#include "common/cli.h"
#include "info/info.h"

enum {
    OPT_RANK = TI_OPT_LONG,
    OPT_DUMP,
    OPT_CALL_SITES,
    OPT_NO_VOLUMES,
    OPT_COMPARE,
    OPT_TOLERANCE,
    OPT_VERIFY,
    OPT_TRAFFIC,
    OPT_ALL,
    OPT_HISTOGRAM,
    OPT_RATES,
    OPT_JSON,
    OPT_NO_PROGRESS,
};

static const struct ti_opt opts[] = {
    {OPT_VERIFY, "verify", NULL,
     "read all and check it: checksums, totals, and that what\nis sent is received"},
    {OPT_COMPARE, "compare", "OTHER", "are the events of TRACE and OTHER the same?"},
    {OPT_TRAFFIC, "traffic", NULL, "messages and bytes between pairs of ranks, and in collectives"},
    {OPT_HISTOGRAM, "histogram", NULL, "sizes of messages and volumes of bursts, in powers of two"},
    {OPT_RATES, "rates", "FILE",
     "write a rate file: instructions a second of bursts, by\ntheir volume and by call site; "
     "FILE - is stdout"},
    {OPT_RANK, "rank", "N", "about this rank only"},
    {OPT_DUMP, "dump", NULL, "print the events, one a line"},
    TI_OPT_HEADING("Events"),
    {OPT_CALL_SITES, "call-sites", NULL, "with --dump: show the call sites"},
    {OPT_NO_VOLUMES, "no-volumes", NULL, "leave the volumes out of --dump and --compare"},
    {OPT_TOLERANCE, "tolerance", "N", "take volumes for equal that differ by N or less"},
    TI_OPT_HEADING("Output"),
    {OPT_ALL, "all", NULL, "with --traffic: all pairs, not the busiest only"},
    {'q', "quiet", NULL, "nothing but errors and problems"},
    {OPT_JSON, "json", NULL, "print as JSON; not with --dump and --compare"},
    {OPT_NO_PROGRESS, "no-progress", NULL, "no progress line"},
    TI_OPT_END,
};

static const struct ti_cli cli = {
    .tool = "ti-info",
    .what = "Show what is in a bundle, a run directory or a rank file.",
    .usage = "[OPTION]... TRACE",
    .examples = "  ti-info lu.E.16384.tib\n"
                "  ti-info --verify lu.E.16384.tib\n"
                "  ti-info --rank 3 --dump lu.tib\n"
                "  ti-info --compare other.tib --no-volumes lu.tib\n"
                "  ti-info --traffic lu.tib\n"
                "  ti-info --rates lu.rates lu.tib\n",
    .opts = opts,
    .after = "Exit status: 0 fine, 1 ranks missing or incomplete (all but the summary) or\n"
             "different (--compare), 2 usage, 3 damaged or not sound, 4 local I/O.\n"
             "More: man ti-info\n",
};

struct settings {
    const char *trace, *other, *rates;
    int64_t rank; /* -1: all */
    bool dump, verify, traffic, histogram, no_progress;
    struct info_style style;
};

/* Reject options that cannot be combined.  Returns an exit status, or -1 to go on. */
static int check_options(const struct settings *s)
{
    int modes =
        s->verify + s->dump + (s->other != NULL) + s->traffic + s->histogram + (s->rates != NULL);

    if (modes > 1)
        return (int)ti_cli_usage(&cli, "one of --verify, --dump, --compare, --traffic, --histogram "
                                       "and --rates at a time");
    if ((s->verify || s->other) && s->rank >= 0)
        return (int)ti_cli_usage(&cli, "--rank is not for --verify and --compare");
    if (s->style.json && (s->dump || s->other))
        return (int)ti_cli_usage(&cli, "--json is not for --dump and --compare");
    if (s->style.json && s->rates && strcmp(s->rates, "-") == 0)
        return (int)ti_cli_usage(&cli, "--json and --rates - both write to standard output");
    if (s->style.all && !s->traffic)
        return (int)ti_cli_usage(&cli, "--all is for --traffic");
    return -1;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct settings *s)
{
    struct ti_err err;
    const char *arg;
    int64_t tolerance;
    int id;

    while ((id = ti_cli_next(&cli, argc, argv, &arg)) != TI_CLI_END) {
        switch (id) {
        case OPT_VERIFY:
            s->verify = true;
            break;
        case OPT_COMPARE:
            s->other = arg;
            break;
        case OPT_RANK:
            if (ti_parse_int(arg, "--rank", 0, TI_RANKS_MAX - 1, &s->rank, &err) != TI_OK)
                return (int)ti_cli_usage(&cli, "%s", err.text);
            break;
        case OPT_DUMP:
            s->dump = true;
            break;
        case OPT_TRAFFIC:
            s->traffic = true;
            break;
        case OPT_ALL:
            s->style.all = true;
            break;
        case OPT_HISTOGRAM:
            s->histogram = true;
            break;
        case OPT_RATES:
            s->rates = arg;
            break;
        case OPT_CALL_SITES:
            s->style.call_sites = true;
            break;
        case OPT_NO_VOLUMES:
            s->style.no_volumes = true;
            break;
        case OPT_TOLERANCE:
            if (ti_parse_int(arg, "--tolerance", 0, INT64_MAX, &tolerance, &err) != TI_OK)
                return (int)ti_cli_usage(&cli, "%s", err.text);
            s->style.tolerance = (uint64_t)tolerance;
            break;
        case 'q':
            s->style.quiet = true;
            break;
        case OPT_JSON:
            s->style.json = true;
            break;
        case OPT_NO_PROGRESS:
            s->no_progress = true;
            break;
        case TI_CLI_EXIT_OK:
            return TI_OK;
        default:
            return TI_ERR_USAGE;
        }
    }
    if (argc - ti_cli_operand() != 1)
        return (int)ti_cli_usage(&cli,
                                 argc == ti_cli_operand() ? "which trace?" : "one trace at a time");
    s->trace = argv[ti_cli_operand()];
    return check_options(s);
}

static ti_status compare(struct ti_source *source, const struct settings *s, struct ti_err *err)
{
    struct ti_source *other;
    ti_status st = ti_source_open(s->other, &other, err);

    if (st != TI_OK)
        return st;
    st = info_compare(source, other, &s->style, err);
    ti_source_close(other);
    return st;
}

static ti_status info(const struct settings *s, struct ti_err *err)
{
    struct ti_source *source;
    ti_status st = ti_source_open(s->trace, &source, err);

    if (st != TI_OK)
        return st;
    if (s->rank >= ti_source_nranks(source))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has %lld ranks, so there is no rank %lld",
                        s->trace, (long long)ti_source_nranks(source), (long long)s->rank);
    else if (s->verify)
        st = info_verify(source, &s->style, err);
    else if (s->other)
        st = compare(source, s, err);
    else if (s->dump)
        st = info_dump(source, s->rank, &s->style, err);
    else if (s->traffic)
        st = info_traffic(source, s->rank, &s->style, err);
    else if (s->histogram)
        st = info_histogram(source, s->rank, &s->style, err);
    else if (s->rates)
        st = info_rates(source, s->rank, s->rates, &s->style, err);
    else if (s->rank >= 0)
        st = info_rank(source, s->rank, &s->style, err);
    else
        st = info_summary(source, &s->style, err);
    ti_source_close(source);
    if ((fflush(stdout) != 0 || ferror(stdout)) && st <= TI_ERR_PARTIAL)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    return st;
}

int main(int argc, char **argv)
{
    struct settings s = {.rank = -1};
    struct ti_err err = {0};
    int st = parse(argc, argv, &s);

    if (st >= 0)
        return st;
    ti_talk_init(cli.tool, s.style.quiet, s.no_progress);
    st = info(&s, &err);
    if (st > TI_ERR_PARTIAL && err.text[0])
        ti_cli_fail(&cli, (ti_status)st, &err);
    return st;
}
