# SPDX-License-Identifier: BSD-3-Clause
"""What the compiler makes of a source: two sources with the same object file are the same program."""
import json
import os
import shlex
import subprocess
import tempfile


class Objects:
    """Compiles as a build does that has a compile_commands.json, but optimizes: so that more is the same."""

    def __init__(self, directory, tree):
        self.commands, self.originals = {}, {}
        with open(os.path.join(directory, "compile_commands.json"), encoding="utf-8") as file:
            for entry in json.load(file):
                path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree)
                self.commands.setdefault(path, []).append((self.reading_input(entry), entry["directory"]))

    @staticmethod
    def reading_input(entry):
        """The command of an entry without its output, and with the source on its input."""
        words = entry.get("arguments") or shlex.split(entry["command"])
        output = words.index("-o") if "-o" in words else len(words)
        words = words[:output] + words[output + 2:]
        path = os.path.join(entry["directory"], entry["file"])
        words = [word for word in words if word not in ("-c", entry["file"], path)]
        return [*words, "-O2", "-w", "-iquote", os.path.dirname(path), "-x", "c", "-c", "-"]

    def made_of(self, path, text):
        """The object files, one for each way in which the build compiles this source; None if it does not compile."""
        objects = []
        for command, directory in self.commands.get(path, []):
            with tempfile.NamedTemporaryFile(suffix=".o") as made:
                done = subprocess.run([*command, "-o", made.name], input=f'#line 1 "{path}"\n{text}', text=True,
                                      cwd=directory, capture_output=True)
                if done.returncode:
                    return None
                objects.append(made.read())
        return objects

    def are_same(self, mutant):
        """Whether a mutant compiles to what its source compiles to."""
        if mutant.path not in self.originals:
            self.originals[mutant.path] = self.made_of(mutant.path, mutant.source)
        original = self.originals[mutant.path]
        return bool(original) and self.made_of(mutant.path, mutant.text()) == original
