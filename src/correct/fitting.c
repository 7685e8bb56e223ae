/* SPDX-License-Identifier: BSD-3-Clause */
/* The maps of the clocks while they are fitted, and what the messages show through them. */
#include "correct/fitting.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

/* The first location of a clock that has offsets; it represents the clock. */
uint32_t ictusi_fitting_spokesman(const struct session *s, uint32_t unit)
{
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        if (s->unit_of[l] == unit && s->trace->layout.locations[l].offset_count > 0) {
            return l;
        }
    }
    return LAYOUT_NONE;
}

/* The first clock with offsets, or the first clock. */
uint32_t ictusi_fitting_reference(const struct session *s)
{
    uint32_t u = 0;
    while (u < s->unit_count && ictusi_fitting_spokesman(s, u) == LAYOUT_NONE) {
        u++;
    }
    return u < s->unit_count ? u : 0;
}

static int fitting_compare_instants(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The knots of a clock's map: regular ones, and those before and after each of its jumps. */
static uint32_t fitting_list_knots(const struct fitting *f, uint32_t clock, int64_t *instants)
{
    const uint32_t knots = f->fit->model.knots;
    const double step = (double)(f->to - f->from) / (knots - 1);
    uint32_t n = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < knots; k++) {
        instants[n++] = f->from + (int64_t)(step * k);
    }
    for (uint32_t i = 0; i < f->fit->jump_count; i++) {
        if (f->fit->jumps[i].clock == clock) {
            instants[n++] = f->fit->jumps[i].from;
            instants[n++] = f->fit->jumps[i].to;
        }
    }
    qsort(instants, n, sizeof *instants, fitting_compare_instants);
    for (uint32_t i = 0; i < n; i++) {
        instants[count] = instants[i];
        count += i + 1 == n || instants[i + 1] > instants[i];
    }
    return count;
}

/*
 * The map of one clock: the constant minus jumps and phi. The knots are regular on the common time,
 * but a map is applied to the clock's own time, which does not include its constant. phi is how far
 * the clock is ahead, so the map subtracts it. Constants may amount to decades, so they are added
 * to the pieces as integers; only phi passes through a double.
 */
static int fitting_set_map(struct fitting *f, uint32_t clock, int64_t *times, double *offsets)
{
    const struct clock_model *m = &f->fit->model;
    struct clock_map *map = &f->session->units[clock];
    const uint32_t n = fitting_list_knots(f, clock, times);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double at = ictusi_clock_model_position(m, f->from, f->to, times[i]);
        const double jumped = ictusi_clock_fit_jumped(f->fit, clock, times[i]);
        const double phi = ictusi_clock_model_at(m, m->phi, clock, at) / f->us_per_tick;
        times[count] = times[i] + llround(jumped) - f->constants[clock];
        offsets[count] = -phi - jumped;
        /* If a clock was set back, it showed some instants twice. */
        count += count == 0 || times[count] > times[count - 1];
    }
    const int err = ictusi_clock_map_knots(map, times, offsets, count);
    for (uint32_t i = 0; !err && i < map->count; i++) {
        map->pieces[i].offset += f->constants[clock];
    }
    return err;
}

/* All ranks make the same maps, since all have the same phi. The session owns them. */
int ictusi_fitting_set_maps(struct fitting *f)
{
    struct session *s = f->session;
    const uint64_t room = f->fit->model.knots + 2UL * f->fit->jump_count;
    int64_t *times = malloc(room * sizeof *times);
    double *offsets = malloc(room * sizeof *offsets);
    ictusi_presync_free(s->units, s->unit_count);
    s->units = calloc(s->unit_count + 1UL, sizeof *s->units);
    int err = s->units && times && offsets ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint32_t u = 0; u < s->unit_count && !err; u++) {
        err = fitting_set_map(f, u, times, offsets);
    }
    free(times);
    free(offsets);
    return err;
}

/* Observe all delays with these values as times, from one instant to another. Collective. */
int ictusi_fitting_look_at(struct fitting *f, const int64_t *values, int64_t from, int64_t to)
{
    struct session *s = f->session;
    ictusi_delays_begin(&f->delays, values, from, to);
    s->flow.observer = &f->delays.observer;
    s->flow.known = values;
    int err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_CHECK));
    return err ? err : ictusi_delays_finish(&f->delays, s->team);
}

/* The same, with the times corrected by the model's phi. Collective. */
int ictusi_fitting_look_again(struct fitting *f)
{
    int err = ictusi_session_agree(f->session, ictusi_fitting_set_maps(f));
    if (!err) {
        ictusi_session_map_values(f->session);
        err = ictusi_fitting_look_at(f, f->session->history.points.value, f->from, f->to);
    }
    return err;
}

/*
 * The leader's message before each observation: whether there is another one, and phi. The results
 * come back in ictusi_fitting_look_at(), which merges the least delays of all ranks.
 */
int ictusi_fitting_share_phi(struct fitting *f, uint64_t *more)
{
    struct team *team = f->session->team;
    const struct clock_model *m = &f->fit->model;
    int err = team ? team->broadcast(team, more, sizeof *more) : ICTUS_OK;
    return err || !team
               ? err
               : team->broadcast(team, m->phi, (uint64_t)m->clocks * m->knots * sizeof *m->phi);
}
