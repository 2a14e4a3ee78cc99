/*
 * The payload: Tiara's own files, which nodes without Tiara are sent (bootstrap.h).  There is one
 * for all nodes.  It has two parts: ti-node as it is, and the other files, compressed, as frames
 * (node/install.h unpacks them).
 */
#ifndef TI_SESSION_PAYLOAD_H
#define TI_SESSION_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "session/paths.h"

struct ti_payload;

/*
 * Find the files: ti-node, ti-node-counter, the library with its MPI back ends, the valgrind tool.
 * They are read and compressed when they are needed.  TI_ERR_IO if ti-node or ti-node-counter is
 * missing.
 */
ti_status ti_payload_new(const struct ti_paths *paths, struct ti_payload **out, struct ti_err *err);
void ti_payload_free(struct ti_payload *p);

/* If ti_install() made the folder of the files, take the checksum from its name.  It is verified
 * when the files must be sent. */
void ti_payload_trust_folder(struct ti_payload *p);

/*
 * For a poll loop that must not block: reading and compressing take up to a second.  After
 * ti_payload_begin(), threads do this work; the first computes the checksum at once.  The result is
 * a descriptor (-1: errno).  When it is readable, call ti_payload_collect().  Then commands may be
 * ready, and nodes that wait for bytes must be pumped.
 */
int ti_payload_begin(struct ti_payload *p);
void ti_payload_collect(struct ti_payload *p);

/* Whether ti_bootstrap_command() returns at once: the checksum is known, or failed. */
bool ti_payload_known(const struct ti_payload *p);

/* Wait for the checksum; TI_ERR_IO if files cannot be read. */
ti_status ti_payload_wait(struct ti_payload *p, struct ti_err *err);
const char *ti_payload_hash(const struct ti_payload *p); /* "": not known */

/* Free the memory of the payload's contents, which are read and compressed again when needed. */
void ti_payload_drop(struct ti_payload *p);

enum ti_payload_part { TI_PAYLOAD_NONE, TI_PAYLOAD_NODE, TI_PAYLOAD_OTHERS };

/* A node needs this part.  Reads ti-node at once; the other files, which every node needs next, are
 * packed by a thread if ti_payload_begin() was called.  TI_ERR_IO: they cannot be read. */
ti_status ti_payload_need(struct ti_payload *p, enum ti_payload_part part, struct ti_err *err);

/* The content of a part; NULL while it is not there. */
const unsigned char *ti_payload_part(const struct ti_payload *p, enum ti_payload_part part,
                                     size_t *bytes);

/* Why it cannot be read or packed; NULL: nothing is wrong. */
const struct ti_err *ti_payload_error(const struct ti_payload *p);

size_t ti_payload_node_bytes(const struct ti_payload *p);  /* size of ti-node */
const char *ti_payload_family(const struct ti_payload *p); /* of processors, as uname -m */

#endif
