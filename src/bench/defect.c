/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that hang, or read memory that is not theirs, in known releases of an MPI library.
 * What computes wrongly is found by trying it; what hangs cannot be tried, so it is listed here
 * with its report.
 */
#include "bench/defect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct defect {
    const char *operation;
    const char *library; /* the words before the version number */
    int mended;          /* the first version without it, as VERSION() */
    bool powers_of_two;  /* only on such numbers of processes */
    const char *words;
};

#define VERSION(major, minor, patch) (((major)*100 + (minor)) * 100 + (patch))

/* Both keep the state of their last run: github.com/pmodels/mpich, pull requests 7550 and 6425. */
static const struct defect defects[] = {
    {"scatter_init", "MPICH Version:", VERSION(5, 0, 0), false,
     "in MPICH before 5.0 it hangs or reads foreign memory when it is started again"},
    {"allgather_init", "MPICH Version:", VERSION(4, 1, 2), true,
     "in MPICH before 4.1.2 it reads foreign memory when it is started again"},
};

static int version_of(const char *text)
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    (void)sscanf(text, "%d.%d.%d", &major, &minor, &patch); /* NOLINT(cert-err34-c): 0 if absent */
    return VERSION(major, minor, patch);
}

const char *ictusi_defect(const char *library, const char *operation, int processes)
{
    const bool power_of_two = (processes & (processes - 1)) == 0;
    for (size_t i = 0; processes > 1 && i < sizeof(defects) / sizeof(defects[0]); i++) {
        const struct defect *d = &defects[i];
        const char *version = strstr(library, d->library);
        if (version && strcmp(operation, d->operation) == 0 &&
            (power_of_two || !d->powers_of_two) &&
            version_of(version + strlen(d->library)) < d->mended) {
            return d->words;
        }
    }
    return NULL;
}
