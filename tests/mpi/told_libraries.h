/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables by which two MPI libraries would let a program choose algorithms. */
#ifndef ICTUS_TESTS_MPI_TOLD_LIBRARIES_H
#define ICTUS_TESTS_MPI_TOLD_LIBRARIES_H

#include "told_variables.h"

#define CHOICES(name, more)                                                                        \
    "Variable to select " name " algorithmauto           - Internal algorithm selection (can be "  \
    "overridden)binomial - Force binomial algorithm" more

static struct told mpich[] = {
    {.name = "MPIR_CVAR_NUMBER", .description = "a number", .value = 7},
    {.name = "MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM",
     .description = CHOICES("reduce_scatter", "noncommutative - Force noncommutative algorithm")},
    {.name = "MPIR_CVAR_BCAST_INTRA_ALGORITHM",
     .description = CHOICES("bcast", "ring - Force ring algorithmsmp - Force smp algorithm")},
    {.name = "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", .description = "the switch"},
    {.name = "MPIR_CVAR_DEVICE_COLLECTIVES",
     .description =
         "all devices' collectivesall - Always. none - Never. percoll - Each by its own"},
    {.name = "MPIR_CVAR_COLLECTIVE_FALLBACK",
     .description = "where a choice does not apply.error - Fail. print - Say so. silent - Go on",
     .value = 2},
    /* None of the following can be used to choose an algorithm. */
    {.name = "MPIR_CVAR_GATHER_INTRA_ALGORITHM",
     .description = CHOICES("gather", ""),
     .is_constant = true,
     .value = 1},
    {.name = "MPIR_CVAR_SCATTER_INTRA_ALGORITHM",
     .description = CHOICES("scatter", ""),
     .is_byte = true},
    {.name = "MPIR_CVAR_SCAN_INTRA_ALGORITHM",
     .description = "binomial - Force binomial algorithm"},
    {.name = "MPIR_CVAR_INTRA_ALGORITHM", .description = CHOICES("", "")},
    {.name = "MPIR_CVAR_EXSCAN_INTRA_ALGORITHMS", .description = CHOICES("exscan", "")},
    {.name = "MPIX_CVAR_EXSCAN_INTRA_ALGORITHM", .description = CHOICES("exscan", "")},
};
enum {
    M_BCAST = 2,
    M_BCAST_DEVICE,
    M_DEVICES,
    M_FALLBACK,
    M_COUNT = sizeof(mpich) / sizeof(mpich[0])
};

static const char *const tuned_bcast[] = {"ignore", "default", "chain", NULL};

static struct told open_mpi[] = {
    {.name = "coll_tuned_use_dynamic_rules", .is_byte = true, .value = 1},
    {.name = "coll_tuned_bcast_algorithm", .values = tuned_bcast},
    {.name = "coll_tuned_priority", .value = 30},
    {.name = "coll_han_priority", .value = 35},
    {.name = "coll_libnbc_priority", .value = 30},
    {.name = "coll_basic_priority", .value = 29},
    {.name = "coll_self_priority", .value = 75},
    {.name = "coll_inter_priority", .value = 75},
    {.name = "coll_sync_priority", .value = 75},
    {.name = "coll_bytes_priority", .value = 75, .is_byte = true},
    {.name = "coll__priority", .value = 75},
    {.name = "pml_ob1_priority", .value = 75},
};
enum { O_RULES, O_BCAST, O_COUNT = sizeof(open_mpi) / sizeof(open_mpi[0]) };

#endif
