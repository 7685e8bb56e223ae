# SPDX-License-Identifier: BSD-3-Clause
"""The tests that scripts/mutate judges mutants by: started as CTest would start them, but without it.

A test is first run as it is, which shows how long it takes and through which places it comes. With a mutant it
has a few times as long: a program without a launcher is limited in processor time, so that one that never ends is
stopped soon, and one on a busy machine is not.
"""
import contextlib
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import mutants as weave

LATE = 124
STATIC_TLS = "glibc.rtld.optional_static_tls=65536"  # SimGrid loads a program's sanitizer late
LEAKS = "suppressions={}:print_suppressions=0"
GUESSES_S = {"unit": 1, "mpi": 4, "cli": 8}  # by kind, before it was measured
OPTION_READERS = re.compile(r"cli\.(help|option-limits)$")  # of the tables of options of all commands
POLL_S = 0.01  # between two looks at a process: shorter than any test takes to start
ENDED = threading.Event()  # set when whoever waits for the verdicts wants no more


class Interrupted(Exception):
    """A process was ended because no more verdicts are wanted; what it would have said is not known."""


def run(command, seconds, environment=None, directory=None):
    """Exit code, output, seconds of processor time; the whole family of processes ends with it. Raises Interrupted."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env=environment, cwd=directory)
        end, code = time.monotonic() + seconds, None
        while code is None:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end or ENDED.is_set():
                os.killpg(process.pid, 9)
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = status
                code = LATE
            else:
                time.sleep(POLL_S)
        if ENDED.is_set():
            raise Interrupted
        output.seek(0)
        return code, output.read().decode(errors="replace"), used.ru_utime + used.ru_stime


class Lane:
    """Where one mutant at a time is alive: a file that the processes of its tests map, and note in it through which places they come."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(weave.STATE_BYTES)
        os.chmod(path, 0o666)  # tests run programs as other users

    def set(self, number):
        """Which mutant is alive from here on (0: none), with no place noted."""
        with open(self.path, "r+b") as file, mmap.mmap(file.fileno(), weave.STATE_BYTES) as state:
            state[:] = number.to_bytes(4, sys.byteorder) + bytes(weave.STATE_BYTES - 4)

    def noted(self):
        with open(self.path, "rb") as file:
            return {at for at, byte in enumerate(file.read()[4:]) if byte}

    def end_orphans(self):
        """A daemon that outlives its test would take a core from all mutants to come."""
        mine = f"{weave.STATE_VARIABLE}={self.path}\0".encode()
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/environ", "rb") as file:
                    if mine in file.read() + b"\0":
                        os.kill(int(process), 9)
            except OSError:
                pass


