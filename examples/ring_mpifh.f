! ring.c in Fortran with mpif.h: the same calls with the same parameters.
      program ring
      implicit none
      include 'mpif.h'

      integer*1, allocatable :: buffer(:, :)
      integer*8 instructions, turns, turn, hops, i
      integer bytes, mine, next, prev, rank, np, ierr, ios
      logical ok
      character*32 text

!     Arguments and the message, before anything is traced: column 1 is
!     filled, column 2 is empty, and only rank 0 uses the former.
      turns = 1
      bytes = 1000000
      instructions = 1000000
      ios = 0
      if (command_argument_count() .ge. 1) then
        call get_command_argument(1, text)
        read (text, *, iostat=ios) turns
      end if
      if (ios .eq. 0 .and. command_argument_count() .ge. 2) then
        call get_command_argument(2, text)
        read (text, *, iostat=ios) bytes
      end if
      if (ios .eq. 0 .and. command_argument_count() .ge. 3) then
        call get_command_argument(3, text)
        read (text, *, iostat=ios) instructions
      end if
      ok = ios .eq. 0 .and. turns .ge. 1 .and. bytes .ge. 1 .and.        &
     &     instructions .ge. 10 .and. command_argument_count() .le. 3
      if (.not. ok) bytes = 1
      allocate (buffer(bytes, 2))
      do i = 1, bytes
        buffer(i, 1) = int(mod(i - 1, 100_8), 1)
        buffer(i, 2) = 0
      end do

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, np, ierr)
      if (.not. ok .or. np .lt. 2) then
        if (rank .eq. 0) write (0, '(a)') 'ring_mpifh: needs 2 ranks '// &
     &  'or more, and [TURNS [BYTES [INSTRUCTIONS]]], at least 1, 1, 10'
        call MPI_FINALIZE(ierr)
        stop 2
      end if

      mine = 2
      if (rank .eq. 0) mine = 1
      next = mod(rank + 1, np)
      prev = mod(rank + np - 1, np)

      do turn = 1, turns
        if (rank .eq. 0) then
          call burst(instructions)
          buffer(1, mine) = int(iand(buffer(1, mine) + 1, 127), 1)
          call MPI_SEND(buffer(1, mine), bytes, MPI_BYTE, next, 0,       &
     &                  MPI_COMM_WORLD, ierr)
          call MPI_RECV(buffer(1, mine), bytes, MPI_BYTE, prev, 0,       &
     &                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        else
          call MPI_RECV(buffer(1, mine), bytes, MPI_BYTE, prev, 0,       &
     &                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
          call burst(instructions)
          buffer(1, mine) = int(iand(buffer(1, mine) + 1, 127), 1)
          call MPI_SEND(buffer(1, mine), bytes, MPI_BYTE, next, 0,       &
     &                  MPI_COMM_WORLD, ierr)
        end if
      end do
      call MPI_FINALIZE(ierr)

      hops = (turns - 1) * np + rank + 1
      if (rank .eq. 0) hops = turns * np
      ok = buffer(1, mine) .eq. iand(hops, 127_8)
      do i = 2, bytes
        if (buffer(i, mine) .ne. mod(i - 1, 100_8)) ok = .false.
      end do
      if (rank .eq. 0) then
        if (ok) write (*, 10) turns, np, 'verified'
        if (.not. ok) write (*, 10) turns, np, 'FAILED'
      end if
      if (.not. ok) stop 1
   10 format ('ring_mpifh: ', i0, ' turns, ', i0, ' ranks: ', a)
      end
