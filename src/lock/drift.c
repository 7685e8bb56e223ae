/* SPDX-License-Identifier: BSD-3-Clause */
/* The drift file. */
#include "drift.h"

#include "core/plain.h"
#include "page/page.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DRIFT_BYTES = 128 };

/* An oscillator that is off by more than this (ppm) does not exist. */
static const double drift_most_ppm = 500.0;

/* The boot id without the line feed, or an empty text if there is none. */
static void drift_boot(char boot[PAGE_BOOT_BYTES])
{
    uint64_t timens = 0;
    if (ictusi_page_identity(boot, &timens)) {
        boot[0] = '\0';
    }
    boot[strcspn(boot, "\n")] = '\0';
}

/*
 * The file is opened before privileges are dropped and kept open, because the daemon may be unable
 * to open it later. An empty file is new. A malformed one is refused, because a wrong frequency is
 * worse than none: 50 ppm are 50 us per second until the loop has found the right one.
 */
int ictusi_drift_open(struct drift *drift, const char *path, struct ictus_why *why)
{
    char text[DRIFT_BYTES], boot[PAGE_BOOT_BYTES], written[PAGE_BOOT_BYTES] = "";
    double ppm = 0.0, sd_ppm = 0.0;
    drift->known = false;
    drift->same_boot = false;
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
    /* NOLINTNEXTLINE(cert-err34-c): judged */
    const int fields = sscanf(text, "%lf %lf %36s", &ppm, &sd_ppm, written);
    plain_end(&plain);
    if (fields < 2 || !(fabs(ppm) <= drift_most_ppm) || !(sd_ppm >= 0.0) ||
        !(sd_ppm <= drift_most_ppm)) {
        ictusi_drift_close(drift);
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s is not a drift file, which begins with two numbers: the frequency "
                             "and its standard deviation in ppm",
                             path);
    }
    drift->frequency = ppm * 1e3;
    drift->sd = sd_ppm * 1e3;
    drift->known = true;
    drift_boot(boot);
    drift->same_boot = boot[0] && strcmp(boot, written) == 0;
    return ICTUS_OK;
}

/*
 * Write in place by one pwrite() of a fixed length. A second file and a rename would need write
 * permission for the directory, which the daemon may no longer have. Frequency and standard
 * deviation are in ppm, which are 1e3 ns/s each.
 */
bool ictusi_drift_write(struct drift *drift, double frequency, double sd)
{
    char text[DRIFT_BYTES], boot[PAGE_BOOT_BYTES];
    drift_boot(boot);
    const struct plain plain = plain_begin();
    /* The length is always the same, so that the file is complete at any moment. */
    const int length = snprintf(text, sizeof(text), "%20.9f %20.9f %-36s\n", frequency / 1e3,
                                fmin(500.0, sd / 1e3), boot);
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
