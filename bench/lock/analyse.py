#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare logs of chronyd and of ictus lock; prints one line a figure. Called by figures."""
import json
import math
import re
import sys


def ours(path):
    """Poll objects of a result file, without the first seconds."""
    rows = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row.get("type") == "lock" and row["event"] in ("accepted", "glitch", "step"):
                rows.append(row)
    return [r for r in rows if r["elapsed_s"] > 5.0]


def chronyd(path):
    """Offsets in ns of chronyd's measurements.log, without the first ones."""
    rows = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if len(words) > 12 and words[0][:2] == "20":
                rows.append(float(words[11]) * 1e9)
    return rows[8:]


def sd(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def rms(values):
    return math.sqrt(sum(v * v for v in values) / len(values))


def quantile(values, q):
    return sorted(abs(v) for v in values)[min(len(values) - 1, int(q * len(values)))]


def offsets(title, theirs, group, single):
    peer = chronyd(theirs)
    mine = [r["system_offset_ns"] for r in ours(group)]
    one = [r["system_offset_ns"] for r in ours(single)]
    share = [r["interleaved"] for r in ours(group)]
    print(f"{title}: sd of offset, chronyd {sd(peer):.0f} ns (n={len(peer)}), "
          f"ictus group of 5 {sd(mine):.0f} ns (n={len(mine)}), ratio {sd(mine) / sd(peer):.2f}; "
          f"single exchange {sd(one):.0f} ns, ratio {sd(one) / sd(peer):.2f}; "
          f"our mean {sum(mine) / len(mine):+.0f} ns; "
          f"interleaved {sum(share)}/{len(share)}")


def ptp(title, theirs, group):
    with open(theirs, encoding="utf-8") as lines:
        found = [re.search(r"master offset +(-?\d+) s0", line) for line in lines]
    peer = [float(m.group(1)) for m in found if m][8:]
    mine = [r["system_offset_ns"] for r in ours(group)]
    if not peer:
        print(f"{title}: ptp4l measured nothing")
        return
    print(f"{title}, ptp4l {sd(peer):.0f} ns (n={len(peer)}), ictus group of 5 {sd(mine):.0f} ns (n={len(mine)}), "
          f"ratio {sd(mine) / sd(peer):.2f}; kernel stamps in {sum(r['stamps'] == 'kernel' for r in ours(group))} polls")


def errors(title, theirs, group, single):
    # Both servers' clocks minus CLOCK_REALTIME, by the same probe over lo.
    series = [[r["system_offset_ns"] for r in ours(p)] for p in (theirs, group, single)]
    peer, mine, one = series
    print(f"{title}: rms error of the clock, chronyd {rms(peer) / 1e3:.2f} us (n={len(peer)}), "
          f"ictus group of 5 {rms(mine) / 1e3:.2f} us, ratio {rms(mine) / rms(peer):.2f}; "
          f"single exchange {rms(one) / 1e3:.2f} us, ratio {rms(one) / rms(peer):.2f}; "
          f"worst {quantile(peer, 1) / 1e3:.2f}, {quantile(mine, 1) / 1e3:.2f}, {quantile(one, 1) / 1e3:.2f} us")


def bound(title, *paths):
    for path in paths:
        rows = [r for r in ours(path) if r["state"] != "unlocked"]
        if not rows:
            print(f"{title}: never locked")
            continue
        out = [r for r in rows if abs(r["clock_minus_system_ns"]) > r["bound_ns"]]
        worst = max(abs(r["clock_minus_system_ns"]) / r["bound_ns"] for r in rows)
        print(f"{title}: bound violated {len(out)} of {len(rows)} times, "
              f"largest error is {worst:.2f} of its bound")


if __name__ == "__main__":
    {"offsets": offsets, "errors": errors, "bound": bound, "ptp": ptp}[sys.argv[1]](*sys.argv[2:])
