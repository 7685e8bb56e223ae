/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stretches in which a location was not recorded, and what remains of the order of messages.
 *
 * The k-th send of a channel matches its k-th receive only while both sides have recorded
 * everything before. With a gap on one side, that still holds up to the gap, and, counted from the
 * end, after the last gap, because what was sent was received in the end. Between gaps, and in
 * channels of several threads, nothing is known: those messages are left out.
 */
#ifndef ICTUS_CAUSALITY_STRETCHES_H
#define ICTUS_CAUSALITY_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

struct layout;

/* What a location's events say about its recording. */
struct gaps {
    uint32_t count; /* stretches without recording after the first point */
    bool late;      /* recording began late, so what came before is unknown */
};

/* One side of a channel: how many of its events lie before the first gap and after the last. */
struct stretches {
    uint32_t before, after;
    uint32_t gap; /* the number of gaps before the last event seen */
};

struct stretch_list {
    const struct layout *layout;
    struct gaps *gaps;       /* by location */
    uint32_t *cut_locations; /* by process: how many of its locations have gaps */
    bool any;                /* whether there are gaps anywhere */
    bool begin_late;         /* some locations begin late, others do not */
};

/* How many events of one side of a channel can be counted from its beginning and from its end. */
struct reach {
    uint32_t before, after;
    bool cut;
};

/* Allocate for all locations. Errors: ICTUS_ERR_NOMEM. */
int ictusi_stretches_init(struct stretch_list *list, const struct layout *layout);
void ictusi_stretches_fini(struct stretch_list *list);

/*
 * Call when the gaps of all locations are known. If all locations begin late, the recording simply
 * began then, as in a trace of the middle of a program.
 */
void ictusi_stretches_seal(struct stretch_list *list);

/* Count an event at a location that has had this many gaps. */
static inline void stretches_add(struct stretches *side, uint32_t gap)
{
    side->before += gap == 0;
    side->after = side->gap == gap ? side->after + 1 : 1;
    side->gap = gap;
}

/*
 * The reach of a side with count events, which are at a location (LAYOUT_NONE: none, or several) of
 * the process that the location `standing` represents.
 */
struct reach ictusi_stretches_reach(const struct stretch_list *list, const struct stretches *side,
                                    uint32_t count, uint32_t location, uint32_t standing);

/* How many pairs of these sends and receives are certain from the beginning and from the end. */
void ictusi_stretches_pairs(const struct reach *sends, uint32_t send_count,
                            const struct reach *receives, uint32_t receive_count, uint32_t *first,
                            uint32_t *last);

#endif
