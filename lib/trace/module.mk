# trace: rank files.
trace_src := $(addprefix lib/trace/,chunk.c reader.c reader_file.c reader_tables.c reader_columns.c \
               reader_record.c rank_lists.c rankname.c alike.c scan.c scan_read.c caveats.c differ.c foreign.c)
# Writing traces: in the library, and in tools that make traces.
writer_src := $(addprefix lib/trace/,writer.c writer_file.c writer_tables.c writer_events.c \
                writer_columns.c writer_periods.c)
