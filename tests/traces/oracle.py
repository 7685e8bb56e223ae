#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Look at an archive of ictus-make-random by brute force: every pair of events that happened one before the
other, from what otf2-print says and the MPI standard, with nothing shared with what it judges.

oracle.py ARCHIVE             prints the pairs and violations among messages and collectives' exits
oracle.py BEFORE AFTER        checks that AFTER is a correction of BEFORE: no violation, every location in its
                              old order with distinct stamps distinct, and no event earlier than it was
"""
import re
import subprocess
import sys
from collections import defaultdict

ROOT_SENDS = {"BCAST", "SCATTER", "SCATTERV"}
ROOT_RECEIVES = {"GATHER", "GATHERV", "REDUCE"}


def lines(archive, *options):
    command = ["otf2-print", *options, archive + "/traces.otf2"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def numbers(text):
    return [int(n) for n in re.findall(r"<(\d+)>", text)]


class Archive:
    def __init__(self, path):
        self.process, self.groups, self.comms = {}, {}, {}
        for line in lines(path, "-G"):
            words = line.split()
            if words[:1] == ["LOCATION"]:
                self.process[int(words[1])] = numbers(line.split("Group:")[1])[0]
            elif words[:1] == ["GROUP"]:
                listed = re.split("Members?:", line)[-1]
                self.groups[int(words[1])] = [int(n) for n in re.findall(r"(\d+) \(", listed)]
            elif words[:1] == ["COMM"]:
                self.comms[int(words[1])] = (self.groups[numbers(line.split("Group:")[1])[0]], None)
            elif words[:1] == ["INTER_COMM"]:
                a = self.groups[numbers(line.split("Group A:")[1])[0]]
                b = self.groups[numbers(line.split("Group B:")[1])[0]]
                self.comms[int(words[1])] = (a, b)
        self.events = defaultdict(list)  # location -> (record, time, fields)
        for line in lines(path):
            found = re.match(r"([A-Z_]+) +(\d+) +(\d+) *(.*)", line)
            if found:
                name, location, time, rest = found.groups()
                fields = dict(re.findall(r"(\w+): (?:\"[^\"]*\" )?(<?[\w]+>?)", rest))
                fields = {k: v.strip("<>") for k, v in fields.items()}
                self.events[int(location)].append((name, int(time), fields))

    def time(self, event):
        return self.events[event[0]][event[1]][1]


def message_pairs(archive):
    sends, receives = defaultdict(list), defaultdict(list)
    for location, events in archive.events.items():
        own = archive.process[location]
        posted = {}
        cancelled = {f["Request"] for name, _, f in events if name == "MPI_REQUEST_CANCELLED"}
        for i, (name, _, f) in enumerate(events):
            if f.get("Request") in cancelled:
                continue
            if name in ("MPI_SEND", "MPI_ISEND"):
                sends[own, int(f["Receiver"]), f["Tag"]].append((location, i))
            elif name == "MPI_IRECV_REQUEST":
                posted[f["Request"]] = i
            elif name in ("MPI_RECV", "MPI_IRECV"):
                call = posted.pop(f["Request"]) if name == "MPI_IRECV" else i
                receives[int(f["Sender"]), own, f["Tag"]].append((call, (location, i)))
    for key, calls in receives.items():
        if len({event[0] for _, event in calls}) > 1:
            order = sorted((event for _, event in calls), key=archive.time)
        else:
            order = [event for _, event in sorted(calls)]
        sent = sends[key]
        if len({event[0] for event in sent}) > 1:
            sent = sorted(sent, key=archive.time)
        yield from zip(sent, order)


def calls_of(archive):
    """(communicator, number) -> process -> (enter, exit, fields)"""
    instances = defaultdict(dict)
    for location, events in archive.events.items():
        own = archive.process[location]
        calls, open_request, begun = [], {}, None
        for i, (name, _, f) in enumerate(events):
            if name == "MPI_COLLECTIVE_BEGIN":
                begun = i
            elif name == "NON_BLOCKING_COLLECTIVE_REQUEST":
                open_request[f["Request"]] = i
            elif name == "MPI_COLLECTIVE_END":
                calls.append((begun, i, f))
            elif name == "NON_BLOCKING_COLLECTIVE_COMPLETE":
                calls.append((open_request.pop(f["Request"]), i, {**f, "Begun": True}))
        count = defaultdict(int)
        for enter, leave, f in sorted(calls, key=lambda call: call[0]):
            comm = int(f["Communicator"])
            instances[comm, count[comm]][own] = ((location, enter), (location, leave), f)
            count[comm] += 1
    return instances


def root_of(groups, parts):
    for place, (own, _) in enumerate(parts):
        if parts[place][1][2]["Root"] == "SELF":
            return own
    for own, (_, _, f) in parts:
        if f["Root"].isdigit():
            a, b = groups
            return (a if b is None or own in b else b)[int(f["Root"])]
    return None


def waits(op, groups, root, i, k):
    """Whether process i = (process, fields) receives what k sends."""
    a, b = groups
    if i[0] == k[0] or (b is not None and (i[0] in a) == (k[0] in a)):
        return False
    if op == "BARRIER":
        return True
    if op in ("SCAN", "EXSCAN"):
        return a.index(k[0]) < a.index(i[0])
    if (op in ROOT_SENDS and k[0] != root) or (op in ROOT_RECEIVES and i[0] != root):
        return False
    return int(k[1]["Sent"]) > 0 and int(i[1]["Received"]) > 0


def proven(op, groups, parts, own):
    """Whether totals say who sends to process own: there is one sender, or one receiver. Between two groups, MPI libraries
    differ about a nonblocking barrier."""
    a, b = groups
    if op == "BARRIER" and b is not None and "Begun" in parts[own][2]:
        return min(len(a), len(b)) <= 1
    if op not in ("ALLTOALLV", "ALLTOALLW"):
        return True
    from_a = b is None or own in b
    senders = [p for p, (_, _, f) in parts.items() if (b is None or (p in a) == from_a) and int(f["Sent"])]
    receivers = [p for p, (_, _, f) in parts.items() if (b is None or (p in a) != from_a) and int(f["Received"])]
    return len(senders) <= 1 or len(receivers) <= 1


def exits(archive):
    """(exit, all enters that it waits for) of every collective."""
    for (comm, _), parts in calls_of(archive).items():
        groups = archive.comms[comm]
        if not groups[0]:
            continue  # MPI_COMM_SELF
        root = root_of(groups, list(parts.items()))
        for own, (_, leave, f) in parts.items():
            enters = [enter for other, (enter, _, g) in parts.items()
                      if waits(f["Operation"], groups, root, (own, f), (other, g))]
            if enters and proven(f["Operation"], groups, parts, own):
                yield leave, enters


def violates(archive, last, firsts):
    """Threads of one process read one clock, on which both may fall on the same tick."""
    own = archive.process[last[0]]
    return any(archive.time(last) < archive.time(e) + (archive.process[e[0]] != own) for e in firsts)


def count(archive):
    pairs = [(r, [s]) for s, r in message_pairs(archive)]
    collective = list(exits(archive))
    bad = [sum(violates(archive, r, s) for r, s in kind) for kind in (pairs, collective)]
    return len(pairs), len(collective), bad[0], bad[1]


def judge(before, after):
    complaints = []
    if count(after)[2:] != (0, 0):
        complaints.append("violations %d %d" % count(after)[2:])
    if count(before)[:2] != count(after)[:2]:
        complaints.append("other pairs than before")
    for location, events in before.events.items():
        late = after.events[location]
        if [(n, f) for n, _, f in events] != [(n, f) for n, _, f in late]:
            complaints.append("location %d: other records" % location)
            continue
        for i, (_, time, _) in enumerate(events):
            if late[i][1] < time:
                complaints.append("location %d, event %d: earlier than it was" % (location, i))
            if i and not late[i][1] >= late[i - 1][1] + (time > events[i - 1][1]):
                complaints.append("location %d, event %d: met the one before" % (location, i))
    return complaints


def main():
    archives = [Archive(path) for path in sys.argv[1:]]
    if len(archives) == 1:
        print(*count(archives[0]))
        return
    complaints = judge(*archives)
    print("\n".join(complaints[:10]), end="\n" if complaints else "")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
