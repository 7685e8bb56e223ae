/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regrets of algorithms over arrival patterns. With t(a, p) the time of algorithm a under a
 * pattern p,
 *
 *     regret(a, p) = t(a, p) / min over b of t(b, p) - 1
 *     worst(a) = max over p of regret(a, p)
 *
 * and minimax chooses the a of least worst(a) (Savage 1951). Ratios, not differences of times: a
 * pattern under which all is slow would otherwise decide alone.
 */
#include "results/tune_arrival.h"

#include "main/text_table.h"
#include "results/experiments.h"

#include <ictus/select.h>
#include <ictus/text.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char tune_minimax[] = "minimax";

static const char together[] = "together";

static const char *tune_arrival_member_text(const json_t *members, const char *key,
                                            const char *otherwise)
{
    const char *text = json_string_value(json_object_get(members, key));
    return text ? text : otherwise;
}

/* Whether a measurement could be one of this table: one of the reduction asked for. */
static bool tune_arrival_is_of(const struct experiment *e, const char *reduction)
{
    return strcmp(tune_arrival_member_text(e->members, "reduction", ""), reduction) == 0 &&
           strlen(tune_arrival_member_text(e->members, "algorithm", "")) < WINNER_NAME_MAX &&
           strlen(tune_arrival_member_text(e->members, "operation", "")) < WINNER_NAME_MAX;
}

/* Whether it is one: the library's own choice, or an algorithm that was seen to run. */
static bool tune_arrival_is_wanted(const struct experiment *e, const char *reduction)
{
    const char *algorithm = tune_arrival_member_text(e->members, "algorithm", "");
    return tune_arrival_is_of(e, reduction) &&
           (strcmp(algorithm, ICTUS_ALGORITHM_DEFAULT) == 0 || tune_is_proven(e->launches));
}

/* The place of a pattern's name, appended if it is new; SIZE_MAX: no memory. */
static size_t tune_arrival_pattern_at(struct regret_table *t, const char *name)
{
    for (size_t i = 0; i < t->pattern_count; i++) {
        if (strcmp(t->patterns[i], name) == 0) {
            return i;
        }
    }
    char **grown = realloc(t->patterns, (t->pattern_count + 1) * sizeof(*grown));
    if (!grown) {
        return SIZE_MAX;
    }
    t->patterns = grown;
    grown[t->pattern_count] = strdup(name);
    return grown[t->pattern_count] ? t->pattern_count++ : SIZE_MAX;
}

static struct regrets *tune_arrival_place_at(struct regret_table *t, const json_t *members)
{
    const char *operation = tune_arrival_member_text(members, "operation", "");
    const json_int_t processes = json_integer_value(json_object_get(members, "processes"));
    const json_int_t bytes = json_integer_value(json_object_get(members, "bytes"));
    for (size_t i = 0; i < t->place_count; i++) {
        struct regrets *r = &t->places[i];
        if (strcmp(r->operation, operation) == 0 && r->processes == processes &&
            r->bytes == bytes) {
            return r;
        }
    }
    struct regrets *grown = realloc(t->places, (t->place_count + 1) * sizeof(*grown));
    if (!grown) {
        return NULL;
    }
    t->places = grown;
    struct regrets *r = &grown[t->place_count++];
    *r = (struct regrets){.processes = processes, .bytes = bytes};
    (void)snprintf(r->operation, sizeof(r->operation), "%s", operation);
    return r;
}

static size_t algorithm_at(const struct regret_table *t, struct regrets *r, const char *name)
{
    for (size_t i = 0; i < r->algorithm_count; i++) {
        if (strcmp(r->algorithms[i], name) == 0) {
            return i;
        }
    }
    const size_t n = r->algorithm_count + 1;
    char(*names)[WINNER_NAME_MAX] = realloc(r->algorithms, n * sizeof(*names));
    r->algorithms = names ? names : r->algorithms;
    struct regret_cell *cells = realloc(r->cells, n * t->pattern_count * sizeof(*cells));
    r->cells = cells ? cells : r->cells;
    if (!names || !cells) {
        return SIZE_MAX;
    }
    (void)snprintf(names[n - 1], sizeof(names[0]), "%s", name);
    for (size_t p = 0; p < t->pattern_count; p++) {
        cells[(n - 1) * t->pattern_count + p] =
            (struct regret_cell){.time = {.median_s = NAN, .low_s = NAN, .high_s = NAN}};
    }
    return r->algorithm_count++;
}

