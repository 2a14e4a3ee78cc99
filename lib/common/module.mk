# common: statuses, errors, command lines, lists of arguments, talk, checksums, hostlists, ends of
# children, folders; depends on nothing of ours.
common_src := $(addprefix lib/common/,args.c err.c cli.c talk.c crc32c.c clock.c fds.c hostlist.c map.c reap.c \
                folder.c write.c sha256.c units.c)
