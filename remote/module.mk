# remote: processes on other machines, by SSH.
remote_src := $(addprefix remote/,loop.c queue.c child.c remote.c process.c sshlog.c openssh.c)
remote_libs := -lssh2
