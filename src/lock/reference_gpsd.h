/* SPDX-License-Identifier: BSD-3-Clause */
/* gpsd's JSON reports of time offsets (gpsd_json(5): TOFF and PPS). */
#ifndef ICTUS_LOCK_REFERENCE_GPSD_H
#define ICTUS_LOCK_REFERENCE_GPSD_H

#include "page/timebase.h"
#include "sample.h"

#include <stdbool.h>

/* Parse a line from gpsd. @return false if it is not a time report */
bool ictusi_gpsd_sample(const char *line, const struct timebase *base, struct sample *sample);

#endif
