#include "extrapolate/differ.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/folded.h"

#define TEXT_BYTES 256

/* One of the two, with a rank of its class that is open. */
struct side {
    const struct ti_class *c;
    struct ti_reader *r;
    size_t step;
    char does[TEXT_BYTES]; /* the step, in words */
};

static ti_status open_side(const struct ti_inputs *in, int input, int64_t rank, struct side *s)
{
    ti_status st;

    *s = (struct side){.c = &in->class[in->input[input].rank[rank].class]};
    st = ti_folded_open_rank(in->input[s->c->input].source, s->c->rank, &s->r, NULL);
    return st ? st : ti_reader_skip(s->r, NULL);
}

/* Describe the next step.  Loops are told by their first call; unrolled ones are no difference. */
static void describe(struct side *s)
{
    struct ti_folded *f = ti_reader_folded(s->r);
    const struct ti_form_step *step;
    struct ti_shape_node node;
    const char *site;
    size_t call;

    while (s->step < s->c->nsteps && (s->c->step[s->step].kind == TI_STEP_UNROLLED ||
                                      (s->c->step[s->step].kind == TI_STEP_END &&
                                       s->c->step[s->step].node == TI_UNROLLED_END)))
        s->step++;
    call = s->step;
    step = &s->c->step[s->step];
    while (call < s->c->nsteps && s->c->step[call].kind != TI_STEP_CALL)
        call++;
    snprintf(s->does, sizeof s->does, call < s->c->nsteps ? "ends a loop" : "ends");
    if (call == s->c->nsteps || step->kind == TI_STEP_END)
        return;
    node = ti_shape_node(f, s->c->step[call].node);
    site = node.site ? ti_reader_string(s->r, TI_STRING_SITE, node.site) : NULL;
    snprintf(s->does, sizeof s->does, "%s %s%s%s",
             step->kind == TI_STEP_CALL ? "calls" : "begins a loop with", ti_op_info(node.op)->text,
             site ? ", " : "", site ? site : "");
}

/* Go to the first step that differs; false: only what calls have differs. */
static bool find_step(struct side s[2])
{
    for (;; s[0].step++, s[1].step++) {
        describe(&s[0]);
        describe(&s[1]);
        if (strcmp(s[0].does, s[1].does) != 0)
            return true;
        if (s[0].step >= s[0].c->nsteps || s[1].step >= s[1].c->nsteps)
            return false;
    }
}

const char *ti_differing_text(const struct ti_inputs *in, const struct ti_differing *d, char *buf,
                              size_t room)
{
    struct side s[2] = {{.r = NULL}, {.r = NULL}};
    char who[2][64];

    for (int i = 0; i < 2; i++)
        snprintf(who[i], sizeof who[i], "rank %" PRId64 " of %" PRId64 " ranks", d->rank[i],
                 in->input[d->input[i]].np);
    if (open_side(in, d->input[0], d->rank[0], &s[0]) == TI_OK &&
        open_side(in, d->input[1], d->rank[1], &s[1]) == TI_OK && find_step(s))
        snprintf(buf, room, "%s %s where %s %s", who[0], s[0].does, who[1], s[1].does);
    else
        snprintf(buf, room, "%s and %s do the same calls, with other kinds of numbers", who[0],
                 who[1]);
    ti_reader_close(s[0].r);
    ti_reader_close(s[1].r);
    return buf;
}
