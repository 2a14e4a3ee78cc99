! The sequence of creations.c in Fortran with `use mpi`.
program creations
    use mpi
    implicit none
    integer all(64), order(64), halves(64, 0:1), sizes(0:1)
    integer place(64), edges(128), dims(3)
    integer from(1), into(1), degree(1), weight(1)
    logical periods(3), remain(3)
    integer me, np, next, prev, half, color, n, m, i, ierr
    integer W, a, b, d, req(2), info, world, group
    parameter (W = MPI_COMM_WORLD)

    include 'creations.inc'
end program
