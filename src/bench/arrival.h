/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrival patterns on purpose: how much after the common instant each process begins. Since the
 * starts are under control, imbalance is a parameter here and not an accident.
 */
#ifndef ICTUS_BENCH_ARRIVAL_H
#define ICTUS_BENCH_ARRIVAL_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stdint.h>

enum arrival_kind {
    ARRIVE_TOGETHER,
    ARRIVE_ASCENDING,
    ARRIVE_DESCENDING,
    ARRIVE_RANDOM,
    ARRIVE_LATE,
    ARRIVE_FILE
};

struct arrival {
    enum arrival_kind kind;
    double spread_ns; /* between the first and the last; for late: of the one */
    int64_t rank;     /* the late one */
    uint64_t seed;
    double *table_ns; /* file: one delay a rank; owned */
    int table_size;
};

/*
 * Read "together", "ascending:spread=10us", "descending:...", "random:spread=10us,seed=3",
 * "late:rank=0,spread=20us" or "file:path=delays.txt" (a duration for each rank; the last repeats).
 * size is the number of processes, 0 where it is not known. Errors: ICTUS_ERR_SPEC (an unreadable
 * file, too), ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOMEM.
 */
int ictusi_arrival_init(struct arrival *a, const char *text, int size, struct ictus_why *why);

/* Whether a specification asks for any pattern at all. */
bool ictusi_arrival_is_asked(const char *text);

void ictusi_arrival_fini(struct arrival *a);

/* The delay of a process in one repetition, in ns. */
int64_t ictusi_arrival_delay(const struct arrival *a, int rank, int size, int64_t repetition);

#endif
