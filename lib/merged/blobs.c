#include <stdlib.h>
#include <unistd.h>

#include "common/scratch.h"
#include "common/sha256.h"
#include "common/write.h"
#include "merged/merger_internal.h"
#include "trace/chunk.h"

enum { PENDING_BYTES = 1 << 18 };

static const char what[] = "temporary file of the merger";

ti_status ti__blobs_open(struct blobs *b, const char *folder, struct ti_err *err)
{
    b->fd = ti_scratch_unnamed(folder, err);
    return b->fd < 0 ? TI_ERR_IO : TI_OK;
}

static ti_status write_pending(struct blobs *b, struct ti_err *err)
{
    if (!ti_write_all(b->fd, b->pending.data, b->pending.n))
        return ti_err_errno(err, TI_ERR_IO, "cannot write the %s", what);
    b->pending.n = 0;
    return TI_OK;
}

void ti__bytes_key(const struct ti_bytes *bytes, int64_t key[2])
{
    struct ti_sha256 sum;

    ti_sha256_begin(&sum);
    if (bytes->n)
        ti_sha256_add(&sum, bytes->data, bytes->n);
    ti_sha256_end_key(&sum, key);
}

ti_status ti__blobs_add(struct blobs *b, const struct ti_bytes *bytes, uint32_t *index,
                        struct ti_err *err)
{
    size_t was = b->map.n;
    struct blob *blob;
    int64_t key[2];
    ti_status st = TI_OK;

    ti__bytes_key(bytes, key);
    *index = (uint32_t)ti_map_add(&b->map, key[0], key[1], (int64_t)bytes->n, 0);
    if (*index == was) {
        b->blob = ti_grow(b->blob, &b->cap, b->map.n, sizeof *b->blob);
        b->blob[*index].at = b->bytes;
        b->bytes += bytes->n;
        ti_buffer_put(&b->pending, bytes->data, bytes->n);
        if (b->pending.no_memory)
            return ti_err_memory(err, "merge traces");
        if (b->pending.n > PENDING_BYTES)
            st = write_pending(b, err);
    }
    blob = &b->blob[*index];
    blob->uses += blob->uses < UINT32_MAX;
    return st;
}

size_t ti__blob_bytes(const struct blobs *b, uint32_t index)
{
    return (size_t)b->map.key[index][2];
}

ti_status ti__blobs_put(struct blobs *b, uint32_t index, struct ti_buffer *out, struct ti_err *err)
{
    size_t bytes = ti__blob_bytes(b, index);
    ti_status st = write_pending(b, err);

    if (!bytes || st)
        return st;
    out->data = ti_grow(out->data, &out->cap, out->n + bytes, 1);
    st = ti_read_at(b->fd, (int64_t)b->blob[index].at, out->data + out->n, bytes, what, err);
    out->n += bytes;
    return st;
}

void ti__blobs_close(struct blobs *b)
{
    if (b->fd >= 0)
        close(b->fd);
    free(b->pending.data);
    ti_map_free(&b->map);
    free(b->blob);
}
