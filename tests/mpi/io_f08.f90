! The sequence of io.c in Fortran 2008.
program io
    use mpi_f08
    implicit none
    integer, asynchronous :: a(20), b(20)
    integer :: me, np, ierr, i
    integer(MPI_OFFSET_KIND) :: mine, zero, offset
    character(len=1000) :: name
    type(MPI_Status) :: status
    type(MPI_File) :: fh
    type(MPI_Request) :: request
    type(MPI_Info) :: info
    type(MPI_Comm), parameter :: W = MPI_COMM_WORLD
    call MPI_Init(ierr)
    call MPI_Comm_rank(W, me)
    call MPI_Comm_size(W, np)
    call get_command_argument(1, name)
    name = trim(name) // '/in sequence'
    do i = 1, 20
      a(i) = 1000 * me + i - 1
    end do
    b = -1
    mine = me * 40
    zero = 0

    call MPI_File_open(W, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh)
    call MPI_File_write_at(fh, mine, a, 10, MPI_INTEGER, status)
    call told(status, 10)
    call MPI_File_write_at_all(fh, mine, a, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_write(fh, a, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_write_all(fh, a, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_sync(fh, ierr)
    call MPI_Barrier(W)
    call MPI_File_sync(fh, ierr)
    offset = np * 40 - 20
    call MPI_File_read_at(fh, offset, b, 10, MPI_INTEGER, status)
    call told(status, 5)
    call MPI_File_read_at(fh, offset, b, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at_all(fh, mine, b, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_read(fh, b, 10, MPI_INTEGER, status)
    call told(status, 10)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_read_all(fh, b, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call must(b(2) == 1000 * me + 1, 1)

    call MPI_File_seek_shared(fh, zero, MPI_SEEK_SET)
    call MPI_File_write_ordered(fh, a, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_sync(fh, ierr)
    call MPI_Barrier(W)
    call MPI_File_sync(fh, ierr)
    call MPI_File_seek_shared(fh, zero, MPI_SEEK_SET)
    call MPI_File_read_ordered(fh, b, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_seek_shared(fh, zero, MPI_SEEK_END)
    b(1) = np
    call MPI_File_write_shared(fh, b, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_sync(fh, ierr)
    call MPI_Barrier(W)
    call MPI_File_sync(fh, ierr)
    offset = -4 * np
    call MPI_File_seek_shared(fh, offset, MPI_SEEK_END)
    call MPI_File_read_shared(fh, b, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
    call must(b(1) == np, 2)
    call MPI_Barrier(W)

    call MPI_File_write_at_all_begin(fh, mine, a, 10, MPI_INTEGER)
    call MPI_File_write_at_all_end(fh, a, status)
    call told(status, 10)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_write_all_begin(fh, a, 10, MPI_INTEGER)
    call MPI_File_write_all_end(fh, a, MPI_STATUS_IGNORE)
    call MPI_File_read_at_all_begin(fh, mine, b, 10, MPI_INTEGER)
    call MPI_File_read_at_all_end(fh, b, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_read_all_begin(fh, b, 10, MPI_INTEGER)
    call MPI_File_read_all_end(fh, b, status)
    call MPI_File_seek_shared(fh, zero, MPI_SEEK_SET)
    call MPI_File_write_ordered_begin(fh, a, 10, MPI_INTEGER)
    call MPI_File_write_ordered_end(fh, a, MPI_STATUS_IGNORE)
    call MPI_File_seek_shared(fh, zero, MPI_SEEK_SET)
    call MPI_File_read_ordered_begin(fh, b, 10, MPI_INTEGER)
    call MPI_File_read_ordered_end(fh, b, MPI_STATUS_IGNORE)

    call MPI_File_iwrite_at(fh, mine, a, 10, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call told(status, 10)
    call MPI_File_iread_at(fh, mine, b, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_iwrite_at_all(fh, mine, a, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_iread_at_all(fh, mine, b, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_iwrite(fh, a, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_iread(fh, b, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_iwrite_all(fh, a, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_seek(fh, mine, MPI_SEEK_SET)
    call MPI_File_iread_all(fh, b, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(b(2) == 1000 * me + 1, 3)
    call MPI_File_seek_shared(fh, zero, MPI_SEEK_SET)
    call MPI_File_iwrite_shared(fh, a, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_sync(fh, ierr)
    call MPI_Barrier(W)
    call MPI_File_sync(fh, ierr)
    call MPI_File_seek_shared(fh, zero, MPI_SEEK_SET)
    call MPI_File_iread_shared(fh, b, 10, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)

    offset = 8
    call MPI_File_set_view(fh, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    offset = np * 20
    call MPI_File_preallocate(fh, offset)
    offset = np * 40
    call MPI_File_set_size(fh, offset)
    call MPI_File_set_atomicity(fh, .true.)
    call MPI_File_set_atomicity(fh, .false.)
    call MPI_Info_create(info)
    call MPI_File_set_info(fh, info)
    call MPI_Info_free(info, ierr)
    call MPI_File_close(fh)
    call MPI_Barrier(W)
    if (me == 0) call MPI_File_delete(name, MPI_INFO_NULL)
    call MPI_Finalize(ierr)

contains

    subroutine must(so, number)
        logical, intent(in) :: so
        integer, intent(in) :: number

        if (.not. so) call MPI_Abort(W, number)
    end subroutine

    ! A status says how many integers were moved.
    subroutine told(status, expected)
        type(MPI_Status), intent(in) :: status
        integer, intent(in) :: expected
        integer :: count

        call MPI_Get_count(status, MPI_INTEGER, count)
        call must(count == expected, 10)
    end subroutine
end program
