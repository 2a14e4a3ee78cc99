#include "tests/unit/fold_script.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "merged/encode.h"
#include "merged/merger.h"
#include "tests/unit/script.h"

/* Let the loops of a record that have `from` trips have `to`. */
static void stretch(struct ti_record *record, int64_t from, int64_t to)
{
    int found = 0;

    for (size_t i = 0; i < record->nnumbers; i++)
        if (record->number[i] == from) {
            ((int64_t *)(uintptr_t)record->number)[i] = to;
            found++;
        }
    assert_true(found > 0);
}

struct ti_source *fold_script(int np, int64_t from, const int64_t *to)
{
    struct ti_source *s;
    struct ti_merger *m;
    struct ti_err err;
    char path[96];
    int fd;

    snprintf(path, sizeof path, "%s/ranks.ti", script_dir());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(ti_merger_new((uint32_t)np, ti_source_run_id(script_source), NULL, &m, &err),
                     TI_OK);
    for (int rank = 0; rank < np; rank++) {
        struct ti_record record;
        struct ti_reader *r;

        if (!ti_source_has(script_source, rank))
            continue;
        assert_int_equal(ti_source_reader(script_source, rank, &r, &err), TI_OK);
        assert_int_equal(ti_folded_encode_shape(r, &record, &err), TI_OK);
        if (from)
            stretch(&record, from, to[rank]);
        assert_int_equal(ti_merger_add(m, &record, &err), TI_OK);
        ti_record_free(&record);
        ti_reader_close(r);
    }
    assert_int_equal(ti_merger_write(m, fd, path, &err), TI_OK);
    ti_merger_free(m);
    close(fd);
    assert_int_equal(ti_source_open(path, &s, &err), TI_OK);
    return s;
}
