/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Knots are the archive's own clock offsets where it says how good they are; else what messages
 * both ways leave open, block by block of time: d_ab being the least delay seen from clock a to
 * clock b, their offset lies within [-d_ba, d_ab], and the trace's least round trip says how much
 * of that is the path's.
 */
#include "waits/histories.h"

#include "core/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether all of a location's offsets are one value: its clock was never found to drift. */
static bool offsets_constant(const struct layout_location *a)
{
    for (uint32_t i = 1; i < a->offset_count; i++) {
        if (a->offsets[i].offset != a->offsets[0].offset) {
            return false;
        }
    }
    return true;
}

/*
 * Two processes whose archive offsets differ do not read one clock. A tracer may note the same
 * offset of one clock at another instant in each process.
 */
static bool same_offsets(const struct layout_location *a, const struct layout_location *b)
{
    if (a->offset_count == 0 || b->offset_count == 0) {
        return true;
    }
    if (offsets_constant(a) && offsets_constant(b)) {
        return a->offsets[0].offset == b->offsets[0].offset;
    }
    if (a->offset_count != b->offset_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->offset_count; i++) {
        if (a->offsets[i].time != b->offsets[i].time ||
            a->offsets[i].offset != b->offsets[i].offset) {
            return false;
        }
    }
    return true;
}

/* Whether processes of one node have clocks of their own. */
static bool clocks_by_process(const struct session *s)
{
    const struct trace *trace = s->trace;
    for (uint32_t i = 0; i < trace->layout.location_count; i++) {
        for (uint32_t k = i + 1; k < trace->layout.location_count && k < i + 64; k++) {
            const uint32_t a = trace->layout.locations[i].process;
            const uint32_t b = trace->layout.locations[k].process;
            if (a != LAYOUT_NONE && b != LAYOUT_NONE && a != b &&
                trace->layout.processes[a].node == trace->layout.processes[b].node &&
                !same_offsets(&trace->layout.locations[i], &trace->layout.locations[k])) {
                return true;
            }
        }
    }
    for (uint32_t i = 0; i < trace->layout.location_count; i++) { /* the messages said so */
        const uint32_t process = trace->layout.locations[i].process;
        if (process != LAYOUT_NONE && s->unit_of[i] != trace->layout.processes[process].node) {
            return true;
        }
    }
    return false;
}

static int clocks_find(struct histories *h, const struct session *s)
{
    const struct trace *trace = s->trace;
    const bool by_process = clocks_by_process(s);
    h->clock_of = calloc(trace->layout.location_count + 1, sizeof *h->clock_of);
    h->clock_count =
        (uint32_t)(by_process || !trace->layout.node_count ? trace->layout.process_count
                                                           : trace->layout.node_count);
    h->clock_count = h->clock_count ? h->clock_count : 1;
    h->clocks = calloc(h->clock_count, sizeof *h->clocks);
    if (!h->clock_of || !h->clocks) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < trace->layout.location_count; i++) {
        const uint32_t process = s->process_of[i];
        const bool known = process < trace->layout.process_count;
        h->clock_of[i] = !known ? 0 : by_process ? process : trace->layout.processes[process].node;
    }
    return ICTUS_OK;
}

static int clock_reserve(struct clock_errors *c, uint32_t count)
{
    c->count = count;
    c->times = calloc(count, sizeof *c->times);
    c->sigma = calloc(count, sizeof *c->sigma);
    c->history = calloc((size_t)count * HISTORIES, sizeof *c->history);
    return c->times && c->sigma && c->history ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* The first location that a clock stamps and that has offsets; NULL: none has. */
static const struct layout_location *clock_witness(const struct histories *h,
                                                   const struct trace *trace, uint32_t clock)
{
    for (uint32_t i = 0; i < trace->layout.location_count; i++) {
        if (h->clock_of[i] == clock && trace->layout.locations[i].offset_count) {
            return &trace->layout.locations[i];
        }
    }
    return NULL;
}

/* Whether the archive says how good its offsets are. */
static bool archive_knows(const struct histories *h, const struct session *s)
{
    bool any = false;
    if (s->presync == PRESYNC_MESSAGES) {
        return false; /* they turned out to be wrong */
    }
    for (uint32_t c = 0; c < h->clock_count; c++) {
        const struct layout_location *witness = clock_witness(h, s->trace, c);
        if (!witness) {
            return false;
        }
        for (uint32_t i = 0; i < witness->offset_count; i++) {
            any = any || witness->offsets[i].sd > 0;
        }
    }
    return any;
}

static int clocks_from_archive(struct histories *h, const struct session *s)
{
    int err = ICTUS_OK;
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        const struct layout_location *witness = clock_witness(h, s->trace, c);
        struct clock_errors *errors = &h->clocks[c];
        err = clock_reserve(errors, witness->offset_count);
        for (uint32_t i = 0; i < witness->offset_count && !err; i++) {
            errors->times[i] = (int64_t)witness->offsets[i].time + witness->offsets[i].offset;
            errors->sigma[i] = witness->offsets[i].sd;
        }
    }
    return err;
}

