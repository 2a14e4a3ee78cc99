# node: ti-node, our end on every node of a run, and what is said to it.
node_src := $(addprefix node/,frame.c launch.c machine.c program.c ranks.c rundir.c watch.c)
t-frame_src := node/frame.c
