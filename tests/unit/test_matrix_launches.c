/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrices of several launches, from files whose truth is known: what is told of all, which
 * algorithm is faster, and from which launches.
 */
#include "bench/matrix_merge.h"
#include "bench/matrix_record.h"

#include "../check.h"
#include "written.h"

/* Nothing here has a reader that goes away. */
void results_outlive_readers(void)
{
}

static const struct results_options to_file = {.format = ICTUS_FORMAT_JSON};

/* One launch's cell: three rounds, whose medians are in us. */
struct told {
    const char *algorithm, *scheme, *reduction;
    int bytes;
    double median_us, low_us, high_us, rounds_us[3], trips_us[3];
};

static void told_write(FILE *file, const struct told *t)
{
    (void)fprintf(file,
                  "{\"type\":\"matrix\",\"operation\":\"bcast\",\"bytes\":%d,\"processes\":4,"
                  "\"algorithm\":\"%s\",\"scheme\":\"%s\",\"reduction\":\"%s\",\"n\":10,"
                  "\"invalid\":3,\"launches\":1,\"median_s\":%.9e,\"ci95_low_s\":%.9e,"
                  "\"ci95_high_s\":%.9e,\"rounds_s\":[%.9e,%.9e,%.9e],"
                  "\"node_trips_s\":[%.9e,%.9e,%.9e]}\n",
                  t->bytes, t->algorithm, t->scheme, t->reduction ? t->reduction : "mean",
                  1e-6 * t->median_us, 1e-6 * t->low_us, 1e-6 * t->high_us, 1e-6 * t->rounds_us[0],
                  1e-6 * t->rounds_us[1], 1e-6 * t->rounds_us[2], 1e-6 * t->trips_us[0],
                  1e-6 * t->trips_us[1], 1e-6 * t->trips_us[2]);
}

/* A cell of which each round takes as long, but for a thousandth. */
static struct told told_steady(const char *algorithm, const char *scheme, double us)
{
    return (struct told){.algorithm = algorithm,
                         .scheme = scheme,
                         .bytes = 8,
                         .median_us = us,
                         .low_us = us / 1.1,
                         .high_us = us * 1.1,
                         .rounds_us = {us, us * 1.001, us * 0.999}};
}

static void launch_begin(FILE *file)
{
    (void)fputs("{\"type\":\"header\",\"schema\":\"ictus-result/1\"}\n", file);
}

/* Merge files; the objects that were written, without the header. */
static json_t *merged_of(int count, struct written *files, double assumed)
{
    struct written out;
    struct ictus_why why = {""};
    struct results_options results = to_file;
    char *paths[8];
    json_t *settings = json_array();
    for (int i = 0; i < count; i++) {
        paths[i] = files[i].path;
    }
    written_open(&out);
    results.file = out.path;
    const int before = said_begin();
    REQUIRE(!matrix_merge(&results, assumed, count, paths, settings, &why));
    said_end(before, NULL, 0);
    CHECK(!why.text[0]);
    json_t *objects = written_read(&out);
    CHECK(json_integer_value(json_object_get(json_array_get(objects, 0), "launches")) > 0);
    (void)json_array_remove(objects, 0);
    json_decref(settings);
    written_close(&out);
    return objects;
}

static const json_t *merged_cell(const json_t *objects, const char *algorithm, const char *scheme)
{
    size_t i = 0;
    json_t *object = NULL;
    json_array_foreach((json_t *)objects, i, object)
    {
        const char *own = json_string_value(json_object_get(object, "algorithm"));
        if (own && !strcmp(own, algorithm) &&
            !strcmp(json_string_value(json_object_get(object, "scheme")), scheme)) {
            return object;
        }
    }
    return NULL;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "(none)";
}

/* Medians are geometric means over launches, with the intervals that launches told. */
static void numbers_are_those_of_all(void)
{
    struct written files[2];
    written_open(&files[0]);
    written_open(&files[1]);
    struct told cell = {"linear", "harmonize", NULL, 8, 2.0, 1.9, 2.2, {2.0, 2.0, 2.0}, {0}};
    told_write(files[0].file, &cell); /* no header: a launch all the same */
    launch_begin(files[1].file);
    launch_begin(files[1].file);
    cell = (struct told){"linear", "harmonize", NULL, 8, 8.0, 7.0, 9.0, {8.0, 8.0, 8.0}, {0}};
    told_write(files[1].file, &cell);
    json_t *objects = merged_of(2, files, 0.18);
    const json_t *all = merged_cell(objects, "linear", "harmonize");
    CHECK(json_array_size(objects) == 2 && all);
    const double half = hypot(0.5 * log(2.2 / 1.9), 0.5 * log(9.0 / 7.0)) / 2.0;
    CHECK_NEAR(1e6 * number_of(all, "median_s"), 4.0, 1e-6);
    CHECK_NEAR(1e6 * number_of(all, "ci95_low_s"), 4.0 * exp(-half), 1e-6);
    CHECK_NEAR(1e6 * number_of(all, "ci95_high_s"), 4.0 * exp(half), 1e-6);
    CHECK(number_of(all, "n") == 20 && number_of(all, "invalid") == 6);
    CHECK(number_of(all, "launches") == 2 && number_of(all, "bytes") == 8);
    CHECK(number_of(all, "processes") == 4 && number_of(all, "place") == 1);
    CHECK_STR(text_of(all, "operation"), "bcast");
    CHECK_STR(text_of(all, "reduction"), "mean");
    CHECK(!json_object_get(all, "rounds_s") && !json_object_get(all, "node_trips_s"));
    json_decref(objects);
    written_close(&files[0]);
    written_close(&files[1]);
}

