! sequence.c in Fortran with `use mpi_f08`: without ierror, but for a few calls.
module operation
    implicit none
contains
    subroutine add(in, inout, len, type)
        use, intrinsic :: iso_c_binding
        use mpi_f08
        type(c_ptr), value :: in, inout
        integer :: len
        type(MPI_Datatype) :: type
        integer, pointer :: from(:), into(:)

        if (type /= MPI_INTEGER) return
        call c_f_pointer(in, from, [len])
        call c_f_pointer(inout, into, [len])
        into = into + from
    end subroutine
end module

program sequence
    use mpi_f08
    use operation
    implicit none
    integer, asynchronous :: a(100) = 0, b(100) = 0
    integer :: counts(3), displs(3) = [0, 10, 20], ranks(2) = [2, 0], dims(1) = [3]
    integer :: rank, np, next, prev, ierr, index, done, indices(4), i
    type(MPI_Status) :: status, statuses(4)
    type(MPI_Request) :: r(4)
    type(MPI_Comm) :: W, twin, part, pair, cart
    type(MPI_Group) :: world, group
    type(MPI_Datatype) :: column
    type(MPI_Op) :: op
    logical :: flag, periods(1) = [.true.]
    double precision :: d(10) = 0

    W = MPI_COMM_WORLD
    call MPI_Init(ierr)
    call MPI_Comm_rank(W, rank)
    call MPI_Comm_size(W, np)
    next = mod(rank + 1, np)
    prev = mod(rank + np - 1, np)

    ! point to point
    call MPI_Irecv(b, 10, MPI_INTEGER, prev, 1, W, r(1))
    call MPI_Send(a, 10, MPI_INTEGER, next, 1, W, ierr)
    call MPI_Wait(r(1), MPI_STATUS_IGNORE)
    call MPI_Irecv(b, 10, MPI_INTEGER, MPI_ANY_SOURCE, 2, W, r(1))
    call MPI_Ssend(a, 5, MPI_INTEGER, next, 2, W)
    call MPI_Wait(r(1), MPI_STATUS_IGNORE)
    call MPI_Isend(a, 3, MPI_DOUBLE_PRECISION, next, 3, W, r(1))
    call MPI_Recv(b, 3, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, W, MPI_STATUS_IGNORE)
    call MPI_Wait(r(1), status)
    call MPI_Isend(a, 1, MPI_CHARACTER, next, 4, W, r(1))
    call MPI_Recv(b, 1, MPI_CHARACTER, prev, MPI_ANY_TAG, W, status)
    if (status%MPI_SOURCE /= prev .or. status%MPI_TAG /= 4) call MPI_Abort(W, 1)
    call MPI_Request_free(r(1))
    call MPI_Sendrecv(a, 1, MPI_INTEGER, next, 5, b, 2, MPI_INTEGER, MPI_ANY_SOURCE, 5, W, &
        MPI_STATUS_IGNORE)
    call MPI_Sendrecv_replace(a, 4, MPI_INTEGER, next, 6, prev, 6, W, status)
    call MPI_Send(a, 4, MPI_INTEGER, MPI_PROC_NULL, 6, W)
    call MPI_Isend(a, 1, MPI_INTEGER, next, 7, W, r(1))
    call MPI_Probe(MPI_ANY_SOURCE, 7, W, MPI_STATUS_IGNORE)
    flag = .false.
    do while (.not. flag)
        call MPI_Iprobe(prev, MPI_ANY_TAG, W, flag, MPI_STATUS_IGNORE)
    end do
    call MPI_Recv(b, 1, MPI_INTEGER, prev, 7, W, status)
    flag = .false.
    do while (.not. flag)
        call MPI_Test(r(1), flag, MPI_STATUS_IGNORE)
    end do

    ! many at once
    call MPI_Irecv(b, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, W, r(1))
    call MPI_Irecv(b(11), 1, MPI_INTEGER, prev, 2, W, r(2))
    call MPI_Isend(a, 1, MPI_INTEGER, next, 1, W, r(3))
    call MPI_Issend(a, 1, MPI_INTEGER, next, 2, W, r(4))
    call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, ierr)
    call MPI_Irecv(b, 1, MPI_INTEGER, prev, MPI_ANY_TAG, W, r(1))
    r(2) = MPI_REQUEST_NULL
    call MPI_Isend(a, 1, MPI_INTEGER, next, 1, W, r(3))
    call MPI_Waitall(2, r, statuses)
    if (statuses(1)%MPI_SOURCE /= prev) call MPI_Abort(W, 2)
    call MPI_Waitany(3, r, index, MPI_STATUS_IGNORE)
    call MPI_Irecv(b, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, W, r(1))
    call MPI_Send(a, 1, MPI_INTEGER, next, 2, W)
    call MPI_Waitany(3, r, index, status)
    if (index /= 1 .or. status%MPI_SOURCE /= prev) call MPI_Abort(W, 3)
    call MPI_Waitany(3, r, index, status)
    call MPI_Irecv(b, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, W, r(2))
    call MPI_Send(a, 1, MPI_INTEGER, next, 3, W)
    call MPI_Waitsome(3, r, done, indices, MPI_STATUSES_IGNORE)
    call MPI_Irecv(b, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, W, r(3))
    call MPI_Send(a, 1, MPI_INTEGER, next, 4, W)
    done = 0
    do while (done == 0)
        call MPI_Testsome(3, r, done, indices, statuses)
    end do
    if (done /= 1 .or. indices(1) /= 3 .or. statuses(1)%MPI_TAG /= 4) call MPI_Abort(W, 4)
    call MPI_Irecv(b, 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, W, r(2))
    call MPI_Isend(a, 1, MPI_INTEGER, next, 5, W, r(3))
    flag = .false.
    do while (.not. flag)
        call MPI_Testall(3, r, flag, MPI_STATUSES_IGNORE)
    end do
    call MPI_Irecv(b, 1, MPI_INTEGER, prev, MPI_ANY_TAG, W, r(2))
    call MPI_Send(a, 1, MPI_INTEGER, next, 6, W)
    flag = .false.
    do while (.not. flag)
        call MPI_Testany(3, r, index, flag, MPI_STATUS_IGNORE)
    end do

    ! collectives
    call MPI_Barrier(W)
    call MPI_Bcast(a, 7, MPI_INTEGER, 1, W)
    call MPI_Op_create(add, .false., op)
    if (rank == 2) then
        call MPI_Reduce(MPI_IN_PLACE, b, 2, MPI_INTEGER, op, 2, W)
    else
        call MPI_Reduce(a, b, 2, MPI_INTEGER, op, 2, W)
    end if
    call MPI_Op_free(op)
    call MPI_Allreduce(MPI_IN_PLACE, d, 3, MPI_DOUBLE_PRECISION, MPI_SUM, W, ierr)
    if (rank == 0) then
        call MPI_Gather(MPI_IN_PLACE, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, W)
    else
        call MPI_Gather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, W)
    end if
    do i = 1, 3
        counts(i) = i - 1
    end do
    if (rank == 1) then
        call MPI_Gatherv(MPI_IN_PLACE, rank, MPI_INTEGER, b, counts, displs, MPI_INTEGER, 1, W)
    else
        call MPI_Gatherv(a, rank, MPI_INTEGER, b, counts, displs, MPI_INTEGER, 1, W)
    end if
    if (rank == 2) then
        call MPI_Scatter(b, 2, MPI_INTEGER, MPI_IN_PLACE, 2, MPI_INTEGER, 2, W)
    else
        call MPI_Scatter(b, 2, MPI_INTEGER, a, 2, MPI_INTEGER, 2, W)
    end if
    if (rank == 0) then
        call MPI_Scatterv(b, counts, displs, MPI_INTEGER, MPI_IN_PLACE, rank, MPI_INTEGER, 0, W)
    else
        call MPI_Scatterv(b, counts, displs, MPI_INTEGER, a, rank, MPI_INTEGER, 0, W)
    end if
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_INTEGER, W)
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, displs, MPI_INTEGER, W)
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_INTEGER, W)
    do i = 1, 3
        counts(i) = abs(i - 1 - rank)
    end do
    call MPI_Alltoallv(a, counts, displs, MPI_INTEGER, b, counts, displs, MPI_INTEGER, W)
    call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_DATATYPE_NULL, b, counts, displs, &
        MPI_INTEGER, W)
    do i = 1, 3
        counts(i) = i
    end do
    call MPI_Reduce_scatter(MPI_IN_PLACE, b, counts, MPI_INTEGER, MPI_MAX, W)
    call MPI_Reduce_scatter_block(a, b, 2, MPI_INTEGER, MPI_BOR, W)
    call MPI_Scan(MPI_IN_PLACE, b, 2, MPI_INTEGER, MPI_MIN, W)
    call MPI_Exscan(a, b, 2, MPI_INTEGER, MPI_PROD, W)

    ! communicators
    call MPI_Comm_dup(W, twin, ierr)
    i = 5
    if (rank == 1) i = MPI_UNDEFINED
    call MPI_Comm_split(twin, i, -rank, part)
    if (part /= MPI_COMM_NULL) then
        call MPI_Bcast(a, 1, MPI_INTEGER, 1, part)
        call MPI_Comm_free(part)
    end if
    call MPI_Comm_group(W, world)
    call MPI_Group_incl(world, 2, ranks, group)
    call MPI_Comm_create(twin, group, pair)
    if (pair /= MPI_COMM_NULL) call MPI_Comm_free(pair)
    call MPI_Cart_create(twin, 1, dims, periods, .false., cart)
    call MPI_Comm_free(twin)
    call MPI_Sendrecv(a, 1, MPI_INTEGER, next, 1, b, 1, MPI_INTEGER, prev, 1, cart, &
        MPI_STATUS_IGNORE)

    ! every second element; by a type, and as a slice
    call MPI_Type_vector(5, 1, 2, MPI_INTEGER, column)
    call MPI_Type_commit(column)
    call MPI_Bcast(a, 1, column, 0, cart)
    call MPI_Type_free(column)
    call MPI_Bcast(a(1:9:2), 5, MPI_INTEGER, 0, cart)
    call MPI_Comm_free(cart)

    call MPI_Pcontrol(0)
    call MPI_Barrier(W)
    call MPI_Pcontrol(1)
    call MPI_Ibarrier(W, r(1))
    call MPI_Wait(r(1), MPI_STATUS_IGNORE)
    call MPI_Finalize(ierr)
end program
