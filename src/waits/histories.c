/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If the archive states the accuracy of its own clock offsets, they are the knots. Otherwise the
 * errors follow from what messages in both directions leave open, interval by interval. With d_ab
 * the least delay seen from clock a to clock b, their offset lies within [-d_ba, d_ab], and the
 * least round trip of the trace says how much of that belongs to the path.
 */
#include "waits/histories.h"

#include "core/random.h"
#include "core/wide.h"
#include "waits/message_errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 1 << 22 }; /* limit for the table of pairs of clocks and knots */

/* Whether all of a location's offsets are equal, so that no drift of its clock was ever found. */
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
 * Two processes with different archive offsets do not share a clock. For one clock, a tracer may
 * record the same constant offset at different instants in each process.
 */
static bool histories_same_offsets(const struct layout_location *a, const struct layout_location *b)
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

/* The number of a thread's own clock among such clocks, or LAYOUT_NONE if it has none. */
static uint32_t thread_clock(const struct session *s, uint32_t location)
{
    const uint32_t shared = s->unit_count - s->thread_units;
    const uint32_t unit = s->unit_of[location];
    return s->thread_units > 0 && unit >= shared ? unit - shared : LAYOUT_NONE;
}

/*
 * Whether processes of one node have clocks of their own. Offsets are compared only between
 * locations that are close in the list: processes of a node are mostly listed together, and
 * comparing all pairs would take quadratic time.
 */
static bool clocks_by_process(const struct session *s)
{
    const struct trace *trace = s->trace;
    for (uint32_t i = 0; i < trace->layout.location_count; i++) {
        for (uint32_t k = i + 1; k < trace->layout.location_count && k < i + 64; k++) {
            const uint32_t a = trace->layout.locations[i].process;
            const uint32_t b = trace->layout.locations[k].process;
            if (a != LAYOUT_NONE && b != LAYOUT_NONE && a != b &&
                trace->layout.processes[a].node == trace->layout.processes[b].node &&
                !histories_same_offsets(&trace->layout.locations[i], &trace->layout.locations[k])) {
                return true;
            }
        }
    }
    /* messages contradicted a common clock */
    for (uint32_t i = 0; i < trace->layout.location_count; i++) {
        const uint32_t process = trace->layout.locations[i].process;
        if (process != LAYOUT_NONE && thread_clock(s, i) == LAYOUT_NONE &&
            s->unit_of[i] != trace->layout.processes[process].node) {
            return true;
        }
    }
    return false;
}

/*
 * Find the clock that stamps each location. It is that of its node, because the processes of a node
 * read one counter, unless their offsets or messages contradict that. Threads that contradict the
 * clock of their process have the last clocks, in the order of the session's units.
 */
static int clocks_find(struct histories *h, const struct session *s)
{
    const struct trace *trace = s->trace;
    const bool by_process = clocks_by_process(s);
    h->clock_of = calloc(trace->layout.location_count + 1, sizeof *h->clock_of);
    h->clock_count =
        (uint32_t)(by_process || !trace->layout.node_count ? trace->layout.process_count
                                                           : trace->layout.node_count);
    h->clock_count = h->clock_count ? h->clock_count : 1;
    const uint32_t shared = h->clock_count;
    h->clock_count += s->thread_units;
    h->clocks = calloc(h->clock_count, sizeof *h->clocks);
    h->home = calloc(h->clock_count, sizeof *h->home);
    if (!h->clock_of || !h->clocks || !h->home) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint32_t clock = 0; clock < h->clock_count; clock++) {
        h->home[clock] = clock;
    }
    for (uint32_t i = 0; i < trace->layout.location_count; i++) {
        const uint32_t process = s->process_of[i];
        const bool known = process < trace->layout.process_count;
        const uint32_t own = thread_clock(s, i);
        h->clock_of[i] = !known ? 0 : by_process ? process : trace->layout.processes[process].node;
        if (own != LAYOUT_NONE) {
            h->home[shared + own] = h->clock_of[i];
            h->clock_of[i] = shared + own;
        }
    }
    return ICTUS_OK;
}

/*
 * Return threads to the clock of their process. The clock of a thread stamps one location only, and
 * the remaining clocks are renumbered without gaps.
 */
bool ictusi_histories_rejoin(struct histories *h, const struct session *s, const uint32_t *group)
{
    uint32_t kept = h->clock_count - s->thread_units;
    for (uint32_t i = 0; i < s->trace->layout.location_count; i++) {
        const uint32_t own = h->clock_of[i];
        const uint32_t home = h->home[own];
        if (home != own) {
            h->clock_of[i] = group[own] == group[home] ? kept : home;
            h->home[kept] = home;
            kept += group[own] == group[home];
        }
    }
    const bool any = kept < h->clock_count;
    h->clock_count = kept;
    return any;
}

