/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of the clocks is fitted on one rank, the leader, but all ranks observe the trace for
 * it. Before each observation the leader broadcasts the present phi of the model.
 */
#include "correct/fitting.h"

#include "core/container.h"
#include "correct/jump_search.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest number of clocks for which a walk is tried, and of its unknowns. */
enum { WALKS_MAX = 120, UNKNOWNS_MAX = 600 };
/*
 * The number of knots, which depends on the number of clocks. 49 knots are the ends of 48 cells of
 * time; pieces shorter than a cell would be determined by no delay.
 */
enum { KNOTS_SOME = 17, KNOTS_FEW = 5, CLOCKS_FEW = 8 };

/*
 * Violations beyond this (us) come from clocks that started apart, so constants are applied first.
 */
static const double apart_us = 1000;

/*
 * A dense solution takes time in proportion to the cube of the unknowns, clocks x knots. So there
 * are at most 600 unknowns, and at most 17 knots per clock if there are more than a few clocks.
 * Beyond WALKS_MAX, clocks are lines with two knots.
 */
static uint32_t knots_for(uint32_t clocks)
{
    if (clocks <= CLOCKS_FEW) {
        return FITTING_KNOTS_MANY;
    }
    const uint32_t knots = UNKNOWNS_MAX / clocks;
    return clocks > WALKS_MAX ? 2 : knots > KNOTS_SOME ? KNOTS_SOME : knots;
}

/*
 * Observe the delays that remain under the model's phi, for the choice of a model. Only the leader
 * calls this; the other ranks take part in clock_fit_choose_together().
 */
static int clock_fit_on_observe(struct clock_source *source, struct clock_model *model)
{
    struct fitting *f = container_of(source, struct fitting, source);
    uint64_t more = true;
    int err = ictusi_fitting_share_phi(f, &more);
    err = err ? err : ictusi_fitting_look_again(f);
    return err ? err : ictusi_clock_model_see(model, &f->delays, f->us_per_tick);
}

/*
 * The leader chooses a model, and the others take part in each observation. Finally, phi is made
 * relative to the clock that shows the time, and is broadcast to all ranks. Collective: each
 * ictusi_fitting_share_phi() of the leader matches one of the others, also after errors.
 */
static int clock_fit_choose_together(struct fitting *f)
{
    struct team *team = f->session->team;
    uint64_t more = false;
    int err = ICTUS_OK;
    if (!team || team->rank == 0) {
        err = ictusi_clock_choice_run(&f->fit->model, &f->source, &f->fit->choice);
        ictusi_clock_model_align(&f->fit->model);
        const int said = ictusi_fitting_share_phi(f, &more);
        err = err ? err : said;
    } else {
        do {
            err = ictusi_fitting_share_phi(f, &more);
            err = err || !more ? err : ictusi_fitting_look_again(f);
        } while (more && !err);
        /* After an error the leader signals the end. */
        while (more && err) {
            more = ictusi_fitting_share_phi(f, &more) ? 0 : more;
        }
    }
    err = ictusi_session_agree(f->session, err);
    uint64_t kind = (uint64_t)f->fit->choice.kind;
    err = err || !team ? err : team->broadcast(team, &kind, sizeof kind);
    f->fit->choice.kind = (enum clock_kind)kind;
    err = err ? err : ictusi_session_agree(f->session, ictusi_fitting_set_maps(f));
    if (!err) {
        ictusi_session_map_values(f->session);
    }
    return err;
}

/*
 * Clocks that are hours apart share no cell of time, and no line through them would be meaningful.
 * So the constants that messages imply are found first. They are used only if some message seems to
 * arrive more than apart_us before it was sent, because well synchronised clocks gain nothing from
 * them. The clock that shows the time has no constant: all others are moved towards it.
 */
