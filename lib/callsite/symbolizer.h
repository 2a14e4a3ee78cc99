/*
 * Source lines of call sites.
 *
 * A trace names a call site as "module+0xoffset [build-id]" (trace/trace.h).  The symbolizer
 * finds the module's file and looks the offset up in its debug information (debug_info.h).  It
 * knows a file of another build by its build-id, and does not use it.  The file is, in this order:
 *
 *   - a file of the user's folders: .build-id/XX/YYY.debug, MODULE or MODULE.debug,
 *   - the program by the path of its command line, or MODULE in the folder of the program,
 *   - /usr/lib/debug/.build-id/XX/YYY.debug,
 *   - MODULE in the folder of this machine's C library.
 *
 * The first file with debug information is used, otherwise the one with most symbols.
 */
#ifndef TI_CALLSITE_SYMBOLIZER_H
#define TI_CALLSITE_SYMBOLIZER_H

#include <jansson.h>

#include "callsite/debug_info.h"
#include "trace/reader.h"

struct ti_symbolizer;

/* `folders`: where to look first, separated by ':'; NULL: nowhere.  Borrowed.  Release the result
 * with ti_symbolizer_close().  NULL: no memory.  When memory is short later, lines are not found.
 */
struct ti_symbolizer *ti_symbolizer_open(const char *folders);
void ti_symbolizer_close(struct ti_symbolizer *z); /* NULL is fine */

/* Look for modules also where the program of this rank was. */
void ti_symbolizer_add_rank(struct ti_symbolizer *z, const struct ti_reader *r);

/*
 * The source line of a call site by its text in a trace.  NULL: nothing is known of it, or `z` or
 * `site` is NULL.  The result is valid until the next call, and its texts until `z` is closed.  The
 * first call for a module may warn that its file is of another build.
 */
const struct ti_site_line *ti_symbolizer_find(struct ti_symbolizer *z, const char *site);

/* Warn, with a hint, if call sites were looked up and symbols were found of none. */
void ti_symbolizer_advise(const struct ti_symbolizer *z);

/* Write "exchange", or "exchange+0x3c" if the line is not known, to `text`; "?" if the function is
 * not known.  Returns `text`. */
const char *ti_function_text(const struct ti_site_line *line, char *text, size_t bytes);

/* Write "exchange lu.c:120" or "exchange+0x3c" to `text`; "" for NULL.  Returns `text`. */
const char *ti_site_line_text(const struct ti_site_line *line, char *text, size_t bytes);

/* Write a call site as people read it to `text`: its source line as above, else "lu+0x1234"; "" for
 * NULL.  Returns `text`. */
const char *ti_site_text(struct ti_symbolizer *z, const char *site, char *text, size_t bytes);

/* Add the keys function, file and line to `out`; null where they are not known. */
void ti_site_line_json(const struct ti_site_line *line, json_t *out);

#endif
