/* SPDX-License-Identifier: BSD-3-Clause */
/* NTP shared memory segments. */
#include "reference_shm.h"

#include "core/container.h"
#include "reference.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>

enum { SHM_KEY = 0x4e545030, SHM_UNITS = 256, SHM_MODE = 0600, SHM_PUBLIC_UNIT = 2 };

/* A stamp older than this (ns) was left by a feeder that has ended. */
static const int64_t stale_ns = INT64_C(10000000000);

/* No feeder gives two samples within this time (ns). */
static const int64_t same_ns = 10000;

struct shm_reference {
    struct reference base;
    struct shm_segment *segment;
    int64_t last; /* local stamp of the last sample */
};

/* Nanoseconds count only if they agree with the microseconds, because old feeders set only the
 * latter. */
static bool shm_stamp(time_t s, int us, unsigned ns, int64_t *instant)
{
    const int64_t fine = ns / 1000 == (unsigned)us ? (int64_t)ns : (int64_t)us * 1000;
    return ictusi_timebase_stamp_join(s, fine, instant);
}

/*
 * There is no lock in common with the feeder, only two conventions (ntpd's refclock 28): the feeder
 * sets `valid` last and it is cleared here, and in mode 1 `count` changes around each write. The
 * first fence keeps the copy from being read before valid and count, and the second one keeps count
 * from being read again before the copy is complete. In mode 0 a torn copy cannot be detected. The
 * checks of range and age below catch most of them.
 */
int ictusi_shm_take(struct shm_segment *segment, struct timebase *base, struct sample *sample)
{
    const int count = segment->count;
    if (!segment->valid) {
        return 0;
    }
    atomic_thread_fence(memory_order_acquire);
    const struct shm_segment copy = *segment;
    atomic_thread_fence(memory_order_acquire);
    /* In mode 1 the feeder increments count before and after it writes. An equal count before
     * and after the copy means that the copy is of a single sample. */
    if ((copy.mode == 1 && segment->count != count) || !segment->valid) {
        return 0;
    }
    segment->valid = 0;
    int64_t real = 0;
    int64_t reference = 0;
    if (copy.mode < 0 || copy.mode > 1 || copy.leap == 3 ||
        !shm_stamp(copy.local_s, copy.local_us, copy.local_ns, &real) ||
        !shm_stamp(copy.reference_s, copy.reference_us, copy.reference_ns, &reference) ||
        reference == 0 || llabs(base->real - real) > stale_ns) {
        return 0;
    }
    memset(sample, 0, sizeof(*sample));
    sample->local = ictusi_timebase_raw(base, real);
    sample->offset_ns = reference - sample->local;
    /* The feeder's precision is a claim and not a measurement, so the noise is learned. */
    const int precision = copy.precision < -30 ? -30 : copy.precision > 0 ? 0 : copy.precision;
    sample->bound_ns = ldexp(1e9, precision) + 1000.0;
    sample->sigma_ns = fmin(1e6, ldexp(1e9, precision)) / 4.0;
    sample->kernel = true;
    return 1;
}

static int shm_open_unit(const char *argument, struct reference **reference, struct ictus_why *why)
{
    int64_t unit = 0;
    if (ictus_parse_int(argument[0] ? argument : "0", &unit) || unit < 0 || unit >= SHM_UNITS) {
        return ictus_because(why, ICTUS_ERR_SPEC, "shm:%.40s: must be a unit between 0 and %d",
                             argument, SHM_UNITS - 1);
    }
    /* By ntpd's convention units 0 and 1 belong to root, and anybody may feed the others.
     * Whoever can write to a segment sets this clock. */
    const int mode = unit < SHM_PUBLIC_UNIT ? SHM_MODE : SHM_MODE | 0066;
    const int id = shmget(SHM_KEY + (int)unit, sizeof(struct shm_segment), IPC_CREAT | mode);
    if (id < 0) {
        return ictus_because(why, errno == EACCES ? ICTUS_ERR_PERMISSION : ICTUS_ERR_IO,
                             "cannot open NTP shared memory %d: %s", (int)unit, strerror(errno));
    }
    struct shm_reference *r = calloc(1, sizeof(*r));
    void *memory = shmat(id, NULL, 0);
    if (!r || (intptr_t)memory == -1) {
        free(r);
        return ictus_because(why, ICTUS_ERR_IO, "cannot attach NTP shared memory %d: %s", (int)unit,
                             strerror(errno));
    }
    r->base.ops = &ictusi_reference_shm;
    r->segment = memory;
    *reference = &r->base;
    return ICTUS_OK;
}

static int shm_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                    struct sample *samples, int max)
{
    struct shm_reference *r = container_of(reference, struct shm_reference, base);
    (void)utc_ns;
    (void)ictusi_timebase_read(base);
    /* Converted with another pair of readings, the same stamp would differ slightly. */
    if (max < 1 || !ictusi_shm_take(r->segment, base, samples) ||
        llabs(samples->local - r->last) < same_ns) {
        return 0;
    }
    r->last = samples->local;
    return 1;
}

static void shm_close(struct reference *reference)
{
    struct shm_reference *r = container_of(reference, struct shm_reference, base);
    (void)shmdt(r->segment);
    free(r);
}

const struct reference_ops ictusi_reference_shm = {
    .name = "shm",
    .refid = "SHM\0",
    .open = shm_open_unit,
    .read = shm_read,
    .close = shm_close,
};
