/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages show about clocks, against known clocks. The errors of each clock are found within
 * the stated uncertainty, more waiting and contradictory paths increase it, and nothing is stated
 * about clocks without messages both ways.
 */
#include "../check.h"

#include "talk_scene.h"

#include "waits/message_errors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The errors computed from the messages of a world. */
struct view {
    struct scene *scene;
    struct session *session;
    struct histories h;
};

/* fitted: number of knots */
static struct view view_open(const struct world *w, uint32_t fitted)
{
    struct scene *s = scene_make(w);
    struct view v = {.scene = s,
                     .session = &s->session,
                     .h = {.clock_of = s->numbers,
                           .home = s->homes, /* one clock per location */
                           .clock_count = CLOCKS,
                           .clocks = calloc(CLOCKS, sizeof *v.h.clocks)}};
    REQUIRE(v.h.clocks);
    REQUIRE(!ictusi_message_errors(&v.h, &s->session, fitted));
    return v;
}

static void view_close(struct view *v)
{
    v->h.clock_of = v->h.home = NULL; /* owned by the scene */
    ictusi_histories_free(&v->h);
    scene_free(v->scene);
}

/* The path is half of the shortest round trip; each way may differ by 0.3 of it, uniformly. */
static const double path_sigma = 0.3 * PATH / 2.449489742783178; /* sqrt(6) */

static void offsets_are_found(uint32_t knots)
{
    const struct world w = {
        .off = {0, 9000, -4000, 600}, .drift = {0, 2e-7, -1e-7, 0}, .wait = 200, .silent = -1};
    struct view s = view_open(&w, knots);
    REQUIRE(s.h.source == SIGMA_MESSAGES);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        const struct clock_errors *e = &s.h.clocks[c];
        REQUIRE(e->count == knots);
        for (uint32_t k = 0; k < knots; k++) {
            const double at = (double)(s.session->to - s.session->from) * k / (knots - 1);
            const double truth = w.off[c] + w.drift[c] * at - w.off[0] - w.drift[0] * at;
            CHECK_NEAR((double)e->times[k], (double)s.session->from + at, 1);
            /* Half of a wait; for clocks that may walk, also a drift up to the next knot. */
            const double part = knots > 2 ? 0.5 / (knots - 1) : 0;
            const double within = 100 + 3e-7 * part * (double)(s.session->to - s.session->from);
            CHECK_NEAR(e->off[k] - s.h.clocks[0].off[k], truth, within);
            /* The first clock is the one to which the others are compared. */
            CHECK(c == 0 ? e->sigma[k] == 0
                         : e->sigma[k] > 0.5 * path_sigma && e->sigma[k] < 1.5 * path_sigma);
            double square = 0;
            for (int d = 0; d < HISTORIES; d++) {
                const double draw = e->history[k * HISTORIES + (uint32_t)d];
                square += draw * draw / HISTORIES;
            }
            CHECK_NEAR(sqrt(square), e->sigma[k], 1e-6 * e->sigma[k]); /* as large as stated */
        }
    }
    view_close(&s);
}

/*
 * Histories are drawn from normal distributions, so that none of them decides what all show
 * together. Clocks that walk keep half of the variance that waiting leaves from one knot to the
 * next.
 */
static void histories_are_normal(void)
{
    const uint32_t knots = 5;
    const struct world w = {.wait = 12000, .silent = -1};
    struct view s = view_open(&w, knots);
    double kept = 0;
    int pairs = 0;
    for (uint32_t c = 1; c < CLOCKS; c++) {
        const struct clock_errors *e = &s.h.clocks[c];
        double fourth = 0;
        for (uint32_t k = 0; k < knots; k++) {
            for (uint32_t d = 0; d < HISTORIES; d++) {
                const double draw = e->history[k * HISTORIES + d] / e->sigma[k];
                fourth += draw * draw * draw * draw / HISTORIES / knots;
                CHECK(fabs(draw) < 4);
            }
            for (uint32_t other = 0; other < k; other++, pairs++) {
                for (uint32_t d = 0; d < HISTORIES; d++) {
                    kept += e->history[k * HISTORIES + d] / e->sigma[k] *
                            e->history[other * HISTORIES + d] / e->sigma[other] / HISTORIES;
                }
            }
        }
        CHECK_NEAR(fourth, 3, 1.2);
    }
    CHECK_NEAR(kept / pairs, 0.5, 0.15);
    view_close(&s);
}

