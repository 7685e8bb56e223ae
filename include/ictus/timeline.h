/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * An OTF2 archive as a picture of limited size, which `ictus report` draws. In the library
 * libictus-otf2. The object is jansson's. Its members are not yet stable.
 *
 * Threads: one call at a time in a process, because OTF2 has one error handler for each process.
 */
#ifndef ICTUS_TIMELINE_H
#define ICTUS_TIMELINE_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>
#include <stddef.h>

ICTUS_BEGIN

/**
 * Read an archive into an object of type "timeline", whose size does not grow with the number of
 * events. Local. Times are nanoseconds since the beginning that the archive names, with its clock
 * offsets applied, as OTF2's readers show them.
 *
 * Members:
 * - tracks: {name, process, location}, one for each location; other members number them from 0
 * - names: of regions; other members number them from 0
 * - slices: for each track four numbers for each call, in order: its start minus the start of the
 *   call before, its duration, its name and its depth. dropped calls are left out: the shortest,
 *   none longer than shortest_ns
 * - density (where calls are left out): for each track two numbers for each of bin_count bins of
 *   bin_ns: the name that most of the bin was spent in (-1: none) and its share in percent
 * - messages: five numbers each: sending track, time sent, receiving track, time received, bytes
 *   (-1: unknown). Of message_count messages every k-th of each sender is kept, and likewise
 *   of the backward_count messages that arrive before they were sent
 * - metrics: {track, name, unit, n, every, points}: points holds a time and a value in turn for
 *   every k-th of n values. series_count series and metric_count values are in the archive
 * - profile: {name, count, total_s, mean_s, min_s, max_s} for each name, with calls made inside
 * - events, and first_ns, the time of the first call
 * - clock: {sigma_ns, bound_ns} where the archive declares them
 * @param archive       the directory or its anchor file
 * @param slices        the largest number of calls to keep
 * @param[out] timeline released with json_decref(); set on success
 * @param[out] why      says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT,
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_timeline_read(const char *archive, size_t slices, json_t **timeline,
                                  struct ictus_why *why);

ICTUS_END

#endif
