/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians over the pairs of each process, and the processes that are far from the median of all. */
#include "core/checkup.h"

#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The model is additive. A round trip of the pair (a, b) is part_a + part_b, and the change of an
 * offset is part_b - part_a. What a node does to all of its pairs is its part, and the rest belongs
 * to the link. By using medians, up to half of a node's links may be slow before the node itself is
 * blamed.
 */
enum { PASSES = 4 };

/* A value that deviates by more than this many robust standard deviations is an outlier. */
static const double outlying = 6.0;
/* Ratio of a Gaussian's standard deviation to the median of its absolute value. */
static const double sigma_per_median = 1.4826;

/* A process most of whose pairs did not change is accused of a step if at least this many did. A
 * single pair that changed does not say which of its two clocks stepped. */
enum { WITNESSES = 3 };

/* The standard error of a median of Gaussian values, relative to that of their mean. */
static const double median_error = 1.2533;

/* The values of the pairs, and the parts of the processes. */
struct survey {
    const struct checkup_meeting *meetings;
    size_t pairs;
    int size;
    double *value;  /* of each pair; NAN: unknown */
    double *part;   /* of each process */
    double *sorted; /* room for the pairs of one process, or for all processes */
    size_t *first;  /* start of each process in list; size + 1 values */
    size_t *list;   /* the pairs of the processes */
};

static const struct checkup_meeting *survey_meeting(const struct survey *s, int k, size_t e)
{
    return &s->meetings[(size_t)k * s->pairs + e];
}

/* A pair counts only if all sweeps have it, because a step needs three offsets and a drift two. */
static bool checkup_is_met(const struct survey *s, size_t e)
{
    for (int k = 0; k < CHECKUP_SWEEPS; k++) {
        if (survey_meeting(s, k, e)->server < 0) {
            return false;
        }
    }
    return true;
}

/* List the pairs of each process, by counting: how many each has, where its own begin, and which
 * they are. */
static void checkup_list_pairs(struct survey *s)
{
    memset(s->first, 0, ((size_t)s->size + 1) * sizeof(*s->first));
    for (size_t e = 0; e < s->pairs; e++) {
        if (checkup_is_met(s, e)) {
            s->first[survey_meeting(s, 0, e)->client + 1]++;
            s->first[survey_meeting(s, 0, e)->server + 1]++;
        }
    }
    for (int i = 0; i < s->size; i++) {
        s->first[i + 1] += s->first[i];
    }
    for (size_t e = 0; e < s->pairs; e++) {
        if (checkup_is_met(s, e)) {
            s->list[s->first[survey_meeting(s, 0, e)->client]++] = e;
            s->list[s->first[survey_meeting(s, 0, e)->server]++] = e;
        }
    }
    /* Filling has moved each start to its end, which is the start of the next process. */
    memmove(s->first + 1, s->first, (size_t)s->size * sizeof(*s->first));
    s->first[0] = 0;
}

static double median_of(double *values, size_t n)
{
    ictusi_stats_sort(values, n);
    return ictusi_stats_quantile(values, n, 0.5);
}

/*
 * Compute each process's part of the pairs' values: of sums a + b (sign 1) or differences b - a
 * (sign -1). It is the median over the process's pairs, after the other end's part has been
 * subtracted. A few passes suffice to converge.
 */
static void part_values(struct survey *s, double sign, double begin)
{
    for (int i = 0; i < s->size; i++) {
        s->part[i] = begin;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < s->size; i++) {
            size_t n = 0;
            for (size_t l = s->first[i]; l < s->first[i + 1]; l++) {
                const size_t e = s->list[l];
                const int a = survey_meeting(s, 0, e)->client;
                const int b = survey_meeting(s, 0, e)->server;
                /* The rest for process i: for a sum, value - part of the other one; for a
                 * difference b - a, value + part_a for b and part_b - value for a. */
                const double own = i == b ? s->value[e] : sign * s->value[e];
                s->sorted[n++] = own - sign * s->part[i == a ? b : a];
            }
            if (n) {
                s->part[i] = median_of(s->sorted, n);
            }
        }
    }
}

