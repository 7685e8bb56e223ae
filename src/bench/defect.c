/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that hang, or read memory that is not theirs, in known releases of an MPI library. An
 * operation that computes wrong results is found by trying it. One that hangs cannot be tried, so
 * it is listed here with its bug report.
 */
#include "bench/defect.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum when { ALWAYS, LISTED_GRAPH, POWER_OF_TWO_PROCESSES, IN_PLACE_BEYOND_0 };

struct defect {
    const char *operation;
    const char *library; /* the library's name in its version text, up to the version number */
    int mended;          /* the first version without the defect, as VERSION() */
    enum when when;
    const char *words;
};

#define VERSION(major, minor, patch) (((major)*100 + (minor)) * 100 + (patch))

/*
 * The first two keep state from their last run: github.com/pmodels/mpich, pull requests 7550 and
 * 6425. The third reads at the address MPI_IN_PLACE: issue 6540. The others return before all of
 * their messages have arrived, if a process receives from more processes than it sends to: issue
 * 6233 of October 2022, before the release of 4.1. That fails in some repetitions only, so a trial
 * in advance would not find it.
 */
#define EARLY_RETURN                                                                               \
    "in MPICH before 4.1 it moves wrong data on graphs whose processes have different neighbours"
static const struct defect defects[] = {
    {"scatter_init", "MPICH Version:", VERSION(5, 0, 0), ALWAYS,
     "in MPICH before 5.0 it hangs or reads memory outside its buffers when it is started again"},
    {"allgather_init", "MPICH Version:", VERSION(4, 1, 2), POWER_OF_TWO_PROCESSES,
     "in MPICH before 4.1.2 it reads memory outside its buffers when it is started again"},
    {"reduce", "MPICH Version:", VERSION(4, 1, 2), IN_PLACE_BEYOND_0,
     "in MPICH before 4.1.2 it crashes in place at a root that is not rank 0"},
    {"neighbor_alltoallw", "MPICH Version:", VERSION(4, 1, 0), LISTED_GRAPH, EARLY_RETURN},
    {"ineighbor_alltoallw", "MPICH Version:", VERSION(4, 1, 0), LISTED_GRAPH, EARLY_RETURN},
    {"neighbor_alltoallw_init", "MPICH Version:", VERSION(4, 1, 0), LISTED_GRAPH, EARLY_RETURN},
};

static int version_of(const char *text)
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    (void)sscanf(text, "%d.%d.%d", &major, &minor, &patch); /* NOLINT(cert-err34-c): 0 if absent */
    return VERSION(major, minor, patch);
}

static bool defect_applies(enum when when, const struct defect_use *use)
{
    switch (when) {
    case POWER_OF_TWO_PROCESSES:
        return (use->processes & (use->processes - 1)) == 0;
    case LISTED_GRAPH:
        return use->listed_graph && use->processes > 1;
    case IN_PLACE_BEYOND_0:
        return use->in_place_beyond_0 && use->processes > 1;
    default:
        return use->processes > 1;
    }
}

const char *ictusi_defect(const char *library, const struct defect_use *use)
{
    for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
        const struct defect *d = &defects[i];
        const char *version = strstr(library, d->library);
        if (version && strcmp(use->operation, d->operation) == 0 && defect_applies(d->when, use) &&
            version_of(version + strlen(d->library)) < d->mended) {
            return d->words;
        }
    }
    return NULL;
}
