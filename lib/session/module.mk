# session: our end of the connections to ti-nodes, and the wire protocol.
wire_src := $(addprefix lib/session/,frame.c paths.c)
session_src := lib/session/bootstrap.c
conn_src := lib/session/conn.c $(session_src)
t-frame_src := lib/session/frame.c