/* Return the median of the parts of all processes, and their robust standard deviation. */
static double centre_of(struct survey *s, double *spread)
{
    memcpy(s->sorted, s->part, (size_t)s->size * sizeof(double));
    const double middle = median_of(s->sorted, (size_t)s->size);
    for (int i = 0; i < s->size; i++) {
        s->sorted[i] = fabs(s->part[i] - middle);
    }
    /* The median absolute deviation follows faulty processes only if they are more than half. A
     * single faulty process would raise a standard deviation enough to hide itself. */
    *spread = sigma_per_median * median_of(s->sorted, (size_t)s->size);
    return middle;
}

/* Values are compared as multiples of their limits, so that different faults can be ranked. */
static void process_accuse(struct checkup_process *p, double off, double limit, unsigned fault)
{
    const double over = off / limit;
    p->faults |= over > 1.0 ? fault : 0;
    p->worst = fmax(p->worst, over);
}

static int checkup_compare_links(const void *a, const void *b)
{
    const struct checkup_link *x = a;
    const struct checkup_link *y = b;
    return (x->worst < y->worst) - (x->worst > y->worst);
}

/* Find the pairs that take longer than their two ends explain. */
static int checkup_find_links(struct survey *s, const struct checkup_limits *limits,
                              struct checkup *out)
{
    size_t n = 0;
    double *rest = malloc((s->pairs + 1) * sizeof(*rest));
    out->link = malloc((s->pairs + 1) * sizeof(*out->link));
    if (!rest || !out->link) {
        free(rest);
        return ICTUS_ERR_NOMEM;
    }
    for (size_t e = 0; e < s->pairs; e++) {
        if (checkup_is_met(s, e)) {
            const struct checkup_meeting *m = survey_meeting(s, 0, e);
            rest[n++] = fabs(s->value[e] - s->part[m->client] - s->part[m->server]);
        }
    }
    /*
     * What remains after both ends have been explained is centred on 0, so the absolute values give
     * the spread directly. A bad link must exceed the noise of the others and also the requested
     * factor.
     */
    const double spread = n ? sigma_per_median * median_of(rest, n) : 0.0;
    free(rest);
    for (size_t e = 0; e < s->pairs; e++) {
        if (checkup_is_met(s, e)) {
            const struct checkup_meeting *m = survey_meeting(s, 0, e);
            const double expected = s->part[m->client] + s->part[m->server];
            const double limit = fmax(outlying * spread, (limits->slow - 1.0) * expected);
            const double over = (s->value[e] - expected) / limit;
            if (over > 1.0) {
                out->link[out->links++] =
                    (struct checkup_link){m->client, m->server, s->value[e], expected, over};
            }
        }
    }
    qsort(out->link, out->links, sizeof(*out->link), checkup_compare_links);
    return ICTUS_OK;
}

/* Judge round trips: slow processes, slow links. Three sweeps give each pair three round trips,
 * of which the median is used. A burst that met other work in one sweep thus has no effect. */
static int checkup_judge_round_trips(struct survey *s, const struct checkup_limits *limits,
                                     struct checkup *out)
{
    size_t n = 0;
    double spread = 0.0;
    double *all = malloc((s->pairs + 1) * sizeof(*all));
    if (!all) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t e = 0; e < s->pairs; e++) {
        double rtts[CHECKUP_SWEEPS];
        for (int k = 0; k < CHECKUP_SWEEPS; k++) {
            rtts[k] = survey_meeting(s, k, e)->rtt_ns;
        }
        s->value[e] = median_of(rtts, CHECKUP_SWEEPS);
        if (checkup_is_met(s, e)) {
            all[n++] = s->value[e];
        }
    }
    out->pairs = n;
    out->usual_rtt_ns = n ? median_of(all, n) : 0.0;
    free(all);
    if (!n) {
        return ICTUS_ERR_SAMPLES;
    }
    /* Start with equal halves, so that processes with few pairs are close to the others from the
     * start. */
    part_values(s, 1.0, out->usual_rtt_ns / 2.0);
    const double middle = centre_of(s, &spread);
    for (int i = 0; i < s->size; i++) {
        /*
         * A pair of this process and a usual one takes part + middle, and a usual pair takes 2
         * middle. It is slow if part + middle > slow 2 middle, which means part - middle > (slow -
         * 1) 2 middle.
         */
        const double limit = fmax(outlying * spread, (limits->slow - 1.0) * 2.0 * middle);
        out->process[i].rtt_ns = 2.0 * s->part[i];
        process_accuse(&out->process[i], s->part[i] - middle, limit, CHECKUP_SLOW);
    }
    return checkup_find_links(s, limits, out);
}

