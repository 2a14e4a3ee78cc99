! The sequence of io.c in Fortran with `use mpi`.
      program io
      use mpi
      implicit none
      integer a(20), b(20), me, np, ierr, i, W
      integer fh, request, info, status(MPI_STATUS_SIZE)
      integer(MPI_OFFSET_KIND) mine, zero, offset
      character(len=1000) name
      parameter (W = MPI_COMM_WORLD)

      include 'io.inc'
      end

      subroutine must(so, number)
      use mpi
      implicit none
      logical so
      integer number, ierr

      if (.not. so) call MPI_Abort(MPI_COMM_WORLD, number, ierr)
      end

! A status says how many integers were moved.
      subroutine told(status, expected)
      use mpi
      implicit none
      integer status(MPI_STATUS_SIZE), expected, count, ierr

      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call must(count .eq. expected, 10)
      end
