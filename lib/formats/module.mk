# formats: what is written and read.  The writer also goes into the library.
formats_src := $(addprefix lib/formats/,event.c reader.c ranges.c scan.c caveats.c json.c rankname.c zip.c \
                 runjson.c source.c differ.c sites.c)
writer_src := lib/formats/event.c lib/formats/writer.c
# Reading sites files and hostfiles, for programs that do.
sites_src  := lib/formats/sites_read.c lib/formats/inifile.c lib/formats/hostfile.c
sites_libs := $(shell pkg-config --libs inih)
# Rate files, for programs that read or write them; with $(sites_libs).
rates_src  := lib/formats/rates.c lib/formats/inifile.c