/* Launches in one file or in several; their own spread counts where there are five of them. */
static json_t *launches_of(int count, double share, double spread)
{
    struct written file;
    written_open(&file);
    for (int i = 0; i < count; i++) {
        static const char *const schemes[] = {"barrier", "harmonize"};
        launch_begin(file.file);
        for (int s = 0; s < 2; s++) {
            const double level = 1.0 + spread * (i % 3 - 1);
            const struct told linear = told_steady("linear", schemes[s], 5.0);
            const struct told other = told_steady("binomial", schemes[s], 5.0 * share * level);
            const struct told plain = told_steady("default", schemes[s], 1.0);
            told_write(file.file, &linear);
            told_write(file.file, &other);
            told_write(file.file, &plain);
        }
    }
    json_t *objects = merged_of(1, &file, 0.18);
    written_close(&file);
    return objects;
}

static void winners_are_told(void)
{
    json_t *objects = launches_of(6, 0.9, 0.01);
    const json_t *end = json_array_get(objects, json_array_size(objects) - 1);
    CHECK(json_array_size(objects) == 7);
    CHECK_STR(text_of(end, "outcome"), "same");
    CHECK_STR(text_of(end, "winner"), "binomial");
    CHECK_STR(text_of(end, "launch_spread_from"), "files");
    CHECK(json_is_null(json_object_get(end, "launch_spread")) && number_of(end, "launches") == 6);
    CHECK(strstr(text_of(end, "verdict"), "does not change the winner: binomial"));
    const json_t *binomial = merged_cell(objects, "binomial", "barrier");
    const json_t *linear = merged_cell(objects, "linear", "barrier");
    const json_t *faster = json_object_get(binomial, "faster_than");
    CHECK(json_array_size(faster) == 1);
    CHECK_STR(json_string_value(json_array_get(faster, 0)), "linear");
    CHECK(json_array_size(json_object_get(linear, "faster_than")) == 0);
    CHECK(json_is_true(json_object_get(binomial, "winner")));
    CHECK(json_is_false(json_object_get(linear, "winner")));
    CHECK(number_of(binomial, "place") == 2 && number_of(linear, "place") == 3);
    CHECK(json_array_size(
              json_object_get(merged_cell(objects, "default", "barrier"), "faster_than")) == 2);
    json_decref(objects);
    /* Launches that contradict each other say nothing. */
    objects = launches_of(6, 0.9, 0.3);
    end = json_array_get(objects, json_array_size(objects) - 1);
    CHECK_STR(text_of(end, "outcome"), "unclear");
    CHECK(json_is_null(json_object_get(end, "winner")));
    json_decref(objects);
    /* A few launches have the spread that is assumed. */
    objects = launches_of(4, 0.9, 0.0);
    end = json_array_get(objects, json_array_size(objects) - 1);
    CHECK_STR(text_of(end, "outcome"), "unclear");
    CHECK_STR(text_of(end, "launch_spread_from"), "assumed");
    CHECK_NEAR(number_of(end, "launch_spread"), 0.18, 1e-12);
    CHECK(number_of(end, "launches") == 4);
    json_decref(objects);
    objects = launches_of(4, 0.3, 0.0);
    end = json_array_get(objects, json_array_size(objects) - 1);
    CHECK_STR(text_of(end, "outcome"), "same");
    json_decref(objects);
}

