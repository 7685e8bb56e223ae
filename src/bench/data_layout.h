/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the elements of a block lie in memory: contiguous, or with gaps that a derived datatype
 * describes. The datatype of a block is resized, so that consecutive blocks do not overlap.
 */
#ifndef ICTUS_BENCH_DATA_LAYOUT_H
#define ICTUS_BENCH_DATA_LAYOUT_H

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum data_layout_kind { LAYOUT_CONTIGUOUS, LAYOUT_VECTOR, LAYOUT_INDEXED, LAYOUT_RESIZED };

/*
 * Specifications: "contiguous", "vector:block=8,stride=16", "indexed:block=8,stride=16,seed=1",
 * "resized:stride=2".
 */
struct data_layout_options {
    enum data_layout_kind kind;
    int64_t block, stride, seed;
};

enum { LAYOUT_RUNS = 64 };

/* A run of contiguous elements: element `first` lies at `offset`. Both are counted in elements. */
struct data_layout_run {
    int64_t first, offset;
};

struct data_layout {
    enum data_layout_kind kind;
    int64_t elements; /* of a block */
    size_t element;   /* bytes of one element */
    size_t extent;    /* bytes from the beginning of one block to that of the next */
    /* The runs of one period, which repeats. One more entry says where the next period begins. */
    struct data_layout_run runs[LAYOUT_RUNS + 1];
    int run_count;
};

/* Read a specification; NULL means "contiguous". Local. */
int ictusi_data_layout_read(const char *text, struct data_layout_options *options,
                            struct ictus_why *why);

/*
 * Lay out blocks of this many elements. Errors: ICTUS_ERR_ARG (not a multiple of the vector's
 * block), ICTUS_ERR_UNSUPPORTED (beyond the range of a datatype's displacements). Local.
 */
int ictusi_data_layout_init(struct data_layout *layout, const struct data_layout_options *options,
                            int64_t elements, size_t element, struct ictus_why *why);

/*
 * Make the datatype that describes a block in *count pieces, from the datatype of one element. It
 * is committed, and the caller frees it. Not for contiguous layouts. Local. Returns an MPI error
 * code.
 */
int ictusi_data_layout_type(const struct data_layout *layout, MPI_Datatype element, int *count,
                            MPI_Datatype *type);

/*
 * Offset of element i in bytes from the beginning of the block. If i equals the number of elements,
 * this is the end of the block.
 */
size_t ictusi_data_layout_offset(const struct data_layout *layout, int64_t i);

#endif
