/*
 * Time until the bundle is complete after the last byte of a run's traces has come.
 *
 *   ahead RUN TO BUNDLE SECONDS
 *
 * Copies the traces of RUN into the new directory TO, 32 at a time, evenly over SECONDS, as
 * ti-gather has them come from 32 nodes, and makes BUNDLE of them.  Prints the seconds from the
 * last byte until all were checked, until the bundle was there, and the same for a bundle made of
 * TO without anything done ahead; then the peak of memory in KiB.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/check.h"
#include "bundle/scanner.h"
#include "common/write.h"
#include "trace/rankname.h"

#define NODES 32
#define BLOCK (128 * 1024)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "ahead: %s\n", what);
    return 1;
}

static int64_t count(int dir)
{
    char name[TI_RANK_NAME_BYTES];
    int64_t n = 0;

    while (faccessat(dir, ti_rank_name(n, name), F_OK, 0) == 0)
        n++;
    return n;
}

/* One node's ranks follow each other. */
struct node {
    int64_t rank, last;
    int from, to;
};

/* The next block of a node's traces: 0 when it has no more. */
static int pass(struct node *n, int from, int to, struct ti_scanner *a)
{
    static char block[BLOCK];
    char name[TI_RANK_NAME_BYTES], part[64];
    ssize_t got;

    if (n->rank > n->last)
        return 0;
    ti_rank_name(n->rank, name);
    snprintf(part, sizeof part, "%s.part", name);
    if (n->from < 0) {
        n->from = openat(from, name, O_RDONLY);
        n->to = openat(to, part, O_WRONLY | O_CREAT | O_EXCL, 0666);
    }
    got = read(n->from, block, sizeof block);
    if (got > 0)
        return ti_write_all(n->to, block, (size_t)got) ? 1 : -1;
    if (got < 0 || close(n->from) || close(n->to) || renameat(to, part, to, name))
        return -1;
    n->from = -1;
    n->rank++;
    ti_scanner_add(a, n->rank - 1);
    return 1;
}

static int pass_all(int from, int to, struct ti_scanner *a, double seconds)
{
    struct node node[NODES];
    int64_t ranks = count(from), blocks = 0, done = 0;
    double start = now();
    int busy = 1;

    for (int64_t r = 0; r < ranks; r++) {
        char name[TI_RANK_NAME_BYTES];
        struct stat sb;

        if (fstatat(from, ti_rank_name(r, name), &sb, 0) == 0)
            blocks += (sb.st_size + BLOCK - 1) / BLOCK + 1;
    }
    for (int64_t i = 0; i < NODES; i++)
        node[i] = (struct node){ranks * i / NODES, ranks * (i + 1) / NODES - 1, -1, -1};
    while (busy > 0) {
        busy = 0;
        for (int i = 0; i < NODES && busy >= 0; i++) {
            int rc = pass(&node[i], from, to, a);
            double wait = start + seconds * (double)(done += rc > 0) / (double)blocks - now();

            busy = rc < 0 ? -1 : busy | rc;
            if (rc > 0 && wait > 0)
                usleep((useconds_t)(1e6 * wait));
        }
    }
    return busy;
}

static int make(const char *dir, struct ti_scanner *a, struct ti_bundle *b)
{
    double start = now();
    struct ti_run *run;
    struct ti_err err;
    int64_t bytes;

    if (ti_run_check(dir, NULL, a, &run, &err) != TI_OK)
        return fail(err.text);
    printf("%.2f ", now() - start);
    if (ti_bundle_finish(b, run, &bytes, &err) != TI_OK)
        return fail(err.text);
    printf("%.2f ", now() - start);
    ti_run_free(run);
    ti_scanner_free(a);
    ti_bundle_free(b);
    return 0;
}

int main(int argc, char **argv)
{
    struct ti_bundle *b;
    struct ti_scanner *a;
    struct ti_err err;
    struct rusage used;
    int from, to;

    if (argc != 5)
        return 2;
    from = open(argv[1], O_RDONLY | O_DIRECTORY);
    if (from < 0 || mkdir(argv[2], 0777) || (to = open(argv[2], O_RDONLY | O_DIRECTORY)) < 0)
        return fail("cannot open the directories");
    if (ti_bundle_begin(argv[3], true, &b, &err) != TI_OK)
        return fail(err.text);
    a = ti_scanner_new(argv[2], b, NULL);
    if (!a || pass_all(from, to, a, atof(argv[4])) < 0)
        return fail("cannot copy");
    if (make(argv[2], a, b))
        return 1;
    sync();
    if (ti_bundle_begin(argv[3], true, &b, &err) != TI_OK)
        return fail(err.text);
    if (make(argv[2], NULL, b))
        return 1;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld\n", used.ru_maxrss);
    return 0;
}
