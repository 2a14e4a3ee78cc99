# remote: processes on other machines, by SSH.
remote_src :=
remote_libs := -lssh2