/*
 * Return the offset of a pair as seen by the client of the first sweep, and the instant on that
 * client's clock. The two processes of a pair may change roles between sweeps. The offset b - a is
 * then converted to a - b by its sign, and the instant on b's clock to a's by adding the offset.
 */
static int64_t survey_oriented(const struct survey *s, int k, size_t e, int64_t *at)
{
    const struct checkup_meeting *m = survey_meeting(s, k, e);
    const bool turned = m->client != survey_meeting(s, 0, e)->client;
    *at = m->at + (turned ? m->offset : 0);
    return turned ? -m->offset : m->offset;
}

/* Return the rate, in ns per ns, at which a pair's clocks drift apart between two sweeps. */
static double rate_between(const struct survey *s, size_t e, int from, int to)
{
    int64_t first = 0;
    int64_t last = 0;
    const int64_t before = survey_oriented(s, from, e, &first);
    const int64_t after = survey_oriented(s, to, e, &last);
    /* Differences of integers are taken, because the instants themselves are too large for
     * doubles. */
    return last > first ? (double)(after - before) / (double)(last - first) : 0.0;
}

/* Return the duration of the first half of the sweeps, in ns. */
static double checkup_half_of(const struct survey *s, size_t e)
{
    int64_t first = 0;
    int64_t middle = 0;
    (void)survey_oriented(s, 0, e, &first);
    (void)survey_oriented(s, 1, e, &middle);
    return (double)(middle - first);
}

/* The change of a pair's offset that its rate does not explain: 0 if the rates of both halves are
 * equal. A step of d ns in one half adds d / (its length) to the rate of that half only. Multiplied
 * by the length, this is d again. By the plan of the sweeps both halves have the same length. */
static double pair_change(const struct survey *s, size_t e)
{
    return (rate_between(s, e, 1, 2) - rate_between(s, e, 0, 1)) * checkup_half_of(s, e);
}

/* No offset of a pair errs by more than half of a round trip, so no change of offsets, o2 - 2 o1 +
 * o0, by more than two. */
static double pair_doubt(const struct survey *s, size_t e)
{
    double rtt = 0.0;
    for (int k = 0; k < CHECKUP_SWEEPS; k++) {
        rtt = fmax(rtt, survey_meeting(s, k, e)->rtt_ns);
    }
    return 2.0 * rtt;
}

/*
 * Return by how much the offsets of a process changed in most of its pairs, whatever the sign, or
 * with `proven` only where no error of a message explains it. (If there are two pairs, in both.)
 */
static double process_change(struct survey *s, int i, bool proven)
{
    size_t n = 0;
    for (size_t l = s->first[i]; l < s->first[i + 1]; l++) {
        const double change = fabs(s->value[s->list[l]]);
        const bool counts = !proven || change > pair_doubt(s, s->list[l]);
        s->sorted[n++] = counts ? change : 0.0;
    }
    ictusi_stats_sort(s->sorted, n);
    return n ? s->sorted[(n - 1) / 2] : 0.0;
}

/* Return the standard error of a process's part of differences, from what its pairs scatter: the
 * path of a single process may be noisy. */
