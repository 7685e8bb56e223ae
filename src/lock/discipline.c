/* SPDX-License-Identifier: BSD-3-Clause */
/* The Autolock discipline. */
#include "discipline.h"

#include <math.h>
#include <string.h>

/* Prior standard deviation of the frequency (ns/s). No crystal is off by more. */
static const double frequency_prior = 1e5;

/* Phase noise of the oscillator itself (white frequency), ns^2 per s. */
static const double phase_walk = 1e-4;

/* Standard deviations beyond which a measurement is held to be a glitch. */
static const double glitch_sd = 3.0;

/* The mean of the innovations, which shows whether they lean to one side, is taken over about
 * this many. */
static const double bias_gain = 1.0 / 6.0;

/*
 * A mean innovation that exceeds this many times its variance is counted as error, or makes all
 * hypotheses doubt their frequency.
 */
static const double bias_told = 1.5;
static const double bias_answered = 9.0;

/* Likelihoods and noise are averaged over about this many measurements. */
static const double memory = 200.0;
static const double noise_memory = 32.0;

/* A log-likelihood changes by no more than that of a deviation of 4 standard deviations. */
static const double surprise_max = 16.0;

/* The bank: random walks from 1e-11 to 3e-7 per root second, and noise from 1/16 to 16 times. */
static const double walk_smallest = 1e-4; /* (0.01 ns/s)^2 per s */
static const double walk_factor = 10.0;
static const double scale_smallest = 0.0625;
static const double scale_factor = 4.0;

/* The largest frequency (ns/s), 500 ppm as for the kernel's clock. */
static const double frequency_max = 5e5;

void ictusi_discipline_init(struct discipline *d, enum ictus_lock_loop loop, double sigma_ns,
                            double tconf_s)
{
    memset(d, 0, sizeof(*d));
    d->loop = loop;
    d->sigma_ns = sigma_ns;
    d->tconf_s = tconf_s;
    d->prior_sd = frequency_prior;
    d->walk_ns2_per_s3 = 1.0;
    d->scale = 1.0;
    for (int w = 0; w < DISCIPLINE_WALKS; w++) {
        for (int s = 0; s < DISCIPLINE_SCALES; s++) {
            struct hypothesis *h = &d->bank[w * DISCIPLINE_SCALES + s];
            h->walk_ns2_per_s3 = walk_smallest * pow(walk_factor, w);
            h->scale = scale_smallest * pow(scale_factor, s);
            /* A weak prior: one decade around 1e-9 per root second for the walk, and a factor of
             * four around 1 for the scale. */
            const double far_walk = log10(h->walk_ns2_per_s3) / 2.0;
            const double far_scale = log(h->scale) / log(4.0);
            h->log_likelihood = -0.5 * (far_walk * far_walk + far_scale * far_scale);
        }
    }
}

void ictusi_discipline_expect(struct discipline *d, double frequency, double sd)
{
    d->prior = frequency;
    d->prior_sd = fmin(frequency_prior, sd);
}

/*
 * Time update of the two-state clock model: phase x (ns) and frequency y (ns/s) with
 *   x' = x + y dt,  P' = F P F' + Q,  F = (1 dt; 0 1),
 *   Q = walk (dt^3/3 dt^2/2; dt^2/2 dt) + phase_walk (dt 0; 0 0),
 * where walk (ns^2/s^3) is the random walk of the frequency and phase_walk (ns^2/s) the white noise
 * of the frequency. pp, pf and ff are the elements of P.
 */
static void kalman_carry(struct kalman *k, double dt, double walk)
{
    const double dt2 = dt * dt;
    k->phase += k->frequency * dt;
    k->pp += 2.0 * dt * k->pf + dt2 * k->ff + walk * dt2 * dt / 3.0 + phase_walk * dt;
    k->pf += dt * k->ff + walk * dt2 / 2.0;
    k->ff += walk * dt;
}

static double discipline_within_limits(double frequency)
{
    return fmin(frequency_max, fmax(-frequency_max, frequency));
}

