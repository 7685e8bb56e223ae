/* SPDX-License-Identifier: BSD-3-Clause */
/* One run over one archive, alone or as a rank of a team: scan, connect, presynchronise, count. */
#ifndef ICTUS_CORRECT_SESSION_H
#define ICTUS_CORRECT_SESSION_H

#include "archive/copy.h"
#include "archive/scan.h"
#include "causality/backward.h"
#include "causality/connect.h"
#include "causality/least_delays.h"
#include "correct/check.h"
#include "correct/warp.h"

#include <ictus/correct.h>

struct session {
    struct team *team; /* NULL: alone */
    struct ictus_why *why;
    struct trace *trace;
    struct share share;
    int threads; /* that read, process and write locations in parallel */
    struct history history;
    struct scan_counts counts;
    struct graph graph;
    struct clock_map *maps;  /* by location */
    struct clock_map *units; /* by unit; NULL: not needed */
    /* thread_units: how many of them, the last ones, belong to single threads */
    uint32_t unit_count, thread_units;
    bool process_units;             /* no units are shared by the processes of a node */
    uint32_t *unit_of, *process_of; /* by location */
    struct latency latency;
    struct flow flow;
    int64_t from, to;     /* presynchronised times of the points */
    int64_t raised;       /* ticks that ictusi_session_raise() added */
    bool unchanged;       /* the archive's clock offsets changed nothing */
    enum presync presync; /* what was finally done */
};

/* Open an archive and divide its locations. Call ictusi_session_close() even after an error. */
int ictusi_session_open(struct session *session, const char *path, struct team *team,
                        struct ictus_why *why);

/* Scan the events, which are also passed to a tap (or NULL), and connect them. Errors: as above. */
int ictusi_session_read(struct session *session, struct scan_tap *tap);
void ictusi_session_close(struct session *session);

/* Map the times of the points to the master's clock by the archive's offsets. */
int ictusi_session_presync(struct session *session, enum presync mode);

/*
 * Determine which locations share a clock: those of a node, unless stats (or NULL) contradict that;
 * else those of a process. Threads that contradict the clock of their process have clocks of their
 * own.
 */
void ictusi_session_set_units(struct session *session, const struct check_stats *stats);

/*
 * Processes and threads that got clocks of their own in an earlier correction, as its output
 * records, keep them. This is for judging how well clocks agree: no map of units may be made
 * afterwards.
 */
void ictusi_session_part_units(struct session *session);

/* References of the threads with clocks of their own, as text. NULL: none, or no memory. */
char *ictusi_session_threads_text(const struct session *session);

/* Map the points' times by the units' maps into their value array; the order is kept. */
void ictusi_session_map_values(struct session *session);

/* Find the first and the last time of the points. */
int ictusi_session_span(struct session *session);

/*
 * Add the same number of ticks to all times if the first would be negative, which stamps cannot
 * represent. This happens with clocks that start with their process, at different instants.
 */
void ictusi_session_raise(struct session *session);

/* Store in the points' values the recorded times as OTF2's readers would show them. */
int ictusi_session_as_read(struct session *session);

/* Count violations among these values, with totals over the team. Initialises stats. */
int ictusi_session_check(struct session *session, const int64_t *values, struct check_stats *stats);

/*
 * Fill the table of minimum delays: as specified in seconds, or (if negative) estimated from the
 * trace.
 */
int ictusi_session_latency(struct session *session, double network_s, double node_s);

/* The worst error of all ranks. A rank must call this before it returns early. */
int ictusi_session_agree(const struct session *session, int err);

/* Add "events", "messages" and any irregularities to a report. */
int ictusi_session_json(struct session *session, json_t *object);

#endif
