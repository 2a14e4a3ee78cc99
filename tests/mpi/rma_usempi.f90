! The sequence of rma.c in Fortran with `use mpi`.
      program rma
      use, intrinsic :: iso_c_binding, only : c_ptr
      use mpi
      implicit none
      integer, asynchronous :: cell(16)
      integer a(4), b(4), was(1), ranks(1)
      integer me, np, next, prev, ierr, i, W
      integer win, other, request, world, target, origin, info
      integer(MPI_ADDRESS_KIND) bytes, disp
      type(c_ptr) base
      logical flag
      parameter (W = MPI_COMM_WORLD)

      include 'rma.inc'
      end

      subroutine must(so, number)
      use mpi
      implicit none
      logical so
      integer number, ierr

      if (.not. so) call MPI_Abort(MPI_COMM_WORLD, number, ierr)
      end
