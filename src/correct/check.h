/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts violations of the clock condition by class, by operation, and by pair of ranks and nodes.
 */
#ifndef ICTUS_CORRECT_CHECK_H
#define ICTUS_CORRECT_CHECK_H

#include "causality/flow.h"

#include <jansson.h>

enum { CHECK_BINS = 12, CHECK_OPS = 32 };

/* Tables by pairs are kept up to this many processes or nodes. */
enum { CHECK_PAIRS_MAX = 256 };

struct check_class {
    uint64_t pairs, violations;
};

/*
 * Three arrays (sums, maxima, minima), so that each can be reduced over the ranks, and named views
 * into them.
 */
struct check_stats {
    struct observer observer; /* first member */
    const struct history *history;
    double ns_per_tick;
    uint64_t *sums;
    int64_t *maxima, *minima;
    uint64_t sum_count, maximum_count, minimum_count;
    uint64_t nodes, processes; /* sizes of the pair tables; 0: not kept */
};

/*
 * sums holds classes (pairs, violations), operations (the same), the histogram, the ticks of all
 * violations, violations within nodes, the pair tables, and the pairs of threads by location.
 */
int ictusi_check_init(struct check_stats *stats, const struct history *history);
void ictusi_check_fini(struct check_stats *stats);

uint64_t ictusi_check_violations(const struct check_stats *stats, enum point_class class);
uint64_t ictusi_check_all_violations(const struct check_stats *stats);

/* Violations between processes of one node, which show that they do not share a clock. */
uint64_t ictusi_check_within_nodes(const struct check_stats *stats);

/* Whether the pairs of a location with others of its process contradict a common clock. */
bool ictusi_check_thread_apart(const struct check_stats *stats, uint32_t location);
int64_t ictusi_check_largest(const struct check_stats *stats);

/* The sum of all violations, ticks. */
double ictusi_check_violated_ticks(const struct check_stats *stats);

/* Add "<prefix>violations_p2p" and similar members to an object; tables only if full. */
void ictusi_check_json(const struct check_stats *stats, json_t *object, const char *prefix,
                       bool full);

#endif
