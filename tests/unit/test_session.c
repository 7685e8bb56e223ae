/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a session finds out before anything is corrected: its span, how long messages take at least,
 * and by how much all times are raised so that none is negative.
 */
#include "talk_scene.h"

#include <ictus/correct.h>
#include <ictus/error.h>

/* Each process on a node of its own, with clocks as they are. */
static struct session *session_of(struct scene *s)
{
    struct session *session = &s->session;
    session->unit_of = calloc(CLOCKS, sizeof *session->unit_of);
    session->process_of = calloc(CLOCKS, sizeof *session->process_of);
    REQUIRE(session->unit_of && session->process_of);
    ictusi_session_set_units(session, NULL);
    session->latency = (struct latency){.units = session->unit_count,
                                        .unit_of = session->unit_of,
                                        .process_of = session->process_of,
                                        .least = 1};
    return session;
}

static void session_drop(struct scene *s)
{
    ictusi_presync_free(s->session.maps, CLOCKS);
    free(s->session.latency.table);
    free(s->session.unit_of);
    free(s->session.process_of);
    scene_free(s);
}

static int64_t least_of(const struct session *s, uint32_t from, uint32_t to)
{
    REQUIRE(s->latency.table);
    return s->latency.table[from * CLOCKS + to];
}

/* Times that somebody states hold for all pairs; of parts of a tick nobody knows. */
static void stated_times_hold(void)
{
    static const struct {
        double network_s, node_s;
        int64_t network, node, least;
    } cases[] = {{3e-6, 1e-6, 3000, 1000, 1000},
                 {3e-6, 5e-6, 3000, 5000, 3000},
                 {3e-6, -1, 3000, 3000, 3000},
                 {2.9e-9, 0, 2, 1, 1},
                 {0, 7e-9, 1, 7, 1},
                 {1.9e-9, -1, 1, 1, 1}};
    const struct world w = {.wait = 1, .silent = -1};
    struct scene *scene = scene_make(&w);
    struct session *s = session_of(scene);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        REQUIRE(!ictusi_session_latency(s, cases[i].network_s, cases[i].node_s));
        for (uint32_t cell = 0; cell < CLOCKS * CLOCKS; cell++) {
            const bool same = cell / CLOCKS == cell % CLOCKS;
            CHECK(least_of(s, cell / CLOCKS, cell % CLOCKS) ==
                  (same ? cases[i].node : cases[i].network));
        }
        CHECK(s->latency.least == cases[i].least);
    }
    s->unit_count = 1 << 20; /* too many for a table of all pairs: the least holds for all */
    REQUIRE(!ictusi_session_latency(s, 3e-6, 2e-6));
    CHECK(!s->latency.table && s->latency.least == 2000);
    session_drop(scene);
}

/*
 * Estimated, it is a quarter of the least round trip, or less where that is what was seen; where a
 * pair seldom talks, what the shortest one has. Within a clock it is a tick, unless it is stated.
 */
static void times_are_estimated(void)
{
    const struct world even = {.wait = 1, .silent = -1};
    const struct world odd = {.wait = 1, .longer = 9 * PATH, .silent = -1};
    const struct world quiet = {.wait = 1, .silent = 2};
    struct scene *scene = scene_make(&even);
    struct session *s = session_of(scene);
    REQUIRE(!ictusi_session_latency(s, -1, -1));
    for (uint32_t cell = 0; cell < CLOCKS * CLOCKS; cell++) {
        const bool same = cell / CLOCKS == cell % CLOCKS;
        CHECK_NEAR(least_of(s, cell / CLOCKS, cell % CLOCKS), same ? 1 : PATH / 2, same ? 0 : 2);
    }
    CHECK(s->latency.least == 1);
    REQUIRE(!ictusi_session_latency(s, -1, 4e-9));
    CHECK(least_of(s, 2, 2) == 4);
    CHECK_NEAR(least_of(s, 2, 1), PATH / 2, 2);
    session_drop(scene);
    scene = scene_make(&odd);
    s = session_of(scene);
    REQUIRE(!ictusi_session_latency(s, -1, -1));
    CHECK_NEAR(least_of(s, 0, 1), 11 * PATH / 4, 2);
    CHECK_NEAR(least_of(s, 1, 0), PATH, 2);
    CHECK_NEAR(least_of(s, 0, 2), PATH / 2, 2);
    session_drop(scene);
    scene = scene_make(&quiet);
    s = session_of(scene);
    REQUIRE(!ictusi_session_latency(s, -1, -1));
    int64_t shortest = INT64_MAX;
    for (uint32_t cell = 0; cell < CLOCKS * CLOCKS; cell++) {
        const int64_t ticks = s->latency.table[cell];
        shortest = cell / CLOCKS != cell % CLOCKS && ticks < shortest ? ticks : shortest;
    }
    CHECK_NEAR(least_of(s, 0, 1), PATH / 2, 2);
    CHECK(least_of(s, 0, 2) == shortest);
    session_drop(scene);
}

