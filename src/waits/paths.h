/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of regions, and the call paths that a program took through them. */
#ifndef ICTUS_WAITS_PATHS_H
#define ICTUS_WAITS_PATHS_H

#include "archive/trace.h"
#include "core/idmap.h"

/* What entering a region means. */
enum region_kind {
    REGION_CODE, /* of the program */
    REGION_CALL, /* of a library in which a process can wait: MPI, a barrier of threads */
    REGION_LOCK, /* whose acquisition may be waited for, and which the program then fills */
    REGION_START /* a call that may wait for another process, though it records no event */
};

/* What a region's name says beside; several may hold. */
enum region_trait {
    TRAIT_BUFFERED = 1,    /* a send that never blocks */
    TRAIT_SYNCHRONOUS = 2, /* a send that returns after its receive was posted */
    TRAIT_SENDRECV = 4,    /* it sends and waits for another message as well */
    TRAIT_FENCE = 8,
    TRAIT_FILE = 16,
    TRAIT_PROBE = 32 /* it waits for a message that a later call receives */
};

/* A node of the call tree; paths[0] is the program itself, outside all regions. */
struct path {
    uint32_t parent, region;
    uint64_t site; /* where the call was made: its calling context and one; 0: not known */
    /* The child that was entered last, by its region's reference: loops enter the same again. */
    uint32_t last_ref, last_child;
};

enum { PATH_PROGRAM = 0, PATH_MUTED = 1 }; /* the second one: while recording was off */
#define PATH_NONE UINT32_MAX

struct paths {
    const struct trace *trace; /* knows the regions' names */
    uint8_t *kinds;            /* by region's row there */
    uint8_t *traits;           /* likewise: enum region_trait */
    struct path *list;
    uint64_t count;
    struct idmap children; /* (parent, region) with site -> path */
};

/* The trace is only referred to. Errors: ICTUS_ERR_NOMEM. To be ended all the same. */
int ictusi_paths_init(struct paths *paths, const struct trace *trace);
void ictusi_paths_fini(struct paths *paths);

/*
 * The path that a call of a region, named by its reference, in another one is, and the region's row
 * (UINT32_MAX: it is not defined). PATH_NONE: no memory.
 */
uint32_t ictusi_paths_enter(struct paths *paths, uint32_t parent, uint32_t ref, uint64_t site,
                            uint32_t *region);

/*
 * Add the paths of another tree of this archive: which[i] becomes what its path i is here. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_paths_append(struct paths *paths, const struct paths *other, uint32_t *which);

/* The traits of a path's last region. */
uint8_t ictusi_paths_traits(const struct paths *paths, uint32_t path);

/* The name of a path's last region. */
const char *ictusi_paths_leaf(const struct paths *paths, uint32_t path);

/* "solver.c:120", or the calling function; "" where it is not known. */
void ictusi_paths_place(const struct paths *paths, uint32_t path, char *text, size_t size);

/* "main/solve/MPI_Recv", cut to the size; the innermost regions stay. */
void ictusi_paths_text(const struct paths *paths, uint32_t path, char *text, size_t size);

#endif
