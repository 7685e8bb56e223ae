/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The drift file keeps what was learned about the oscillator for the next start. It is one line of
 * text: the frequency and its standard deviation in ppm, and the boot id under which they were
 * measured.
 */
#ifndef ICTUS_LOCK_DRIFT_H
#define ICTUS_LOCK_DRIFT_H

#include <ictus/error.h>
#include <stdbool.h>

struct drift {
    int fd; /* file descriptor, or -1 */
    bool known;
    bool same_boot;       /* written since the boot, so the raw clock's rate is unchanged */
    double frequency, sd; /* ns/s, of true time against the local clock */
};

/*
 * Open the file while privileges last, create it if necessary, and read it. A file that does not
 * hold a drift is an error, because it may belong to something else. @return ICTUS_OK, ICTUS_ERR_IO
 * or ICTUS_ERR_FORMAT
 */
int ictusi_drift_open(struct drift *drift, const char *path, struct ictus_why *why);

/* Write a new drift. @return whether this succeeded */
bool ictusi_drift_write(struct drift *drift, double frequency, double sd);

void ictusi_drift_close(struct drift *drift);

#endif
