/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions on a stack inside MPI reveal about the collective that is running. */
#ifndef ICTUS_SELECT_SIGHTING_H
#define ICTUS_SELECT_SIGHTING_H

#include <ictus/select.h>
#include <stdbool.h>
#include <stddef.h>

enum { STACK_MAX = 64, TRUNK_MAX = 16 };

/* A sighting in Open MPI, whose components are files and whose algorithms are named functions. */
struct sighting {
    char component[32]; /* "": not seen */
    char algorithm[64]; /* of the operation, named like its function; "": not seen */
    char within[32];    /* the component that han itself called; "": not seen */
};

/* Find what most stacks of a witness show. Local. */
void ictusi_sighting_read(const struct ictus_witness *witness, const char *operation,
                          struct sighting *sighting);

/*
 * Note what the file and the name of one function reveal about an operation. "mca_coll_han.so" is a
 * component, "ompi_coll_base_bcast_intra_binomial" an algorithm of bcast. The texts may be NULL.
 * Local.
 */
void ictusi_sighting_note(const char *file, const char *function, const char *operation,
                          struct sighting *sighting);

/*
 * Return whether a process that is not the first of its node meets, inside han's function of this
 * operation, only the component that serves the node. The first one may wait for other nodes.
 * Local.
 */
bool ictusi_sighting_han_splits(const char *operation);

/* Return whether a function's name of an algorithm and the name by which it is chosen mean the
 * same algorithm. Local. */
bool ictusi_sighting_matches(const char *function, const char *algorithm);

/* The functions, outermost first, with which nearly all stacks inside MPI begin. */
struct trunk {
    const void *functions[TRUNK_MAX];
    int count;
    bool seen; /* there were enough stacks */
};

/* Find the trunk of a witness's stacks. Local. */
void ictusi_sighting_trunk_read(const struct ictus_witness *witness, struct trunk *trunk);

/* Return the first place at which two trunks differ, or -1 if they do not diverge. Local. */
int ictusi_sighting_trunk_parting(const struct trunk *a, const struct trunk *b);

/*
 * Return whether the call itself leads to a function: the function is on the trunk, and no function
 * before it occurs twice. An algorithm that is composed of others (such as "smp": one on each node,
 * then a broadcast) enters the library again for each of them. The function is then only a part of
 * what runs. Local.
 */
bool ictusi_sighting_trunk_reaches(const struct trunk *trunk, const void *function);

#endif
