#include "wrap/assembler/flow.h"

#include <stdlib.h>

struct ti_insn *ti_flow_at(const struct ti_flow *f, uint32_t section, uint64_t at)
{
    size_t lo = 0, hi = f->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct ti_insn *in = &f->insns[mid];

        if (in->section < section || (in->section == section && in->at < at))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < f->n && f->insns[lo].section == section && f->insns[lo].at == at)
        return &f->insns[lo];
    return NULL;
}

void ti_flow_free(struct ti_flow *f)
{
    free(f->insns);
    free(f->adds);
    free(f->stretch);
    free(f->drop);
    *f = (struct ti_flow){0};
}
