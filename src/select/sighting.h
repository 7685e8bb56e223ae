/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions on a stack inside MPI say of the collective that is running. */
#ifndef ICTUS_SELECT_SIGHTING_H
#define ICTUS_SELECT_SIGHTING_H

#include <ictus/select.h>
#include <stdbool.h>
#include <stddef.h>

enum { STACK_MAX = 64, TRUNK_MAX = 16 };

/* Of Open MPI, whose components are files and whose algorithms are named functions. */
struct sighting {
    char component[32]; /* "": not seen */
    char algorithm[64]; /* of the operation, as the function is named; "": not seen */
};

/* What most stacks of a witness say. Local. */
void ictusi_sighting_read(const struct ictus_witness *witness, const char *operation,
                          struct sighting *sighting);

/*
 * What the file and the name of one function say of an operation: "mca_coll_han.so" is a component,
 * "ompi_coll_base_bcast_intra_binomial" an algorithm of bcast. Texts may be NULL. Local.
 */
void ictusi_sighting_note(const char *file, const char *function, const char *operation,
                          struct sighting *sighting);

/* Whether a function's name for an algorithm and the one to choose it by mean the same. Local. */
bool ictusi_sighting_matches(const char *function, const char *algorithm);

/* The functions, outermost first, that nearly all stacks inside MPI begin with. */
struct trunk {
    const void *functions[TRUNK_MAX];
    int count;
    bool seen; /* there were enough stacks */
};

/* Local. */
void ictusi_sighting_trunk_read(const struct ictus_witness *witness, struct trunk *trunk);

/* The place at which both go on, but not alike; -1 where they do not part. Local. */
int ictusi_sighting_trunk_parting(const struct trunk *a, const struct trunk *b);

/*
 * Whether the call itself goes to a function: it is on the trunk, and none before it is there
 * twice. An algorithm made of others ("smp": one for each node, then a broadcast) enters the
 * library anew for each, and the function is then only a part of what runs. Local.
 */
bool ictusi_sighting_trunk_reaches(const struct trunk *trunk, const void *function);

#endif
