/*
 * A zip file being written: members are put one after another, the traces uncompressed.
 *
 * Functions that return bool return false with errno set; nothing is written after a failed write.
 */
#ifndef TI_BUNDLE_ZIP_WRITER_H
#define TI_BUNDLE_ZIP_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct archive;

struct ti_zip_writer {
    int fd; /* the caller's */
    struct archive *zip;
    int64_t written, flushing; /* bytes of the file; of them, with write-out started */
    int error;                 /* errno of the write that failed */
};

/* Begins at the start of the file `fd`.  Release with ti_zip_writer_drop() in any case. */
bool ti_zip_writer_begin(struct ti_zip_writer *w, int fd);

/* Begins a member of `bytes` bytes; ends it once they were put. */
bool ti_zip_writer_member(struct ti_zip_writer *w, const char *name, int64_t bytes, time_t mtime);
bool ti_zip_writer_put(struct ti_zip_writer *w, const void *data, size_t bytes);
bool ti_zip_writer_end_member(struct ti_zip_writer *w);

/* Puts the manifest, deflated unless readers would take that for an attack (ti_zip_may_deflate()).
 */
bool ti_zip_writer_manifest(struct ti_zip_writer *w, const char *text, size_t bytes, time_t mtime);

/* Writes the directory and the seal (bundle/zip.h).  The file must be readable, too. */
bool ti_zip_writer_close(struct ti_zip_writer *w);

/* Frees the memory without writing to the file.  All zero is fine. */
void ti_zip_writer_drop(struct ti_zip_writer *w);

#endif
