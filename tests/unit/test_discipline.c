/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The discipline, measurement by measurement, against a filter bank written with matrices as in the
 * papers; and its reaction to three outliers in a row.
 */
#include "core/random.h"
#include "lock/discipline.h"

#include <string.h>

#include "../check.h"

static const int64_t second = 1000000000;

enum { BANK = DISCIPLINE_WALKS * DISCIPLINE_SCALES };

/* Phase and frequency, and their covariance. */
struct state {
    double x[2], p[2][2];
};

struct model {
    struct state bank[BANK], own; /* the last one is for the classic loops */
    double like[BANK];
    double walk, scale, noise, measured, bias, bias2;
    double at_s, last_s, first_s, innovation;
    int accepted;
    bool warm;
    struct stability told;
};

static double bank_walk(int i)
{
    return 1e-4 * pow(10.0, (double)(i / DISCIPLINE_SCALES)); /* NOLINT: the row */
}

static double bank_scale(int i)
{
    return pow(4.0, i % DISCIPLINE_SCALES - 2);
}

/* x' = F x, P' = F P F' + Q. */
static void state_carry(struct state *s, double dt, double walk)
{
    const double(*p)[2] = (const double(*)[2])s->p;
    const double next[2][2] = {
        {p[0][0] + dt * (p[0][1] + p[1][0]) + dt * dt * p[1][1], p[0][1] + dt * p[1][1]},
        {p[1][0] + dt * p[1][1], p[1][1]}};
    const double q[2][2] = {{walk * dt * dt * dt / 3 + 1e-4 * dt, walk * dt * dt / 2},
                            {walk * dt * dt / 2, walk * dt}};
    s->x[0] += dt * s->x[1];
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            s->p[i][k] = next[i][k] + q[i][k];
        }
    }
}

/* x' = x + K e, P' = (I - K H) P (I - K H)' + K R K' for any gain K. */
static void state_correct(struct state *s, double e, double noise, const double gain[2])
{
    const double a[2][2] = {{1 - gain[0], 0}, {-gain[1], 1}};
    struct state next = {{s->x[0] + gain[0] * e, s->x[1] + gain[1] * e}, {{0}}};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            next.p[i][k] = gain[i] * gain[k] * noise;
            for (int m = 0; m < 4; m++) {
                next.p[i][k] += a[i][m / 2] * s->p[m / 2][m % 2] * a[k][m % 2];
            }
        }
    }
    *s = next;
}

static void state_correct_best(struct state *s, double z, double noise)
{
    const double var = s->p[0][0] + noise;
    const double gain[2] = {s->p[0][0] / var, s->p[1][0] / var};
    state_correct(s, z - s->x[0], noise, gain);
}

/* The mixture by weight: the mean, and the covariance including the scatter of the means. */
static void model_blend(struct model *m, enum ictus_lock_loop loop)
{
    double most = m->like[0], sum = 0.0, walk = 0.0, scale = 0.0;
    struct state mean = {{0}, {{0}}};
    for (int i = 0; i < BANK; i++) {
        most = fmax(most, m->like[i]);
    }
    for (int i = 0; i < BANK; i++) {
        sum += exp(m->like[i] - most);
    }
    for (int i = 0; i < BANK; i++) {
        const double w = exp(m->like[i] - most) / sum;
        mean.x[0] += w * m->bank[i].x[0];
        mean.x[1] += w * m->bank[i].x[1];
        walk += w * log(bank_walk(i));
        scale += w * log(bank_scale(i));
    }
    for (int i = 0; i < BANK; i++) {
        for (int at = 0; at < 4; at++) {
            const int r = at / 2, c = at % 2;
            mean.p[r][c] += exp(m->like[i] - most) / sum *
                            (m->bank[i].p[r][c] +
                             (m->bank[i].x[r] - mean.x[r]) * (m->bank[i].x[c] - mean.x[c]));
        }
    }
    m->walk = exp(walk);
    m->scale = exp(scale);
    if (loop == ICTUS_LOCK_ADAPTIVE) {
        m->own = mean;
    }
}

