/*
 * Questions about the machine: which ranks share a node, the name of the processor, and the
 * hardware that runs a rank.
 *
 * An application that runs folded onto one machine is told that all ranks share a node,
 * where the target machine would have several, and may behave differently.  With
 * TIARA_RANKS_PER_NODE=N, ranks 0 to N - 1 of MPI_COMM_WORLD are told to share a node, ranks
 * N to 2N - 1 the next one, and so on.  Without it, the questions are only counted, and the
 * trace has the number.
 *
 * The functions here replace MPI's own in the table `ti_target`, so that the shims of all
 * bindings reach them.
 *
 * A node of the target must lie within one node of this machine, or shared windows on it
 * could not be allocated.  That is checked when such a communicator is made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "minitrace/begin.h"

typedef void (*fortran_split_type)(MPI_Fint *comm, MPI_Fint *type, MPI_Fint *key, MPI_Fint *info,
                                   MPI_Fint *newcomm, MPI_Fint *ierr);
typedef void (*fortran_name)(char *name, MPI_Fint *resultlen, MPI_Fint *ierr, size_t bytes);

static struct {
    __typeof__(&MPI_Comm_split_type) split_type;
    __typeof__(&MPI_Get_processor_name) name;
    fortran_split_type split_type_f, split_type_f08;
    fortran_name name_f, name_f08;
    int (*hardware)(MPI_Info *info);
    void (*hardware_f)(MPI_Fint *info, MPI_Fint *ierr);
    void (*hardware_f08)(MPI_Fint *info, MPI_Fint *ierr);
} next;

static void answered_as_here(void)
{
    __atomic_fetch_add(&ti_state.node_questions, 1, __ATOMIC_RELAXED);
}

static void asked(void)
{
    if (!ti_state.ranks_per_node)
        answered_as_here();
}

/* Whether the type asks for ranks that share memory: MPI_COMM_TYPE_SHARED, or what MPI-4.1 (7.4.2)
 * defines as the same.  Other types (socket, cache) are answered as this machine is, and counted.
 */
static bool is_node(int type, MPI_Info info)
{
#ifdef TI_HAS_MPI_Get_hw_resource_info
    char resource[sizeof "mpi_shared_memory" + 1]; /* so that a longer value is seen */
    int flag = 0;

    if ((type == MPI_COMM_TYPE_HW_GUIDED || type == MPI_COMM_TYPE_RESOURCE_GUIDED) &&
        info != MPI_INFO_NULL) {
        PMPI_Info_get(info, "mpi_hw_resource_type", sizeof resource - 1, resource, &flag);
        return flag && strcmp(resource, "mpi_shared_memory") == 0;
    }
#else
    (void)info;
#endif
#ifdef OMPI_COMM_TYPE_NODE
    if (type == OMPI_COMM_TYPE_HOST)
        return true;
#endif
    return type == MPI_COMM_TYPE_SHARED;
}

/* Whether all ranks of `comm` share a node of this machine; true for MPI_COMM_NULL. */
static bool is_on_one_node(MPI_Comm comm)
{
    int size = 0, together = 0;
    MPI_Comm shared;

    if (comm == MPI_COMM_NULL)
        return true;
    PMPI_Comm_size(comm, &size);
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared) != MPI_SUCCESS)
        return false;
    PMPI_Comm_size(shared, &together);
    PMPI_Comm_free(&shared);
    return together == size;
}

/* Split `comm` by the target's nodes.  Collective over `comm`, including ranks with type
 * MPI_UNDEFINED. */
static int split_as_target(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    int color = (int)(ti_state.rank / ti_state.ranks_per_node), spans, any = 0;
    int rc = PMPI_Comm_split(comm, type == MPI_UNDEFINED ? MPI_UNDEFINED : color, key, newcomm);

    if (rc != MPI_SUCCESS)
        return rc;
    spans = !is_on_one_node(*newcomm);
    PMPI_Allreduce(&spans, &any, 1, MPI_INT, MPI_MAX, comm);
    if (!any)
        return MPI_SUCCESS;
    if (*newcomm != MPI_COMM_NULL)
        PMPI_Comm_free(newcomm);
    ti_stop_recording("a node of the target, of %lld ranks, would lie on two nodes here",
                      (long long)ti_state.ranks_per_node);
    return PMPI_Comm_split_type(comm, type, key, info, newcomm);
}

/* Whether every rank of `comm` asks for nodes.  Collective, because a rank with MPI_UNDEFINED
 * cannot know what the others ask for. */
static bool all_ask_for_nodes(MPI_Comm comm, int type, MPI_Info info)
{
    int yes = is_node(type, info) || type == MPI_UNDEFINED, all = 0;

    PMPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

static bool as_target(MPI_Comm comm, int type, MPI_Info info)
{
    asked();
    if (!ti_state.ranks_per_node)
        return false;
    if (all_ask_for_nodes(comm, type, info))
        return true;
    answered_as_here();
    return false;
}

static int split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    return as_target(comm, type, info) ? split_as_target(comm, type, key, info, newcomm)
                                       : next.split_type(comm, type, key, info, newcomm);
}

