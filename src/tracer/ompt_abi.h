/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of OMPT, the tools interface of OpenMP 5.0 (chapter 4), that the tracer uses. Compilers
 * without OMPT have no omp-tools.h, yet their programs may run with a library that supports it.
 * tests/trace/openmp.c compares these numbers with the header, if there is one.
 */
#ifndef ICTUS_TRACER_OMPT_ABI_H
#define ICTUS_TRACER_OMPT_ABI_H

#include <stdint.h>

/* A word for the tool's own use in each thread, task and parallel region. */
union ompt_word {
    uint64_t value;
    void *ptr;
};

typedef void (*ompt_function)(void);
typedef ompt_function (*ompt_lookup)(const char *name);
typedef int (*ompt_set)(int callback, ompt_function function);

struct ompt_tool {
    int (*initialize)(ompt_lookup lookup, int device, union ompt_word *tool);
    void (*finalize)(union ompt_word *tool);
    union ompt_word word;
};

enum {
    OMPT_PARALLEL_BEGIN = 3,
    OMPT_PARALLEL_END = 4,
    OMPT_IMPLICIT_TASK = 7,
    OMPT_SYNC_REGION = 23
};

enum { OMPT_SCOPE_BEGIN = 1, OMPT_SCOPE_END = 2 };

/* Kinds of synchronisation regions of a team. */
enum {
    OMPT_BARRIER = 1,
    OMPT_BARRIER_IMPLICIT = 2,
    OMPT_BARRIER_EXPLICIT = 3,
    OMPT_BARRIER_IMPLEMENTATION = 4,
    OMPT_BARRIER_WORKSHARE = 8,
    OMPT_BARRIER_PARALLEL = 9
};

/* Flags of a task, and of a region: a team, not a league of teams. */
enum { OMPT_TASK_INITIAL = 1 };
#define OMPT_PARALLEL_TEAM 0x80000000U

#endif
