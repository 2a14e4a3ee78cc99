#include "wrap/assembler/flow.h"

#include <stdlib.h>

#include "common/order.h"

struct ti_insn *ti_flow_at(const struct ti_flow *f, uint32_t section, uint64_t at)
{
    const struct ti_insn *in = f->insns;
    size_t i;

    TI_FIRST(i, 0, f->n, in[i].section < section || (in[i].section == section && in[i].at < at));
    return i < f->n && in[i].section == section && in[i].at == at ? &f->insns[i] : NULL;
}

void ti_flow_free(struct ti_flow *f)
{
    free(f->insns);
    free(f->adds);
    free(f->stretch);
    free(f->drop);
    *f = (struct ti_flow){0};
}
