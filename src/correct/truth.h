/* SPDX-License-Identifier: BSD-3-Clause */
/* How far the times of two archives are from those of a third, event by event. */
#ifndef ICTUS_CORRECT_TRUTH_H
#define ICTUS_CORRECT_TRUTH_H

#include "correct/clock_fit.h"

/* Whether good and in are of the same run; to be called before in is corrected. */
int ictusi_truth_check(const char *good, const char *in, struct ictus_why *why);

/*
 * Compare in and out with good, all with their own clock offsets applied, and add "truth" to the
 * report, including how many events are within the error that the fit declares. Errors:
 * ICTUS_ERR_ARG if the archives are not of the same run.
 */
int ictusi_truth_compare(const char *good, const char *in, const char *out,
                         const struct clock_fit *fit, json_t *report, struct ictus_why *why);

#endif
