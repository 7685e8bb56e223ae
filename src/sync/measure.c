/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures one offset, or one line, between a reference and a client. */
#include "sync/measure.h"

#include "core/estimator.h"
#include "core/fit.h"
#include "sync/wait.h"

#include <math.h>
#include <stdlib.h>

enum estimator { SKAMPI, MEAN_RTT, NETGAUGE, MIN_RTT };
const char *const ictusi_estimators[] = {"skampi", "mean-rtt", "netgauge", "min-rtt", NULL};

/* Netgauge's burst ends after `patience` exchanges without a smaller round trip, or after this
 * many exchanges in all. */
enum { NETGAUGE_MAX = 100000 };

/* With at least this many fit points (H18's usual fit), the pace is not shortened. */
#define PACE_POINTS 500.0

int ictusi_measure_init(struct measure *m, const struct measure_options *options, int64_t fitpoints,
                        struct sync_run *run)
{
    *m = (struct measure){
        .exchange = {.comm = run->comm,
                     .source = run->source,
                     .crowded = run->crowded,
                     .synchronous = options->estimator == MEAN_RTT},
        .options = *options,
        .rtt_peer = -1,
    };
    m->stamps = calloc((size_t)options->exchanges, sizeof(*m->stamps));
    m->points = calloc((size_t)fitpoints, sizeof(*m->points));
    const int err = ictusi_sync_agree(
        run->comm, m->stamps && m->points ? ICTUS_OK : ICTUS_ERR_NOMEM, &run->why);
    if (err) {
        ictusi_measure_fini(m, run);
    }
    return err;
}

/* The messages are counted even if the synchronisation failed. */
void ictusi_measure_fini(struct measure *m, struct sync_run *run)
{
    run->exchanges += m->exchange.started;
    run->messages += m->exchange.messages;
    free(m->stamps);
    free(m->points);
}

/* The number of exchanges is not known in advance, so each request tells whether another one
 * follows. */
static int netgauge_client(struct measure *m, int reference, struct offset *offset)
{
    struct netgauge rule = ictusi_estimator_netgauge_begin((size_t)m->options.exchanges);
    int err = ictusi_exchange_ping_until(&m->exchange, reference, NETGAUGE_MAX, &rule);
    return err ? err : ictusi_estimator_netgauge_offset(&rule, offset);
}

/* H18 algorithm 8, lines 3-5: the round trip of a pair is measured only once. The first exchange
 * may wait for a reference that is still busy with another process, which does not belong to the
 * round trip. */
static int measure_ensure_rtt(struct measure *m, int reference)
{
    if (m->rtt_peer == reference) {
        return ICTUS_OK;
    }
    const size_t n = (size_t)m->options.exchanges;
    const int err = ictusi_exchange_ping(&m->exchange, reference, n, m->stamps);
    m->rtt_ns = n > 1 ? ictusi_estimator_rtt_mean(m->stamps + 1, n - 1)
                      : ictusi_estimator_rtt_mean(m->stamps, n);
    m->rtt_peer = reference;
    return err;
}

/*
 * Measure one offset, reference minus client. ictusi_measure_reference() makes the same number of
 * exchanges. Both sides know it without a message, from the options and from the pair whose round
 * trip was measured last.
 */
int ictusi_measure_client(struct measure *m, int reference, struct offset *offset)
{
    const size_t n = (size_t)m->options.exchanges;
    int err = ICTUS_OK;
    if (m->options.estimator == NETGAUGE) {
        return netgauge_client(m, reference, offset);
    }
    if (m->options.estimator == MEAN_RTT) {
        err = measure_ensure_rtt(m, reference);
    }
    if (!err) {
        err = ictusi_exchange_ping(&m->exchange, reference, n, m->stamps);
    }
    if (err) {
        return err;
    }
    switch (m->options.estimator) {
    case MEAN_RTT:
        return ictusi_estimator_offset_mean_rtt(m->stamps, n, m->rtt_ns, offset);
    case MIN_RTT:
        return ictusi_estimator_offset_min_rtt(m->stamps, n, offset);
    default:
        return ictusi_estimator_offset_skampi(m->stamps, n, offset);
    }
}

