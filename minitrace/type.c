/*
 * Packed sizes of datatypes.  MPI is asked each time, since a derived type's
 * handle may be given to another type; but not for the predefined ones, which
 * last, and which most calls use.
 */
#include "minitrace/state.h"

#define SLOTS 128 /* power of two, more than twice as many as there are types */

static struct {
    MPI_Datatype type;
    int64_t bytes;
} predefined[SLOTS];

static unsigned slot_of(MPI_Datatype type)
{
    uint64_t h = (uint64_t)(uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15);
    unsigned slot = (unsigned)(h >> 57);

    while (predefined[slot].bytes && predefined[slot].type != type)
        slot = (slot + 1) & (SLOTS - 1);
    return slot;
}

static int64_t ask(MPI_Datatype type)
{
    MPI_Count bytes = 0;

    if (type == MPI_DATATYPE_NULL)
        return 0;
    PMPI_Type_size_x(type, &bytes);
    return bytes == MPI_UNDEFINED ? 0 : bytes;
}

void ti_types_begin(void)
{
    const MPI_Datatype types[] = {
        MPI_BYTE,
        MPI_PACKED,
        MPI_CHAR,
        MPI_SIGNED_CHAR,
        MPI_UNSIGNED_CHAR,
        MPI_WCHAR,
        MPI_SHORT,
        MPI_UNSIGNED_SHORT,
        MPI_INT,
        MPI_UNSIGNED,
        MPI_LONG,
        MPI_UNSIGNED_LONG,
        MPI_LONG_LONG,
        MPI_UNSIGNED_LONG_LONG,
        MPI_FLOAT,
        MPI_DOUBLE,
        MPI_LONG_DOUBLE,
        MPI_C_BOOL,
        MPI_INT8_T,
        MPI_INT16_T,
        MPI_INT32_T,
        MPI_INT64_T,
        MPI_UINT8_T,
        MPI_UINT16_T,
        MPI_UINT32_T,
        MPI_UINT64_T,
        MPI_AINT,
        MPI_COUNT,
        MPI_OFFSET,
        MPI_C_FLOAT_COMPLEX,
        MPI_C_DOUBLE_COMPLEX,
        MPI_CHARACTER,
        MPI_LOGICAL,
        MPI_INTEGER,
        MPI_REAL,
        MPI_DOUBLE_PRECISION,
        MPI_COMPLEX,
        MPI_DOUBLE_COMPLEX,
    };

    _Static_assert(2 * sizeof types / sizeof *types < SLOTS, "the table must not fill up");
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        int64_t bytes = ask(types[i]);
        unsigned slot = slot_of(types[i]);

        /* one this MPI does not have has no size, and stays out */
        predefined[slot].type = types[i];
        predefined[slot].bytes = bytes;
    }
}

int64_t ti_type_bytes(MPI_Datatype type)
{
    unsigned slot = slot_of(type);

    return predefined[slot].bytes ? predefined[slot].bytes : ask(type);
}
