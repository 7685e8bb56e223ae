/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus_waits(): read, presynchronise, find who waits for whom, add up. */
#include "waits/waits.h"

#include "correct/clock_fit.h"

#include <ictus/text.h>
#include <ictus/waits.h>
#include <stdlib.h>

/* The stamps of a location on the common clock. */
static int64_t waits_map(void *self, uint32_t location, int64_t stamp)
{
    const struct session *s = self;
    uint32_t hint = 0;
    int64_t time = s->unchanged ? stamp : clock_map_at(&s->maps[location], stamp, &hint);
    hint = 0;
    return s->units ? clock_map_at(&s->units[s->unit_of[location]], time, &hint) : time;
}

/* Times as ictus correct would take them before it moves any event by itself. */
static int waits_presync(struct session *s, bool *clean)
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
    *clean = ictusi_check_all_violations(&stats) == 0;
    ictusi_check_fini(&stats);
    return err;
}

struct asides {
    struct analysis *analysis;
    struct wait_rows *rows;
    int err;
};

static void waits_aside(void *self, enum wait_state state, uint32_t call, int64_t ticks)
{
    struct asides *asides = self;
    const int err =
        ictusi_rows_aside(asides->rows, state, call_at(&asides->analysis->calls, call)->path,
                          analysis_location(asides->analysis, call), ticks);
    asides->err = asides->err ? asides->err : err;
}

static int waits_find(struct analysis *a, struct wait_rows *rows, struct ictus_why *why)
{
    struct asides asides = {.analysis = a, .rows = rows};
    const struct instants instants = {waits_map, &a->session};
    int err = ictusi_paths_init(&a->paths, a->session.trace);
    err = err ? err
              : ictusi_calls_read(&a->calls, &a->paths, a->session.trace, &a->session.history,
                                  &instants);
    err = err ? err : ictusi_histories_make(&a->histories, &a->session);
    a->partners.aside = waits_aside;
    a->partners.self = &asides;
    err = err ? err : ictusi_partners_find(&a->partners, a, why);
    err = err ? err : asides.err;
    return err ? err : ictusi_rows_add_up(rows, a);
}

static double waits_rank_time(const struct analysis *a)
{
    double sum = 0;
    for (uint64_t l = 0; l < a->session.trace->layout.location_count; l++) {
        for (uint64_t i = a->calls.first[l]; i < a->calls.first[l + 1]; i++) {
            sum += (double)(call_at(&a->calls, i)->leave - call_at(&a->calls, i)->enter);
        }
    }
    const struct share_of_time *shares = a->calls.shares.area;
    for (uint64_t i = 0; i < a->calls.shares.count; i++) {
        sum += (double)shares[i].ticks;
    }
    return sum;
}

int ictus_waits(const char *in, json_t **report, struct ictus_why *why)
{
    struct analysis *a = calloc(1, sizeof *a);
    struct wait_rows rows = {.list = NULL};
    bool clean = false;
    if (!a || !in || !report) {
        free(a);
        return a ? ICTUS_ERR_ARG : ICTUS_ERR_NOMEM;
    }
    int err = ictusi_session_open(&a->session, in, NULL, why);
    err = err ? err : waits_presync(&a->session, &clean);
    err = err ? err : waits_find(a, &rows, why);
    json_t *list = err ? NULL : json_array();
    if (list) {
        const struct wait_results results = {a, &rows, waits_rank_time(a)};
        err = ictusi_waits_json(&results, list);
    } else if (!err) {
        err = ICTUS_ERR_NOMEM;
    }
    ictusi_rows_free(&rows);
    ictusi_partners_free(&a->partners);
    ictusi_histories_free(&a->histories);
    ictusi_calls_free(&a->calls);
    ictusi_paths_fini(&a->paths);
    ictusi_session_close(&a->session);
    free(a);
    if (err) {
        json_decref(list);
        return err;
    }
    *report = list;
    return ICTUS_OK;
}
