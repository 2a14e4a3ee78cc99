/*
 * Rank files on their way to ti-gather, a piece at a time as the channel takes them.
 */
#ifndef TI_SEND_H
#define TI_SEND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "node/outbox.h"

/*
 * How many of `want` bytes go into one frame when `credit` may be sent: some at a time, so that
 * what is let go on when a frame came is the next one, and not all again after all came.
 */
static inline int64_t ti_send_piece(int64_t credit, int64_t want)
{
    int64_t piece = credit / 4 > 8192 ? credit / 4 : 8192;

    if (credit < 0)
        return want;
    piece = piece < credit ? piece : credit;
    return piece < want ? piece : want;
}

struct ti_send {
    bool active;
    json_int_t id;
    json_t *ranks; /* [[FIRST, LAST]...] */
    json_t *from;  /* [[RANK, BYTES, CRC32C]...], or NULL */
    size_t hint;   /* index in `from` */
    int dir;
    char run_id[40];
    size_t range;   /* index in `ranks` */
    int64_t rank;   /* being sent, or next */
    int missed;     /* ranks that had no trace */
    int64_t *there; /* after many of these: those that have a file, ascending; NULL */
    size_t nthere;
    int fd;             /* -1: between files */
    struct stat before; /* as it was opened */
    int64_t size, at;   /* bytes: then; read */
    int64_t known;      /* of these: there already, if known_crc is what is here; 0 */
    uint32_t crc, known_crc;
    int64_t sent;   /* files */
    int64_t credit; /* bytes that may be sent now; -1: any number */
};

/* Begin; `request` may name a "directory" and a "run_id" instead of these. */
ti_status ti_send_start(struct ti_send *s, const json_t *request, const char *directory,
                        const char *run_id, struct ti_err *err);

/* Go on for some pieces, until the outbox is full, the credit used, or all is sent, which the
 * answer tells. */
void ti_send_more(struct ti_send *s, int pieces, struct ti_outbox *out);

/* Whether there is something that ti_send_more() would do if the outbox has room. */
bool ti_send_can(const struct ti_send *s);

/* "more" */
void ti_send_credit(struct ti_send *s, const json_t *request);
void ti_send_end(struct ti_send *s);

/* Whether `list` is [[RANK, BYTES, CRC32C]...], as "from" has to be. */
bool ti_from_ok(const json_t *list);

#endif