/* Correct the state with given gains. Joseph's form of the covariance holds for any gains. */
static void kalman_correct(struct kalman *k, double innovation, double noise, double gp, double gf)
{
    const double pp = k->pp, pf = k->pf;
    k->phase += gp * innovation;
    k->frequency = discipline_within_limits(k->frequency + gf * innovation);
    k->ff = k->ff - 2.0 * gf * pf + gf * gf * (pp + noise);
    k->pf = (1.0 - gp) * (pf - gf * pp) + gp * gf * noise;
    k->pp = (1.0 - gp) * (1.0 - gp) * pp + gp * gp * noise;
}

/* Use the Kalman gains pp/s and pf/s, which minimise the variance. */
static void correct_optimally(struct kalman *k, double innovation, double noise)
{
    const double s = k->pp + noise;
    kalman_correct(k, innovation, noise, k->pp / s, k->pf / s);
}

/*
 * Return the log-likelihood of a measurement under a filter's own prediction: innovation e with
 * variance s = pp + noise. e^2/s is limited, so that a single outlier cannot decide between the
 * hypotheses.
 */
static double likelihood_term(const struct hypothesis *h, double x, double noise)
{
    const double s = h->state.pp + h->scale * noise;
    const double e = x - h->state.phase;
    return -0.5 * (log(s) + fmin(e * e / s, surprise_max));
}

struct blend {
    struct kalman state;
    double log_walk, log_scale;
};

/*
 * Mix the states of the bank by posterior weight and match the moments: the mean of the states, and
 * the mean of their covariances plus the scatter of the states around their mean. Where hypotheses
 * disagree, sigma is thus larger.
 */
static struct blend discipline_blend_bank(const struct discipline *d)
{
    enum { COUNT = DISCIPLINE_WALKS * DISCIPLINE_SCALES };
    struct blend b = {.log_walk = 0.0};
    double best = -INFINITY;
    double weights[COUNT];
    double sum = 0.0;
    for (int i = 0; i < COUNT; i++) {
        best = fmax(best, d->bank[i].log_likelihood);
    }
    for (int i = 0; i < COUNT; i++) {
        weights[i] = exp(d->bank[i].log_likelihood - best);
        sum += weights[i];
    }
    for (int i = 0; i < COUNT; i++) {
        const double w = weights[i] / sum;
        b.state.phase += w * d->bank[i].state.phase;
        b.state.frequency += w * d->bank[i].state.frequency;
        b.log_walk += w * log(d->bank[i].walk_ns2_per_s3);
        b.log_scale += w * log(d->bank[i].scale);
    }
    /* The weights may add up to more than 1. */
    b.state.frequency = discipline_within_limits(b.state.frequency);
    for (int i = 0; i < COUNT; i++) {
        const struct kalman *k = &d->bank[i].state;
        const double w = weights[i] / sum;
        const double p = k->phase - b.state.phase, f = k->frequency - b.state.frequency;
        b.state.pp += w * (k->pp + p * p);
        b.state.pf += w * (k->pf + p * f);
        b.state.ff += w * (k->ff + f * f);
    }
    return b;
}

static void discipline_take_blend(struct discipline *d)
{
    const struct blend b = discipline_blend_bank(d);
    d->walk_ns2_per_s3 = exp(b.log_walk);
    d->scale = exp(b.log_scale);
    if (d->loop == ICTUS_LOCK_ADAPTIVE) {
        d->state = b.state;
    }
}

static void discipline_start(struct discipline *d, const struct measurement *m)
{
    const struct kalman first = {
        .pp = m->variance_ns2, .frequency = d->prior, .ff = d->prior_sd * d->prior_sd};
    d->origin_ns = m->offset_ns;
    d->at = m->local;
    d->first_at = m->local;
    d->warm = false;
    d->started = true;
    d->state = first;
    d->state.phase = m->offset_frac;
    d->noise_ns2 = m->variance_ns2;
    d->bias_ns = 0.0;
    d->bias_ns2 = 0.0;
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        d->bank[i].state = d->state;
        d->bank[i].state.pp *= d->bank[i].scale;
    }
    ictusi_stability_reset(&d->stability);
    ictusi_stability_add(&d->stability, m->local, d->state.phase, m->variance_ns2);
    d->last_phase = d->state.phase;
    d->last_at = m->local;
}