static double process_noise(struct survey *s, int i)
{
    size_t n = 0;
    for (size_t l = s->first[i]; l < s->first[i + 1]; l++) {
        const size_t e = s->list[l];
        const struct checkup_meeting *m = survey_meeting(s, 0, e);
        s->sorted[n++] = fabs(s->value[e] - (s->part[m->server] - s->part[m->client]));
    }
    /* With one pair fewer, because the part is among what these rests were computed from. */
    const double freedom = (double)n - 1.0;
    return n > 1 ? median_error * sigma_per_median * median_of(s->sorted, n) * sqrt((double)n) /
                       freedom
                 : 0.0;
}

/* Whether a pair's offset changed by more than the limit, and neither an error of a message nor a
 * process that is already accused explains it, so that another clock stepped. */
static bool pair_is_proof(const struct survey *s, size_t e, const struct checkup_limits *limits,
                          const struct checkup *out)
{
    const struct checkup_meeting *m = survey_meeting(s, 0, e);
    return checkup_is_met(s, e) && fabs(s->value[e]) > pair_doubt(s, e) + limits->step_ns &&
           !((out->process[m->client].faults | out->process[m->server].faults) & CHECKUP_STEP);
}

/* Accuse a process of the step that its proofs show, and take them from the other ends. */
static void checkup_accuse_by_proofs(struct survey *s, int i, const struct checkup_limits *limits,
                                     struct checkup *out)
{
    size_t n = 0;
    for (size_t l = s->first[i]; l < s->first[i + 1]; l++) {
        const size_t e = s->list[l];
        const struct checkup_meeting *m = survey_meeting(s, 0, e);
        if (pair_is_proof(s, e, limits, out)) {
            s->sorted[n++] = fabs(s->value[e]);
            s->part[i == m->client ? m->server : m->client] -= 1.0;
        }
    }
    s->part[i] = 0.0;
    const double step_ns = median_of(s->sorted, n);
    out->process[i].step_ns = fmax(out->process[i].step_ns, step_ns);
    process_accuse(&out->process[i], step_ns, limits->step_ns, CHECKUP_STEP);
}

/*
 * Judge steps within the first or the last sweep. Only the pairs that met before such a step (or
 * after it, in the last sweep) show it, which may be few. But each of them proves that one of its
 * two clocks stepped, so the clock that most of the proofs have in common did. When those are
 * explained, the next one is sought among the rest. The parts become numbers of proofs.
 */
static void checkup_judge_proofs(struct survey *s, const struct checkup_limits *limits,
                                 struct checkup *out)
{
    memset(s->part, 0, (size_t)s->size * sizeof(*s->part));
    for (size_t e = 0; e < s->pairs; e++) {
        const struct checkup_meeting *m = survey_meeting(s, 0, e);
        if (pair_is_proof(s, e, limits, out)) {
            s->part[m->client] += 1.0;
            s->part[m->server] += 1.0;
        }
    }
    for (;;) {
        int most = 0;
        for (int i = 1; i < s->size; i++) {
            most = s->part[i] > s->part[most] ? i : most;
        }
        if (s->part[most] < WITNESSES) {
            return;
        }
        checkup_accuse_by_proofs(s, most, limits, out);
    }
}

/*
 * Judge steps. If a clock stepped between two sweeps, all pairs of its process show that alike. If
 * it did so within the middle sweep, those that met before it show it with one sign and those after
 * it with the other, and both the median and the other ends' parts tell a wrong size. Therefore the
 * pairs are asked without their signs, too: nobody stepped whose pairs mostly did not change, and
 * one whose pairs mostly did, by more than messages can err, did step.
 */
static void checkup_judge_steps(struct survey *s, const struct checkup_limits *limits,
                                struct checkup *out)
{
    double spread = 0.0;
    for (size_t e = 0; e < s->pairs; e++) {
        s->value[e] = checkup_is_met(s, e) ? pair_change(s, e) : 0.0;
    }
    part_values(s, -1.0, 0.0);
    const double middle = centre_of(s, &spread);
    for (int i = 0; i < s->size; i++) {
        struct checkup_process *p = &out->process[i];
        const double proven = process_change(s, i, true);
        const double scatter = fmax(spread, process_noise(s, i));
        p->step_ns = fmin(fabs(s->part[i] - middle), process_change(s, i, false));
        process_accuse(p, p->step_ns, fmax(outlying * scatter, limits->step_ns), CHECKUP_STEP);
        process_accuse(p, proven, limits->step_ns, CHECKUP_STEP);
        p->step_ns = fmax(p->step_ns, proven);
    }
    checkup_judge_proofs(s, limits, out);
}

