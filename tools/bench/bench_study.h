/* SPDX-License-Identifier: BSD-3-Clause */
/* What `ictus bench` is asked to measure: its options, read and checked before anything starts. */
#ifndef ICTUS_TOOLS_BENCH_STUDY_H
#define ICTUS_TOOLS_BENCH_STUDY_H

#include "main/clock_spec.h"
#include "main/command.h"
#include "main/group.h"
#include "main/options.h"
#include "main/progress.h"
#include "main/results.h"

#include <ictus/arrivals.h>
#include <ictus/bench.h>
#include <ictus/result.h>
#include <ictus/select.h>

#include <jansson.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct bench_options {
    const char *ops;
    const char *sizes;
    const char *processes;
    int placement; /* enum placement */
    int64_t group;
    const char *algorithm;
    bool list_algorithms;
    bool list;
    const char *scheme;
    const char *sync;
    const char *clock;
    const char *reduction;
    int64_t repetitions;
    int64_t warmup;
    double max_time_s;
    int64_t rounds;
    double span_s;
    double width;
    int64_t root;
    bool rotate_root;
    const char *datatype;
    const char *reduce;
    struct startup startup;
    int64_t threads;
    const char *layout;
    const char *topology;
    bool in_place;
    bool check;
    bool check_all;
    int64_t buffers;
    int64_t messages;
    int64_t partitions;
    int window; /* index into ictus_window_kinds */
    bool cold;
    const char *arrival;
    const char *plugin;
    int64_t seed;
    bool shuffle;
    bool raw;
    bool raw_ranks;
    bool resume;
    struct results_options results;
    struct progress_options talk;
};

enum { BENCH_MESSAGES = 64, BENCH_PARTITIONS = 4 }; /* defaults of --messages, --partitions */

enum { STUDY_OPS_MAX = 256, STUDY_ALGORITHMS_MAX = 256 };

/* An algorithm to be forced: of which operation, under which name. */
struct bench_algorithm {
    char operation[64];
    char name[64]; /* "" stands for whatever the library chooses */
    bool of_all;   /* nobody named it: left out where it cannot run */
};

/* One process count: the first ranks of a placement, with a bench of their own. */
struct bench_group {
    int processes;
    bool member;
    MPI_Comm comm; /* MPI_COMM_NULL where not a member */
    struct ictus_bench *bench;
    int64_t footprint; /* of a replay, fitted to the recorded calls; 0: it was not */
    char *arrival;     /* the pattern with this footprint, owned; NULL: as given */
};

/* One experiment, by its place in the study's lists. */
struct bench_experiment {
    int op;
    int group;
    int algorithm; /* -1: the library's own choice */
    uint64_t bytes;
};

/* What was seen to run in an experiment under a forced algorithm. */
struct bench_proof {
    bool looked;
    struct ictus_ran ran;
};

struct bench_study {
    const struct bench_options *options;
    struct ictus_plugins *plugins;
    struct ictus_operation_info ops[STUDY_OPS_MAX];
    int op_count;
    uint64_t *sizes;
    size_t size_count;
    bool sizes_given; /* else operations for which one element will do use one */
    uint64_t element; /* bytes of one of the datatype */
    struct bench_group groups[GROUP_COUNTS_MAX];
    int group_count;
    struct bench_algorithm algorithms[STUDY_ALGORITHMS_MAX];
    int algorithm_count;
    bool every_operation; /* --ops=all: likewise */
    bool wanted[ICTUS_REDUCTIONS];
    struct clock_spec clock_text;
    const char *clock; /* NULL: the default */
    struct ictus_selector *selector;
    struct ictus_witness witness;          /* beside a selector */
    const struct bench_experiment *listed; /* all that is measured, ... */
    struct bench_proof *proofs;            /* ... and the proof of each, beside a selector */
    struct ictus_output *out;              /* rank 0 only */
    struct progress progress;
    bool cut_short;    /* what is written now was interrupted */
    int written;       /* objects, rank 0 */
    int drifting;      /* of those, with samples that drift */
    int arrival_ranks; /* of the pattern of a file that was replayed; 0: of none */
    /* The calls that the replay stands for, and its median's share in theirs; 0: not measured. */
    struct ictus_arrival_traced traced;
    double replayed;
    struct ictus_why said; /* of the last experiment left out */
    int left_out;          /* experiments without a result, of what was named */
    json_t *done;          /* --resume: identities of what the file held whole; rank 0 only */
};

/* Read the lists. Local, the same on all ranks. Errors as the options deserve. */
int bench_study_read(struct bench_study *study, struct ictus_why *why);

/* The plan of an experiment without its communicator. */
struct ictus_bench_plan bench_study_plan(const struct bench_study *study,
                                         const struct bench_experiment *e);

/*
 * All experiments in the order of measuring; shuffled if asked. *out is allocated and the
 * caller's. Errors: ICTUS_ERR_NOMEM.
 */
int bench_study_list(const struct bench_study *study, struct bench_experiment **out, size_t *count);

/* The operation of an experiment. */
static inline const struct ictus_operation_info *study_op(const struct bench_study *study,
                                                          const struct bench_experiment *e)
{
    return &study->ops[e->op];
}

void bench_study_fini(struct bench_study *study);

/* Trips through the node's shared memory, one before each round of an experiment: logarithms. */
struct bench_trips {
    size_t n;
    double mean, squares; /* squares: of the deviations from the mean, summed */
};

/* The objects of one experiment, one for each reduction asked for. Rank 0. */
int bench_study_write(struct bench_study *study, const struct bench_experiment *e,
                      const struct ictus_bench_result *result, const struct bench_trips *trips);

/* --resume: take note of the objects of the file that is continued. Rank 0. */
int bench_study_know(struct bench_study *study, const json_t *objects);

/* --resume: whether the file that is continued holds the experiment already. Rank 0. */
bool bench_study_is_done(const struct bench_study *study, const struct bench_experiment *e);

/* The proof of an experiment; NULL if no algorithm was forced. */
struct bench_proof *bench_study_proof(const struct bench_study *study,
                                      const struct bench_experiment *e);

/* The label of a row in the table, with the algorithm that ran if algorithms are chosen. */
const struct ictus_column *bench_study_columns(const struct bench_study *study);

#endif
