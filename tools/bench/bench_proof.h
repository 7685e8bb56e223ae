/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether forced algorithms really run: once for each experiment, before anything is timed.
 */
#ifndef ICTUS_TOOLS_BENCH_PROOF_H
#define ICTUS_TOOLS_BENCH_PROOF_H

#include "bench/bench_study.h"

/* Look at all experiments of the list, which must outlive the study's measuring. Collective. */
int bench_study_prove(struct bench_study *study, const struct bench_experiment *list, size_t count,
                      struct ictus_why *why);

/* ICTUS_ERR_UNSUPPORTED where something else was seen to run than what is named. Local. */
int bench_study_refuse(const struct bench_study *study, const struct bench_experiment *e,
                       struct ictus_why *why);

/* Put "ran" and "proven" into the object of an experiment. Rank 0. */
void bench_study_write_proof(const struct bench_study *study, const struct bench_experiment *e,
                             json_t *object);

/* "tuned, binomial", as far as it is known. */
void proof_describe(const struct ictus_ran *ran, char *text, size_t size);

#endif
