! nodes.c in short: two ranks a node, as TIARA_RANKS_PER_NODE says.
program nodes
    use mpi
    implicit none
    integer :: rank, n, length, node, ierr
    character(MPI_MAX_PROCESSOR_NAME) :: name

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, ierr)
    call MPI_Comm_size(node, n, ierr)
    call MPI_Get_processor_name(name, length, ierr)
    if (n /= 2 .or. length /= 9 .or. name /= 'node-000' // achar(iachar('0') + rank / 2)) &
        call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    call MPI_Comm_free(node, ierr)
    call MPI_Finalize(ierr)
end program
