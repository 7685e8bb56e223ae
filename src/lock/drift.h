/* SPDX-License-Identifier: BSD-3-Clause */
/* The drift file: what was learnt of the oscillator, for the next start. One line of text:
 * frequency and its standard deviation in ppm, and the boot id under which they were measured. */
#ifndef ICTUS_LOCK_DRIFT_H
#define ICTUS_LOCK_DRIFT_H

#include <ictus/error.h>
#include <stdbool.h>

struct drift {
    int fd; /* -1: none */
    bool known;
    bool same_boot;       /* written since the machine started: the raw clock runs as it did */
    double frequency, sd; /* ns/s, of true time against the local clock */
};

/*
 * Open the file, creating it, while there is the privilege, and read it. One that holds no drift is
 * an error: it may be somebody's. @return ICTUS_OK, ICTUS_ERR_IO or ICTUS_ERR_FORMAT
 */
int ictusi_drift_open(struct drift *drift, const char *path, struct ictus_why *why);

/* Write a new one. @return whether it worked */
bool ictusi_drift_write(struct drift *drift, double frequency, double sd);

void ictusi_drift_close(struct drift *drift);

#endif
