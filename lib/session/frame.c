#include "session/frame.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "common/write.h"

enum { AT_TYPE = 4, AT_STREAM = 8, AT_BYTES = 12, AT_CRC = 16, MAGIC_BYTES = 4 };

static void put_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void ti_frame_header(enum ti_frame_type type, uint32_t stream, const void *payload, uint32_t bytes,
                     unsigned char header[TI_FRAME_HEADER])
{
    if (bytes > TI_FRAME_MAX)
        TI_BUG("a frame is too large");
    memset(header, 0, TI_FRAME_HEADER);
    memcpy(header, TI_FRAME_MAGIC, MAGIC_BYTES);
    header[AT_TYPE] = (unsigned char)type;
    put_u32(header + AT_STREAM, stream);
    put_u32(header + AT_BYTES, bytes);
    put_u32(header + AT_CRC, ti_crc32c(ti_crc32c(0, header, AT_CRC), payload, bytes));
}

static bool is_type(unsigned type)
{
#define IS_TYPE(name, number, text) || type == number
    return false TI_FRAME_TYPES(IS_TYPE);
#undef IS_TYPE
}

/* The error in the header at `p`; NULL if there is none. */
static const char *wrong_header(const struct ti_frame_reader *r, const unsigned char *p)
{
    if (memcmp(p, TI_FRAME_MAGIC, MAGIC_BYTES) != 0)
        return "it does not begin as one";
    if (!is_type(p[AT_TYPE]) || p[5] || p[6] || p[7])
        return "its type is unknown";
    if (get_u32(p + AT_BYTES) > TI_FRAME_MAX)
        return "it is too large";
    if (!r->started && (p[AT_TYPE] != TI_FRAME_HELLO || get_u32(p + AT_STREAM) ||
                        get_u32(p + AT_BYTES) > TI_FRAME_HELLO_MAX))
        return "it is not the first";
    return NULL;
}

static bool sum_agrees(const unsigned char *p)
{
    uint32_t crc = ti_crc32c(0, p, AT_CRC);

    return ti_crc32c(crc, p + TI_FRAME_HEADER, get_u32(p + AT_BYTES)) == get_u32(p + AT_CRC);
}

/* Count noise, and keep its end. */
static void note_noise(struct ti_frame_reader *r, const unsigned char *data, size_t bytes)
{
    const size_t room = sizeof r->noise - 1;
    size_t had = strlen(r->noise), keep;

    if (bytes > room) {
        data += bytes - room;
        bytes = room;
    }
    keep = had + bytes > room ? room - bytes : had;
    memmove(r->noise, r->noise + had - keep, keep);
    for (size_t i = 0; i < bytes; i++) {
        bool plain = (data[i] >= ' ' && data[i] != 0x7f) || data[i] == '\n';

        r->noise[keep + i] = plain ? (char)data[i] : '?';
    }
    r->noise[keep + bytes] = '\0';
}

static void drop(struct ti_frame_reader *r, size_t bytes)
{
    r->used -= bytes;
    memmove(r->buf, r->buf + bytes, r->used);
}

/* Before the first frame: take everything for noise up to a possible beginning of HELLO. */
static void skip_noise(struct ti_frame_reader *r, size_t from)
{
    size_t at = from;

    while (at < r->used) {
        const unsigned char *t = memchr(r->buf + at, TI_FRAME_MAGIC[0], r->used - at);
        size_t left;

        at = t ? (size_t)(t - r->buf) : r->used;
        left = r->used - at;
        if (memcmp(r->buf + at, TI_FRAME_MAGIC, left < MAGIC_BYTES ? left : MAGIC_BYTES) == 0)
            break;
        at++;
    }
    note_noise(r, r->buf, at);
    r->noisy += at;
    drop(r, at);
}

enum found { FOUND_NOTHING, FOUND_FRAME, FOUND_WRONG };

/* Fails at TI_FRAME_NOISE_MAX; otherwise we would wait for ever for a login script that prints
 * without end. */