static int tune_arrival_table_add(struct regret_table *t, const struct experiment *e)
{
    const size_t pattern =
        tune_arrival_pattern_at(t, tune_arrival_member_text(e->members, "arrival", together));
    struct regrets *r = tune_arrival_place_at(t, e->members);
    const char *name = tune_arrival_member_text(e->members, "algorithm", ICTUS_ALGORITHM_DEFAULT);
    const size_t a = r ? algorithm_at(t, r, name) : SIZE_MAX;
    if (a == SIZE_MAX || pattern == SIZE_MAX) {
        return ICTUS_ERR_NOMEM;
    }
    struct regret_cell *cell = &r->cells[a * t->pattern_count + pattern];
    json_decref(cell->launches);
    *cell = (struct regret_cell){tune_time(e->launches), json_incref(e->launches)};
    return ICTUS_OK;
}

/*
 * Patterns are known before any place has room for them. Common starts come first, so that they are
 * column A whatever the order of the files.
 */
static int table_patterns(struct regret_table *t, const struct experiments *list,
                          const char *reduction)
{
    for (int first = 1; first >= 0; first--) {
        for (size_t i = 0; i < list->count; i++) {
            const char *name = tune_arrival_member_text(list->list[i].members, "arrival", together);
            if (tune_arrival_is_wanted(&list->list[i], reduction) &&
                (strcmp(name, together) == 0) == first &&
                tune_arrival_pattern_at(t, name) == SIZE_MAX) {
                return ICTUS_ERR_NOMEM;
            }
        }
    }
    return ICTUS_OK;
}

int regret_table_make(const json_t *objects, const char *reduction, struct regret_table *t,
                      struct ictus_why *why)
{
    struct experiments list;
    *t = (struct regret_table){.patterns = NULL};
    int err = experiments_gather(objects, &list, why);
    err = err ? err : table_patterns(t, &list, reduction);
    for (size_t i = 0; i < list.count && !err; i++) {
        const bool wanted = tune_arrival_is_wanted(&list.list[i], reduction);
        t->unproven += !wanted && tune_arrival_is_of(&list.list[i], reduction);
        err = wanted ? tune_arrival_table_add(t, &list.list[i]) : ICTUS_OK;
    }
    experiments_free(&list);
    if (!err && t->place_count == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT,
                            "no proven measurement has the reduction '%s'; to compare times under "
                            "different arrivals, measure with --reduction=exit",
                            reduction);
    }
    return err;
}

void regret_table_free(struct regret_table *t)
{
    for (size_t i = 0; i < t->pattern_count; i++) {
        free(t->patterns[i]);
    }
    for (size_t i = 0; i < t->place_count; i++) {
        for (size_t c = 0; c < t->places[i].algorithm_count * t->pattern_count; c++) {
            json_decref(t->places[i].cells[c].launches);
        }
        free(t->places[i].algorithms);
        free(t->places[i].cells);
    }
    free(t->patterns);
    free(t->places);
    *t = (struct regret_table){.patterns = NULL};
}

int regret_table_pattern(const struct regret_table *t, const char *word, size_t *pattern,
                         struct ictus_why *why)
{
    const char **names = calloc(t->pattern_count + 2, sizeof(*names));
    size_t found = 0;
    int count = 0;
    if (!names) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < t->pattern_count; i++) {
        names[i] = t->patterns[i];
        if (strncmp(t->patterns[i], word, strlen(word)) == 0) {
            found = i;
            count++;
        }
    }
    for (size_t i = 0; i < t->pattern_count; i++) { /* the whole text comes first */
        if (strcmp(t->patterns[i], word) == 0) {
            found = i;
            count = 1;
        }
    }
    names[t->pattern_count] = tune_minimax;
    const bool minimax = strcmp(word, tune_minimax) == 0;
    *pattern = minimax ? t->pattern_count : found;
    const int err =
        minimax || count == 1 ? ICTUS_OK : ictus_unknown(why, "arrival pattern", word, names);
    free(names);
    return err;
}

