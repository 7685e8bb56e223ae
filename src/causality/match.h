/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which event happened before which: channels of point-to-point messages in post order,
 * collective instances by call order on their communicator, thread teams, locks and threads by
 * their sequence numbers.
 */
#ifndef ICTUS_CAUSALITY_MATCH_H
#define ICTUS_CAUSALITY_MATCH_H

#include "causality/layout.h"
#include "causality/points.h"
#include "causality/stretches.h"
#include "core/collective_op.h"

/* A list of points, chained through points.link. */
struct chain {
    uint32_t head, tail, count;
};

/* All messages of one (communicator, sender, receiver, tag). */
struct channel {
    struct chain sends, receives;
    uint32_t sender, receiver; /* locations that stand for the processes */
    uint32_t comm, tag;
    uint32_t send_location, receive_location; /* where the events are, while it is one */
    bool mixed;                               /* several threads: order by time */
    struct stretches sent, received;          /* of those events */
};

/*
 * What is counted over the members of a collective: senders and receivers of group A, then of B;
 * and, where it is recorded from whom each member received, how many that are in A and in B, how
 * many members both send and receive, and how many members it is recorded of.
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
    uint32_t root; /* position among the members; LAYOUT_NONE where there is none */
    uint8_t op;    /* enum collective_op, or enum thread_op */
    uint8_t class;
    uint32_t sums[COLLECTIVE_SUMS]; /* of members; the first: see collective_side() */
    bool broken;                    /* the members disagree about what was called */
};

/* Instances that are no MPI collectives continue OTF2's numbers. */
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
    uint32_t seen_comm, seen_location, seen_own; /* see representative() */
    bool sizes_known;                            /* some collective recorded how much it moved */
    struct stretch_list stretches;
    uint32_t gap;      /* gaps of the location before the message that is added next */
    uint64_t left_out; /* collectives after a gap */
    /* Of each process with several locations its last one, else LAYOUT_NONE; the collectives of
     * such processes, and the last location that they wait for. */
    uint32_t *last_location;
    struct collective_call *waiting;
    uint64_t waiting_count;
    uint32_t waiting_until;
};

/* What a collective's end says. */
struct collective_call {
    uint32_t begin, end; /* points */
    uint32_t location, comm, root;
    uint8_t op, class;
    bool told;        /* it is recorded from whom this member received, */
    uint32_t senders; /* and from how many others */
    uint64_t sent, received;
};

/* Errors: ICTUS_ERR_NOMEM; to be ended all the same. */
int ictusi_matching_init(struct matching *matching, const struct layout *layout,
                         struct points *points);
void ictusi_matching_fini(struct matching *matching);

/*
 * Take over what was collected of other processes' locations, whose points have been put after
 * those of this one, from a point on. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_matching_append(struct matching *matching, const struct matching *other, uint64_t point);

/*
 * Set in a communicator's index: notifications of RMA windows, which are apart from its messages;
 * their tag is the window.
 */
#define MATCH_NOTIFICATION UINT32_C(0x80000000)

/* Add a message event in post order. Errors: ICTUS_ERR_NOMEM. */
int ictusi_match_message(struct matching *matching, uint32_t point, uint32_t location,
                         uint32_t comm, uint32_t peer, uint32_t tag, bool send);

/* Take the sends that were cancelled after all out of their channels. */
void ictusi_match_drop_cancelled(struct matching *matching);

/*
 * Add one process's part of a collective, in call order. Those of a process with several threads
 * wait for all of its locations, since its threads may take turns on a communicator. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_match_collective(struct matching *matching, const struct collective_call *call);

/*
 * A location has been read. Once all that collectives wait for have been read, add these, each
 * process's by time. LAYOUT_NONE: this was the last location. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_match_location_end(struct matching *matching, uint32_t location);

/* Add an event to the thread instance of this key. @p out: it is a first event of pairs. */
int ictusi_match_thread(struct matching *matching, enum thread_op op, uint32_t comm, uint64_t a,
                        uint64_t b, uint32_t point, bool out);

/* The number of a call on a communicator by this member: 0, 1, 2, ... per kind. NULL: no memory. */
int64_t *ictusi_match_sequence(struct matching *matching, uint32_t kind, uint32_t comm,
                               uint32_t location);

/* The location a point belongs to. */
uint32_t ictusi_match_location(const struct matching *matching, uint32_t point);

#endif
