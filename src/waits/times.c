/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of any interval follows from two checkpoints and less than two groups of calls. */
#include "waits/times.h"

#include "core/container.h"

#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 64 }; /* calls between checkpoints */

/*
 * A dense array by path, with a list of the paths that are in use. Clearing it costs time in
 * proportion to what was used, not to its size.
 */
int ictusi_time_map_init(struct time_map *map, uint64_t paths)
{
    *map = (struct time_map){.ticks = calloc(paths + 1, sizeof *map->ticks),
                             .listed = calloc(paths + 1, sizeof *map->listed),
                             .is_listed = calloc(paths + 1, sizeof *map->is_listed)};
    return map->ticks && map->listed && map->is_listed ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_time_map_fini(struct time_map *map)
{
    free(map->ticks);
    free(map->listed);
    free(map->is_listed);
    *map = (struct time_map){.ticks = NULL};
}

void ictusi_time_map_clear(struct time_map *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        map->ticks[map->listed[i]] = 0;
        map->is_listed[map->listed[i]] = false;
    }
    map->count = 0;
    map->waited = 0;
}

/*
 * Add ticks, which are negative when something is subtracted. The path stays listed, perhaps with
 * 0.
 */
static void map_add(struct time_map *map, uint32_t path, int64_t ticks)
{
    if (!map->is_listed[path]) {
        map->is_listed[path] = true;
        map->listed[map->count++] = path;
    }
    map->ticks[path] += ticks;
}

/* Add shares of time before calls; those of consecutive calls are contiguous. */
static void map_add_shares(const struct analysis *a, struct time_map *map, uint64_t from,
                           uint64_t to, int sign)
{
    for (uint64_t i = from; i < to; i++) {
        const struct share_of_time share = call_share(&a->calls, i);
        map_add(map, share.path, sign * share.ticks);
    }
}

/* Add the time before a call, since the preceding one. */
static void map_add_gap(const struct analysis *a, struct time_map *map, uint64_t call, int sign)
{
    map_add_shares(a, map, call_delta_begin(&a->calls, call), call_at(&a->calls, call)->delta_end,
                   sign);
}

/* Add the duration of calls without their waits. */
static void map_add_calls(const struct analysis *a, struct time_map *map, uint64_t from,
                          uint64_t to, int sign)
{
    for (uint64_t i = from; i < to; i++) {
        const struct waiting_call *c = call_at(&a->calls, i);
        const int64_t wait = analysis_wait(a, i);
        map_add(map, c->path, sign * (c->leave - c->enter - wait));
        map->waited += sign * wait;
    }
}

/*
 * Store prefix sums: the time in each call path from the beginning of the location up to this call.
 * There is one for every 64 calls, because one for each call would take more memory than the trace.
 */
static int checkpoint_keep(struct times *t)
{
    const struct time_map *map = &t->sum;
    int err = ictusi_store_grow(&t->sums, map->count, t->why);
    err = err ? err : ictusi_store_grow(&t->ends, 1, t->why);
    if (err) {
        return err;
    }
    struct share_of_time *sums = t->sums.area;
    for (uint32_t i = 0; i < map->count; i++) {
        sums[t->sums.count++] = (struct share_of_time){map->ticks[map->listed[i]], map->listed[i]};
    }
    struct checkpoint *ends = t->ends.area;
    ends[t->ends.count++] = (struct checkpoint){t->sums.count, map->waited};
    return ICTUS_OK;
}

/*
 * The calls of one location come in order. The sum continues from range to range, and at the last
 * call it is the location's total.
 */
static int times_stretch(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to)
{
    struct times *t = container_of(pass, struct times, pass);
    const struct analysis *a = t->analysis;
    const uint64_t first = a->calls.first[location];
    struct time_map *sum = &t->sum;
    int err = ICTUS_OK;
    if (from == first) {
        ictusi_time_map_clear(sum);
        t->first[location] = t->ends.count;
    }
    for (uint64_t i = from; i < to && !err; i++) {
        map_add_gap(a, sum, i, 1);
        map_add_calls(a, sum, i, i + 1, 1);
        if ((i - first) % TOGETHER == TOGETHER - 1) {
            err = checkpoint_keep(t);
        }
    }
    if (to == a->calls.first[location + 1]) {
        for (uint32_t i = 0; i < sum->count; i++) {
            map_add(&t->totals, sum->listed[i], sum->ticks[sum->listed[i]]);
        }
        t->totals.waited += sum->waited;
    }
    return err;
}

