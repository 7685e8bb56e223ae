/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronisation algorithms: each turns a communicator and its processes' sources into one line a
 * process. A const table of operations each, one registry, chosen by specification:
 * "hca3:fitpoints=500", "hierarchy(hca3,propagate)".
 */
#ifndef ICTUS_SYNC_SYNC_H
#define ICTUS_SYNC_SYNC_H

#include "clock/source.h"
#include "core/line.h"
#include "core/spec.h"

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* What one synchronisation works on and gives. */
struct sync_run {
    MPI_Comm comm; /* private: no other traffic */
    const struct source *source;
    bool crowded; /* more processes than cores on this node */
    /*
     * The clock this process brings along: on rank 0 the clock that all shall get, identity at the
     * outermost level. Other ranks' are ignored.
     */
    struct line base;
    struct line_error base_error; /* at base.anchor */

    struct line line;        /* result: local source to global clock */
    struct line_error error; /* result, at line.anchor */
    uint64_t exchanges;      /* added to: pairs started here */
    uint64_t messages;       /* added to: messages sent here */
    uint64_t steps;          /* added to: clocks that stepped and made all begin anew */
    struct ictus_why why;    /* result: the reason of an error, on the rank that saw it */
};

struct sync;

struct sync_ops {
    const char *name;
    const char *summary;
    const struct spec_param *params; /* ended by a NULL name */
    size_t options_size;
    int children_min, children_max; /* algorithms in parentheses */
    /* After the options are read: check them, make state. May be NULL. */
    int (*init)(struct sync *sync, struct ictus_why *why);
    /*
     * Collective over run->comm. A second run is on the same communicator and may use what the
     * first left in sync->state.
     */
    int (*run)(struct sync *sync, struct sync_run *run);
    void (*fini)(struct sync *sync); /* may be NULL */
};

struct sync {
    const struct sync_ops *ops;
    void *options; /* as params say */
    void *state;   /* the algorithm's own */
    struct sync *children[SPEC_CHILDREN_MAX];
    int child_count;
};

/* Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_NOMEM. */
int ictusi_sync_create(const char *text, struct sync **out, struct ictus_why *why);

static inline int ictusi_sync_run(struct sync *sync, struct sync_run *run)
{
    return sync->ops->run(sync, run);
}

/* NULL is legal. */
void ictusi_sync_free(struct sync *sync);

/* The registry, ended by NULL. */
const struct sync_ops *const *ictusi_sync_registry(void);

/* Run on another communicator with another base, adding the cost to the outer run. */
int ictusi_sync_run_inner(struct sync *sync, struct sync_run *outer, MPI_Comm comm,
                          const struct line *base, const struct line_error *base_error);

/*
 * Agree on success: all ranks get the error of the lowest rank that has one, and its reason.
 * Collective over comm.
 */
int ictusi_sync_agree(MPI_Comm comm, int err, struct ictus_why *why);

/*
 * Whether all ranks were given the same text, where different ones would wait for each other for
 * ever. Compares hashes; where they differ the reason names both texts and the lowest rank whose
 * differs from rank 0's. `what` they specify is for the reason. Collective over comm.
 * Errors, alike on all ranks: ICTUS_ERR_SPEC, ICTUS_ERR_MPI.
 */
int ictusi_sync_same(MPI_Comm comm, const char *what, const char *text, struct ictus_why *why);

#endif
