# SPDX-License-Identifier: BSD-3-Clause
"""The command line of the Python programs here: all of it is judged before any work.

    given = Command(__doc__).build("tools/ictus").word("RUNS", positive, 10).option("--seed", whole, 0).flag("--mixed").read()

Options may stand anywhere. --help prints the program's docstring, in which lines that name the program are its usage. What is wrong
gets one line on stderr and exit code 2. command.sh does the same for shell.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIMULATOR = ("tools/ictus",) if "ICTUS_SIMULATE_DIR" in os.environ else ("tools/ictus", "simulate/ictus-simgrid")
TRACER = ("tools/ictus", "preload/libictus-trace.so")
NAME = "bench/" + os.path.relpath(os.path.abspath(sys.argv[0]), HERE)


def whole(text):
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def positive(text):
    if whole(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is less than 1")
    return int(text)


def real(text):
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def real_text(text):
    """A number that is passed on as it was written."""
    real(text)
    return text


def regex(text):
    try:
        re.compile(text)
    except re.error as why:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {why}") from None
    return text


def folder(text):
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a directory")
    return text


def one_of(*choices):
    def check(text):
        if text not in choices:
            raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(choices)}")
        return text
    return check


def list_of(kind):
    """Several of a kind, with commas between them."""
    def check(text):
        return [kind(part) for part in text.split(",")]
    return check


def run(*command, env=None, cwd=None, limit=600, expect=(0,)):
    """A program with its output; one that ends with another code ends the caller."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, cwd=cwd, timeout=limit,
                          env={**os.environ, **(env or {})})
    if done.returncode not in expect:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


class Command(argparse.ArgumentParser):
    def __init__(self, text):
        super().__init__(prog=NAME, allow_abbrev=False)
        self.text, self.several, self.needed, self.known = text, False, None, {"-h", "--help"}

    def build(self, *needed, usual=None, several=False):
        """The word BUILD, with what has to be there; without a usual one it must be given. given.build or given.builds."""
        name, kind = ("builds", list_of(str)) if several else ("build", str)
        self.add_argument(name, metavar="BUILD", type=kind, default=usual, nargs="?" if usual else None)
        self.several, self.needed = several, needed
        return self

    def word(self, name, kind=str, usual=None, required=False):
        self.add_argument(name.lower(), metavar=name, type=kind, default=usual, nargs=None if required else "?")
        return self

    def words(self, name, kind=str):
        self.add_argument(f"{name.lower()}s", metavar=name, type=kind, nargs="*", default=[])
        return self

    def option(self, name, kind=str, usual=None):
        self.known.add(name)
        self.add_argument(name, type=kind, default=usual)
        return self

    def flag(self, name):
        self.known.add(name)
        self.add_argument(name, action="store_true")
        return self

    def read(self, words=None):
        words = sys.argv[1:] if words is None else words
        for word in words:  # argparse would tell of words that are not there instead
            if re.match("-[^0-9]", word) and word.partition("=")[0] not in self.known:
                self.error(f"not understood: {word}")
        given = self.parse_intermixed_args(words)
        if self.needed is not None:
            for build in given.builds if self.several else [given.build]:
                self.check(build, *self.needed)
        return given

    def check(self, build, *needed):
        """Whether a build has what is needed."""
        if not os.path.isdir(build):
            self.error(f"BUILD: there is no directory '{build}'")
        if not all(os.path.exists(f"{build}/{name}") for name in ("CMakeCache.txt", "launch")):
            self.error(f"BUILD: '{build}' is no build directory of ictus")
        for path in needed:
            if not os.path.exists(f"{build}/{path}"):
                where = " where SimGrid is" if path.startswith("simulate/") else ""
                self.error(f"BUILD: '{build}' has no {path}, which 'cmake --build {build} --target all bench' makes{where}")

    def check_program(self, name, what):
        if not shutil.which(name):
            self.error(f"{what} needs {name} on the PATH")

    def make(self, build, *targets):
        """What is measured, up to date."""
        words = ["cmake", "--build", build, "--target", *targets]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{done.stdout}{NAME}: '{' '.join(words)}' failed")

    def usage_lines(self):
        return [re.split(" {3,}", line.strip())[0] for line in self.text.splitlines() if re.search(rf"^ {{4}}(BUILD=\S+ )?{NAME}( |$)", line)]

    def format_help(self):
        return self.text.strip() + "\n"

    def error(self, message):
        message = re.sub(r"^argument ([^:]*): ", r"\1: ", message.replace("unrecognized arguments: ", "not understood: "))
        self.exit(2, f"{NAME}: {message}; usage: {' or '.join(self.usage_lines())}\n")
