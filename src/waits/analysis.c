/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an archive for an analysis: presynchronised calls, and what their clocks are off by. */
#include "waits/analysis.h"

#include "correct/clock_fit.h"

/* The stamps of a location on the common clock. */
static int64_t analysis_map(void *self, uint32_t location, int64_t stamp)
{
    const struct session *s = self;
    uint32_t hint = 0;
    int64_t time = s->unchanged ? stamp : clock_map_at(&s->maps[location], stamp, &hint);
    hint = 0;
    return s->units ? clock_map_at(&s->units[s->unit_of[location]], time, &hint) : time;
}

/* Times as ictus correct would take them before it moves any event by itself. */
static int analysis_presync(struct session *s)
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
        ictusi_clock_fit_fini(&clocks);
    }
    ictusi_check_fini(&stats);
    return err;
}

int ictusi_analysis_open(struct analysis *a, const char *in, struct ictus_why *why)
{
    const struct instants instants = {analysis_map, &a->session};
    int err = ictusi_session_open(&a->session, in, NULL, why);
    err = err ? err : analysis_presync(&a->session);
    err = err ? err : ictusi_paths_init(&a->paths, a->session.trace);
    err = err ? err
              : ictusi_calls_read(&a->calls, &a->paths, a->session.trace, &a->session.history,
                                  &instants);
    return err ? err : ictusi_histories_make(&a->histories, &a->session);
}

void ictusi_analysis_close(struct analysis *a)
{
    ictusi_histories_free(&a->histories);
    ictusi_calls_free(&a->calls);
    ictusi_paths_fini(&a->paths);
    ictusi_session_close(&a->session);
}
