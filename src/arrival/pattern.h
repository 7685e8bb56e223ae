/* SPDX-License-Identifier: BSD-3-Clause */
/* The name and size of a pattern, from its observed calls. */
#ifndef ICTUS_ARRIVAL_PATTERN_H
#define ICTUS_ARRIVAL_PATTERN_H

#include "core/collective_op.h"

#include <ictus/arrivals.h>
#include <stdbool.h>
#include <stddef.h>

/* The bytes that the members of one instance moved, as counted by the tracer. */
struct traffic_sums {
    uint64_t sent, most_sent, received, most_received;
};

/* Add one member. */
void ictusi_pattern_traffic_add(struct traffic_sums *sums, uint64_t sent, uint64_t received);

/*
 * The bytes of a block, that is, the count argument of the call, from the recorded bytes of each
 * operation (src/tracer/collective.c). If they differ between members, it is the mean; for rooted
 * operations, it is what the processes other than the root move.
 */
uint64_t ictusi_pattern_bytes(enum collective_op op, const struct traffic_sums *sums, uint32_t n);

/*
 * Whether the count differs between members. It may then also differ between calls, which are put
 * into one pattern.
 */
bool ictusi_pattern_varies(enum collective_op op);

/*
 * "MPI_Ireduce_scatter_block" becomes "ireduce_scatter_block"; an operation begun by MPI_Start
 * becomes "bcast_init".
 */
void ictusi_pattern_operation(const char *call, enum collective_op op, char *text, size_t size);

/*
 * Describe a pattern: its place, call, operation and communicator ("(unnamed)" if that is empty).
 * Names that are not valid UTF-8, possibly because they were truncated, are repaired.
 */
void ictusi_pattern_describe(struct ictus_arrivals *a, const char *site, const char *call,
                             enum collective_op op, const char *comm);

/* Name the datatype, operator and place (core/operands.h) that all calls have in common. */
void ictusi_pattern_operands(struct ictus_arrivals *a, uint32_t operands);

/* What a list of patterns is made from, by index. */
struct pattern_source {
    const void *self;
    size_t count;
    /* The total time in ns that the first process waited for the last, over all instances. */
    double (*weight)(const void *self, size_t at);
    /* Fill in one pattern; anything left by a failed call is freed as well. */
    int (*make)(const void *self, size_t at, struct ictus_arrivals *pattern);
};

/*
 * Make a list of all patterns, the heaviest first, each with a unique site: the second one of a
 * place is called place#2. On failure the list is unchanged. Errors: ICTUS_ERR_NOMEM, and those of
 * make.
 */
int ictusi_pattern_list(const struct pattern_source *source, struct ictus_arrivals_list *list);

#endif
