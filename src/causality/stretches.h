/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stretches in which a location was not recorded, and what they leave of the order of messages.
 *
 * The k-th send of a channel meets its k-th receive only while both sides have recorded all that
 * came before. With a gap on one side it still holds up to that gap, and, counted from the end,
 * after the last one: for what was sent was received in the end. Between gaps, and in channels
 * of several threads, nothing is known: those messages are left out.
 */
#ifndef ICTUS_CAUSALITY_STRETCHES_H
#define ICTUS_CAUSALITY_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

struct layout;

/* What a location's events say of its recording. */
struct gaps {
    uint32_t count; /* stretches without recording, after the first point */
    bool late;      /* it began before the first point: nobody knows what came before */
};

/* One side of a channel: how many of its events lie before the first gap and after the last. */
struct stretches {
    uint32_t before, after;
    uint32_t gap; /* the number of gaps before the event seen last */
};

struct stretch_list {
    const struct layout *layout;
    struct gaps *gaps;       /* by location */
    uint32_t *cut_locations; /* by process: how many of its locations have gaps */
    bool any;                /* of them, anywhere */
    bool begin_late;         /* some location begins late, others do not */
};

/* How much of one side of a channel can be counted: from its beginning, and from its end. */
struct reach {
    uint32_t before, after;
    bool cut;
};

/* Room for all locations. Errors: ICTUS_ERR_NOMEM. */
int ictusi_stretches_init(struct stretch_list *list, const struct layout *layout);
void ictusi_stretches_fini(struct stretch_list *list);

/*
 * The gaps of all locations are known. If all begin late, the recording began then, as in a trace
 * of the middle of a program.
 */
void ictusi_stretches_seal(struct stretch_list *list);

/* Count an event at a location that has had so many gaps. */
static inline void stretches_add(struct stretches *side, uint32_t gap)
{
    side->before += gap == 0;
    side->after = side->gap == gap ? side->after + 1 : 1;
    side->gap = gap;
}

/*
 * The reach of a side with count events, at a location (LAYOUT_NONE: none, or several) of the
 * process that another location stands for.
 */
struct reach ictusi_stretches_reach(const struct stretch_list *list, const struct stretches *side,
                                    uint32_t count, uint32_t location, uint32_t standing);

/* Of so many sends and receives, how many pairs hold from the beginning and from the end. */
void ictusi_stretches_pairs(const struct reach *sends, uint32_t send_count,
                            const struct reach *receives, uint32_t receive_count, uint32_t *first,
                            uint32_t *last);

#endif
