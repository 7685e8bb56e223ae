/* SPDX-License-Identifier: BSD-3-Clause */
/* What 'ictus rtt' and 'ictus drift' report about known round trips and offsets. */
#include "../check.h"

#include "clocks/drift_describe.h"
#include "clocks/rtt_describe.h"

#include <ictus/study.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { TRIPS = 6000, BINS = 12, POINTS = 100, SHOWN_BINS = 16 };

static char directory[CHECK_PATH];
static char result[128], shown[128];
static struct ictus_output *out;

static void output_begin(void)
{
    static const struct ictus_column columns[] = {{0}};
    struct ictus_why why = {""};
    (void)unlink(result);
    REQUIRE(freopen(shown, "w", stdout));
    REQUIRE(ictus_output_open(ICTUS_FORMAT_JSON, columns, result, json_object(), &out, &why) ==
            ICTUS_OK);
}

/* The object after the header. */
static json_t *output_end(void)
{
    REQUIRE(ictus_output_close(out) == ICTUS_OK);
    (void)fflush(stdout);
    FILE *file = fopen(result, "r");
    REQUIRE(file);
    json_decref(json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL));
    json_t *object = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
    (void)fclose(file);
    REQUIRE(object);
    return object;
}

static double member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        CHECK_STR(key, "a number");
        return NAN;
    }
    return json_number_value(value);
}

static double item(const json_t *object, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(object, key), i));
}

/* Bins include their lower edge; the last one takes the rest. */
static void histogram_counts(const json_t *histogram, const double *sorted, size_t n)
{
    REQUIRE(json_array_size(json_object_get(histogram, "counts")) == BINS);
    REQUIRE(json_array_size(json_object_get(histogram, "edges_s")) == BINS + 1);
    for (size_t bin = 0; bin < BINS; bin++) {
        const double low = item(histogram, "edges_s", bin) * 1e9;
        const double high = item(histogram, "edges_s", bin + 1) * 1e9;
        double inside = 0;
        for (size_t i = 0; i < n; i++) {
            inside += sorted[i] >= low - 1e-6 && (sorted[i] < high - 1e-6 || bin + 1 == BINS);
        }
        CHECK(high > low);
        CHECK_NEAR(item(histogram, "counts", bin), inside, 0);
    }
}

/* 100, 200, ... 600000 ns in shuffled order. */
static void trips_are_described(void)
{
    static double trips[TRIPS], sorted[TRIPS];
    static const double steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
    const struct rtt_picture picture = {.clock = "sim", .bins = BINS, .raw = true, .text = true};
    for (int i = 0; i < TRIPS; i++) {
        trips[i] = 100.0 * (i * 7 % TRIPS + 1);
        sorted[i] = 100.0 * (i + 1);
    }
    output_begin();
    REQUIRE(rtt_describe(out, &picture, 3, 1, trips, TRIPS) == ICTUS_OK);
    json_t *object = output_end();
    CHECK(member(object, "from") == 3 && member(object, "to") == 1 && member(object, "n") == TRIPS);
    CHECK_NEAR(member(object, "min_s"), 100e-9, 1e-15);
    CHECK_NEAR(member(object, "median_s"), 300050e-9, 1e-15);
    CHECK_NEAR(member(object, "mean_s"), 300050e-9, 1e-15);
    CHECK_NEAR(member(object, "p90_s"), 540010e-9, 1e-15);
    CHECK_NEAR(member(object, "p99_s"), 594001e-9, 1e-15);
    CHECK_NEAR(member(object, "max_s"), 600000e-9, 1e-15);
    const json_t *histogram = json_object_get(object, "histogram");
    histogram_counts(histogram, sorted, TRIPS);
    CHECK_NEAR(item(histogram, "edges_s", 0), 100e-9, 1e-15);
    CHECK_NEAR(item(histogram, "edges_s", BINS - 1), 594001e-9, 1e-15);
    CHECK_NEAR(item(histogram, "edges_s", BINS), 600000e-9, 1e-15);
    for (size_t i = 0; i < TRIPS; i++) {
        CHECK_NEAR(item(object, "raw_s", i), 100e-9 * (double)(i * 7 % TRIPS + 1), 1e-15);
    }
    const json_t *quality = json_object_get(object, "quality");
    const json_t *patience = json_object_get(object, "patience");
    REQUIRE(json_array_size(quality) == 12 && json_array_size(patience) == 12);
    for (size_t i = 0; i < 12; i++) {
        const json_t *fixed = json_array_get(quality, i), *open = json_array_get(patience, i);
        double error = 0, exchanges = 0;
        REQUIRE(!ictus_minimum_excess(sorted, TRIPS, (size_t)steps[i], &error));
        CHECK_NEAR(member(fixed, "exchanges"), steps[i], 0);
        CHECK_NEAR(member(fixed, "error_s"), error * 1e-9, 1e-15);
        CHECK_NEAR(member(fixed, "error_rel"), error / 100, 1e-9);
        CHECK_NEAR(member(fixed, "cost_s"), steps[i] * 300050e-9, 1e-12);
        REQUIRE(!ictus_patience(sorted, TRIPS, (size_t)steps[i], &exchanges, &error));
        CHECK_NEAR(member(open, "patience"), steps[i], 0);
        CHECK_NEAR(member(open, "mean_exchanges"), exchanges, 1e-9);
        CHECK_NEAR(member(open, "error_s"), error * 1e-9, 1e-15);
        CHECK_NEAR(member(open, "error_rel"), error / 100, 1e-9);
        CHECK_NEAR(member(open, "cost_s"), exchanges * 300050e-9, 1e-11);
    }
    json_decref(object);
}

