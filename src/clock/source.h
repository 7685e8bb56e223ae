/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local time sources, chosen at run time by name: "monotonic", "tsc", "phc:/dev/ptp0",
 * "sim:offset=1.5s,drift=12.5ppm". Each source is a const table of operations, and one registry
 * array lists them all.
 */
#ifndef ICTUS_CLOCK_SOURCE_H
#define ICTUS_CLOCK_SOURCE_H

#include "core/spec.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position of a process in the job. A simulated source draws its parameters by it. */
struct source_place {
    int process; /* rank in MPI_COMM_WORLD, 0 without MPI */
    int node;    /* nodes are numbered by their lowest rank in the communicator */
};

enum { SOURCE_IDENTITY_MAX = 512 };

struct source;

/* The state() of the source "tsc": the line that converts counter ticks to nanoseconds. */
struct source_counter {
    uint64_t anchor_ticks;
    int64_t anchor_ns;
    uint64_t multiplier; /* ns per tick in units of 2^-48 */
};

struct source_ops {
    const char *name;
    const char *summary;
    /* Check whether the source accepts this specification, without opening anything. What is
     * refused here would be refused on every machine. Errors: ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN. */
    int (*check)(const struct spec *spec, struct ictus_why *why);
    /* Open the source. Only called after check() has accepted the specification. */
    int (*open)(const struct spec *spec, const struct source_place *place, struct source **source,
                struct ictus_why *why);
    int64_t (*read)(const struct source *source); /* ns; reentrant */
    /* Write a text that identifies the clock which this source reads. Equal texts of two
     * processes promise equal readings at the same moment. An empty text promises nothing. */
    void (*identify)(const struct source *source, char *text, size_t size);
    /*
     * Return the address and size of the state that the processes of one node must agree on, such
     * as a calibration or an origin. It is copied from one process to the others before the first
     * reading. NULL if there is no such state.
     */
    void *(*state)(struct source *source, size_t *size);
    /* The true instant that belongs to a reading. NULL if no truth is known. */
    int64_t (*truth)(const struct source *source, int64_t local);
    /* The reading at a true instant. NULL if truth is NULL. */
    int64_t (*reading_at)(const struct source *source, int64_t truth);
    /* The source whose time is the truth. NULL if truth is NULL. */
    const struct source *(*under)(const struct source *source);
    void (*free)(struct source *source);
};

struct source {
    const struct source_ops *ops;
};

/*
 * Open the source that a specification names. `place` may be NULL, which means process 0 on node 0.
 * The caller releases the source with ictusi_source_free(). Errors: ICTUS_ERR_UNKNOWN,
 * ICTUS_ERR_SPEC, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_PERMISSION.
 */
int ictusi_source_open(const char *text, const struct source_place *place, struct source **source,
                       struct ictus_why *why);

/* Check a specification as far as this is possible without opening its source. Errors: see
 * check(). */
int ictusi_source_check(const char *text, struct ictus_why *why);

/* A check() for sources that take no options. */
int ictusi_source_check_bare(const struct spec *spec, struct ictus_why *why);

static inline int64_t ictusi_source_read(const struct source *source)
{
    return source->ops->read(source);
}

/* Close the source and release its memory. NULL is allowed. */
void ictusi_source_free(struct source *source);

/* Return the registry, terminated by NULL. The first entry is the default. */
const struct source_ops *const *ictusi_source_registry(void);

/* Write "boot id/time namespace", which is the part of an identity that all clocks of one kernel
 * share. */
void ictusi_source_kernel_identity(char *text, size_t size);

#endif
