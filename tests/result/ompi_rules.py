#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads Open MPI's tuning rules in both forms as its documentation says, and compares what they decide.

    ompi_rules.py CLASSIC JSON      prints how many decisions agree; exit 1 where one does not
    ompi_rules.py CLASSIC JSON HAN  as well as what HAN's file hands back, and that there is a rule wherever it does

Open MPI 4.1 reads the classic form alone: nothing else here has tried the JSON form.
"""
import json
import sys

IDS = ["allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan",
       "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv"]


def classic(path):
    """Nested counts; a rule holds up to the next one's size, the first process count's downwards too."""
    with open(path, encoding="utf-8") as file:
        words = iter([word for line in file for word in line.split("#")[0].split()])
    names = {}
    collective = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields, _, name = line.partition("#")
            if name.strip() in IDS:
                collective = name.strip()
            elif len(fields.split()) == 4 and name:
                names[collective, int(fields.split()[1])] = name.strip()
    number = lambda: int(next(words))
    table = {}
    for _ in range(number()):
        collective = IDS[number()]
        counts = []
        for _ in range(number()):
            processes = number()
            counts.append((processes, [(number(), number(), number(), number()) for _ in range(number())]))
        assert counts == sorted(counts), f"{collective}: process counts in no order"
        table[collective] = counts
    assert next(words, None) is None, "more behind the last rule"

    def decide(collective, processes, size):
        counts = table.get(collective)
        if not counts:
            return None
        rules = ([rules for least, rules in counts if least <= processes] or [counts[0][1]])[-1]
        assert rules[0][0] == 0, f"{collective}: no rule of size 0"
        found = [rule for rule in rules if rule[0] <= size][-1]
        return names[collective, found[1]] if found[1] else None

    return table, decide


def hierarchical(path):
    """Nested counts of the whole communicator's level, read as the tuned form's are; returns whether HAN hands back."""
    with open(path, encoding="utf-8") as file:
        words = iter([word for line in file for word in line.split("#")[0].split()])
    number = lambda: int(next(words))
    table = {}
    count = number()
    assert count > 0, "HAN refuses a file without collectives"
    for _ in range(count):
        collective = next(words)
        assert collective in ("allgather", "barrier", "bcast", "gather", "reduce", "scatter"), collective
        assert (number(), number()) == (1, 2), "one level, the whole communicator's"
        counts = [(number(), [(number(), next(words)) for _ in range(number())]) for _ in range(number())]
        assert [least for least, _ in counts] == sorted({least for least, _ in counts}) and counts[0][0] == 1
        for _, rules in counts:
            assert [least for least, _ in rules] == sorted({least for least, _ in rules}) and rules[0][0] == 0
            assert {component for _, component in rules} <= {"han", "tuned"}
        table[collective] = counts
    assert next(words, None) is None, "more after the last rule"

    def decide(collective, processes, size):
        if collective not in table:
            return False
        rules = [rules for least, rules in table[collective] if least <= processes][-1]
        return [component for least, component in rules if least <= size][-1] == "tuned"

    return decide


def compare_han(path, ruled):
    """Of each rule whether HAN hands back, and nothing where there is none. HAN counts the bytes of a block, as we do."""
    hands_back = hierarchical(path)
    of_all = ("allgather", "gather", "scatter")
    for collective in ("allgather", "barrier", "bcast", "gather", "reduce", "scatter"):
        for processes in range(1, 12):
            taken = []
            for size in range(1100):  # beyond the largest rule of those that are tried
                rule = ruled(collective, processes, size * processes if collective in of_all else size)
                back = hands_back(collective, processes, size)
                if back and not rule:
                    sys.exit(f"{collective}, {processes} processes, {size} bytes: handed back, and there is no rule")
                if back and (not taken or taken[-1][1:] != (size - 1, rule)):
                    taken.append((size, size, rule))
                elif back:
                    taken[-1] = (taken[-1][0], size, rule)
            for first, last, rule in taken:
                print(f"han hands {collective} of {first} to {last} bytes on {processes} processes to {rule}")


def modern(path):
    """Ranges with both ends; the first that fits decides, and where none fits the library does."""
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    assert set(whole) == {"rule_file_version", "module", "collectives"}
    assert whole["rule_file_version"] == 3 and whole["module"] == "tuned"

    def within(rule, key, value):
        least, most = rule.get(f"{key}_min", 0), rule.get(f"{key}_max", "inf")
        return least <= value and (most in ("inf", "INF", "Inf") or value <= most)

    for name, counts in whole["collectives"].items():
        assert name in [known.replace("_", "") for known in IDS if known != "allgatherv"], name
        for count in counts:
            assert set(count) <= {"comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"}
            for rule in count["rules"]:
                assert "alg" in rule and set(rule) <= {"msg_size_min", "msg_size_max", "alg", "reqs", "faninout",
                                                       "seg_size"}

    def decide(collective, processes, size):
        for count in whole["collectives"].get(collective.replace("_", ""), []):
            if within(count, "comm_size", processes):
                for rule in count["rules"]:
                    if within(rule, "msg_size", size):
                        return rule["alg"]
                return None
        return None

    return decide


def main():
    table, old = classic(sys.argv[1])
    new = modern(sys.argv[2])
    agree = 0
    decided = 0
    for collective in table:
        for processes in range(1, 12):
            for size in [0, 1, 7, 8, 9, 63, 64, 65, 1023, 1024, 65535, 65536, 1 << 30]:
                one, other = old(collective, processes, size), new(collective, processes, size)
                if one != other:
                    sys.exit(f"{collective}, {processes} processes, {size} bytes: {one} and {other}")
                agree += 1
                decided += one is not None
    print(f"{agree} decisions agree, {decided} of them by a rule")
    if len(sys.argv) > 3:
        compare_han(sys.argv[3], old)


if __name__ == "__main__":
    main()
