/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a communicator's harmonised starts need to remember, kept as an attribute of it: gone when
 * the communicator is freed. Duplicates inherit the options, and make their own state with them at
 * their first call; communicators made otherwise start with the defaults.
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

/* How processes of one node agree; by itself through memory unless they take turns on cores. */
enum within { WITHIN_AUTO, WITHIN_MEMORY, WITHIN_MESSAGES };

/* Whether the words are exchanged once for nothing after work between two calls. */
enum rehearse { REHEARSE_AUTO, REHEARSE_NO };

/*
 * After work between two calls a start needs more than right after another one: code and data have
 * left the caches, cores have slowed down. What calls need is learned apart for times since the
 * last one of up to 50 us, 500 us, 5 ms, and more.
 */
enum { GAPS = 4 };

struct harmonize_options {
    double tolerance_s; /* of the clock's sigma and of leaving late */
    double late;        /* asked rate of late starts */
    double reach;       /* see slack.h */
    int resync;         /* enum resync_policy */
    int within;         /* enum within */
    int rehearse;       /* enum rehearse */
    double slack_s;     /* fixed when above 0 */
    double max_slack_s;
};

struct harmonize_state {
    struct attached attached;
    struct harmonize_options options;
    struct ictus_clock *clock;
    struct board *board;      /* NULL: messages only */
    struct slack slack[GAPS]; /* by the time since the last call; on rank 0, as are the next five */
    int64_t next_slack_ns[GAPS];
    int64_t left_ns;      /* when the last start was left, on the local source */
    int last_gap;         /* which of the slacks the last call had */
    int64_t unlearned_ns; /* what the start before the last needed */
    int unlearned_gap;
    bool learn;
    int rank;
    /* Of the last call on this process, told to rank 0 by the next one. */
    int64_t last_margin_ns;
    int64_t last_slack_ns;
    int64_t last_lateness_ns;
    double last_sigma_ns;
    int64_t tolerance_ns; /* options.tolerance_s, for the exit */
    bool any_call;
    uint64_t rehearsals; /* exchanges of words that no start came of */
    bool suspicious;     /* a deadline was absurd: sync again */
    struct ictus_harmonize_stats stats;
    double slack_sum_ns;
};

/*
 * The state of comm, made with default options on the first call. Collective then.
 * Errors: as ictus_clock_create().
 */
int ictusi_harmonize_state(MPI_Comm comm, struct harmonize_state **state, struct ictus_why *why);

/* The state if there is one, else NULL. Local. */
struct harmonize_state *ictusi_harmonize_find(MPI_Comm comm);

/* Make the state anew with options; on failure an earlier one stays. Collective. */
int ictusi_harmonize_make(MPI_Comm comm, const char *spec, const char *clock,
                          struct harmonize_state **out, struct ictus_why *why);

/*
 * Read the keys ictus_tolerance, ictus_late, ... and ictus_clock of an info object into
 * specifications; false when it has none of them. Local.
 */
bool ictusi_harmonize_info_spec(MPI_Info info, char *spec, size_t size, char *clock,
                                size_t clock_size);

/* The options in force as an info object, which the caller frees. Local. */
int ictusi_harmonize_info_get(const struct harmonize_state *state, MPI_Info *info);

#endif
