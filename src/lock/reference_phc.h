/* SPDX-License-Identifier: BSD-3-Clause */
/* PTP hardware clocks and PPS devices: computing samples from the results of system calls. */
#ifndef ICTUS_LOCK_REFERENCE_PHC_H
#define ICTUS_LOCK_REFERENCE_PHC_H

#include "page/timebase.h"
#include "sample.h"

#include <linux/pps.h>
#include <linux/ptp_clock.h>
#include <stdbool.h>

/* System calls of the two drivers, which tests can replace. */
struct device_calls {
    int (*ioctl)(int fd, unsigned long request, void *argument);
};

/* Compute a sample from the narrowest reading in the result of PTP_SYS_OFFSET_EXTENDED. PHCs
 * show TAI. */
bool ictusi_phc_sample(const struct ptp_sys_offset_extended *answer, const struct timebase *base,
                       int tai_offset_s, struct sample *sample);

/* Compute a sample from the assert edge in the result of PPS_FETCH. utc_ns: see struct
 * reference_ops. */
bool ictusi_pps_sample(const struct pps_fdata *answer, const struct timebase *base, int64_t utc_ns,
                       struct sample *sample);

/* Take one reading through the calls. @return 1, or a negative error */
int ictusi_phc_read(const struct device_calls *calls, int fd, struct timebase *base,
                    int tai_offset_s, struct sample *sample);
int ictusi_pps_read(const struct device_calls *calls, int fd, struct timebase *base, int64_t utc_ns,
                    unsigned *sequence, struct sample *sample);

#endif
