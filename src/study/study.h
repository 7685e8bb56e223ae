/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a study: the bare source of each process, and a communicator for exchanges. */
#ifndef ICTUS_STUDY_STUDY_H
#define ICTUS_STUDY_STUDY_H

#include "clock/source.h"

#include <ictus/study.h>
#include <stdbool.h>

struct ictus_study {
    MPI_Comm comm; /* private */
    struct source *source;
    bool crowded;
    int rank;
    int size;
};

#endif
