#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What holds for every result of `ictus waits`, whatever the archive: wait_invariants.py RESULT...

Nothing is negative, no interval excludes its estimate, sums by rank, call path and pair are the totals, waits and
causes are the same time, nobody waits for itself or for longer than the program took, and the critical path is no longer than it.
"""
import json
import sys
from collections import defaultdict

TOLERANCE = 1e-6  # of a sum: results have 15 digits, lanes are added up in another order
RATES = 1e-3  # between two clocks
BESIDE = {"wrong-order", "late-receiver-possible", "barrier-completion", "nxn-completion"}  # no part of all waits
VERDICTS = {"skew", "transfer", "mixed", "undecidable"}


def near(a, b):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) + 2e-9


class Result:
    def __init__(self, path):
        self.path, self.faults = path, 0
        self.rows = defaultdict(list)
        with open(path, encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                self.rows[row["type"]].append(row)
        self.whole = self.rows["waits"][0]

    def must(self, holds, what, row):
        if not holds:
            self.faults += 1
            print(f"{self.path}: {what}: {json.dumps(row)[:300]}")

    def sums(self):
        for row in (r for kind in ("waits", "wait-total", "wait-site", "wait-state", "wait-rank") for r in self.rows[kind]):
            low, wait, high = row["wait_low_s"], row["wait_s"], row["wait_high_s"]
            self.must(row["wait_raw_s"] >= 0 and low >= 0 and wait >= 0 and row["n"] >= 0, "negative", row)
            self.must(low <= wait * (1 + TOLERANCE) + 1e-12 and wait <= high * (1 + TOLERANCE) + 1e-12,
                      "its interval excludes it", row)
            self.must(0 <= row["decidable"] <= 1 + TOLERANCE and 0 <= row["share"] <= 1 + TOLERANCE, "no share", row)
            self.must(row["wait_raw_s"] <= self.whole["rank_time_s"] * (1 + TOLERANCE), "longer than all time", row)
            self.must(row["kind"] != "exact" or near(low, high), "exact, but with an interval", row)

    def totals(self):
        total = {r["state"]: r for r in self.rows["wait-total"]}
        for kind in ("wait-site", "wait-state", "wait-rank", "wait-pair"):
            parts, numbers = defaultdict(float), defaultdict(int)
            for row in self.rows[kind]:
                parts[row["state"]] += row.get("wait_raw_s", row["wait_s"])
                numbers[row["state"]] += row["n"]
            for state, row in total.items():
                if kind != "wait-pair" or state not in BESIDE:
                    self.must(near(parts[state], row["wait_raw_s"]) and numbers[state] == row["n"],
                              f"{kind} rows add up to {numbers[state]} of {parts[state]} s", row)
        waits = [r for s, r in total.items() if s not in BESIDE]
        self.must(near(sum(r["wait_raw_s"] for r in waits), self.whole["wait_raw_s"]), "totals do not add up", self.whole)
        self.must(sum(r["n"] for r in waits) == self.whole["n"], "numbers do not add up", self.whole)
        if "wrong-order" in total:
            late = total.get("late-sender", {"wait_raw_s": 0, "n": 0})
            self.must(total["wrong-order"]["wait_raw_s"] <= late["wait_raw_s"] * (1 + TOLERANCE) + 1e-12 and
                      total["wrong-order"]["n"] <= late["n"], "more in wrong order than late", total["wrong-order"])

    def singles(self):
        alone = defaultdict(float)
        for row in self.rows["wait-instance"]:
            alone[row["location"]] += row["wait_s"]
            self.must(row["wait_s"] > 0 and row["sigma_s"] >= 0, "negative", row)
            self.must(row["causer"] != row["location"], "waits for itself", row)
            self.must(row["from_s"] >= -1e-9 and row["from_s"] + row["wait_s"] <= self.whole["wall_s"] + 1e-8,
                      "outside of the program", row)
            self.must(row["cause_s"] >= row["from_s"] + row["wait_s"] - 2e-9, "ends after its cause came", row)
        for location, wait in alone.items():
            self.must(wait <= self.whole["wall_s"] * (1 + TOLERANCE), f"location {location} waits {wait} s", self.whole)
        for row in self.rows["wait-pair"]:
            self.must(row["waiter"] != row["causer"] and row["wait_s"] > 0 and row["n"] > 0, "no pair", row)

    def causes(self):
        told = sum(r["direct_s"] + r["indirect_s"] for r in self.rows["wait-cause"])
        self.must(near(told + self.whole["unattributed_s"], self.whole["wait_raw_s"]), f"causes are {told} s", self.whole)
        for row in self.rows["wait-cause"]:
            self.must(row["direct_s"] >= 0 and row["indirect_s"] >= 0 and 0 <= row["share"] <= 1 + TOLERANCE, "negative", row)
            self.must(-TOLERANCE <= row["share_low"] <= row["share_high"] <= 1 + TOLERANCE, "no interval", row)
            self.must(0 <= row.get("first_draws", 0) <= row.get("draws", 0), "first too often", row)

    def critical_path(self):
        path = self.rows["critical-path"]
        time = sum(r["time_s"] for r in path if r["of"] == "program")
        self.must(time <= self.whole["wall_s"] * (1 + TOLERANCE) + 1e-8, "longer than the program", self.whole)
        for of in ("rank", "site"):
            rows = [r for r in path if r["of"] == of]
            for row in (r for r in rows if r.get("share_low") is not None):
                self.must(0 <= row["share_low"] <= row["share_high"] <= 1 + TOLERANCE, "no interval", row)
            self.must(all(r["time_s"] >= -1e-12 for r in rows), "negative", rows)
            # Time by call path is that of each location's own clock, whose rate may be off.
            most = time * (1 + (RATES if of == "site" else TOLERANCE)) + 1e-8
            self.must(sum(r["time_s"] for r in rows) <= most, f"{of}: more than the path", rows)

    def sites(self):
        for row in self.rows["collective-site"]:
            self.must(row["skew_s"] >= 0 and row["transfer_s"] >= -1e-12, "negative", row)
            self.must(near(row["skew_s"] + row["transfer_s"], row["time_s"]), "parts do not add up", row)
            self.must(0 <= row["skew_low"] <= row["skew_high"] <= 1 + TOLERANCE, "no interval", row)
            self.must(row["verdict"] in VERDICTS, "no verdict", row)

    def check(self):
        for part in (self.sums, self.totals, self.singles, self.causes, self.critical_path, self.sites):
            part()
        return self.faults


if __name__ == "__main__":
    sys.exit(1 if sum([Result(path).check() for path in sys.argv[1:]]) else 0)