/*
 * Half a round trip h, of which the trace's least is h0: queueing and asymmetry leave a uniform
 * share of the rest open, and three tenths of h0.
 */
static double pair_sigma(const struct least_delays *seen, uint32_t a, uint32_t b, uint32_t block,
                         double least)
{
    const uint64_t forth = ((uint64_t)a * seen->clocks + b) * seen->cells + block;
    const uint64_t back = ((uint64_t)b * seen->clocks + a) * seen->cells + block;
    if (seen->delay[forth] == DELAY_NONE || seen->delay[back] == DELAY_NONE) {
        return INFINITY;
    }
    const double half = ((double)seen->delay[forth] + (double)seen->delay[back]) / 2;
    const double queue = half > least ? half - least : 0;
    return sqrt((queue * queue + 0.09 * least * least) / 3);
}

/* Half of the least round trip of all: what no queue lengthens. */
static double least_half(const struct least_delays *seen)
{
    const uint64_t n = seen->clocks;
    double least = INFINITY;
    for (uint64_t a = 0; a < n; a++) {
        for (uint64_t i = 0; i < n * seen->cells; i++) {
            const uint64_t b = i / seen->cells;
            const uint64_t k = i % seen->cells;
            const int64_t forth = seen->delay[(a * n + b) * seen->cells + k];
            const int64_t back = seen->delay[(b * n + a) * seen->cells + k];
            if (a != b && forth != DELAY_NONE && back != DELAY_NONE) {
                least = fmin(least, ((double)forth + (double)back) / 2);
            }
        }
    }
    return least > 0 ? least : 0;
}

/* Least variances from the first clock, over pairs that see each other in this block. */
static void block_variances(const struct least_delays *seen, uint32_t block, double least,
                            double *variance, bool *done)
{
    const uint32_t n = seen->clocks;
    for (uint32_t i = 0; i < n; i++) {
        variance[i] = i ? INFINITY : 0;
        done[i] = false;
    }
    for (uint32_t round = 0; round < n; round++) {
        uint32_t at = n;
        for (uint32_t i = 0; i < n; i++) {
            at = !done[i] && (at == n || variance[i] < variance[at]) ? i : at;
        }
        done[at] = true;
        for (uint32_t i = 0; i < n && isfinite(variance[at]); i++) {
            const double s = done[i] ? INFINITY : pair_sigma(seen, at, i, block, least);
            const double sum = variance[at] + s * s;
            variance[i] = sum < variance[i] ? sum : variance[i];
        }
    }
}

static int clocks_from_delays(struct histories *h, const struct least_delays *seen)
{
    double *variance = calloc(seen->clocks, sizeof *variance);
    bool *done = calloc(seen->clocks, sizeof *done);
    int err = variance && done ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        err = clock_reserve(&h->clocks[c], seen->cells);
    }
    const double least = least_half(seen);
    for (uint32_t b = 0; b < seen->cells && !err; b++) {
        block_variances(seen, b, least, variance, done);
        for (uint32_t c = 0; c < h->clock_count; c++) {
            const double width = (double)seen->length / seen->cells;
            h->clocks[c].times[b] = seen->from + (int64_t)(((double)b + 0.5) * width);
            h->clocks[c].sigma[b] = isfinite(variance[c]) ? sqrt(variance[c]) : -1;
        }
    }
    free(variance);
    free(done);
    return err;
}

/* Blocks in which a clock was not seen both ways are as uncertain as the nearest that was. */
static bool clock_fill(struct clock_errors *c)
{
    double last = -1;
    for (uint32_t i = 0; i < c->count; i++) {
        last = c->sigma[i] >= 0 ? c->sigma[i] : last;
        c->sigma[i] = c->sigma[i] >= 0 ? c->sigma[i] : last;
    }
    for (uint32_t i = c->count; i-- > 0;) {
        last = c->sigma[i] >= 0 ? c->sigma[i] : last;
        c->sigma[i] = c->sigma[i] >= 0 ? c->sigma[i] : last;
    }
    return last >= 0;
}

/* What messages leave open, in stretches as fine as they allow, or over the whole trace. */
static int clocks_look(struct histories *h, struct session *s, bool fine)
{
    enum { BLOCKS = 256 };
    struct least_delays seen;
    const uint32_t blocks = fine ? BLOCKS : 1;
    int err = ictusi_delays_init(&seen, &s->history, h->clock_of, h->clock_count, blocks);
    if (!err) {
        ictusi_delays_begin(&seen, s->history.points.time, s->from, s->to);
        s->flow.observer = &seen.observer;
        s->flow.known = s->history.points.time;
        err = ictusi_flow_run(&s->flow, FLOW_CHECK);
    }
    err = err ? err : clocks_from_delays(h, &seen);
    ictusi_delays_fini(&seen);
    h->source = SIGMA_MESSAGES;
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        h->source = clock_fill(&h->clocks[c]) ? h->source : SIGMA_UNKNOWN;
    }
    return err;
}

