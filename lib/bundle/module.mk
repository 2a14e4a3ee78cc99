# formats: what is written and read.
formats_src := $(addprefix lib/formats/,event.c quality.c chunk.c ranges.c scan.c caveats.c doubts.c json.c \
                 rankname.c zip.c runjson.c differ.c sites.c) \
               $(addprefix lib/formats/source/,source.c source_kinds.c source_manifest.c) \
               $(addprefix lib/formats/trace/,reader.c reader_file.c reader_tables.c \
                 reader_columns.c reader_record.c rank_lists.c) \
               $(addprefix lib/formats/merged/,merged.c merged_index.c merged_sections.c \
                 merged_group.c numbers.c) \
               $(addprefix lib/formats/folded/,pool.c runs.c column.c quality_columns.c levels.c \
                 pattern.c draw.c decode.c decode_open.c shape.c seek.c trips.c alike.c values.c \
                 scan_read.c)
# Writing merged traces.
merger_src := $(addprefix lib/formats/merged/,merger.c blobs.c fit.c groups.c sections.c) \
              $(addprefix lib/formats/folded/,fold.c fold_nodes.c symbols.c encode.c encode_record.c) \
              lib/formats/source/source_record.c
# Writing traces: in the library, and in tools that make traces.
writer_src := $(addprefix lib/formats/trace/,writer.c writer_file.c writer_tables.c writer_events.c \
                writer_columns.c writer_fold.c) \
              $(addprefix lib/formats/folded/,online.c fold.c fold_nodes.c runs.c pool.c)
# Reading sites files and hostfiles, for programs that do.
sites_src  := $(addprefix lib/formats/,sites_read.c sites_keys.c sites_values.c sites_nodes.c \
                inifile.c hostfile.c)
# Rate files, for programs that read or write them.
rates_src  := lib/formats/rates.c lib/formats/inifile.c
