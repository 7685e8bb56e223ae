/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clocks of a session, fitted to its messages, against planted ones: wherever they began and
 * however they ran, corrected times are the true ones. And what is told of fitted clocks, for fits
 * that are made by hand.
 */
#include "talk_scene.h"

#include "correct/clock_fit.h"

#include <ictus/error.h>

enum { OFFSETS = 5 };

/* A session whose clocks have been fitted. */
struct fitted {
    struct scene *scene;
    struct session *session;
    struct check_stats stats;
    struct clock_fit fit;
    struct clock_offset offsets[CLOCKS][2 * OFFSETS];
};

/*
 * Offsets from a time that no process's clock shows, as recorders measure them in the beginning,
 * the end and between: all of them twice.
 */
static void fitted_add_offsets(struct fitted *f, const struct world *w)
{
    for (uint32_t c = 0; c < CLOCKS; c++) {
        struct layout_location *l = &f->scene->locations[c];
        for (int i = 0; i < OFFSETS; i++) {
            const double truth = f->scene->end * i / (OFFSETS - 1);
            const double error = world_error(w, c, truth) - world_error(w, 0, truth);
            const int64_t shown = BEGIN + llround(truth + world_error(w, c, truth));
            f->offsets[c][2 * i] = (struct clock_offset){
                .time = (uint64_t)shown, .offset = 77000 - llround(error), .sd = 50};
            f->offsets[c][2 * i + 1] = f->offsets[c][2 * i];
            f->offsets[c][2 * i + 1].time += 1;
        }
        l->offsets = f->offsets[c];
        l->offset_count = 2 * OFFSETS;
    }
}

/* nodes: how many; processes are divided among them. */
static struct fitted *fitted_open(const struct world *w, uint32_t nodes, bool with_offsets)
{
    struct fitted *f = calloc(1, sizeof *f);
    REQUIRE(f);
    f->scene = scene_make(w);
    struct session *s = f->session = &f->scene->session;
    f->scene->trace.layout.node_count = nodes;
    for (uint32_t i = 0; i < CLOCKS; i++) {
        f->scene->processes[i].node = i % nodes;
    }
    if (with_offsets) {
        fitted_add_offsets(f, w);
    }
    s->unit_of = calloc(CLOCKS, sizeof *s->unit_of);
    s->process_of = calloc(CLOCKS, sizeof *s->process_of);
    REQUIRE(s->unit_of && s->process_of);
    ictusi_session_set_units(s, NULL);
    s->latency = (struct latency){
        .units = s->unit_count, .unit_of = s->unit_of, .process_of = s->process_of, .least = 1};
    REQUIRE(!ictusi_session_presync(s, PRESYNC_NONE));
    REQUIRE(!ictusi_session_check(s, s->history.points.time, &f->stats));
    REQUIRE(!ictusi_clock_fit_run(&f->fit, s, &f->stats));
    return f;
}

static void fitted_close(struct fitted *f)
{
    struct session *s = f->session;
    ictusi_check_fini(&f->stats);
    ictusi_clock_fit_fini(&f->fit);
    ictusi_presync_free(s->maps, CLOCKS);
    ictusi_presync_free(s->units, s->unit_count);
    free(s->unit_of);
    free(s->process_of);
    scene_free(f->scene);
    free(f);
}

/* Whether an event is so near a jump that nobody knows on which side it was. */
static bool is_near_jump(const struct world *w, double truth)
{
    double largest = 0;
    for (uint32_t c = 0; c < CLOCKS; c++) {
        largest = fmax(largest, fabs(w->jump[c]));
    }
    return largest > 0 && fabs(truth - talk_ticks / 2) < largest + 6 * APART;
}

