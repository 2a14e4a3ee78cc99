/*
 * Rank files on their way into the run directory: RANKFILE.part until they are whole.
 *
 * What an interrupted ti-gather left is gone on with, if the file it is of still begins so:
 * that is compared by CRC-32C, so it is read once.  What counts is how long it is on disk.
 */
#ifndef TI_RECEIVE_H
#define TI_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ti_part {
    int64_t rank, bytes;
    uint32_t crc; /* of these */
    bool before;  /* it was here before we began */
};

struct ti_parts {
    int dir;              /* the caller's */
    struct ti_part *part; /* ascending */
    int64_t n, room;
    int64_t reading; /* all before it are read */
    int fd;
    int64_t at;
};

/* What is there; false: no memory. */
bool ti_parts_find(struct ti_parts *p, int dir);
void ti_parts_free(struct ti_parts *p);

/* Reads on for some milliseconds; false when all is read. */
bool ti_parts_read(struct ti_parts *p);

/* NULL: there is none that can be gone on with.  Valid until the next ti_parts_keep(). */
const struct ti_part *ti_parts_of(const struct ti_parts *p, int64_t rank);

/* From now on there is this, with bytes 0: none.  What does not fit into memory is forgotten. */
void ti_parts_keep(struct ti_parts *p, const struct ti_part *part);

/* Removes the part of this rank, if it is a file. */
bool ti_parts_remove(const struct ti_parts *p, int64_t rank);

/* One file being received. */
struct ti_receive {
    int fd; /* -1: none */
    int64_t rank;
    int64_t size; /* that it will have */
    int64_t at;   /* bytes that are here */
    uint32_t crc; /* of these */
};

/* These return false with errno set when nothing can be written here.  Begin: behind what
 * `part` tells of, or anew: NULL. */
bool ti_receive_begin(struct ti_receive *r, int dir, int64_t rank, const struct ti_part *part,
                      int64_t size);
bool ti_receive_data(struct ti_receive *r, const void *data, size_t bytes);
bool ti_receive_done(struct ti_receive *r, int dir); /* it gets its name */

/* It is interrupted: what is there stays, which *part tells; or nothing of it. */
void ti_receive_keep(struct ti_receive *r, struct ti_part *part);
void ti_receive_drop(struct ti_receive *r, int dir);

#endif
