/* SPDX-License-Identifier: BSD-3-Clause */
/* Presynchronisation from the archive's clock offsets. */
#include "correct/presync.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

/*
 * Recorders write a standard deviation of 0 and mean "unknown". Offsets measured by the fastest of
 * some ping-pongs are good to a fraction of the network's latency.
 */
static const double unknown_sd_s = 250e-9;

/* Standard deviations beyond these, in ticks, are none; their weights still are numbers. */
static const double least_sd = 1e-3;
static const double most_sd = 0x1p62;

/* A slope is believed from this many of its standard deviations on. */
static const double significant = 2.0;

/*
 * A single line through (from, offset). Whole ticks are kept as an integer and only the rest as a
 * double: times since 1970 in ns need 61 bits, a double has 53. The map owns its pieces.
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
 * Each piece goes through both of its knots. The last one goes on beyond its end and the first one
 * before its beginning, since stamps lie outside of the knots, too. Times have to rise, or a slope
 * would be a division by 0.
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
 * As OTF2's own readers do: straight between records, and on beyond the first and last. A record
 * that is not later than the one before is left out, because a line cannot go through two offsets
 * at one instant.
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
    /* Relative to the first, so that no digit of a large offset is lost in a double. */
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

/* Standard deviation of an offset, in ticks. */
static double offset_sd(const struct clock_offset *o, double resolution)
{
    const bool known = o->sd >= least_sd && o->sd <= most_sd;
    return known ? o->sd : unknown_sd_s * resolution;
}

/* Weighted sums for the normal equations of a line: w, w t, w o, w t t, w t o. */
struct line_fit {
    double sw, st, so, stt, sto;
};

/*
 * Weighted least squares; the slope only where it stands out of its own uncertainty. spread is sum
 * of w (t - mean t)^2, so the slope's standard deviation is 1 / sqrt(spread). The piece begins at
 * the mean time, where an error of the slope moves nothing. Times and offsets count from the first
 * record: squares of nanoseconds since 1970 would leave no digit of a double for how far the
 * records lie apart.
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
 * How far the offsets are from their line, as a multiple of what their errors explain: the sum of
 * squares in standard deviations over the degrees of freedom, n - 2 (reduced chi square).
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
    /* Two offsets cannot miss a line by anything but a slope that they do not prove. */
    return location->offset_count > 2 ? sum / (location->offset_count - 2) : 0;
}

/*
 * What is most likely true between an archive's offsets: the line through two that span the run,
 * pieces where more of them are not on a line, else the line that is nearest to them. Offsets span
 * the run where they cover half of it: a line through them is then extended by no more than its own
 * length.
 */
static int presync_as_likely(struct clock_map *map, const struct layout_location *location,
                             const struct layout *layout)
{
    /* Of a reduced chi square, which is about 1 where the offsets err as much as they say. */
    const double bent = 3;
    const uint32_t n = location->offset_count;
    const uint64_t span = location->offsets[n - 1].time - location->offsets[0].time;
    const double resolution = (double)layout->resolution;
    const bool spans = n > 1 && location->offsets[n - 1].time > location->offsets[0].time &&
                       span >= layout->length / 2;
    /* Who gives no errors means the line between the two. */
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
 * A location without offsets keeps its stamps: nothing is known of its clock. What messages tell
 * beyond the offsets is fitted on top of these maps (clock_fit.h). Maps that are not made yet have
 * no pieces, so that all may be freed at any point.
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
 * All maps alike: what happened before what depends on differences of times alone, and these stay.
 */
void ictusi_clock_maps_raise(struct clock_map *maps, uint64_t count, int64_t ticks)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < maps[i].count; k++) {
            maps[i].pieces[k].offset += ticks;
        }
    }
}