/*
 * The rate of a pair. A step within the span also looks like a rate, and it is not known in which
 * half it was. Of a process that stepped, the smaller rate counts: the one that it has in any case.
 */
static double pair_rate(const struct survey *s, size_t e, const struct checkup *out)
{
    const struct checkup_meeting *m = survey_meeting(s, 0, e);
    const unsigned faults = out->process[m->client].faults | out->process[m->server].faults;
    if (!(faults & CHECKUP_STEP)) {
        return rate_between(s, e, 0, CHECKUP_SWEEPS - 1);
    }
    const double before = rate_between(s, e, 0, 1);
    const double after = rate_between(s, e, 1, 2);
    return fabs(before) < fabs(after) ? before : after;
}

/* Judge the clocks. A step is a rate that changed between the sweeps, and a drift is one that
 * did not. */
static void checkup_judge_clocks(struct survey *s, const struct checkup_limits *limits,
                                 struct checkup *out)
{
    checkup_judge_steps(s, limits, out);
    for (size_t e = 0; e < s->pairs; e++) {
        s->value[e] = checkup_is_met(s, e) ? pair_rate(s, e, out) : 0.0;
    }
    part_values(s, -1.0, 0.0);
    const double middle = centre_of(s, &out->drift_spread);
    for (int i = 0; i < s->size; i++) {
        struct checkup_process *p = &out->process[i];
        const double scatter = fmax(out->drift_spread, process_noise(s, i));
        p->drift = s->part[i] - middle;
        process_accuse(p, fabs(p->drift), fmax(outlying * scatter, limits->drift), CHECKUP_DRIFT);
    }
}

static int survey_reserve(struct survey *s)
{
    const size_t n = (size_t)s->size + 2 * s->pairs + 1;
    s->value = malloc((s->pairs + (size_t)s->size + n) * sizeof(double));
    s->first = malloc(((size_t)s->size + 1 + 2 * s->pairs) * sizeof(size_t));
    if (!s->value || !s->first) {
        return ICTUS_ERR_NOMEM;
    }
    s->part = s->value + s->pairs;
    s->sorted = s->part + s->size;
    s->list = s->first + s->size + 1;
    return ICTUS_OK;
}

int ictusi_checkup(const struct checkup_meeting *meetings, size_t pairs, int size,
                   const struct checkup_limits *limits, struct checkup *out)
{
    struct survey s = {.meetings = meetings, .pairs = pairs, .size = size};
    *out = (struct checkup){.pairs = 0};
    if (size < CHECKUP_SIZE_MIN || pairs == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    out->process = calloc((size_t)size, sizeof(*out->process));
    int err = out->process ? survey_reserve(&s) : ICTUS_ERR_NOMEM;
    if (!err) {
        checkup_list_pairs(&s);
        err = checkup_judge_round_trips(&s, limits, out);
    }
    if (!err) {
        checkup_judge_clocks(&s, limits, out);
        for (int i = 0; i < size; i++) {
            if (s.first[i + 1] == s.first[i]) {
                /* Nothing is worse than a process that no other one could meet, so it is listed
                 * first. */
                out->process[i] = (struct checkup_process){.worst = 1e9, .faults = CHECKUP_SILENT};
            }
        }
    }
    free(s.value);
    free(s.first);
    if (err) {
        ictusi_checkup_free(out);
    }
    return err;
}

void ictusi_checkup_free(struct checkup *checkup)
{
    free(checkup->process);
    free(checkup->link);
    *checkup = (struct checkup){.pairs = 0};
}