static void model_start(struct model *m, double at_s, double z, double noise)
{
    memset(m, 0, sizeof(*m));
    m->walk = m->scale = 1.0;
    m->own = (struct state){{z, 0}, {{noise, 0}, {0, 1e10}}};
    for (int i = 0; i < BANK; i++) {
        const double decades = log10(bank_walk(i)) / 2, fours = log(bank_scale(i)) / log(4.0);
        m->bank[i] = m->own;
        m->bank[i].p[0][0] *= bank_scale(i);
        m->like[i] = -0.5 * (decades * decades + fours * fours);
    }
    m->noise = noise;
    m->at_s = m->last_s = m->first_s = at_s;
    m->accepted = 1;
    ictusi_stability_add(&m->told, llround(at_s * 1e9), z, noise);
}

/* Predict, and update the weights by how well each predicted. @return whether it is held */
static bool model_predict(struct model *m, double at_s, double z, double noise)
{
    const double dt = at_s - m->at_s;
    state_carry(&m->own, dt, m->walk);
    for (int i = 0; i < BANK; i++) {
        state_carry(&m->bank[i], dt, bank_walk(i));
        if (m->accepted >= 4) {
            const double var = m->bank[i].p[0][0] + bank_scale(i) * noise;
            const double e = z - m->bank[i].x[0];
            m->like[i] = m->like[i] * (1 - 1 / 200.0) - log(var) / 2 - fmin(e * e / var, 16) / 2;
        }
    }
    m->at_s = at_s;
    m->innovation = z - m->own.x[0];
    return m->accepted >= 4 &&
           fabs(m->innovation) > 3 * sqrt(m->own.p[0][0] + noise * fmax(1, m->scale));
}

/* The mean innovation over about six measurements, compared with what chance would give. */
static void model_lean(struct model *m, enum ictus_lock_loop loop, double since, double noise)
{
    const double expected = (m->own.p[0][0] + noise * m->scale) / 11; /* g / (2 - g) of it */
    m->bias += (m->innovation - m->bias) / 6;
    m->bias2 = m->bias2 > 0 ? m->bias2 + (expected - m->bias2) / 6 : expected;
    if (m->accepted < 4 || m->bias * m->bias < 9 * m->bias2) {
        return;
    }
    for (int i = 0; i < BANK; i++) {
        m->bank[i].p[1][1] += m->bias * m->bias / (since * since);
    }
    m->own.p[1][1] += loop == ICTUS_LOCK_ADAPTIVE ? m->bias * m->bias / (since * since) : 0;
}

static void model_correct_classic(struct model *m, enum ictus_lock_loop loop, double tconf,
                                  double z, double noise, double dt)
{
    const double scaled = noise * m->scale;
    double gain[2] = {1, 1 / (dt + tconf)};
    if (loop == ICTUS_LOCK_PLL) {
        gain[0] = 1 - exp(-2 * dt / tconf);
        gain[1] = gain[0] * gain[0] / (4 * dt);
    }
    m->warm |= m->accepted >= 4 && m->own.p[0][1] / (m->own.p[0][0] + scaled) < gain[1];
    m->warm |= m->at_s - m->first_s > tconf;
    if (m->warm) {
        state_correct(&m->own, m->innovation, scaled, gain);
    } else {
        state_correct_best(&m->own, z, scaled);
    }
}

static void model_accept(struct model *m, enum ictus_lock_loop loop, double tconf, double z,
                         double noise)
{
    const double since = m->at_s - m->last_s;
    const double scaled = noise * m->scale;
    model_lean(m, loop, since, noise);
    for (int i = 0; i < BANK; i++) {
        state_correct_best(&m->bank[i], z, noise * bank_scale(i));
    }
    if (loop != ICTUS_LOCK_ADAPTIVE) {
        model_correct_classic(m, loop, tconf, z, noise, since);
    }
    if (m->accepted >= 2) {
        const double share = 1 / fmin(32, m->accepted - 1);
        m->noise += share * (scaled - m->noise);
        m->measured += share * (m->innovation * m->innovation - m->measured);
    }
    m->accepted++;
    m->last_s = m->at_s;
    model_blend(m, loop);
    ictusi_stability_add(&m->told, llround(m->at_s * 1e9), z, noise * m->scale);
}

#define CHECK_CLOSE(value, wanted) CHECK_NEAR(value, wanted, 1e-6 * fabs(wanted) + 1e-9)

