! collseq.c in Fortran with `use mpi`.
      program collseq
      use mpi
      implicit none
      integer a(100), b(100), n1(16), n2(16), d1(16), d2(16)
      integer rank, np, last, root, i, k, ierr, dims(1), W
      integer t1(16), t2(16), T, there, r, cart, part, inter
      integer(kind=MPI_ADDRESS_KIND) dw(2), address
      logical yes(3), periods(1), first, mine
      character*8 text
      parameter (W = MPI_COMM_WORLD)

      include 'collseq.inc'
