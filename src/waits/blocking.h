/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a send really waited for its receive to be posted. MPI does not tell. Small messages are
 * sent at once, and the limit is learned from the trace.
 */
#ifndef ICTUS_WAITS_BLOCKING_H
#define ICTUS_WAITS_BLOCKING_H

#include <stdbool.h>
#include <stdint.h>

enum block { BLOCK_NOT, BLOCK_POSSIBLE, BLOCK_CERTAIN };

/* Sizes are classified by powers of two, times by eighths of powers of two. */
enum { BLOCK_SIZES = 64, BLOCK_TIMES = 64 * 8 };

struct analysis;

struct blocking {
    const struct analysis *analysis;
    /* the largest size that was certainly sent at once: between nodes, within a node */
    int64_t eager[2];
    uint32_t *transfers;          /* by size and time: number of messages */
    int64_t longest[BLOCK_SIZES]; /* the time that 99 of 100 messages of a size take, ticks */
};

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_blocking_init(struct blocking *blocking, const struct analysis *analysis);

/*
 * Learn from a message, which is given by its two points. Returns whether it may have been blocked,
 * and so has to be judged when all messages are known.
 */
bool ictusi_blocking_learn(struct blocking *blocking, uint32_t send, uint32_t receive);

/* Add what was learned from other messages. */
void ictusi_blocking_join(struct blocking *blocking, const struct blocking *other);

/* Call before the first judgement. */
void ictusi_blocking_end(struct blocking *blocking);
void ictusi_blocking_free(struct blocking *blocking);

/* Judge a message. */
enum block ictusi_blocking_judge(const struct blocking *blocking, uint32_t send, uint32_t receive);

#endif
