#!/bin/bash
# Files: their events, and what is in them with and without the library.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

for np in 1 2 3 5 8; do
    mkdir "$scratch/bare-$np" "$scratch/traced-$np"
    mpirun -np $np "$TI_BUILD/tests/mpi/io" all "$scratch/bare-$np" >"$scratch/log" 2>&1 ||
        fail "io on $np ranks, not even untraced: $(head "$scratch/log")"
    check $np io all "$scratch/traced-$np"
    [ -s "$scratch/traced-$np/data" ] || fail "io: no file on $np ranks"
    diff -r "$scratch/bare-$np" "$scratch/traced-$np" || fail "io: files of $np ranks"
done

# Of Open MPI's two implementations one never comes back from a read in two parts
# that ends with the file.
if ompi_info 2>/dev/null | grep -q 'MCA io: romio'; then
    romio=$(ompi_info | sed -n 's/.*MCA io: \(romio[0-9]*\).*/\1/p')
    mkdir "$scratch/short"
    OMPI_MCA_io=$romio check 3 io short "$scratch/short"
fi

# Sums of ti-info.
mkdir "$scratch/sums"
trace "$scratch/run" 2 cputime "$TI_BUILD/tests/mpi/io" sequence "$scratch/sums" >"$scratch/log" 2>&1 ||
    fail "io sequence: $(cat "$scratch/log")"
"$TI_BUILD/ti-info" --json "$scratch/run" >"$scratch/json"
# each of 2 ranks: 13 writes of 40 bytes and one of 4; 12 reads of 40, one of 4, two of 20
grep -q '"written_bytes": 1048,' "$scratch/json" || fail "written: $(grep written_ "$scratch/json")"
grep -q '"read_bytes": 1048,' "$scratch/json" || fail "read: $(grep read_ "$scratch/json")"
"$TI_BUILD/ti-info" "$scratch/run" | grep -q '^files  *58, 1,048 bytes written, 1,048 read$' ||
    fail "$("$TI_BUILD/ti-info" "$scratch/run" | grep ^files)"

# A file that the trace cannot know.
trace "$scratch/stranger" 2 cputime "$TI_BUILD/tests/mpi/io" stranger "$scratch/sums" \
    >"$scratch/out" 2>&1 || fail "stranger: $(cat "$scratch/out")"
echo 'tiara: rank 0: recording stopped: MPI_File_write_all, after event 1: a file that no traced' \
    'call made; the application goes on, its trace is incomplete' >"$scratch/expected"
same "$scratch/expected" "$scratch/out" 'stranger: what is said'
finish