static int clock_fit_find_constants(struct fitting *f)
{
    struct session *s = f->session;
    double *constants = calloc(s->unit_count + 1UL, sizeof *constants);
    int err = ictusi_session_agree(s, constants ? ICTUS_OK : ICTUS_ERR_NOMEM);
    err = err ? err : ictusi_fitting_look_at(f, s->history.points.time, f->from, f->to);
    int64_t worst = 0;
    for (uint64_t i = 0; i < f->delays.row_count * f->delays.cells && !err; i++) {
        worst = f->delays.delay[i] < worst ? f->delays.delay[i] : worst;
    }
    f->worst = (double)-worst * f->us_per_tick;
    if (!err && f->worst > apart_us) {
        err = ictusi_session_agree(s, ictusi_delays_constants(&f->delays, constants));
    }
    for (uint32_t u = 0; u < s->unit_count && !err; u++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): agreed above */
        f->constants[u] = llround(constants[u] - constants[ictusi_fitting_reference(s)]);
    }
    free(constants);
    return err;
}

/*
 * Find the first and the last time of any point, including the constants. The points of a location
 * are in the order of time, so its first and last point are enough.
 */
static int clock_fit_find_span(struct fitting *f)
{
    struct session *s = f->session;
    const struct history *h = &s->history;
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        if (h->first[l + 1] > h->first[l]) {
            const int64_t constant = f->constants[s->unit_of[l]];
            const int64_t first = h->points.time[h->first[l]] + constant;
            const int64_t last = h->points.time[h->first[l + 1] - 1] + constant;
            low = first < low ? first : low;
            high = last > high ? last : high;
        }
    }
    int err = s->team ? s->team->minima(s->team, &low, 1) : ICTUS_OK;
    err = err || !s->team ? err : s->team->maxima(s->team, &high, 1);
    f->from = low;
    /* Leave at least a tick between neighbouring knots, so that no two are at the same instant. */
    f->to = high > low + f->fit->model.knots ? high : low + (int64_t)f->fit->model.knots;
    return err;
}

/*
 * The phi (us) that an archive's offset implies for the clock of its location. The offset states
 * that the stamp `time` was at time + offset. The present maps turn it into `based`, so the clock
 * is still ahead by based - (time + offset). position: on the scale of the knots.
 */
static double offset_phi(const struct fitting *f, uint32_t location, const struct clock_offset *o,
                         double *position)
{
    const struct session *s = f->session;
    const int64_t time = (int64_t)o->time;
    uint32_t hint = 0;
    const int64_t based =
        clock_map_at(&s->maps[location], time, &hint) + f->constants[s->unit_of[location]];
    const double jumped = ictusi_clock_fit_jumped_by(f->fit, s->unit_of[location], based);
    *position =
        ictusi_clock_model_position(&f->fit->model, f->from, f->to, based - llround(jumped));
    return ((double)(based - time - o->offset) - jumped) * f->us_per_tick;
}

/*
 * Readers of OTF2 ignore a lone offset, so recorders write it twice, a tick apart. Nobody measures
 * twice within a microsecond: such a copy is not a second observation.
 */
static bool offset_is_copy(const struct fitting *f, const struct layout_location *location,
                           uint32_t i)
{
    const struct clock_offset *o = &location->offsets[i];
    const int64_t since = i > 0 ? (int64_t)(o->time - o[-1].time) : INT64_MAX;
    return since <= 1 || (double)since * f->us_per_tick < 1;
}

/*
 * Make the model's list of offsets. phi is relative to the reference, so each offset is compared
 * with one of the reference: the i-th of a location with the i-th of the reference, because
 * recorders measure them in rounds, or with its last one.
 */
