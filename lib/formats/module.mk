# formats: what is written and read.  The writer also goes into the library.
formats_src := formats/event.c formats/reader.c formats/ranges.c formats/scan.c formats/caveats.c formats/rankname.c \
               formats/zip.c formats/runjson.c formats/source.c formats/differ.c formats/sites.c
writer_src := formats/event.c formats/writer.c
# Reading sites files and hostfiles, for programs that do.
sites_src  := formats/sites_read.c formats/inifile.c formats/hostfile.c
sites_libs := $(shell pkg-config --libs inih)
# Rate files, for programs that read or write them; with $(sites_libs).
rates_src  := formats/rates.c formats/inifile.c