/* Clocks that are trusted may be anywhere between their own time and what messages show. */
static void beliefs_are_doubted(void)
{
    const struct world w = {.off = {0, 3000, -2000, 500}, .wait = 200, .silent = -1};
    struct view fitted = view_open(&w, 2);
    struct view believed = view_open(&w, 0);
    REQUIRE(believed.h.source == SIGMA_MESSAGES && believed.h.clocks[0].count == 2);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        for (uint32_t k = 0; k < 2; k++) {
            const double off = fitted.h.clocks[c].off[k];
            const double sigma = fitted.h.clocks[c].sigma[k];
            CHECK(believed.h.clocks[c].off[k] == 0);
            CHECK_NEAR(believed.h.clocks[c].sigma[k], sqrt(sigma * sigma + off * off / 3), 1e-6);
        }
    }
    view_close(&fitted);
    view_close(&believed);
}

/*
 * If messages wait for so long that clocks are uncertain by more than the way of a message, fitted
 * clocks stay as they are, too, and are as doubtful as others.
 */
static void wide_bounds_move_nothing(void)
{
    const struct world w = {.off = {0, 3000, -2000, 500}, .wait = 400000, .silent = -1};
    struct view fitted = view_open(&w, 2);
    struct view believed = view_open(&w, 0);
    REQUIRE(fitted.h.source == SIGMA_MESSAGES);
    for (uint32_t c = 1; c < CLOCKS; c++) {
        for (uint32_t k = 0; k < 2; k++) {
            CHECK(fitted.h.clocks[c].off[k] == 0);
            CHECK(fitted.h.clocks[c].sigma[k] > PATH);
            CHECK(fitted.h.clocks[c].sigma[k] == believed.h.clocks[c].sigma[k]);
        }
    }
    view_close(&fitted);
    view_close(&believed);
}

static double largest_sigma(const struct world *w)
{
    struct view s = view_open(w, 2);
    double largest = 0;
    REQUIRE(s.h.source == SIGMA_MESSAGES);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        largest = fmax(largest, fmax(s.h.clocks[c].sigma[0], s.h.clocks[c].sigma[1]));
    }
    view_close(&s);
    return largest;
}

static void doubts_grow(void)
{
    const double prompt = largest_sigma(&(struct world){.wait = 1, .silent = -1});
    const double waiting = largest_sigma(&(struct world){.wait = 40000, .silent = -1});
    /*
     * Between two of four clocks that all exchange messages, there is half of a pair's variance.
     * Three loops that close exactly make it smaller; four loops are presumed not to close.
     */
    CHECK_NEAR(prompt, path_sigma * sqrt(0.5 * 4 / 7), 0.1 * prompt);
    CHECK(waiting > 5 * prompt);
    /* Around a triangle of clocks errors add up to zero; here they do not. */
    const double odd = largest_sigma(&(struct world){.wait = 1, .longer = 9 * PATH, .silent = -1});
    CHECK(odd > 1.5 * prompt);
}

/* What lines leave whose middle lies within +-a, and their ends within +-b: the mean squares of the
 * middle, and of the distance from there to the end. */
static void lines_spread(double a, double b, double *middle, double *slope)
{
    const double all = a * b - a * a / 2;
    *middle = a * a * a * (b / 3 - a / 4) / all;
    *slope = (pow(b, 4) - pow(b - a, 4)) / 12 / all;
}

/*
 * Where all messages wait for the same time, but for those of one round in the middle, all errors
 * can be worked out on paper. Of four clocks all talk to each other: half of a pair's variance is
 * left, less what three loops without contradictions tell, and two clocks' own parts.
 */
static void errors_are_as_large_as_said(void)
{
    static const double late[] = {0, 600, 1200, 2000, 3000};
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        const struct world w = {.late = late[i], .silent = -1};
        struct view s = view_open(&w, 2);
        /* The least delay of four exceeds the next ones by so much each: a third. */
        const double excess = sqrt(1.5) * late[i] / 3;
        const double a = fmin(PATH, fmax(0.5, excess));
        double middle = 0;
        double slope = 0;
        lines_spread(a, a + late[i], &middle, &slope);
        const double paths = 0.15 * (middle + slope) + path_sigma * path_sigma;
        const double own = 0.1 * (middle + slope);
        const double wanted = sqrt(0.5 * paths * 4 / 7 + 2 * own);
        for (uint32_t c = 1; c < CLOCKS; c++) {
            for (uint32_t k = 0; k < 2; k++) {
                /* The round is not quite in the middle, nor are there messages at the ends. */
                CHECK_NEAR(s.h.clocks[c].sigma[k], wanted, (i ? 0.02 : 0.0005) * wanted);
                CHECK_NEAR(s.h.clocks[c].off[k], 0, i ? 0.06 * wanted : 0.5);
            }
        }
        view_close(&s);
    }
}

