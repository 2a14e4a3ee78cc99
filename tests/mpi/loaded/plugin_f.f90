! The same in Fortran, and in the binding that the compiler is told of.
integer(c_int) function run() bind(c)
    use iso_c_binding
#ifdef F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none
    integer :: rank, size, got(1), ierr

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    got = -1
    call MPI_Sendrecv([rank], 1, MPI_INTEGER, modulo(rank + 1, size), 1, got, 1, MPI_INTEGER, &
        modulo(rank - 1, size), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Finalize(ierr)
    run = merge(0, 2, got(1) == modulo(rank - 1, size))
end function run
