/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The x86 time stamp counter, if the CPU promises that it neither stops nor changes its rate. It is
 * calibrated against CLOCK_MONOTONIC_RAW. Readings are multiplied in 128 bits, so that a job that
 * runs for days loses no precision. All processes of a node use the calibration of one of them: see
 * state().
 */
#include "clock/counter.h"
#include "clock/sources.h"
#include "core/container.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <x86intrin.h>

__extension__ typedef unsigned __int128 wide;

struct tsc {
    struct source base;
    struct source_counter calibration;
};

/*
 * A reading is anchor_ns + ticks * multiplier / 2^48. At 1 to 5 GHz the multiplier has 46 to 49
 * significant bits, so that its rounding costs less than 1 ns in ten hours. The product exceeds 64
 * bits after the first 2^16 ticks, hence the 128-bit type.
 */
enum {
    SHIFT = 48,
    CALIBRATION_NS = 20000000 /* 20 ms: a reading error of 50 ns leaves a rate error below 3 ppm */
};

static int64_t tsc_read(const struct source *source)
{
    const struct source_counter *c = &container_of(source, struct tsc, base)->calibration;
    const uint64_t ticks = __rdtsc();
    /* A core's counter may lag the anchor by some ns. Its difference must not wrap around. */
    if (ticks >= c->anchor_ticks) {
        return c->anchor_ns + (int64_t)(((wide)(ticks - c->anchor_ticks) * c->multiplier) >> SHIFT);
    }
    return c->anchor_ns - (int64_t)(((wide)(c->anchor_ticks - ticks) * c->multiplier) >> SHIFT);
}

/*
 * A rate error of 3 ppm does not make the global clock wrong, because a synchronisation measures it
 * as drift. But a node must have only one calibration (see tsc_state()): two would make two clocks
 * that drift apart.
 */
static void tsc_calibrate(struct source_counter *c)
{
    const struct counter_pair start = ictusi_counter_pair();
    struct counter_pair end = start;
    while (end.ns - start.ns < CALIBRATION_NS) { /* waiting is part of the measurement */
        end = ictusi_counter_pair();
    }
    const double ns_per_tick = (double)(end.ns - start.ns) / (double)(end.ticks - start.ticks);
    c->anchor_ticks = end.ticks;
    c->anchor_ns = end.ns;
    c->multiplier = (uint64_t)(ns_per_tick * (double)(UINT64_C(1) << SHIFT));
}

/* The identity includes the calibration, because the same counter times another factor is
 * another clock. */
static void tsc_identify(const struct source *source, char *text, size_t size)
{
    const struct source_counter *c = &container_of(source, struct tsc, base)->calibration;
    char kernel[128];
    ictusi_source_kernel_identity(kernel, sizeof(kernel));
    (void)snprintf(text, size, "%s/tsc/%llu/%lld/%llu", kernel, (unsigned long long)c->anchor_ticks,
                   (long long)c->anchor_ns, (unsigned long long)c->multiplier);
}

/* The calibration, which the first process of a node gives to the others. */
static void *tsc_state(struct source *source, size_t *size)
{
    struct tsc *tsc = container_of(source, struct tsc, base);
    *size = sizeof(tsc->calibration);
    return &tsc->calibration;
}

static void tsc_free(struct source *source)
{
    free(container_of(source, struct tsc, base));
}

static int tsc_open(const struct spec *spec, const struct source_place *place,
                    struct source **source, struct ictus_why *why)
{
    (void)spec;
    (void)place;
    if (!ictusi_counter_invariant()) {
        return ictus_because(
            why, ICTUS_ERR_UNSUPPORTED,
            "clock 'tsc': this CPU does not promise an invariant time stamp counter");
    }
    struct tsc *tsc = calloc(1, sizeof(*tsc));
    if (!tsc) {
        return ICTUS_ERR_NOMEM;
    }
    tsc->base.ops = &ictusi_source_tsc;
    tsc_calibrate(&tsc->calibration);
    *source = &tsc->base;
    return ICTUS_OK;
}

const struct source_ops ictusi_source_tsc = {
    .name = "tsc",
    .summary = "invariant time stamp counter of x86-64, calibrated",
    .check = ictusi_source_check_bare,
    .open = tsc_open,
    .read = tsc_read,
    .identify = tsc_identify,
    .state = tsc_state,
    .free = tsc_free,
};

#else

static int tsc_open(const struct spec *spec, const struct source_place *place,
                    struct source **source, struct ictus_why *why)
{
    (void)spec;
    (void)place;
    (void)source;
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "clock 'tsc' exists only on x86-64");
}

const struct source_ops ictusi_source_tsc = {
    .name = "tsc",
    .summary = "invariant time stamp counter (not on this machine)",
    .check = ictusi_source_check_bare,
    .open = tsc_open,
};

#endif