static bool fortran_split(const MPI_Fint *comm, const MPI_Fint *type, const MPI_Fint *key,
                          const MPI_Fint *info, MPI_Fint *newcomm, MPI_Fint *ierr)
{
    MPI_Comm made = MPI_COMM_NULL;
    int rc;

    if (!as_target(PMPI_Comm_f2c(*comm), *type, PMPI_Info_f2c(*info)))
        return false;
    rc = split_as_target(PMPI_Comm_f2c(*comm), *type, *key, PMPI_Info_f2c(*info), &made);
    if (rc == MPI_SUCCESS)
        *newcomm = PMPI_Comm_c2f(made);
    if (ierr)
        *ierr = rc;
    return true;
}

static void split_type_f(MPI_Fint *comm, MPI_Fint *type, MPI_Fint *key, MPI_Fint *info,
                         MPI_Fint *newcomm, MPI_Fint *ierr)
{
    if (!fortran_split(comm, type, key, info, newcomm, ierr))
        next.split_type_f(comm, type, key, info, newcomm, ierr);
}

static void split_type_f08(MPI_Fint *comm, MPI_Fint *type, MPI_Fint *key, MPI_Fint *info,
                           MPI_Fint *newcomm, MPI_Fint *ierr)
{
    if (!fortran_split(comm, type, key, info, newcomm, ierr))
        next.split_type_f08(comm, type, key, info, newcomm, ierr);
}

/* Write "node-0003"; returns its length. */
static int target_name(char name[MPI_MAX_PROCESSOR_NAME])
{
    return snprintf(name, MPI_MAX_PROCESSOR_NAME, "node-%04lld",
                    (long long)(ti_state.rank / ti_state.ranks_per_node));
}

static int processor_name(char *name, int *len)
{
    asked();
    if (!ti_state.ranks_per_node)
        return next.name(name, len);
    *len = target_name(name);
    return MPI_SUCCESS;
}

static bool fortran_target_name(char *name, MPI_Fint *len, MPI_Fint *ierr, size_t bytes)
{
    char text[MPI_MAX_PROCESSOR_NAME];
    size_t n;

    asked();
    if (!ti_state.ranks_per_node)
        return false;
    n = (size_t)target_name(text);
    n = n < bytes ? n : bytes;
    memcpy(name, text, n);
    memset(name + n, ' ', bytes - n);
    *len = (MPI_Fint)n;
    if (ierr)
        *ierr = MPI_SUCCESS;
    return true;
}

static void name_f(char *name, MPI_Fint *len, MPI_Fint *ierr, size_t bytes)
{
    if (!fortran_target_name(name, len, ierr, bytes))
        next.name_f(name, len, ierr, bytes);
}

static void name_f08(char *name, MPI_Fint *len, MPI_Fint *ierr, size_t bytes)
{
    if (!fortran_target_name(name, len, ierr, bytes))
        next.name_f08(name, len, ierr, bytes);
}

static int hardware(MPI_Info *info)
{
    answered_as_here();
    return next.hardware(info);
}

static void hardware_f(MPI_Fint *info, MPI_Fint *ierr)
{
    answered_as_here();
    next.hardware_f(info, ierr);
}

static void hardware_f08(MPI_Fint *info, MPI_Fint *ierr)
{
    answered_as_here();
    next.hardware_f08(info, ierr);
}

bool ti_nodes_read(struct ti_err *err)
{
    const char *text = getenv("TIARA_RANKS_PER_NODE");
    char *end;

    if (!text || !text[0])
        return true;
    ti_state.ranks_per_node = strtoll(text, &end, 10);
    if (ti_state.ranks_per_node >= 0 && end != text && !*end)
        return true; /* 0: not given */
    ti_state.ranks_per_node = 0;
    ti_err_set(err, TI_ERR_USAGE, "TIARA_RANKS_PER_NODE '%s' is no number of ranks", text);
    return false;
}

/* Replace a function in ti_target. */
#define PUT(member, name, function)                                                                \
    do {                                                                                           \
        void **target = &ti_target[TI_N_##name].next;                                              \
                                                                                                   \
        memcpy(&next.member, target, sizeof *target);                                              \
        if (*target)                                                                               \
            *target = (void *)(function);                                                          \
    } while (0)

void ti_nodes_begin(void)
{
    PUT(split_type, MPI_Comm_split_type, split_type);
    PUT(name, MPI_Get_processor_name, processor_name);
    PUT(split_type_f, mpi_comm_split_type_, split_type_f);
    PUT(split_type_f08, mpi_comm_split_type_f08_, split_type_f08);
    PUT(name_f, mpi_get_processor_name_, name_f);
    PUT(name_f08, mpi_get_processor_name_f08_, name_f08);
    PUT(hardware, MPI_Get_hw_resource_info, hardware);
    PUT(hardware_f, mpi_get_hw_resource_info_, hardware_f);
    PUT(hardware_f08, mpi_get_hw_resource_info_f08_, hardware_f08);
}