static ti_status only_noise(struct ti_frame_reader *r, struct ti_err *err)
{
    r->failed = 1;
    ti_err_set(err, TI_ERR_REMOTE, "%d MiB of other output came, and no frame",
               TI_FRAME_NOISE_MAX >> 20);
    ti_err_hint(err, "do its login scripts print without end?");
    return TI_ERR_REMOTE;
}

/* Examine the buffered bytes; *need is the number of bytes needed to find out more. */
static enum found look(struct ti_frame_reader *r, size_t *need, const char **why)
{
    if (!r->started && r->used)
        skip_noise(r, 0);
    for (;;) {
        *need = TI_FRAME_HEADER;
        if (r->used < *need)
            return FOUND_NOTHING;
        *why = wrong_header(r, r->buf);
        if (!*why) {
            *need += get_u32(r->buf + AT_BYTES);
            if (r->used < *need)
                return FOUND_NOTHING;
            if (sum_agrees(r->buf))
                return FOUND_FRAME;
            *why = "its checksum is wrong";
        }
        if (r->started)
            return FOUND_WRONG;
        skip_noise(r, 1);
    }
}

static bool make_room(struct ti_frame_reader *r, size_t need)
{
    unsigned char *buf = need > r->room ? realloc(r->buf, need) : r->buf;

    if (!buf)
        return false;
    r->room = need > r->room ? need : r->room;
    r->buf = buf;
    return true;
}

static void let_go(struct ti_frame_reader *r)
{
    free(r->buf);
    r->buf = NULL;
    r->room = 0;
}

static ti_status no_frame(struct ti_frame_reader *r, const char *why, struct ti_err *err)
{
    char text[64];
    size_t n = 0;

    r->failed = 1;
    for (; n < 24 && n < r->used; n++)
        text[n] = r->buf[n] >= ' ' && r->buf[n] < 0x7f ? (char)r->buf[n] : '.';
    text[n] = '\0';
    return ti_err_set(err, TI_ERR_REMOTE, "what came is no frame, '%s': %s", text, why);
}

ti_status ti_frame_feed(struct ti_frame_reader *r, const void *data, size_t bytes, size_t *used,
                        struct ti_frame *frame, int *got, struct ti_err *err)
{
    const unsigned char *p = data;
    const char *why = NULL;
    size_t need;

    *used = 0;
    *got = 0;
    if (r->failed)
        return ti_err_set(err, TI_ERR_REMOTE, "what came before was no frame");
    if (r->given)
        drop(r, r->given);
    r->given = 0;
    for (;;) {
        enum found found = look(r, &need, &why);
        size_t take = need - r->used;

        if (found == FOUND_WRONG)
            return no_frame(r, why, err);
        if (r->noisy > TI_FRAME_NOISE_MAX)
            return only_noise(r, err);
        if (found == FOUND_FRAME)
            break;
        if (*used == bytes) {
            if (!r->used)
                let_go(r);
            return TI_OK;
        }
        if (!make_room(r, need))
            return ti_err_errno(err, TI_ERR_IO, "cannot receive");
        if (take > bytes - *used)
            take = bytes - *used;
        memcpy(r->buf + r->used, p + *used, take);
        r->used += take;
        *used += take;
    }
    *frame = (struct ti_frame){.type = r->buf[AT_TYPE],
                               .stream = get_u32(r->buf + AT_STREAM),
                               .bytes = get_u32(r->buf + AT_BYTES),
                               .payload = r->buf + TI_FRAME_HEADER};
    r->started = 1;
    r->given = need;
    *got = 1;
    return TI_OK;
}

bool ti_frame_write(int fd, enum ti_frame_type type, const void *payload, size_t bytes)
{
    unsigned char header[TI_FRAME_HEADER];

    ti_frame_header(type, 0, payload, (uint32_t)bytes, header);
    return ti_write_all(fd, header, sizeof header) && ti_write_all(fd, payload, bytes);
}

void ti_frame_reader_free(struct ti_frame_reader *r)
{
    let_go(r);
    memset(r, 0, sizeof *r);
}
