#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks each line of result files against the schema, and that the schema can fail.

    validate.py SCHEMA FILE...     exit 77 where python3-jsonschema is missing
"""
import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)


def check_refusals(validator, objects):
    """Each required member taken away, and a wrong type put in, must be refused."""
    failures = 0
    required = {t: d["required"] for t, d in validator.schema["$defs"].items() if "required" in d}
    for kind, names in required.items():
        if kind not in objects:
            continue
        for name in names:
            for wrong in ("missing", {"an": "object"}):
                broken = copy.deepcopy(objects[kind])
                if wrong == "missing":
                    del broken[name]
                else:
                    broken[name] = wrong
                if validator.is_valid(broken):
                    print(f"the schema takes a {kind} whose {name} is {wrong}")
                    failures += 1
    return failures


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures, count, seen = 0, 0, {}
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                instance = json.loads(line)
                count += 1
                if not (instance["type"] == "matrix" and instance.get("verdict")):
                    seen.setdefault(instance["type"], instance)
                for error in validator.iter_errors(instance):
                    print(f"{path}:{number}: {'/'.join(map(str, error.path))}: {error.message}")
                    failures += 1
    failures += check_refusals(validator, seen)
    print(f"{count} objects of {len(seen)} types, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