int ictusi_clock_errors_init(struct clock_errors *c, uint32_t count)
{
    c->count = count;
    c->times = calloc(count, sizeof *c->times);
    c->sigma = calloc(count, sizeof *c->sigma);
    c->off = calloc(count, sizeof *c->off);
    c->history = calloc((size_t)count * HISTORIES, sizeof *c->history);
    return c->times && c->sigma && c->off && c->history ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* The first location with offsets that a clock stamps, or NULL. */
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

/* Whether the archive states the accuracy of its offsets. */
static bool archive_knows(const struct histories *h, const struct session *s)
{
    bool any = false;
    if (s->presync == PRESYNC_MESSAGES) {
        return false; /* the offsets turned out to be wrong */
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

/*
 * Take the knots from the archive: the standard deviation of each offset in ticks, at the instant
 * that results from applying the offset to its own stamp, since knots are compared with
 * presynchronised times.
 */
static int clocks_from_archive(struct histories *h, const struct session *s)
{
    int err = ICTUS_OK;
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        const struct layout_location *witness = clock_witness(h, s->trace, c);
        struct clock_errors *errors = &h->clocks[c];
        err = ictusi_clock_errors_init(errors, witness->offset_count);
        for (uint32_t i = 0; i < witness->offset_count && !err; i++) {
            errors->times[i] = (int64_t)witness->offsets[i].time + witness->offsets[i].offset;
            errors->sigma[i] = witness->offsets[i].sd;
        }
    }
    return err;
}

static void clock_release(struct clock_errors *c)
{
    free(c->times);
    free(c->sigma);
    free(c->off);
    free(c->history);
    *c = (struct clock_errors){.times = NULL};
}

/*
 * The errors of knots from a fitted line are mostly common to all of them. So half of the variance
 * comes from one draw per clock, and half from a draw per knot.
 */
static void clock_draw(struct clock_errors *c, struct rng *random)
{
    double common[HISTORIES];
    for (int k = 0; k < HISTORIES; k++) {
        common[k] = ictusi_random_normal(random);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        for (int k = 0; k < HISTORIES; k++) {
            const double own = ictusi_random_normal(random);
            c->history[(size_t)i * HISTORIES + (size_t)k] =
                c->sigma[i] * (common[k] + own) * M_SQRT1_2;
        }
    }
}

/*
 * The standard deviation of the drawn differences of each pair at each knot. The errors of clocks
 * that were synchronised by messages are not independent: two clocks that exchange many messages
 * differ by less than sqrt(sigma_a^2 + sigma_b^2), which is used only if the table would be too
 * large.
 */
static int histories_pairs_find(struct histories *h)
{
    const uint64_t n = h->clock_count;
    h->knots = h->clocks[0].count;
    if (n * n * h->knots > PAIRS_MAX) {
        return ICTUS_OK;
    }
    h->pairs = calloc(n * n * h->knots, sizeof *h->pairs);
    for (uint64_t i = 0; h->pairs && i < n * n * h->knots; i++) {
        const uint64_t knot = i % h->knots;
        const double *a = h->clocks[i / h->knots / n].history + knot * HISTORIES;
        const double *b = h->clocks[i / h->knots % n].history + knot * HISTORIES;
        double square = 0;
        for (int k = 0; k < HISTORIES; k++) {
            square += (a[k] - b[k]) * (a[k] - b[k]) / HISTORIES;
        }
        h->pairs[i] = sqrt(square);
    }
    return h->pairs ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * Make the histories. For errors stated by the archive, the seed comes from the length of the trace
 * and the clock, so that an archive always has the same histories. reach is the largest error in
 * any of them. Whatever is farther from its threshold than two such errors is the same in all
 * histories.
 */
int ictusi_histories_make(struct histories *h, struct session *s, uint32_t fitted)
{
    *h = (struct histories){.source = SIGMA_ONE_CLOCK};
    int err = clocks_find(h, s);
    if (err || h->clock_count < 2) {
        return err;
    }
    const bool archive = archive_knows(h, s);
    h->source = SIGMA_ARCHIVE;
    err = archive ? clocks_from_archive(h, s) : ictusi_message_errors(h, s, fitted);
    for (uint32_t c = 0; c < h->clock_count && !err && archive; c++) {
        struct rng random;
        ictusi_random_seed(&random, s->trace->layout.length, c);
        clock_draw(&h->clocks[c], &random);
    }
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        for (uint32_t i = 0; i < h->clocks[c].count; i++) {
            h->worst = fmax(h->worst, h->clocks[c].sigma[i]);
        }
        for (uint64_t i = 0; i < (uint64_t)h->clocks[c].count * HISTORIES; i++) {
            h->reach = fmax(h->reach, fabs(h->clocks[c].history[i]));
        }
    }
    h->reach = h->source == SIGMA_UNKNOWN ? 0 : h->reach;
    return !err && h->source == SIGMA_MESSAGES ? histories_pairs_find(h) : err;
}

void ictusi_histories_free(struct histories *h)
{
    for (uint32_t c = 0; h->clocks && c < h->clock_count; c++) {
        clock_release(&h->clocks[c]);
    }
    free(h->clocks);
    free(h->clock_of);
    free(h->home);
    free(h->pairs);
    *h = (struct histories){.clocks = NULL};
}

/*
 * The knot before an instant, and the share of the way to the next knot. times[low] <= time <
 * times[high] holds during the search, with the end counting as infinity. Before the first knot and
 * after the last one, errors stay constant.
 */
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

/* The same; the hint is only where the search begins. */
static uint32_t clock_place_near(const struct clock_errors *c, int64_t time, uint32_t hint,
                                 double *share)
{
    if (hint + 1 >= c->count || time <= c->times[hint] || time >= c->times[hint + 1]) {
        return clock_place(c, time, share);
    }
    *share = (double)(time - c->times[hint]) / (double)(c->times[hint + 1] - c->times[hint]);
    return hint;
}

/*
 * The variance between knots. With a and b the parts (1 - s) sigma_i and s sigma_(i+1), half of
 * each knot's variance is common to both and adds as (a + b)^2, and half is its own and adds as a^2
 * + b^2, exactly as clock_draw() draws them.
 */
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
    if (h->pairs) { /* all clocks have the same knots */
        double share = 0;
        const uint32_t at = clock_place(&h->clocks[a], time, &share);
        const double *sigma = &h->pairs[((uint64_t)a * h->clock_count + b) * h->knots + at];
        return share > 0 ? sigma[0] + share * (sigma[1] - sigma[0]) : sigma[0];
    }
    return sqrt(clock_variance(&h->clocks[a], time) + clock_variance(&h->clocks[b], other_time));
}

WIDE_REGISTERS
void ictusi_histories_read_some(const struct histories *h, uint32_t location, int64_t time,
                                struct history_range range, double off[HISTORIES])
{
    const struct clock_errors *c = &h->clocks[h->clock_of[location]];
    double share = 0;
    if (c->count == 0 || h->source == SIGMA_UNKNOWN) {
        memset(off, 0, HISTORIES * sizeof *off);
        return;
    }
    const uint32_t at = clock_place(c, time, &share);
    const double *before = &c->history[(size_t)at * HISTORIES];
    const double *after = share > 0 ? before + HISTORIES : before;
    for (int k = range.from; k < range.to; k++) {
        off[k] = before[k] + share * (after[k] - before[k]);
    }
}

void ictusi_histories_read(const struct histories *h, uint32_t location, int64_t time,
                           double off[HISTORIES])
{
    ictusi_histories_read_some(h, location, time, (struct history_range){0, HISTORIES}, off);
}

double ictusi_histories_at(const struct histories *h, uint32_t location, int64_t time, int lane)
{
    const struct clock_errors *c = &h->clocks[h->clock_of[location]];
    double share = 0;
    if (c->count == 0 || h->source == SIGMA_UNKNOWN) {
        return 0;
    }
    const uint32_t at = clock_place(c, time, &share);
    const double *before = &c->history[(size_t)at * HISTORIES + (size_t)lane % HISTORIES];
    const double off = share > 0 ? *before + share * (before[HISTORIES] - *before) : *before;
    return lane < HISTORIES ? off : -off;
}

void ictusi_histories_rate(const struct histories *h, uint32_t location, double rate[HISTORIES])
{
    const struct clock_errors *c = &h->clocks[h->clock_of[location]];
    const size_t last = c->count > 1 ? c->count - 1 : 0;
    const double length = last > 0 ? (double)(c->times[last] - c->times[0]) : 0;
    const bool known = length > 0 && h->source != SIGMA_UNKNOWN;
    for (size_t k = 0; k < HISTORIES; k++) {
        rate[k] = known ? (c->history[last * HISTORIES + k] - c->history[k]) / length : 0;
    }
}

int64_t ictusi_histories_off(const struct histories *h, uint32_t location, int64_t time,
                             uint32_t *hint)
{
    double share = 0;
    if (h->clock_count < 2 || h->source != SIGMA_MESSAGES) {
        return 0;
    }
    const struct clock_errors *c = &h->clocks[h->clock_of[location]];
    const uint32_t at = clock_place_near(c, time, *hint, &share);
    *hint = at;
    const double next = share > 0 ? c->off[at + 1] : 0;
    return llround(c->off[at] + share * (next - c->off[at]));
}
