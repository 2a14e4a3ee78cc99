/* ti-gather: its command line and signals. */
#include <signal.h>
#include <stdlib.h>

#include "bundle/run.h"
#include "common/cli.h"
#include "gather/gather.h"

static void on_signal(int number)
{
    ti_gather_stop = number;
}

/* An interrupted gather removes its .part; a file size limit is a write error. */
static void catch_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

int main(int argc, char **argv)
{
    struct ti_kept kept = {.conns = NULL};
    struct ti_gather_options o;
    struct ti_err err;
    int st = ti_gather_options_parse(argc, argv, &o);

    if (st < 0) {
        ti_talk_init(ti_gather_cli.tool, o.quiet, o.progress);
        catch_signals();
        st = ti_gather(&o, &kept, &err);
        ti_kept_free(&kept);
        if (st != TI_OK && st != TI_ERR_PARTIAL)
            ti_cli_fail(&ti_gather_cli, (ti_status)st, &err);
        if (ti_gather_stop) { /* die of it, so that a calling shell sees it */
            signal(ti_gather_stop, SIG_DFL);
            raise(ti_gather_stop);
        }
    }
    free(o.made_output);
    return st;
}
