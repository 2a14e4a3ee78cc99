# common: statuses, errors, command lines, lists of arguments, talk, checksums, hostlists, ends of
# children, folders; depends on nothing of ours.
common_src := common/args.c common/err.c common/cli.c common/talk.c common/crc32c.c common/clock.c common/fds.c common/hostlist.c \
              common/reap.c common/folder.c common/write.c common/sha256.c common/units.c
