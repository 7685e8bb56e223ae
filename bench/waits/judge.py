#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The judge of ictus waits: execute random programs, and note who waits for whom while they run.

judge.py make SEED TEXT TRUTH [KEY=VALUE...]   an archive's text for ictus-write-archive, and what is true of it
judge.py compare TRUTH RESULT [TOLERANCE_NS]   whether a result file of `ictus waits` says the same
judge.py blame TRUTH RESULT                    whether the planted delay comes first, and causes add up to the waits
judge.py cover TRUTH RESULT                    true sums (each state on each location) against their intervals: a line each
judge.py scene SEED                            keys of a random program, and how its clocks are to be skewed

A process is a coroutine that stops where it really has to wait; its waits are noted there, from instants of the
execution. Nothing is matched and no graph is made afterwards, and no code is shared with what is judged. Keys:
ranks=N, nodes=N, steps=N, kinds=mpi|locks|all (locks: mpi, and locks of windows), planted=0|1, mean=NS (of a computation),
sigma=NS (what the archive says of its clocks, which are exact), asymmetry=SHARE (each way between two nodes is
longer or shorter by up to this share), jitter=NS (mean of what each message takes more), run=N (another run of the same
program: each computation takes up to a tenth longer or shorter), slow=RANK:NS (its computations take so much longer).
"""
import json
import random
import sys
from collections import defaultdict

MPI, OPENMP, USER = 4, 3, 1
POINT2POINT, BARRIER, FUNCTION, COLLECTIVE = 28, 15, 1, 25
NO_ROOT = 0xFFFFFFFF
OPERATIONS = {"MPI_Barrier": 0, "MPI_Bcast": 1, "MPI_Gather": 2, "MPI_Scatter": 4, "MPI_Allgather": 6,
              "MPI_Alltoall": 8, "MPI_Allreduce": 11, "MPI_Reduce": 12, "MPI_Scan": 14, "MPI_Exscan": 15,
              "MPI_Iallreduce": 11, "MPI_Ibarrier": 0}
REGIONS = (["main", "R0", "R1", "R2", "R3", "X"],
           ["MPI_Send", "MPI_Ssend", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall", "MPI_Waitany",
            "MPI_Test", "MPI_Sendrecv", *OPERATIONS])
LOCK_REGIONS = ["MPI_Win_lock", "MPI_Win_lock_all", "MPI_Put", "MPI_Win_flush", "MPI_Win_unlock", "MPI_Win_unlock_all"]
ALL_TARGETS = 0xFFFFFFFF
SHORT_CALL_NS = 100
THREAD_REGIONS = ["parallel", "omp_barrier", "omp_critical"]
EAGER = 4096  # bytes: larger messages are sent when their receive is posted


class Message:
    def __init__(self, source, target, tag, size):
        self.source, self.target, self.tag, self.size = source, target, tag, size
        self.sent = self.posted = None  # enters of the initiating calls
        self.late = size > EAGER        # the sender has to wait for the receiver
        self.jitter = None              # what it takes longer than others


class Meeting:
    """One collective: who came when."""

    def __init__(self, operation, members, root, comm):
        self.operation, self.members, self.root, self.comm = operation, members, root, comm
        self.enter, self.left = {}, {}


class Tenure:
    """A lock that a process is going to have: of one target or of all of them; in which call it waits for it."""

    def __init__(self, rank, target, exclusive, blocks, hold):
        self.rank, self.target, self.exclusive, self.blocks, self.hold = rank, target, exclusive, blocks, hold
        self.asked = self.released = None  # when it needs the lock; when it has given it back

    def excludes(self, other):
        return (self.exclusive or other.exclusive) and (ALL_TARGETS in (self.target, other.target) or
                                                        self.target == other.target)


class Process:
    def __init__(self, world, rank, location, start):
        self.world, self.rank, self.location, self.now = world, rank, location, start
        self.lines, self.request = [], 0

    def event(self, *words):
        self.world.events += 1
        self.lines.append(f"{self.location} {self.now} {' '.join(map(str, words))}")

    def tick(self, least=1):
        self.now += least + self.world.draw.randrange(20)

    def enter(self, region):
        self.event("enter", self.world.regions[region])
        return self.now

    def leave(self, region):
        self.event("leave", self.world.regions[region])

    def compute(self, region, length):
        self.tick()
        self.enter(region)
        self.now += int(length * self.world.pace() + (self.world.slow[1] if self.rank == self.world.slow[0] else 0))
        self.leave(region)
        self.tick()


class World:
    def __init__(self, seed, options):
        self.draw = random.Random(seed)
        self.ranks = int(options.get("ranks") or self.draw.randrange(3, 8))
        self.nodes = int(options.get("nodes") or self.draw.randrange(1, self.ranks + 1))
        self.steps = int(options.get("steps") or self.draw.randrange(10, 25))
        self.mean = float(options.get("mean") or 5000)
        self.kinds = options.get("kinds", "all")
        self.sigma = float(options.get("sigma", 0.001))
        self.jitter = float(options.get("jitter", 0))
        asymmetry = float(options.get("asymmetry", 0))
        self.network = random.Random(seed ^ 0x5eed)
        self.noise = random.Random(int(options["run"])) if "run" in options else None
        self.slow = [int(x) for x in options.get("slow", "-1:0").split(":")]
        self.ways = {(a, b): 1 + asymmetry * self.network.uniform(-1, 1) * (a != b)
                     for a in range(self.nodes) for b in range(self.nodes)}
        self.planted = (self.draw.randrange(self.ranks), "X") if options.get("planted", "1") == "1" else None
        self.regions = {name: i for i, name in enumerate(REGIONS[0] + REGIONS[1] + THREAD_REGIONS + LOCK_REGIONS)}
        self.truth, self.completion = defaultdict(int), defaultdict(int)
        self.counts = defaultdict(int)
        self.each = []  # every wait: state, waiter, causer, ns
        self.comms = [list(range(self.ranks)), list(range(0, self.ranks, 2)), list(range(self.ranks))[::-1]]
        self.events = 0
        self.threads = 1 if self.kinds in ("mpi", "locks") else 3
        self.windows = 0
        self.locks = {}
        self.process = [Process(self, r, r, 1000000 + self.draw.randrange(1000)) for r in range(self.ranks)]
        self.helpers = {}

    def pace(self):
        return 1 + self.noise.uniform(-0.1, 0.1) if self.noise else 1

    # --- what is true -----------------------------------------------------------------------------------

    def waited(self, state, who, causer, enter, leave, instant):
        """who, in a call from enter to leave, could not go on before the instant, at which causer came."""
        wait = max(0, min(instant - enter, leave - enter))
        if wait > 0:
            self.truth[state, who, causer] += wait
            self.counts[state, who, causer] += 1
            self.each.append((state, who, causer, wait))

    # --- calls ------------------------------------------------------------------------------------------

    def node(self, rank):
        return rank * self.nodes // self.ranks

    def transfer(self, m):
        if m.jitter is None:
            m.jitter = int(self.network.expovariate(1 / self.jitter)) if self.jitter else 0
        way = self.ways[self.node(m.source), self.node(m.target)]
        return int((400 + m.size // 4) * way) + m.jitter

    def send(self, p, m):
        name = "MPI_Send"
        enter = p.enter(name)
        m.sent = enter
        p.tick()
        p.event("send", m.target, 0, m.tag, m.size)
        if m.late:
            while m.posted is None:
                yield
            p.now = max(p.now, m.posted + self.transfer(m), enter + self.transfer(m))
            self.waited("late-receiver", p.location, m.target, enter, p.now, m.posted)
        else:
            p.tick(50)
        p.leave(name)

    def ready(self, m):
        """When a message whose send was begun can be had, if its receive has been posted."""
        return max(m.sent, m.posted) + self.transfer(m) if m.late else m.sent + self.transfer(m)

    def receive(self, p, m):
        enter = p.enter("MPI_Recv")
        m.posted = enter
        while m.sent is None:
            yield
        p.now = max(enter + 50, self.ready(m))
        p.event("recv", m.source, 0, m.tag, m.size)
        self.waited("late-sender", p.location, m.source, enter, p.now, m.sent)
        p.leave("MPI_Recv")

    def start(self, p, m, sends):
        name = "MPI_Isend" if sends else "MPI_Irecv"
        enter = p.enter(name)
        p.request += 1
        if sends:
            m.sent = enter
            p.tick()
            p.event("isend", m.target, 0, m.tag, m.size, p.request)
        else:
            m.posted = enter
            p.tick()
            p.event("irecvpost", p.request)
        p.tick(30)
        p.leave(name)
        return (m, sends, p.request)

    def finish(self, p, pending):
        """MPI_Waitall or MPI_Wait for messages and collectives that were begun."""
        name = "MPI_Waitall" if len(pending) > 1 else "MPI_Wait"
        enter = p.enter(name)
        leave, last = enter + 50, None
        for what, sends, request in pending:
            if isinstance(what, Meeting):
                while len(what.enter) < len(what.members):
                    yield
                others = [m for m in what.members if m != p.rank]
                causer = max(others, key=lambda m: what.enter[m])
                instant, state = what.enter[causer], "barrier" if what.operation == "MPI_Ibarrier" else "nxn"
                done = max(what.enter.values()) + 700
            elif sends:
                if not what.late:
                    continue
                while what.posted is None:
                    yield
                instant, causer, state = what.posted, what.target, "late-receiver"
                done = self.ready(what)
            else:
                while what.sent is None:
                    yield
                instant, causer, state = what.sent, what.source, "late-sender"
                done = self.ready(what)
            leave = max(leave, done)
            if last is None or instant > last[0]:
                last = (instant, causer, state)
        for what, sends, request in pending:
            p.now = leave
            if isinstance(what, Meeting):
                p.event("complete", OPERATIONS[what.operation], what.comm, NO_ROOT,
                        *((0, 0) if what.operation == "MPI_Ibarrier" else (8, 8)), request)
            elif sends:
                p.event("isenddone", request)
            else:
                p.event("irecv", what.source, 0, what.tag, what.size, request)
        p.now = leave
        if last:
            self.waited(last[2], p.location, last[1], enter, leave, last[0])
        p.leave(name)

    def begin_meeting(self, p, m):
        enter = p.enter(m.operation)
        m.enter[p.rank] = enter
        p.request += 1
        p.tick()
        p.event("request", p.request)
        p.tick(30)
        p.leave(m.operation)
        return (m, None, p.request)

    def awaited(self, m, rank):
        """Whom a member of a collective has to wait for."""
        place = m.members.index(rank)
        others = [x for x in m.members if x != rank]
        if m.operation in ("MPI_Bcast", "MPI_Scatter"):
            return [m.root] if rank != m.root else []
        if m.operation in ("MPI_Reduce", "MPI_Gather"):
            return others if rank == m.root else []
        if m.operation in ("MPI_Scan", "MPI_Exscan"):
            return m.members[:place]
        return others

    def meet(self, p, m):
        enter = p.enter(m.operation)
        m.enter[p.rank] = enter
        p.tick()
        p.event("begin")
        awaited = self.awaited(m, p.rank)
        while any(x not in m.enter for x in awaited):
            yield
        latest = max((m.enter[x] for x in awaited), default=enter)
        p.now = max(p.now, latest) + 500 + self.draw.randrange(300)
        m.left[p.rank] = p.now
        root = NO_ROOT if m.root is None else m.members.index(m.root)
        size = 0 if m.operation == "MPI_Barrier" else 8
        p.event("end", OPERATIONS[m.operation], m.comm, root, size, size)
        if awaited:
            causer = max(awaited, key=lambda x: m.enter[x])
            state = {"MPI_Barrier": "barrier", "MPI_Bcast": "late-broadcast", "MPI_Scatter": "late-broadcast",
                     "MPI_Reduce": "early-reduce", "MPI_Gather": "early-reduce", "MPI_Scan": "early-scan",
                     "MPI_Exscan": "early-scan"}.get(m.operation, "nxn")
            self.waited(state, p.location, causer, enter, p.now, latest)
        p.leave(m.operation)

    # --- locks of windows -------------------------------------------------------------------------------

    def hold(self, p, window, tenures):
        """A process's part in a round of locks of a window, in which each has one. Who needs it first gets it first."""
        own = next(t for t in tenures if t.rank == p.rank)
        every = own.target == ALL_TARGETS
        rank = own.target
        begin = p.enter("MPI_Win_lock_all" if every else "MPI_Win_lock")
        if own.blocks == "lock":
            own.asked = begin
            p.now = yield from self.acquire(p, own, tenures, begin, begin + 40)
        else:
            p.tick(30)
        p.event("rmaacquire", window, rank, 0, 0 if own.exclusive else 1)
        p.leave("MPI_Win_lock_all" if every else "MPI_Win_lock")
        p.tick()
        p.enter("MPI_Put")
        p.event("rmaput", window, 0 if every else rank, 8, 0)
        p.tick(10)
        p.leave("MPI_Put")
        p.tick()
        for name in ("MPI_Win_flush", None, "MPI_Win_unlock_all" if every else "MPI_Win_unlock"):
            if name is None:
                p.compute("R%d" % self.draw.randrange(4), own.hold)
                continue
            if name == "MPI_Win_flush" and own.blocks == "unlock":
                continue
            enter = p.enter(name)
            if own.asked is None:
                own.asked = enter
                p.now = yield from self.acquire(p, own, tenures, enter, enter + 200)
            else:
                p.tick(100)
            p.event("rmadone", window, 0)
            if name != "MPI_Win_flush":
                p.event("rmarelease", window, rank, 0)
                own.released = p.now
            p.leave(name)

    def acquire(self, p, own, tenures, enter, least):
        """Wait until the locks that are in the way have been given back; when that is over."""
        while any(t.asked is None for t in tenures):
            yield
        before = [t for t in tenures if t is not own and own.excludes(t) and (t.asked, t.rank) < (own.asked, own.rank)]
        while any(t.released is None for t in before):
            yield
        if not before:
            return least
        last = max(before, key=lambda t: t.released)
        leave = max(least, last.released + 60)
        self.waited("rma-lock", p.location, last.rank, enter, leave, last.released)
        return leave

    # --- threads ----------------------------------------------------------------------------------------

    def parallel(self, p, team, work, critical):
        """A parallel region of the process's threads, which ends with a barrier; all known at once."""
        draw = self.draw
        everybody = [p] + self.helpers[p.rank]
        lock = self.locks.setdefault(p.rank, [0, None, None])  # next order, released, by whom
        p.enter("parallel")
        p.tick()
        p.event("fork", len(everybody))
        for t in everybody:
            t.now = max(t.now, p.now)
            t.tick()
            t.event("teambegin", team)
        for t, length in zip(everybody, work):
            t.compute("R%d" % draw.randrange(4), length)
        if critical:
            for t in sorted(everybody, key=lambda x: x.now):
                enter = t.enter("omp_critical")
                instant = lock[1] if lock[1] is not None else enter
                t.now = max(t.now, instant) + 20
                lock[0] += 1
                t.event("acquire", p.rank, lock[0])
                if lock[2] is not None and lock[2] != t.location:
                    self.waited("lock", t.location, lock[2], enter, t.now, instant)
                t.tick(int(draw.expovariate(1 / 3000)) + 1)
                t.event("release", p.rank, lock[0])
                lock[1], lock[2] = t.now, t.location
                t.tick(10)
                t.leave("omp_critical")
                t.tick(5)
        came = {t.location: t.enter("omp_barrier") for t in everybody}
        for t in everybody:
            others = [x for x in everybody if x is not t]
            causer = max(others, key=lambda x: came[x.location])
            last = max(came.values())
            left = last + 100 + draw.randrange(50)
            self.waited("team-barrier", t.location, causer.location, came[t.location], left, came[causer.location])
            t.now = left
        for t in everybody:
            t.leave("omp_barrier")
            t.tick(20)
            t.event("teamend", team)
        p.now = max(t.now for t in everybody) + 10
        p.event("join")
        p.tick()
        p.leave("parallel")

    # --- programs ---------------------------------------------------------------------------------------

    def program(self):
        """For each process the calls it makes, as functions that give coroutines."""
        draw, plans = self.draw, [[] for _ in range(self.ranks)]
        pending = [[] for _ in range(self.ranks)]

        def compute(r, region, length):
            plans[r].append(lambda p: p.compute(region, length))

        def finish(r):
            if pending[r]:
                box, pending[r] = pending[r], []
                plans[r].append(lambda p: self.finish(p, [b[0] for b in box]))

        self.plan_evidence(plans)
        for step in range(self.steps):
            for r in range(self.ranks):
                compute(r, "R%d" % draw.randrange(4), draw.expovariate(1 / self.mean))
            if self.planted and draw.random() < 0.25:
                compute(self.planted[0], "X", draw.uniform(8, 16) * self.mean)
            kind = draw.random()
            if self.kinds in ("locks", "all") and draw.random() < 0.2:
                self.plan_locks(plans)
            if self.threads > 1 and kind > 0.8:
                r = draw.randrange(self.ranks)
                work = [draw.expovariate(1 / self.mean) for _ in range(self.threads)]
                critical = draw.random() < 0.5
                plans[r].append(lambda p, w=work, c=critical: self.parallel(p, 3 + p.rank, w, c))
            elif kind < 0.15:
                self.plan_meeting(plans, "MPI_Barrier", 0)
            elif kind < 0.45:
                self.plan_meeting(plans, draw.choice([o for o in OPERATIONS if o[4] != "I"]), draw.randrange(3))
            elif kind < 0.55:
                members = self.comms[0]
                m = Meeting(draw.choice(["MPI_Iallreduce", "MPI_Ibarrier"]), members, None, 0)
                for r in members:
                    box = []
                    plans[r].append(lambda p, b=box, x=m: b.append(self.begin_meeting(p, x)))
                    pending[r].append(box)
                    compute(r, "R%d" % draw.randrange(4), draw.expovariate(1 / self.mean))
                    finish(r)
            else:
                self.plan_messages(plans, pending, finish)
        for r in range(self.ranks):
            finish(r)
        self.plan_meeting(plans, "MPI_Barrier", 0)
        return plans

    def plan_meeting(self, plans, operation, comm):
        members = self.comms[comm]
        rooted = operation in ("MPI_Bcast", "MPI_Scatter", "MPI_Reduce", "MPI_Gather")
        m = Meeting(operation, members, self.draw.choice(members) if rooted else None, comm)
        if len(members) > 1:
            for r in members:
                plans[r].append(lambda p: self.meet(p, m))

    def plan_locks(self, plans):
        """The library that runs the program waits in MPI_Win_lock, or when it has to know, or as late as it can."""
        draw = self.draw
        blocks = draw.choice(["lock", "flush", "unlock"])
        tenures = [Tenure(r, ALL_TARGETS if every else draw.randrange(2), not every and draw.random() < 0.7, blocks,
                          draw.expovariate(1 / self.mean))
                   for r, every in ((r, draw.random() < 0.2) for r in draw.sample(range(self.ranks), self.ranks - 1))]
        for t in tenures:
            plans[t.rank].append(lambda p, window=self.windows: self.hold(p, window, tenures))
        self.windows += 1

    def plan_evidence(self, plans):
        """Messages that are sent at once long before they are received: they show which sizes that goes for."""
        messages = [Message(0, b, 0, EAGER) for b in {1, self.ranks - 1}]
        for m in messages:
            plans[0].append(lambda p, x=m: self.send(p, x))
        for plan in plans:
            plan.append(lambda p: p.compute("R0", 2000))
        for m in messages:
            plans[m.target].append(lambda p, x=m: self.receive(p, x))

    def plan_messages(self, plans, pending, finish):
        """Messages whose calls are in one order everywhere: receives of blocking sends cannot lock up."""
        draw = self.draw
        blocking = draw.random() < 0.5
        for _ in range(draw.randrange(1, 2 * self.ranks)):
            a, b = draw.sample(range(self.ranks), 2)
            m = Message(a, b, draw.randrange(3), draw.choice([8, 1024, 4096, 65536]))
            for r, sends in ((a, True), (b, False)):
                if blocking:
                    call = self.send if sends else self.receive
                    plans[r].append(lambda p, c=call, x=m: c(p, x))
                else:
                    box = []
                    plans[r].append(lambda p, x=m, s=sends, b=box: b.append(self.start(p, x, s)))
                    pending[r].append(box)
        if not blocking:
            for r in range(self.ranks):
                if pending[r]:
                    length = draw.expovariate(1 / self.mean)
                    plans[r].append(lambda p, x=length: p.compute("R%d" % self.draw.randrange(4), x))
                finish(r)

    def run(self):
        for r in range(self.ranks):
            self.helpers[r] = [Process(self, r, self.ranks + r * (self.threads - 1) + t, 0)
                               for t in range(self.threads - 1)]
        plans = self.program()
        for p in self.process:
            p.enter("main")
        waiting = [self.life(p, plans[p.rank]) for p in self.process]
        while waiting:
            before = self.events
            waiting = [life for life in waiting if next(life, "over") != "over"]
            if waiting and self.events == before:
                raise RuntimeError("the program locks up")

    def life(self, p, plan):
        for call in plan:
            steps = call(p)
            if steps is not None and hasattr(steps, "__next__"):
                yield from steps
            p.tick()
        p.leave("main")

    def text(self, out):
        for n in range(self.nodes):
            print("node", f"n{n}", file=out)
        for r in range(self.ranks):
            print("process", self.node(r), file=out)
        for r in range(self.ranks):
            print("location", r, file=out)
        for r in range(self.ranks):
            for _ in self.helpers[r]:
                print("location", r, file=out)
        for name in REGIONS[0]:
            print("region", name, FUNCTION, USER, file=out)
        for name in REGIONS[1]:
            print("region", name, COLLECTIVE if name in OPERATIONS else POINT2POINT, MPI, file=out)
        for name, role in zip(THREAD_REGIONS, (5, BARRIER, 12)):
            print("region", name, role, OPENMP, file=out)
        for name in LOCK_REGIONS:
            print("region", name, 29, MPI, file=out)
        for comm in self.comms:
            print("comm", *comm, file=out)
        for _ in range(self.windows):
            print("window 0", file=out)
        for r in range(self.ranks):
            if self.helpers[r]:
                print("team", r, *(t.location for t in self.helpers[r]), file=out)
        for p in self.process + [t for r in range(self.ranks) for t in self.helpers[r]]:
            for time in (900000, 900000 + 2 * self.process[0].now):
                print("offset", p.location, time, 0, self.sigma, file=out)
        for p in self.process + [t for r in range(self.ranks) for t in self.helpers[r]]:
            print("\n".join(p.lines), file=out)

    def result(self):
        rows = [{"state": s, "waiter": w, "causer": c, "ns": n, "n": self.counts[s, w, c]}
                for (s, w, c), n in sorted(self.truth.items())]
        return {"pairs": rows, "planted": self.planted, "total_ns": sum(self.truth.values()),
                "end": max(p.now for p in self.process), "each": self.each}


