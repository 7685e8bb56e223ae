/* SPDX-License-Identifier: BSD-3-Clause */
#include "correct/forced.h"

#include "correct/clock_fit.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The relative change |new - old| / old. Intervals of 0 ticks, whose relative change would be
 * infinite, count as 1 tick.
 */
static double interval_ratio(const struct forced_interval *i)
{
    return fabs((double)(i->is - i->was)) / (double)(i->was > 1 ? i->was : 1);
}

/*
 * Insert into the sorted list; if it is full, the least one is dropped. Of equal changes, the one
 * that came first stays in front. Ranks hold neighbouring blocks of locations and are added in
 * order, so the list does not depend on the number of ranks.
 */
static void forced_list(struct forced *forced, const struct forced_interval *interval)
{
    const double ratio = interval_ratio(interval);
    uint32_t at = forced->listed;
    while (at > 0 && interval_ratio(&forced->list[at - 1]) < ratio) {
        at--;
    }
    if (at == FORCED_LISTED) {
        return;
    }
    forced->listed += forced->listed < FORCED_LISTED;
    for (uint32_t i = forced->listed - 1; i > at; i--) {
        forced->list[i] = forced->list[i - 1];
    }
    forced->list[at] = *interval;
}

/* All intervals are counted; the largest are listed. */
void ictusi_forced_keep(struct forced *forced, const struct forced_interval *interval)
{
    forced->count++;
    forced_list(forced, interval);
}

void ictusi_forced_add(struct forced *sum, const struct forced *part)
{
    sum->count += part->count;
    for (uint32_t i = 0; i < part->listed; i++) {
        forced_list(sum, &part->list[i]);
    }
}

/*
 * Each rank fills in its own part of a table, and the sum over the ranks is the whole table.
 * Collective. Whether all ranks have memory is agreed on first, because a rank without it could not
 * take part.
 */
int ictusi_forced_share(struct forced *forced, struct team *team)
{
    enum { FIELDS = sizeof(struct forced_interval) / sizeof(int64_t) };
    if (!team) {
        return ICTUS_OK;
    }
    /*
     * Each row holds the number of intervals, the number listed, and the list. Fields are copied
     * bit by bit, which is safe because in each cell only one rank is not 0.
     */
    const uint64_t row = FORCED_LISTED * FIELDS + 2;
    uint64_t *table = calloc(row * (uint64_t)team->size, sizeof *table);
    int err = team->agree(team, table ? ICTUS_OK : ICTUS_ERR_NOMEM);
    if (!err) {
        uint64_t *own = table + row * (uint64_t)team->rank;
        own[0] = forced->count;
        own[1] = forced->listed;
        memcpy(own + 2, forced->list, forced->listed * sizeof *forced->list);
        err = team->sums(team, table, row * (uint64_t)team->size);
        forced->count = 0;
        forced->listed = 0;
    }
    for (int r = 0; r < team->size && !err; r++) {
        const uint64_t *its = table + row * (uint64_t)r;
        forced->count += its[0];
        for (uint64_t i = 0; i < its[1]; i++) {
            struct forced_interval interval;
            memcpy(&interval, its + 2 + i * FIELDS, sizeof interval);
            forced_list(forced, &interval);
        }
    }
    free(table);
    return err;
}

/*
 * Each interval is reported with the error of the clock at that instant, which shows whether the
 * change exceeds the uncertainty of the clock.
 */
void ictusi_forced_json(const struct forced *forced, const struct trace *trace,
                        const struct clock_fit *fit, json_t *object)
{
    const double ns = 1e9 / (double)trace->layout.resolution;
    (void)json_object_set_new(object, "forced_intervals", json_integer((json_int_t)forced->count));
    if (forced->count == 0) {
        return;
    }
    json_t *list = json_array();
    for (uint32_t i = 0; i < forced->listed; i++) {
        const struct forced_interval *f = &forced->list[i];
        const uint32_t location = (uint32_t)f->location;
        const double error = ictusi_clock_fit_error(fit, location, f->at);
        json_t *row = json_pack("{s:I, s:I, s:f, s:f, s:f}", "location",
                                (json_int_t)trace->layout.locations[location].ref, "stamp",
                                (json_int_t)f->at, "input_ns", (double)f->was * ns, "output_ns",
                                (double)f->is * ns, "change", interval_ratio(f));
        if (error >= 0) {
            (void)json_object_set_new(row, "clock_error_ns", json_real(error * ns));
        }
        (void)json_array_append_new(list, row);
    }
    (void)json_object_set_new(object, "forced", list);
}
