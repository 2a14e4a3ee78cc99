#include "acquire/run/print.h"

#include <stdlib.h>
#include <string.h>

#include "acquire/plan/estimate.h"

/* Without a survey the counter is not known, only what was asked for. */
static bool knows_counter(const struct ti_acquisition *a)
{
    return !a->sites || !a->o->dry_run;
}

static void print_counter(const struct ti_acquisition *a, FILE *out)
{
    if (!knows_counter(a))
        ti_print(out, "  counter   %s%s\n", a->o->counter,
                 strcmp(a->o->counter, "auto") == 0
                     ? ": by what the nodes have; valgrind takes 48 MiB more a rank"
                     : "");
    else
        ti_print(out, "  counter   %s: %s, %s%s\n", a->choice.backend, a->choice.event,
                 a->choice.exact      ? "exact"
                 : a->choice.estimate ? "an estimate"
                                      : "not exact",
                 a->sum ? ", of all threads" : "");
    if (a->o->times)
        ti_print(out, "  also      durations%s%s\n",
                 a->choice.valgrind ? ", under valgrind, which is slower" : "",
                 a->plan.folding > 1 ? ", with the time that ranks wait for a core" : "");
    if (a->o->also)
        ti_print(out, "  also      %s\n", a->o->also);
    if (a->isa)
        ti_print(out, "  isa       %s%s\n", a->isa,
                 a->isa_chosen ? ", the least level of the nodes" : "");
}

void ti_print_plan(const struct ti_acquisition *a, FILE *out)
{
    char *program = ti_args_shell(&a->o->program), *command = ti_args_shell(&a->command);
    char text[256];

    ti_print(out, "plan for %s\n", program ? program : a->program.given);
    a->backend->print_ranks(a, out);
    if (a->model.n)
        ti_print(out, "  pilot     %s\n", ti_memory_model_text(&a->model, text, sizeof text));
    ti_estimate_start_print(a->plan.start_seconds, out);
    ti_estimate_print(a->o->like, a->plan.np, a->plan.folding, program,
                      knows_counter(a) ? a->choice.backend : NULL, out);
    print_counter(a, out);
    a->backend->print_traces(a, out);
    ti_print(out, "  bundle    %s\n", a->o->no_gather ? "none (--no-gather)" : a->output);
    if (a->command.n)
        ti_print(out, "  command   %s\n", command ? command : "?");
    if (a->sites && a->o->dry_run)
        ti_print(out, "  basis     %s; no node was asked\n", a->sites->path);
    free(program);
    free(command);
}
