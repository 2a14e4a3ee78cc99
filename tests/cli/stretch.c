/*
 * Lengthen the loops of a merged trace, for tests of traces that are too long to be read.
 *
 *   stretch TRACE OUT FROM TO [FROM TO]...
 *
 * writes the ranks of TRACE into the merged trace OUT.  Each number of a record that is FROM, such
 * as the trips of a loop, becomes TO there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "bundle/source.h"
#include "fold/record.h"
#include "merged/merger.h"

static int fail(const struct ti_err *err)
{
    fprintf(stderr, "stretch: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    struct ti_source *s;
    struct ti_merger *m;
    struct ti_err err;
    int fd;

    if (argc < 5 || argc % 2 == 0 || ti_source_open(argv[1], &s, &err) ||
        ti_merger_new((uint32_t)ti_source_nranks(s), ti_source_run_id(s), NULL, &m, &err))
        return fail(&err);
    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++) {
        struct ti_record record;

        if (!ti_source_has(s, rank))
            continue;
        if (ti_source_record(s, rank, NULL, &record, &err))
            return fail(&err);
        for (size_t i = 0; i < record.nnumbers; i++)
            for (int k = 3; k < argc; k += 2)
                if (record.number[i] == strtoll(argv[k], NULL, 0)) {
                    ti_record_set(&record, i, strtoll(argv[k + 1], NULL, 0));
                    break;
                }
        if (ti_merger_add(m, &record, &err))
            return fail(&err);
        ti_record_free(&record);
    }
    fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (ti_merger_write(m, fd, argv[2], &err))
        return fail(&err);
    ti_merger_free(m);
    ti_source_close(s);
    return 0;
}