/* The gains of the two classic loops for an interval of dt (s). */
static void classic_gains(const struct discipline *d, double dt, double *gp, double *gf)
{
    if (d->loop == ICTUS_LOCK_FLL) {
        /* y += D/(D + tconf) (yk - y), where yk - y is the innovation over D. */
        *gp = 1.0;
        *gf = 1.0 / (dt + d->tconf_s);
    } else {
        /* Critically damped: phase 1 - exp(-2 D/tconf), frequency its square over 4 D. */
        *gp = 1.0 - exp(-2.0 * dt / d->tconf_s);
        *gf = *gp * *gp / (4.0 * dt);
    }
}

/* While the frequency is unknown, nothing is a glitch. */
static bool discipline_settling(const struct discipline *d)
{
    return d->accepted < 4;
}

/*
 * The classic loops also start with the optimal gains. They change to their own when the optimal
 * ones have fallen below those, or after one time constant. Otherwise a wrong first frequency would
 * take many time constants to forget.
 */
static bool discipline_warming(struct discipline *d, double dt, double noise)
{
    double gp = 0.0, gf = 0.0;
    classic_gains(d, dt, &gp, &gf);
    d->warm = d->warm || (!discipline_settling(d) && d->state.pf / (d->state.pp + noise) < gf) ||
              (double)(d->at - d->first_at) / 1e9 > d->tconf_s;
    return !d->warm;
}

static void discipline_accept(struct discipline *d, double x, double noise, double innovation,
                              double dt)
{
    const double scaled = noise * d->scale;
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        struct hypothesis *h = &d->bank[i];
        correct_optimally(&h->state, x - h->state.phase, h->scale * noise);
    }
    if (d->loop != ICTUS_LOCK_ADAPTIVE) {
        if (dt <= 0.0 || discipline_warming(d, dt, scaled)) {
            correct_optimally(&d->state, innovation, scaled);
        } else {
            double gp = 0.0, gf = 0.0;
            classic_gains(d, dt, &gp, &gf);
            kalman_correct(&d->state, innovation, scaled, gp, gf);
        }
    }
    if (d->accepted >= 2) {
        /* A plain mean for few measurements, and an exponential one from noise_memory on. The
         * first two are left out, because their innovations are those of an unknown frequency. */
        const double g = 1.0 / fmin(noise_memory, (double)d->accepted - 1.0);
        d->noise_ns2 += g * (scaled - d->noise_ns2);
        d->measured_ns2 += g * (innovation * innovation - d->measured_ns2);
    }
    d->accepted++;
    d->glitches = 0;
}

/*
 * Update the weights, which forget: likelihoods decay with a memory of that many measurements,
 * because an oscillator's wander changes with temperature and a path's noise with load. This is
 * done before the correction, while each filter still predicts, and also for measurements that are
 * held back as glitches.
 */
static void discipline_learn(struct discipline *d, double x, double noise)
{
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        struct hypothesis *h = &d->bank[i];
        /* An exponential window: a term that was added k measurements ago counts (1 - 1 /
         * memory)^k. */
        h->log_likelihood += likelihood_term(h, x, noise) - h->log_likelihood / memory;
    }
}

/*
 * Fit a line to the measurements that were held back, as phase at the last one, frequency and
 * covariance. With times s_i around their mean, frequency = sum s x / sum s^2 and var(frequency) =
 * v / sum s^2. v is the largest of the variances, because three points are too few for weights.
 */
static struct kalman fit_held(const struct discipline *d)
{
    const struct held *last = &d->held[DISCIPLINE_HELD - 1];
    double t = 0.0, x = 0.0, variance = 0.0, tt = 0.0, tx = 0.0;
    for (int i = 0; i < DISCIPLINE_HELD; i++) {
        t += (double)(d->held[i].at - last->at) / 1e9 / DISCIPLINE_HELD;
        x += d->held[i].x / DISCIPLINE_HELD;
        variance = fmax(variance, d->held[i].variance_ns2 * fmax(1.0, d->scale));
    }
    for (int i = 0; i < DISCIPLINE_HELD; i++) {
        const double s = (double)(d->held[i].at - last->at) / 1e9 - t;
        tt += s * s;
        tx += s * (d->held[i].x - x);
    }
    const double frequency = tt > 0.0 ? tx / tt : 0.0;
    const struct kalman k = {.phase = x - frequency * t,
                             .frequency = frequency,
                             .pp = variance / DISCIPLINE_HELD + variance * t * t / tt,
                             .pf = -variance * t / tt,
                             .ff = variance / tt};
    return k;
}

