/*
 * Packed sizes of datatypes.  MPI is asked once for each.  The size of a type that can be freed is
 * stored in an attribute of the type, whose callback reports when the type is freed and its handle
 * may be reused.  Recently used sizes are in a cache.
 */
#include "minitrace/recorders/shared.h"

#define SETS 64 /* power of two */
#define WAYS 4

static struct set {
    MPI_Datatype type[WAYS]; /* most recently added first; 0: free */
    int64_t bytes[WAYS];
} sets[SETS];

static int keyval = MPI_KEYVAL_INVALID;

_Static_assert(sizeof(void *) >= sizeof(int64_t), "an attribute must hold a size");

static struct set *set_of(MPI_Datatype type)
{
    return &sets[(uint64_t)(uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static int freed(MPI_Datatype type, int key, void *value, void *extra)
{
    struct set *s = set_of(type);

    (void)key;
    (void)value;
    (void)extra;
    for (int i = 0; i < WAYS; i++)
        if (s->type[i] == type) {
            s->type[i] = 0;
            s->bytes[i] = 0;
        }
    return MPI_SUCCESS;
}

void ti_types_begin(void)
{
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, freed, &keyval, NULL);
}

/* Whether the type is one of MPI's own, which is never freed. */
static bool lasts(MPI_Datatype type)
{
    int combiner;
#ifdef TI_HAS_MPI_Type_get_envelope_c
    MPI_Count ints, addresses, counts, types;

    /* MPI_Type_get_envelope() refuses types made with large counts */
    PMPI_Type_get_envelope_c(type, &ints, &addresses, &counts, &types, &combiner);
#else
    int ints, addresses, types;

    PMPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
#endif
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static int64_t ask(MPI_Datatype type)
{
    MPI_Count bytes = 0;
    void *known;
    int flag = 0;

    PMPI_Type_get_attr(type, keyval, &known, &flag);
    if (flag)
        return (int64_t)(intptr_t)known;
    PMPI_Type_size_x(type, &bytes);
    if (bytes < 0) /* MPI_UNDEFINED: too large for MPI_Count */
        bytes = ti_stop_too_large();
    if (!lasts(type))
        PMPI_Type_set_attr(type, keyval, (void *)(intptr_t)bytes);
    return bytes;
}

int64_t ti_stop_too_large(void)
{
    ti_stop_call("2^63 bytes or more");
    return 0;
}

static __attribute__((noinline)) int64_t look_up(struct set *s, MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL)
        return 0;
    for (int i = WAYS - 1; i > 0; i--) {
        s->type[i] = s->type[i - 1];
        s->bytes[i] = s->bytes[i - 1];
    }
    s->bytes[0] = ask(type);
    s->type[0] = type;
    return s->bytes[0];
}

int64_t ti_type_bytes(MPI_Datatype type)
{
    struct set *s = set_of(type);

    for (int i = 0; i < WAYS; i++)
        if (s->type[i] == type)
            return s->bytes[i];
    return look_up(s, type);
}
