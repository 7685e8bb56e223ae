/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that hang, or worse, in known releases of an MPI library. */
#ifndef ICTUS_BENCH_DEFECT_H
#define ICTUS_BENCH_DEFECT_H

#include <stdbool.h>

/* What may bring a defect to light. */
struct defect_use {
    const char *operation;
    int processes;
    bool listed_graph;      /* a topology whose edges somebody wrote down */
    bool in_place_beyond_0; /* MPI_IN_PLACE at a root that is not rank 0 */
};

/*
 * What is wrong with that use in the library of that version text (as MPI_Get_library_version()
 * gives it), or NULL where nothing is known.
 */
const char *ictusi_defect(const char *library, const struct defect_use *use);

#endif