json_t *regret_table_only(const struct regret_table *t, size_t pattern, const json_t *objects)
{
    json_t *only = json_array();
    size_t i = 0;
    json_t *object = NULL;
    json_array_foreach((json_t *)objects, i, object)
    {
        if (strcmp(tune_arrival_member_text(object, "type", ""), "measurement") != 0 ||
            strcmp(tune_arrival_member_text(object, "arrival", together), t->patterns[pattern]) ==
                0) {
            (void)json_array_append(only, object);
        }
    }
    return only;
}

static const struct regret_cell *regret_cell(const struct regret_table *t, const struct regrets *r,
                                             size_t algorithm, size_t pattern)
{
    return &r->cells[algorithm * t->pattern_count + pattern];
}

double regret_under(const struct regret_table *t, const struct regrets *r, size_t algorithm,
                    size_t pattern)
{
    double best = NAN;
    for (size_t a = 0; a < r->algorithm_count; a++) {
        best = fmin(best, regret_cell(t, r, a, pattern)->time.median_s);
    }
    return regret_cell(t, r, algorithm, pattern)->time.median_s / best - 1.0;
}

/*
 * NaN where it was not measured under every pattern: what nobody measured may be the worst, and an
 * algorithm must not win because it was left out where it is slow.
 */
double regret_worst(const struct regret_table *t, const struct regrets *r, size_t algorithm)
{
    double worst = 0.0;
    for (size_t p = 0; p < t->pattern_count && !isnan(worst); p++) {
        const double regret = regret_under(t, r, algorithm, p);
        worst = isnan(regret) ? regret : fmax(worst, regret);
    }
    return worst;
}

/* An algorithm's time by the fastest's of the same launch; NaN where that had not all of them. */
static double tune_arrival_launch_ratio(const struct regret_table *t, const struct regrets *r,
                                        size_t algorithm, size_t pattern, const json_t *launch)
{
    double best = INFINITY;
    for (size_t a = 0; a < r->algorithm_count; a++) {
        const double time = tune_of_launch(regret_cell(t, r, a, pattern)->launches, launch);
        best = isnan(time) ? NAN : fmin(best, time);
        if (isnan(best)) {
            return NAN;
        }
    }
    return tune_of_launch(regret_cell(t, r, algorithm, pattern)->launches, launch) / best;
}

/*
 * The 95 % interval of an algorithm's time by the fastest's under a pattern: launch by launch, or,
 * of one launch, from the intervals of the medians. Never below 1. @return launches
 */
static int regret_interval(const struct regret_table *t, const struct regrets *r, size_t algorithm,
                           size_t pattern, double *low, double *high)
{
    const struct regret_cell *own = regret_cell(t, r, algorithm, pattern);
    double *ratios = calloc(json_array_size(own->launches) + 1, sizeof(*ratios));
    double least_low = INFINITY;
    double least_high = INFINITY;
    int count = 0;
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach(own->launches, i, launch)
    {
        const double ratio = tune_arrival_launch_ratio(t, r, algorithm, pattern, launch);
        if (ratios && !isnan(ratio) && json_object_get(launch, "launch")) {
            ratios[count++] = ratio;
        }
    }
    /*
     * Of one launch: the fastest's time is not above the least upper end, nor, as far as their
     * intervals say, below the least lower end.
     */
    for (size_t a = 0; a < r->algorithm_count; a++) {
        if (a != algorithm) { /* by itself it is 1, whatever its interval */
            least_low = fmin(least_low, regret_cell(t, r, a, pattern)->time.low_s);
            least_high = fmin(least_high, regret_cell(t, r, a, pattern)->time.high_s);
        }
    }
    *low = own->time.low_s / least_high;
    *high = own->time.high_s / least_low;
    if (count > 1) {
        tune_interval(ratios, count, low, high);
    }
    free(ratios);
    *low = isnan(*low) ? *low : fmax(1.0, *low);
    *high = isnan(*high) ? *high : fmax(1.0, *high);
    return count > 1 ? count : 1;
}