/*
 * A row of costs in microseconds: the minimum of N, and continuing until N in a row were not lower.
 */
static void costs_are_right(const char *line, const double *sorted)
{
    double shown_costs[5];
    double fixed = 0, error = 0, exchanges = 0;
    char *at = NULL;
    for (int i = 0; i < 5; i++, line = at) {
        shown_costs[i] = strtod(line, &at);
    }
    const size_t n = (size_t)shown_costs[0];
    REQUIRE(!ictus_minimum_excess(sorted, TRIPS, n, &fixed));
    REQUIRE(!ictus_patience(sorted, TRIPS, n, &exchanges, &error));
    CHECK_NEAR(shown_costs[1], fixed * 1e-3, 6e-4);
    CHECK_NEAR(shown_costs[2], error * 1e-3, 6e-4);
    CHECK_NEAR(shown_costs[3], 100 * error / sorted[0], 6e-3);
    CHECK_NEAR(shown_costs[4], exchanges, 0.06);
}

/* What the columns of costs are. */
static bool is_head_of_costs(const char *line)
{
    return strstr(line, "minimum of N") || strstr(line, "above best us");
}

/* The histogram below the row: the shares add up, and the fullest bin has the longest bar. */
static void picture_is_drawn(void)
{
    static double sorted[TRIPS];
    for (int i = 0; i < TRIPS; i++) {
        sorted[i] = 100.0 * (i + 1);
    }
    char line[256];
    double share = 0, first = -1;
    int bins = 0, longest = 0, costs = 0, heads = 0;
    FILE *file = fopen(shown, "r");
    REQUIRE(file);
    while (fgets(line, sizeof line, file)) {
        heads += is_head_of_costs(line) && costs == 0;
        char *percent = strstr(line, " %  ");
        if (percent && percent[-1] >= '0' && percent[-1] <= '9') {
            *percent = '\0';
            const double edge = strtod(line + 5, NULL);
            first = bins == 0 ? edge : first;
            CHECK((line[3] == '>') == (bins == SHOWN_BINS - 1));
            share += strtod(strrchr(line, ' '), NULL);
            const int bar = (int)strspn(percent + 4, "#");
            longest = bar > longest ? bar : longest;
            bins++;
            CHECK(bar == 0 || strcspn(percent + 4 + bar, "\n") == 0);
        } else if (strspn(line, "# 0123456789.\n") == strlen(line) && strlen(line) > 9) {
            costs_are_right(line + 1, sorted);
            costs++;
        }
    }
    (void)fclose(file);
    CHECK(bins == SHOWN_BINS && longest == 50 && costs == 12 && heads == 2);
    CHECK_NEAR(first, 0.1, 1e-9);
    CHECK_NEAR(share, 100, 0.1);
}

