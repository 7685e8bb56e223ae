/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far ahead a common start must be scheduled. Published methods only ever increase this slack.
 * Here it follows what recent calls needed, both up and down. The goal is a given rate of late
 * starts, which miss the instant by more than the tolerance. In addition, at most one start in a
 * hundred should miss the instant at all. If calls suddenly need something else, the earlier
 * experience is forgotten within a few calls.
 */
#ifndef ICTUS_HARMONIZE_SLACK_H
#define ICTUS_HARMONIZE_SLACK_H

#include <stddef.h>

enum { SLACK_WINDOW = 256 };

struct slack_options {
    double late;         /* rate of late starts to aim for */
    double tolerance_ns; /* a start is late if it is later than this */
    double reach; /* at most this many medians of the needs: rare stalls are not waited for */
    double min_ns;
    double max_ns;
};

struct slack {
    struct slack_options options;
    double first_ns;   /* before anything is known */
    double late_depth; /* how far into the tail these rates lie, see slack.c */
    double missed_depth;
    double recent[SLACK_WINDOW]; /* needs of recent calls; the oldest is overwritten */
    double sorted[SLACK_WINDOW];
    size_t count;
    size_t next;
    double boost; /* factor on the tail, adapted by how often starts were late */
    size_t since; /* calls since the last boost */
};

void ictusi_slack_init(struct slack *slack, const struct slack_options *options, double first_ns);

/* Learn from a call that has ended. With a slack of needed_ns its last process would just have
 * been in time. */
void ictusi_slack_learn(struct slack *slack, double needed_ns);

/* Return the slack for the next call, in ns. */
double ictusi_slack_next(const struct slack *slack);

#endif
