/*
 * Sending rank files to ti-gather ("send", session/messages.h): a state machine that reads and
 * sends one piece at a time.
 *
 * Per rank: skip the bytes that the receiver has already, after comparing their CRC; then send the
 * rest, as far as the credit allows.  With "merge", first the ranks are merged, by a task
 * (merge.h), and their merged trace is sent like one rank's file; then files, of the ranks that are
 * not in it.
 */
#ifndef TI_NODE_SEND_H
#define TI_NODE_SEND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "node/outbox.h"

/*
 * How many of `want` bytes go into one frame, if `credit` bytes may be sent (-1: any number).  The
 * credit is split into frames, so that the receiver can give new credit after each of them, while
 * the others are on their way.
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
    json_t *from;  /* [[RANK, BYTES, CRC32C]...] that the receiver has; or NULL */
    size_t hint;   /* index in `from` where the next look-up starts */
    int dir;
    char run_id[40];
    size_t range;   /* index in `ranks` */
    int64_t rank;   /* the current or next one */
    int missed;     /* ranks without a trace */
    int64_t *there; /* after many of these: the ranks with a file, ascending; else NULL */
    size_t nthere;
    int fd;             /* -1: between files */
    struct stat before; /* at the time of opening */
    int64_t size, at;   /* bytes at that time; bytes read */
    int64_t known;      /* bytes that the receiver has if known_crc is right; 0: none */
    uint32_t crc, known_crc;
    int64_t sent;     /* ranks */
    bool merging;     /* nothing is sent before ti_send_merged() */
    int merged_fd;    /* the file for the merged trace; -1 */
    bool sends_merged; /* the current file is the merged trace */
    json_t *merged;   /* [[RANK, BYTES, CRC32C]...] of it; NULL: none */
    char *not_merged; /* why there is none, though it was asked for; NULL */
    int64_t credit; /* bytes that may be sent now; -1: any number */
};

/* Begin.  `directory` and `run_id` are those of "open"; `request` may name others. */
ti_status ti_send_start(struct ti_send *s, const json_t *request, const char *directory,
                        const char *run_id, struct ti_err *err);

/* Process up to `pieces` pieces, until the outbox is full, the credit is used up, or everything is
 * sent: then comes the answer. */
void ti_send_more(struct ti_send *s, int pieces, struct ti_outbox *out);

/* After ti_send_start() with `merging`: what ti_merge_ranks() answered; NULL: it died. */
void ti_send_merged(struct ti_send *s, json_t *result, struct ti_outbox *out);

/* Whether ti_send_more() would do something if the outbox had room. */
bool ti_send_can(const struct ti_send *s);

/* Process "more". */
void ti_send_credit(struct ti_send *s, const json_t *request);
void ti_send_end(struct ti_send *s);

#endif
