# messages.py TRACE: for each rank, its events, its volume, and the bytes that it sends.
import sys

import tiara

with tiara.open(sys.argv[1]) as t:
    traffic = t.traffic()
    for rank in range(t.ranks):
        events, volume, _ = t.rank(rank).totals()
        sent = traffic.bytes[traffic.source == rank].sum()
        print(f"rank {rank}: {events} events, volume {volume}, {sent} bytes")
