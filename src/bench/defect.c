/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that hang in known releases of an MPI library. What computes wrongly is found by
 * trying it; what hangs cannot be tried, so it is listed here with its report.
 */
#include "bench/defect.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct defect {
    const char *operation;
    const char *library;    /* the words before the version number */
    long mended;            /* the first major version without it */
    int harmless_processes; /* up to so many it works */
    const char *words;
};

static const struct defect defects[] = {
    /* github.com/pmodels/mpich, pull request 7550: the schedule keeps the state of its last run. */
    {"scatter_init", "MPICH Version:", 5, 2,
     "in MPICH before 5 it hangs when started again on more than 2 processes"},
};

const char *ictusi_defect(const char *library, const char *operation, int processes)
{
    for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
        const struct defect *d = &defects[i];
        const char *version = strstr(library, d->library);
        if (version && strcmp(operation, d->operation) == 0 && processes > d->harmless_processes &&
            strtol(version + strlen(d->library), NULL, 10) < d->mended) {
            return d->words;
        }
    }
    return NULL;
}
