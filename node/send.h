/*
 * Rank files on their way to ti-gather, a piece at a time as the channel takes them, and
 * their removal once they are safe there.
 */
#ifndef TI_SEND_H
#define TI_SEND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "node/outbox.h"

struct ti_send {
    bool active;
    json_int_t id;
    json_t *ranks; /* [[FIRST, LAST]...] */
    json_t *from;  /* [[RANK, BYTES, CRC32C]...], or NULL */
    size_t hint;   /* index in `from` */
    int dir;
    char run_id[40];
    size_t range;       /* index in `ranks` */
    int64_t rank;       /* being sent, or next */
    int fd;             /* -1: between files */
    struct stat before; /* as it was opened */
    int64_t size, at;   /* bytes: then; read */
    int64_t known;      /* of these: there already, if known_crc is what is here; 0 */
    uint32_t crc, known_crc;
    int64_t sent; /* files */
};

/* Begin; `request` may name a "directory" and a "run_id" instead of these. */
ti_status ti_send_start(struct ti_send *s, const json_t *request, const char *directory,
                        const char *run_id, struct ti_err *err);

/* Go on for some pieces, until the outbox is full or all is sent, which the answer tells. */
void ti_send_more(struct ti_send *s, int pieces, struct ti_outbox *out);
void ti_send_end(struct ti_send *s);

/*
 * What takes its time, for a process of its own: {"exists", "traces": [[RANK, BYTES, INODE,
 * MTIME_NS, END]...]} of "list" and the answer to "crc".  NULL is no answer: err.
 */
json_t *ti_send_list(const json_t *request, const char *directory, const char *run_id,
                     struct ti_err *err);
json_t *ti_send_crc(const json_t *request, const char *directory, const char *run_id,
                    struct ti_err *err);

/* Delete traces of the run; *removed is their number.  What is of another run, or is no
 * trace, is left alone. */
ti_status ti_send_remove(const json_t *request, const char *directory, const char *run_id,
                         int64_t *removed, struct ti_err *err);

/* Whether `list` is [[FIRST, LAST]...] of ranks, TI_RANKS_MAX of them at most; of "from",
 * [[RANK, BYTES, CRC32C]...]; and how many ranks a good list of ranges has. */
bool ti_ranges_ok(const json_t *list);
bool ti_from_ok(const json_t *list);
int64_t ti_ranges_count(const json_t *list);

#endif
