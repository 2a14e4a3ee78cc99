! The sequence of rma.c in Fortran 2008.
program rma
    use, intrinsic :: iso_c_binding, only : c_ptr
    use mpi_f08
    implicit none
    integer, asynchronous :: cell(16)
    integer :: a(4), b(4), was(1), ranks(1), me, np, next, prev, ierr, i
    integer(MPI_ADDRESS_KIND) :: bytes, disp
    logical :: flag
    type(c_ptr) :: base
    type(MPI_Win) :: win, other
    type(MPI_Request) :: request
    type(MPI_Group) :: world, target, origin
    type(MPI_Info) :: info
    type(MPI_Comm), parameter :: W = MPI_COMM_WORLD
    call MPI_Init(ierr)
    call MPI_Comm_rank(W, me)
    call MPI_Comm_size(W, np)
    next = mod(me + 1, np)
    prev = mod(me + np - 1, np)
    do i = 1, 16
      cell(i) = 1000 * me + i - 1
    end do
    a = me

    bytes = 64
    call MPI_Win_create(cell, bytes, 4, MPI_INFO_NULL, W, win)
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierr)
    disp = 0
    call MPI_Put(a, 2, MPI_INTEGER, next, disp, 2, MPI_INTEGER, win)
    disp = 2
    call MPI_Accumulate(a, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, MPI_SUM, win)
    disp = 3
    call MPI_Get(b, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, win)
    disp = 0
    call MPI_Put(a, 1, MPI_INTEGER, MPI_PROC_NULL, disp, 1, MPI_INTEGER, win)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    call must(cell(2) == prev, 1)
    call must(cell(3) == 1000 * me + 2 + prev, 2)
    call must(b(1) == 1000 * next + 3, 3)
    call MPI_Barrier(W)

    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win)
    disp = 4
    call MPI_Fetch_and_op(a, b, MPI_INTEGER, next, disp, MPI_SUM, win)
    call MPI_Win_flush(next, win)
    call must(b(1) == 1000 * next + 4, 4)
    disp = 5
    was(1) = 1000 * next + 5
    call MPI_Compare_and_swap(a, was, b, MPI_INTEGER, next, disp, win)
    call MPI_Win_flush_local(next, win)
    call must(b(1) == was(1), 5)
    call MPI_Get_accumulate(a, 0, MPI_INTEGER, b, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, &
        MPI_NO_OP, win)
    call MPI_Win_unlock(next, win)
    call must(b(1) == me, 6)
    call MPI_Barrier(W)

    call MPI_Win_lock_all(MPI_MODE_NOCHECK, win)
    disp = 6
    call MPI_Rput(a, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    disp = 7
    call MPI_Rget(b, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(b(1) == 1000 * next + 7, 7)
    disp = 8
    call MPI_Raccumulate(a, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, MPI_SUM, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    disp = 9
    call MPI_Rget_accumulate(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, &
        MPI_MAX, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(b(1) == 1000 * next + 9, 8)
    call MPI_Win_flush_all(win)
    call MPI_Win_flush_local_all(win)
    call MPI_Win_sync(win)
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(W)

    call MPI_Comm_group(W, world)
    ranks(1) = next
    call MPI_Group_incl(world, 1, ranks, target)
    ranks(1) = prev
    call MPI_Group_incl(world, 1, ranks, origin)
    disp = 10
    do i = 1, 2
      call MPI_Win_post(origin, 0, win)
      call MPI_Win_start(target, 0, win)
      call MPI_Put(a, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, win)
      call MPI_Win_complete(win)
      flag = .false.
      do while (i == 1 .and. .not. flag)
        call MPI_Win_test(win, flag)
      end do
      if (i == 2) call MPI_Win_wait(win)
      call must(cell(11) == prev, 9)
    end do
    call MPI_Group_free(target)
    call MPI_Group_free(origin)
    call MPI_Group_free(world)

    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, W, base, other)
    call MPI_Win_free(other)
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, W, base, other)
    call MPI_Win_free(other)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, W, other)
    call MPI_Win_attach(other, cell, bytes)
    call MPI_Win_detach(other, cell)
    call MPI_Win_free(other)
    call MPI_Info_create(info)
    call MPI_Win_set_info(win, info)
    call MPI_Info_free(info, ierr)
    call MPI_Win_free(win)
    call MPI_Finalize(ierr)

contains

    subroutine must(so, number)
        logical, intent(in) :: so
        integer, intent(in) :: number

        if (.not. so) call MPI_Abort(W, number)
    end subroutine
end program