static void clock_release(struct clock_errors *c)
{
    free(c->times);
    free(c->sigma);
    free(c->history);
    *c = (struct clock_errors){.times = NULL};
}

static int clocks_from_messages(struct histories *h, struct session *s)
{
    h->source = SIGMA_UNKNOWN;
    if (h->clock_count > DELAYS_CLOCKS_MAX || s->to <= s->from) {
        return ICTUS_OK;
    }
    int err = clocks_look(h, s, true);
    if (!err && h->source == SIGMA_UNKNOWN) {
        for (uint32_t c = 0; c < h->clock_count; c++) {
            clock_release(&h->clocks[c]);
        }
        err = clocks_look(h, s, false);
    }
    return err;
}

/*
 * Errors of knots that a line was put through are mostly common to all of them: half of the
 * variance is one draw for the clock, half is drawn for each knot.
 */
static void clock_draw(struct clock_errors *c, struct rng *random)
{
    double common[HISTORIES];
    for (int k = 0; k < HISTORIES; k++) {
        common[k] = ictusi_rng_normal(random);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        for (int k = 0; k < HISTORIES; k++) {
            const double own = ictusi_rng_normal(random);
            c->history[(size_t)i * HISTORIES + (size_t)k] =
                c->sigma[i] * (common[k] + own) * M_SQRT1_2;
        }
    }
}

int ictusi_histories_make(struct histories *h, struct session *s)
{
    *h = (struct histories){.source = SIGMA_ONE_CLOCK};
    int err = clocks_find(h, s);
    if (err || h->clock_count < 2) {
        return err;
    }
    const bool archive = archive_knows(h, s);
    h->source = archive ? SIGMA_ARCHIVE : SIGMA_MESSAGES;
    err = archive ? clocks_from_archive(h, s) : clocks_from_messages(h, s);
    for (uint32_t c = 0; c < h->clock_count && !err && h->source != SIGMA_UNKNOWN; c++) {
        struct rng random;
        ictusi_rng_seed(&random, s->trace->layout.length, c);
        clock_draw(&h->clocks[c], &random);
        for (uint32_t i = 0; i < h->clocks[c].count; i++) {
            h->worst = fmax(h->worst, h->clocks[c].sigma[i]);
        }
    }
    return err;
}

void ictusi_histories_free(struct histories *h)
{
    for (uint32_t c = 0; h->clocks && c < h->clock_count; c++) {
        clock_release(&h->clocks[c]);
    }
    free(h->clocks);
    free(h->clock_of);
    *h = (struct histories){.clocks = NULL};
}

/* The knot before an instant, and how far it is on the way to the next one. */
static uint32_t clock_place(const struct clock_errors *c, int64_t time, double *share)
{
    uint32_t low = 0;
    uint32_t high = c->count;
    *share = 0;
    if (time <= c->times[0]) {
        return 0;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (c->times[middle] <= time) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (low + 1 < c->count) {
        *share = (double)(time - c->times[low]) / (double)(c->times[low + 1] - c->times[low]);
    }
    return low;
}

static double clock_variance(const struct clock_errors *c, int64_t time)
{
    double share = 0;
    if (c->count == 0) {
        return 0;
    }
    const uint32_t at = clock_place(c, time, &share);
    const double a = c->sigma[at] * (1 - share);
    const double b = share > 0 ? c->sigma[at + 1] * share : 0;
    return ((a + b) * (a + b) + a * a + b * b) / 2;
}

double ictusi_histories_sigma(const struct histories *h, uint32_t location, int64_t time,
                              uint32_t other, int64_t other_time)
{
    const uint32_t a = h->clock_of[location];
    const uint32_t b = h->clock_of[other];
    if (a == b || h->source == SIGMA_ONE_CLOCK) {
        return 0;
    }
    if (h->source == SIGMA_UNKNOWN) {
        return INFINITY;
    }
    return sqrt(clock_variance(&h->clocks[a], time) + clock_variance(&h->clocks[b], other_time));
}

void ictusi_histories_add(const struct histories *h, uint32_t location, int64_t time, double factor,
                          double sums[HISTORIES])
{
    const struct clock_errors *c = &h->clocks[h->clock_of[location]];
    double share = 0;
    if (c->count == 0 || h->source == SIGMA_UNKNOWN) {
        return;
    }
    const uint32_t at = clock_place(c, time, &share);
    const double *before = &c->history[(size_t)at * HISTORIES];
    const double *after = share > 0 ? before + HISTORIES : before;
    for (int k = 0; k < HISTORIES; k++) {
        sums[k] += factor * (before[k] + share * (after[k] - before[k]));
    }
}

double ictusi_histories_at(const struct histories *h, uint32_t location, int64_t time, int history)
{
    const struct clock_errors *c = &h->clocks[h->clock_of[location]];
    double share = 0;
    if (c->count == 0 || h->source == SIGMA_UNKNOWN) {
        return 0;
    }
    const uint32_t at = clock_place(c, time, &share);
    const double *before = &c->history[(size_t)at * HISTORIES + (size_t)history];
    return share > 0 ? *before + share * (before[HISTORIES] - *before) : *before;
}
