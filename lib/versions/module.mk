# versions: loops and call sites of several traces, and which of them are the same.
versions_src := $(addprefix lib/versions/,sites.c phases.c)
