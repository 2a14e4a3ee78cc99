/* Events as text, for reports of problems. */
#ifndef TI_SOUND_TEXT_H
#define TI_SOUND_TEXT_H

#include "bundle/source.h"

#define TI_CALL_BYTES 160

/* Write "irecv(comm 0, peer -1, tag 5, ...)" into buf; returns buf. */
const char *ti_call_text(const struct ti_reader *r, const struct ti_event *ev, char *buf,
                         size_t bytes);

/* The same for event `index` of `rank`, whose trace is read again: up to it, if it is not folded.
 * If it cannot be read, the text is "", and when memory is short, errno is ENOMEM. */
const char *ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                          size_t bytes);

#endif