/*
 * A pair is known if it talks both ways in half of sixteen stretches of time; if it talks in less,
 * whichever way, it gets what the shortest pair has.
 */
static void seldom_is_unknown(void)
{
    enum { SEVEN = 26, EIGHT = 30 }; /* rounds in so many stretches */
    static const struct {
        int forth, back;
        bool known;
    } cases[] = {{EIGHT, EIGHT, true},  {EIGHT, 0, true},     {0, EIGHT, true},
                 {SEVEN, 0, false},     {0, SEVEN, false},    {SEVEN, EIGHT, false},
                 {EIGHT, SEVEN, false}, {SEVEN, SEVEN, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct world w = {
            .wait = 1, .longer = 9 * PATH, .silent = -1, .rounds = {cases[i].forth, cases[i].back}};
        struct scene *scene = scene_make(&w);
        struct session *s = session_of(scene);
        REQUIRE(!ictusi_session_latency(s, -1, -1));
        CHECK_NEAR(least_of(s, 0, 1), cases[i].known ? 11 * PATH / 4 : PATH / 2, 2);
        CHECK_NEAR(least_of(s, 1, 0), cases[i].known ? PATH : PATH / 2, 2);
        CHECK_NEAR(least_of(s, 1, 2), PATH / 2, 2);
        session_drop(scene);
    }
}

/* A reader that applies the archive's own offsets sees other times; the recorded ones stay. */
static void times_are_read(void)
{
    const struct world w = {.wait = 1, .silent = -1};
    struct scene *scene = scene_make(&w);
    struct session *s = session_of(scene);
    struct clock_offset offsets[CLOCKS][2];
    for (uint32_t c = 0; c < CLOCKS; c++) {
        const int64_t offset = 5000 + 70000 * (int64_t)c;
        offsets[c][0] = (struct clock_offset){BEGIN, offset, 0};
        offsets[c][1] = (struct clock_offset){(uint64_t)(BEGIN + talk_ticks), 3 * offset, 0};
        scene->locations[c].offsets = offsets[c];
        scene->locations[c].offset_count = c == 2 ? 0 : 2;
    }
    REQUIRE(!ictusi_session_as_read(s));
    const struct points *points = &s->history.points;
    for (uint32_t c = 0; c < CLOCKS; c++) {
        const double offset = c == 2 ? 0 : 5000 + 70000.0 * c;
        double worst = 0;
        for (uint32_t i = 0; i < scene->counts[c]; i++) {
            const uint64_t point = s->history.first[c] + i;
            const int64_t time = scene->events[c][i].time;
            const double share = (double)(time - BEGIN) / talk_ticks;
            const double read = (double)(points->value[point] - time);
            worst = fmax(worst, fabs(read - offset * (1 + 2 * share)));
            REQUIRE(points->time[point] == time);
        }
        CHECK(scene->counts[c] > 100 && worst <= 1);
    }
    session_drop(scene);
}

static void spans_are_found(void)
{
    const struct world w = {.off = {0, -50, 0, 70}, .wait = 1, .silent = -1};
    struct scene *scene = scene_make(&w);
    struct session *s = session_of(scene);
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (uint32_t c = 0; c < CLOCKS; c++) {
        for (uint32_t i = 0; i < scene->counts[c]; i++) {
            const int64_t time = scene->events[c][i].time;
            first = time < first ? time : first;
            last = time > last ? time : last;
        }
    }
    s->from = s->to = 0;
    CHECK(!ictusi_session_span(s) && s->from == first && s->to == last);
    for (uint32_t l = 1; l <= CLOCKS; l++) { /* nobody has recorded anything */
        s->history.first[l] = s->history.first[0];
    }
    CHECK(!ictusi_session_span(s) && s->from == 0 && s->to == 0);
    session_drop(scene);
}

/* All times are raised alike if the first would be negative, be it that of the archive itself. */
static void times_are_raised(void)
{
    for (int64_t offset = -300000; offset <= 300000; offset += 100000) {
        const struct world w = {.wait = 1, .silent = -1};
        struct scene *scene = scene_make(&w);
        struct session *s = session_of(scene);
        struct clock_offset offsets[] = {{BEGIN, offset, 0}};
        scene->locations[1].offsets = offsets;
        scene->locations[1].offset_count = 1;
        REQUIRE(!ictusi_session_presync(s, PRESYNC_OFFSET));
        const int64_t by = offset < 0 ? -offset : 0;
        const int64_t from = s->from;
        const int64_t to = s->to;
        ictusi_session_raise(s);
        CHECK(s->raised == by && s->from == from + by && s->to == to + by);
        for (uint32_t c = 0; c < CLOCKS; c++) {
            const int64_t *times = &s->history.points.time[s->history.first[c]];
            for (uint32_t i = 0; i < scene->counts[c]; i++) {
                const int64_t wanted = scene->events[c][i].time + (c == 1 ? offset : 0) + by;
                REQUIRE(times[i] == wanted);
                uint32_t hint = 0;
                REQUIRE(clock_map_at(&s->maps[c], scene->events[c][i].time, &hint) == wanted);
            }
        }
        session_drop(scene);
    }
}

/* Without processes and nodes, all read one clock; else those of a node do, or of a process. */
static void units_are_shared(void)
{
    const struct world w = {.wait = 1, .silent = -1};
    struct scene *scene = scene_make(&w);
    struct session *s = session_of(scene);
    CHECK(s->unit_count == s->trace->layout.node_count && s->thread_units == 0);
    struct layout bare = {.location_count = CLOCKS, .locations = s->trace->layout.locations};
    const struct layout whole = s->trace->layout;
    uint32_t processes[CLOCKS];
    for (uint32_t i = 0; i < CLOCKS; i++) {
        processes[i] = bare.locations[i].process;
        bare.locations[i].process = LAYOUT_NONE;
    }
    s->trace->layout = bare;
    ictusi_session_set_units(s, NULL);
    CHECK(s->unit_count == 1 && s->latency.units == 1 && s->thread_units == 0);
    for (uint32_t i = 0; i < CLOCKS; i++) {
        CHECK(s->process_of[i] == i); /* and nobody is known to be of one process */
        bare.locations[i].process = processes[i];
    }
    s->trace->layout = whole;
    session_drop(scene);
}

/* Arguments that cannot be left out. */
static void arguments_are_needed(void)
{
    json_t *report = NULL;
    struct ictus_why why = {""};
    CHECK(ictus_check(NULL, &report, &why) == ICTUS_ERR_ARG && !report);
    CHECK(ictus_check("/nowhere/traces.otf2", NULL, &why) == ICTUS_ERR_ARG);
}

int main(void)
{
    stated_times_hold();
    times_are_estimated();
    seldom_is_unknown();
    times_are_read();
    spans_are_found();
    times_are_raised();
    units_are_shared();
    arguments_are_needed();
    return check_result();
}
