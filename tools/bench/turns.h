/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples that were taken in turns, and how two series of them compare: within rounds, because what
 * changes on a machine from round to round meets all that is measured in a round.
 */
#ifndef ICTUS_TOOLS_TURNS_H
#define ICTUS_TOOLS_TURNS_H

#include <stddef.h>
#include <stdint.h>

enum {
    TURNS_ROUNDS_MAX = 1000,
    TURNS_LAUNCHES_LEAST = 5 /* whose own spread says enough */
};

/* Samples in the order of measuring; those of round r end in front of ends[r]. */
struct turns {
    double *values;
    size_t n, capacity;
    size_t *ends;    /* rounds so far, of room for TURNS_ROUNDS_MAX */
    double *medians; /* likewise; 0 for a round without samples */
    double *trips;   /* likewise: of a word through the node's memory before it; 0: not known */
    size_t rounds;
    int64_t invalid;
};

/* Errors: ICTUS_ERR_NOMEM. */
int turns_init(struct turns *turns);

/* Close a round with n more samples, which may be none. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG. */
int turns_add(struct turns *turns, const double *values, size_t n);

/* Say how long a word took through the node's memory before the last round; 0: not known. */
void turns_note_trip(struct turns *turns, double trip_s);

void turns_fini(struct turns *turns);

/* How much longer one takes than another, in one launch. */
struct turns_ratio {
    double factor; /* median over rounds of the ratio of the rounds' medians */
    double error;  /* standard error of its logarithm; infinite with fewer than two rounds */
    size_t rounds; /* in which both have samples, on the same kind of host */
};

/*
 * Compare two series of the same rounds. The rounds are the sample, not the repetitions: those of a
 * round depend on each other. The standard error is that of the rank-based interval of the median
 * over rounds; where a round resembles the one before (a drift), it grows by the first
 * autocorrelation r, as sqrt((1 + r) / (1 - r)). A round between whose two turns the host changed
 * does not count: the trips through its memory differ by more than a quarter, since it put the
 * processes on other cores. Errors: ICTUS_ERR_SAMPLES (no round has both), ICTUS_ERR_NOMEM.
 */
int turns_compare(const struct turns *turns, const struct turns *against,
                  struct turns_ratio *ratio);

/* Launches of one comparison: logarithms of their factors, and the errors of these. */
struct turns_launches {
    double *logs, *errors;
    size_t n;
    double assumed; /* standard deviation between launches where too few show it */
};

struct turns_verdict {
    double factor;    /* geometric mean over launches */
    double low, high; /* its 95 % interval, with what differs from launch to launch */
    double p;         /* one-sided: the first is not slower */
    double error;     /* standard error of its logarithm, launches' differences included */
    size_t freedom;   /* degrees of freedom of that; 0: it is assumed */
    double spread;    /* standard deviation between launches that was allowed for */
    int known;        /* it is the launches' own */
};

/* What an earlier run found of a comparison. */
enum turns_before { TURNS_UNKNOWN, TURNS_NOT_SLOWER, TURNS_SLOWER };

/*
 * Judge one launch or several. Five and more are judged by their own spread (Student); fewer by the
 * assumed one, or theirs if that is larger, added to the errors within launches.
 */
void turns_judge(const struct turns_launches *launches, struct turns_verdict *verdict);

/*
 * The probability that as many fresh launches find a factor above the limit. Their mean differs
 * from this one as both differ from the truth, so by the square root of 2 of its error.
 *
 * A verdict that is given for an `again` of at least TURNS_AGAIN is seldom taken back: of two runs
 * that both can give it, few contradict each other. Where the truth is at the very point from which
 * on it is given, half of all runs give it, by this rule or any other that looks at one run alone.
 * tests/unit/test_turns.c counts how wide the range around that point is.
 */
#define TURNS_AGAIN 0.95
double turns_again(const struct turns_verdict *verdict, double limit);

/*
 * What an earlier finding does to a limit: half of it keeps "slower", half as much again is needed
 * to say so anew. Of a true ratio at the very limit, equal runs would otherwise say one thing and
 * the other in turn.
 */
double turns_share(enum turns_before before);

/* The same after an earlier run: the interval has that share of its width. */
void turns_judge_after(const struct turns_launches *launches, enum turns_before before,
                       struct turns_verdict *verdict);

#endif
