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
    int threads; /* that read, look at and write locations at a time */
    struct history history;
    struct scan_counts counts;
    struct graph graph;
    struct clock_map *maps;            /* by location */
    struct clock_map *units;           /* by unit; NULL: not needed */
    uint32_t unit_count, thread_units; /* thread_units: those of single threads, the last ones */
    uint32_t *unit_of, *process_of;    /* by location */
    struct latency latency;
    struct flow flow;
    int64_t from, to;     /* presynchronised times of the points */
    int64_t raised;       /* ticks that ictusi_session_raise() added */
    bool unchanged;       /* the archive's clock offsets moved nothing */
    enum presync presync; /* what was done in the end */
};

/* Open an archive and divide its locations. On error the session is to be closed all the same. */
int ictusi_session_open(struct session *session, const char *path, struct team *team,
                        struct ictus_why *why);

/* Scan the events, of which a tap (or NULL) is told, and connect them. Errors: as above. */
int ictusi_session_read(struct session *session, struct scan_tap *tap);
void ictusi_session_close(struct session *session);

/* Bring the points' times onto the master's clock by the archive's offsets. */
int ictusi_session_presync(struct session *session, enum presync mode);

/*
 * Which locations share a clock: those of a node, as far as stats (or NULL) do not contradict it;
 * else those of a process, and threads that contradict that have clocks of their own.
 */
void ictusi_session_set_units(struct session *session, const struct check_stats *stats);

/*
 * Threads that had clocks of their own before an earlier correction, as its output says, have them
 * on. For whoever asks how well clocks agree: no map of units is to be made afterwards.
 */
void ictusi_session_part_threads(struct session *session);

/* The points' times through the units' maps, into their value array; order is kept. */
void ictusi_session_map_values(struct session *session);

/* Find the first and last of the points' times. */
int ictusi_session_span(struct session *session);

/*
 * Make all times later by the same number of ticks where the first would lie before 0, which stamps
 * cannot: clocks that begin with their process and not at the same instant.
 */
void ictusi_session_raise(struct session *session);

/* The recorded times as OTF2's readers would show them, into the points' values. */
int ictusi_session_as_read(struct session *session);

/* Count violations among these values; totals over the team. stats is made here. */
int ictusi_session_check(struct session *session, const int64_t *values, struct check_stats *stats);

/* Fill the table of least delays: given in seconds, or (negative) estimated from the trace. */
int ictusi_session_latency(struct session *session, double network_s, double node_s);

/* The error of all ranks; what a rank must do before it returns early. */
int ictusi_session_agree(const struct session *session, int err);

/* Add "events", "messages" and what was odd to a report. */
int ictusi_session_json(struct session *session, json_t *object);

#endif
