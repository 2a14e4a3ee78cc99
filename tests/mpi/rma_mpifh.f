! The sequence of rma.c in Fortran with mpif.h.
      program rma
      implicit none
      include 'mpif.h'
      integer cell(16), a(4), b(4), was(1), ranks(1)
      integer me, np, next, prev, ierr, i, W
      integer win, other, request, world, target, origin, info
      integer(MPI_ADDRESS_KIND) bytes, disp, base
      logical flag
      parameter (W = MPI_COMM_WORLD)

      include 'rma.inc'
      end

      subroutine must(so, number)
      implicit none
      include 'mpif.h'
      logical so
      integer number, ierr

      if (.not. so) call MPI_Abort(MPI_COMM_WORLD, number, ierr)
      end
