/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What 'ictus tune' chooses: Student's intervals are checked with his distribution, and choices
 * among made-up measurements by what their definitions say.
 */
#include "../check.h"

#include "results/tune.h"
#include "results/tune_arrival.h"

#include <ictus/error.h>
#include <ictus/text.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { LAUNCHES_MAX = 200, STEPS = 4000 };

/* The probability of lying between -t and t with these degrees of freedom, by Simpson's rule. */
static double within(double t, int freedom)
{
    const double v = freedom;
    const double scale = exp(lgamma((v + 1) / 2) - lgamma(v / 2)) / sqrt(v * M_PI);
    double sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        const double x = t * i / STEPS;
        const double weight = i == 0 || i == STEPS ? 1.0 : i % 2 ? 4.0 : 2.0;
        sum += weight * scale * pow(1 + x * x / v, -(v + 1) / 2);
    }
    return 2 * sum * t / STEPS / 3;
}

static void intervals_are_students(void)
{
    static double ratios[LAUNCHES_MAX];
    for (int n = 2; n <= LAUNCHES_MAX; n++) {
        double low = 0.0, high = 0.0;
        double mean = 0.0, squares = 0.0;
        for (int i = 0; i < n; i++) {
            const double x = -0.2 + 0.01 * (i * 7 % 13);
            ratios[i] = exp(x);
            mean += x / n;
        }
        for (int i = 0; i < n; i++) {
            squares += (log(ratios[i]) - mean) * (log(ratios[i]) - mean);
        }
        tune_interval(ratios, n, &low, &high);
        CHECK_NEAR((log(low) + log(high)) / 2, mean, 1e-12);
        const double error = sqrt(squares / (n - 1) / n);
        const double held = within((log(high) - log(low)) / 2 / error, n - 1);
        /* To the digits of the tables; for many launches, slightly more than required. */
        CHECK_NEAR(held, n <= 25 ? 0.95 : 0.955, n <= 25 ? 1e-4 : 0.0052);
    }
}

/* A made-up experiment: all launches of an algorithm at a place, under a pattern of arrivals. */
enum { PLACES = 5, ALGORITHMS = 4, PATTERNS = 3, FEW = 3 };

static const struct place {
    const char *operation;
    int processes, bytes;
} places[PLACES] = {{"allreduce", 4, 8},
                    {"allreduce", 4, 1024},
                    {"allreduce", 16, 8},
                    {"bcast", 4, 8},
                    {"bcast", 4, 1024}};
static const char *const algorithms[ALGORITHMS] = {"default", "ring", "linear", "chain"};
static const char *const patterns[PATTERNS] = {"together", "late:rank=0", "late:rank=1"};

struct cell {
    bool there, proven;
    int launches;
    double median[FEW], low[FEW], high[FEW];
};

/* Numbers that come in the same order everywhere. */
static uint32_t dice;

static uint32_t roll(uint32_t sides)
{
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % sides;
}

static void cell_put(json_t *objects, const struct place *place, const char *algorithm,
                     const char *arrival, const char *reduction, const struct cell *c)
{
    for (int i = 0; i < c->launches && c->there; i++) {
        json_t *row = json_pack(
            "{ss, ss, ss, si, si, ss, si, sf, sf, sf, sb}", "type", "measurement", "operation",
            place->operation, "algorithm", algorithm, "bytes", place->bytes, "processes",
            place->processes, "reduction", reduction, "launch", i, "median_s", c->median[i],
            "ci95_low_s", c->low[i], "ci95_high_s", c->high[i], "proven", (int)c->proven);
        REQUIRE(row);
        if (strcmp(arrival, "together") != 0) {
            (void)json_object_set_new(row, "arrival", json_string(arrival));
        }
        (void)json_array_append_new(objects, row);
    }
}

static struct cell cell_make(int launches)
{
    struct cell c = {roll(8) > 0, roll(8) > 0, launches, {0}, {0}, {0}};
    for (int i = 0; i < launches; i++) {
        c.median[i] = 1e-6 * (100 + 1e-3 * roll(300000)); /* no two alike */
        c.low[i] = c.median[i] - 1e-6 * (1 + roll(20));
        c.high[i] = c.median[i] + 1e-6 * (1 + roll(20));
    }
    return c;
}

