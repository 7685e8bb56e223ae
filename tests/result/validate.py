#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks each line of result files against the schema, that it names every member, and that it can fail.

    validate.py SCHEMA FILE...     exit 77 where python3-jsonschema is missing
"""
import copy
import json
import re
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


def unnamed(schema, part, value):
    """Members of an object, and of the objects in it, that the schema does not name."""
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, list):
        return sorted({name for item in value for name in unnamed(schema, part.get("items", {}), item)})
    if not isinstance(value, dict) or "properties" not in part:
        return []
    found = []
    for name, inner in value.items():
        if name in part["properties"]:
            found += [f"{name}.{deeper}" for deeper in unnamed(schema, part["properties"][name], inner)]
        elif not any(re.match(pattern, name) for pattern in part.get("patternProperties", {})):
            found.append(name)
    return found


def check_names(schema, instance):
    """The schema lets readers keep what it does not name; the programs here write nothing of the kind."""
    kind = instance["type"]
    if kind not in schema["$defs"]:
        return [f"the schema has no type {kind}"]
    taken = {"type"}
    if kind == "compare":  # its experiment's members
        taken |= set(schema["$defs"]["measurement"]["properties"])
    return [f"the schema of {kind} does not name {name}" for name in unnamed(schema, schema["$defs"][kind], instance)
            if name not in taken]


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
                for problem in check_names(schema, instance):
                    print(f"{path}:{number}: {problem}")
                    failures += 1
    failures += check_refusals(validator, seen)
    print(f"{count} objects of {len(seen)} types, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
