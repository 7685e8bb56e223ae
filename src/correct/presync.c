/* SPDX-License-Identifier: BSD-3-Clause */
/* Presynchronisation from the archive's clock offsets. */
#include "correct/presync.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

/*
 * The standard deviation assumed for offsets with a recorded value of 0, which recorders write for
 * "unknown". An offset taken from the fastest of several ping-pongs is accurate to a fraction of
 * the network's latency.
 */
static const double unknown_sd_s = 250e-9;

/*
 * Standard deviations outside these limits (ticks) count as unknown, because their weights would no
 * longer be finite numbers.
 */
static const double least_sd = 1e-3;
static const double most_sd = 0x1p62;

/* A slope is used only if it is at least this many of its standard deviations. */
static const double significant = 2.0;

/*
 * A single line through (from, offset). Whole ticks are stored as an integer and only the rest as a
 * double, because times since 1970 in ns need 61 bits and a double has 53. The map owns its pieces.
 */
static int presync_one_piece(struct clock_map *map, int64_t from, double offset, double slope)
{
    map->pieces = malloc(sizeof *map->pieces);
    if (!map->pieces) {
        return ICTUS_ERR_NOMEM;
    }
    const double whole = floor(offset);
    map->pieces[0] = (struct piece){from, (int64_t)whole, offset - whole, slope};
    map->count = 1;
    return ICTUS_OK;
}

/*
 * Each piece goes through its two knots. The first and last pieces extend beyond them, since stamps
 * also lie outside the knots. Times must increase, because otherwise a slope would be a division by
 * 0.
 */
int ictusi_clock_map_knots(struct clock_map *map, const int64_t *times, const double *offsets,
                           uint32_t count)
{
    if (count < 2) {
        return presync_one_piece(map, count ? times[0] : 0, count ? offsets[0] : 0, 0);
    }
    map->pieces = malloc((count - 1UL) * sizeof *map->pieces);
    if (!map->pieces) {
        return ICTUS_ERR_NOMEM;
    }
    map->count = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
        const double whole = floor(offsets[i]);
        map->pieces[map->count++] =
            (struct piece){times[i], (int64_t)whole, offsets[i] - whole,
                           (offsets[i + 1] - offsets[i]) / (double)(times[i + 1] - times[i])};
    }
    return ICTUS_OK;
}

/*
 * Like OTF2's own readers: linear between records, and extended beyond the first and last. A record
 * that is not later than its predecessor is left out, because no line goes through two offsets at
 * one instant.
 */
static int presync_as_archive(struct clock_map *map, const struct layout_location *location)
{
    int64_t *times = malloc((location->offset_count + 1UL) * sizeof *times);
    double *offsets = malloc((location->offset_count + 1UL) * sizeof *offsets);
    uint32_t n = 0;
    if (!times || !offsets) {
        free(times);
        free(offsets);
        return ICTUS_ERR_NOMEM;
    }
    /* Relative to the first offset, so that a large offset loses no digits in a double. */
    const int64_t base = location->offsets[0].offset;
    for (uint32_t i = 0; i < location->offset_count; i++) {
        const int64_t time = (int64_t)location->offsets[i].time;
        if (n == 0 || time > times[n - 1]) {
            times[n] = time;
            offsets[n++] = (double)(location->offsets[i].offset - base);
        }
    }
    const int err = ictusi_clock_map_knots(map, times, offsets, n);
    for (uint32_t i = 0; !err && i < map->count; i++) {
        map->pieces[i].offset += base;
    }
    free(times);
    free(offsets);
    return err;
}

/* The standard deviation of an offset, in ticks. */
static double offset_sd(const struct clock_offset *o, double resolution)
{
    const bool known = o->sd >= least_sd && o->sd <= most_sd;
    return known ? o->sd : unknown_sd_s * resolution;
}

/* The weighted sums for the normal equations of a line: w, w t, w o, w t t, w t o. */
struct line_fit {
    double sw, st, so, stt, sto;
};

/*
 * Weighted least squares. The slope is used only if it is significant. spread is the sum of w (t -
 * mean t)^2, so the standard deviation of the slope is 1 / sqrt(spread). The piece begins at the
 * mean time, where an error of the slope has no effect. Times and offsets are relative to the first
 * record: the squares of nanoseconds since 1970 would leave no digits of a double for the distances
 * between records.
 */
