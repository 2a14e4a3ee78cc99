/*
 * TCP connections that processes of a run try to make without an answer (state SYN_SENT).  They are
 * the symptom of a firewall, or of an address that other machines cannot reach.
 */
#ifndef TI_NODE_WAITS_H
#define TI_NODE_WAITS_H

#include <jansson.h>

/* ["10.0.0.2:43211", "[fd00::1]:80", ...]: the remote addresses, each once, at most 16.  A new
 * object. Processes of other users are not seen. */
json_t *ti_waits(const char *run_id);

#endif
