#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a Trace Event JSON of a small halo exchange with an allreduce each step, on skewed clocks.

    trace.py [RANKS [STEPS [SKEW_NS]]] > FILE
"""
import json
import random
import sys

ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 8
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50
skew = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
rng = random.Random(4)
offset = [rng.uniform(-skew, skew) for _ in range(ranks)]
events = []


def at(rank, ns):
    return round((ns + offset[rank]) + 1e6) / 1e3


def put(phase, rank, ns, name, **more):
    events.append((at(rank, ns), {"ph": phase, "pid": rank, "tid": 0, "ts": at(rank, ns), "name": name, **more}))


clock = [0.0] * ranks
for r in range(ranks):
    put("B", r, 0, "main")
for step in range(steps):
    start = []
    for r in range(ranks):
        put("B", r, clock[r], "compute")
        clock[r] += rng.uniform(4e4, 7e4)
        put("E", r, clock[r], "compute")
        start.append(clock[r])
    for r in range(ranks):
        to = (r + 1) % ranks
        put("B", r, start[r], "MPI_Sendrecv")
        put("s", r, start[r] + 200, "message", cat="message", id=f"{r}.{step}", args={"bytes": 4096})
        arrival = max(start[r] + 200 + rng.uniform(1500, 2500), start[to] + 300)
        put("f", to, arrival, "message", cat="message", bp="e", id=f"{r}.{step}", args={"bytes": 4096})
        clock[to] = max(clock[to], arrival + 200)
    for r in range(ranks):
        put("E", r, clock[r], "MPI_Sendrecv")
    done = max(clock) + 4000
    for r in range(ranks):
        put("B", r, clock[r] + 100, "MPI_Allreduce")
        clock[r] = done + rng.uniform(0, 500)
        put("E", r, clock[r], "MPI_Allreduce")
for r in range(ranks):
    put("E", r, clock[r] + 100, "main")

events.sort(key=lambda e: e[0])
print('{"displayTimeUnit":"ns","traceEvents":[')
names = [{"ph": "M", "pid": r, "name": "process_name", "args": {"name": f"rank {r}"}} for r in range(ranks)]
print(",\n".join(json.dumps(e) for e in names + [e for _, e in events]))
print("]}")
