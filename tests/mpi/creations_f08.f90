! The sequence of creations.c in Fortran 2008, without ierror.
program creations
    use mpi_f08
    implicit none
    integer :: all(64), order(64), halves(64, 0:1), sizes(0:1)
    integer :: place(64), edges(128), dims(3)
    integer :: from(1), into(1), degree(1), weight(1)
    logical :: periods(3), remain(3)
    integer :: me, np, next, prev, half, color, n, m, i
    type(MPI_Comm) :: a, b, d
    type(MPI_Request) :: req(2)
    type(MPI_Info) :: info
    type(MPI_Group) :: world, group
    type(MPI_Comm), parameter :: W = MPI_COMM_WORLD

    call MPI_Init()
    call MPI_Comm_rank(W, me)
    call MPI_Comm_size(W, np)
    next = mod(me + 1, np)
    prev = mod(me + np - 1, np)
    half = mod(me, 2)
    sizes = 0
    do i = 0, np - 1
      all(i + 1) = i
      sizes(mod(i, 2)) = sizes(mod(i, 2)) + 1
      halves(sizes(mod(i, 2)), mod(i, 2)) = i
    end do

    ! duplicates
    call MPI_Comm_dup(W, a)
    call ring(a, all)
    call MPI_Info_create(info)
    call MPI_Comm_set_info(a, info)
    call MPI_Comm_disconnect(a)
    call must(a == MPI_COMM_NULL, 1)
    call MPI_Comm_dup_with_info(W, info, a)
    call MPI_Info_free(info)
    call ring(a, all)
    call MPI_Comm_free(a)
    call MPI_Comm_idup(W, a, req(1))
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
    call MPI_Comm_idup(a, b, req(1))
    call MPI_Comm_idup(W, d, req(2))
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
    call ring(d, all)
    call ring(b, all)
    call MPI_Comm_free(d)
    call MPI_Comm_free(a)
    call ring(b, all)
    call MPI_Comm_free(b)

    ! splits
    do i = 1, sizes(half)
      order(i) = halves(sizes(half) + 1 - i, half)
    end do
    call MPI_Comm_split(W, half, -me, a)
    call ring(a, order)
    call MPI_Comm_dup(a, b)
    call ring(b, order)
    call MPI_Comm_free(a)
    call MPI_Comm_free(b)
    color = 0
    if (half == 1) color = MPI_UNDEFINED
    call MPI_Comm_split(W, color, 0, a)
    if (half == 0) then
      call ring(a, halves(:, 0))
      call MPI_Comm_free(a)
    end if
    call must(a == MPI_COMM_NULL, 2)
    call MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, a)
    call ring(a, all)
    call MPI_Comm_free(a)
    call MPI_Comm_split_type(W, MPI_UNDEFINED, 0, MPI_INFO_NULL, a)

    ! from groups
    call MPI_Comm_group(W, world)
    call MPI_Group_incl(world, sizes(0), halves(:, 0), group)
    call MPI_Comm_create(W, group, a)
    if (half == 0) then
      call ring(a, halves(:, 0))
      call MPI_Comm_free(a)
    end if
    call must(a == MPI_COMM_NULL, 3)
    call MPI_Group_free(group)
    if (half == 1) then
      call MPI_Group_incl(world, sizes(1), halves(:, 1), group)
      call MPI_Comm_create_group(W, group, 5, a)
      call ring(a, halves(:, 1))
      call MPI_Comm_free(a)
      call MPI_Group_free(group)
    end if
    call MPI_Group_free(world)

    ! grids: logicals
    dims(1) = 1
    dims(2) = np
    dims(3) = 1
    periods(1) = .false.
    periods(2) = .true.
    periods(3) = .false.
    call MPI_Cart_create(W, 3, dims, periods, .false., a)
    call ring(a, all)
    remain(1) = .true.
    remain(2) = .true.
    remain(3) = .false.
    call MPI_Cart_sub(a, remain, b)
    call ring(b, all)
    remain = .false.
    call MPI_Cart_sub(a, remain, d)
    order(1) = me
    call ring(d, order)
    call MPI_Comm_free(d)
    call MPI_Comm_free(b)
    call MPI_Comm_free(a)
    dims(2) = 1
    call MPI_Cart_create(W, 3, dims, periods, .true., a)
    if (me == 0) call MPI_Comm_free(a)
    call must(a == MPI_COMM_NULL, 4)

    ! graphs
    do i = 1, np
      place(i) = 2 * i
      edges(2 * i - 1) = mod(i, np)
      edges(2 * i) = mod(i + np - 2, np)
    end do
    call MPI_Graph_create(W, np, place, edges, .false., a)
    call ring(a, all)
    call MPI_Comm_free(a)
    place(1) = 0
    call MPI_Graph_create(W, 1, place, edges, .false., a)
    if (me == 0) call MPI_Comm_free(a)
    from(1) = prev
    into(1) = next
    call MPI_Dist_graph_create_adjacent(W, 1, from, MPI_UNWEIGHTED, 1, into, MPI_UNWEIGHTED, &
            MPI_INFO_NULL, .false., a)
    call ring(a, all)
    call MPI_Comm_dup(a, b)
    call MPI_Comm_free(a)
    call ring(b, all)
    call MPI_Comm_free(b)
    weight(1) = 7
    call MPI_Dist_graph_create_adjacent(W, 1, from, weight, 1, into, weight, MPI_INFO_NULL, &
            .false., a)
    call MPI_Comm_free(a)
    from(1) = me
    degree(1) = 1
    call MPI_Dist_graph_create(W, 1, from, degree, into, weight, MPI_INFO_NULL, .false., a)
    call ring(a, all)
    call MPI_Comm_free(a)
    place = 1
    edges = 0
    n = 0
    if (me == 0) n = np
    call MPI_Dist_graph_create(W, n, all, place, edges, MPI_UNWEIGHTED, MPI_INFO_NULL, &
            .false., a)
    call MPI_Comm_free(a)

    ! between the even and the odd ranks
    n = sizes(half)
    m = sizes(1 - half)
    if (np > 1) then
      call MPI_Comm_split(W, half, 0, a)
      b = MPI_COMM_NULL
      i = -77
      if (me == halves(n, half)) then
        b = W
        i = halves(m, 1 - half)
      end if
      call MPI_Intercomm_create(a, n - 1, b, i, 12, d)
      call MPI_Comm_free(a)
      call cross(d)
      call MPI_Comm_dup(d, b)
      call cross(b)
      call MPI_Comm_free(b)
      color = MPI_UNDEFINED
      if (me == halves(1, half)) color = 1
      call MPI_Comm_split(d, color, 0, a)
      call MPI_Comm_group(d, world)
      from(1) = 0
      call MPI_Group_incl(world, 1, from, group)
      call MPI_Comm_create(d, group, b)
      call MPI_Group_free(group)
      call MPI_Group_free(world)
      if (me == halves(1, half)) then
        call cross(a)
        call cross(b)
        call MPI_Comm_free(a)
        call MPI_Comm_free(b)
      end if
      do i = 1, sizes(1)
        order(i) = halves(i, 1)
      end do
      do i = 1, sizes(0)
        order(sizes(1) + i) = halves(i, 0)
      end do
      call MPI_Intercomm_merge(d, half == 0, a)
      call MPI_Comm_free(d)
      call ring(a, order)
      call MPI_Comm_free(a)
    end if

    ! while nothing else is recorded
    call MPI_Pcontrol(0)
    call MPI_Comm_dup(W, a)
    call MPI_Barrier(a)
    call MPI_Comm_idup(a, b, req(1))
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
    call MPI_Comm_free(a)
    call MPI_Pcontrol(1)
    call ring(b, all)
    call MPI_Comm_free(b)
    call MPI_Finalize()

