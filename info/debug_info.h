/*
 * Symbols and debug information of one executable file or shared library, by libdw (elfutils).
 *
 * A trace may come from anyone, and names any file.  So only regular files are opened, and the
 * file's build-id must be the expected one.  No server is asked (debuginfod): all files are opened
 * here, and the part of elfutils that downloads is not used.
 *
 * A Tiara that was built without libdw has debug_info_absent.c, which finds nothing.
 */
#ifndef TI_INFO_DEBUG_INFO_H
#define TI_INFO_DEBUG_INFO_H

#include <stdbool.h>
#include <stdint.h>

struct info_debug;

/* Kinds of debug information in a file, in ascending order of worth. */
enum info_debug_detail {
    INFO_DEBUG_NOTHING,
    INFO_DEBUG_EXPORTED, /* symbols that other modules can use */
    INFO_DEBUG_SYMBOLS,  /* all symbols */
    INFO_DEBUG_LINES     /* debug information */
};

/* Where a call comes from.  `function` and `file` belong to the struct info_debug. */
struct info_source_line {
    const char *function; /* the innermost, if functions were inlined; NULL: not known */
    uint64_t offset;      /* of the return address in `function`; 0: not known, or `file` is */
    const char *file;     /* as the compiler recorded it; NULL: not known */
    int line;             /* from 1 */
};

/*
 * Open the file `path` if its build-id is `build_id`, in hexadecimal digits ("": it has none).
 * Release the result with info_debug_close().  Returns NULL if there is no such file, or if it is
 * no ELF file; and if it is an ELF file of another build, with *other_build set to true.
 */
struct info_debug *info_debug_open(const char *path, const char *build_id, bool *other_build);
void info_debug_close(struct info_debug *d); /* NULL is fine */
enum info_debug_detail info_debug_detail(const struct info_debug *d);

/* The source line of the call that returns to `address`, as the file counts addresses.  False: not
 * known; then *out is zeroed. */
bool info_debug_find(struct info_debug *d, uint64_t address, struct info_source_line *out);

#endif
