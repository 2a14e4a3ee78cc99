#include "fold/record.h"

#include <stdlib.h>

void ti_record_set(struct ti_record *record, size_t k, int64_t value)
{
    ((int64_t *)(uintptr_t)record->number)[k] = value;
}

void ti_record_free(struct ti_record *record)
{
    free(record->memory);
    *record = (struct ti_record){0};
}