/*
 * The same of the largest over all patterns: from the largest of the lower ends to the largest of
 * the upper ends. NaN: not measured under all. @return least launches
 */
static int tune_arrival_worst_interval(const struct regret_table *t, const struct regrets *r,
                                       size_t algorithm, double *low, double *high)
{
    int least = 0;
    *low = 1.0;
    *high = 1.0;
    for (size_t p = 0; p < t->pattern_count; p++) {
        double from = NAN;
        double to = NAN;
        const int launches = regret_interval(t, r, algorithm, p, &from, &to);
        least = p == 0 || launches < least ? launches : least;
        *low = isnan(from) || isnan(*low) ? NAN : fmax(*low, from);
        *high = isnan(to) || isnan(*high) ? NAN : fmax(*high, to);
    }
    return least;
}

size_t regret_choice(const struct regret_table *t, const struct regrets *r, size_t pattern)
{
    size_t choice = SIZE_MAX;
    double least = INFINITY;
    for (size_t a = 0; a < r->algorithm_count; a++) {
        const double regret =
            pattern < t->pattern_count ? regret_under(t, r, a, pattern) : regret_worst(t, r, a);
        if (regret < least) { /* not for a NaN */
            least = regret;
            choice = a;
        }
    }
    return choice;
}

/* The component that served an algorithm; one that reads no rules where a pattern had one. */
static const char *component_under_all(const struct regret_table *t, const struct regrets *r,
                                       size_t algorithm)
{
    const char *component = "";
    for (size_t p = 0; p < t->pattern_count; p++) {
        const char *its = tune_component(regret_cell(t, r, algorithm, p)->launches);
        if (its[0] && (!component[0] || strcmp(component, RULED_COMPONENT) == 0)) {
            component = its;
        }
    }
    return component;
}

/* One place's winner, if there is a choice; its times are under the first pattern. */
static void tune_arrival_choose_place(const struct regret_table *t, const struct regrets *r,
                                      double margin, struct winners *winners)
{
    const size_t choice = regret_choice(t, r, t->pattern_count);
    if (choice == SIZE_MAX || r->algorithm_count < 2) {
        return;
    }
    struct winner *w = &winners->list[winners->count++];
    *w = (struct winner){.processes = r->processes,
                         .bytes = r->bytes,
                         .median_s = regret_cell(t, r, choice, 0)->time.median_s,
                         .low_s = regret_cell(t, r, choice, 0)->time.low_s,
                         .high_s = regret_cell(t, r, choice, 0)->time.high_s,
                         .runner_up_s = NAN,
                         .fallback_s = NAN,
                         .most = NAN,
                         .rivals = (int)r->algorithm_count - 1,
                         .verdict = TUNE_NO_DEFAULT};
    double low = NAN;
    double high = NAN;
    w->launches = tune_arrival_worst_interval(t, r, choice, &low, &high);
    (void)snprintf(w->operation, sizeof(w->operation), "%s", r->operation);
    (void)snprintf(w->algorithm, sizeof(w->algorithm), "%s", r->algorithms[choice]);
    for (size_t a = 0; a < r->algorithm_count; a++) {
        if (strcmp(r->algorithms[a], ICTUS_ALGORITHM_DEFAULT) == 0) {
            double own_low = NAN;
            double own_high = NAN;
            (void)tune_arrival_worst_interval(t, r, a, &own_low, &own_high);
            w->fallback_s = regret_cell(t, r, a, 0)->time.median_s;
            /* Even at its worst against the default at its best: else the rule has no reason. */
            w->most = a == choice ? NAN : high / own_low;
            w->verdict = a == choice                      ? TUNE_DEFAULT
                         : w->most * (1.0 + margin) < 1.0 ? TUNE_RULE
                                                          : TUNE_UNCLEAR;
            tune_note_component(w, component_under_all(t, r, a));
        }
    }
}