class Test:
    """A test as CTest knows it, and what it does without a mutation."""

    def __init__(self, entry, suppressions, longest, locks):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.suppressions = suppressions
        self.name, self.command = entry["name"], entry.get("command")
        self.kind = properties.get("LABELS", [""])[0]
        self.directory = properties.get("WORKING_DIRECTORY")
        self.environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
        self.guess_s = properties.get("COST", GUESSES_S.get(self.kind, 20))
        self.skipped = properties.get("SKIP_RETURN_CODE")
        self.limit, self.longest = properties.get("TIMEOUT", 300), longest
        # Two mutants are judged at a time; programs bear that, scripts may name what they make.
        names = properties.get("RESOURCE_LOCK", []) + ([] if self.kind in ("unit", "mpi") else [self.name])
        self.locks = [locks.setdefault(name, threading.Lock()) for name in sorted(names)]
        self.measuring, self.measured, self.fails = threading.Lock(), False, False
        self.leaks, self.processor_s, self.seconds, self.places, self.kills = "", None, 0, set(), 0

    def run(self, lane, number):
        """Whether it passes, exit code, output, seconds of processor time, with this mutant alive."""
        limits = ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(self.processor_s)] if self.processor_s else []
        # A malloc() that cannot be is refused, as the C library does it, and no error.
        environment = {"LSAN_OPTIONS": f"{self.leaks}:allocator_may_return_null=1", "GLIBC_TUNABLES": STATIC_TLS,
                       weave.STATE_VARIABLE: lane.path}
        with contextlib.ExitStack() as locked:
            for lock in self.locks:
                locked.enter_context(lock)
            lane.set(number)
            # What a test makes, and leaves behind when it is ended, goes with its run.
            environment["TMPDIR"] = locked.enter_context(tempfile.TemporaryDirectory(prefix="m.", ignore_cleanup_errors=True))
            os.chmod(environment["TMPDIR"], 0o1777)  # some run programs as other users
            code, output, used = run(limits + self.command, self.limit, os.environ | self.environment | environment,
                                     self.directory)
            lane.end_orphans()
        return code in (0, self.skipped), code, output, used

    def cost_for(self, mutant):
        """What decides which test is run first: the one that killed the mutant the last time, then what has killed most
        in the least time. What another lane measures now can wait."""
        seconds = self.seconds if self.measured else self.guess_s
        return self.name != mutant.before, self.measuring.locked(), seconds / (1 + self.kills)

    def may_notice(self, mutant):
        """Whether it comes through the mutant's statement, or else its function. A file without functions is a table,
        which others read, as they do a command's options."""
        return not self.fails and bool(not mutant.places or mutant.places & self.places or
                                       mutant.function is None and OPTION_READERS.search(self.name))

    def measure(self, lane):
        """Runs it without a mutation, once for all."""
        with self.measuring:
            if not self.measured:
                self.measure_now(lane)

    def measure_now(self, lane):
        # Some leave memory behind without a mutation that only an exact walk of the stack tells from ictus's own,
        # some in any case, or cannot be looked into.
        leaks = LEAKS.format(self.suppressions)
        for self.leaks in (leaks, f"{leaks}:fast_unwind_on_malloc=0", "detect_leaks=0"):
            begin = time.monotonic()
            passes, code, output, used = self.run(lane, 0)
            self.seconds = time.monotonic() - begin
            if passes:
                break
        self.places = lane.noted()
        # Long enough for a machine that has become busy since.
        self.limit = min(self.limit, max(10, min(self.longest, int(8 * self.seconds)), int(3 * self.seconds)))
        self.processor_s = int(2.5 * used) + 2 if self.kind == "unit" else None
        self.fails, self.measured = not passes, True
        if self.fails:
            print(f"{self.name} fails without a mutation and is left out, so the score is worse than it could be:\n"
                  f"{output[-2000:]}", file=sys.stderr, flush=True)
        elif code:
            print(f"{self.name} is skipped here: install what it needs, or the score is worse than it could be",
                  file=sys.stderr, flush=True)

    def notices(self, lane, number):
        """Whether it fails with this mutant. One that comes too late counts only if it comes in good time without."""
        while True:
            passes, code = self.run(lane, number)[:2]
            begin = time.monotonic()
            if code != LATE or self.run(lane, 0)[1] != LATE and 3 * (time.monotonic() - begin) < self.limit:
                self.kills += not passes
                return not passes
            self.limit *= 2


class Tests:
    """All tests of a build."""

    def __init__(self, directory, suppressions, longest):
        self.directory, self.suppressions, self.longest = directory, suppressions, longest
        self.known, self.found, self.locks = {}, {}, {}

    def read(self):
        """What CTest says of them: of programs that are not built yet, no command."""
        self.found.clear()
        _, text, _ = run(["ctest", "--test-dir", self.directory, "--show-only=json-v1"], 120)
        for entry in json.loads(text[text.index("{"):])["tests"]:
            if entry["name"] not in self.known or not self.known[entry["name"]].command:
                self.known[entry["name"]] = Test(entry, self.suppressions, self.longest, self.locks)

    def matching(self, pattern):
        if pattern not in self.found:
            self.found[pattern] = [test for name, test in self.known.items() if re.search(pattern, name)]
        if not self.found[pattern]:
            sys.exit(f"mutate: no test is called '{pattern}'")
        return self.found[pattern]

    def targets(self, patterns):
        """What has to be built for the tests that match any of these: unit tests need their own programs only,
        others that run with MPI the test programs."""
        tests = [test for pattern in patterns for test in self.matching(pattern)]
        rooms = {test.name.split(".")[0] for test in tests}
        if rooms - {"unit", "mpi"}:
            return ["all"]
        if "mpi" in rooms:
            return ["test_programs"]
        return sorted({"test_" + test.name.rsplit(".", 1)[1] for test in tests})

    def next_for(self, mutant, pattern):
        """Of those that match, may notice the mutant and did not pass with it yet, the one to be run next."""
        left = [] if mutant.invalid else [test for test in self.matching(pattern)
                                          if test.name not in mutant.tried and (not test.measured or test.may_notice(mutant))]
        return min(left, key=lambda test: test.cost_for(mutant), default=None)


def leak_flags():
    """What finds a dropped free: memory that nothing points to when a program ends fails its test."""
    code, _, _ = run([shutil.which("cc") or "gcc", "-fsanitize=leak", "-x", "c", "-", "-o", "/dev/null", "-shared"], 60)
    return "" if code else " -fsanitize=leak -fno-omit-frame-pointer"