static int clock_fit_set_offsets(struct fitting *f)
{
    const struct session *s = f->session;
    const struct layout_location *locations = s->trace->layout.locations;
    struct clock_model *m = &f->fit->model;
    uint64_t room = 1;
    for (uint64_t l = 0; l < s->trace->layout.location_count; l++) {
        room += locations[l].offset_count;
    }
    m->offsets = malloc(room * sizeof *m->offsets);
    if (!m->offsets) {
        return ICTUS_ERR_NOMEM;
    }
    m->reference = ictusi_fitting_reference(s);
    const uint32_t lead = ictusi_fitting_spokesman(s, m->reference);
    for (uint32_t u = 0; u < s->unit_count; u++) {
        const uint32_t l = ictusi_fitting_spokesman(s, u);
        const uint32_t count = l == LAYOUT_NONE || l == lead ? 0 : locations[l].offset_count;
        for (uint32_t i = 0; i < count; i++) {
            if (offset_is_copy(f, &locations[l], i)) {
                continue;
            }
            const uint32_t last = locations[lead].offset_count - 1;
            const struct clock_offset *o = &locations[l].offsets[i];
            double position = 0;
            const double own =
                offset_phi(f, lead, &locations[lead].offsets[i < last ? i : last], &position);
            const double value = offset_phi(f, l, o, &position) - own;
            m->offsets[m->offset_count++] =
                (struct model_offset){u, position, value, o->sd * f->us_per_tick};
        }
    }
    return ICTUS_OK;
}

/*
 * Keep the new times unless violations have grown. Exactly one of the two checks survives, in
 * stats. Collective.
 */
static int fit_judge(struct fitting *f, struct check_stats *stats)
{
    struct session *s = f->session;
    struct points *points = &s->history.points;
    struct check_stats fitted;
    const int err = ictusi_session_check(s, points->value, &fitted);
    if (err) {
        return err;
    }
    /*
     * A fit that increases the sum of all violations has misinterpreted the messages, however good
     * it looks on average: the amortisation that follows would have to move more than without it.
     * The worst one alone says nothing: at a jump, it remains whatever heals the others.
     */
    if (f->fit->choice.kind == CLOCKS_BASE ||
        ictusi_check_violated_ticks(&fitted) > ictusi_check_violated_ticks(stats)) {
        ictusi_check_fini(&fitted);
        ictusi_clock_choice_decline(&f->fit->choice, &f->fit->model,
                                    (double)ictusi_check_largest(stats) * f->us_per_tick);
        ictusi_jump_search_decline(f);
        ictusi_presync_free(s->units, s->unit_count);
        s->units = NULL;
        return ICTUS_OK;
    }
    ictusi_check_fini(stats);
    *stats = fitted;
    memcpy(points->time, points->value, points->count * sizeof *points->time);
    ictusi_points_relax(points);
    s->presync = PRESYNC_MESSAGES;
    return ictusi_session_span(s);
}

/*
 * Constants that were applied are kept even if nothing better was found. Calling the model lines,
 * with phi 0, prevents fit_judge() from discarding them together with the maps.
 */
static void clock_fit_keep_constants(struct fitting *f)
{
    for (uint32_t u = 0; u < f->session->unit_count; u++) {
        if ((f->constants[u] || f->fit->jump_count) && f->fit->choice.kind == CLOCKS_BASE) {
            f->fit->choice.kind = CLOCKS_LINES;
        }
    }
}

/*
 * The order matters: first the constants, so that all clocks share cells of time; then the span, in
 * which the knots are placed; then the offsets, if the archive has any; then the choice of a model.
 */
static int fit_clocks(struct fitting *f, struct check_stats *stats)
{
    struct session *s = f->session;
    int err = ictusi_delays_init(&f->delays, s->unit_of, s->unit_count, FITTING_CELLS);
    f->constants = calloc(s->unit_count + 1UL, sizeof *f->constants);
    err = err || f->constants ? err : ICTUS_ERR_NOMEM;
    err = ictusi_session_agree(s, err);
    f->from = s->from;
    f->to = s->to;
    err = err ? err : clock_fit_find_constants(f);
    err = err ? err
              : ictusi_session_agree(s, ictusi_clock_model_init(&f->fit->model, s->unit_count,
                                                                knots_for(s->unit_count), 0));
    err = err ? err : clock_fit_find_span(f);
    f->fit->model.length = (double)(f->to - f->from) * f->us_per_tick;
    err = err ? err : ictusi_jump_search_run(f);
    err = ictusi_session_agree(s, err ? err : clock_fit_set_offsets(f));
    err = err ? err : clock_fit_choose_together(f);
    if (!err) {
        ictusi_jump_search_add_errors(f);
        f->fit->tried = true;
        clock_fit_keep_constants(f);
        err = fit_judge(f, stats);
    }
    ictusi_delays_fini(&f->delays);
    free(f->constants);
    return err;
}

