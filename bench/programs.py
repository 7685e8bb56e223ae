# SPDX-License-Identifier: BSD-3-Clause
"""Applications that are traced here, on two processes or more: examples/amg, and lmp (LAMMPS) and hpcc where they are on the PATH."""
import gzip
import os
import re
import shutil
import subprocess

LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 2 check yes
fix 1 all nve
thermo 2
run 300
"""


def hpcc_input(hpcc, path):
    """The example that comes with the program, made small, on a grid of 1 x 2."""
    example = os.path.join(os.path.dirname(hpcc), "../share/doc/hpcc/examples/_hpccinf.txt")
    opened = gzip.open(f"{example}.gz", "rt") if os.path.exists(f"{example}.gz") else open(example, encoding="utf-8")
    with opened, open(path, "w", encoding="utf-8") as file:
        lines = opened.readlines()
        for i, line in enumerate(lines):
            for key, value in (("Ns", "400"), ("Ps", "1"), ("Qs", "2")):
                if re.search(rf"\s{key}\s*$", line):
                    lines[i] = f"{value} {key}\n"
        file.writelines(lines)


def mpi_of(program):
    """The MPI libraries that a program loads."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"libmpi(?:ch)?\.so\.\d+", said))


def traced_programs(build, directory):
    """(Name, words) of those that are there, with their input in the directory in which they have to run; and a line about each other one."""
    amg = f"{build}/examples/example_amg"
    found, missing = [("amg", [amg, "32", "40"])], []
    for name in ("lmp", "hpcc"):
        path = shutil.which(name)
        if not path:
            missing.append(f"{name} is not on the PATH: not measured")
        elif not mpi_of(path) & mpi_of(amg):
            missing.append(f"{name} does not use the MPI library of {build}: not measured")
        elif name == "hpcc":
            hpcc_input(path, f"{directory}/hpccinf.txt")
            found.append((name, [path]))
        else:
            with open(f"{directory}/in.lj", "w", encoding="utf-8") as file:
                file.write(LAMMPS)
            found.append((name, [path, "-in", "in.lj", "-log", "none", "-screen", "none"]))
    return found, missing
