/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated source: a real source plus a skew that is a known function of time.
 *
 *     sim:offset=1.5s,drift=12.5ppm        each node draws its values from +-1.5 s and +-12.5 ppm
 *     sim:offsets=0,1.5s,drifts=0,12.5ppm  the values are listed, one for each clock
 *
 * All processes of one machine share the real source below it, so the truth is known exactly.
 */
#include "clock/sources.h"
#include "clock/wander.h"
#include "core/container.h"
#include "core/random.h"

#include <ictus/text.h>
#include <ictus/time.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values beyond these limits are taken for typing errors. */
#define OFFSET_MAX_S 1e9
#define DRIFT_MAX 0.1
#define STEP_MAX_S 1e6

enum { SCOPE_NODE, SCOPE_PROCESS };
static const char *const scopes[] = {"node", "process", NULL};

struct sim_options {
    double offset;
    double drift;
    double walk;
    int64_t seed;
    int scope;
    struct spec_text offsets;
    struct spec_text drifts;
    struct spec_text base;
    double step;
    double step_at;
    struct spec_text steps;
    struct spec_text faults;
};

#if defined(ICTUS_SIMGRID)
#define DEFAULT_BASE "simgrid"
#else
#define DEFAULT_BASE "monotonic"
#endif

static const struct spec_param params[] = {
    {"offset", SPEC_SECONDS, offsetof(struct sim_options, offset), "0", -OFFSET_MAX_S, OFFSET_MAX_S,
     NULL, "the offset is drawn from plus or minus this"},
    {"drift", SPEC_RATIO, offsetof(struct sim_options, drift), "0", -DRIFT_MAX, DRIFT_MAX, NULL,
     "the drift is drawn from plus or minus this"},
    {"walk", SPEC_REAL, offsetof(struct sim_options, walk), "0", 0, 1e-3, NULL,
     "random walk of the frequency per square root of a second"},
    {"seed", SPEC_INT, offsetof(struct sim_options, seed), "1", 0, 9e18, NULL, "seed of all draws"},
    {"scope", SPEC_CHOICE, offsetof(struct sim_options, scope), "node", 0, 0, scopes,
     "whether each node or each process has its own clock"},
    {"offsets", SPEC_TEXT, offsetof(struct sim_options, offsets), "", 0, 0, NULL,
     "offsets of the clocks, as a list"},
    {"drifts", SPEC_TEXT, offsetof(struct sim_options, drifts), "", 0, 0, NULL,
     "drifts of the clocks, as a list"},
    {"base", SPEC_TEXT, offsetof(struct sim_options, base), DEFAULT_BASE, 0, 0, NULL,
     "the real time source that it is based on"},
    {"step", SPEC_SECONDS, offsetof(struct sim_options, step), "0", -STEP_MAX_S, STEP_MAX_S, NULL,
     "every clock jumps by this amount"},
    {"step_at", SPEC_SECONDS, offsetof(struct sim_options, step_at), "0", 0, 1e9, NULL,
     "time from opening the clock to its jump"},
    {"steps", SPEC_TEXT, offsetof(struct sim_options, steps), "", 0, 0, NULL,
     "jumps of the clocks, as a list"},
    {"faults", SPEC_TEXT, offsetof(struct sim_options, faults), "", 0, 0, NULL,
     "faults of single clocks: 5:100ppm adds drift to clock 5, 9:50us makes "
     "clock 9 jump"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

struct sim {
    struct source base;
    struct source *under;
    int64_t origin; /* on the source below; drift and walk count from this instant */
    int64_t offset_ns;
    double drift;
    int64_t step_ns;
    int64_t step_at_ns;
    struct wander *wander; /* NULL without a walk */
    char identity[SOURCE_IDENTITY_MAX];
};

/*
 * reading = under + offset + step(elapsed) + drift * elapsed + phase(elapsed), where elapsed is the
 * time since the origin. Only the part with fractions is a double. It is at most 0.1 * elapsed and
 * so exact to 1 ns for a year. The instant itself stays an integer.
 */
static int64_t sim_skew(const struct sim *sim, int64_t under)
{
    const int64_t elapsed = under - sim->origin;
    double phase = sim->drift * (double)elapsed;
    if (sim->wander) {
        phase += ictusi_wander_phase(sim->wander, elapsed);
    }
    const int64_t step = sim->step_ns && elapsed >= sim->step_at_ns ? sim->step_ns : 0;
    return under + sim->offset_ns + step + (int64_t)llrint(phase);
}

static int64_t sim_read(const struct source *source)
{
    const struct sim *sim = container_of(source, struct sim, base);
    return sim_skew(sim, ictusi_source_read(sim->under));
}

/*
 * The inverse is found by fixed-point iteration: under <- under + (local - skew(under)). The slope
 * of the skew is below 0.1, so each step shrinks the error tenfold, and 18 steps take it from 1e9 s
 * to 1 ns. A reading that a forward step skipped has no inverse. The result then lies within the
 * step.
 */
static int64_t sim_truth(const struct source *source, int64_t local)
{
    const struct sim *sim = container_of(source, struct sim, base);
    int64_t under = local - sim->offset_ns;
    for (int i = 0; i < 24; i++) {
        const int64_t error = local - sim_skew(sim, under);
        if (error == 0) {
            break;
        }
        under += error;
    }
    return under;
}

/* Truth is the time of the source below. */
static int64_t sim_reading_at(const struct source *source, int64_t truth)
{
    return sim_skew(container_of(source, struct sim, base), truth);
}

static const struct source *sim_under(const struct source *source)
{
    return container_of(source, struct sim, base)->under;
}

static void sim_identify(const struct source *source, char *text, size_t size)
{
    const struct sim *sim = container_of(source, struct sim, base);
    char under[SOURCE_IDENTITY_MAX];
    sim->under->ops->identify(sim->under, under, sizeof(under));
    /* If the source below promises nothing, neither can this one. */
    const int written = under[0] ? snprintf(text, size, "%.200s|%.200s|%lld", under, sim->identity,
                                            (long long)sim->origin)
                                 : snprintf(text, size, "%s", "");
    (void)written;
}

/* Drift and walk count from the origin. Processes of one node that had different origins would
 * have different clocks. */
static void *sim_state(struct source *source, size_t *size)
{
    struct sim *sim = container_of(source, struct sim, base);
    *size = sizeof(sim->origin);
    return &sim->origin;
}

static void sim_free(struct source *source)
{
    struct sim *sim = container_of(source, struct sim, base);
    ictusi_wander_free(sim->wander);
    ictusi_source_free(sim->under);
    free(sim);
}

/*
 * Set *value to element `index` of a comma-separated list; the last element is repeated for all
 * higher indices. The whole list is parsed. Return false if any element is malformed or beyond the
 * limit.
 */
static bool sim_pick(const char *list, int index, int (*parse)(const char *, double *),
                     double limit, double *value)
{
    char item[64];
    int i = 0;
    for (const char *p = list;; i++) {
        const size_t length = strcspn(p, ",");
        if (length >= sizeof(item)) {
            return false;
        }
        memcpy(item, p, length);
        item[length] = '\0';
        double number = 0.0;
        if (parse(item, &number) || fabs(number) > limit) {
            return false;
        }
        if (i <= index) {
            *value = number;
        }
        if (!p[length]) {
            return true;
        }
        p += length + 1;
    }
}

/* Apply those faults of the list that belong to clock `index`. Each fault is INDEX:RATIO, an
 * additional drift, or INDEX:TIME, a step. */
static int sim_faults(struct sim *sim, const char *list, int index, struct ictus_why *why)
{
    char word[64];
    for (const char *p = list; *p;) {
        const size_t length = strcspn(p, ",");
        (void)snprintf(word, sizeof(word), "%.*s", (int)length, p);
        char *value = strchr(word, ':');
        int64_t who = -1;
        double number = 0.0;
        if (value) {
            *value++ = '\0';
        }
        const bool named = value && length < sizeof(word) && !ictus_parse_int(word, &who);
        if (named && !ictus_parse_ratio(value, &number) && fabs(number) <= DRIFT_MAX) {
            sim->drift += who == index ? number : 0.0;
        } else if (named && !ictus_parse_seconds(value, &number) && fabs(number) <= STEP_MAX_S) {
            sim->step_ns = who == index ? (int64_t)llrint(number * 1e9) : sim->step_ns;
        } else {
            return ictus_because(
                why, ICTUS_ERR_SPEC,
                "sim: faults=%.80s: each fault must be INDEX:RATIO or INDEX:TIME, such as "
                "5:100ppm,9:50us",
                list);
        }
        p += length + (p[length] == ',');
    }
    return ICTUS_OK;
}

/*
 * Draw the parameters of clock `index` from the seed. The result does not depend on the process
 * that draws. Offset and drift are drawn even if a list replaces one of them, so that a list of
 * offsets does not change the drawn drifts.
 */
static int sim_draw(struct sim *sim, const struct sim_options *o, int index, struct ictus_why *why)
{
    struct rng rng;
    ictusi_random_seed(&rng, (uint64_t)o->seed, (uint64_t)index);
    double offset = o->offset * (2.0 * ictusi_random_uniform(&rng) - 1.0);
    double drift = o->drift * (2.0 * ictusi_random_uniform(&rng) - 1.0);
    if (o->offsets.text[0] &&
        !sim_pick(o->offsets.text, index, ictus_parse_seconds, OFFSET_MAX_S, &offset)) {
        return ictus_because(
            why, ICTUS_ERR_SPEC,
            "sim: offsets=%.80s: must be a list of times of at most 1e9 s, such as 0,1.5s",
            o->offsets.text);
    }
    if (o->drifts.text[0] &&
        !sim_pick(o->drifts.text, index, ictus_parse_ratio, DRIFT_MAX, &drift)) {
        return ictus_because(
            why, ICTUS_ERR_SPEC,
            "sim: drifts=%.80s: must be a list of ratios of at most 0.1, such as 0,12.5ppm",
            o->drifts.text);
    }
    sim->offset_ns = (int64_t)llrint(offset * 1e9);
    sim->drift = drift;
    double step = o->step;
    if (o->steps.text[0] &&
        !sim_pick(o->steps.text, index, ictus_parse_seconds, STEP_MAX_S, &step)) {
        return ictus_because(
            why, ICTUS_ERR_SPEC,
            "sim: steps=%.80s: must be a list of times of at most 1e6 s, such as 0,3s",
            o->steps.text);
    }
    sim->step_ns = (int64_t)llrint(step * 1e9);
    sim->step_at_ns = (int64_t)llrint(o->step_at * 1e9);
    return sim_faults(sim, o->faults.text, index, why);
}

/*
 * With scope=node, the processes of one node share a clock, as on real machines. With
 * scope=process, each process has its own clock although all of them run on one machine. This gives
 * synchronisations a known truth without a cluster.
 */
static int sim_fill(struct sim *sim, const struct spec *spec, const struct source_place *place,
                    struct ictus_why *why)
{
    struct sim_options o;
    int err = ictusi_spec_read(spec, params, &o, why);
    if (err) {
        return err;
    }
    const int index = o.scope == SCOPE_PROCESS ? place->process : place->node;
    err = sim_draw(sim, &o, index, why);
    if (!err && o.walk > 0.0) {
        /* The walk has a random stream of its own, so it does not change the drawn offset and
         * drift. */
        err = ictusi_wander_create(o.walk, (uint64_t)o.seed, (uint64_t)index + (UINT64_C(1) << 32),
                                   &sim->wander);
    }
    if (!err) {
        err = ictusi_source_open(o.base.text, place, &sim->under, why);
    }
    if (!err) {
        sim->origin = ictusi_source_read(sim->under);
        (void)snprintf(sim->identity, sizeof(sim->identity), "sim:%.150s/%d", spec->options, index);
    }
    return err;
}

static int sim_check(const struct spec *spec, struct ictus_why *why)
{
    struct sim_options o;
    struct sim drawn = {.under = NULL};
    int err = ictusi_spec_read(spec, params, &o, why);
    if (!err) {
        err = sim_draw(&drawn, &o, 0, why); /* parses each list to its end */
    }
    return err ? err : ictusi_source_check(o.base.text, why);
}

static int sim_open(const struct spec *spec, const struct source_place *place,
                    struct source **source, struct ictus_why *why)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    if (!sim) {
        return ICTUS_ERR_NOMEM;
    }
    sim->base.ops = &ictusi_source_sim;
    const int err = sim_fill(sim, spec, place, why);
    if (err) {
        sim_free(&sim->base);
        return err;
    }
    *source = &sim->base;
    return ICTUS_OK;
}

const struct source_ops ictusi_source_sim = {
    .name = "sim",
    .summary = "a real source skewed by a known function, to test synchronisations",
    .check = sim_check,
    .open = sim_open,
    .read = sim_read,
    .identify = sim_identify,
    .state = sim_state,
    .truth = sim_truth,
    .reading_at = sim_reading_at,
    .under = sim_under,
    .free = sim_free,
};
