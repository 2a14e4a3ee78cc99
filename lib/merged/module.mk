# merged: records of many ranks in one file.
merged_src := $(addprefix lib/merged/,merged.c merged_index.c merged_sections.c merged_group.c numbers.c view.c)
# Making records, and writing merged traces.
merger_src := $(addprefix lib/merged/,encode.c encode_record.c builder.c builder_vectors.c \
                merger.c blobs.c fit.c groups.c sections.c) \
              lib/fold/symbols.c $(folder_src)
