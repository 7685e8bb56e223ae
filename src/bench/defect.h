/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that hang or crash in known releases of an MPI library. */
#ifndef ICTUS_BENCH_DEFECT_H
#define ICTUS_BENCH_DEFECT_H

#include <stdbool.h>

/* The properties of a use of an operation on which known defects depend. */
struct defect_use {
    const char *operation;
    int processes;
    bool listed_graph;      /* a graph topology whose edges come from a file */
    bool in_place_beyond_0; /* MPI_IN_PLACE at a root other than rank 0 */
};

/*
 * What is wrong with this use in the library with this version text (from
 * MPI_Get_library_version()), or NULL if no defect is known.
 */
const char *ictusi_defect(const char *library, const struct defect_use *use);

#endif