/* There is nothing to fit if there is only one clock, or no time in which it could drift. */
int ictusi_clock_fit_run(struct clock_fit *fit, struct session *s, struct check_stats *stats)
{
    struct fitting f = {.source = {clock_fit_on_observe}, .fit = fit, .session = s};
    f.us_per_tick = 1e6 / (double)s->trace->layout.resolution;
    ictusi_session_set_units(s, stats);
    if (s->unit_count < 2 || s->to <= s->from) {
        return ICTUS_OK;
    }
    const uint64_t locations = s->trace->layout.location_count;
    fit->clock_of = malloc((locations + 1) * sizeof *fit->clock_of);
    int err = ictusi_session_agree(s, fit->clock_of ? ICTUS_OK : ICTUS_ERR_NOMEM);
    if (!err) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): agreed above */
        memcpy(fit->clock_of, s->unit_of, locations * sizeof *fit->clock_of);
        err = fit_clocks(&f, stats);
        fit->from = f.from;
        fit->to = f.to;
        fit->us_per_tick = f.us_per_tick;
        fit->thread_clocks = s->thread_units;
    }
    if (err) {
        ictusi_presync_free(s->units, s->unit_count);
        s->units = NULL;
    }
    return err;
}

void ictusi_clock_fit_fini(struct clock_fit *fit)
{
    ictusi_clock_model_fini(&fit->model);
    ictusi_clock_choice_fini(&fit->choice);
    free(fit->clock_of);
    free(fit->jumps);
}

/* How far a clock has jumped ahead by an instant of the common time, ticks. */
double ictusi_clock_fit_jumped(const struct clock_fit *fit, uint32_t clock, int64_t instant)
{
    double jumped = 0;
    for (uint32_t i = 0; i < fit->jump_count; i++) {
        const struct clock_jump *jump = &fit->jumps[i];
        const double part = (double)(instant - jump->from) / (double)(jump->to - jump->from);
        jumped += jump->clock == clock ? jump->size * fmin(fmax(part, 0), 1) : 0;
    }
    return jumped;
}

/* The same by what the clock shows, without its constant but after its jumps. */
double ictusi_clock_fit_jumped_by(const struct clock_fit *fit, uint32_t clock, int64_t shown)
{
    int64_t instant = shown;
    for (int i = 0; i < 3; i++) {
        instant = shown - llround(ictusi_clock_fit_jumped(fit, clock, instant));
    }
    return ictusi_clock_fit_jumped(fit, clock, instant);
}

/* An instant of the common time, at which a clock jumped, in the corrected trace. */
static int64_t clock_fit_jump_time(const struct clock_fit *fit, const struct clock_jump *jump,
                                   int64_t instant)
{
    const struct clock_model *m = &fit->model;
    const double at = ictusi_clock_model_position(m, fit->from, fit->to, instant);
    const double phi = ictusi_clock_model_at(m, m->phi, jump->clock, at);
    return instant - llround(phi / fit->us_per_tick) + fit->raised;
}

double ictusi_clock_fit_error(const struct clock_fit *fit, uint32_t location, int64_t time)
{
    const struct clock_model *m = &fit->model;
    const uint32_t clock = fit->tried && m->error ? fit->clock_of[location] : 0;
    if (!fit->tried || !m->error || (clock == m->reference && !m->mean_is_time)) {
        return -1;
    }
    double at = ictusi_clock_model_position(m, fit->from, fit->to, time - fit->raised);
    /* Outside the knots the error of the nearest one is reported, although the maps extend there.
     */
    at = fmin(fmax(at, 0), m->knots - 1);
    double error = ictusi_clock_model_at(m, m->error, clock, at) / fit->us_per_tick;
    for (uint32_t i = 0; i < fit->jump_count; i++) {
        const struct clock_jump *jump = &fit->jumps[i];
        const bool during = time >= clock_fit_jump_time(fit, jump, jump->from) &&
                            time <= clock_fit_jump_time(fit, jump, jump->to);
        error += jump->clock == clock && during ? fabs(jump->size) : 0;
    }
    return error;
}

