/* SPDX-License-Identifier: BSD-3-Clause */
/* The drift file. */
#include "drift.h"

#include "core/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DRIFT_BYTES = 128 };

/* An oscillator off by more than this is none (ppm). */
static const double drift_most_ppm = 500.0;

int ictusi_drift_open(struct drift *drift, const char *path, struct ictus_why *why)
{
    char text[DRIFT_BYTES];
    double ppm = 0.0, sd_ppm = 0.0;
    drift->known = false;
    drift->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (drift->fd < 0) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot open the drift file %s: %s", path,
                             strerror(errno));
    }
    const ssize_t length = pread(drift->fd, text, sizeof(text) - 1, 0);
    if (length <= 0) {
        return ICTUS_OK;
    }
    text[length] = '\0';
    const struct plain plain = plain_begin();
    const int fields = sscanf(text, "%lf %lf", &ppm, &sd_ppm); /* NOLINT(cert-err34-c): judged */
    plain_end(&plain);
    if (fields != 2 || !(fabs(ppm) <= drift_most_ppm) || !(sd_ppm >= 0.0) ||
        !(sd_ppm <= drift_most_ppm)) {
        ictusi_drift_close(drift);
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s is not a drift file, which holds two numbers: the frequency and "
                             "its standard deviation in ppm",
                             path);
    }
    drift->frequency = ppm * 1e3;
    drift->sd = sd_ppm * 1e3;
    drift->known = true;
    return ICTUS_OK;
}

bool ictusi_drift_write(struct drift *drift, double frequency, double sd)
{
    char text[DRIFT_BYTES];
    const struct plain plain = plain_begin();
    /* Of one length always, so that the file is whole at any moment. */
    const int length =
        snprintf(text, sizeof(text), "%20.9f %20.9f\n", frequency / 1e3, fmin(500.0, sd / 1e3));
    plain_end(&plain);
    return drift->fd >= 0 && pwrite(drift->fd, text, (size_t)length, 0) == (ssize_t)length &&
           ftruncate(drift->fd, (off_t)length) == 0;
}

void ictusi_drift_close(struct drift *drift)
{
    if (drift->fd >= 0) {
        (void)close(drift->fd);
    }
    drift->fd = -1;
}
