/* SPDX-License-Identifier: BSD-3-Clause */
/* PTP hardware clocks and PPS devices: what is computed from their system calls' results. */
#ifndef ICTUS_LOCK_REFERENCE_PHC_H
#define ICTUS_LOCK_REFERENCE_PHC_H

#include "page/timebase.h"
#include "sample.h"

#include <linux/pps.h>
#include <linux/ptp_clock.h>
#include <stdbool.h>

/* System calls of the two drivers, for tests to answer. */
struct device_calls {
    int (*ioctl)(int fd, unsigned long request, void *argument);
};

/* The reading with the narrowest sandwich, of PTP_SYS_OFFSET_EXTENDED's answer. PHCs show TAI. */
bool ictusi_phc_sample(const struct ptp_sys_offset_extended *answer, const struct timebase *base,
                       int tai_offset_s, struct sample *sample);

/* The assert edge of PPS_FETCH's answer; utc_ns as for SOCK. */
bool ictusi_pps_sample(const struct pps_fdata *answer, const struct timebase *base, int64_t utc_ns,
                       struct sample *sample);

/* One reading through the calls. @return 1, or a negative error */
int ictusi_phc_read(const struct device_calls *calls, int fd, struct timebase *base,
                    int tai_offset_s, struct sample *sample);
int ictusi_pps_read(const struct device_calls *calls, int fd, struct timebase *base, int64_t utc_ns,
                    unsigned *sequence, struct sample *sample);

#endif
