/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of regions, and the call paths that a program took through them. */
#ifndef ICTUS_WAITS_PATHS_H
#define ICTUS_WAITS_PATHS_H

#include "archive/trace.h"
#include "core/idmap.h"

/* What a region means for the analysis. */
enum region_kind {
    REGION_CODE, /* code of the program */
    REGION_CALL, /* a library call that can wait: MPI, a barrier of threads */
    REGION_LOCK, /* may wait for a lock, then runs program code */
    REGION_START /* a call that may wait for another process although it records no event */
};

/* What the name of a region tells in addition; several may hold. */
enum region_trait {
    TRAIT_BUFFERED = 1,    /* a send that never blocks */
    TRAIT_SYNCHRONOUS = 2, /* a send that returns only after its receive was posted */
    TRAIT_SENDRECV = 4,    /* it sends, and also waits for another message */
    TRAIT_FENCE = 8,
    TRAIT_FILE = 16,
    TRAIT_PROBE = 32 /* it waits for a message that a later call receives */
};

/* A node of the call tree; paths[0] is the program itself, outside all regions. */
struct path {
    uint32_t parent, region;
    uint64_t site; /* where the call was made: its calling context plus one; 0: unknown */
    uint32_t ref;  /* of its region, when it was last looked up */
    /* Loops enter the same children in turn: the child entered last, and what followed this one. */
    uint32_t last_child, follower;
    uint8_t kind; /* of its region, enum region_kind */
};

enum { PATH_PROGRAM = 0, PATH_MUTED = 1 }; /* PATH_MUTED: while recording was off */
#define PATH_NONE UINT32_MAX
/* Path numbers have at most this many bits (waiting_calls.h). */
enum { PATH_BITS = 26 };

struct paths {
    const struct trace *trace; /* knows the regions' names */
    uint8_t *kinds;            /* by the region's row in the trace */
    uint8_t *traits;           /* the same: enum region_trait */
    struct path *list;
    uint64_t count;
    struct idmap children; /* (parent, region) and site -> path */
};

/* The trace is only referred to. Call ictusi_paths_fini() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_paths_init(struct paths *paths, const struct trace *trace);
void ictusi_paths_fini(struct paths *paths);

/* The path of a call to a region, given by its reference, from a parent path. PATH_NONE: no memory.
 */
uint32_t ictusi_paths_enter(struct paths *paths, uint32_t parent, uint32_t ref, uint64_t site);

/*
 * The same, for callers that follow programs through their loops. The child that was entered last,
 * and the one that followed that one before, are tried first.
 */
static inline uint32_t path_enter(struct paths *paths, uint32_t parent, uint32_t ref, uint64_t site)
{
    uint32_t guess = paths->list[parent].last_child;
    for (int i = 0; i < 2 && guess != PATH_NONE; i++) {
        const struct path *path = &paths->list[guess];
        if (path->ref == ref && path->site == site) {
            paths->list[parent].last_child = guess;
            return guess;
        }
        guess = path->follower;
    }
    return ictusi_paths_enter(paths, parent, ref, site);
}

/*
 * Add the paths of another tree of the same archive. which[i] becomes the number here of its path
 * i. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_paths_append(struct paths *paths, const struct paths *other, uint32_t *which);

/* The traits of a path's last region. */
uint8_t ictusi_paths_traits(const struct paths *paths, uint32_t path);

/* The name of a path's last region. */
const char *ictusi_paths_leaf(const struct paths *paths, uint32_t path);

/* "solver.c:120", or the calling function; "" if it is unknown. */
void ictusi_paths_place(const struct paths *paths, uint32_t path, char *text, size_t size);

/* "main/solve/MPI_Recv", shortened to the size by leaving out the outermost regions. */
void ictusi_paths_text(const struct paths *paths, uint32_t path, char *text, size_t size);

#endif
