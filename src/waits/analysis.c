/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an archive for an analysis: presynchronised calls, and the errors of their clocks. */
#include "waits/analysis.h"

#include "correct/clock_fit.h"
#include "waits/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Map a location's stamp to the common clock. */
static int64_t analysis_map(void *self, uint32_t location, int64_t stamp, struct map_hints *hints)
{
    const struct analysis *a = self;
    const struct session *s = &a->session;
    int64_t time = s->unchanged ? stamp : clock_map_at(&s->maps[location], stamp, &hints->local);
    time = s->units ? clock_map_at(&s->units[s->unit_of[location]], time, &hints->unit) : time;
    return time - ictusi_histories_off(&a->histories, location, time, &hints->off);
}

/*
 * Whether clocks walk so much that lines would be wrong by a tick. The frequency of a clock that
 * walks with strength q changes by q sqrt(t); in the middle of a run of length t, the clock is then
 * q t^1.5 / sqrt(48) off the line through both ends. A model of walking clocks may have won
 * although this is nothing, because it predicted some late message better.
 */
static bool analysis_walks(const struct session *s, const struct clock_fit *fit)
{
    const struct clock_model *m = &fit->model;
    const struct model_walk *walk = &fit->choice.walk;
    double factor = 1;
    if (fit->choice.kind != CLOCKS_WALK || m->knots <= 2) {
        return false;
    }
    for (uint32_t c = 0; c < m->clocks && walk->apart; c++) {
        factor = fmax(factor, walk->factor[c]);
    }
    const double length = (double)(fit->to - fit->from) / (double)s->trace->layout.resolution;
    const double bend = factor * walk->strength * pow(length, 1.5) / sqrt(48);
    return bend * (double)s->trace->layout.resolution > 1;
}

/*
 * Presynchronise the times as ictus correct would before it moves any single event. Stores the
 * number of knots that were fitted to the clocks, or 0 if they were left as they are.
 */
static int analysis_presync(struct session *s, uint32_t *fitted)
{
    struct check_stats stats;
    struct clock_fit clocks = {.tried = false};
    int err = ictusi_session_presync(s, PRESYNC_AUTO);
    err = err ? err : ictusi_session_check(s, s->history.points.time, &stats);
    if (err) {
        return err;
    }
    if (ictusi_check_all_violations(&stats) > 0 || !s->unchanged) {
        err = ictusi_clock_fit_run(&clocks, s, &stats);
        const bool kept = clocks.tried && clocks.choice.kind != CLOCKS_BASE;
        const bool walks = kept && analysis_walks(s, &clocks);
        *fitted = walks ? clocks.model.knots : kept ? 2 : 0;
        ictusi_clock_fit_fini(&clocks);
    }
    if (!s->units) {
        ictusi_session_part_units(s);
    }
    ictusi_check_fini(&stats);
    return err;
}

/* Read the archive's events and the calls that they lie in. */
static int analysis_read(struct analysis *a, const char *in, struct ictus_why *why)
{
    struct session *s = &a->session;
    struct follower follower;
    int err = ictusi_session_open(s, in, NULL, why);
    if (err) {
        return err;
    }
    ictusi_follow_init(&follower, &a->calls, &a->paths, s->trace);
    err = ictusi_paths_init(&a->paths, s->trace);
    err = err ? err : ictusi_waiting_calls_init(&a->calls, &s->trace->layout, why);
    err = err ? err : ictusi_session_read(s, &follower.tap);
    ictusi_follow_fini(&follower);
    return err;
}

/*
 * The order matters. Points get their times before the histories are made, and calls are mapped
 * afterwards: the histories may find remaining errors of the clocks, which analysis_map() subtracts
 * from the calls.
 */
int ictusi_analysis_open(struct analysis *a, const char *in, struct ictus_why *why)
{
    uint32_t fitted = 0;
    int err = analysis_read(a, in, why);
    err = err ? err : analysis_presync(&a->session, &fitted);
    err = err ? err : ictusi_histories_make(&a->histories, &a->session, fitted);
    if (!err) {
        ictusi_waiting_calls_map(&a->calls, (uint32_t)a->session.trace->layout.location_count,
                                 a->session.threads, analysis_map, a);
    }
    return err;
}

