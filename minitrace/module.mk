# minitrace: the preloaded library, and the counters (which ti-acquire probes too).
include minitrace/valgrind/module.mk
-include minitrace/shims.mk

counter_src := minitrace/counter.c minitrace/counter_papi.c minitrace/counter_cputime.c \
               minitrace/counter_valgrind.c
minitrace_src := minitrace/record.c minitrace/recording.c minitrace/site.c minitrace/map.c \
                 minitrace/untraced.c minitrace/pending.c minitrace/type.c minitrace/rec_p2p.c minitrace/rec_request.c \
                 minitrace/rec_coll.c minitrace/rec_comm.c minitrace/handle.c \
                 minitrace/rec_rma.c minitrace/rec_io.c minitrace/shim_by_hand.c \
                 minitrace/shim_c.c minitrace/shim_f.c minitrace/shim_f08.c

all: $(O)/libminitrace.so

minitrace_objs := $(patsubst %.c,$(O)/pic/%.o,$(minitrace_src) $(counter_src) $(writer_src) \
                    common/err.c common/crc32c.c)
pic_flags := -DTI_VERSION='"$(VERSION)"'

$(O)/libminitrace.so: $(minitrace_objs)
	$(call say,LINK)$(MPICC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-soname,libminitrace.so.0 \
	    -Wl,--exclude-libs,ALL -Wl,-z,now -o $@ $^ $(LIBZ_A) -ldl
