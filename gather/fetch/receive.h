/*
 * Writes rank files into the run directory; incomplete ones are RANKFILE.part.
 *
 * A .part file of an earlier ti-gather is resumed if the node's file starts with the same bytes.
 * The node compares them by length and CRC-32C, so each .part file is read once here.
 */
#ifndef TI_GATHER_FETCH_RECEIVE_H
#define TI_GATHER_FETCH_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ti_partial {
    int64_t rank, bytes;
    uint32_t crc; /* CRC-32C of these */
    bool before;  /* left by an earlier ti-gather */
};

struct ti_parts {
    int dir;              /* the caller's */
    struct ti_partial *part; /* by ascending rank */
    int64_t n;
    size_t room;
    int64_t reading; /* index of the part being read: bytes and crc of those before are known */
    int fd;          /* of that part; -1 */
    int64_t at;
};

/* Finds the .part files in directory `dir`. */
void ti_parts_find(struct ti_parts *p, int dir);
void ti_parts_free(struct ti_parts *p);

/* Reads some more of them, for milliseconds.  Returns false when all are read. */
bool ti_parts_read(struct ti_parts *p);

/* The part to resume for a rank; NULL: none.  Valid until the next ti_parts_keep(). */
const struct ti_partial *ti_parts_of(const struct ti_parts *p, int64_t rank);

/* Records a part; bytes 0: there is none any more. */
void ti_parts_keep(struct ti_parts *p, const struct ti_partial *part);

/* Removes the .part file of this rank, if it is a regular file.  Returns whether it did. */
bool ti_parts_remove(const struct ti_parts *p, int64_t rank);

/* One file being received, or a merged trace. */
struct ti_receive {
    int fd; /* -1: none */
    int64_t rank;
    int64_t start; /* where it begins in fd: 0 for a file */
    int64_t size;  /* in the end */
    int64_t at;    /* bytes received, with those resumed */
    uint32_t crc; /* CRC-32C of these */
};

/* Begin, append, finish (the file gets its name).  Return false with errno when a write fails.
 * `part`: resume after it; NULL: from the start. */
bool ti_receive_begin(struct ti_receive *r, int dir, int64_t rank, const struct ti_partial *part,
                      int64_t size);
bool ti_receive_data(struct ti_receive *r, const void *data, size_t bytes);
bool ti_receive_done(struct ti_receive *r, int dir);

/* Begin to receive a part of the file `fd` of the caller's, from `start` on: what is received in
 * the name of `rank`.  It ends with ti_receive_keep(), whose part is of no use then. */
bool ti_receive_begin_at(struct ti_receive *r, int fd, int64_t start, int64_t rank, int64_t size);

/* Interrupted: keep the .part file, and describe it in *part; or remove it. */
void ti_receive_keep(struct ti_receive *r, struct ti_partial *part);
void ti_receive_drop(struct ti_receive *r, int dir);

#endif
