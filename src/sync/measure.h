/* SPDX-License-Identifier: BSD-3-Clause */
/* The building blocks of the tree algorithms: one offset between a reference and a client
 * (MEASURE_OFFSET), and a line through many offsets (LEARN_CLOCK_MODEL, H18 algorithm 2). */
#ifndef ICTUS_SYNC_MEASURE_H
#define ICTUS_SYNC_MEASURE_H

#include "core/spec.h"
#include "exchange/exchange.h"
#include "sync/sync.h"

/* The way in which one offset is measured. */
struct measure_options {
    int64_t exchanges; /* for one offset; for netgauge, the patience */
    int estimator;
};

/* The names of the estimators, and the rows that an algorithm adds to its table of parameters. */
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
    double rtt_ns;         /* mean-rtt: round trip of the pair with rtt_peer */
    int rtt_peer;          /* -1: no round trip measured yet */
};

/* Prepare to learn lines through up to `fitpoints` points. Collective over run->comm, so that no
 * process waits for one that has run out of memory. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_measure_init(struct measure *m, const struct measure_options *options, int64_t fitpoints,
                        struct sync_run *run);

/* Release the memory, and add the exchanges and messages to the counts of the run. */
void ictusi_measure_fini(struct measure *m, struct sync_run *run);

/* Client: measure one offset, remote minus local. Errors: ICTUS_ERR_MPI, ICTUS_ERR_CLOCK. */
int ictusi_measure_client(struct measure *m, int reference, struct offset *offset);

/* Reference: answer one such measurement with the readings that `clock` maps. */
int ictusi_measure_reference(struct measure *m, int client, const struct line *clock);

/* The way in which a line is learned. */
struct learn_options {
    int64_t fitpoints; /* 1: an offset without a slope */
    bool recompute;    /* measure the intercept again after the fit (H18 algorithm 2) */
    double pace_s;     /* time between the starts of offsets, shorter for few points; 0: no pause */
};

/* Client: fit a line to many offsets and estimate its error, which includes the reference's own
 * error. */
int ictusi_measure_learn_client(struct measure *m, const struct learn_options *options,
                                int reference, struct line *line, struct line_error *error);

/* Reference: answer the client's measurements, then send the error of its own line. */
int ictusi_measure_learn_reference(struct measure *m, const struct learn_options *options,
                                   int client, const struct line *clock,
                                   const struct line_error *error);

#endif
