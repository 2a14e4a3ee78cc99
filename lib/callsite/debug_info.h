/*
 * Symbols and debug information of one executable file or shared library, by libdw (elfutils).
 *
 * A trace may come from anyone, and names any file.  So only regular files are opened, and the
 * file's build-id must be the expected one.  No server is asked (debuginfod): all files are opened
 * here, and the part of elfutils that downloads is not used.
 *
 * A Tiara that was built without libdw has debug_info_absent.c, which finds nothing.
 */
#ifndef TI_CALLSITE_DEBUG_INFO_H
#define TI_CALLSITE_DEBUG_INFO_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this program was built with libdw. */
extern const bool ti_debug_available;

struct ti_debug;

/* Kinds of debug information in a file, in ascending order of worth. */
enum ti_debug_detail {
    TI_DEBUG_NOTHING,
    TI_DEBUG_EXPORTED, /* symbols that other modules can use */
    TI_DEBUG_SYMBOLS,  /* all symbols */
    TI_DEBUG_LINES     /* debug information */
};

/* Where a call comes from.  `function` and `file` belong to the struct ti_debug. */
struct ti_site_line {
    const char *function; /* the innermost, if functions were inlined; NULL: not known */
    uint64_t offset;      /* of the return address in `function`; 0: not known, or `file` is */
    const char *file;     /* as the compiler recorded it; NULL: not known */
    int line;             /* from 1 */
};

/*
 * Open the file `path` if its build-id is `build_id`, in hexadecimal digits ("": it has none).
 * Release the result with ti_debug_close().  Returns NULL if there is no such file, or if it is
 * no ELF file; and if it is an ELF file of another build, with *other_build set to true.
 */
struct ti_debug *ti_debug_open(const char *path, const char *build_id, bool *other_build);
void ti_debug_close(struct ti_debug *d); /* NULL is fine */
enum ti_debug_detail ti_debug_detail(const struct ti_debug *d);

/* The source line of the call that returns to `address`, as the file counts addresses.  False: not
 * known; then *out is zeroed. */
bool ti_debug_find(struct ti_debug *d, uint64_t address, struct ti_site_line *out);

#endif
