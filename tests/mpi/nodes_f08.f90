! nodes.c in short: two ranks a node, as TIARA_RANKS_PER_NODE says.
program nodes
    use mpi_f08
    implicit none
    integer :: rank, n, length
    character(MPI_MAX_PROCESSOR_NAME) :: name
    type(MPI_Comm) :: node

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
    call MPI_Comm_size(node, n)
    call MPI_Get_processor_name(name, length)
    if (n /= 2 .or. length /= 9 .or. name /= 'node-000' // achar(iachar('0') + rank / 2)) &
        call MPI_Abort(MPI_COMM_WORLD, 3)
    call MPI_Comm_free(node)
    call MPI_Finalize()
end program
