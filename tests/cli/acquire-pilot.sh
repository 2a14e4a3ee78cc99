#!/bin/bash
# --pilot: the plan goes by what a rank took at several numbers of ranks.
. tests/cli/acquire-lib.bash

# Memory as it is divided, or as it is told to be: 60 MiB / np + 10 MiB, or 4 MiB for each rank.
# With a file beside it, that is read by mapping it, and no longer mapped in the end.
cat >../share.c <<'C'
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_file(const char *path)
{
    size_t size = 32 << 20;
    int fd = open(path, O_RDONLY), sum = 0;
    const char *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 4);
    for (size_t i = 0; i < size; i += 4096)
        sum += p[i];
    usleep(600000);
    munmap((void *)p, size);
    close(fd);
    usleep(200000 + (useconds_t)sum);
}

int main(int argc, char **argv)
{
    size_t mib;
    char *p;
    int np;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    if (argc > 2 && np == atoi(argv[2]))
        return 3;
    if (strcmp(argv[1], "file") == 0)
        read_file(argv[2]);
    mib = strcmp(argv[1], "grows") == 0 ? 4 * (size_t)np : 10 + 60 / (size_t)np;
    p = malloc(mib << 20);
    memset(p, 1, mib << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(600000);
    MPI_Barrier(MPI_COMM_WORLD);
    free(p);
    MPI_Finalize();
    return 0;
}
C
"${MPICC:-mpicc}" -O0 -o ../share ../share.c || exit 1
c="--local -c cputime --np 60 --dry-run"

# between LEAST MOST KEY [UNIT]: what the plan says of memory, in so many bytes
between() {
    local is
    is=$(json ../out "plan.memory.$3") || { fail "no $3"; cat ../out; return; }
    awk "BEGIN { is = $is / ${4:-1}; exit !($1 <= is && is <= $2) }" ||
        { fail "$3 is $is, not $1 to $2"; cat ../out; }
}
mib=1048576

# From 2, 4 and 6 ranks it knows of 60: 11 MiB, and Open MPI's 3; the library's quarter and the
# margin are beside that.
run 0 $c --json --pilot 6,2,4 ../share divided
json ../out 'plan.memory.source="pilot"' || fail "source"
between 10 18 pilot.a $mib
between 50 70 pilot.b $mib
between 0 3 pilot.residual_pct
between 12 22 bytes_per_rank $mib
json ../out 'plan.memory.pilot.points.*.np=[2, 4, 6]' || fail "points"

# Pages of files are not a rank's own, nor those of before: libraries that MPI_Finalize unmapped
# would be counted in some runs, and not in others
truncate -s 32M ../file
run 0 $c --json --pilot 2,4,6 ../share file ../file
between 12 22 bytes_per_rank $mib
between 0 3 pilot.residual_pct

# Memory that grows with the ranks, planned with little memory: as many as fit are told
run 3 $c --np 4000 --pilot 2,4,6 ../share grows
says err 'ranks need'
says err 'extrapolated far: from 6 ranks'
says err 'hint: at most'

# A number at which it fails is left out; one is too few of several
run 0 $c --json --pilot 2,4,6 ../share divided 4
says err 'the pilot with 4 ranks ended with status 3: left out'
json ../out 'plan.memory.pilot.points.*.np=[2, 6]' || fail "points without 4"
run 3 $c --pilot 3,4 ../share divided 4
says err 'only one pilot run told what a rank takes'
says err '--mem-per-rank'

# Command lines
run 2 $c --pilot 4,8,4 ../app
says err "--pilot has 4 twice"
run 2 $c --pilot 4,,8 ../app
run 2 $c --pilot 4,65 ../app
says err '--pilot'
run 2 $c --pilot 4 --mem-per-rank 10M ../app
says err 'both determine the memory of a rank: give one'

# And a run, planned so
run 0 --local -c cputime --np 8 --pilot 2,4 -o p.tib ../share divided
says err '(2 and 4 ranks)'
says err '% of it for safety'
"$o/ti-info" --json p.tib >../out 2>/dev/null || fail "no bundle"
holds p.tib
clean
# Without --pilot one is run where memory may be short, and said to be: 30 ranks in 8 GiB.  What
# it writes into the working directory is gone, where that can be had.
cat >../append.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    FILE *f;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        f = fopen("results", "a");
        fprintf(f, "of %d\n", size);
        fclose(f);
    }
    if (argc > 1 && rank == 2) {
        fprintf(stderr, "no module is called 'numpy'\n");
        exit(7);
    }
    usleep(300000);
    MPI_Finalize();
    return 0;
}
C
"${MPICC:-mpicc}" -O0 -o ../append ../append.c || exit 1
rm -rf ./* # of what came before
kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
reserve=256M
[ "$kib" -lt $((9 << 20)) ] || reserve=$((kib - (8 << 20)))K
c="--local -c cputime --np 30 --reserve $reserve --pin $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"
run 0 $c --dry-run ../append
says out "pilot     the program first runs briefly with few ranks"
run 0 $c ../append
says err "pilot: '../append' first runs untraced with 4 ranks"
says err "--pilot no does without"
says err "probed at 4 ranks"
if grep -q 'and so is what it writes into the working directory' ../err; then
    [ "$(cat results)" = 'of 30' ] || fail "the pilot wrote: $(cat results)"
else
    echo 'not tried: an overlay, which cannot be had here'
    [ "$(tail -n 1 results)" = 'of 30' ] || fail "results: $(cat results)"
fi
holds append.30.tib results
# A program that fails in it is not run in full, and what it says is told.
run 6 $c ../append fails
says err "no module is called 'numpy'"
says err "'../append' failed in its pilot run: status 7 with 4 ranks; rank 2 failed first"
silent err 'plan for'
rm -f results
holds ""
run 6 $c --pilot no ../append fails
says err 'plan for'
says err 'not measured'
rm -rf ./*
run 0 $c --pilot no ../append
[ "$(cat results)" = 'of 30' ] || fail "--pilot no: results: $(cat results)"
holds append.30.tib results
finish