static int presync_as_line(struct clock_map *map, const struct layout_location *location,
                           double resolution, bool sloped)
{
    const int64_t base = location->offsets[0].offset;
    const int64_t origin = (int64_t)location->offsets[0].time;
    struct line_fit f = {0, 0, 0, 0, 0};
    for (uint32_t i = 0; i < location->offset_count; i++) {
        const struct clock_offset *o = &location->offsets[i];
        const double sd = offset_sd(o, resolution);
        const double w = 1 / (sd * sd);
        const double t = (double)((int64_t)o->time - origin);
        const double y = (double)(o->offset - base);
        f.sw += w;
        f.st += w * t;
        f.so += w * y;
        f.stt += w * t * t;
        f.sto += w * t * y;
    }
    const double mean_t = f.st / f.sw;
    const double mean_o = f.so / f.sw;
    const double spread = f.stt - f.sw * mean_t * mean_t;
    double slope = 0;
    if (sloped && spread > 0) {
        slope = (f.sto - f.sw * mean_t * mean_o) / spread;
        slope = fabs(slope) > significant / sqrt(spread) ? slope : 0;
    }
    const int err = presync_one_piece(map, origin + (int64_t)mean_t, mean_o, slope);
    if (!err) {
        map->pieces[0].offset += base;
    }
    return err;
}

/*
 * How far the offsets are from their line, relative to their stated errors: the reduced chi square,
 * which is the sum of squares in standard deviations over the n - 2 degrees of freedom.
 */
static double line_misfit(const struct clock_map *line, const struct layout_location *location,
                          double resolution)
{
    double sum = 0;
    uint32_t hint = 0;
    for (uint32_t i = 0; i < location->offset_count; i++) {
        const struct clock_offset *o = &location->offsets[i];
        const int64_t time = (int64_t)o->time;
        const int64_t rest = clock_map_at(line, time, &hint) - time - o->offset;
        const double r = (double)rest / offset_sd(o, resolution);
        sum += r * r;
    }
    /*
     * A line through two offsets leaves no residual except through a slope that is not significant.
     */
    return location->offset_count > 2 ? sum / (location->offset_count - 2) : 0;
}

/*
 * The most likely map between an archive's offsets: the line through two offsets that span the run;
 * a chain of pieces, if there are more offsets and they do not fit a line; or else the
 * least-squares line. Offsets span the run if they cover at least half of it, so that a line
 * through them is extended by no more than its own length.
 */
static int presync_as_likely(struct clock_map *map, const struct layout_location *location,
                             const struct layout *layout)
{
    /* The limit for the reduced chi square, which is about 1 if the stated errors are right. */
    const double bent = 3;
    const uint32_t n = location->offset_count;
    const uint64_t span = location->offsets[n - 1].time - location->offsets[0].time;
    const double resolution = (double)layout->resolution;
    const bool spans = n > 1 && location->offsets[n - 1].time > location->offsets[0].time &&
                       span >= layout->length / 2;
    /* A recorder that states no errors expects the line between its two offsets. */
    if (spans && n == 2 && !(location->offsets[0].sd > 0)) {
        return presync_as_archive(map, location);
    }
    int err = presync_as_line(map, location, resolution, true);
    if (!err && spans && line_misfit(map, location, resolution) > bent) {
        free(map->pieces);
        err = presync_as_archive(map, location);
    }
    return err;
}

/*
 * Make the maps. A location without offsets keeps its stamps, since nothing is known about its
 * clock. What the messages show in addition is fitted on top of these maps (clock_fit.h). Maps that
 * have not been made yet have no pieces, so all of them can be freed at any point.
 */
int ictusi_presync_make(const struct layout *layout, enum presync mode, struct clock_map **maps)
{
    struct clock_map *made = calloc(layout->location_count + 1, sizeof *made);
    int err = made ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < layout->location_count && !err; i++) {
        const struct layout_location *location = &layout->locations[i];
        if (location->offset_count == 0 || mode == PRESYNC_NONE) {
            err = presync_one_piece(&made[i], 0, 0, 0);
        } else if (mode == PRESYNC_AUTO) {
            err = presync_as_likely(&made[i], location, layout);
        } else if (mode == PRESYNC_ARCHIVE) {
            err = presync_as_archive(&made[i], location);
        } else {
            err = presync_as_line(&made[i], location, (double)layout->resolution,
                                  mode != PRESYNC_OFFSET);
        }
    }
    if (err) {
        ictusi_presync_free(made, layout->location_count);
        return err;
    }
    *maps = made;
    return ICTUS_OK;
}

void ictusi_presync_free(struct clock_map *maps, uint64_t count)
{
    for (uint64_t i = 0; maps && i < count; i++) {
        free(maps[i].pieces);
    }
    free(maps);
}

bool ictusi_presync_is_identity(const struct clock_map *maps, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < maps[i].count; k++) {
            const struct piece *piece = &maps[i].pieces[k];
            if (piece->offset != 0 || piece->frac != 0 || piece->slope != 0) {
                return false;
            }
        }
    }
    return true;
}

double ictusi_clock_maps_bend(const struct clock_map *maps, uint64_t count)
{
    double largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < maps[i].count; k++) {
            largest = fmax(largest, fabs(maps[i].pieces[k].slope));
        }
    }
    return largest;
}

/*
 * Raise all maps alike. The happened-before relation depends on time differences only, and these do
 * not change.
 */
void ictusi_clock_maps_raise(struct clock_map *maps, uint64_t count, int64_t ticks)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < maps[i].count; k++) {
            maps[i].pieces[k].offset += ticks;
        }
    }
}
