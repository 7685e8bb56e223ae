/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pattern is called and how large it is, from what was seen of its calls. */
#ifndef ICTUS_ARRIVAL_PATTERN_H
#define ICTUS_ARRIVAL_PATTERN_H

#include "core/collective_op.h"

#include <ictus/arrivals.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes that the members of one instance moved, as the tracer counts them. */
struct traffic_sums {
    uint64_t sent, most_sent, received, most_received;
};

/* One more member. */
void ictusi_pattern_traffic_add(struct traffic_sums *sums, uint64_t sent, uint64_t received);

/*
 * Bytes of a block, the count argument of the call: each operation's recorded bytes in its own way
 * (src/tracer/collective.c). Where they differ between members, the mean; of rooted operations what
 * those that are not the root move.
 */
uint64_t ictusi_pattern_bytes(enum collective_op op, const struct traffic_sums *sums, uint32_t n);

/* Where the count differs between members, it may differ from call to call: one pattern for all. */
bool ictusi_pattern_varies(enum collective_op op);

/* "MPI_Ireduce_scatter_block" is "ireduce_scatter_block"; what MPI_Start began, "bcast_init". */
void ictusi_pattern_operation(const char *call, enum collective_op op, char *text, size_t size);

/*
 * Name what was seen: its place, call, operation and communicator ("(unnamed)" where it is empty).
 * Names that are not UTF-8, or no longer where they are cut, are mended.
 */
void ictusi_pattern_describe(struct ictus_arrivals *a, const char *site, const char *call,
                             enum collective_op op, const char *comm);

/* What a list of patterns is made from, by index. */
struct pattern_source {
    const void *self;
    size_t count;
    /* Nanoseconds that all its instances together made the first wait for the last. */
    double (*weight)(const void *self, size_t at);
    /* Fill in one; what a failed call leaves behind is freed all the same. */
    int (*make)(const void *self, size_t at, struct ictus_arrivals *pattern);
};

/*
 * A list of all, the weightiest first, each with a site of its own: the second of a place is called
 * place#2. Where it fails, list is left as it is. Errors: ICTUS_ERR_NOMEM, those of make.
 */
int ictusi_pattern_list(const struct pattern_source *source, struct ictus_arrivals_list *list);

#endif