/* Corrected times are true within so many ticks, and errors are stated that fit. */
static void times_are_true(const struct fitted *f, const struct world *w, double within)
{
    const struct history *h = &f->session->history;
    for (uint32_t c = 0; c < CLOCKS; c++) {
        double worst = 0;
        double square = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < f->scene->counts[c]; i++) {
            const struct event *e = &f->scene->events[c][i];
            const int64_t time = h->points.time[h->first[c] + i];
            const double error = (double)time - BEGIN - e->truth - world_error(w, 0, e->truth);
            const double stated = ictusi_clock_fit_error(&f->fit, c, time);
            if (c == 0) {
                CHECK(stated == -1 && fabs(error) <= 0.5);
            } else if (!is_near_jump(w, e->truth)) {
                worst = fmax(worst, fabs(error));
                square += error * error / (stated * stated);
                count++;
            }
        }
        CHECK(worst <= within);
        CHECK(c == 0 || (count > 100 && square / count < 1.5)); /* two standard deviations */
    }
}

static double item(const json_t *array, const char *member, size_t i)
{
    return json_number_value(json_array_get(json_object_get(array, member), i));
}

/* A clock is moved by what it was off, which is told for the beginning and the end, in ns. */
static void moves_are_told(const struct fitted *f, const struct world *w, double within)
{
    json_t *object = json_object();
    ictusi_clock_fit_json(&f->fit, object);
    const json_t *clocks = json_object_get(object, "clocks");
    REQUIRE(json_array_size(clocks) == CLOCKS);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        const json_t *clock = json_array_get(clocks, c);
        const double constant = round(w->off[c] / 1e6) * 1e6; /* told as a part of the offset */
        for (uint64_t k = 0; k < 9 && constant == 0; k++) {   /* and that is what its map does */
            uint32_t hint = 0;
            const int64_t at = f->fit.from + (f->fit.to - f->fit.from) * (int64_t)k / 8;
            const int64_t moved = clock_map_at(&f->session->units[c], at, &hint) - at;
            CHECK_NEAR(moved, item(clock, "moved_ns", k), 1);
        }
        if (constant == 0) {
            CHECK_NEAR(item(clock, "moved_ns", 0), -w->off[c], within);
            CHECK_NEAR(item(clock, "moved_ns", 8), -world_error(w, c, f->scene->end - APART),
                       within);
        }
    }
    json_decref(object);
}

/* As planted: lines, clocks that are hours and decades apart, and such as change their rate. */
static void clocks_are_found(void)
{
    static const struct {
        struct world world;
        bool with_offsets;
        enum clock_kind kind;
        double within;
    } cases[] = {
        {{.off = {0, 9000, -40000, 600}, .drift = {0, 2e-6, -1e-6, 0}, .wait = 200, .silent = -1},
         false,
         CLOCKS_LINES,
         40},
        {{.off = {0, 9e9, -4e12, 6e15}, .drift = {0, 2e-6, -1e-6, 0}, .wait = 200, .silent = -1},
         false,
         CLOCKS_LINES,
         40},
        {{.off = {0, 9000, -40000, 600}, .bend = {0, 2e-6, -1e-6, 0}, .wait = 200, .silent = -1},
         false,
         CLOCKS_WALK,
         150},
        {{.off = {0, 9e9, -4e12, 6e15}, .wait = 1, .silent = -1}, false, CLOCKS_LINES, 40},
        /* What a clock that only listens shows is known from the archive's offsets alone. */
        {{.off = {0, 9000, -40000, 600}, .drift = {0, 2e-6, -1e-6, 0}, .wait = 200, .silent = 2},
         true,
         CLOCKS_LINES,
         40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct world *w = &cases[i].world;
        struct fitted *f = fitted_open(w, CLOCKS, cases[i].with_offsets);
        CHECK(f->fit.tried && f->session->presync == PRESYNC_MESSAGES && f->session->units);
        CHECK(f->session->unit_count == CLOCKS && f->fit.thread_clocks == 0);
        CHECK(f->fit.choice.kind == cases[i].kind && f->fit.jump_count == 0);
        CHECK(ictusi_check_all_violations(&f->stats) == 0);
        CHECK(f->fit.model.knots == 49); /* so few clocks may change their rates so often */
        /* Each offset counts once, although it is there twice, and the reference's are zero. */
        CHECK(f->fit.model.offset_count == (cases[i].with_offsets ? (CLOCKS - 1) * OFFSETS : 0));
        times_are_true(f, w, cases[i].within);
        moves_are_told(f, w, cases[i].within);
        fitted_close(f);
    }
}

/* A clock that was set ahead or back is named, with by how much, and between which instants. */
static void jumps_are_found(void)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        const uint32_t clock = sign < 0 ? 3 : 2;
        struct world w = {.off = {0, 9000, -40000, 600}, .wait = 200, .silent = -1};
        w.jump[clock] = sign * 3e6;
        struct fitted *f = fitted_open(&w, CLOCKS, false);
        REQUIRE(f->fit.tried && f->fit.jump_count == 1);
        const struct clock_jump *jump = &f->fit.jumps[0];
        CHECK(jump->clock == clock);
        CHECK_NEAR(jump->size, w.jump[clock], 500);
        CHECK((double)jump->from <= BEGIN + talk_ticks / 2 + 1e6);
        CHECK((double)jump->to >= BEGIN + talk_ticks / 2 - 1e6);
        CHECK((double)(jump->to - jump->from) < 1.0 * CLOCKS * CLOCKS * APART); /* a round */
        times_are_true(f, &w, 150);
        fitted_close(f);
    }
}