contains

    subroutine must(so, number)
    logical :: so
    integer :: number
    if (.not. so) call MPI_Abort(W, number)
    end subroutine

    ! to the next rank and from the one before
    subroutine ring(comm, world)
    type(MPI_Comm) :: comm
    integer :: world(:)
    integer :: mine, of, to, from, got(1), out(1)
    call MPI_Comm_rank(comm, mine)
    call MPI_Comm_size(comm, of)
    to = mod(mine + 1, of)
    from = mod(mine + of - 1, of)
    out(1) = me
    call MPI_Sendrecv(out, 1, MPI_INTEGER, to, 3, got, 1, MPI_INTEGER, from, 3, comm, &
            MPI_STATUS_IGNORE)
    call must(got(1) == world(from + 1), 5)
    end subroutine

    ! to and from the same rank of the other group
    subroutine cross(comm)
    type(MPI_Comm) :: comm
    integer :: mine, of, got(1), out(1)
    call MPI_Comm_rank(comm, mine)
    call MPI_Comm_remote_size(comm, of)
    if (mine >= of) return
    out(1) = me
    call MPI_Sendrecv(out, 1, MPI_INTEGER, mine, 4, got, 1, MPI_INTEGER, mine, 4, comm, &
            MPI_STATUS_IGNORE)
    call must(got(1) == halves(mine + 1, 1 - half), 6)
    end subroutine
end program
