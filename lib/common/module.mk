# common: errors, command lines, messages, time, checksums, hash table, hostlists, temporary folders,
# child processes, statistics of repeated figures, JSON values, sets of ranks, tables.  It uses no other room.
common_src := $(addprefix lib/common/,args.c beside.c err.c cli.c talk.c crc32c.c clock.c fds.c hostlist.c hostlist_fold.c json.c map.c names.c ranges.c reap.c \
                folder.c write.c sha256.c units.c scratch.c share.c spread.c table.c version.c)
$(O)/tests/unit/t-talk: LDLIBS += -Wl,--wrap=ti_now
