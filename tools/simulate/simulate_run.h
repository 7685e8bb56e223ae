/* SPDX-License-Identifier: BSD-3-Clause */
/* Running smpirun as a child: its output, the signals meant for it, and its end. */
#ifndef ICTUS_TOOLS_SIMULATE_RUN_H
#define ICTUS_TOOLS_SIMULATE_RUN_H

/*
 * What the wrapper runs: smpirun adds lines of its own to standard output when a program fails, so
 * it gets none, and the program the real one, here; and the program's process number goes to its
 * parent.
 */
enum { SIMULATE_RESULTS = 9, SIMULATE_NUMBER = 8 };

/*
 * Fork, run become(given) in the child, which replaces itself by smpirun, and wait for it and all
 * that it started. SIGINT, SIGTERM and SIGHUP are handed on to the simulated program, which ends at
 * its next pause; a second one ends it at once; it ends too if this process is killed. Returns the
 * program's exit code, 130 after a signal, 1 where it could not be started.
 */
int simulate_run(int (*become)(const void *given), const void *given);

#endif
