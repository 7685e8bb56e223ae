/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a communicator's harmonised starts. It is an attribute of the communicator and is
 * released with it. Duplicates inherit the options and create their own state at their first call.
 * Communicators that are created in other ways start with the defaults.
 */
#ifndef ICTUS_HARMONIZE_STATE_H
#define ICTUS_HARMONIZE_STATE_H

#include "harmonize/attach.h"
#include "harmonize/board.h"
#include "harmonize/slack.h"
#include "sync/clock.h"

#include <ictus/harmonize.h>
#include <stdbool.h>

enum resync_policy { RESYNC_AUTO, RESYNC_NEVER, RESYNC_ALWAYS };

/* How processes of one node agree. With "auto" they use memory unless they take turns on cores. */
enum within { WITHIN_AUTO, WITHIN_MEMORY, WITHIN_MESSAGES };

/* Whether, after work between two calls, the words are exchanged once as a rehearsal. */
enum rehearse { REHEARSE_AUTO, REHEARSE_NO };

/*
 * After work between two calls, a start needs more time than right after another start: code and
 * data have left the caches, and cores have slowed down. The needs of calls are learned separately
 * for times since the last call of up to 50 us, 500 us, 5 ms, and more.
 */
enum { GAPS = 4 };

struct harmonize_options {
    double tolerance_s; /* for the clock's sigma and for lateness */
    double late;        /* rate of late starts to aim for */
    double reach;       /* see slack.h */
    int resync;         /* enum resync_policy */
    int within;         /* enum within */
    int rehearse;       /* enum rehearse */
    double slack_s;     /* fixed if above 0 */
    double max_slack_s;
};

struct harmonize_state {
    struct attached attached;
    struct harmonize_options options;
    struct ictus_clock *clock;
    struct board *board;      /* NULL: messages only */
    struct slack slack[GAPS]; /* by the time since the last call; on rank 0, like the next five */
    int64_t next_slack_ns[GAPS];
    int64_t left_ns;      /* when this process left the last start, on the local source */
    int last_gap;         /* index of the slack of the last call */
    int64_t unlearned_ns; /* what the start before the last one needed */
    int unlearned_gap;
    bool learn;
    int rank;
    /* Of the last call on this process. The next call reports it to rank 0. */
    int64_t last_margin_ns;
    int64_t last_slack_ns;
    int64_t last_lateness_ns;
    double last_sigma_ns;
    int64_t tolerance_ns; /* options.tolerance_s, precomputed for the exit */
    bool any_call;
    uint64_t rehearsals; /* exchanges of words that led to no start */
    bool suspicious;     /* a deadline was absurd, so synchronise again */
    struct ictus_harmonize_stats stats;
    double slack_sum_ns;
};

/* Find the state of `comm`, or create it with default options on the first call, which is then
 * collective. Errors: see ictus_clock_create(). */
int ictusi_harmonize_state(MPI_Comm comm, struct harmonize_state **state, struct ictus_why *why);

/* Return the state, or NULL if there is none. Local. */
struct harmonize_state *ictusi_harmonize_find(MPI_Comm comm);

/* Create the state again with new options. On failure an earlier state is kept. Collective. */
int ictusi_harmonize_make(MPI_Comm comm, const char *spec, const char *clock,
                          struct harmonize_state **out, struct ictus_why *why);

/* Read the keys ictus_tolerance, ictus_late, ... and ictus_clock of an info object into
 * specifications. Return false if it has none of them. Local. */
bool ictusi_harmonize_info_spec(MPI_Info info, char *spec, size_t size, char *clock,
                                size_t clock_size);

/* Return the options in use as an info object, which the caller frees. Local. */
int ictusi_harmonize_info_get(const struct harmonize_state *state, MPI_Info *info);

#endif
