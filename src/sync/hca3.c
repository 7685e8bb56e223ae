/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HCA3 (H18 algorithms 1 and 2): lines learned down a binomial tree, in O(log p) rounds of
 * fitpoints x exchanges request-reply pairs. hca3-offset (S23 section 6) uses the same tree for
 * offsets only.
 */
#include "sync/algorithms.h"
#include "sync/tree.h"

struct hca3_options {
    struct measure_options measure;
    struct learn_options learn;
};

/*
 * Defaults: the setting that H18 found best for H2HCA (500 fit points, SKaMPI-Offset, 100
 * exchanges). The asymmetry of a path wanders by tens of ns within tenths of a second, whatever the
 * number of exchanges, and a change within the fit looks like a slope. Over shared memory 500
 * offsets take only 16 ms, and lines through them were off by 100 ns per second and more. The pace
 * therefore spreads 500 points over a second, and 100 points, at a fifth of the pace, over 40 ms.
 */
static const struct spec_param hca3_params[] = {
    {"fitpoints", SPEC_INT, offsetof(struct hca3_options, learn.fitpoints), "500", 2, 1000000, NULL,
     "number of offsets to which each line is fitted"},
    MEASURE_PARAMS(struct hca3_options, measure, "100"),
    {"recompute", SPEC_BOOL, offsetof(struct hca3_options, learn.recompute), "0", 0, 0, NULL,
     "measure the intercept again after the fit"},
    {"pace", SPEC_SECONDS, offsetof(struct hca3_options, learn.pace_s), "2ms", 0, 1, NULL,
     "time from the start of one offset measurement to the next; it is "
     "proportionally shorter below 500 fit points"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static int hca3_run(struct sync *sync, struct sync_run *run)
{
    const struct hca3_options *options = sync->options;
    return ictusi_tree_learn(run, &options->measure, &options->learn);
}

struct offset_options {
    struct measure_options measure;
};

static const struct spec_param offset_params[] = {
    MEASURE_PARAMS(struct offset_options, measure, "100"),
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static int offset_run(struct sync *sync, struct sync_run *run)
{
    static const struct learn_options one = {.fitpoints = 1, .recompute = false};
    const struct offset_options *options = sync->options;
    return ictusi_tree_learn(run, &options->measure, &one);
}

const struct sync_ops ictusi_sync_hca3 = {
    .name = "hca3",
    .summary = "lines learned down a binomial tree (Hunold 2018)",
    .params = hca3_params,
    .options_size = sizeof(struct hca3_options),
    .run = hca3_run,
};

const struct sync_ops ictusi_sync_hca3_offset = {
    .name = "hca3-offset",
    .summary = "offsets only, down a binomial tree (Schuchart 2023)",
    .params = offset_params,
    .options_size = sizeof(struct offset_options),
    .run = offset_run,
};