/*
 * A single repeated value has a histogram too; small samples have no rows for more exchanges than
 * there are.
 */
static void equal_trips_are_described(void)
{
    double trips[] = {300, 300, 300, 300};
    const struct rtt_picture picture = {.clock = "sim", .bins = BINS};
    output_begin();
    REQUIRE(rtt_describe(out, &picture, 0, 1, trips, 4) == ICTUS_OK);
    json_t *object = output_end();
    histogram_counts(json_object_get(object, "histogram"), trips, 4);
    CHECK_NEAR(member(object, "p99_s"), 300e-9, 1e-18);
    CHECK(item(json_object_get(object, "histogram"), "edges_s", BINS) < 302e-9);
    CHECK(json_array_size(json_object_get(object, "quality")) == 2);
    CHECK(json_array_size(json_object_get(object, "patience")) == 2);
    CHECK(!json_object_get(object, "raw_s"));
    json_decref(object);
}

/*
 * With one trip, all quantiles equal it; there is a row for each number of exchanges up to theirs.
 */
static void few_trips_are_described(void)
{
    double trips[] = {700, 300, 400, 500, 600};
    const struct rtt_picture picture = {.clock = "sim", .bins = BINS, .text = true};
    output_begin();
    double single[] = {700, INFINITY}; /* what follows the last one is none */
    REQUIRE(rtt_describe(out, &picture, 0, 1, single, 1) == ICTUS_OK);
    json_t *object = output_end();
    CHECK_NEAR(member(object, "min_s"), 700e-9, 1e-18);
    CHECK_NEAR(member(object, "p90_s"), 700e-9, 1e-18);
    CHECK_NEAR(member(object, "p99_s"), 700e-9, 1e-18);
    CHECK_NEAR(member(object, "max_s"), 700e-9, 1e-18);
    CHECK(json_array_size(json_object_get(object, "quality")) == 1);
    json_decref(object);
    output_begin();
    REQUIRE(rtt_describe(out, &picture, 0, 1, trips, 5) == ICTUS_OK);
    object = output_end();
    histogram_counts(json_object_get(object, "histogram"), trips, 5);
    CHECK_NEAR(member(object, "median_s"), 500e-9, 1e-18);
    CHECK_NEAR(member(object, "p99_s"), 696e-9, 1e-15);
    CHECK_NEAR(item(json_object_get(object, "histogram"), "edges_s", BINS), 700e-9, 1e-15);
    CHECK(json_array_size(json_object_get(object, "quality")) == 3);
    CHECK(json_array_size(json_object_get(object, "patience")) == 3);
    json_decref(object);
    /* Below the row: 16 bins, five of them with one trip each, and three rows of costs. */
    char line[256];
    int bars = 0, shares = 0, rows = 0;
    FILE *file = fopen(shown, "r");
    REQUIRE(file);
    while (fgets(line, sizeof line, file)) {
        const char *percent = strstr(line, " %");
        shares += percent && strncmp(percent - 6, " 20.00", 6) == 0;
        bars += strstr(line, " %  ##################################################\n") != NULL;
        rows += strncmp(line, "#    ", 5) == 0 && strchr("125", line[5]);
        CHECK(line[0] != '#' || line[strcspn(line, "\n") - 1] != ' ');
    }
    (void)fclose(file);
    CHECK(bars == 5 && shares == 5 && rows == 3);
}