static double middle_of(const double *values, int count)
{
    double sorted[FEW];
    memcpy(sorted, values, sizeof(sorted));
    for (int i = 1; i < count; i++) {
        for (int k = i; k > 0 && sorted[k] < sorted[k - 1]; k--) {
            const double larger = sorted[k - 1];
            sorted[k - 1] = sorted[k];
            sorted[k] = larger;
        }
    }
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static double median_of(const struct cell *c)
{
    return middle_of(c->median, c->launches);
}

/* Whether a choice may fall on it: the library's own needs no proof. */
static bool cell_counts(const struct cell *cells, int algorithm)
{
    return cells[algorithm].there && (algorithm == 0 || cells[algorithm].proven);
}

/* The upper end of what the winner takes by the time of the library's own choice. */
static double most_of(const struct cell *winner, const struct cell *own)
{
    double ratios[FEW], low = NAN, high = NAN;
    if (winner->launches < 2) {
        return winner->high[0] / own->low[0];
    }
    for (int i = 0; i < winner->launches; i++) {
        ratios[i] = winner->median[i] / own->median[i];
    }
    tune_interval(ratios, winner->launches, &low, &high);
    return high;
}

static void same_or_none(double value, double wanted)
{
    CHECK(isnan(value) == isnan(wanted));
    if (!isnan(wanted)) {
        CHECK_NEAR(value, wanted, 1e-9);
    }
}

static void verdict_is(const struct winner *w, const struct cell *cells, int best, double margin)
{
    const bool own = cells[0].there;
    const double most = own && best != 0 ? most_of(&cells[best], &cells[0]) : NAN;
    const enum tune_verdict verdict = !own                      ? TUNE_NO_DEFAULT
                                      : best == 0               ? TUNE_DEFAULT
                                      : most * (1 + margin) < 1 ? TUNE_RULE
                                                                : TUNE_UNCLEAR;
    same_or_none(w->most, most);
    same_or_none(w->fallback_s, own ? median_of(&cells[0]) : NAN);
    CHECK(w->verdict == verdict);
    CHECK_STR(tune_rule(w), verdict == TUNE_RULE ? algorithms[best] : "default");
}

static void winner_is(const struct winner *w, const struct place *place, const struct cell *cells,
                      double margin)
{
    int best = -1, second = -1, count = 0;
    for (int a = 0; a < ALGORITHMS; a++) {
        if (!cell_counts(cells, a)) {
            continue;
        }
        count++;
        if (best < 0 || median_of(&cells[a]) < median_of(&cells[best])) {
            second = best;
            best = a;
        } else if (second < 0 || median_of(&cells[a]) < median_of(&cells[second])) {
            second = a;
        }
    }
    CHECK_STR(w->operation, place->operation);
    CHECK(w->processes == place->processes && w->bytes == place->bytes);
    CHECK_STR(w->algorithm, algorithms[best]);
    CHECK(w->rivals == count - 1 && w->launches == cells[best].launches);
    CHECK_NEAR(w->median_s, median_of(&cells[best]), 1e-15);
    CHECK_NEAR(w->low_s, middle_of(cells[best].low, cells[best].launches), 1e-15);
    CHECK_NEAR(w->high_s, middle_of(cells[best].high, cells[best].launches), 1e-15);
    CHECK_NEAR(w->runner_up_s, median_of(&cells[second]), 1e-15);
    verdict_is(w, cells, best, margin);
}

static int count_of(const struct cell *cells)
{
    return cell_counts(cells, 0) + cell_counts(cells, 1) + cell_counts(cells, 2) +
           cell_counts(cells, 3);
}

/* The order of measurements in a file says nothing, nor do those of another reduction. */
static void choices_are_fastest(int launches)
{
    struct cell cells[PLACES][ALGORITHMS];
    struct winners winners;
    struct ictus_why why = {""};
    json_t *objects = json_array();
    int unproven = 0, chosen = 0;
    for (int i = 0; i < PLACES * ALGORITHMS; i++) {
        const int p = i * 7 % PLACES, a = i * 7 / PLACES % ALGORITHMS;
        cells[p][a] = cell_make(launches);
        cell_put(objects, &places[p], algorithms[a], "together", "max", &cells[p][a]);
        const struct cell other = cell_make(launches);
        cell_put(objects, &places[p], algorithms[a], "together", "mean", &other);
        unproven += a > 0 && cells[p][a].there && !cells[p][a].proven;
    }
    const double margin = 0.01 * roll(20);
    const int err = tune_choose(objects, "max", margin, &winners, &why);
    for (int p = 0; p < PLACES; p++) {
        if (count_of(cells[p]) > 1) {
            REQUIRE(!err && (size_t)chosen < winners.count);
            winner_is(&winners.list[chosen++], &places[p], cells[p], margin);
        }
    }
    CHECK(err == (chosen ? ICTUS_OK : ICTUS_ERR_FORMAT));
    if (!err) {
        CHECK(winners.count == (size_t)chosen && winners.unproven == unproven);
        CHECK(winners.mockup_count == 0);
        tune_free(&winners);
    }
    json_decref(objects);
}

/* A composition is named if its interval's upper end beats the fastest algorithm by the margin. */
static void mockups_are_named(void)
{
    static const struct place composed = {"allreduce_as_reduce+bcast", 4, 8};
    for (int i = 0; i < 40; i++) {
        struct winners winners;
        struct ictus_why why = {""};
        json_t *objects = json_array();
        struct cell cells[3] = {cell_make(1), cell_make(1), cell_make(1)};
        for (int a = 0; a < 3; a++) {
            cells[a].there = cells[a].proven = true;
        }
        cell_put(objects, &composed, "default", "together", "max", &cells[2]);
        cell_put(objects, &places[0], "default", "together", "max", &cells[0]);
        cell_put(objects, &places[0], "ring", "together", "max", &cells[1]);
        cell_put(objects, &places[1], "ring", "together", "max", &cells[2]); /* of another size */
        REQUIRE(!tune_choose(objects, NULL, 0.1, &winners, &why));
        const double fastest = fmin(cells[0].median[0], cells[1].median[0]);
        const bool faster = cells[2].high[0] * 1.1 < fastest;
        CHECK(winners.mockup_count == faster);
        if (faster) {
            CHECK_STR(winners.mockups[0].name, composed.operation);
            CHECK_STR(winners.mockups[0].operation, "allreduce");
            CHECK(winners.mockups[0].processes == 4 && winners.mockups[0].bytes == 8);
            CHECK_NEAR(winners.mockups[0].fastest_s, fastest, 1e-15);
            CHECK_NEAR(winners.mockups[0].median_s, cells[2].median[0], 1e-15);
        }
        tune_free(&winners);
        json_decref(objects);
    }
}

/* Measured under two conditions, an algorithm has no time of its own. */
static void mixtures_are_refused(void)
{
    struct winners winners;
    struct ictus_why why = {""};
    json_t *objects = json_array();
    struct cell cell = cell_make(1);
    cell.there = cell.proven = true;
    cell_put(objects, &places[0], "default", "together", "max", &cell);
    cell_put(objects, &places[0], "ring", "together", "max", &cell);
    REQUIRE(!tune_choose(objects, NULL, 0.1, &winners, &why));
    tune_free(&winners);
    cell_put(objects, &places[0], "chain", "together", "max", &cell);
    cell_put(objects, &places[0], "ring", "late:rank=0", "max", &cell);
    CHECK(tune_choose(objects, NULL, 0.1, &winners, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, "allreduce of 8 bytes, algorithm 'ring'"));
    json_decref(objects);
    objects = json_array();
    cell_put(objects, &places[0], "ring", "together", "max", &cell);
    cell_put(objects, &places[0], "ring", "late:rank=0", "max", &cell);
    CHECK(tune_choose(objects, NULL, 0.1, &winners, &why) == ICTUS_ERR_FORMAT);
    json_decref(objects);
}

/* A rule that would not be read in one of the launches is none. */
static void other_components_read_no_rules(void)
{
    static const struct {
        const char *components[FEW], *named;
        enum tune_verdict verdict;
    } cases[] = {{{"", "", ""}, "", TUNE_RULE},
                 {{"tuned", "", ""}, "tuned", TUNE_RULE},
                 {{"", "tuned", "han"}, "han", TUNE_NO_COMPONENT},
                 {{"sm", "tuned", "tuned"}, "sm", TUNE_NO_COMPONENT}};
    for (int i = 0; i < 4; i++) {
        struct winners winners;
        struct ictus_why why = {""};
        json_t *objects = json_array();
        const struct cell fast = {true, true, FEW, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
        const struct cell slow = {true, true, FEW, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}};
        cell_put(objects, &places[0], "default", "together", "max", &slow);
        cell_put(objects, &places[0], "ring", "together", "max", &fast);
        for (size_t k = 0; k < FEW; k++) {
            (void)json_object_set_new(json_array_get(objects, k), "component",
                                      json_string(cases[i].components[k]));
        }
        REQUIRE(!tune_choose(objects, NULL, 0.1, &winners, &why) && winners.count == 1);
        CHECK_STR(winners.list[0].component, cases[i].named);
        CHECK(winners.list[0].verdict == cases[i].verdict);
        CHECK(tune_has_rule(&winners, 0, 1) == (cases[i].verdict == TUNE_RULE));
        tune_free(&winners);
        json_decref(objects);
    }
}

/* Cells of one place under all patterns. */
struct regret_model {
    struct cell cells[ALGORITHMS][PATTERNS];
};

static double time_of(const struct regret_model *m, int a, int p)
{
    const struct cell *c = &m->cells[a][p];
    return c->there && (a == 0 || c->proven) ? median_of(c) : NAN;
}

static double regret_of(const struct regret_model *m, int a, int p)
{
    double best = NAN;
    for (int b = 0; b < ALGORITHMS; b++) {
        best = fmin(best, time_of(m, b, p));
    }
    return time_of(m, a, p) / best - 1;
}

static double worst_of(const struct regret_model *m, int a)
{
    double worst = 0;
    for (int p = 0; p < PATTERNS; p++) {
        worst = isnan(worst) || isnan(regret_of(m, a, p)) ? NAN : fmax(worst, regret_of(m, a, p));
    }
    return worst;
}

/* The algorithm of least regret, under a pattern or under all; -1: none. */
static int choice_of(const struct regret_model *m, int pattern)
{
    int choice = -1;
    double least = INFINITY;
    for (int a = 0; a < ALGORITHMS; a++) {
        const double regret = pattern < PATTERNS ? regret_of(m, a, pattern) : worst_of(m, a);
        if (regret < least) {
            least = regret;
            choice = a;
        }
    }
    return choice;
}

/* Whether it was measured at all. */
static bool is_present(const struct regret_model *m, int a)
{
    bool present = false;
    for (int p = 0; p < PATTERNS; p++) {
        present = present || !isnan(time_of(m, a, p));
    }
    return present;
}

/* Its time by the fastest's under a pattern, by launches in which all were measured, or else by the
 * ends of their intervals. @return the launches that were used */
static int interval_of(const struct regret_model *m, int a, int p, double *low, double *high)
{
    const struct cell *own = &m->cells[a][p];
    double ratios[FEW], least_low = INFINITY, least_high = INFINITY;
    bool complete = true;
    for (int i = 0; i < own->launches; i++) {
        ratios[i] = INFINITY;
    }
    for (int b = 0; b < ALGORITHMS; b++) {
        const struct cell *c = &m->cells[b][p];
        if (isnan(time_of(m, b, p))) {
            complete = complete && !is_present(m, b);
            continue;
        }
        for (int i = 0; i < own->launches; i++) {
            ratios[i] = fmin(ratios[i], c->median[i]);
        }
        if (b != a) {
            least_low = fmin(least_low, middle_of(c->low, c->launches));
            least_high = fmin(least_high, middle_of(c->high, c->launches));
        }
    }
    for (int i = 0; i < own->launches; i++) {
        ratios[i] = own->median[i] / ratios[i];
    }
    *low = middle_of(own->low, own->launches) / least_high;
    *high = middle_of(own->high, own->launches) / least_low;
    if (complete && own->launches > 1) {
        tune_interval(ratios, own->launches, low, high);
    }
    *low = fmax(*low, 1);
    *high = fmax(*high, 1);
    return complete ? own->launches : 1;
}

/* The upper end of what the choice takes at its worst, by the default at its best. */
static double most_regretted(const struct regret_model *m, int choice, int *launches)
{
    double ends[2] = {1, 1};
    for (int p = 0; p < PATTERNS; p++) {
        double low = NAN, high = NAN;
        const int used = interval_of(m, choice, p, &low, &high);
        *launches = p == 0 || used < *launches ? used : *launches;
        ends[1] = fmax(ends[1], high);
        (void)interval_of(m, 0, p, &low, &high);
        ends[0] = isnan(time_of(m, 0, p)) ? NAN : ends[0] < low || isnan(ends[0]) ? low : ends[0];
        if (isnan(ends[0])) {
            return NAN;
        }
    }
    return ends[1] / ends[0];
}

static void regret_winner_is(const struct winner *w, const struct regret_model *m, double margin)
{
    const int choice = choice_of(m, PATTERNS);
    CHECK_STR(w->algorithm, algorithms[choice]);
    CHECK_NEAR(w->median_s, time_of(m, choice, 0), 1e-15);
    if (!is_present(m, 0)) {
        CHECK(w->verdict == TUNE_NO_DEFAULT && isnan(w->most) && isnan(w->fallback_s));
    } else if (choice == 0) {
        CHECK(w->verdict == TUNE_DEFAULT && isnan(w->most));
    } else {
        int launches = 0;
        const double most = most_regretted(m, choice, &launches);
        CHECK(isnan(most) || w->launches == launches);
        same_or_none(w->most, most);
        same_or_none(w->fallback_s, time_of(m, 0, 0));
        CHECK(w->verdict == (most * (1 + margin) < 1 ? TUNE_RULE : TUNE_UNCLEAR));
    }
}

static int algorithm_named(const char *name)
{
    int a = 0;
    while (a < ALGORITHMS && strcmp(algorithms[a], name) != 0) {
        a++;
    }
    REQUIRE(a < ALGORITHMS);
    return a;
}

static void regrets_are_right(const struct regret_table *t, const struct regrets *r,
                              const struct regret_model *m)
{
    int at[PATTERNS];
    for (size_t p = 0; p < t->pattern_count; p++) {
        for (at[p] = 0; strcmp(t->patterns[p], patterns[at[p]]) != 0; at[p]++) {
        }
    }
    for (size_t i = 0; i < r->algorithm_count; i++) {
        const int a = algorithm_named(r->algorithms[i]);
        for (size_t p = 0; p < t->pattern_count; p++) {
            same_or_none(regret_under(t, r, i, p), regret_of(m, a, at[p]));
        }
        same_or_none(regret_worst(t, r, i), worst_of(m, a));
    }
    for (size_t p = 0; p <= t->pattern_count; p++) {
        const size_t choice = regret_choice(t, r, p);
        const int wanted = choice_of(m, p < t->pattern_count ? at[p] : PATTERNS);
        CHECK((choice == SIZE_MAX) == (wanted < 0));
        CHECK(choice == SIZE_MAX || algorithm_named(r->algorithms[choice]) == wanted);
    }
}

/* Whether one of two algorithms or more was measured under all patterns. */
static bool has_choice(const struct regret_model *m)
{
    const int present = is_present(m, 0) + is_present(m, 1) + is_present(m, 2) + is_present(m, 3);
    return present > 1 && choice_of(m, PATTERNS) >= 0;
}

static int place_of(const struct regrets *r)
{
    int p = 0;
    while (p < PLACES && (strcmp(places[p].operation, r->operation) != 0 ||
                          places[p].processes != r->processes || places[p].bytes != r->bytes)) {
        p++;
    }
    REQUIRE(p < PLACES);
    return p;
}

/* Regrets are times by the fastest's, less one; chosen is that of the least, or least largest. */
static void choices_regret_least(int launches)
{
    static struct regret_model models[PLACES];
    struct regret_table t;
    struct winners winners;
    struct ictus_why why = {""};
    json_t *objects = json_array();
    int unproven = 0, wanted = 0;
    for (int i = 0; i < PLACES * ALGORITHMS * PATTERNS; i++) {
        const int k = i * 17 % (PLACES * ALGORITHMS * PATTERNS); /* in no order */
        const int p = k % PLACES, a = k / PLACES % ALGORITHMS, pattern = k / PLACES / ALGORITHMS;
        struct cell *c = &models[p].cells[a][pattern];
        *c = cell_make(launches);
        cell_put(objects, &places[p], algorithms[a], patterns[pattern], "exit", c);
        unproven += a > 0 && c->there && !c->proven;
    }
    REQUIRE(!regret_table_make(objects, "exit", &t, &why));
    CHECK(t.pattern_count == PATTERNS && t.place_count == PLACES && t.unproven == unproven);
    CHECK_STR(t.patterns[0], "together");
    for (size_t i = 0; i < t.place_count; i++) {
        regrets_are_right(&t, &t.places[i], &models[place_of(&t.places[i])]);
    }
    for (int p = 0; p < PLACES; p++) {
        wanted += has_choice(&models[p]);
    }
    const int err = regret_winners(&t, 0.05, &winners, &why);
    CHECK(!err == (wanted > 0));
    if (!err) {
        CHECK(winners.count == (size_t)wanted && winners.unproven == unproven);
        int p = -1;
        for (size_t i = 0; i < winners.count; i++) {
            do {
                p++;
            } while (!has_choice(&models[p]));
            const struct winner *w = &winners.list[i];
            CHECK_STR(w->operation, places[p].operation);
            CHECK(w->processes == places[p].processes && w->bytes == places[p].bytes);
            regret_winner_is(w, &models[p], 0.05);
        }
        tune_free(&winners);
    }
    regret_table_free(&t);
    json_decref(objects);
}

/* A pattern is named by its beginning where only one has it, and whole in any case. */
static void patterns_have_names(size_t count)
{
    struct regret_table t;
    struct ictus_why why = {""};
    size_t pattern = 99;
    json_t *objects = json_array();
    struct cell cell = cell_make(1);
    cell.there = cell.proven = true;
    static const char *const all[] = {"late:rank=1", "late:rank=10", "ramp", "together"};
    for (size_t i = 0; i < count; i++) {
        cell_put(objects, &places[0], "default", all[i], "exit", &cell);
    }
    cell_put(objects, &places[0], "default", "of another", "max", &cell);
    REQUIRE(!regret_table_make(objects, "exit", &t, &why));
    REQUIRE(t.pattern_count == count);
    static const char *const words[] = {"r", "late:rank=1", "late:rank=10", "late", "sine"};
    for (int i = 0; i < 5; i++) {
        const int err = regret_table_pattern(&t, words[i], &pattern, &why);
        CHECK(err == (i < 3 ? ICTUS_OK : ICTUS_ERR_UNKNOWN));
        CHECK(err || !strcmp(t.patterns[pattern], i == 0 ? "ramp" : words[i]));
    }
    CHECK(!regret_table_pattern(&t, tune_minimax, &pattern, &why) && pattern == count);
    REQUIRE(!regret_table_pattern(&t, "ramp", &pattern, &why));
    (void)json_array_append_new(objects, json_pack("{ss}", "type", "header"));
    json_t *only = regret_table_only(&t, pattern, objects);
    CHECK(json_array_size(only) == 2); /* what is no measurement stays */
    json_decref(only);
    regret_table_free(&t);
    CHECK(regret_table_make(objects, "mean", &t, &why) == ICTUS_ERR_FORMAT);
    regret_table_free(&t);
    json_decref(objects);
}

int main(void)
{
    intervals_are_students();
    for (int i = 0; i < 60; i++) {
        dice = (uint32_t)i;
        choices_are_fastest(1 + i % FEW);
        choices_regret_least(1 + i % FEW);
    }
    mockups_are_named();
    mixtures_are_refused();
    other_components_read_no_rules();
    patterns_have_names(3);
    patterns_have_names(4); /* common starts precede all others */
    return check_result();
}
