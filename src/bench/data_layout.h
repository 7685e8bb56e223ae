/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the elements of a block lie in memory: one after the other, or with gaps between them that a
 * derived datatype describes. The type of a block is resized, so that blocks follow each other.
 */
#ifndef ICTUS_BENCH_DATA_LAYOUT_H
#define ICTUS_BENCH_DATA_LAYOUT_H

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum data_layout_kind { LAYOUT_CONTIGUOUS, LAYOUT_VECTOR, LAYOUT_INDEXED, LAYOUT_RESIZED };

/* "contiguous", "vector:block=8,stride=16", "indexed:block=8,stride=16,seed=1", "resized:stride=2"
 */
struct data_layout_options {
    enum data_layout_kind kind;
    int64_t block, stride, seed;
};

enum { LAYOUT_RUNS = 64 };

/* Elements from first on lie from offset on; both in elements. */
struct data_layout_run {
    int64_t first, offset;
};

struct data_layout {
    enum data_layout_kind kind;
    int64_t elements; /* of a block */
    size_t element;   /* bytes of one */
    size_t extent;    /* bytes from one block to the next */
    /* Runs of elements without gaps, again and again; one more says where they begin anew. */
    struct data_layout_run runs[LAYOUT_RUNS + 1];
    int run_count;
};

/* Read a specification; NULL stands for "contiguous". Local. */
int ictusi_data_layout_read(const char *text, struct data_layout_options *options,
                            struct ictus_why *why);

/*
 * Lay out blocks of so many elements. Errors: ICTUS_ERR_ARG (not a multiple of the vector's block),
 * ICTUS_ERR_UNSUPPORTED (beyond the displacements of a datatype). Local.
 */
int ictusi_data_layout_init(struct data_layout *layout, const struct data_layout_options *options,
                            int64_t elements, size_t element, struct ictus_why *why);

/*
 * The datatype that describes a block in count pieces, made of the type of an element and
 * committed; the caller frees it. Not for contiguous ones. Local. Returns an MPI error code.
 */
int ictusi_data_layout_type(const struct data_layout *layout, MPI_Datatype element, int *count,
                            MPI_Datatype *type);

/* Where element i begins, in bytes from the block's beginning; i may be elements: the end. */
size_t ictusi_data_layout_offset(const struct data_layout *layout, int64_t i);

#endif
