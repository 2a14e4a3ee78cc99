! ring.c in Fortran with `use mpi`: the same calls with the same parameters.
program ring
    use, intrinsic :: iso_c_binding
    use mpi
    implicit none

    interface
        subroutine burst(instructions) bind(c, name='burst')
            import :: c_int64_t
            integer(c_int64_t), value :: instructions
        end subroutine
    end interface

    integer(c_int8_t), allocatable :: buffer(:, :)
    integer(c_int64_t) :: turns = 1, bytes = 1000000, instructions = 1000000
    integer(c_int64_t) :: turn, hops, i
    integer :: count, mine, next, prev, rank, np, ierr
    logical :: ok = .true.

    ! Arguments and the message, before anything is traced: column 1 is
    ! filled, column 2 is empty, and only rank 0 uses the former.
    call argument(1, 1_c_int64_t, turns)
    call argument(2, 1_c_int64_t, bytes)
    call argument(3, 10_c_int64_t, instructions)
    if (command_argument_count() > 3 .or. bytes > huge(count)) ok = .false.
    count = merge(int(bytes), 1, ok)
    allocate (buffer(count, 2))
    do i = 1, count
        buffer(i, 1) = int(mod(i - 1, 100_c_int64_t), c_int8_t)
    end do
    buffer(:, 2) = 0

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    if (.not. ok .or. np < 2) then
        if (rank == 0) write (0, '(a)') 'ring_usempi: needs 2 ranks or more, and ' // &
            '[TURNS [BYTES [INSTRUCTIONS]]], at least 1, 1 and 10'
        call MPI_Finalize(ierr)
        stop 2
    end if

    mine = merge(1, 2, rank == 0)
    next = mod(rank + 1, np)
    prev = mod(rank + np - 1, np)

    do turn = 1, turns
        if (rank == 0) then
            call burst(instructions)
            buffer(1, mine) = int(iand(buffer(1, mine) + 1, 127), c_int8_t)
            call MPI_Send(buffer(:, mine), count, MPI_BYTE, next, 0, MPI_COMM_WORLD, ierr)
            call MPI_Recv(buffer(:, mine), count, MPI_BYTE, prev, 0, MPI_COMM_WORLD, &
                          MPI_STATUS_IGNORE, ierr)
        else
            call MPI_Recv(buffer(:, mine), count, MPI_BYTE, prev, 0, MPI_COMM_WORLD, &
                          MPI_STATUS_IGNORE, ierr)
            call burst(instructions)
            buffer(1, mine) = int(iand(buffer(1, mine) + 1, 127), c_int8_t)
            call MPI_Send(buffer(:, mine), count, MPI_BYTE, next, 0, MPI_COMM_WORLD, ierr)
        end if
    end do
    call MPI_Finalize(ierr)

    hops = merge(turns * np, (turns - 1) * np + rank + 1, rank == 0)
    ok = buffer(1, mine) == iand(hops, 127_c_int64_t)
    do i = 2, count
        if (buffer(i, mine) /= mod(i - 1, 100_c_int64_t)) ok = .false.
    end do
    if (rank == 0) write (*, '(a, i0, a, i0, 2a)') 'ring_usempi: ', turns, ' turns, ', np, &
        ' ranks: ', merge('verified', 'FAILED  ', ok)
    if (.not. ok) stop 1

contains

    ! The number in argument `place`, at least `least`; `number` stays where
    ! there is none.
    subroutine argument(place, least, number)
        integer, intent(in) :: place
        integer(c_int64_t), intent(in) :: least
        integer(c_int64_t), intent(inout) :: number
        character(len=32) :: text
        integer :: failed

        if (place > command_argument_count()) return
        call get_command_argument(place, text)
        read (text, *, iostat=failed) number
        if (failed /= 0 .or. number < least) ok = .false.
    end subroutine

end program
