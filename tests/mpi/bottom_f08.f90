! bottom.c in Fortran 2008, without ierror.
      program bottom
      use mpi_f08
      implicit none
      type(MPI_Datatype) :: t
      integer :: rank, n
      integer, volatile :: x(3)
      integer(MPI_ADDRESS_KIND) :: place(1)

      call MPI_Init()
      call MPI_Comm_rank(MPI_COMM_WORLD, rank)
      call MPI_Comm_size(MPI_COMM_WORLD, n)
      x = 0
      if (rank == 0) x = (/ 7, 8, 9 /)
      call MPI_Get_address(x, place(1))
      call MPI_Type_create_hindexed(1, (/ 3 /), place, MPI_INTEGER, &
     & t)
      call MPI_Type_commit(t)
      if (rank == 0) then
        call MPI_Send(MPI_BOTTOM, 1, t, n - 1, 5, MPI_COMM_WORLD)
      else if (rank == n - 1) then
        call MPI_Recv(MPI_BOTTOM, 1, t, 0, MPI_ANY_TAG, &
     &   MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        if (any(x /= (/ 7, 8, 9 /))) then
          call MPI_Abort(MPI_COMM_WORLD, 3)
        end if
      end if
      call MPI_Type_free(t)
      call MPI_Finalize()
      end program
