# fold: events of one rank in memory.
fold_src := $(addprefix lib/fold/,pool.c runs.c column.c quality_columns.c levels.c pattern.c draw.c record.c \
              decode.c decode_open.c parts.c shape.c seek.c trips.c values.c)
# Finding loops, for programs that merge traces.
folder_src := $(addprefix lib/fold/,fold.c fold_nodes.c)
