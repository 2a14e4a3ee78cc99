! sequence.c in Fortran with `use mpi`.
      program sequence
      use mpi
      implicit none
      integer a(100), b(100), counts(3), displs(3), ranks(2), dims(1)
      integer rank, np, next, prev, ierr, index, done, indices(4), i, W
      integer status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4)
      integer r(4), twin, part, pair, cart, world, group, column, op
      logical flag, periods(1)
      double precision d(10)
      parameter (W = MPI_COMM_WORLD)
      external add
      data displs /0, 10, 20/, ranks /2, 0/, dims /3/, periods /.true./
      data a /100*0/, b /100*0/, d /10*0/

      include 'sequence.inc'
      end

      subroutine add(in, inout, len, type)
      implicit none
      integer len, type, i
      integer in(len), inout(len)

      do i = 1, len
        inout(i) = inout(i) + in(i)
      end do
      end
