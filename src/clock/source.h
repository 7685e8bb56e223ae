/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local time sources, chosen at run time by name: "monotonic", "tsc", "phc:/dev/ptp0",
 * "sim:offset=1.5s,drift=12.5ppm". One const table of operations each; one registry array.
 */
#ifndef ICTUS_CLOCK_SOURCE_H
#define ICTUS_CLOCK_SOURCE_H

#include "core/spec.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a process stands; a simulated source draws its parameters by it. */
struct source_place {
    int process; /* rank in MPI_COMM_WORLD, 0 without MPI */
    int node;    /* nodes are numbered by their lowest rank in the communicator */
};

enum { SOURCE_IDENTITY_MAX = 512 };

struct source;

/* The state() of the source "tsc": how the bare counter becomes its nanoseconds. */
struct source_counter {
    uint64_t anchor_ticks;
    int64_t anchor_ns;
    uint64_t multiplier; /* ns per tick in units of 2^-48 */
};

struct source_ops {
    const char *name;
    const char *summary;
    /*
     * Whether the source takes this specification. Opens nothing: what is refused here would be
     * refused on every machine. Errors: ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN.
     */
    int (*check)(const struct spec *spec, struct ictus_why *why);
    /* After check(). */
    int (*open)(const struct spec *spec, const struct source_place *place, struct source **source,
                struct ictus_why *why);
    int64_t (*read)(const struct source *source); /* ns; reentrant */
    /*
     * Write what makes this source the same as another process's: equal texts promise equal
     * readings at the same moment. An empty text promises nothing.
     */
    void (*identify)(const struct source *source, char *text, size_t size);
    /*
     * State that processes of one node must agree on (a calibration, an origin): its address and
     * size, to be copied from one process to the others before the first reading. NULL: none.
     */
    void *(*state)(struct source *source, size_t *size);
    /* The true instant behind a reading; NULL where there is no known truth. */
    int64_t (*truth)(const struct source *source, int64_t local);
    /* The reading at a true instant; NULL where truth is. */
    int64_t (*reading_at)(const struct source *source, int64_t truth);
    /* The source that truth counts on; NULL where truth is. */
    const struct source *(*under)(const struct source *source);
    void (*free)(struct source *source);
};

struct source {
    const struct source_ops *ops;
};

/*
 * Open a source by its specification text. place may be NULL (process 0 on node 0).
 * Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_PERMISSION.
 */
int ictusi_source_open(const char *text, const struct source_place *place, struct source **source,
                       struct ictus_why *why);

/* As far as a specification can be judged without opening its source; errors as of check(). */
int ictusi_source_check(const char *text, struct ictus_why *why);

/* The check() of a source without options. */
int ictusi_source_check_bare(const struct spec *spec, struct ictus_why *why);

static inline int64_t ictusi_source_read(const struct source *source)
{
    return source->ops->read(source);
}

/* NULL is legal. */
void ictusi_source_free(struct source *source);

/* The registry, ended by NULL; the default first. */
const struct source_ops *const *ictusi_source_registry(void);

/* "boot id/time namespace": the part of an identity that all kernel clocks share. */
void ictusi_source_kernel_identity(char *text, size_t size);

#endif
