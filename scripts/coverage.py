#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sum gcov's counts up by room. usage: coverage.py SOURCE BUILD ROOM..."""
import json
import os
import subprocess
import sys

AIM = 90.0


def run_gcov(build, data):
    done = subprocess.run(["gcov", "--stdout", "--json-format", data], capture_output=True, cwd=build, check=False)
    for text in done.stdout.splitlines():
        yield from json.loads(text)["files"]


def counts_of(source, build, room):
    """{file: {line: how often}}: a file may be compiled several times, a line counts if any ran it."""
    files = {}
    for directory, _, names in os.walk(build):
        for name in names:
            if not name.endswith(".gcno"):
                continue
            for file in run_gcov(build, os.path.join(directory, name)) if f"/{room}/" in f"{directory}/" else []:
                path = os.path.relpath(os.path.join(build, file["file"]), source)
                if path.startswith(f"src/{room}/") and path.endswith(".c"):
                    lines = files.setdefault(path, {})
                    for line in file["lines"]:
                        number = line["line_number"]
                        lines[number] = max(lines.get(number, 0), line["count"])
    return files


def share(lines):
    return 100.0 * sum(1 for n in lines.values() if n) / max(1, len(lines))


def main():
    source, build = sys.argv[1:3]
    for room in sys.argv[3:]:
        files = counts_of(source, build, room)
        every = {(path, line): n for path, lines in files.items() for line, n in lines.items()}
        print(f"src/{room:<10} {share(every):5.1f} % of {len(every)} lines")
        with open(f"{build}/{room}.missing", "w", encoding="utf-8") as missing:
            for path, lines in sorted(files.items(), key=lambda item: share(item[1])):
                if share(lines) < AIM:
                    print(f"    {path:<32} {share(lines):5.1f} %")
                missing.writelines(f"{path}:{line}\n" for line, n in sorted(lines.items()) if not n)


if __name__ == "__main__":
    main()
