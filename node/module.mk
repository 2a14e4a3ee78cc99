# node: ti-node, our end on every node of a run, and what is said to it.
node_src := $(addprefix node/,launch.c machine.c program.c rundir.c watch.c)