/* Other sizes and reductions are other matrices, and launches without one take no part in it. */
static void matrices_are_kept_apart(void)
{
    struct written file;
    written_open(&file);
    for (int i = 0; i < 3; i++) {
        struct told cell = told_steady("linear", "harmonize", 2.0);
        launch_begin(file.file);
        told_write(file.file, &cell);
        cell.bytes = 9;
        cell.median_us = 3.0;
        if (i) {
            told_write(file.file, &cell);
        }
        cell.reduction = "max";
        if (i == 2) {
            told_write(file.file, &cell);
        }
    }
    json_t *objects = merged_of(1, &file, 0.18);
    CHECK(json_array_size(objects) == 6);
    for (size_t k = 0; k < 3; k++) {
        const json_t *cell = json_array_get(objects, 2 * k);
        CHECK(number_of(cell, "launches") == (double)(3 - k));
        CHECK(number_of(cell, "bytes") == (k ? 9 : 8));
        CHECK_STR(text_of(cell, "reduction"), k == 2 ? "max" : "mean");
        CHECK_NEAR(1e6 * number_of(cell, "median_s"), k ? 3.0 : 2.0, 1e-9);
    }
    json_decref(objects);
    written_close(&file);
}

/*
 * A round between whose turns the host changed does not count, and one without samples neither: the
 * first round says that linear is eight times as fast, the last that it takes twice as long.
 */
static void rounds_are_compared_alike(void)
{
    for (int changed = 0; changed < 2; changed++) {
        struct written file;
        written_open(&file);
        for (int i = 0; i < 6; i++) {
            struct told linear = told_steady("linear", "harmonize", changed ? 2.0 : 1.0);
            struct told binomial = told_steady("binomial", "harmonize", changed ? 1.0 : 2.0);
            static const double rounds_us[2][3] = {{1.0, 0.0, 2.0}, {8.0, 7.0, 1.0}};
            memcpy(linear.rounds_us, rounds_us[0], sizeof(rounds_us[0]));
            memcpy(binomial.rounds_us, rounds_us[1], sizeof(rounds_us[1]));
            for (int r = 0; r < 3; r++) {
                linear.trips_us[r] = 1.0;
                binomial.trips_us[r] = changed && r == 0 ? 2.0 : 1.0;
            }
            launch_begin(file.file);
            told_write(file.file, &linear);
            told_write(file.file, &binomial);
        }
        json_t *objects = merged_of(1, &file, 0.18);
        const json_t *end = json_array_get(objects, json_array_size(objects) - 1);
        CHECK_STR(text_of(end, "winner"), changed ? "binomial" : "linear");
        CHECK(number_of(end, "launches") == 6);
        json_decref(objects);
        written_close(&file);
    }
}

static int refused(const char *lines, struct ictus_why *why)
{
    struct written file, out;
    struct results_options results = to_file;
    json_t *settings = json_array();
    char *paths[1];
    written_open(&file);
    written_open(&out);
    (void)fputs(lines, file.file);
    (void)fflush(file.file);
    results.file = out.path;
    paths[0] = file.path;
    const int before = said_begin();
    const int err = matrix_merge(&results, 0.18, 1, paths, settings, why);
    said_end(before, NULL, 0);
    CHECK(err != ICTUS_ERR_FORMAT || !why->text[0] || strstr(why->text, file.path));
    json_decref(settings);
    written_close(&file);
    written_close(&out);
    return err;
}

static void what_is_no_launch_is_refused(void)
{
    static const char begin[] = "{\"type\":\"matrix\",\"operation\":\"bcast\",\"bytes\":8,"
                                "\"processes\":4,\"scheme\":\"harmonize\",\"reduction\":\"mean\"";
    static const char numbers[] =
        ",\"median_s\":1e-6,\"ci95_low_s\":1e-6,\"ci95_high_s\":1e-6,\"rounds_s\":[1e-6]}\n";
    char lines[64 * 512] = "";
    struct ictus_why why = {""};
    /* merged before: no rounds; the end of a matrix: no algorithm; no interval */
    (void)snprintf(lines, sizeof(lines),
                   "%s,\"algorithm\":\"a\",\"median_s\":1e-6,\"ci95_low_s\":1e-6,"
                   "\"ci95_high_s\":1e-6}\n%s%s%s,\"algorithm\":\"a\",\"median_s\":1e-6,"
                   "\"rounds_s\":[1e-6]}\n",
                   begin, begin, numbers, begin);
    CHECK(refused(lines, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, "holds no matrix of a single launch"));
    CHECK(refused("", &why) != ICTUS_OK);
    /* More algorithms than a matrix has room for. */
    for (int most = MATRIX_ROWS; most <= MATRIX_ROWS + 1; most++) {
        size_t at = 0;
        for (int i = 0; i < most; i++) {
            at += (size_t)snprintf(lines + at, sizeof(lines) - at, "%s,\"algorithm\":\"a%d\"%s",
                                   begin, i, numbers);
        }
        why.text[0] = '\0';
        CHECK(refused(lines, &why) == (most > MATRIX_ROWS ? ICTUS_ERR_FORMAT : ICTUS_OK));
    }
    /* Names are told whole, or not at all. */
    for (int length = MATRIX_NAME - 1; length <= MATRIX_NAME; length++) {
        (void)snprintf(lines, sizeof(lines), "%s,\"algorithm\":\"%0*d\"%s", begin, length, 7,
                       numbers);
        why.text[0] = '\0';
        CHECK(refused(lines, &why) == (length < MATRIX_NAME ? ICTUS_OK : ICTUS_ERR_FORMAT));
    }
}