static void discipline_adopt(struct discipline *d, const struct kalman *k)
{
    d->state = *k;
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        d->bank[i].state = *k;
    }
    d->glitches = 0;
    d->bias_ns = 0.0;
    ictusi_stability_reset(&d->stability);
    discipline_take_blend(d);
}

/*
 * Accept three measurements in a row. If they lie on a line of another frequency, the remote clock
 * is being slewed or the oscillator has changed. Otherwise the remote or the local clock was set:
 * take the new phase and keep the frequency.
 */
static enum discipline_event discipline_believe(struct discipline *d, const struct measurement *m)
{
    struct kalman k = fit_held(d);
    const double turn = k.frequency - d->state.frequency;
    if (turn * turn > glitch_sd * glitch_sd * (k.ff + d->state.ff) &&
        fabs(k.frequency) < frequency_max) {
        /* Whatever changed the frequency may still be changing it, so a quarter of the change is
         * added to its sigma. */
        k.ff += turn * turn / 16.0;
        discipline_adopt(d, &k);
        d->turns++;
        return DISCIPLINE_TURNED;
    }
    k = d->state;
    k.phase = m->offset_frac;
    k.pp = m->variance_ns2 * fmax(1.0, d->scale);
    k.pf = 0.0;
    d->origin_ns = m->offset_ns;
    discipline_adopt(d, &k);
    d->steps++;
    return DISCIPLINE_STEPPED;
}

/*
 * Watch the mean of the innovations. A loop that follows has innovations around zero. If their
 * running mean b is larger than chance explains, b^2 beyond its variance is an error that the
 * covariance does not include. If it is much larger, the frequency has changed, and all hypotheses
 * must allow for that.
 */
static void discipline_watch_bias(struct discipline *d, double dt, double noise)
{
    const double g = d->bias_ns2 > 0.0 ? bias_gain : 1.0;
    const double expected = d->state.pp + noise * d->scale;
    d->bias_ns += bias_gain * (d->innovation_ns - d->bias_ns);
    d->bias_ns2 += g * (expected * bias_gain / (2.0 - bias_gain) - d->bias_ns2);
    if (d->bias_ns * d->bias_ns < bias_answered * d->bias_ns2 || dt <= 0.0 ||
        discipline_settling(d)) {
        return;
    }
    /*
     * A mean innovation of b after dt corresponds to a frequency error of b / dt. All filters
     * receive it as variance and not as a correction. Each then takes as much of it as the next
     * measurements confirm.
     */
    const double change = d->bias_ns / dt;
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        d->bank[i].state.ff += change * change;
    }
    d->state.ff += d->loop == ICTUS_LOCK_ADAPTIVE ? change * change : 0.0;
}

/*
 * Return whether the innovation exceeds three standard deviations of the prediction error and the
 * requested accuracy (--sigma, ns). The second limit keeps a very quiet clock from rejecting errors
 * that do not matter.
 */
static bool discipline_glitch(const struct discipline *d, double innovation, double noise)
{
    const double sd = sqrt(d->state.pp + noise * fmax(1.0, d->scale));
    return !discipline_settling(d) && fabs(innovation) > fmax(glitch_sd * sd, d->sigma_ns);
}

static void discipline_carry_all(struct discipline *d, int64_t local)
{
    const double dt = (double)(local - d->at) / 1e9;
    kalman_carry(&d->state, dt, d->walk_ns2_per_s3);
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        kalman_carry(&d->bank[i].state, dt, d->bank[i].walk_ns2_per_s3);
    }
    d->at = local;
}