/* Processes of a node share its clock, unless they contradict each other. */
static void nodes_share_clocks(void)
{
    const struct world alike = {.off = {0, 9000, 0, 9000}, .wait = 200, .silent = -1};
    const struct world apart = {.off = {0, 9000, 5000, 9000}, .wait = 200, .silent = -1};
    struct fitted *f = fitted_open(&alike, 2, false);
    CHECK(f->session->unit_count == 2 && f->session->unit_of[1] == f->session->unit_of[3]);
    times_are_true(f, &alike, 40);
    fitted_close(f);
    f = fitted_open(&apart, 2, false);
    CHECK(f->session->unit_count == CLOCKS);
    times_are_true(f, &apart, 40);
    fitted_close(f);
}

/* One clock has nothing to be compared with, and clocks that agree stay as they are. */
static void good_clocks_are_kept(void)
{
    const struct world good = {.wait = 200, .silent = -1};
    for (uint32_t nodes = 1; nodes <= CLOCKS; nodes += CLOCKS - 1) {
        struct fitted *f = fitted_open(&good, nodes, false);
        const struct history *h = &f->session->history;
        CHECK(f->fit.tried == (nodes > 1) && f->fit.choice.kind == CLOCKS_BASE);
        CHECK(f->session->presync == PRESYNC_NONE && !f->session->units);
        for (uint32_t c = 0; c < CLOCKS; c++) {
            for (uint32_t i = 0; i < f->scene->counts[c]; i++) {
                CHECK(h->points.time[h->first[c] + i] == f->scene->events[c][i].time);
            }
        }
        CHECK(nodes > 1 || ictusi_clock_fit_error(&f->fit, 1, BEGIN) == -1);
        fitted_close(f);
    }
}

enum { KNOTS = 3, FROM = 1000, TO = 3000, RAISED = 70 };

/* However far a clock was set back, it still runs, at half its pace at least. */
static void clocks_that_are_set_run_on(void)
{
    for (double size = -1e8; size <= 1e8; size += 4e7) {
        const struct world w = {.jump = {0, 0, size}, .wait = 200, .silent = -1};
        struct fitted *f = fitted_open(&w, CLOCKS, false);
        REQUIRE(f->fit.jump_count == 1 && f->session->units);
        const struct clock_jump *jump = &f->fit.jumps[0];
        CHECK((double)(jump->to - jump->from) >= 1.98 * fabs(jump->size));
        CHECK(ictusi_clock_maps_bend(f->session->units, f->session->unit_count) < 1.02);
        fitted_close(f);
    }
}

