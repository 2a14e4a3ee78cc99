#include "bundle/merging.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/scratch.h"
#include "fold/decode.h"
#include "trace/rankname.h"

#define BLOCK_BYTES (1024 * 1024)

ti_status ti_merging_begin(struct ti_merging *m, uint32_t nranks,
                           const uint8_t run_id[TI_RUN_ID_BYTES], const char *scratch,
                           struct ti_err *err)
{
    *m = (struct ti_merging){.nranks = nranks, .scratch = strdup(scratch)};
    memcpy(m->run_id, run_id, TI_RUN_ID_BYTES);
    if (!m->scratch)
        return ti_err_errno(err, TI_ERR_IO, "cannot merge ranks");
    return ti_merger_new(nranks, run_id, scratch, &m->merger, err);
}

void ti_merging_end(struct ti_merging *m)
{
    ti_merger_free(m->merger);
    free(m->scratch);
    *m = (struct ti_merging){0};
}

/* Note what the record leaves out of the trace. */
static ti_status note_caveats(struct ti_merging *m, const struct ti_record *record,
                              struct ti_err *err)
{
    struct ti_record borrowed = *record;
    struct ti_reader *r;
    ti_status st;

    borrowed.memory = NULL;
    st = ti_reader_open_record(&borrowed, m->nranks, m->run_id, TI_MERGED_NAME, &r, err);
    if (st != TI_OK)
        return st;
    st = ti_reader_skip(r, err);
    if (st == TI_OK)
        ti_caveats_add(&m->caveats, r);
    ti_reader_close(r);
    return st;
}

ti_status ti_merging_add(struct ti_merging *m, const struct ti_record *record, struct ti_err *err)
{
    ti_status st = note_caveats(m, record, err);

    if (st == TI_OK)
        st = ti_merger_add(m->merger, record, err);
    if (st == TI_OK)
        m->copies += ti_record_is_copy(record);
    return st;
}

static uint32_t crc_of(uint32_t crc, const struct ti_bytes *bytes)
{
    crc = ti_crc32c(crc, &bytes->n, sizeof bytes->n);
    return bytes->n ? ti_crc32c(crc, bytes->data, bytes->n) : crc;
}

uint32_t ti_merging_crc(const struct ti_record *record)
{
    const struct ti_bytes numbers = {(const uint8_t *)record->number,
                                     record->nnumbers * sizeof *record->number};
    uint32_t crc = crc_of(ti_crc32c(0, &record->rank, sizeof record->rank), &record->pattern);

    crc = crc_of(crc, &numbers);
    for (size_t i = 0; i < record->nblobs; i++)
        crc = crc_of(crc, &record->blob[i]);
    return crc;
}

/* Copy the file into the member that was begun. */
static bool put_file(struct ti_zip_writer *zip, int fd)
{
    char *block = malloc(BLOCK_BYTES);
    ssize_t n = -1;

    while (block && ((n = read(fd, block, BLOCK_BYTES)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0 && !ti_zip_writer_put(zip, block, (size_t)n)) {
            n = -1;
            break;
        }
    free(block);
    return n == 0;
}

bool ti_merging_put(struct ti_zip_writer *zip, int fd, int64_t bytes)
{
    return bytes >= 0 && lseek(fd, 0, SEEK_SET) == 0 &&
           ti_zip_writer_member(zip, TI_MERGED_NAME, bytes, 0) && put_file(zip, fd) &&
           ti_zip_writer_end_member(zip);
}

ti_status ti_merging_store(struct ti_merging *m, struct ti_zip_writer *zip, const char *name,
                           int64_t *bytes, struct ti_err *err)
{
    int fd = ti_scratch_unnamed(m->scratch, err), cause;
    ti_status st = fd < 0 ? TI_ERR_IO : ti_merger_write(m->merger, fd, name, err);

    if (st == TI_OK) {
        *bytes = lseek(fd, 0, SEEK_END);
        if (!ti_merging_put(zip, fd, *bytes))
            st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", name);
    }
    cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return st;
}

bool ti_merging_manifest(const struct ti_merging *m, char **text, size_t *bytes)
{
    json_t *json = json_loadb(*text, *bytes, 0, NULL);

    free(*text);
    json_object_del(json, "ranks");
    json_object_set_new(json_object_get(json, "totals"), "caveats", ti_caveats_json(&m->caveats));
    *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    if (*text)
        *bytes = strlen(*text);
    return *text != NULL;
}
