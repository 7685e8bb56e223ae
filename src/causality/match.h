/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which event happened before which: channels of point-to-point messages in the order of posting,
 * collective instances by the order of calls on their communicator, and thread teams, locks and
 * threads by their sequence numbers.
 */
#ifndef ICTUS_CAUSALITY_MATCH_H
#define ICTUS_CAUSALITY_MATCH_H

#include "causality/layout.h"
#include "causality/points.h"
#include "causality/stretches.h"
#include "core/collective_op.h"

/* A list of points, linked through points.link. */
struct chain {
    uint32_t head, tail, count;
};

/* All messages of one (communicator, sender, receiver, tag). */
struct channel {
    struct chain sends, receives;
    uint32_t sender, receiver; /* locations that represent the processes */
    uint32_t comm, tag;
    uint32_t send_location, receive_location; /* of all its events, unless it is mixed */
    bool mixed;                               /* several threads used it: order by time */
    struct stretches sent, received;          /* where recording gaps lie among its events */
};

/*
 * Numbers that are summed over the members of a collective: senders and receivers in group A, then
 * in group B. Where it is recorded from whom each member received: how many of these senders are in
 * A and in B, how many members both send and receive, and for how many members it is recorded.
 */
enum {
    COLLECTIVE_SIDES = 4,
    COLLECTIVE_PAIRS = COLLECTIVE_SIDES,
    COLLECTIVE_BOTH = COLLECTIVE_PAIRS + 2,
    COLLECTIVE_TOLD,
    COLLECTIVE_SUMS
};

static inline uint32_t collective_side(bool in_b, bool receives)
{
    return 2U * in_b + receives;
}

/* One call of a collective, or one fork, join or barrier of a team. */
struct instance {
    struct chain out, in; /* enters and exits */
    uint32_t comm;
    uint32_t sequence;
    uint32_t root; /* position among the members; LAYOUT_NONE: no root */
    uint8_t op;    /* enum collective_op, or enum thread_op */
    uint8_t class;
    uint32_t sums[COLLECTIVE_SUMS]; /* over members; the first four: see collective_side() */
    bool broken;                    /* the members disagree about what was called */
};

/* Values for instances that are not MPI collectives; they follow OTF2's numbers. */
enum thread_op { OP_FORK = 200, OP_JOIN, OP_TEAM_BARRIER, OP_PAIR };

struct collective_call;

struct matching {
    const struct layout *layout;
    struct points *points;
    const uint64_t *first; /* of each location, its first point; location_count + 1 entries */
    struct idmap channel_index, instance_index, sequences;
    struct channel *channels;
    uint64_t channel_count;
    struct instance *instances;
    uint64_t instance_count;
    uint32_t seen_comm, seen_location, seen_own; /* see representative_match() */
    bool sizes_known;                            /* some collective recorded the amount of data */
    struct stretch_list stretches;
    uint32_t gap;      /* recording gaps of the location before the next message */
    uint64_t left_out; /* collectives that follow a gap */
    /*
     * For each process with several locations, its last one, else LAYOUT_NONE. Collectives of such
     * processes wait in the list until location waiting_until has been read.
     */
    uint32_t *last_location;
    struct collective_call *waiting;
    uint64_t waiting_count;
    uint32_t waiting_until;
};

/* What the end event of a collective records. */
struct collective_call {
    uint32_t begin, end; /* points */
    uint32_t location, comm, root;
    uint8_t op, class;
    bool told;         /* whether it is recorded from whom this member received, */
    uint32_t senders;  /* and from how many others */
    uint32_t operands; /* as in core/operands.h */
    uint64_t sent, received;
};

/* Call ictusi_matching_fini() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_matching_init(struct matching *matching, const struct layout *layout,
                         struct points *points);
void ictusi_matching_fini(struct matching *matching);

/*
 * Take over what was collected from other processes' locations, whose points have been appended to
 * these and begin at `point`. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_matching_append(struct matching *matching, const struct matching *other, uint64_t point);

/*
 * Flag in a communicator's index for notifications of RMA windows, which are distinct from its
 * messages. Their tag is the window.
 */
#define MATCH_NOTIFICATION UINT32_C(0x80000000)

/* Add a message event in post order. Errors: ICTUS_ERR_NOMEM. */
int ictusi_match_message(struct matching *matching, uint32_t point, uint32_t location,
                         uint32_t comm, uint32_t peer, uint32_t tag, bool send);

/* Remove sends that were cancelled from their channels. */
void ictusi_match_drop_cancelled(struct matching *matching);

/*
 * Add one process's part of a collective, in call order. The calls of a process with several
 * threads are kept until all its locations have been read, because its threads may take turns on a
 * communicator. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_match_collective(struct matching *matching, const struct collective_call *call);

/*
 * Call when a location has been read. Once all locations that collectives wait for have been read,
 * those collectives are added, in the order of time for each process. LAYOUT_NONE: this was the
 * last location. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_match_location_end(struct matching *matching, uint32_t location);

/* Add an event to the thread instance with this key. @p out: it is the first event of pairs. */
int ictusi_match_thread(struct matching *matching, enum thread_op op, uint32_t comm, uint64_t a,
                        uint64_t b, uint32_t point, bool out);

/* This member's call counter on a communicator (0, 1, 2, ... for each kind). NULL: no memory. */
int64_t *ictusi_match_sequence(struct matching *matching, uint32_t kind, uint32_t comm,
                               uint32_t location);

/* The location a point belongs to. */
uint32_t ictusi_match_location(const struct matching *matching, uint32_t point);

#endif
