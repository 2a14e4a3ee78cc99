! collseq.c in Fortran with `use mpi_f08`, ierror absent.
program collseq
    use mpi_f08
    implicit none
    integer, asynchronous :: a(100), b(100)
    integer :: n1(16), n2(16), d1(16), d2(16)
    integer :: rank, np, last, root, i, k, dims(1)
    type(MPI_Comm) :: W = MPI_COMM_WORLD, cart, part, inter
    type(MPI_Datatype) :: t1(16), t2(16), T, there
    type(MPI_Request) :: r
    integer(kind=MPI_ADDRESS_KIND) :: dw(2), address
    logical, asynchronous :: yes(3)
    logical :: periods(1), first, mine
    character(len=8), asynchronous :: text

    include 'collseq_f08.inc'
