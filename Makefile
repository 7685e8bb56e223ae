# SPDX-License-Identifier: BSD-3-Clause
# Two commands for a newcomer, each doing all of its own set-up, and short cuts to CMake:
#   make demo       measure collectives here, for real; a table, a result file and a report
#   make check      both MPIs, all tests, lints and sanitizers (15 to 20 minutes on 2 cores)
#   make check-long what takes hours, too: large simulations, long fuzzing, packages
#   make            the program, in build/openmpi (or build/$(MPI) with MPI=mpich, or MPI=default: mpicc)
#   make install PREFIX=/opt/ictus      (and make uninstall)
#   make clean
MPI ?= $(shell command -v mpicc.openmpi >/dev/null 2>&1 && echo openmpi || echo default)
PREFIX ?= /usr/local
BUILD = build/$(MPI)
CMAKE_ARGS ?=
COMPILER = $(if $(filter default,$(MPI)),mpicc,mpicc.$(MPI))

all: $(BUILD)/CMakeCache.txt
	cmake --build $(BUILD) --parallel $(shell nproc)

$(BUILD)/CMakeCache.txt:
	cmake -S . -B $(BUILD) -DMPI_C_COMPILER=$(COMPILER) -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS)

demo:
	scripts/demo

check:
	scripts/check

check-long:
	scripts/check --long

install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	cmake --build $(BUILD) --target uninstall

clean:
	rm -rf build

.PHONY: all demo check check-long install uninstall clean
