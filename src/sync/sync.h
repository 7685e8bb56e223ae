/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronisation algorithms. Each turns a communicator and the sources of its processes into one
 * line for each process. An algorithm is a const table of operations. One registry lists them, and
 * a specification selects them: "hca3:fitpoints=500", "hierarchy(hca3,propagate)".
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

/* The input and the result of one synchronisation. */
struct sync_run {
    MPI_Comm comm; /* private: carries no other messages */
    const struct source *source;
    bool crowded; /* more processes than cores on this node */
    /* The clock that this process already has. On rank 0 it is the clock that all shall get, the
     * identity at the outermost level. That of other ranks is ignored. */
    struct line base;
    struct line_error base_error; /* at base.anchor */

    struct line line;        /* result: local source to global clock */
    struct line_error error; /* result, at line.anchor */
    uint64_t exchanges;      /* added to: pairs that this process started */
    uint64_t messages;       /* added to: messages that this process sent */
    uint64_t steps;          /* added to: clocks that stepped, so that all started again */
    struct ictus_why why;    /* result: the reason of an error, on the rank that saw it */
};

struct sync;

struct sync_ops {
    const char *name;
    const char *summary;
    const struct spec_param *params; /* terminated by a NULL name */
    size_t options_size;
    int children_min, children_max; /* algorithms in parentheses */
    /* Called after the options have been read, to check them and create the state. May be NULL. */
    int (*init)(struct sync *sync, struct ictus_why *why);
    /* Collective over run->comm. A second run is made on the same communicator and may use what
     * the first one left in sync->state. */
    int (*run)(struct sync *sync, struct sync_run *run);
    void (*fini)(struct sync *sync); /* may be NULL */
};

struct sync {
    const struct sync_ops *ops;
    void *options; /* as described by params */
    void *state;   /* belongs to the algorithm */
    struct sync *children[SPEC_CHILDREN_MAX];
    int child_count;
};

/* Create an algorithm from its specification. Release it with ictusi_sync_free(). Errors:
 * ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_NOMEM. */
int ictusi_sync_create(const char *text, struct sync **out, struct ictus_why *why);

/* Run the algorithm. Collective over run->comm. */
static inline int ictusi_sync_run(struct sync *sync, struct sync_run *run)
{
    return sync->ops->run(sync, run);
}

/* Release the algorithm. NULL is allowed. */
void ictusi_sync_free(struct sync *sync);

/* Return the registry, terminated by NULL. */
const struct sync_ops *const *ictusi_sync_registry(void);

/* Run an algorithm on another communicator with another base, and add its cost to the outer run. */
int ictusi_sync_run_inner(struct sync *sync, struct sync_run *outer, MPI_Comm comm,
                          const struct line *base, const struct line_error *base_error);

/* Agree on success. All ranks get the error of the lowest rank that has one, and its reason.
 * Collective over `comm`. */
int ictusi_sync_agree(MPI_Comm comm, int err, struct ictus_why *why);

#endif