int ictusi_measure_reference(struct measure *m, int client, const struct line *clock)
{
    const size_t n = (size_t)m->options.exchanges;
    if (m->options.estimator == NETGAUGE) {
        return ictusi_exchange_pong_until(&m->exchange, client, clock);
    }
    if (m->options.estimator == MEAN_RTT && m->rtt_peer != client) {
        m->rtt_peer = client;
        const int err = ictusi_exchange_pong(&m->exchange, client, n, clock);
        if (err) {
            return err;
        }
    }
    return ictusi_exchange_pong(&m->exchange, client, n, clock);
}

/* H18 algorithm 2, COMPUTE_AND_SET_INTERCEPT: the slope is kept and the offset is measured
 * again. */
static int measure_recompute_intercept(struct measure *m, int reference, struct line *line,
                                       struct line_error *error)
{
    struct offset now;
    const int err = ictusi_measure_client(m, reference, &now);
    if (err) {
        return err;
    }
    /* The error of the slope moves with the anchor. The bound is that of the new exchange alone. */
    const double d_s = (double)(now.at - line->anchor) * 1e-9;
    struct line_error moved = ictusi_line_error_move(error, d_s);
    *line = ictusi_line_make(now.at, now.offset, now.frac, line->slope);
    moved.bound_ns = now.half_width_ns;
    *error = moved;
    return ICTUS_OK;
}

/*
 * Return the time from the start of point i to the start of the next one. It is the pace on
 * average, and varies between 3/4 and 5/4 of it by golden steps. With equal steps, if the clocks
 * drifted apart by a whole number of ns in each, all points would be rounded alike. For few points
 * the pace is shortened in proportion, because a caller who asks for few points wants a short
 * synchronisation.
 */
static int64_t gap_ns(const struct learn_options *options, size_t i)
{
    const double golden = 0.6180339887498949;
    const double step = (double)i * golden;
    const double share = fmin((double)options->fitpoints / PACE_POINTS, 1.0);
    return (int64_t)(options->pace_s * 1e9 * share * (0.75 + 0.5 * (step - floor(step))));
}

/*
 * Measure offsets at fitpoints instants and fit a line to them by least squares. The reference's
 * clock is also a line with an error, which the reference sends at the end. The variance of the
 * client's line is the sum of both.
 */
int ictusi_measure_learn_client(struct measure *m, const struct learn_options *options,
                                int reference, struct line *line, struct line_error *error)
{
    const size_t n = (size_t)options->fitpoints;
    struct line_error theirs;
    int failed = ICTUS_OK;
    int err = ICTUS_OK;
    const struct source *source = m->exchange.source;
    for (size_t i = 0; i < n; i++) {
        const int64_t began = ictusi_source_read(source);
        /* After a failed point the exchanges go on, so that the reference is not left waiting. */
        err = ictusi_measure_client(m, reference, &m->points[i]);
        failed = failed ? failed : err;
        if (options->pace_s > 0.0 && i + 1 < n) {
            (void)ictusi_sync_wait_until(source, began + gap_ns(options, i), m->exchange.crowded);
        }
    }
    if (!failed) {
        failed = ictusi_fit_ols(m->points, n, line, error);
    }
    if (!failed) {
        ictusi_fit_admit_path(m->points, n, error);
    }
    if (options->recompute) {
        err = measure_recompute_intercept(m, reference, line, error);
        failed = failed ? failed : err;
    }
    err = ictusi_exchange_hear(&m->exchange, reference, &theirs, sizeof(theirs));
    if (failed || err) {
        return failed ? failed : err;
    }
    *error = ictusi_line_error_add(error, &theirs);
    return ICTUS_OK;
}

/* Answer the same number of measurements. The client starts each of them, so the client sets the
 * pace. */
int ictusi_measure_learn_reference(struct measure *m, const struct learn_options *options,
                                   int client, const struct line *clock,
                                   const struct line_error *error)
{
    int err = ICTUS_OK;
    const int64_t n = options->fitpoints + (options->recompute ? 1 : 0);
    for (int64_t i = 0; i < n && !err; i++) {
        err = ictusi_measure_reference(m, client, clock);
    }
    if (err) {
        return err;
    }
    /* The error of the reference's own line has grown since it was fitted. */
    const double age_s = (double)(ictusi_source_read(m->exchange.source) - clock->anchor) * 1e-9;
    const struct line_error now = ictusi_line_error_move(error, age_s);
    return ictusi_exchange_tell(&m->exchange, client, &now, sizeof(now));
}