/* How alike two clocks' histories are at two knots. */
static double histories_share(const struct clock_errors *a, uint32_t k,
                              const struct clock_errors *b, uint32_t other)
{
    double sum = 0;
    for (uint32_t d = 0; d < HISTORIES; d++) {
        sum += a->history[k * HISTORIES + d] * b->history[other * HISTORIES + d] / HISTORIES;
    }
    return sum / a->sigma[k] / b->sigma[other];
}

/*
 * If nothing waits, a clock errs by the asymmetry of its paths, at both ends alike. If all wait,
 * hardly any line is known: its ends may be on either side of its middle. The error of the clock
 * that the others are compared to is part of all of theirs. In each history something is wrong.
 */
static void histories_hang_together(void)
{
    struct view prompt = view_open(&(struct world){.silent = -1}, 2);
    struct view waiting = view_open(&(struct world){.late = 3000, .silent = -1}, 2);
    double shared = 0;
    for (uint32_t c = 1; c < CLOCKS; c++) {
        const struct clock_errors *e = &prompt.h.clocks[c];
        const struct clock_errors *w = &waiting.h.clocks[c];
        for (uint32_t d = 0; d < HISTORIES; d++) {
            CHECK_NEAR(e->history[d], e->history[HISTORIES + d], 3);
            CHECK(e->history[d] != 0 && w->history[d] != 0);
        }
        CHECK(histories_share(w, 0, w, 1) < -0.4);
        shared += histories_share(w, 0, &waiting.h.clocks[c % 3 + 1], 0) / 3;
    }
    CHECK_NEAR(shared, 0.5, 0.2);
    view_close(&prompt);
    view_close(&waiting);
}

/* Trusted clocks are as wrong, in each history, as a share of what messages show, which is one for
 * all clocks and all times. */
static void doubts_are_shared(void)
{
    const struct world w = {.off = {0, 30000, -20000, 50000}, .silent = -1};
    struct view fitted = view_open(&w, 2);
    struct view believed = view_open(&w, 0);
    double square = 0;
    for (uint32_t d = 0; d < HISTORIES; d++) {
        const double share = believed.h.clocks[1].history[d] / fitted.h.clocks[1].off[0];
        square += share * share / HISTORIES;
        for (uint32_t i = 0; i < 2 * CLOCKS; i++) {
            const struct clock_errors *e = &believed.h.clocks[i / 2];
            CHECK_NEAR(e->history[i % 2 * HISTORIES + d], share * fitted.h.clocks[i / 2].off[i % 2],
                       1000);
        }
    }
    CHECK_NEAR(square, 1.0 / 3, 0.2); /* uniform between none and all of it, as far as squares go */
    view_close(&fitted);
    view_close(&believed);
}

/*
 * Between threads there is no path of known length: any line within the bounds is equally likely.
 * Its value at either end is uniform there. That does not concern processes.
 */
static void threads_have_no_path(void)
{
    const struct world w = {.wait = 1, .silent = -1, .thread = true};
    struct view s = view_open(&w, 2);
    const double sigma = s.h.clocks[CLOCKS - 1].sigma[0];
    const double home = s.h.clocks[CLOCKS - 2].sigma[0];
    CHECK(s.h.source == SIGMA_MESSAGES);
    /* And a tenth of its variance is the thread's own. */
    CHECK_NEAR(sqrt(sigma * sigma - home * home), PATH * sqrt(1.1 / 3), 0.015 * PATH);
    CHECK(home < 0.15 * PATH);
    view_close(&s);
}

/* A clock that only listens may show any time. */
static void silence_tells_nothing(void)
{
    const struct world w = {.wait = 200, .silent = 2};
    struct view s = view_open(&w, 2);
    CHECK(s.h.source == SIGMA_UNKNOWN);
    s.session->to = s.session->from; /* nor does a run of length zero */
    CHECK(!ictusi_message_errors(&s.h, s.session, 2) && s.h.source == SIGMA_UNKNOWN);
    view_close(&s);
}

int main(void)
{
    offsets_are_found(2);
    offsets_are_found(3);
    offsets_are_found(5);
    histories_are_normal();
    beliefs_are_doubted();
    wide_bounds_move_nothing();
    doubts_grow();
    errors_are_as_large_as_said();
    histories_hang_together();
    doubts_are_shared();
    threads_have_no_path();
    silence_tells_nothing();
    return check_result();
}
