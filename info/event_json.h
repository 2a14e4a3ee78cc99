/*
 * Events as JSON, as --dump, --at and --compare print them with --json; see ti-info(1).
 */
#ifndef TI_INFO_EVENT_JSON_H
#define TI_INFO_EVENT_JSON_H

#include "info/info.h"

/* The event of number `number` that `r` returned last. */
json_t *info_event_json(const struct ti_reader *r, const struct ti_event *ev, uint64_t number,
                        const struct info_style *style);

#endif