/* Windows of 1, 2, 5, ... s up to all points; each has the line through its points. */
static void drift_is_described(double bend)
{
    static double times[POINTS], offsets[POINTS];
    static const double ends[] = {1, 2, 5, 10, 20, 49.5}, counts[] = {3, 5, 11, 21, 41, 100};
    const struct drift_picture picture = {
        .clock = "sim", .rank = 2, .reference = 1, .fit_s = 2, .tolerance_ns = 1000, .text = true};
    for (int i = 0; i < POINTS; i++) {
        times[i] = 0.5 * i;
        offsets[i] = -12500.0 * times[i] + bend * times[i] * times[i];
    }
    const struct drift_points points = {times, offsets, POINTS, -77, 250};
    output_begin();
    REQUIRE(drift_describe(out, &picture, &points) == ICTUS_OK);
    json_t *object = output_end();
    CHECK(member(object, "rank") == 2 && member(object, "reference") == 1);
    CHECK(member(object, "points") == POINTS && member(object, "offset_ns") == -77);
    CHECK_NEAR(member(object, "duration_s"), 49.5, 0);
    CHECK_NEAR(member(object, "judgement_ns"), 250, 0);
    CHECK_NEAR(member(object, "tolerance_ns"), 1000, 0);
    CHECK_NEAR(member(object, "fit_s"), 2, 0);
    const json_t *windows = json_object_get(object, "windows");
    REQUIRE(json_array_size(windows) == 6);
    for (size_t i = 0; i < 6; i++) {
        const json_t *w = json_array_get(windows, i);
        CHECK_NEAR(member(w, "window_s"), ends[i], 1e-9);
        CHECK_NEAR(member(w, "points"), counts[i], 0);
        /*
         * For a parabola from 0 on, the slope of the line is that of the chord to its last point.
         */
        const double end = 0.5 * (counts[i] - 1);
        CHECK_NEAR(member(w, "slope_ppm"), -12.5 + 1e-3 * bend * end, 1e-9);
        CHECK(bend > 0 || member(w, "max_residual_ns") < 1e-6);
        CHECK(member(w, "r2") <= 1 && member(w, "r2") > 0.99);
    }
    const double slope = -12500 + bend * 49.5;
    const double middle = item(object, "residuals_ns", 0) - item(object, "residuals_ns", 50);
    CHECK_NEAR(middle, -(offsets[50] - slope * times[50]), 1e-6);
    CHECK(item(object, "times_s", 99) == 49.5 && item(object, "offsets_ns", 99) == offsets[99]);
    CHECK(json_is_true(json_object_get(object, "holds_known")) == (bend > 0));
    const char *holds = json_string_value(json_object_get(object, "holds"));
    CHECK((strncmp(holds, "over ", 5) == 0) == (bend <= 0));
    CHECK(member(object, "lines") > 50 && member(object, "holds_least_s") >= 0);
    json_decref(object);
}

static void short_drift_holds_nothing(void)
{
    static const double times[] = {0, 1, 2}, offsets[] = {0, 10, 20};
    const struct drift_picture picture = {.clock = "sim", .fit_s = 100, .tolerance_ns = 1};
    struct drift_points points = {times, offsets, 3, 0, 1};
    output_begin();
    REQUIRE(drift_describe(out, &picture, &points) == ICTUS_OK);
    json_t *object = output_end();
    CHECK(json_is_null(json_object_get(object, "holds_s")));
    CHECK_STR(json_string_value(json_object_get(object, "holds")), "too little data");
    CHECK(json_array_size(json_object_get(object, "windows")) == 1);
    json_decref(object);
    points.count = 1;
    CHECK(drift_describe(NULL, &picture, &points) == ICTUS_ERR_SAMPLES);
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "describe")));
    (void)snprintf(result, sizeof result, "%s/result", directory);
    (void)snprintf(shown, sizeof shown, "%s/shown", directory);
    trips_are_described();
    picture_is_drawn();
    equal_trips_are_described();
    few_trips_are_described();
    drift_is_described(0);
    drift_is_described(20);
    short_drift_holds_nothing();
    (void)unlink(result);
    (void)unlink(shown);
    (void)rmdir(directory);
    return check_result();
}
