#include "fold/parts.h"

#include <stdlib.h>

#include "fold/decode_internal.h"
#include "fold/shape.h"

/* The columns of nodes are the last parts. */
static void find_columns(const struct ti_folded *f, const struct ti_record *record,
                         struct ti_record_parts *out)
{
    size_t number = (size_t)(f->column_first - record->number);
    size_t blob = (size_t)(f->column_blob - record->blob);

    for (uint32_t i = 0; i < f->nnodes; i++) {
        uint32_t n = ti_shape_node(f, i).columns;

        for (uint32_t k = 0; k < n; k++)
            out->number[number++] = out->blob[blob++] = ti_shape_column(f, i, k).part;
    }
}

const char *ti_record_find_parts(const struct ti_record *record, uint32_t nranks,
                                 struct ti_record_parts *out)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    const char *wrong;

    *out = (struct ti_record_parts){.nnumbers = record->nnumbers, .nblobs = record->nblobs};
    out->number = calloc(record->nnumbers + 1, sizeof *out->number);
    out->blob = calloc(record->nblobs + 1, sizeof *out->blob);
    wrong = "memory is short";
    if (out->number && out->blob)
        wrong = ti__folded_open(record, nranks, out, &f, &tables);
    if (wrong) {
        ti_record_parts_free(out);
        return wrong;
    }
    if (f->nnodes)
        find_columns(f, record, out);
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    return NULL;
}

void ti_record_parts_free(struct ti_record_parts *p)
{
    free(p->number);
    free(p->blob);
    *p = (struct ti_record_parts){.number = NULL};
}

const char *ti_part_text(uint8_t kind)
{
#define TEXT(name, text, meaning) text,
    static const char *const texts[] = {TI_PARTS(TEXT)};
#undef TEXT
    return texts[kind];
}
