! bottom.c in Fortran, with `use mpi`.
      program bottom
      use mpi
      implicit none
      integer :: t
      integer :: rank, n, ierr
      integer, volatile :: x(3)
      integer(MPI_ADDRESS_KIND) :: place(1)

      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
      x = 0
      if (rank == 0) x = (/ 7, 8, 9 /)
      call MPI_Get_address(x, place(1), ierr)
      call MPI_Type_create_hindexed(1, (/ 3 /), place, MPI_INTEGER, &
     & t, ierr)
      call MPI_Type_commit(t, ierr)
      if (rank == 0) then
        call MPI_Send(MPI_BOTTOM, 1, t, n - 1, 5, MPI_COMM_WORLD, ierr)
      else if (rank == n - 1) then
        call MPI_Recv(MPI_BOTTOM, 1, t, 0, MPI_ANY_TAG, &
     &   MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        if (any(x /= (/ 7, 8, 9 /))) then
          call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
        end if
      end if
      call MPI_Type_free(t, ierr)
      call MPI_Finalize(ierr)
      end program
