# event: operations, columns, qualities.
event_src := lib/event/event.c lib/event/quality.c
