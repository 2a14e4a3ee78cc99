# trips: other numbers of trips of loops.
trips_src := $(addprefix lib/trips/,survey.c find.c names.c period.c write.c change.c columns.c text.c)