/* A fit with two jumps of the second of three clocks; two ticks are a microsecond. */
static struct clock_fit made_fit(void)
{
    static double phi[3 * KNOTS] = {0, 0, 0, 4, 6, 10, -3, -3, -3};
    static double error[3 * KNOTS] = {0, 0, 0, 1, 2, 5, 3, 3, 3};
    static uint32_t clock_of[4] = {0, 1, 2, 1};
    static struct clock_jump jumps[] = {{1, 40, 2, 1500, 1700}, {1, -10, 3, 2000, 2100}};
    return (struct clock_fit){.model = {.clocks = 3, .knots = KNOTS, .phi = phi, .error = error},
                              .choice = {.kind = CLOCKS_WALK, .walk = {.strength = 3e-9}},
                              .jumps = jumps,
                              .jump_count = 2,
                              .tried = true,
                              .clock_of = clock_of,
                              .thread_clocks = 1,
                              .from = FROM,
                              .to = TO,
                              .raised = RAISED,
                              .us_per_tick = 0.5};
}

/* A clock is ahead by all its jumps that are over, and by a share of one that is not. */
static void jumps_take_their_time(void)
{
    const struct clock_fit fit = made_fit();
    static const double wanted[][2] = {{0, 0},     {1500, 0},  {1550, 10}, {1700, 40},
                                       {2000, 40}, {2050, 35}, {2100, 30}, {9000, 30}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const int64_t instant = (int64_t)wanted[i][0];
        CHECK_NEAR(ictusi_clock_fit_jumped(&fit, 1, instant), wanted[i][1], 1e-9);
        CHECK(ictusi_clock_fit_jumped(&fit, 0, instant) == 0);
        /* The same, by what it shows then. */
        const int64_t shown = instant + llround(wanted[i][1]);
        CHECK_NEAR(ictusi_clock_fit_jumped_by(&fit, 1, shown), wanted[i][1], 0.5);
        CHECK(ictusi_clock_fit_jumped_by(&fit, 2, shown) == 0);
    }
}

/* The error of a clock at an instant of the trace, all of whose times were raised. */
static void errors_are_told_by_instants(void)
{
    struct clock_fit fit = made_fit();
    CHECK(ictusi_clock_fit_error(&fit, 0, FROM) == -1); /* it shows the time */
    fit.model.mean_is_time = true;
    CHECK(ictusi_clock_fit_error(&fit, 0, FROM) == 0); /* the mean does */
    fit.model.mean_is_time = false;
    CHECK_NEAR(ictusi_clock_fit_error(&fit, 2, FROM + RAISED), 6, 1e-9);
    static const double wanted[][2] = {{0, 2},      {FROM, 2}, {1250, 2.5}, {1400, 2.8},
                                       {1800, 3.6}, {2500, 7}, {TO, 10},    {9000, 10}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const int64_t time = (int64_t)wanted[i][0] + RAISED;
        CHECK_NEAR(ictusi_clock_fit_error(&fit, 1, time), wanted[i][1], 1e-9);
        CHECK(ictusi_clock_fit_error(&fit, 3, time) == ictusi_clock_fit_error(&fit, 1, time));
    }
    /* During a jump, whose instants the correction moves by phi, anything up to its size is. */
    const int64_t from = 1500 - 10 + RAISED; /* 5 us */
    const int64_t to = 1700 - llround(5.4 / 0.5) + RAISED;
    CHECK(ictusi_clock_fit_error(&fit, 1, from - 1) < 10);
    CHECK(ictusi_clock_fit_error(&fit, 1, from) > 40 && ictusi_clock_fit_error(&fit, 1, to) > 40);
    CHECK(ictusi_clock_fit_error(&fit, 1, to + 1) < 10);
    CHECK_NEAR(ictusi_clock_fit_error(&fit, 2, from + 50), 6, 1e-9);
    fit.tried = false;
    CHECK(ictusi_clock_fit_error(&fit, 1, FROM) == -1);
    fit.clock_of = NULL; /* nor is anything known where there was nothing to fit */
    CHECK(ictusi_clock_fit_error(&fit, 1, FROM) == -1);
    fit.tried = true;
    fit.model.error = NULL;
    CHECK(ictusi_clock_fit_error(&fit, 1, FROM) == -1);
}

