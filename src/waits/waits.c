/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus_waits(): find who waits for whom, add up. */
#include "waits/waits.h"

#include <ictus/text.h>
#include <ictus/waits.h>
#include <stdlib.h>

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
    a->partners.aside = waits_aside;
    a->partners.self = &asides;
    int err = ictusi_partners_find(&a->partners, a, why);
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

/* One analysis and what was made of it. */
struct run {
    struct analysis analysis;
    struct wait_rows rows;
    struct times times;
    struct syncs syncs;
    struct blame blame;
    struct critical critical;
    struct wait_instances instances;
};

static int waits_run(struct run *r, const char *in, struct ictus_why *why)
{
    struct analysis *a = &r->analysis;
    int err = ictusi_analysis_open(a, in, why);
    err = err ? err : waits_find(a, &r->rows, why);
    err = err ? err : ictusi_rows_sites(&r->rows, a);
    err = err ? err : ictusi_times_make(&r->times, a, why);
    err = err ? err : ictusi_syncs_make(&r->syncs, a);
    err = err ? err : ictusi_blame_find(&r->blame, &r->times, &r->syncs);
    err = err ? err : ictusi_critical_find(&r->critical, &r->times, why);
    if (!err) {
        ictusi_instances_find(&r->instances, a);
    }
    return err;
}

static void waits_end(struct run *r)
{
    ictusi_critical_free(&r->critical);
    ictusi_blame_free(&r->blame);
    ictusi_syncs_free(&r->syncs);
    ictusi_times_free(&r->times);
    ictusi_rows_free(&r->rows);
    ictusi_partners_free(&r->analysis.partners);
    ictusi_analysis_close(&r->analysis);
    free(r);
}

int ictus_waits(const char *in, json_t **report, struct ictus_why *why)
{
    if (!in || !report) {
        return ICTUS_ERR_ARG;
    }
    struct run *r = calloc(1, sizeof *r);
    json_t *list = json_array();
    int err = r && list ? waits_run(r, in, why) : ICTUS_ERR_NOMEM;
    if (!err) {
        const struct wait_results results = {.analysis = &r->analysis,
                                             .rows = &r->rows,
                                             .times = &r->times,
                                             .blame = &r->blame,
                                             .critical = &r->critical,
                                             .instances = &r->instances,
                                             .rank_ticks = waits_rank_time(&r->analysis)};
        err = ictusi_waits_json(&results, list);
        err = err ? err : ictusi_causes_json(&results, list);
    }
    if (r) {
        waits_end(r);
    }
    if (err) {
        json_decref(list);
        return err;
    }
    *report = list;
    return ICTUS_OK;
}
