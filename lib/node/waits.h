/*
 * Connections that processes of a run try to make and get no answer to: what one sees
 * of a firewall, or of an address that other machines cannot reach.
 */
#ifndef TI_WAITS_H
#define TI_WAITS_H

#include <jansson.h>

/* ["10.0.0.2:43211", "[fd00::1]:80", ...], each once, at most 16; a new object.  Processes of
 * other users are not seen. */
json_t *ti_waits(const char *run_id);

#endif