static void compare(const struct discipline *d, const struct model *m)
{
    CHECK_NEAR(d->state.phase, m->own.x[0], 1e-3);
    CHECK_NEAR(d->state.frequency, m->own.x[1], 1e-3);
    CHECK_CLOSE(d->state.pp, m->own.p[0][0]);
    CHECK_CLOSE(d->state.ff, m->own.p[1][1]);
    CHECK_NEAR(d->state.pf, m->own.p[0][1], 1e-6 * sqrt(m->own.p[0][0] * m->own.p[1][1]));
    CHECK_CLOSE(d->walk_ns2_per_s3, m->walk);
    CHECK_CLOSE(d->scale, m->scale);
    CHECK_CLOSE(d->noise_ns2, m->noise);
    CHECK_NEAR(d->measured_ns2, m->measured, 1e-6 * m->measured + 1e-3);
    CHECK_NEAR(d->bias_ns, m->bias, 1e-3);
    CHECK_CLOSE(d->bias_ns2, m->bias2);
    CHECK(d->accepted == (uint64_t)m->accepted && d->warm == m->warm);
    const size_t count = m->told.count;
    CHECK(d->stability.count == count && count <= STABILITY_WINDOW);
    CHECK(memcmp(d->stability.at, m->told.at, sizeof(m->told.at)) == 0);
    for (size_t i = 0; i < STABILITY_WINDOW; i++) {
        CHECK(d->stability.phase_ns[i] == m->told.phase_ns[i]);
    }
    CHECK_CLOSE(d->stability.variance_ns2[count - 1], m->told.variance_ns2[count - 1]);
    CHECK(d->last_at == m->told.at[count - 1] && d->last_phase == m->told.phase_ns[count - 1]);
}

/*
 * An oscillator that runs evenly and then accelerates, seen through noise of 100 ns; every 37th
 * measurement is off by a millisecond. Both must agree after each measurement.
 */
static void filters_agree(enum ictus_lock_loop loop, double tconf, uint64_t seed)
{
    static struct discipline d;
    static struct model m;
    static const struct stability nothing;
    struct rng rng;
    const double ramp = loop == ICTUS_LOCK_ADAPTIVE ? 0.8 : 0.01; /* ns/s each s */
    const double told = seed % 2 ? 1e4 : 2e3;                     /* ns^2; the truth is 1e4 */
    double at_s = 10.0, truth = 0.0, rate = 3000.0;
    ictusi_random_seed(&rng, seed, 5);
    ictusi_discipline_init(&d, loop, 0.0, tconf);
    CHECK(memcmp(d.stability.at, nothing.at, sizeof(nothing.at)) == 0);
    for (int i = 0; i < 150; i++) {
        const double noise = told * (1 + ictusi_random_uniform(&rng));
        const double z = truth + 100 * ictusi_random_normal(&rng) + (i % 37 == 20 ? 1e6 : 0);
        const struct measurement measured = {.local = (int64_t)(at_s * 16) * (second / 16),
                                             .offset_ns = 5000 + (int64_t)floor(z),
                                             .offset_frac = z - floor(z),
                                             .variance_ns2 = noise,
                                             .common_ns = i};
        const enum discipline_event event = ictusi_discipline_update(&d, &measured);
        if (i == 0) {
            CHECK(event == DISCIPLINE_FIRST && d.origin_ns == measured.offset_ns);
            model_start(&m, at_s, z - floor(z), noise);
        } else {
            const double x = (double)(measured.offset_ns - d.origin_ns) + measured.offset_frac;
            const bool held = model_predict(&m, at_s, x, noise);
            REQUIRE(event == (held ? DISCIPLINE_GLITCH : DISCIPLINE_ACCEPTED));
            CHECK(held ? d.glitches > 0 : d.glitches == 0 && d.common_ns == i);
            if (!held) {
                model_accept(&m, loop, tconf, x, noise);
            }
            compare(&d, &m);
        }
        const double dt = (1 + (i * 7) % 16) / 2.0;
        rate += i < 80 ? 0 : ramp * dt; /* the weights must learn this */
        truth += rate * dt;
        at_s += dt;
    }
    CHECK(d.rejected >= 4 && d.steps == 0 && (loop == ICTUS_LOCK_ADAPTIVE) != d.warm);
}

/* A running discipline: nothing wanders, and its noise scale is given. */
static struct discipline running(double scale)
{
    struct discipline d;
    ictusi_discipline_init(&d, ICTUS_LOCK_FLL, 0.0, 120.0);
    d.started = true;
    d.accepted = 10;
    d.scale = scale;
    d.walk_ns2_per_s3 = 0.0;
    d.bias_ns = 3.0;
    d.state = (struct kalman){.phase = 0, .frequency = 7, .pp = 1, .ff = 2};
    ictusi_stability_add(&d.stability, 0, 0.0, 1.0);
    return d;
}