/* Takes O(calls) time. The memory is calls / 64 times the number of paths that occur. */
int ictusi_times_begin(struct times *t, const struct analysis *a, struct ictus_why *why)
{
    const uint64_t locations = a->session.trace->layout.location_count;
    const uint64_t checkpoints = a->calls.calls.count / TOGETHER + 1;
    *t = (struct times){.pass = {times_stretch}, .analysis = a, .why = why};
    t->first = calloc(locations + 1, sizeof *t->first);
    int err = t->first ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_time_map_init(&t->sum, a->paths.count);
    err = err ? err : ictusi_time_map_init(&t->totals, a->paths.count);
    err = err ? err
              : ictusi_store_init(&t->ends, sizeof(struct checkpoint), checkpoints, STORE_IN_MEMORY,
                                  why);
    return err ? err
               : ictusi_store_init(&t->sums, sizeof(struct share_of_time),
                                   checkpoints * a->paths.count, STORE_IN_MEMORY, why);
}

void ictusi_times_free(struct times *t)
{
    ictusi_store_fini(&t->sums);
    ictusi_store_fini(&t->ends);
    ictusi_time_map_fini(&t->totals);
    ictusi_time_map_fini(&t->sum);
    free(t->first);
    t->first = NULL;
}

void ictusi_times_relax(const struct times *t)
{
    ictusi_store_relax(&t->sums);
    ictusi_store_relax(&t->ends);
}

/* Add the sums of a location up to its k-th checkpoint. */
static void map_add_checkpoint(const struct times *t, struct time_map *map, uint32_t location,
                               uint64_t k, int sign)
{
    const uint64_t index = t->first[location] + k;
    const struct checkpoint *ends = t->ends.area;
    const struct share_of_time *sums = t->sums.area;
    for (uint64_t i = index ? ends[index - 1].end : 0; i < ends[index].end; i++) {
        map_add(map, sums[i].path, sign * sums[i].ticks);
    }
    map->waited += sign * ends[index].waited;
}

/* Add everything up to and including the first n calls of a location. */
static void map_add_prefix(const struct times *t, struct time_map *map, uint32_t location,
                           uint64_t n, int sign)
{
    const struct analysis *a = t->analysis;
    const uint64_t first = a->calls.first[location];
    const uint64_t whole = n / TOGETHER;
    if (whole > 0) {
        map_add_checkpoint(t, map, location, whole - 1, sign);
    }
    const uint64_t from = first + whole * TOGETHER;
    if (from < first + n) {
        map_add_shares(a, map, call_delta_begin(&a->calls, from),
                       call_at(&a->calls, first + n - 1)->delta_end, sign);
        map_add_calls(a, map, from, first + n, sign);
    }
}

void ictusi_times_between(const struct times *t, struct time_map *map, uint32_t location,
                          uint32_t from, uint64_t to)
{
    const struct analysis *a = t->analysis;
    const uint64_t first = a->calls.first[location];
    const uint64_t begin = from == CALL_NONE ? first : from;
    /*
     * The difference of two prefixes, so the cost does not depend on the length of the interval.
     * Short intervals are added up directly, which is cheaper.
     */
    map->waited -= from == CALL_NONE ? 0 : analysis_wait(a, begin);
    if (to - begin > 2UL * TOGETHER) {
        map_add_prefix(t, map, location, to - first, 1);
        map_add_prefix(t, map, location, begin - first, -1);
        if (from != CALL_NONE) {
            map_add_gap(a, map, begin, -1);
        }
        map_add_gap(a, map, to, 1);
        return;
    }
    const uint64_t since = from == CALL_NONE ? call_delta_begin(&a->calls, begin)
                                             : call_at(&a->calls, begin)->delta_end;
    map_add_shares(a, map, since, call_at(&a->calls, to)->delta_end, 1);
    map_add_calls(a, map, begin, to, 1);
}

/* Subtract as many of the ticks as were spent in a path just then; returns how many remain. */
static int64_t map_trim(struct time_map *map, uint32_t path, int64_t spent, int64_t ticks)
{
    const int64_t off = spent < ticks ? spent : ticks;
    map_add(map, path, -off);
    return ticks - off;
}

/*
 * Subtract the last ticks before a call, going backwards over shares and calls, down to the call
 * `from`.
 */
void ictusi_times_trim(const struct times *t, struct time_map *map, uint32_t location,
                       uint32_t from, uint64_t to, int64_t ticks)
{
    const struct waiting_calls *calls = &t->analysis->calls;
    for (uint64_t i = to; i != from && ticks > 0; i--) {
        for (uint64_t k = call_at(calls, i)->delta_end; k > call_delta_begin(calls, i); k--) {
            const struct share_of_time share = call_share(calls, k - 1);
            ticks = map_trim(map, share.path, share.ticks, ticks);
        }
        if (i == calls->first[location]) {
            break;
        }
        const struct waiting_call *c = call_at(calls, i - 1);
        const int64_t spent = c->leave - c->enter - analysis_wait(t->analysis, i - 1);
        ticks = map_trim(map, c->path, spent, ticks);
    }
}
