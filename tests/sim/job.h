/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole MPI job in this process, in virtual time and with known truth. Each rank is a fibre that
 * runs the library unchanged; what it asks of MPI is answered in job_mpi.c, and what it asks of the
 * kernel about time and cores in job_kernel.c. Time passes only there, and the rank whose time is
 * the earliest goes on: one seed, one run, instruction by instruction. Faults come from a schedule
 * that is drawn from the seed as well.
 *
 * What it leaves out: messages are not lost, since MPI promises so, and arrive in order.
 */
#ifndef ICTUS_TESTS_JOB_H
#define ICTUS_TESTS_JOB_H

#include "core/random.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { JOB_RANKS = 16, JOB_STEPS = 4 };

/* A node's CLOCK_REALTIME is set. */
struct job_step {
    int node;
    int64_t at_ns, by_ns;
};

struct job_options {
    uint64_t seed;
    int ranks, nodes;  /* ranks are dealt out in blocks */
    int cores;         /* of a node */
    double latency_ns; /* of a message between nodes, at least */
    double inside_ns;  /* within one */
    double jitter_ns;  /* mean of what comes on top */
    double asymmetry;  /* the two ways of a pair differ by up to this share of the latency */
    double tail;       /* share of messages that take tail_ns longer, in the mean */
    double tail_ns;
    double away_every_s; /* ranks are off their cores so often, in the mean; 0: never */
    double away_ns;      /* and for so long */
    int slow;            /* a rank that takes slow_factor as long for everything; -1: none */
    double slow_factor;
    double drift; /* clocks run wrong by up to this */
    double walk;  /* per square root of a second */
    struct job_step steps[JOB_STEPS];
    int step_count;
};

/* How a job ended. */
enum job_end { JOB_DONE, JOB_HANGS, JOB_LASTS };

/*
 * Run a job: `rank_main` on each rank. @return JOB_HANGS: all wait for each other, JOB_LASTS: an
 * hour has passed; `said` tells who waits for whom then
 */
enum job_end job_run(const struct job_options *options, void (*rank_main)(int rank, void *context),
                     void *context, char *said, size_t size);

/* The following are for ranks. All ranks' communicator: */
MPI_Comm job_world(void);

int64_t job_now(void); /* true ns since the start */
void job_sleep(int64_t ns);

/* What node 0's clock showed when this rank read its own last: the truth, for judges. */
int64_t job_beside(void);

/* The true instant since which every rank has read a clock. */
int64_t job_oldest_reading(void);

/* Whether the clock of any node is set between two true instants. */
bool job_stepped(int64_t from, int64_t to);

/* For job_mpi.c and job_kernel.c. */
int job_rank(void); /* -1: outside of any job */
int job_node(int rank);
const struct job_options *job_options(void);
int64_t job_clock(clockid_t id); /* of this rank's node, now */
double job_exponential(double mean);
double job_uniform(void);
void job_spend(double ns);                  /* this rank works */
void job_look(void);                        /* at memory that another rank may change */
void job_arrive(int64_t at);                /* it is not before this instant */
void job_block(const char *call, int peer); /* until somebody wakes it */
void job_wake(int rank);
size_t job_type_size(MPI_Datatype type);
void job_mpi_start(void);
void job_mpi_end(void);

#endif
