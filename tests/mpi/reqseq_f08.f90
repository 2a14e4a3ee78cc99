! reqseq.c in Fortran with `use mpi_f08`, ierror absent.
program reqseq
    use mpi_f08
    implicit none
    integer, asynchronous :: in(8), out(8)
    integer :: list(8), rank, np, next, prev, i, m, n, index
    type(MPI_Status) :: one, all(8)
    type(MPI_Request) :: r(8)
    type(MPI_Message) :: msg
    type(MPI_Comm) :: W = MPI_COMM_WORLD
    type(MPI_Datatype) :: T
    logical :: flag

    include 'reqseq_f08.inc'

      subroutine check_one(status, source, tag)
      use mpi_f08
      implicit none
      type(MPI_Status) :: status
      integer source, tag

      if (status%MPI_SOURCE /= source) call wrong(49)
      if (status%MPI_TAG /= tag) call wrong(50)
      end

      subroutine check_at(statuses, i, source, tag)
      use mpi_f08
      implicit none
      type(MPI_Status) :: statuses(*)
      integer i, source, tag

      if (statuses(i)%MPI_SOURCE /= source) call wrong(51)
      if (statuses(i)%MPI_TAG /= tag) call wrong(52)
      end
