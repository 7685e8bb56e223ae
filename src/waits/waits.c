/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus_waits(): find out who waits for whom, and add up the waits. */
#include "waits/waits.h"

#include "causality/crew.h"

#include <ictus/text.h>
#include <ictus/waits.h>
#include <stdlib.h>

/* The search for partners also reports time that is not waiting; this adds it to the rows. */
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
    const int err = ictusi_partners_find(&a->partners, a, why);
    return err ? err : asides.err;
}

/* The total of calls, the time between them, and waits. */
static double waits_rank_time(const struct times *times)
{
    const struct time_map *totals = &times->totals;
    double sum = (double)totals->waited;
    for (uint32_t i = 0; i < totals->count; i++) {
        sum += (double)totals->ticks[totals->listed[i]];
    }
    return sum;
}

/* One analysis and all its results. */
struct run {
    struct analysis analysis;
    struct wait_rows rows;
    struct times times;
    struct syncs syncs;
    struct blame blame;
    struct critical critical;
    struct wait_instances instances;
};

/* Parts of an analysis that use nothing of each other, for several threads. */
enum walk_part { WALK_SUMS, WALK_OTHERS, WALK_SITES, WALK_MEETINGS, WALK_PARTS };
enum follow_part { FOLLOW_BLAME, FOLLOW_CRITICAL, FOLLOW_PARTS };
enum { PARTS_MOST = WALK_PARTS };

struct parts {
    struct run *run;
    int err[PARTS_MOST];
    struct ictus_why why[PARTS_MOST];
};

/*
 * Everything that depends only on each call and its partner, the longest part first. The sums of
 * waits take as long as all the rest.
 */
static void waits_walk_part(void *self, uint32_t part)
{
    struct parts *p = self;
    struct run *r = p->run;
    const struct analysis *a = &r->analysis;
    struct call_pass *const sums[] = {&r->rows.pass};
    struct call_pass *const others[] = {&r->times.pass, &r->syncs.pass, &r->instances.pass};
    int *err = &p->err[part];
    switch ((enum walk_part)part) {
    case WALK_SUMS:
        *err = ictusi_analysis_walk(a, sums, sizeof sums / sizeof *sums);
        *err = *err ? *err : ictusi_rows_end(&r->rows);
        break;
    case WALK_OTHERS:
        *err = ictusi_analysis_walk(a, others, sizeof others / sizeof *others);
        break;
    case WALK_SITES:
        ictusi_rows_sites(&r->rows);
        break;
    default:
        *err = ictusi_syncs_meet(&r->syncs, &p->why[part]);
        break;
    }
}

/* The causes and the critical path. */
static void waits_follow_part(void *self, uint32_t part)
{
    struct parts *p = self;
    struct run *r = p->run;
    p->err[part] = part == FOLLOW_BLAME
                       ? ictusi_blame_find(&r->blame, &r->times, &r->syncs, &p->why[part])
                       : ictusi_critical_find(&r->critical, &r->times, &p->why[part]);
}

/* Run all parts. The first error counts. */
static int waits_run_parts(struct run *r, uint32_t count, void (*part)(void *self, uint32_t part),
                           struct ictus_why *why)
{
    struct parts p = {.run = r};
    uint32_t bad = 0;
    ictusi_crew_run(r->analysis.session.threads, count, part, &p);
    while (bad + 1 < count && !p.err[bad]) {
        bad++;
    }
    if (p.err[bad] && why && *p.why[bad].text) {
        *why = p.why[bad];
    }
    return p.err[bad];
}

static int waits_walk(struct run *r, struct ictus_why *why)
{
    const struct analysis *a = &r->analysis;
    ictusi_rows_begin(&r->rows, a);
    ictusi_instances_begin(&r->instances, a);
    int err = ictusi_times_begin(&r->times, a, why);
    err = err ? err : ictusi_syncs_begin(&r->syncs, a, why);
    err = err ? err : waits_run_parts(r, WALK_PARTS, waits_walk_part, why);
    ictusi_instances_end(&r->instances);
    if (!err) {
        ictusi_syncs_end(&r->syncs);
    }
    return err ? err : ictusi_rows_sites_end(&r->rows);
}

/*
 * The order matters: partners need all calls, and blame and the critical path need the partners and
 * the times between calls.
 */
static int waits_run(struct run *r, const char *in, struct ictus_why *why)
{
    struct analysis *a = &r->analysis;
    int err = ictusi_analysis_open(a, in, why);
    err = err ? err : waits_find(a, &r->rows, why);
    err = err ? err : waits_walk(r, why);
    return err ? err : waits_run_parts(r, FOLLOW_PARTS, waits_follow_part, why);
}

/* Release what takes most memory. Later each store is closed by its owner. */
static void waits_drop(struct analysis *a)
{
    struct waiting_calls *c = &a->calls;
    struct store *const stores[] = {&c->calls,   &a->partners.list, &c->shares,
                                    &c->call_of, &c->other,         &c->meetings};
    ictusi_stores_drop(stores, sizeof stores / sizeof *stores, a->session.threads);
}

/* Also called after an error: parts that were not made are zero, and freeing them does nothing. */
static void waits_end(struct run *r)
{
    ictusi_critical_free(&r->critical);
    ictusi_blame_free(&r->blame);
    ictusi_syncs_free(&r->syncs);
    ictusi_times_free(&r->times);
    ictusi_rows_free(&r->rows);
    waits_drop(&r->analysis);
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
                                             .rank_ticks = waits_rank_time(&r->times)};
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
