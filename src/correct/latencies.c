/* SPDX-License-Identifier: BSD-3-Clause */
/* The least time that a message takes between two clocks, for the logical clock. */
#include "causality/least_delays.h"
#include "correct/session.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

enum { LATENCY_STRETCHES = 16 };

/*
 * A pair shows how long its messages take if it talks both ways in half of these stretches of time.
 * If it seldom talks, all of its messages may have waited, and its round trip may be any number of
 * times too long.
 */
static bool latency_is_known(const struct least_delays *seen, const struct delay_pair *pair)
{
    uint32_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < 2 * seen->cells; i++) {
        const uint64_t row = pair->row[i % 2];
        counts[i % 2] +=
            row != DELAY_NO_ROW && seen->delay[row * seen->cells + i / 2] != DELAY_NONE;
    }
    return 2 * counts[0] >= seen->cells && 2 * counts[1] >= seen->cells;
}

/*
 * The minimum delay of one direction: half of the half round trip, that is a quarter of the least
 * round trip. The asymmetry of a path is unknown; this allows for one direction that takes three
 * times as long as the other. A direction that is not violated keeps its own least delay if that is
 * shorter.
 */
static int64_t latency_of_way(const struct least_delays *seen, const struct delay_pair *pair,
                              int way)
{
    const int64_t least = ictusi_delays_least(seen, pair->row[way]);
    const double quarter = ictusi_delays_half_trip(seen, pair) / 2;
    const int64_t ticks = quarter > 1 ? (int64_t)quarter : 1;
    return least > 0 && least < ticks ? least : ticks;
}

/* Fill in the table from what was seen. Pairs that seldom talk get no more than any other one. */
static void latencies_set(const struct least_delays *seen, uint64_t n, int64_t *table)
{
    int64_t shortest = INT64_MAX;
    for (uint64_t i = 0; i < 2 * seen->pair_count; i++) {
        const int64_t ticks = latency_of_way(seen, &seen->pairs[i / 2], (int)(i % 2));
        shortest = ticks < shortest ? ticks : shortest;
    }
    for (uint64_t i = 0; i < 2 * seen->pair_count; i++) {
        const struct delay_pair *pair = &seen->pairs[i / 2];
        const uint64_t cell = i % 2 ? pair->b * n + pair->a : pair->a * n + pair->b;
        table[cell] =
            latency_is_known(seen, pair) ? latency_of_way(seen, pair, (int)(i % 2)) : shortest;
    }
}

/* Estimate the minimum delay of each ordered pair of clocks from the present times. Collective. */
static int latencies_estimate(struct session *s, int64_t *table)
{
    struct least_delays seen;
    const int64_t *times = s->history.points.time;
    const uint64_t n = s->unit_count;
    int err = ictusi_session_agree(
        s, ictusi_delays_init(&seen, s->unit_of, s->unit_count, LATENCY_STRETCHES));
    if (!err) {
        ictusi_delays_begin(&seen, times, s->from, s->to);
        s->flow.observer = &seen.observer;
        s->flow.known = times;
        err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_CHECK));
    }
    err = err ? err : ictusi_delays_finish(&seen, s->team);
    for (uint64_t i = 0; i < n * n; i++) {
        table[i] = 1;
    }
    if (!err) {
        latencies_set(&seen, n, table);
    }
    ictusi_delays_fini(&seen);
    return err;
}

/*
 * Rounded down, so that no message has to take longer than the user specified, but at least one
 * tick.
 */
static int64_t latency_ticks(const struct session *s, double seconds)
{
    const double value = floor(seconds * (double)s->trace->layout.resolution);
    return value > 1 ? (int64_t)value : 1;
}

/*
 * One cell of the table if the user specified times. A negative node_s means the same as in the
 * network.
 */
static int64_t latency_given(const struct session *s, bool same_unit, double network_s,
                             double node_s, int64_t estimated)
{
    if (same_unit && node_s >= 0) {
        return latency_ticks(s, node_s);
    }
    if (network_s >= 0) {
        return latency_ticks(s, network_s);
    }
    return same_unit ? 1 : estimated;
}

/*
 * Make the table of minimum delays between units, in ticks, for the logical clock: as specified by
 * the user, else as estimated from the trace. If there are too many units, a single number replaces
 * the table.
 */
int ictusi_session_latency(struct session *s, double network_s, double node_s)
{
    const uint64_t n = s->unit_count;
    int err = ICTUS_OK;
    free(s->latency.table);
    s->latency.table = NULL;
    /* The least of all delays is used without a table, and for the nodes of collectives. */
    s->latency.least = 1;
    if (network_s >= 0) {
        const int64_t network = latency_ticks(s, network_s);
        const int64_t node = node_s >= 0 ? latency_ticks(s, node_s) : network;
        s->latency.least = node < network ? node : network;
    }
    if (n > LATENCY_UNITS_MAX) {
        return ICTUS_OK;
    }
    s->latency.table = calloc(n * n, sizeof *s->latency.table);
    err = s->latency.table ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && network_s < 0) {
        err = latencies_estimate(s, s->latency.table);
    }
    for (uint64_t i = 0; i < n * n && !err; i++) {
        s->latency.table[i] =
            latency_given(s, i / n == i % n, network_s, node_s, s->latency.table[i]);
    }
    return ictusi_session_agree(s, err);
}
