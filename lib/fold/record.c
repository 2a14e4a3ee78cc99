#include "fold/record.h"

#include <stdlib.h>

void ti_record_free(struct ti_record *record)
{
    free(record->memory);
    *record = (struct ti_record){0};
}
