#include "replay-bridge/convert/sizes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/scratch.h"

#define BLOCK_SIZES 31

struct block {
    int64_t size[BLOCK_SIZES];
    int64_t next; /* number of the next block of the channel */
};

struct ti_size_channel {
    uint64_t sent, room; /* sums of the sent sizes and of the buffers of receives */
    int64_t bytes;       /* size of the leading messages, which are all equal */
    uint64_t alike;      /* number of leading messages */
    uint64_t taken;      /* number of sizes returned by ti_sizes_of() */
    struct block *block; /* current block of the later sizes; NULL: there are none */
    int64_t first, at;   /* numbers of the first block and of the current one */
    int n;               /* sizes of the current block that were added, or returned */
};

ti_status ti_sizes_open(struct ti_sizes *sizes, struct ti_err *err)
{
    const char *path = ti_scratch_path("sizes");

    *sizes = (struct ti_sizes){.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (sizes->file < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    unlink(path);
    return TI_OK;
}

void ti_sizes_close(struct ti_sizes *sizes)
{
    if (!sizes->known.n && sizes->file <= 0)
        return;
    for (size_t c = 0; c < sizes->known.n; c++)
        free(sizes->channel[c].block);
    free(sizes->channel);
    ti_map_free(&sizes->known);
    close(sizes->file);
    *sizes = (struct ti_sizes){0};
}

static struct ti_size_channel *channel_of(struct ti_sizes *s, int64_t rank, const struct ti_msg *m)
{
    int64_t from = m->recv ? m->peer : rank, to = m->recv ? rank : m->peer;
    int64_t c = ti_map_add(&s->known, m->gid, m->tag, from, to);

    s->channel = ti_grow(s->channel, &s->cap, s->known.n, sizeof s->channel[0]);
    return &s->channel[c];
}

static void write_block(struct ti_sizes *s, const struct ti_size_channel *c)
{
    off_t where = (off_t)(c->at * (int64_t)sizeof *c->block);

    if (!s->st && pwrite(s->file, c->block, sizeof *c->block, where) != sizeof *c->block)
        s->st = ti_err_errno(&s->err, TI_ERR_IO, "cannot keep the sizes of messages");
}

static ti_status read_block(struct ti_sizes *s, struct ti_size_channel *c, int64_t number,
                            struct ti_err *err)
{
    off_t where = (off_t)(number * (int64_t)sizeof *c->block);

    c->at = number;
    c->n = 0;
    if (pread(s->file, c->block, sizeof *c->block, where) != sizeof *c->block)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the sizes of messages again");
    return TI_OK;
}

static void add_size(struct ti_sizes *s, struct ti_size_channel *c, int64_t bytes)
{
    size_t none = 0;

    if (!c->block) {
        c->block = ti_grow(NULL, &none, 1, sizeof *c->block);
        c->first = c->at = s->blocks++;
    }
    if (c->n == BLOCK_SIZES) {
        c->block->next = s->blocks++;
        write_block(s, c);
        c->at = c->block->next;
        c->n = 0;
    }
    c->block->size[c->n++] = bytes;
}

void ti_sizes_add(struct ti_sizes *s, int64_t rank, const struct ti_msg *m)
{
    struct ti_size_channel *c;

    if (m->null)
        return;
    c = channel_of(s, rank, m);
    if (m->recv) {
        c->room += (uint64_t)m->bytes;
        return;
    }
    c->sent += (uint64_t)m->bytes;
    if (!c->block && (!c->alike || c->bytes == m->bytes)) {
        c->bytes = m->bytes;
        c->alike++;
    } else {
        add_size(s, c, m->bytes);
    }
}

ti_status ti_sizes_seal(struct ti_sizes *s, struct ti_err *err)
{
    for (size_t i = 0; i < s->known.n; i++) {
        struct ti_size_channel *c = &s->channel[i];

        if (c->block)
            write_block(s, c);
    }
    if (s->st && err)
        *err = s->err;
    return s->st;
}

ti_status ti_sizes_of(struct ti_sizes *s, int64_t rank, const struct ti_msg *m, int64_t *bytes,
                      struct ti_err *err)
{
    struct ti_size_channel *c = channel_of(s, rank, m);
    uint64_t nth = c->taken++;
    ti_status st = TI_OK;

    if (c->sent == c->room) {
        *bytes = m->bytes;
        return TI_OK;
    }
    if (nth < c->alike || !c->block) {
        *bytes = c->bytes;
        return TI_OK;
    }
    if (nth == c->alike)
        st = read_block(s, c, c->first, err);
    else if (c->n == BLOCK_SIZES)
        st = read_block(s, c, c->block->next, err);
    *bytes = st ? 0 : c->block->size[c->n++];
    return st;
}
