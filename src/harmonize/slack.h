/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far ahead a common start must lie. The peers only ever lengthen it; here it follows what
 * recent calls needed, both up and down, to meet an asked rate of late starts: of those that miss
 * the instant by more than the tolerance. Of those that miss it at all, one in a hundred is aimed
 * at. Where calls suddenly need something else, what was learned before is forgotten within a few
 * of them.
 */
#ifndef ICTUS_HARMONIZE_SLACK_H
#define ICTUS_HARMONIZE_SLACK_H

#include <stddef.h>

enum { SLACK_WINDOW = 256 };

struct slack_options {
    double late;         /* asked rate of late starts */
    double tolerance_ns; /* a start is late if it is later than this */
    double reach; /* at most this many medians of what was needed: rare stalls are not waited for */
    double min_ns;
    double max_ns;
};

struct slack {
    struct slack_options options;
    double first_ns;   /* before anything is known */
    double late_depth; /* how far into the tail the asked rates lie, see slack.c */
    double missed_depth;
    double recent[SLACK_WINDOW]; /* what calls needed, oldest overwritten */
    double sorted[SLACK_WINDOW];
    size_t count;
    size_t next;
    double boost; /* of the tail, by how often starts were late */
    size_t since; /* the last boost, in calls */
};

void ictusi_slack_init(struct slack *slack, const struct slack_options *options, double first_ns);

/* A call was over: with this slack its last process would just have been in time. */
void ictusi_slack_learn(struct slack *slack, double needed_ns);

/* The slack for the next call, in ns. */
double ictusi_slack_next(const struct slack *slack);

#endif
