! reqseq.c in Fortran with mpif.h.
      program reqseq
      implicit none
      include 'mpif.h'
      integer in(8), out(8), list(8), one(MPI_STATUS_SIZE)
      integer all(MPI_STATUS_SIZE, 8), r(8), msg
      integer rank, np, next, prev, i, m, n, index, ierr, W, T
      logical flag
      parameter (W = MPI_COMM_WORLD)

      include 'reqseq.inc'

      subroutine check_one(status, source, tag)
      implicit none
      include 'mpif.h'
      integer status(MPI_STATUS_SIZE)
      integer source, tag

      if (status(MPI_SOURCE) /= source) call wrong(49)
      if (status(MPI_TAG) /= tag) call wrong(50)
      end

      subroutine check_at(statuses, i, source, tag)
      implicit none
      include 'mpif.h'
      integer statuses(MPI_STATUS_SIZE, *)
      integer i, source, tag

      if (statuses(MPI_SOURCE, i) /= source) call wrong(51)
      if (statuses(MPI_TAG, i) /= tag) call wrong(52)
      end
