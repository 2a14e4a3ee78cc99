# remote: processes on other machines, by SSH.
remote_any_src := $(addprefix lib/remote/,loop.c queue.c child.c remote.c channel.c attempt.c limits.c \
                  target.c process.c conf.c conf_parse.c hostclass.c mux.c gateway.c sshargs.c sshlog.c \
                  openssh.c)
remote_src := $(remote_any_src) $(addprefix lib/remote/,known.c lookup.c libssh2.c libssh2_connect.c libssh2_auth.c)
remote_libs := -lssh2 -lpthread -lm
# The same by OpenSSH's client alone, which needs no library.
remote_openssh_src := $(remote_any_src) lib/remote/openssh_only.c
t-sshlog_src := $(remote_src)
$(O)/tests/unit/t-sshlog: LDLIBS += $(remote_libs)
t-hostclass_src := lib/remote/hostclass.c
t-conf_src := $(remote_src)
$(O)/tests/unit/t-conf: LDLIBS += $(remote_libs)
