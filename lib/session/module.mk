# session: our end of the connections to ti-nodes, and the wire protocol.
wire_src := $(addprefix lib/session/,frame.c paths.c)
session_src := $(addprefix lib/session/,payload.c bootstrap.c session.c)
conn_src := $(addprefix lib/session/,conn.c conn_alive.c conn_relayed.c) $(session_src)
t-frame_src := lib/session/frame.c