/* How far a clock was ahead at a position between the knots, with its jumps, us. */
static double clock_fit_ahead(const struct clock_fit *fit, uint32_t clock, double at)
{
    const struct clock_model *m = &fit->model;
    const int64_t instant =
        fit->from + llround(at / (m->knots - 1) * (double)(fit->to - fit->from));
    return ictusi_clock_model_at(m, m->phi, clock, at) +
           ictusi_clock_fit_jumped(fit, clock, instant) * fit->us_per_tick;
}

static json_t *clock_jumps_json(const struct clock_fit *fit)
{
    json_t *jumps = json_array();
    for (uint32_t i = 0; i < fit->jump_count; i++) {
        const struct clock_jump *jump = &fit->jumps[i];
        const double ns = fit->us_per_tick * 1e3;
        (void)json_array_append_new(
            jumps, json_pack("{s:i, s:f, s:f, s:I, s:I}", "clock", (int)jump->clock, "size_ns",
                             jump->size * ns, "error_ns", jump->error * ns, "after",
                             (json_int_t)clock_fit_jump_time(fit, jump, jump->from), "before",
                             (json_int_t)clock_fit_jump_time(fit, jump, jump->to)));
    }
    return jumps;
}

/* One clock over time: how far it was moved beyond the archive's offsets, and the error of that. */
static json_t *clock_json(const struct clock_fit *fit, uint32_t clock)
{
    enum { INSTANTS = 9 };
    const struct clock_model *m = &fit->model;
    json_t *moves = json_array();
    json_t *errors = json_array();
    for (int i = 0; i < INSTANTS; i++) {
        const double at = (double)i / (INSTANTS - 1) * (m->knots - 1);
        const double phi = clock_fit_ahead(fit, clock, at);
        const double error = ictusi_clock_model_at(m, m->error, clock, at);
        (void)json_array_append_new(moves, json_real(-phi * 1e3));
        (void)json_array_append_new(errors, json_real(error * 1e3));
    }
    return json_pack("{s:i, s:o, s:o}", "clock", (int)clock, "moved_ns", moves, "error_ns", errors);
}

void ictusi_clock_fit_json(const struct clock_fit *fit, json_t *object)
{
    enum { CLOCKS_LISTED = 256 };
    static const char *const kinds[] = {"base", "lines", "walk"};
    const struct clock_model *m = &fit->model;
    if (!fit->tried) {
        return;
    }
    json_t *clocks = json_array();
    double error = 0;
    double moved = 0;
    for (uint32_t u = 0; u < m->clocks; u++) {
        for (uint32_t k = 0; k < m->knots; k++) {
            error = fmax(error, m->error[(uint64_t)u * m->knots + k]);
            moved = fmax(moved, fabs(clock_fit_ahead(fit, u, k)));
        }
        if (u < CLOCKS_LISTED) {
            (void)json_array_append_new(clocks, clock_json(fit, u));
        }
    }
    json_t *more =
        json_pack("{s:s, s:f, s:f, s:f, s:o, s:i}", "clock_model", kinds[fit->choice.kind],
                  "clock_walk", fit->choice.walk.strength, "clock_error_ns", error * 1e3,
                  "clock_moved_ns", moved * 1e3, "clocks", clocks, "thread_clocks",
                  fit->choice.kind == CLOCKS_BASE ? 0 : (int)fit->thread_clocks);
    if (fit->jump_count > 0) {
        (void)json_object_set_new(more, "clock_jumps", clock_jumps_json(fit));
    }
    if (fit->choice.refused != CLOCKS_BASE) {
        (void)json_object_set_new(more, "clock_refused", json_string(kinds[fit->choice.refused]));
        (void)json_object_set_new(more, "clock_refused_moves_ns",
                                  json_real(fit->choice.moves * 1e3));
        (void)json_object_set_new(more, "clock_refused_heals_ns",
                                  json_real(fit->choice.heals * 1e3));
    }
    (void)json_object_update(object, more);
    json_decref(more);
}
