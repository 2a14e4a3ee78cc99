"""MPI from Python: buffers, objects, collectives, communicators, requests."""
import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
after, before = (rank + 1) % size, (rank - 1) % size

# buffers
out, got = array.array("i", range(10)), array.array("i", [0] * 10)
world.Sendrecv([out, MPI.INT], after, 1, [got, MPI.INT], before, 1)
assert got == out
request = world.Irecv([got, MPI.INT], MPI.ANY_SOURCE, 2)
world.Send([out, MPI.INT], after, 2)
status = MPI.Status()
request.Wait(status)
assert status.Get_source() == before

# objects
sent = world.isend({"from": rank}, after, 3)
assert world.recv(source=before, tag=3) == {"from": before}
sent.wait()
assert world.bcast([1, 2, 3] if rank == 0 else None, root=0) == [1, 2, 3]
assert world.gather(rank, root=1) == (list(range(size)) if rank == 1 else None)
assert world.allreduce(rank) == size * (size - 1) // 2
assert world.alltoall([rank] * size) == list(range(size))

# collectives on buffers, of another communicator
half = world.Split(rank % 2, rank)
total = array.array("d", [0.0])
half.Allreduce([array.array("d", [1.0]), MPI.DOUBLE], [total, MPI.DOUBLE], MPI.SUM)
assert total[0] == half.size
half.Free()
world.Barrier()