static int tune_arrival_compare_winners(const void *a, const void *b)
{
    const struct winner *x = a;
    const struct winner *y = b;
    const int order = strcmp(x->operation, y->operation);
    if (order) {
        return order;
    }
    if (x->processes != y->processes) {
        return x->processes < y->processes ? -1 : 1;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

int regret_winners(const struct regret_table *t, double margin, struct winners *winners,
                   struct ictus_why *why)
{
    *winners = (struct winners){.list = calloc(t->place_count + 1, sizeof(*winners->list)),
                                .unproven = t->unproven};
    if (!winners->list) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < t->place_count; i++) {
        tune_arrival_choose_place(t, &t->places[i], margin, winners);
    }
    qsort(winners->list, winners->count, sizeof(*winners->list), tune_arrival_compare_winners);
    if (winners->count == 0) {
        tune_free(winners);
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "nothing to choose from: no operation was measured with two "
                             "algorithms%s, one of them under every pattern (%zu); see 'ictus "
                             "bench --algorithm=all --arrival=...'",
                             t->unproven > 0 ? " that were verified to run" : "", t->pattern_count);
    }
    return ICTUS_OK;
}

static char pattern_letter(size_t pattern)
{
    return (char)('A' + (int)(pattern % 26));
}

/* One algorithm's row, in %; SIZE_MAX: no algorithm was measured under all patterns. */
static void tune_arrival_put_regrets(const struct regret_table *t, const struct regrets *r,
                                     size_t algorithm, const char *as, struct text_table *table)
{
    const bool known = algorithm != SIZE_MAX;
    text_table_cell(table, "%s", r->operation);
    text_table_cell(table, "%lld", (long long)r->bytes);
    text_table_cell(table, "%lld", (long long)r->processes);
    text_table_cell(table, "%s", as);
    text_table_cell(table, "%s", known ? r->algorithms[algorithm] : "-");
    for (size_t p = 0; p <= t->pattern_count; p++) {
        const double regret = !known                 ? NAN
                              : p < t->pattern_count ? regret_under(t, r, algorithm, p)
                                                     : regret_worst(t, r, algorithm);
        text_table_cell(table, isnan(regret) ? "-" : "%.1f", 100.0 * regret);
    }
    double low = NAN;
    double high = NAN;
    if (known) {
        (void)tune_arrival_worst_interval(t, r, algorithm, &low, &high);
    }
    text_table_cell(table, isnan(high) ? "-" : "%.1f", 100.0 * (high - 1.0));
}

static void tune_arrival_put_titles(const struct regret_table *t, struct text_table *table)
{
    text_table_column(table, "operation", true);
    text_table_column(table, "bytes", false);
    text_table_column(table, "procs", false);
    text_table_column(table, "chosen by", true);
    text_table_column(table, "algorithm", true);
    for (size_t p = 0; p < t->pattern_count; p++) {
        const char title[] = {pattern_letter(p), ' ', '%', '\0'};
        text_table_column(table, title, false);
    }
    text_table_column(table, "most %", false);
    text_table_column(table, "up to %", false);
}

int regret_table_print(const struct regret_table *t, size_t pattern, FILE *file)
{
    struct text_table table;
    (void)fputc('\n', file);
    remark_print(file, "regret: time beyond the fastest algorithm's, by arrival pattern; most: the "
                       "largest; up to: the upper end of its 95 %% interval");
    for (size_t p = 0; p < t->pattern_count; p++) {
        remark_print(file, "%c: %s", pattern_letter(p), t->patterns[p]);
    }
    text_table_init(&table, 5);
    tune_arrival_put_titles(t, &table);
    for (size_t i = 0; i < t->place_count; i++) {
        const struct regrets *r = &t->places[i];
        if (pattern < t->pattern_count) {
            const char as[2] = {pattern_letter(pattern), '\0'};
            tune_arrival_put_regrets(t, r, regret_choice(t, r, pattern), as, &table);
        }
        if (pattern != 0 && strcmp(t->patterns[0], together) == 0) {
            tune_arrival_put_regrets(t, r, regret_choice(t, r, 0), "A", &table);
        }
        tune_arrival_put_regrets(t, r, regret_choice(t, r, t->pattern_count), tune_minimax, &table);
    }
    return text_table_print(&table, "", file);
}