/*
 * The two ends of a message lie far apart in memory, one in each location, but close in time. So
 * all locations advance together by intervals of time with about 8192 points in total. Both ends
 * are then in the cache, and the files behind the lists are read in few places at a time.
 */
int ictusi_analysis_visit(const struct analysis *a, struct location_block block,
                          void (*visit)(void *self, uint32_t point), void *self)
{
    enum { TOGETHER = 1 << 13 }; /* points whose calls fit into a core's cache */
    const struct history *history = &a->session.history;
    const uint64_t locations = a->session.trace->layout.location_count;
    const int64_t *time = history->points.time;
    const uint64_t stretches = history->points.count / TOGETHER + 1;
    const double length = (double)(a->session.to - a->session.from) / (double)stretches;
    uint64_t *next = calloc(locations + 1, sizeof *next);
    uint64_t passed = 0;
    if (!next) {
        return ICTUS_ERR_NOMEM;
    }
    memcpy(next, history->first, locations * sizeof *next);
    for (uint64_t i = 1; i <= stretches; i++) {
        const int64_t until =
            i == stretches ? INT64_MAX : a->session.from + (int64_t)(length * (double)i);
        for (uint64_t l = block.from; l < block.to; l++) {
            const uint64_t before = next[l];
            while (next[l] < history->first[l + 1] && time[next[l]] <= until) {
                visit(self, (uint32_t)next[l]++);
            }
            analysis_pass(a, &passed, next[l] - before);
        }
    }
    free(next);
    return ICTUS_OK;
}

uint32_t ictusi_analysis_divide(const struct analysis *a, struct location_block blocks[BLOCKS_MOST])
{
    const int threads = a->session.threads;
    const uint32_t most =
        threads < BLOCKS_MOST ? (uint32_t)(threads > 1 ? threads : 1) : BLOCKS_MOST;
    const uint32_t locations = (uint32_t)a->session.trace->layout.location_count;
    const uint64_t *first = a->session.history.first;
    uint32_t count = 0;
    for (uint32_t l = 0, from = 0; l < locations && count + 1 < most; l++) {
        if (first[l + 1] * most >= first[locations] * (count + 1)) {
            blocks[count++] = (struct location_block){from, l + 1};
            from = l + 1;
        }
    }
    const uint32_t from = count > 0 ? blocks[count - 1].to : 0;
    if (from < locations || count == 0) {
        blocks[count++] = (struct location_block){from, locations};
    }
    return count;
}

int ictusi_analysis_walk(const struct analysis *a, struct call_pass *const *passes, size_t count)
{
    enum { TOGETHER = 1 << 12 }; /* calls: 260 KiB together with their partners */
    const uint64_t locations = a->session.trace->layout.location_count;
    uint64_t passed = 0;
    int err = ICTUS_OK;
    for (uint32_t l = 0; l < locations; l++) {
        const uint64_t end = a->calls.first[l + 1];
        for (uint64_t from = a->calls.first[l], to = 0; from < end && !err; from = to) {
            to = end - from > TOGETHER ? from + TOGETHER : end;
            for (size_t i = 0; i < count && !err; i++) {
                err = passes[i]->stretch(passes[i], l, from, to);
            }
            analysis_pass(a, &passed, to - from);
        }
    }
    return err;
}

void ictusi_analysis_relax(const struct analysis *a)
{
    ictusi_points_relax(&a->session.history.points);
    ictusi_waiting_calls_relax(&a->calls);
    ictusi_store_relax(&a->partners.list);
    ictusi_store_relax(&a->partners.wrong_order);
}

void ictusi_analysis_close(struct analysis *a)
{
    ictusi_histories_free(&a->histories);
    ictusi_waiting_calls_free(&a->calls);
    ictusi_paths_fini(&a->paths);
    ictusi_session_close(&a->session);
}
