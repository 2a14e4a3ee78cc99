/* Comparison of copies by their CRC: of nodes, of files here, and of what is in the bundle. */
#ifndef TI_GATHER_FETCH_CHECKSUMS_H
#define TI_GATHER_FETCH_CHECKSUMS_H

#include "gather/fetch/gathering.h"

/* Requests CRCs that can be compared once they are known. */
void ti__ask_crc(struct ti__peer *p);
void ti__on_crc(struct ti__peer *p, const json_t *j);

/* Reads a piece of the files here whose CRC is wanted.  Returns true if more is left. */
bool ti__checksum_local(struct ti__gathering *g);

#endif
