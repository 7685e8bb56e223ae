/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HCA2 (Hunold, Carpen-Amarie 2015; H18 III-B, figure 1a): neighbours learn lines, which are merged
 * up a binomial tree and then scattered, in O(log p) rounds of fitpoints x exchanges request-reply
 * pairs. HCA does the same and then has rank 0 measure every offset again, O(p). Netgauge (H08 3.2)
 * merges offsets along the same tree, each measured with the patience of H08 3.1.
 */
#include "sync/algorithms.h"
#include "sync/upward.h"

struct hca2_options {
    struct measure_options measure;
    struct learn_options learn;
};

/* Defaults: "hca/1000/SKaMPI-Offset/100" in H18's notation. */
static const struct spec_param hca2_params[] = {
    {"fitpoints", SPEC_INT, offsetof(struct hca2_options, learn.fitpoints), "1000", 2, 1000000,
     NULL, "number of offsets to which each line is fitted"},
    MEASURE_PARAMS(struct hca2_options, measure, "100"),
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/*
 * The lines along the tree are composed. The offset of the last process therefore errs by the root
 * of log2 p times the error of one measurement, plus the drift that the slope errors of the first
 * rounds have caused since. HCA corrects only the offsets, with p - 1 further measurements.
 */
static int hca2_run_hca(const struct hca2_options *o, struct sync_run *run, bool adjust_after)
{
    const struct upward_options options = {
        .measure = o->measure, .learn = o->learn, .adjust_after = adjust_after};
    return ictusi_upward_learn(run, &options);
}

static int hca_run(struct sync *sync, struct sync_run *run)
{
    return hca2_run_hca(sync->options, run, true);
}

static int hca2_run(struct sync *sync, struct sync_run *run)
{
    return hca2_run_hca(sync->options, run, false);
}

/* The patience of 100 is from H08 figure 6: with N = 100 the error is below 10 % of the minimum
 * on every network that was measured. */
enum { NETGAUGE_ESTIMATOR = 2 };

struct netgauge_options {
    int64_t patience;
};

static const struct spec_param netgauge_params[] = {
    {"patience", SPEC_INT, offsetof(struct netgauge_options, patience), "100", 1, 100000, NULL,
     "end a measurement after this many exchanges in a row without a "
     "shorter round trip"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/* The lower rank is the client, as in H08 listing 4. With fitpoints = 1 the slope stays 0. */
static int netgauge_run(struct sync *sync, struct sync_run *run)
{
    const struct netgauge_options *o = sync->options;
    const struct upward_options options = {
        .measure = {.exchanges = o->patience, .estimator = NETGAUGE_ESTIMATOR},
        .learn = {.fitpoints = 1},
        .lower_asks = true,
    };
    return ictusi_upward_learn(run, &options);
}

const struct sync_ops ictusi_sync_hca = {
    .name = "hca",
    .summary = "hca2, then each offset again from rank 0 (Hunold 2015)",
    .params = hca2_params,
    .options_size = sizeof(struct hca2_options),
    .run = hca_run,
};

const struct sync_ops ictusi_sync_hca2 = {
    .name = "hca2",
    .summary = "lines merged up a binomial tree, then scattered (Hunold 2015)",
    .params = hca2_params,
    .options_size = sizeof(struct hca2_options),
    .run = hca2_run,
};

const struct sync_ops ictusi_sync_netgauge = {
    .name = "netgauge",
    .summary = "offsets merged up a binomial tree (Hoefler 2008)",
    .params = netgauge_params,
    .options_size = sizeof(struct netgauge_options),
    .run = netgauge_run,
};