enum discipline_event ictusi_discipline_update(struct discipline *d, const struct measurement *m)
{
    if (!d->started) {
        discipline_start(d, m);
        d->accepted++;
        return DISCIPLINE_FIRST;
    }
    if (m->local <= d->at) {
        return DISCIPLINE_GLITCH; /* a repeated or reordered measurement contains nothing new */
    }
    const double dt = (double)(m->local - d->at) / 1e9;
    const double since = (double)(m->local - d->last_at) / 1e9;
    const double x = (double)(m->offset_ns - d->origin_ns) + m->offset_frac;
    discipline_carry_all(d, m->local);
    d->innovation_ns = x - d->state.phase;
    if (!discipline_settling(d)) {
        discipline_learn(d, x, m->variance_ns2);
    }
    if (discipline_glitch(d, d->innovation_ns, m->variance_ns2)) {
        const struct held held = {m->local, x, m->variance_ns2};
        d->rejected++;
        d->held[d->glitches++] = held;
        return d->glitches < DISCIPLINE_HELD ? DISCIPLINE_GLITCH : discipline_believe(d, m);
    }
    discipline_watch_bias(d, since, m->variance_ns2);
    d->common_ns = m->common_ns;
    discipline_accept(d, x, m->variance_ns2, d->innovation_ns, d->glitches ? since : dt);
    discipline_take_blend(d);
    ictusi_stability_add(&d->stability, m->local, x, m->variance_ns2 * d->scale);
    d->last_phase = x;
    d->last_at = m->local;
    return DISCIPLINE_ACCEPTED;
}

void ictusi_discipline_restart(struct discipline *d)
{
    d->started = false;
    d->accepted = 0;
    d->glitches = 0;
    d->steps++;
}

/*
 * Return the clock at a local instant. Three errors that the filters cannot know are added to the
 * variance of the phase: the error common to all measurements of the path, a mean innovation that
 * leans more than chance explains, and the last innovation while a glitch is pending, because it
 * may be true.
 */
struct kalman ictusi_discipline_predict(const struct discipline *d, int64_t local)
{
    struct kalman k = d->state;
    k.pp += d->common_ns * d->common_ns;
    const double leaning = d->bias_ns * d->bias_ns - bias_told * d->bias_ns2;
    if (leaning > 0.0) {
        k.pp += leaning;
    }
    if (d->glitches > 0) {
        k.pp += d->innovation_ns * d->innovation_ns;
    }
    kalman_carry(&k, fmax(0.0, (double)(local - d->at) / 1e9), d->walk_ns2_per_s3);
    return k;
}

/*
 * Return the standard deviation just before the next poll in the steady state, for polls at this
 * interval. The Riccati equation is iterated until it no longer changes. The innovations are zero,
 * because the covariance does not depend on them.
 */
double ictusi_discipline_steady_sigma(const struct discipline *d, double interval_s, double fewer)
{
    enum { ROUNDS = 200 };
    /* The start, a standard deviation of 100 ns/s for the frequency, does not matter after 200
     * rounds. */
    struct kalman k = {.pp = d->noise_ns2, .ff = 1e4};
    /* With `fewer` times as many exchanges for each poll the variance is divided by that, but no
     * poll is better than 1 ns. */
    const double noise = fmax(1.0, d->noise_ns2 / fewer);
    for (int i = 0; i < ROUNDS; i++) {
        kalman_carry(&k, interval_s, d->walk_ns2_per_s3);
        if (d->loop == ICTUS_LOCK_ADAPTIVE) {
            correct_optimally(&k, 0.0, noise);
        } else {
            double gp = 0.0, gf = 0.0;
            classic_gains(d, interval_s, &gp, &gf);
            kalman_correct(&k, 0.0, noise, gp, gf);
        }
    }
    kalman_carry(&k, interval_s, d->walk_ns2_per_s3);
    return sqrt(k.pp);
}

bool ictusi_discipline_locked(const struct discipline *d, double interval_s)
{
    if (!d->started || d->accepted < 3) {
        return false;
    }
    struct kalman k = d->state;
    kalman_carry(&k, interval_s, d->walk_ns2_per_s3);
    const double sigma = sqrt(k.pp);
    /* Accurate enough, or nearly as accurate as polling at this interval can ever be. */
    return sigma <= fmax(d->sigma_ns, 4.0 * sqrt(d->noise_ns2)) ||
           sigma <= 2.0 * ictusi_discipline_steady_sigma(d, interval_s, 1.0);
}