def compare(truth, result, tolerance):
    """Differences by state, waiter and causer, one a line."""
    said = defaultdict(float)
    counted = defaultdict(int)
    with open(result, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row.get("type") == "wait-pair":
                key = (row["state"], row["waiter"], row["causer"])
                said[key] = row["wait_s"] * 1e9
                counted[key] = row["n"]
    with open(truth, encoding="utf-8") as text:
        known = {(r["state"], r["waiter"], r["causer"]): (r["ns"], r["n"]) for r in json.load(text)["pairs"]}
    faults = 0
    for key in sorted(set(said) | set(known)):
        true, n = known.get(key, (0, 0))
        # A call that happens to return while another process releases a lock looks as if it had waited for it.
        within = max(tolerance, SHORT_CALL_NS) if key[0] == "rma-lock" else tolerance
        if abs(said[key] - true) > within or (within < 1 and counted[key] != n):
            print(f"{key}: {counted[key]} waits of {said[key]:.0f} ns, in truth {n} of {true} ns")
            faults += 1
    return faults


def rows(result, kind):
    with open(result, encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row.get("type") == kind]


def blame(truth, result):
    """0: the planted delay comes first; 1: it does not; 2: causes and waits differ."""
    with open(truth, encoding="utf-8") as text:
        rank, region = json.load(text)["planted"]
    causes = rows(result, "wait-cause")
    whole = rows(result, "waits")[0]
    sum_s = sum(c["direct_s"] + c["indirect_s"] for c in causes) + whole["unattributed_s"]
    if abs(sum_s - whole["wait_raw_s"]) > 1e-6 * whole["wait_raw_s"]:
        print(f"causes are {sum_s} s, waits {whole['wait_raw_s']} s")
        return 2
    path = rows(result, "critical-path")
    wall = [p["time_s"] for p in path if p["of"] == "program"][0]
    if abs(wall - whole["wall_s"]) > 1e-5 * whole["wall_s"] + 2e-6:
        print(f"the critical path is {wall} s, the program took {whole['wall_s']} s")
        return 2
    return 0 if causes and (causes[0]["rank"], causes[0]["call"]) == (rank, region) else 1


def scene(seed):
    """Two lines: keys for make, and a skew for trace-skew. Networks and clocks are as different as jobs' are."""
    draw = random.Random(seed ^ 0xc10c)
    nodes = draw.randrange(2, 9)
    mean = round(10 ** draw.uniform(2.5, 5.5))
    keys = {"kinds": "mpi", "sigma": 0, "nodes": nodes, "ranks": nodes * draw.randrange(1, 4), "mean": mean,
            "steps": draw.randrange(20, 150), "asymmetry": draw.choice([0, 0.1, 0.2, 0.4]),
            "jitter": draw.choice([0, 0, 100, 500, 2000])}
    skew = f"offset={draw.choice(['10us', '1ms', '1s'])},drift={draw.choice([1, 20, 100])}ppm"
    if draw.random() < 0.4:
        skew += f",walk=1e-{draw.choice([8, 7, 6])}"
    print(" ".join(f"{key}={value}" for key, value in keys.items()))
    print(skew)
    return 0


def cover(truth, result):
    known = defaultdict(int)
    with open(truth, encoding="utf-8") as text:
        for row in json.load(text)["pairs"]:
            known[row["state"], row["waiter"]] += row["ns"]
    told = {}
    for key in [k for k in known if k[0] == "late-receiver"]:
        del known[key]  # told apart where it is not certain that the send was blocked
    for row in rows(result, "wait-rank"):
        told[row["state"], row["location"]] = row["kind"], row["wait_low_s"] * 1e9, row["wait_high_s"] * 1e9
    for key, true in known.items():
        kind, low, high = told.get(key, ("untold", 0, 0))
        if true > 0:
            # Where waits are between processes of one clock only, nothing is uncertain and the sum is the true one.
            print("exact" if kind != "untold" and high - low < 1 else kind,
                  "above" if true > high + 1 else "below" if true < low - 1 else "inside", key[0], true, low, high)
    return 0


def main(words):
    if words[0] == "scene":
        return scene(int(words[1]))
    if words[0] in ("blame", "cover"):
        return {"blame": blame, "cover": cover}[words[0]](words[1], words[2])
    if words[0] == "make":
        world = World(int(words[1]), dict(w.split("=", 1) for w in words[4:]))
        world.run()
        with open(words[2], "w", encoding="utf-8") as out:
            world.text(out)
        with open(words[3], "w", encoding="utf-8") as out:
            json.dump(world.result(), out)
        return 0
    return 1 if compare(words[1], words[2], float(words[3]) if len(words) > 3 else 0.5) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
