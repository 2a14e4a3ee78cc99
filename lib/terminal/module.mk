# terminal: pictures of numbers, for people at a terminal.
terminal_src := $(addprefix lib/terminal/,cell.c matrix.c by_rank.c timeline.c)
t-terminal_src := $(terminal_src)
