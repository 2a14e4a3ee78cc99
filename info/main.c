/* ti-info: inspect traces. */

#include <string.h>

#include "bundle/output.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "common/scratch.h"
#include "common/table.h"
#include "info/event_csv.h"
#include "info/info.h"
#include "info/merge.h"
#include "timeline/timeline.h"

struct settings {
    const char *trace, *other, *rates, *at, *debug_dir, *output, *timeline;
    char *const *traces; /* all of them; `trace` is the first */
    int ntraces;
    struct ti_ranges ranks; /* of --rank; empty: all */
    int64_t rank;           /* the one of these; -1: all, or several */
    int64_t width;          /* -1: not given */
    bool dump, csv, verify, traffic, histogram, phases, imbalance, merge, split;
    enum ti_progress_form progress;
    const char *volumes, *extras;
    struct ti_qualities quality;
    struct ti_trips trips;
    struct info_style style;
};

#define TI_OPT_STRUCT struct settings

/* info/module.mk says whether there is a libdw. */
#ifdef TI_NO_LIBDW
#define LIBDW_TEXT                                                                                 \
    "This ti-info was built without libdw, so it knows no source lines of call sites.\n"
#else
#define LIBDW_TEXT ""
#endif

static ti_status add_trips(void *options, const char *arg, struct ti_err *err)
{
    return ti_trips_add(&((struct settings *)options)->trips, arg, err);
}

static ti_status add_ranks(void *options, const char *arg, struct ti_err *err)
{
    return ti_ranges_parse(&((struct settings *)options)->ranks, arg, TI_RANKS_MAX, err);
}

static ti_status take_timeline(void *options, const char *arg, struct ti_err *err)
{
    ((struct settings *)options)->timeline = arg;
    return ti_timeline_check(arg, err);
}

