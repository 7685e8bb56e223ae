#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes result files of every object type from a seed: input for tests of the report and the schema.

    samples.py [--seed N] [--types bench,sync,...] [--experiments N] [--raw N] [--factor F] > FILE

Nothing here was measured; the shapes are those that real runs have (a latency floor, a bandwidth
regime, heavy tails), so that pages can be judged by eye.
"""
import argparse
import json
import math
import random
import sys

OPERATIONS = ["allreduce", "bcast", "reduce", "alltoall", "allgather", "barrier"]
ALGORITHMS = {
    "allreduce": ["recursive_doubling", "ring", "rabenseifner", "basic_linear"],
    "bcast": ["binomial", "chain", "pipeline", "knomial"],
    "reduce": ["binomial", "linear", "rabenseifner"],
    "alltoall": ["pairwise", "bruck", "linear"],
    "allgather": ["ring", "bruck", "neighbor"],
    "barrier": ["recursive_doubling", "bruck", "tree"],
}
SYNCS = ["skampi", "netgauge", "jk", "hca2", "hca3", "mesh"]


def quantile(values, q):
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def summary(values):
    s = sorted(values)
    n = len(s)
    half = 0.98 * math.sqrt(n)
    low = max(0, int(math.floor(n / 2 - half)) - 1)
    high = min(n - 1, int(math.ceil(n / 2 + half)))
    q1, q3 = quantile(s, 0.25), quantile(s, 0.75)
    fence = 1.5 * (q3 - q1)
    return {
        "n": n,
        "median_s": quantile(s, 0.5),
        "ci95_low_s": s[low],
        "ci95_high_s": s[high],
        "mean_s": sum(s) / n,
        "min_s": s[0],
        "max_s": s[-1],
        "p25_s": q1,
        "p75_s": q3,
        "p90_s": quantile(s, 0.9),
        "p99_s": quantile(s, 0.99),
        "outliers": sum(1 for v in s if v < q1 - fence or v > q3 + fence),
    }


def tail(rng, base, spread=0.04):
    """One sample: a floor, exponential noise, now and then an interruption."""
    value = base * (1 + rng.expovariate(1 / spread))
    if rng.random() < 0.01:
        value += rng.paretovariate(1.5) * base * 0.6
    return round(value * 1e9) * 1e-9


def latency(operation, algorithm, size, processes):
    steps = math.log2(max(processes, 2))
    slot = OPERATIONS.index(operation)
    which = ALGORITHMS[operation].index(algorithm) if algorithm else 0
    floor = (0.6e-6 + 0.15e-6 * which) * steps * (1 + 0.2 * slot)
    rate = (2.5e9 + 1.5e9 * which) / (1 + 0.3 * slot)
    return floor + size * (1 + 0.15 * steps) / rate


def header(rng, command, **more):
    return {
        "type": "header", "schema": "ictus-result/1", "version": "0.1.0", "command": command,
        "arguments": ["--ops=allreduce,bcast", "--repetitions=200"],
        "started": "2026-11-21T03:14:15Z",
        "mpi": "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "processes": 8, "nodes": 2,
        "hosts": ["node01", "node02"], "clock": "monotonic",
        "sync": "hierarchy(mesh,propagate):sweeps=8,exchanges=10",
        "clock_sigma_ns": round(rng.uniform(10, 60), 1), "clock_bound_ns": 900.0,
        "seed": rng.randrange(1 << 30), "simulated": False, "cpu": "EPYC 7402P", "cores": 24,
        "kernel": "Linux 6.1.0", "environment": {"OMPI_MCA_rmaps_base_oversubscribe": "1"}, **more,
    }


def bench(rng, options):
    sizes = [2 ** k for k in range(0, 23, 2)]
    cells = []
    for processes in (2, 4, 8):
        for scheme in ("harmonize", "barrier"):
            for operation in OPERATIONS[:4]:
                for algorithm in ALGORITHMS[operation][:2]:
                    for size in sizes:
                        cells.append((operation, algorithm, size, processes, scheme))
    count = options.experiments or len(cells)
    for i in range(count):
        operation, algorithm, size, processes, scheme = cells[i % len(cells)]
        base = latency(operation, algorithm, size, processes) * options.factor
        if scheme == "barrier":
            base *= 1.12
        values = [tail(rng, base) for _ in range(max(options.raw, 40))]
        result = {
            "type": "measurement", "operation": operation, "bytes": size,
            "processes": processes * (1 + i // len(cells)), "scheme": scheme, "reduction": "max",
            "algorithm": algorithm, "invalid": rng.randrange(3), "ci95_covered": 0.953709, **summary(values),
            "clock_sigma_ns": round(rng.uniform(15, 50), 1),
        }
        if result["outliers"] > result["n"] // 20:
            result["warnings"] = ["more than 5 % outliers: something else ran on these cores"]
        if options.raw:
            result["raw_s"] = values
        yield result


def sync(rng, _options):
    for processes in (4, 16, 64, 256):
        for at, name in enumerate(SYNCS):
            linear = name in ("skampi", "jk")
            quality = [900, 700, 60, 90, 50, 6][at]
            for repetition in range(10):
                cost = 2e-3 * (processes if linear else math.log2(processes)) * (1 + 0.4 * at)
                duration = cost * rng.uniform(0.9, 1.3)
                growth = rng.lognormvariate(0, 0.4)
                for wait in (0.0, 10.0):
                    sigma = quality * growth * (1 + wait * (0.6 if name != "mesh" else 0.2))
                    error = abs(rng.gauss(0, sigma)) + sigma
                    yield {
                        "type": "sync", "sync": name, "clock": "sim:offset=1.5s,drift=12.5ppm",
                        "processes": processes, "repetition": repetition, "wait_s": wait,
                        "duration_s": duration,
                        "exchanges": int(100 * processes * rng.uniform(5, 6)),
                        "max_error_ns": error, "rms_error_ns": error * 0.5, "truth": True,
                        "max_sigma_ns": sigma,
                    }


def clock(rng, _options):
    rows = [("monotonic", 1, 21, True), ("monotonic_raw", 1, 37, True), ("realtime", 1, 21, True),
            ("tsc", 0.37, 15, True), ("wtime", 1, 24, True), ("phc:/dev/ptp0", None, None, False)]
    for name, resolution, cost, here in rows:
        result = {"type": "clock", "clock": name, "available": here, "processes": 8}
        if here:
            result.update(resolution_ns=resolution, cost_ns=cost * rng.uniform(0.95, 1.05),
                          monotonic=name != "realtime", shared="node", groups=2)
        else:
            result["reason"] = "/dev/ptp0: No such file or directory"
        yield result


def rtt(rng, _options):
    for peer in (1, 5):
        base = 0.5e-6 if peer == 1 else 3.1e-6
        values = [tail(rng, base, 0.15) for _ in range(3000)]
        s = sorted(values)
        quality = []
        for exchanges in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
            tries = [min(rng.sample(values, exchanges)) for _ in range(30)]
            quality.append({"exchanges": exchanges, "error_s": sum(tries) / len(tries) - s[0],
                            "cost_s": exchanges * quantile(s, 0.5)})
        top = quantile(s, 0.995)
        edges = [s[0] + (top - s[0]) * i / 40 for i in range(41)]
        counts = [sum(1 for v in s if edges[i] <= v < edges[i + 1]) for i in range(40)]
        yield {"type": "rtt", "clock": "monotonic", "from": 0, "to": peer, "n": len(s),
               "min_s": s[0], "median_s": quantile(s, 0.5), "mean_s": sum(s) / len(s),
               "p90_s": quantile(s, 0.9), "p99_s": quantile(s, 0.99), "max_s": s[-1],
               "histogram": {"edges_s": edges, "counts": counts}, "quality": quality,
               "raw_s": values}


def drift(rng, _options):
    for rank in range(1, 6):
        rate = rng.uniform(-12, 12)
        wander, offset, frequency = [], 0.0, rate * 1000
        for _ in range(300):
            frequency += rng.gauss(0, 3)
            offset += frequency
            wander.append(offset + rng.gauss(0, 60))
        times = [float(i) for i in range(300)]
        windows = [{"window_s": w, "r2": 1 - 0.3 / w - 1e-7 * w ** 2 * rng.random(),
                    "slope_ppm": rate, "max_residual_ns": 60 + 0.9 * w ** 1.3}
                   for w in (2, 5, 10, 20, 50, 100, 200, 300)]
        yield {"type": "drift", "clock": "monotonic", "rank": rank, "reference": 0,
               "duration_s": 300.0, "slope_ppm": rate, "r2": 0.99998, "times_s": times,
               "offsets_ns": wander, "windows": windows, "tolerance_ns": 500.0,
               "residuals_ns": [o - rate * 1000 * (t + 1) for t, o in zip(times, wander)],
               "holds_s": rng.uniform(5, 30)}


def barrier(rng, _options):
    scales = {"linear": 9, "double_ring": 22, "recursive_doubling": 2.2, "bruck": 2.6, "tree": 3.5,
              "harmonize": 0.08}
    for processes in (4, 8, 16, 32):
        for name, scale in scales.items():
            grow = 1 if name == "harmonize" else processes / 8
            values = [1e-6 * scale * grow * rng.lognormvariate(0, 0.4) for _ in range(200)]
            values[7] = 0.0  # what a clock shows that cannot resolve it
            s = sorted(values)
            mid = quantile(s, 0.5)
            first = [rng.randrange(5, 30) for _ in range(processes)]
            last = [rng.randrange(5, 30) for _ in range(processes)]
            yield {"type": "barrier", "algorithm": name, "processes": processes, "n": 200,
                   "skew_median_s": mid, "skew_p95_s": quantile(s, 0.95), "skew_max_s": s[-1],
                   "ci95_low_s": mid * 0.95, "ci95_high_s": mid * 1.06, "duration_median_s": 3e-6 * grow,
                   "first": first, "last": last, "invalid": 0, "raw_s": values}


def matrix(rng, _options):
    for size in (8, 1024):
        winners = {}
        for column, name in enumerate(["barrier:algorithm=linear", "barrier:algorithm=mpi:double_ring",
                                       "barrier:algorithm=mpi:recursive_doubling",
                                       "barrier:algorithm=tree", "harmonize"]):
            cells = []
            for row, algorithm in enumerate(["basic_linear", "nonoverlapping",
                                             "recursive_doubling", "ring", "rabenseifner"]):
                median = (4e-6 + row * 0.7e-6 + size * 1e-9) * (
                    1 + 0.5 * ((row * 7 + column * 3) % 5) / (1 + 3 * (name == "harmonize")))
                cells.append((median * rng.uniform(0.98, 1.02), algorithm))
            cells.sort()
            winners[name] = cells[0][1]
            for rank, (median, algorithm) in enumerate(cells, 1):
                yield {"type": "matrix", "operation": "allreduce", "bytes": size, "processes": 8,
                       "algorithm": algorithm, "scheme": name, "n": 100, "invalid": 0,
                       "median_s": median, "ci95_low_s": median * 0.97,
                       "ci95_high_s": median * 1.04, "place": rank}
        yield {"type": "matrix", "operation": "allreduce", "bytes": size, "processes": 8,
               "verdict": "the choice of common start changes the winner: under "
               f"barrier:algorithm=linear it is {winners['barrier:algorithm=linear']}, under harmonize {winners['harmonize']}"}


def guideline(rng, _options):
    pairs = [("mockup", "allreduce", "allreduce_as_reduce+bcast"), ("mockup", "bcast", "bcast_as_scatter+allgather"),
             ("split", "bcast", "bcast_in_4"), ("monotony", "bcast", "bcast")]
    for kind, operation, against in pairs:
        for size in [8, 1024, 65536]:
            base = (2 + size / 5000) * 1e-6
            factor = rng.uniform(0.5, 1.6)
            state = "violated" if factor > 1.2 else "open" if factor > 1.05 else "holds"
            row = {"type": "guideline", "kind": kind, "operation": operation, "bytes": size, "processes": 8,
                   "against": against, "against_bytes": size * (4 if kind == "monotony" else 1),
                   "reduction": "max", "scheme": "harmonize", "n": 300, "against_n": 300, "invalid": 3, "rounds": 15,
                   "median_s": base * factor, "against_median_s": base, "factor": factor,
                   "factor_low": factor * 0.95, "factor_high": factor * 1.06, "p": 0.5 if factor < 1 else 1e-9,
                   "p_adjusted": 1.0 if factor < 1 else 1e-7, "state": state}
            if state != "holds":
                row["finding"] = f"{operation} of {size} bytes takes {factor:.2f} times what {against} takes"
            yield row
    yield {"type": "guideline", "processes": 8, "tested": 12, "violated": 3, "open": 1, "untested": 0,
           "verdict": "3 of 12 guidelines are violated, 1 more may be"}


def overlap(rng, _options):
    for strategy, progress in (("none", 0.25), ("tests", 0.8), ("thread", 0.9)):
        for power in range(0, 23, 2):
            size = 2 ** power
            blocking = 2e-6 + size / 4e9
            init = 0.4e-6 + 0.02 * blocking
            test = 0.0 if strategy != "tests" else 60e-9 * (size // 65536 + 1)
            wait = blocking * (1 - progress) * rng.uniform(0.9, 1.1)
            overhead = init + test + wait
            yield {"type": "overlap", "operation": "iallreduce", "bytes": size, "processes": 8,
                   "method": "time", "strategy": strategy, "interval_bytes": 65536,
                   "tests": size // 65536 + 1, "blocking_s": blocking, "compute_s": blocking,
                   "init_s": init, "test_s": test, "wait_s": wait, "overhead_s": overhead,
                   "total_s": blocking + overhead,
                   "overlap": max(0.0, min(1.0, 1 - overhead / blocking)),
                   "formula": "1 - (init + test + wait) / blocking", "n": 50, "invalid": 0}


def check(_rng, _options):
    yield {"type": "check", "archive": "traces.otf2", "events": 300816, "messages": 41000,
           "collectives": 812, "violations_p2p": 37, "violations_collective": 4,
           "raw_violations_p2p": 612, "raw_violations_collective": 77, "max_violation_ns": 18300.0,
           "histogram": [{"below_ns": 10.0 ** (i + 1), "violations": n}
                         for i, n in enumerate([2, 9, 15, 10, 5, 0, 0])],
           "rank_pairs": [
               {"from": 0, "to": 1, "violations": 20, "max_violation_ns": 18300.0},
               {"from": 2, "to": 1, "violations": 17, "max_violation_ns": 900.0, "min_latency_ns": -900.0}]}
    yield {"type": "correct", "archive": "traces.otf2", "output": "fixed/traces.otf2",
           "events": 300816, "raw_violations_p2p": 612, "raw_violations_collective": 77,
           "raw_max_violation_ns": 2.1e7, "presync_violations_p2p": 37, "presync_violations_collective": 4,
           "violations_p2p": 0, "violations_collective": 0, "max_violation_ns": 0.0, "presync": "linear",
           "passes": 2, "gamma": 0.9, "moved_events": 20311, "max_shift_ns": 21000.0, "error_end_ns": 400.0,
           "largest_slope": 0.009, "asked_slope": 0.01, "steep_intervals": 0,
           "forced_intervals": 1,
           "forced": [{"location": 3, "stamp": 2056631, "input_ns": 21.0, "output_ns": 18.0, "change": 0.1429,
                       "clock_error_ns": 250.0}],
           "interval_changes": [{"below_ns": 10.0 ** (i + 1), "intervals": n}
                                for i, n in enumerate([900, 320, 41, 7, 0, 0])],
           "interval_changes_relative": [{"below": 10.0 ** (i - 9), "intervals": n}
                                         for i, n in enumerate([0, 0, 12, 800, 430, 22, 4])],
           "truth": {"input_rms_ns": 17800.0, "output_rms_ns": 310.0, "ratio_rms": 0.0174}}


def lock(rng, _options):
    offset = 5e4
    for poll in range(200):
        offset = offset * 0.9 + rng.gauss(0, 300)
        busy = 3 if 90 < poll < 140 else 1
        yield {"type": "lock", "server": "10.0.0.1", "stamps": "kernel", "elapsed_s": 16.0 * poll,
               "state": "locked" if poll > 3 else "unlocked", "offset_ns": offset * busy,
               "frequency_ppm": 12.5 + rng.gauss(0, 0.02), "sigma_ns": 200.0 * busy + 1e4 / (1 + poll),
               "bound_ns": 40000.0 * busy, "expected_ns": 240.0 * busy, "predicted_ns": 260.0,
               "measured_ns": 250.0 * busy, "send_s": 4e-6 * busy * rng.uniform(0.9, 1.2),
               "network_s": 30e-6 * rng.uniform(0.9, 1.4),
               "receive_s": 8e-6 * busy * rng.uniform(0.9, 1.3), "delay_s": 42e-6, "interval_s": 16.0}


def waits(rng, _options):
    def summed(wait, spread, n):
        low, high = max(0.0, wait - spread), wait + spread
        return {"n": n, "wait_s": wait, "wait_low_s": low, "wait_high_s": high, "wait_raw_s": wait, "share": wait / 8,
                "decidable": 1.0 if low > 0 else 0.3, "kind": "certain" if low > 0 else "about"}

    sites = [("barrier", "main/solve/MPI_Barrier", 0.3), ("nxn", "main/solve/MPI_Allreduce", 0.9), ("late-sender", "main/halo/MPI_Recv", 1e-6)]
    yield {"type": "waits", "archive": "run1/traces.otf2", "processes": 4, "locations": 4, "nodes": 2, "wall_s": 2.0, "rank_time_s": 8.0,
           "sigma_source": "archive", "clock_sigma_ns": 310.0, "unattributed_s": 0.0, "left_out": {"unmatched_sends": 2, "calls_cut": 0},
           **summed(1.2, 0.01, 3000)}
    for state, site, wait in sites:
        yield {"type": "wait-total", "state": state, **summed(wait, 2e-6, 1000)}
        place = {"call": site.rsplit("/", 1)[1], "site": site}
        yield {"type": "wait-site", "state": state, **place, **summed(wait, 2e-6, 1000)}
        for rank in range(4):
            yield {"type": "wait-state", "state": state, **place, "rank": rank, "location": rank,
                   **summed(wait * rng.uniform(0.1, 0.4), 2e-6, 250)}
    for i in range(12):
        state, site, wait = sites[i % 3]
        yield {"type": "wait-instance", "state": state, "rank": i % 4, "location": i % 4, "call": site.rsplit("/", 1)[1], "site": site,
               "wait_s": wait / 10, "from_s": 0.1 * i, "cause_s": 0.1 * i + wait / 10, "sigma_s": 4e-7, "causer_rank": (i + 1) % 4,
               "causer": (i + 1) % 4, "causer_call": site.rsplit("/", 1)[1]}
    for rank, location, thread, share, low in ((2, 2, {}, 0.7, 0.66), (0, 0, {}, 0.2, 0.15),
                                               (2, 8589934594, {"thread": "OMP thread 2"}, 0.0001, 0.0)):
        yield {"type": "wait-cause", "direct_s": share, "indirect_s": share / 3, "share": share, "share_low": low, "share_high": share + 0.03,
               "rank": rank, "location": location, **thread, "call": "compute", "site": "main/solve/compute", "first_draws": 80 if location == 2 else 0, "draws": 80}
        yield {"type": "critical-path", "of": "rank", "time_s": 2 * share, "share": share, "share_low": low, "share_high": share + 0.03,
               "rank": rank, "location": location, **thread}
    yield {"type": "critical-path", "of": "program", "time_s": 2.0, "stretches": 2, "raw_stretches": [[2, 0.0, 1.4], [0, 1.4, 2.0]]}
    yield {"type": "critical-path", "of": "site", "time_s": 1.4, "share": 0.7, "imbalance_s": 0.5, "call": "compute", "site": "main/solve/compute"}
    yield {"type": "collective-site", "calls": 1000, "time_s": 1.4, "skew_s": 1.2, "transfer_s": 0.2, "skew_share": 0.86, "skew_low": 0.8,
           "skew_high": 0.9, "verdict": "skew", "call": "MPI_Allreduce", "site": "main/solve/MPI_Allreduce"}
    for site, together in (("solver.c:120", 4e-6), ("solver.c:200", None)):
        yield {"type": "collective-together", "call": "MPI_Allreduce", "site": site, "operation": "allreduce", "bytes": 8, "ranks": 4,
               "calls": 1000, "program_s": 1e-5, "program_low_s": 9e-6, "program_high_s": 1.1e-5, "together_s": together,
               "together_low_s": together and 3.6e-6, "together_high_s": together and 4.4e-6, "reduction": together and "max",
               "launches": 1 if together else 0, "ratio": together and 2.5, "ratio_low": together and 2.05, "ratio_high": together and 3.06,
               "replayed_s": together and 8e-6, "replayed_low_s": together and 7e-6, "replayed_high_s": together and 9e-6,
               "replayed_ratio": together and 1.25, "replayed_ratio_low": together and 1.0, "replayed_ratio_high": together and 1.57}


def arrivals(rng, _options):
    for site, late, noise, error in (("solver.c:120", 40e3, 3e3, 400.0), ("halo.c:77", 0.0, 900.0, 2500.0)):
        ranks, table = 6, []
        for _ in range(300):
            row = [int(abs(rng.gauss(late if rank == 4 else 0.025 * late * rank, noise))) for rank in range(ranks)]
            table.append([value - min(row) for value in row])
        table[200] = [0, 5000000, 0, 0, 0, 0]  # a process that was suspended
        columns = [sorted(row[rank] for row in table) for rank in range(ranks)]
        mean = [sum(c) / len(c) for c in columns]
        yield {"type": "arrivals", "site": site, "call": "MPI_Allreduce", "operation": "allreduce", "comm": "MPI_COMM_WORLD", "bytes": 8,
               "ranks": ranks, "root": None, "instances": len(table), "duration_s": 4e-6, "spread_ns": sorted(map(max, table))[150],
               "error_ns": error, "imbalance": 9.0, "persistence": 0.97 if late else 0.02, "mean_ns": mean,
               "sd_ns": [(sum((v - m) ** 2 for v in c) / 299) ** 0.5 for c, m in zip(columns, mean)],
               "quantiles_ns": [[c[min(299, int(q * 300))] for q in (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)] for c in columns],
               "last": [sum(row.index(max(row)) == rank for row in table) / 300 for rank in range(ranks)],
               "autocorrelation": [0.1] * ranks, "raw_offsets_ns": table}


def compare_waits(rng, _options):
    def change(text, before, after, spread, **members):
        low, high = after - before - spread, after - before + spread
        verdict = "more" if low > 0 else "less" if high < 0 else "the same" if spread < 0.02 * before else "no difference shown"
        return {"type": "compare-waits", "baseline": "waits-a.jsonl", "file": "waits-b.jsonl", "waiting": text, "wait_a_s": before,
                "wait_b_s": after, "difference_s": after - before, "difference_low_s": low, "difference_high_s": high,
                "p": 1e-4 if low * high > 0 else 0.4, "p_adjusted": 3e-4 if low * high > 0 else 0.5, "runs_a": 5, "runs_b": 5,
                "verdict": verdict, **members}

    yield change("all", 1.31, 1.72, 0.06)
    for state, before, after, spread in (("nxn", 0.9, 1.36, 0.04), ("barrier", 0.31, 0.26, 0.02), ("late-sender", 0.1, 0.1, 0.001)):
        yield change(state, before, after, spread, state=state)
        call = {"nxn": "MPI_Allreduce", "barrier": "MPI_Barrier", "late-sender": "MPI_Recv"}[state]
        place = {"state": state, "call": call, "site": f"main/solve/{call}"}
        yield change(f"{state}, main/solve/{call}", before, after, spread, **place)
        for rank in range(4):
            part = rng.uniform(0.15, 0.35)
            yield change(f"{state}, main/solve/{call}, rank {rank}", part * before, part * after, spread / 3, **place, rank=rank, location=rank)


MAKERS = {"bench": bench, "sync": sync, "clocks": clock, "rtt": rtt, "drift": drift,
          "barrier": barrier, "matrix": matrix, "guideline": guideline, "overlap": overlap, "check": check, "waits": waits, "lock": lock,
          "arrivals": arrivals, "compare-waits": compare_waits}


def main():
    parser = argparse.ArgumentParser(description="make sample result files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", default=",".join(MAKERS))
    parser.add_argument("--experiments", type=int, default=0, help="measurements, 0: the full design")
    parser.add_argument("--raw", type=int, default=0, help="raw samples of each, 0: none")
    parser.add_argument("--factor", type=float, default=1.0, help="times all latencies")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    types = options.types.split(",")
    print(json.dumps(header(rng, types[0])))
    for name in types:
        for result in MAKERS[name](rng, options):
            print(json.dumps(result))


if __name__ == "__main__":
    sys.exit(main())
