/* SPDX-License-Identifier: BSD-3-Clause */
/* An analysis of four locations, made by hand. */
#ifndef ICTUS_TESTS_WAIT_SCENE_H
#define ICTUS_TESTS_WAIT_SCENE_H

#include "../check.h"

#include "waits/instances.h"
#include "waits/sums.h"
#include "waits/times.h"

#include <stdlib.h>

enum {
    LOCATIONS = 4,
    CALLS = 5000,
    PATHS = 9,
    ALL = LOCATIONS * CALLS,
    SHARES_MOST = 5,
    ALL_SHARES = ALL * SHARES_MOST
};

/*
 * Locations with a clock each, calls with known time by call path in between, and their partners.
 */
struct scene {
    struct trace trace;
    struct layout_location locations[LOCATIONS];
    struct analysis a;
    uint32_t clock_of[LOCATIONS];
    struct clock_errors clocks[LOCATIONS];
    uint64_t first[LOCATIONS + 1];
    int64_t begin[LOCATIONS];
};

static inline void scene_open(struct scene *s)
{
    *s = (struct scene){.trace = {.layout = {.resolution = 1000000000,
                                             .location_count = LOCATIONS,
                                             .locations = s->locations}}};
    struct waiting_calls *c = &s->a.calls;
    s->a.session.trace = &s->trace;
    s->a.paths.count = PATHS;
    REQUIRE(!ictusi_store_init(&c->calls, sizeof(struct waiting_call), ALL, STORE_IN_MEMORY, NULL));
    REQUIRE(!ictusi_store_init(&c->shares, sizeof(uint64_t), ALL_SHARES, STORE_IN_MEMORY, NULL));
    REQUIRE(!ictusi_store_init(&s->a.partners.list, sizeof(struct partner), ALL, STORE_IN_MEMORY,
                               NULL));
    REQUIRE(!ictusi_store_grow(&c->calls, ALL, NULL));
    REQUIRE(!ictusi_store_grow(&c->shares, ALL_SHARES, NULL));
    REQUIRE(!ictusi_store_grow(&s->a.partners.list, ALL, NULL));
    REQUIRE(!ictusi_store_init(&s->a.partners.wrong_order, sizeof(bool), ALL, ALL, NULL));
    REQUIRE(!ictusi_store_grow(&s->a.partners.wrong_order, ALL, NULL));
    c->first = s->first;
    c->begin = s->begin;
    s->a.histories = (struct histories){.clock_of = s->clock_of,
                                        .clock_count = LOCATIONS,
                                        .clocks = s->clocks,
                                        .source = SIGMA_ONE_CLOCK};
}

static inline void scene_close(struct scene *s)
{
    ictusi_store_fini(&s->a.calls.calls);
    ictusi_store_fini(&s->a.calls.shares);
    ictusi_store_fini(&s->a.partners.list);
    ictusi_store_fini(&s->a.partners.wrong_order);
    for (int l = 0; l < LOCATIONS; l++) {
        free(s->clocks[l].times);
        free(s->clocks[l].sigma);
        free(s->clocks[l].off);
        free(s->clocks[l].history);
    }
}

static inline void scene_share(struct scene *s, uint32_t path, int64_t ticks)
{
    struct waiting_calls *c = &s->a.calls;
    c->shares.count += call_put_share(c, c->shares.count, (struct share_of_time){ticks, path});
}

static inline uint32_t scene_call(struct scene *s, uint32_t location, int64_t enter, int64_t leave,
                                  uint32_t path)
{
    struct waiting_calls *c = &s->a.calls;
    const uint32_t call = (uint32_t)c->calls.count++;
    *call_at(c, call) = (struct waiting_call){.enter = enter,
                                              .leave = leave,
                                              .path = path,
                                              .location = location,
                                              .delta_end = (uint32_t)c->shares.count};
    *partner_at(&s->a.partners, call) = (struct partner){.state = WAIT_NONE};
    s->a.partners.list.count = c->calls.count;
    return call;
}

/* Make a call wait for another one, as partners.c would. */
static inline void scene_wait(struct scene *s, uint32_t call, uint32_t cause, enum wait_state state)
{
    const struct waiting_call *c = call_at(&s->a.calls, call);
    const struct waiting_call *k = call_at(&s->a.calls, cause);
    struct partner *p = partner_at(&s->a.partners, call);
    const int64_t most = c->leave - c->enter;
    p->call = cause;
    p->location = k->location;
    p->node = NODE_NONE;
    p->late = k->enter - c->enter;
    p->until = (uint8_t)(p->late <= 0 || most == 0 ? WAIT_NOT
                         : p->late < most          ? WAIT_UNTIL_CAUSE
                                                   : WAIT_UNTIL_LEAVE);
    p->state = (uint8_t)state;
}

/* Let it wait for so long, whenever the cause came. */
static inline void scene_wait_for(struct scene *s, uint32_t call, int64_t ticks)
{
    struct partner *p = partner_at(&s->a.partners, call);
    p->late = ticks;
    p->until = WAIT_UNTIL_CAUSE;
}

/* What a clock shows too much in each history: one value for all times. */
static inline void scene_errs(struct scene *s, uint32_t location, double sigma,
                              double (*error)(int history))
{
    struct clock_errors *c = &s->clocks[location];
    s->clock_of[location] = location;
    REQUIRE(!ictusi_clock_errors_init(c, 1));
    c->sigma[0] = sigma;
    for (int k = 0; k < HISTORIES; k++) {
        c->history[k] = error ? error(k) : 0;
        s->a.histories.reach = fmax(s->a.histories.reach, fabs(c->history[k]));
    }
    s->a.histories.source = SIGMA_ARCHIVE;
}

static inline void scene_walk(const struct scene *s, struct call_pass *pass)
{
    REQUIRE(!ictusi_analysis_walk(&s->a, &pass, 1));
}

static inline void scene_times(const struct scene *s, struct times *times)
{
    REQUIRE(!ictusi_times_begin(times, &s->a, NULL));
    scene_walk(s, &times->pass);
}

static inline void scene_rows(const struct scene *s, struct wait_rows *rows)
{
    ictusi_rows_begin(rows, &s->a);
    scene_walk(s, &rows->pass);
    REQUIRE(!ictusi_rows_end(rows));
}

#endif