static double number_at(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

static void fits_are_told(void)
{
    struct clock_fit fit = made_fit();
    json_t *object = json_object();
    ictusi_clock_fit_json(&fit, object);
    CHECK_STR(json_string_value(json_object_get(object, "clock_model")), "walk");
    CHECK_NEAR(number_at(object, "clock_walk"), 3e-9, 0);
    CHECK_NEAR(number_at(object, "clock_error_ns"), 5000, 1e-9);
    CHECK_NEAR(number_at(object, "clock_moved_ns"), (6 + 40 * 0.5) * 1e3, 1e-9);
    CHECK(number_at(object, "thread_clocks") == 1);
    CHECK(!json_object_get(object, "clock_refused"));
    const json_t *clocks = json_object_get(object, "clocks");
    REQUIRE(json_array_size(clocks) == 3);
    const json_t *clock = json_array_get(clocks, 1);
    CHECK(number_at(clock, "clock") == 1);
    REQUIRE(json_array_size(json_object_get(clock, "moved_ns")) == 9);
    CHECK_NEAR(item(clock, "moved_ns", 0), -4e3, 1e-9);
    CHECK_NEAR(item(clock, "moved_ns", 2), -5e3, 1e-9);
    CHECK_NEAR(item(clock, "moved_ns", 3), -(5.5 + 20) * 1e3, 1e-9);
    CHECK_NEAR(item(clock, "moved_ns", 8), -(10 + 15) * 1e3, 1e-9);
    CHECK_NEAR(item(clock, "error_ns", 6), 3.5e3, 1e-9);
    const json_t *jumps = json_object_get(object, "clock_jumps");
    REQUIRE(json_array_size(jumps) == 2);
    const json_t *jump = json_array_get(jumps, 1);
    CHECK(number_at(jump, "clock") == 1);
    CHECK_NEAR(number_at(jump, "size_ns"), -5000, 1e-9);
    CHECK_NEAR(number_at(jump, "error_ns"), 1500, 1e-9);
    CHECK(number_at(jump, "after") == 2000 - 12 + RAISED);
    CHECK(number_at(jump, "before") == 2100 - 13 + RAISED);
    json_decref(object);

    object = json_object();
    fit.choice = (struct clock_choice){
        .kind = CLOCKS_BASE, .refused = CLOCKS_LINES, .moves = 0.5, .heals = 2};
    fit.jump_count = 0;
    ictusi_clock_fit_json(&fit, object);
    CHECK_STR(json_string_value(json_object_get(object, "clock_model")), "base");
    CHECK(number_at(object, "thread_clocks") == 0); /* none has been given another clock */
    CHECK_STR(json_string_value(json_object_get(object, "clock_refused")), "lines");
    CHECK_NEAR(number_at(object, "clock_refused_moves_ns"), 500, 1e-9);
    CHECK_NEAR(number_at(object, "clock_refused_heals_ns"), 2000, 1e-9);
    CHECK(!json_object_get(object, "clock_jumps"));
    json_decref(object);

    for (int i = 0; i < 3 * KNOTS; i++) { /* a microsecond is not the least of all */
        fit.model.error[i] = 0.25;
        fit.model.phi[i] = i == 4 ? -0.5 : 0.125;
    }
    object = json_object();
    ictusi_clock_fit_json(&fit, object);
    CHECK_NEAR(number_at(object, "clock_error_ns"), 250, 1e-9);
    CHECK_NEAR(number_at(object, "clock_moved_ns"), 500, 1e-9);
    json_decref(object);

    object = json_object();
    fit.tried = false;
    ictusi_clock_fit_json(&fit, object);
    CHECK(json_object_size(object) == 0);
    json_decref(object);
}

int main(void)
{
    clocks_are_found();
    jumps_are_found();
    clocks_that_are_set_run_on();
    nodes_share_clocks();
    good_clocks_are_kept();
    jumps_take_their_time();
    errors_are_told_by_instants();
    fits_are_told();
    return check_result();
}
