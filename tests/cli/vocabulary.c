/*
 * Print the words of traces, sites files and rate files, for the pages that must have them: fields,
 * operations as the page lists them, bits of a mode, reduction operations; keys.
 *
 *     field comm
 *     op recv: comm peer tag bytes esize (from fromtag)
 *     op alltoallv: comm esize resize [sendcounts] [recvcounts]
 *     replayed isendrecv: LOWERED MPI_Isend and MPI_Irecv
 *     mode nocheck
 *     redop sum
 *     cluster nodes
 *
 * Collectives are there in their blocking form only: the others have a request
 * more, as the page says.
 */
#include <stdio.h>

#include "config/rates.h"
#include "config/sites.h"
#include "event/event.h"
#include "replay-bridge/replayer/operations.h"

static void put_fields(uint32_t mask, const char *before, const char *after)
{
    const char *between = before;

    for (; mask; mask &= mask - 1) {
        printf("%s%s", between, ti_field_text((unsigned)__builtin_ctz(mask)));
        between = " ";
    }
    if (between != before)
        printf("%s", after);
}

static void put_op(uint32_t op)
{
    const struct ti_op_info *info = ti_op_info(op);

    if (op != ti_op_base(op))
        return;
    printf("op %s:", info->text);
    put_fields(info->fields, " ", "");
    put_fields(info->optional, " (", ")");
    for (int v = 0; v < TI_VECS; v++)
        if (*info->vec[v])
            printf(" [%s]", info->vec[v]);
    putchar('\n');
}

int main(void)
{
    char mode[96];

    for (unsigned f = 0; f < TI_F_COUNT; f++)
        printf("field %s\n", ti_field_text(f));
    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        put_op(op);
#define PUT_REPLAYED(op, function, how, instead)                                                   \
    printf("replayed %s: " #how " %s\n", ti_op_info(TI_OP_##op)->text, instead);
    TI_REPLAYED(PUT_REPLAYED)
    for (int64_t bit = 1; bit <= TI_MODE_END; bit <<= 1)
        printf("mode %s\n", ti_mode_text(bit, mode, sizeof mode));
    for (int64_t redop = 0; redop < TI_REDOP_COUNT; redop++)
        printf("redop %s\n", ti_redop_text(redop));
#define PUT_SITE(name)    puts("site " #name);
#define PUT_CLUSTER(name) puts("cluster " #name);
#define PUT_TARGET(name)  puts("target " #name);
    TI_SITE_KEYS(PUT_SITE)
    TI_CLUSTER_KEYS(PUT_CLUSTER)
    TI_TARGET_KEYS(PUT_TARGET)
#define PUT_RATES(name) puts("rates " #name);
#define PUT_RATE(name)  puts("rate " #name);
    TI_RATES_KEYS(PUT_RATES)
    TI_RATE_KEYS(PUT_RATE)
    return 0;
}
