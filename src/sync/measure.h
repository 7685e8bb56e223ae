/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The building blocks of the tree algorithms: one offset between a reference and a client
 * (MEASURE_OFFSET), and a line from many of them (LEARN_CLOCK_MODEL, H18 algorithm 2).
 */
#ifndef ICTUS_SYNC_MEASURE_H
#define ICTUS_SYNC_MEASURE_H

#include "core/spec.h"
#include "exchange/exchange.h"
#include "sync/sync.h"

/* How one offset is measured. */
struct measure_options {
    int64_t exchanges; /* of one offset; the patience for netgauge */
    int estimator;
};

/* The estimators' names, and the rows that an algorithm puts into its table of parameters. */
extern const char *const ictusi_estimators[];
enum { MEASURE_EXCHANGES_MAX = 1000000 };

#define MEASURE_PARAMS(type, member, pairs)                                                        \
    {"exchanges",                                                                                  \
     SPEC_INT,                                                                                     \
     offsetof(type, member) + offsetof(struct measure_options, exchanges),                         \
     pairs,                                                                                        \
     1,                                                                                            \
     MEASURE_EXCHANGES_MAX,                                                                        \
     NULL,                                                                                         \
     "request-reply pairs for one offset"},                                                        \
    {                                                                                              \
        "offset", SPEC_CHOICE,                                                                     \
            offsetof(type, member) + offsetof(struct measure_options, estimator), "skampi", 0, 0,  \
            ictusi_estimators, "how one offset is estimated from them"                             \
    }

/* One process's side of a synchronisation. */
struct measure {
    struct exchange exchange;
    struct measure_options options;
    struct stamp *stamps;  /* room for options.exchanges */
    struct offset *points; /* room for the fit points of a line */
    double rtt_ns;         /* mean-rtt: of the pair with rtt_peer */
    int rtt_peer;          /* -1: none measured yet */
};

/*
 * Get ready to learn lines of up to `fitpoints` points. Collective over run->comm, so that no
 * process waits for one that has no memory. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI.
 */
int ictusi_measure_init(struct measure *m, const struct measure_options *options, int64_t fitpoints,
                        struct sync_run *run);

/* Release, and add what was sent to the run's counts. */
void ictusi_measure_fini(struct measure *m, struct sync_run *run);

/* One offset, remote minus local: the client's side. Errors: ICTUS_ERR_MPI, ICTUS_ERR_CLOCK. */
int ictusi_measure_client(struct measure *m, int reference, struct offset *offset);

/* The reference's side, which answers with its clock. */
int ictusi_measure_reference(struct measure *m, int client, const struct line *clock);

/* How a line is learned. */
struct learn_options {
    int64_t fitpoints; /* 1: an offset without a slope */
    bool recompute;    /* measure the intercept once more after the fit (H18 algorithm 2) */
    double pace_s;     /* between the beginnings of offsets, less for few; 0: at once */
};

/* A line from many offsets, with its error; the reference's own error is added. Client's side. */
int ictusi_measure_learn_client(struct measure *m, const struct learn_options *options,
                                int reference, struct line *line, struct line_error *error);

int ictusi_measure_learn_reference(struct measure *m, const struct learn_options *options,
                                   int client, const struct line *clock,
                                   const struct line_error *error);

#endif