/* The object of a launch's own cell has its rounds, and its samples where they are asked for. */
static void rounds_are_kept(void)
{
    static const double values[] = {3e-6, 4e-6, 5e-6, 9e-6};
    static struct matrix m = {
        .operation = "bcast", .reduction = "mean", .bytes = 8, .rows = 1, .columns = 1};
    struct turns turns;
    (void)snprintf(m.algorithms[0], MATRIX_NAME, "linear");
    (void)snprintf(m.schemes[0], MATRIX_NAME, "harmonize");
    m.cells[0][0] = (struct cell){true, 4.5e-6, 4e-6, 5e-6, 1, 4, 0, 1};
    REQUIRE(!turns_init(&turns));
    REQUIRE(!turns_add(&turns, values, 3));
    turns_note_trip(&turns, 1e-7);
    REQUIRE(!turns_add(&turns, values + 3, 1));
    turns_note_trip(&turns, 2e-7);
    for (int raw = 0; raw < 2; raw++) {
        json_t *object = matrix_record_cell(&m, 0, 0, &turns, raw);
        const json_t *rounds = json_object_get(object, "rounds_s");
        const json_t *trips = json_object_get(object, "node_trips_s");
        const json_t *samples = json_object_get(object, "raw_s");
        CHECK(json_array_size(rounds) == 2 && json_array_size(trips) == 2);
        CHECK(json_number_value(json_array_get(rounds, 0)) == 4e-6);
        CHECK(json_number_value(json_array_get(rounds, 1)) == 9e-6);
        CHECK(json_number_value(json_array_get(trips, 1)) == 2e-7);
        CHECK(json_array_size(samples) == (raw ? 4 : 0));
        CHECK(!raw || json_number_value(json_array_get(samples, 3)) == 9e-6);
        json_decref(object);
    }
    turns_fini(&turns);
}

/* How many launches a person is told that a verdict rests on. */
static void few_launches_are_told(void)
{
    static struct matrix m = {
        .operation = "bcast", .reduction = "mean", .bytes = 8, .rows = 2, .columns = 1};
    static const struct {
        size_t launches;
        const char *text;
    } cases[] = {{1, "from 1 launch, allowing for a spread of 18 %"},
                 {4, "from 4 launches, allowing for a spread of 18 %"},
                 {5, NULL}};
    m.spread = 0.18;
    (void)snprintf(m.algorithms[0], MATRIX_NAME, "linear");
    (void)snprintf(m.algorithms[1], MATRIX_NAME, "binomial");
    (void)snprintf(m.schemes[0], MATRIX_NAME, "harmonize");
    m.cells[0][0] = m.cells[1][0] = (struct cell){true, 4.5e-6, 4e-6, 5e-6, 1, 4, 0, 1};
    m.cells[1][0].place = 2;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int format = ICTUS_FORMAT_TEXT; format <= ICTUS_FORMAT_JSON;
             format += ICTUS_FORMAT_JSON - ICTUS_FORMAT_TEXT) {
            struct written out;
            struct ictus_output *output = NULL;
            struct ictus_why why = {""};
            char said[2048];
            m.launches = cases[i].launches;
            written_open(&out);
            REQUIRE(!ictus_output_open(ICTUS_FORMAT_TEXT, matrix_record_columns, out.path,
                                       json_pack("{}"), &output, &why));
            const int before = said_begin();
            CHECK(!matrix_record_close(&m, (enum ictus_format)format, output));
            said_end(before, said, sizeof(said));
            REQUIRE(!ictus_output_close(output));
            const bool text = format == ICTUS_FORMAT_TEXT;
            CHECK(!text || strstr(said, "# bcast of 8 bytes on 0 processes: unclear"));
            CHECK((strstr(said, "judged from") != NULL) == (text && cases[i].text));
            CHECK(!text || !cases[i].text || strstr(said, cases[i].text));
            written_close(&out);
        }
    }
}

int main(void)
{
    numbers_are_those_of_all();
    winners_are_told();
    matrices_are_kept_apart();
    rounds_are_compared_alike();
    what_is_no_launch_is_refused();
    rounds_are_kept();
    few_launches_are_told();
    return check_result();
}
