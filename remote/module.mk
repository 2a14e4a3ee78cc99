# remote: processes on other machines, by SSH.
remote_src := $(addprefix remote/,loop.c queue.c child.c remote.c process.c conf.c known.c lookup.c \
              mux.c gateway.c sshargs.c sshlog.c openssh.c libssh2.c)
remote_libs := -lssh2 -lpthread -lm
t-sshlog_src := $(remote_src)
$(O)/tests/unit/t-sshlog: LDLIBS += $(remote_libs)