static const struct ti_opt opts[] = {
    {0, "verify", NULL,
     "read all and check it: checksums, totals, and that what\n"
     "is sent is received",
     TI_OPT_FLAG(verify)},
    {0, "compare", "OTHER",
     "compare the events of TRACE with those of OTHER; if they\n"
     "differ, also volumes, messages, bytes and calls, by loop\n"
     "and call site",
     TI_OPT_TEXT(other)},
    {0, "traffic", NULL, "messages and bytes between pairs of ranks, and in collectives",
     TI_OPT_FLAG(traffic)},
    {0, "histogram", NULL, "sizes of messages and volumes of bursts, in powers of two",
     TI_OPT_FLAG(histogram)},
    {0, "phases", NULL, "what the program does, as a nest of loops with their volumes",
     TI_OPT_FLAG(phases)},
    {0, "imbalance", NULL, "where ranks spend different volumes and times", TI_OPT_FLAG(imbalance)},
    {0, "rates", "FILE",
     "write a rate file: instructions per second of bursts, by\n"
     "their volume and by call site; FILE - is stdout",
     TI_OPT_TEXT(rates)},
    {0, "timeline", "FILE",
     "write what ranks did when, of a trace with durations, for\n"
     "viewers: NAME.json (Perfetto), NAME.otf2 (Vampir),\n"
     "NAME.paje, or NAME.csv",
     TI_OPT_FUNCTION(take_timeline)},
    {0, "rank", "LIST", "show this rank only; with --dump also some ranks: 0,4-7",
     TI_OPT_FUNCTION(add_ranks)},
    {0, "dump", NULL, "print the events, one per line", TI_OPT_FLAG(dump)},
    {0, "at", "WHERE",
     "go to a place of a rank: event=N (from 0), volume=N or\n"
     "time=SECONDS; print it, or the events from there (--dump)",
     TI_OPT_NAME(at)},
    TI_OPT_HEADING("Merged traces"),
    {0, "merge", NULL,
     "write the ranks of all TRACEs into OUT: a bundle if OUT\n"
     "ends in .tib, else a merged trace",
     TI_OPT_FLAG(merge)},
    {0, "volumes", "QUALITY", TI_VOLUMES_HELP, TI_OPT_TEXT(volumes)},
    {0, "extras", "QUALITY", TI_EXTRAS_HELP, TI_OPT_TEXT(extras)},
    {0, "split", NULL, "write a file for each rank into the new folder OUT", TI_OPT_FLAG(split)},
    {0, "trips", "LOOP=N",
     "write a merged trace of TRACE in which LOOP, a name that\n"
     "--phases shows, has N trips; may be given several times",
     TI_OPT_FUNCTION(add_trips)},
    {'o', "output", "OUT", "what --merge, --split and --trips write; must not exist",
     TI_OPT_NAME(output)},
    TI_OPT_HEADING("Events"),
    {0, "call-sites", NULL,
     "with --dump, --at and --compare: show the call sites, with\n"
     "function, file and line where they are known",
     TI_OPT_FLAG(style.line.call_sites)},
    {0, "debug-dir", "DIR[:DIR]...",
     "look here first for the program that was traced, its\n"
     "libraries and their debug information",
     TI_OPT_NAME(debug_dir)},
    {0, "count", "N", "with --dump: print N events of a rank",
     TI_OPT_INTEGER(style.count, 1, INT64_MAX)},
    {0, "no-volumes", NULL, "leave the volumes out of --dump and --compare",
     TI_OPT_FLAG(style.line.no_volumes)},
    {0, "tolerance", "N", "treat volumes as equal if they differ by N at most",
     TI_OPT_INTEGER(style.tolerance, 0, INT64_MAX)},
    TI_OPT_HEADING("Output"),
    {0, "all", NULL,
     "with --traffic: all pairs, not only the busiest;\n"
     "with --phases: all calls of each loop; with --imbalance:\n"
     "all phases and positions; with --compare: all loops and\n"
     "call sites that differ",
     TI_OPT_FLAG(style.all)},
    {0, "top", "N",
     "with --phases: the N calls before which most is computed,\n"
     "and the loops around them; with --traffic: N pairs; with\n"
     "--imbalance: N phases and positions; with --compare: N\n"
     "loops and call sites",
     TI_OPT_INTEGER(style.top, 1, INT64_MAX)},
    {0, "width", "N", TI_WIDTH_HELP, TI_OPT_INTEGER(width, 0, 1 << 16)},
    {'q', "quiet", NULL, "print only errors and problems", TI_OPT_FLAG(style.quiet)},
    {0, "json", NULL, "print as JSON; with --dump, one event a line", TI_OPT_FLAG(style.json)},
    {0, "csv", NULL, "with --dump: print as CSV, a header and one event a line", TI_OPT_FLAG(csv)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END,
};

static const struct ti_cli cli = {
    .tool = "ti-info",
    .what = "Show what is in a bundle, a run directory, a merged trace or a rank file.",
    .usage = "[OPTION]... TRACE...",
    .examples = "  ti-info lu.E.16384.tib\n"
                "  ti-info --verify lu.E.16384.tib\n"
                "  ti-info --rank 3 --dump lu.tib\n"
                "  ti-info --rank 0,4-7 --dump --csv lu.tib\n"
                "  ti-info --compare old.tib new.tib\n"
                "  ti-info --compare other.tib --no-volumes lu.tib\n"
                "  ti-info --traffic lu.tib\n"
                "  ti-info --rank 3 --phases lu.tib\n"
                "  ti-info --phases --top 10 lu.tib\n"
                "  ti-info --imbalance lu.tib\n"
                "  ti-info --rank 3 --at volume=1e9 lu.tib\n"
                "  ti-info --rates lu.rates lu.tib\n"
                "  ti-info --timeline lu.json lu.tib\n"
                "  ti-info --merge lu.run -o lu.tib\n"
                "  ti-info --split lu.tib -o lu.run\n"
                "  ti-info --trips 'main lu.c:471=1000' lu.tib -o lu.1000\n",
    .opts = opts,
    .after = "Exit status: 0 fine, 1 ranks missing or incomplete (all but the summary) or\n"
             "different (--compare), 2 usage, 3 damaged or not sound, 4 local I/O.\n" LIBDW_TEXT
             "More: man ti-info\n",
};

/* Reject options that cannot be combined.  Returns an exit status, or TI_CLI_END. */
static int check_options(const struct settings *s)
{
    int modes = s->verify + s->dump + (s->other != NULL) + s->traffic + s->histogram + s->phases +
                s->imbalance + (s->rates != NULL) + (s->timeline != NULL);
    int writes = s->merge + s->split + (s->trips.n > 0);
    bool lists = s->traffic || s->phases || s->imbalance || s->other;

    if (modes + writes > 1)
        return (int)ti_cli_usage(&cli, "one of --verify, --dump, --compare, --traffic, "
                                       "--histogram, --phases, --imbalance, --rates, "
                                       "--timeline, --merge, --split and --trips at a time");
    if ((writes > 0) != (s->output != NULL))
        return (int)ti_cli_usage(&cli,
                                 "--merge, --split and --trips need -o, and only they have it");
    if (s->trips.n && ti_is_bundle_name(s->output))
        return (int)ti_cli_usage(&cli,
                                 "--trips writes a merged trace, not a bundle: '%s' would be "
                                 "taken for one",
                                 s->output);
    if ((s->volumes || s->extras) && !s->merge)
        return (int)ti_cli_usage(&cli, "--volumes and --extras are for --merge");
    if ((s->verify || s->other || s->imbalance || s->timeline || writes) && s->ranks.n)
        return (int)ti_cli_usage(&cli, "--rank is not for --verify, --compare, --imbalance, "
                                       "--timeline, --merge, --split and --trips");
    if (s->at && (modes > s->dump || writes))
        return (int)ti_cli_usage(&cli, "--at is for --dump, or alone");
    if (s->at && s->rank < 0)
        return (int)ti_cli_usage(&cli, "--at needs --rank");
    if (ti_ranges_count(&s->ranks) > 1 && (!s->dump || s->at))
        return (int)ti_cli_usage(&cli, "several ranks are for --dump without --at");
    if (s->style.count && !s->dump)
        return (int)ti_cli_usage(&cli, "--count is for --dump");
    if (s->csv && !s->dump)
        return (int)ti_cli_usage(&cli, "--csv is for --dump");
    if (s->csv && s->style.json)
        return (int)ti_cli_usage(&cli, "--json or --csv, not both");
    if (s->style.json && s->rates && strcmp(s->rates, "-") == 0)
        return (int)ti_cli_usage(&cli, "--json and --rates - both write to standard output");
    if (s->style.all && !lists)
        return (int)ti_cli_usage(&cli, "--all is for --traffic, --phases, --imbalance and "
                                       "--compare");
    if (s->style.top && (s->style.all || !lists))
        return (int)ti_cli_usage(&cli, "--top is for --traffic, --phases, --imbalance and "
                                       "--compare, without --all");
    if (s->debug_dir && !s->style.line.call_sites && !s->rates && !s->phases && !s->imbalance &&
        !s->at && !s->trips.n && !s->timeline && !s->other)
        return (int)ti_cli_usage(&cli, "--debug-dir is for --call-sites, --rates, --phases, "
                                       "--imbalance, --compare, --timeline, --trips and --at");
    return TI_CLI_END;
}

/* Returns an exit status, or TI_CLI_END. */
static int parse(int argc, char **argv, struct settings *s)
{
    int st = ti_cli_parse(&cli, argc, argv, s);
    struct ti_err err;

    if (st != TI_CLI_END)
        return st;
    if (argc == ti_cli_operand())
        return s->other ? (int)ti_cli_usage(&cli, "--compare %s: which trace is compared with it?",
                                            s->other)
                        : (int)ti_cli_usage(&cli, "which trace?");
    if (argc - ti_cli_operand() > 1 && !s->merge)
        return (int)ti_cli_usage(&cli, "one trace at a time, except with --merge");
    if (ti_qualities_parse(s->volumes, s->extras, &s->quality, &err) != TI_OK)
        return (int)ti_cli_usage(&cli, "%s", err.text);
    s->trace = argv[ti_cli_operand()];
    s->traces = argv + ti_cli_operand();
    s->ntraces = argc - ti_cli_operand();
    if (ti_ranges_count(&s->ranks) == 1)
        s->rank = s->ranks.range[0].first;
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

static ti_status read_trace(struct settings *s, struct ti_err *err)
{
    struct ti_source *source;
    ti_status st = ti_source_open(s->trace, &source, err);
    int64_t last;

    if (st != TI_OK)
        return st;
    last = s->ranks.n ? s->ranks.range[s->ranks.n - 1].last : -1;
    if (last >= ti_source_nranks(source))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has %lld ranks, so there is no rank %lld",
                        s->trace, (long long)ti_source_nranks(source), (long long)last);
    else if (s->verify)
        st = info_verify(source, &s->style, err);
    else if (s->other)
        st = compare(source, s, err);
    else if (s->at)
        st = info_position(source, s->rank, s->at, s->dump, &s->style, err);
    else if (s->dump)
        st = info_dump(source, &s->ranks, &s->style, err);
    else if (s->traffic)
        st = info_traffic(source, s->rank, &s->style, err);
    else if (s->histogram)
        st = info_histogram(source, s->rank, &s->style, err);
    else if (s->split)
        st = info_split(source, s->output, &s->style, err);
    else if (s->trips.n)
        st = info_trips(source, &s->trips, s->output, &s->style, err);
    else if (s->imbalance)
        st = info_imbalance(source, &s->style, err);
    else if (s->phases)
        st = info_phases(source, s->rank, &s->style, err);
    else if (s->timeline)
        st = info_timeline(source, s->timeline, &s->style, err);
    else if (s->rates)
        st = info_rates(source, s->rank, s->rates, &s->style, err);
    else if (s->rank >= 0)
        st = info_rank(source, s->rank, &s->style, err);
    else
        st = info_summary(source, &s->style, err);
    ti_source_close(source);
    return st;
}

static ti_status info(struct settings *s, struct ti_err *err)
{
    ti_status st = s->merge
                       ? info_merge(s->traces, s->ntraces, s->output, &s->quality, &s->style, err)
                       : read_trace(s, err);

    if ((fflush(stdout) != 0 || ferror(stdout)) && st <= TI_ERR_PARTIAL)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    return st;
}

int main(int argc, char **argv)
{
    struct settings s = {.rank = -1, .width = -1};
    struct ti_err err = {0};
    int st = parse(argc, argv, &s);

    if (st >= 0)
        return st;
    ti_talk_init(cli.tool, s.style.quiet, s.progress);
    s.style.width = ti_width(s.width);
    s.style.line.symbolizer = ti_symbolizer_open(s.debug_dir);
    if (s.csv)
        s.style.csv = info_csv_new();
    if (s.output || s.timeline)
        ti_stop_catch();
    st = info(&s, &err);
    if (!s.style.quiet)
        ti_symbolizer_advise(s.style.line.symbolizer);
    ti_symbolizer_close(s.style.line.symbolizer);
    info_csv_free(s.style.csv);
    ti_ranges_free(&s.ranks);
    ti_trips_free(&s.trips);
    if (st > TI_ERR_PARTIAL && err.text[0])
        ti_cli_fail(&cli, (ti_status)st, &err);
    if (ti_stopped())
        ti_stop_die();
    return st;
}
