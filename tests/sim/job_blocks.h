/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated job for operations under MPI's own names: datatypes with gaps, reductions, and
 * collectives that work on the memory of all ranks at once, since these are fibres of one process.
 * Ranks must call the same collective with the same root, count and operator, else the test ends.
 * Receives are filled when they are waited for, and transfers of a window arrive when their epoch
 * ends at the origin.
 */
#ifndef ICTUS_TESTS_JOB_BLOCKS_H
#define ICTUS_TESTS_JOB_BLOCKS_H

#include "job.h"

enum { BLOCK_UNITS = 512 };

/* A datatype: so many pieces of `unit` bytes each, at these places. */
struct block_type {
    size_t unit, extent;
    int count;
    size_t places[BLOCK_UNITS];
};

const struct block_type *block_type(MPI_Datatype type);
size_t block_bytes(MPI_Datatype type, int count); /* without gaps */

/* Without gaps, and back. */
void block_pack(const void *bytes, int count, MPI_Datatype type, unsigned char *packed);
void block_unpack(void *bytes, int count, MPI_Datatype type, const unsigned char *packed);

/* inout = in (operator) inout, for so many elements without gaps. */
void block_reduce(MPI_Op op, MPI_Datatype type, const void *in, void *inout, int count);

/* What is planted into a job. */
struct blocks_plant {
    int lost;          /* reductions leave out what this rank contributes, less one; 0: nobody */
    bool unsent;       /* of several transfers of an epoch only the first one arrives */
    bool replaces;     /* transfers that should reduce put instead */
    bool swaps, keeps; /* a compare-and-swap always stores, or never */
    /* Blocks from a process that is a neighbour several times come in the order of their slots
     * there, or backwards; or so from one process, and otherwise from another. */
    bool ascending, descending, mixed;
    int slow_from, slow_to, slow_ns; /* messages from a rank, less one, to another take longer */
};
extern struct blocks_plant blocks_plant;

/* Before a job. */
void blocks_start(void);

/* What each rank has made and not freed: types, operators, requests, windows. And all windows and
 * nonblocking sums. */
extern int blocks_things[JOB_RANKS], blocks_windows[JOB_RANKS], blocks_sums[JOB_RANKS];

/* The collectives that the last rank called, as in "gather+bcast"; to be emptied by the test. */
extern char blocks_calls[512];
extern size_t blocks_most; /* bytes that all ranks received in the largest of these */
void blocks_called(const char *function);

/* Blocks on one side of a collective. */
struct block_side {
    void *bytes;
    int count;         /* of each block, if counts is NULL */
    const int *counts; /* by block, as all that follow */
    const int *displs;
    const MPI_Aint *places; /* in bytes */
    MPI_Datatype type;
    const MPI_Datatype *types; /* displs are in bytes then */
};

/* What one rank brings. */
struct blocks_part {
    struct block_side out, in;
    MPI_Op op;
    int root;
};

/* Block b of a side. */
struct block {
    unsigned char *bytes;
    int count;
    MPI_Datatype type;
};

struct block block_at(const struct block_side *side, int b);

/* All that is moved is taken before any of it is stored. */
void block_move(struct block from, struct block to);
void blocks_moved(void);

int blocks_meet_as(const char *function, struct block_side out, struct block_side in, MPI_Op op,
                   int root, void (*act)(const struct blocks_part *const *parts));

/* All ranks come here; the last one acts for all of them. */
int blocks_meet(const struct blocks_part *mine,
                void (*act)(const struct blocks_part *const *parts));

#endif