/*
 * Measurements at 1, 2 and 4 s that rise by this many ns per second relative to the old frequency.
 */
static enum discipline_event three_in_a_row(struct discipline *d, double turn, double last_ns2)
{
    static const int64_t at[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        const double x = 5000 + (7 + turn) * (double)at[i];
        const struct measurement m = {.local = at[i] * second,
                                      .offset_ns = (int64_t)floor(x),
                                      .offset_frac = x - floor(x),
                                      .variance_ns2 = i == 2 ? last_ns2 : 4.0};
        const enum discipline_event event = ictusi_discipline_update(d, &m);
        if (i == 2) {
            return event;
        }
        CHECK(event == DISCIPLINE_GLITCH && d->glitches == i + 1);
    }
    return DISCIPLINE_GLITCH;
}

/*
 * On a line with another frequency, they are a turn. Their times are -4/3, -1/3 and 5/3 s from
 * their mean, with squares that sum to 14/3 s^2; the largest variance counts.
 */
static void lines_turn(void)
{
    struct discipline d = running(0.5);
    const double v = 28.0, tt = 14.0 / 3;
    CHECK(three_in_a_row(&d, 100.0, v) == DISCIPLINE_TURNED);
    CHECK(d.turns == 1 && d.steps == 0 && d.glitches == 0 && d.rejected == 3 && d.bias_ns == 0);
    CHECK(d.stability.count == 0 && d.at == 4 * second);
    CHECK_NEAR(d.state.phase, 5000 + 4 * 107.0, 1e-9);
    CHECK_NEAR(d.state.frequency, 107.0, 1e-9);
    CHECK_NEAR(d.state.pp, v / 3 + v * 25 / 9 / tt, 1e-9);
    CHECK_NEAR(d.state.pf, v * 5 / 3 / tt, 1e-9);
    CHECK_NEAR(d.state.ff, v / tt + 100 * 100 / 16.0, 1e-9);
    for (int i = 0; i < BANK; i++) {
        CHECK(d.bank[i].state.frequency == d.state.frequency && d.bank[i].state.ff == d.state.ff);
    }
    d = running(2.0); /* noisier than their variances say */
    CHECK(three_in_a_row(&d, 100.0, 1.0) == DISCIPLINE_TURNED);
    CHECK_NEAR(d.state.pp, 8.0 / 3 + 8.0 * 25 / 9 / tt, 1e-9);
}

/* No line, one with nearly the same frequency, or one that no oscillator can have: a step. */
static void others_step(void)
{
    /* 28 / (14/3) + 2 is 8; three times its root. */
    const double turns[] = {sqrt(72.0) * 0.99, -sqrt(72.0) * 0.99, 0.0, 5.1e5, -5.1e5};
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        struct discipline d = running(0.5);
        const double x = 5000 + (7 + turns[i]) * 4;
        CHECK(three_in_a_row(&d, turns[i], 28.0) == DISCIPLINE_STEPPED);
        CHECK(d.steps == 1 && d.turns == 0 && d.glitches == 0 && d.stability.count == 0);
        CHECK_NEAR((double)d.origin_ns + d.state.phase, x, 1e-6);
        CHECK(d.origin_ns == (int64_t)floor(x) && d.state.frequency == 7.0 && d.state.ff == 2.0);
        CHECK(d.state.pp == 28.0 && d.state.pf == 0.0);
    }
    struct discipline d = running(0.5);
    CHECK(three_in_a_row(&d, sqrt(72.0) * 1.01, 28.0) == DISCIPLINE_TURNED);
    d = running(0.5);
    CHECK(three_in_a_row(&d, -sqrt(72.0) * 1.01, 28.0) == DISCIPLINE_TURNED);
    d = running(3.0);
    CHECK(three_in_a_row(&d, 0.0, 28.0) == DISCIPLINE_STEPPED && d.state.pp == 84.0);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        filters_agree(ICTUS_LOCK_ADAPTIVE, 120.0, seed);
        for (int loop = ICTUS_LOCK_FLL; loop <= ICTUS_LOCK_PLL; loop++) {
            filters_agree((enum ictus_lock_loop)loop, 30.0, seed);
            filters_agree((enum ictus_lock_loop)loop, 200.0, seed);
        }
    }
    lines_turn();
    others_step();
    return check_result();
}
