# formats: what is written and read.  The writer also goes into the library.
formats_src := formats/event.c formats/reader.c formats/scan.c formats/rankname.c \
               formats/zip.c formats/source.c formats/differ.c
writer_src := formats/event.c formats/writer.c
