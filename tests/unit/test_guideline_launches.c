/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guidelines of several launches, from files whose truth is known: what is told of all, what is
 * violated, and what an earlier file had found.
 */
#include "bench/guideline_study.h"
#include "main/command.h"

#include "../check.h"
#include "written.h"

enum { PROCESSES = 4 };

/* What others of the program would do. */
const char *const guideline_kinds[] = {"mockup", "split", "monotony", NULL};

void results_outlive_readers(void)
{
}

int command_size(void)
{
    return PROCESSES;
}

void progress_hide(struct progress *progress)
{
    (void)progress;
}

static struct guideline_options options_of(void)
{
    return (struct guideline_options){.tolerance = 0.05,
                                      .significance = 0.05,
                                      .launch_spread = 0.18,
                                      .results = {.format = ICTUS_FORMAT_TEXT},
                                      .talk = {.quiet = true}};
}

/* One launch's guideline: an operation of `bytes` bytes takes `factor` times what its rival does.
 */
struct told {
    const char *operation;
    double factor, error, median_us;
    int bytes, launches;
    const char *state;
};

static void told_write(FILE *file, const struct told *t)
{
    (void)fprintf(file,
                  "{\"type\":\"guideline\",\"kind\":\"mockup\",\"operation\":\"%s\",\"bytes\":%d,"
                  "\"processes\":4,\"against\":\"%s_as_other\",\"against_bytes\":%d,"
                  "\"reduction\":\"max\",\"scheme\":\"harmonize\",\"n\":300,\"against_n\":200,"
                  "\"invalid\":7,\"rounds\":15,\"launches\":%d,\"median_s\":%.9e,"
                  "\"against_median_s\":%.9e,\"factor\":%.9f,\"factor_error\":%.9f,"
                  "\"state\":\"%s\"}\n",
                  t->operation, t->bytes, t->operation, t->bytes, t->launches ? t->launches : 1,
                  1e-6 * t->median_us, 1e-6 * t->median_us / t->factor, t->factor, t->error,
                  t->state ? t->state : "open");
}

/* Merge a file, and read what was written, without the header. */
static int merged_of(const struct guideline_options *options, struct written *file,
                     json_t **objects, struct guideline_tally *tally, struct ictus_why *why)
{
    struct written out;
    struct guideline_options own = *options;
    char *paths[1] = {file->path};
    written_open(&out);
    own.results.file = out.path;
    const int before = said_begin();
    const int err = guideline_merge(&own, 1, paths, tally, why);
    said_end(before, NULL, 0);
    if (!err) {
        *objects = written_read(&out);
        (void)json_array_remove(*objects, 0);
    }
    written_close(&out);
    return err;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "(none)";
}

/* Numbers are sums and geometric means over launches; the sentence says so much. */
static void numbers_are_those_of_all(void)
{
    enum { LAUNCHES = 6 };
    struct written file;
    struct guideline_tally tally;
    const struct guideline_options options = options_of();
    struct ictus_why why = {""};
    json_t *objects = NULL;
    double sum = 0.0;
    written_open(&file);
    for (int i = 0; i < LAUNCHES; i++) {
        const struct told one = {"scan", 1.5 + 0.02 * i, 0.01, 4.0 * (1 << i), 8, 1, NULL};
        sum += log(one.factor);
        told_write(file.file, &one);
    }
    REQUIRE(!merged_of(&options, &file, &objects, &tally, &why));
    CHECK(json_array_size(objects) == 2);
    const json_t *all = json_array_get(objects, 0);
    const double factor = exp(sum / LAUNCHES);
    CHECK_NEAR(number_of(all, "factor"), factor, 1e-9);
    CHECK(number_of(all, "factor_low") < factor && number_of(all, "factor_low") > 1.45);
    CHECK(number_of(all, "factor_high") > factor && number_of(all, "factor_high") < 1.7);
    CHECK_NEAR(1e6 * number_of(all, "median_s"), 4.0 * sqrt(32.0), 1e-6);
    CHECK_NEAR(1e6 * number_of(all, "against_median_s"), 4.0 * sqrt(32.0) / factor, 1e-6);
    CHECK(number_of(all, "n") == 1800 && number_of(all, "against_n") == 1200);
    CHECK(number_of(all, "invalid") == 42 && number_of(all, "rounds") == 90);
    CHECK(number_of(all, "launches") == LAUNCHES && number_of(all, "bytes") == 8);
    CHECK(number_of(all, "processes") == PROCESSES && number_of(all, "against_bytes") == 8);
    CHECK(json_is_null(json_object_get(all, "factor_error"))); /* of one launch only */
    CHECK_STR(text_of(all, "launch_spread_from"), "files");
    CHECK_STR(text_of(all, "state"), "violated");
    CHECK_STR(text_of(all, "kind"), "mockup");
    CHECK_STR(text_of(all, "reduction"), "max");
    CHECK_STR(text_of(all, "scheme"), "harmonize");
    CHECK_STR(text_of(all, "against"), "scan_as_other");
    CHECK(strstr(text_of(all, "finding"), "scan of 8 bytes takes 1.55 times (95 %: ") &&
          strstr(text_of(all, "finding"), ") what other takes"));
    const json_t *end = json_array_get(objects, 1);
    CHECK(number_of(end, "tested") == 1 && number_of(end, "violated") == 1);
    CHECK(number_of(end, "open") == 0 && number_of(end, "untested") == 0);
    CHECK(number_of(end, "launches") == LAUNCHES && number_of(end, "processes") == PROCESSES);
    CHECK(strstr(text_of(end, "verdict"), "1 of 1 guidelines are violated, and 0 more may be; "
                                          "the worst: scan of 8 bytes takes 1.55"));
    json_decref(objects);
    written_close(&file);
}

/* Each guideline has a state of its own; the worst violation is told, and failed are those that are
 * violated by more than is allowed. */
static void states_are_told(void)
{
    static const struct {
        const char *fail_above;
        size_t failed;
    } limits[] = {{NULL, 0}, {"0", 2}, {"60%", 1}, {"200%", 0}};
    struct written file;
    struct guideline_tally tally;
    struct ictus_why why = {""};
    json_t *objects = NULL;
    written_open(&file);
    for (int i = 0; i < 7; i++) {
        const struct told told[] = {{"scan", 1.5 + 0.001 * i, 0.01, 4.0, 8, 1, NULL},
                                    {"scan", 2.0 + 0.001 * i, 0.01, 4.0, 9, 1, NULL},
                                    {"reduce", i ? 1.01 : 2.0, 0.01, 4.0, 8, 1, NULL},
                                    {"bcast", 1.01, 0.01, 4.0, 8, 1, NULL}};
        for (size_t k = 0; k < (i < 5 ? 4 : 3); k++) {
            told_write(file.file, &told[k]);
        }
    }
    (void)fputs("{\"type\":\"guideline\",\"verdict\":\"the end of a launch\"}\n", file.file);
    for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
        struct guideline_options options = options_of();
        options.fail_above = limits[l].fail_above;
        REQUIRE(!merged_of(&options, &file, &objects, &tally, &why));
        REQUIRE(json_array_size(objects) == 5);
        CHECK_STR(text_of(json_array_get(objects, 0), "state"), "violated");
        CHECK_STR(text_of(json_array_get(objects, 1), "state"), "violated");
        CHECK_STR(text_of(json_array_get(objects, 2), "state"), "open");
        CHECK_STR(text_of(json_array_get(objects, 3), "state"), "holds");
        CHECK(json_is_null(json_object_get(json_array_get(objects, 3), "finding")));
        CHECK(strstr(text_of(json_array_get(objects, 2), "finding"), "reduce of 8 bytes"));
        CHECK(tally.tested == 4 && tally.violated == 2 && tally.open == 1);
        CHECK(tally.launches == 5 && tally.failed == limits[l].failed);
        CHECK(tally.processes == PROCESSES && tally.unmeasured == 0);
        CHECK_NEAR(tally.worst, 2.003, 1e-3);
        CHECK(strstr(tally.worst_text, "scan of 9 bytes"));
        /* Four comparisons: each must be as much less likely to be chance. */
        const json_t *first = json_array_get(objects, 0);
        CHECK_NEAR(number_of(first, "p_adjusted"), 4.0 * number_of(first, "p"), 1e-12);
        json_decref(objects);
    }
    written_close(&file);
}

/* An error that a launch did not tell is not known, and one launch has the spread that is assumed.
 */
static void one_launch_is_not_sure(void)
{
    static const struct {
        double factor, spread;
        const char *state;
    } cases[] = {{1.04, 0.18, "holds"}, {1.4, 0.18, "open"}, {1.4, 0.001, "violated"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct written file;
        struct guideline_tally tally;
        struct guideline_options options = options_of();
        struct ictus_why why = {""};
        json_t *objects = NULL;
        const struct told one = {"scan", cases[i].factor, 0.001, 4.0, 8, 1, NULL};
        written_open(&file);
        told_write(file.file, &one);
        options.launch_spread = cases[i].spread;
        REQUIRE(!merged_of(&options, &file, &objects, &tally, &why));
        const json_t *all = json_array_get(objects, 0);
        CHECK_STR(text_of(all, "state"), cases[i].state);
        CHECK_STR(text_of(all, "launch_spread_from"), "assumed");
        CHECK_NEAR(number_of(all, "launch_spread"), cases[i].spread, 1e-12);
        CHECK_NEAR(number_of(all, "factor_error"), 0.001, 1e-9);
        json_decref(objects);
        written_close(&file);
    }
}

static void what_is_no_launch_is_refused(void)
{
    struct written file;
    struct guideline_tally tally;
    const struct guideline_options options = options_of();
    struct ictus_why why = {""};
    json_t *objects = NULL;
    const struct told two = {"scan", 1.5, 0.01, 4.0, 8, 2, NULL};
    written_open(&file);
    (void)fputs("{\"type\":\"measurement\",\"kind\":\"mockup\",\"factor\":2}\n", file.file);
    CHECK(merged_of(&options, &file, &objects, &tally, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, "hold no guidelines"));
    told_write(file.file, &two);
    CHECK(merged_of(&options, &file, &objects, &tally, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, "already combines several launches") && strstr(why.text, file.path));
    written_close(&file);
    CHECK(merged_of(&options, &file, &objects, &tally, &why) == ICTUS_ERR_IO);
}

/* An earlier file, also one that combines launches, tells what it found last of the same guideline.
 */
static void earlier_findings_are_found(void)
{
    struct written file;
    struct ictus_why why = {""};
    json_t *guidelines = NULL;
    struct guideline_row row = {.kind = "mockup",
                                .operation = "scan",
                                .against = "scan_as_other",
                                .reduction = "max",
                                .scheme = "harmonize",
                                .bytes = 8,
                                .against_bytes = 8,
                                .processes = PROCESSES};
    written_open(&file);
    CHECK(guideline_after_read(file.path, &guidelines, &why) != ICTUS_OK);
    json_decref(guidelines);
    const struct told told[] = {{"scan", 1.5, 0.01, 4.0, 8, 1, "open"},
                                {"scan", 1.5, 0.01, 4.0, 8, 7, "violated"},
                                {"scan", 1.5, 0.01, 4.0, 9, 1, "violated"},
                                {"scan", 1.5, 0.01, 4.0, 9, 1, "holds"}};
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        told_write(file.file, &told[i]);
    }
    REQUIRE(!guideline_after_read(file.path, &guidelines, &why));
    CHECK(guideline_after_find(guidelines, &row) == TURNS_SLOWER);
    CHECK(guideline_after_find(NULL, &row) == TURNS_UNKNOWN);
    row.bytes = row.against_bytes = 9;
    CHECK(guideline_after_find(guidelines, &row) == TURNS_NOT_SLOWER);
    row.scheme = "barrier";
    CHECK(guideline_after_find(guidelines, &row) == TURNS_UNKNOWN);
    json_decref(guidelines);
    written_close(&file);
}

/* What is measured is compared with each rival at its size, and with each larger size, in order. */
static struct {
    int count;
    json_t *objects[32];
} put;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __real_ictus_output_put(struct ictus_output *out, json_t *object);
int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    if (out) {
        return __real_ictus_output_put(out, object);
    }
    REQUIRE(put.count < 32);
    put.objects[put.count++] = object;
    return ICTUS_OK;
}

enum { SIZES = 3, RIVALS = 3, ROUNDS = 12 };

static void series_fill(struct turns *turns, double us, int rounds)
{
    REQUIRE(!turns_init(turns));
    for (int r = 0; r < rounds; r++) {
        const double values[] = {1e-6 * us, 1e-6 * us * (1.0 + 1e-4 * (r % 3)), 1e-6 * us};
        REQUIRE(!turns_add(turns, values, 3));
    }
    turns->invalid = (int64_t)(10.0 * us);
}

/* The pairs of series in the order in which they are compared. */
static const struct pair_wanted {
    const char *kind, *against;
    double bytes, against_bytes, factor;
    const char *state, *finding;
} pairs_wanted[] = {
    {"mockup", "bcast_as_other", 8, 8, 5.0, "violated", ") what other takes"},
    {"mockup", "bcast_as_other", 64, 64, 1.0, "holds", NULL},
    {"mockup", "bcast_as_other", 512, 512, 1.0, "holds", NULL},
    {"split", "bcast_in_2", 8, 8, 1.0, "holds", NULL},
    {"split", "bcast_in_2", 64, 64, 1.0, "holds", NULL},
    {"monotony", "bcast", 8, 64, 2.5, "violated", "what 64 bytes take"},
    {"monotony", "bcast", 8, 512, 5.0 / 6.0, "holds", NULL},
    {"monotony", "bcast", 64, 512, 1.0 / 3.0, "holds", NULL},
};

static void pair_is_told(const json_t *o, const struct pair_wanted *wanted, bool raw)
{
    CHECK_STR(text_of(o, "kind"), wanted->kind);
    CHECK_STR(text_of(o, "operation"), "bcast");
    CHECK_STR(text_of(o, "against"), wanted->against);
    CHECK_STR(text_of(o, "reduction"), "mean");
    CHECK_STR(text_of(o, "scheme"), "barrier");
    CHECK(number_of(o, "bytes") == wanted->bytes && number_of(o, "n") == 3 * ROUNDS);
    CHECK(number_of(o, "against_bytes") == wanted->against_bytes);
    CHECK(number_of(o, "against_n") == 3 * ROUNDS && number_of(o, "rounds") == ROUNDS);
    CHECK(number_of(o, "processes") == PROCESSES && number_of(o, "launches") == 1);
    CHECK_NEAR(number_of(o, "factor"), wanted->factor, 1e-3 * wanted->factor);
    CHECK_STR(text_of(o, "state"), wanted->state);
    CHECK(wanted->finding ? strstr(text_of(o, "finding"), wanted->finding) != NULL
                          : json_is_null(json_object_get(o, "finding")));
    const json_t *samples = json_object_get(o, "raw_s");
    CHECK(json_array_size(samples) == (raw ? 3 * ROUNDS : 0));
    CHECK(json_array_size(json_object_get(o, "raw_against_s")) == (raw ? 3 * ROUNDS : 0));
    CHECK(!raw || json_number_value(json_array_get(samples, 0)) == number_of(o, "median_s"));
}

static void series_are_compared(bool raw)
{
    static uint64_t sizes[SIZES] = {8, 64, 512};
    static const double us[RIVALS][SIZES] = {{5.0, 2.0, 6.0}, {1.0, 2.0, 6.0}, {5.0, 2.0, 0.0}};
    struct turns turns[RIVALS * SIZES];
    struct guideline_options options = options_of();
    options.results.format = ICTUS_FORMAT_JSON;
    options.raw = raw;
    options.scheme = "barrier";
    struct guideline_study study = {
        .options = &options,
        .kinds = {[KIND_MONOTONY] = true},
        .sizes = sizes,
        .size_count = SIZES,
        .reduction = ICTUS_REDUCE_MEAN,
        .limits = {0.05, 0.05, 9.0, 0.001, TURNS_UNKNOWN},
        .turns = turns,
    };
    const struct guideline_operation op = {
        .rivals = {{.name = "bcast"},
                   {.name = "bcast_as_other"},
                   {.name = "bcast_in_2", .pieces = 2}},
        .rival_count = RIVALS,
    };
    for (int rival = 0; rival < RIVALS; rival++) {
        for (int s = 0; s < SIZES; s++) {
            series_fill(&turns[rival * SIZES + s], us[rival][s], us[rival][s] > 0.0 ? ROUNDS : 0);
        }
    }
    put.count = 0;
    REQUIRE(!guideline_study_write(&study, &op));
    CHECK(put.count == sizeof(pairs_wanted) / sizeof(pairs_wanted[0]));
    for (int i = 0; i < put.count; i++) {
        pair_is_told(put.objects[i], &pairs_wanted[i], raw);
    }
    CHECK(number_of(put.objects[0], "invalid") == 50 + 10);
    CHECK_NEAR(1e6 * number_of(put.objects[0], "median_s"), 5.0, 1e-3);
    CHECK_NEAR(1e6 * number_of(put.objects[0], "against_median_s"), 1.0, 1e-3);
    CHECK(study.tally.unmeasured == 1 && study.tally.tested == 8 && study.tally.violated == 2);
    for (int i = 0; i < put.count; i++) {
        json_decref(put.objects[i]);
    }
    for (int i = 0; i < RIVALS * SIZES; i++) {
        turns_fini(&turns[i]);
    }
}

/* How the end is told to people, and what rests on few launches. */
static void the_end_is_told(void)
{
    static const struct {
        size_t launches, unmeasured;
        const char *launches_text, *unmeasured_text;
    } cases[] = {{1, 0, "judged from 1 launch, allowing for a spread of 18 %", NULL},
                 {4, 2, "judged from 4 launches, allowing", "2 could not be tested"},
                 {5, 1, NULL, "1 could not be tested"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int json = 0; json < 2; json++) {
            char said[2048];
            struct guideline_options options = options_of();
            const struct guideline_tally tally = {.processes = PROCESSES,
                                                  .launches = cases[i].launches,
                                                  .tested = 9,
                                                  .open = 3,
                                                  .unmeasured = cases[i].unmeasured};
            options.results.format = json ? ICTUS_FORMAT_JSON : ICTUS_FORMAT_TEXT;
            put.count = 0;
            const int before = said_begin();
            CHECK(!guideline_close(&options, NULL, &tally));
            said_end(before, said, sizeof(said));
            CHECK(put.count == 1);
            CHECK(number_of(put.objects[0], "untested") == (double)cases[i].unmeasured);
            CHECK_STR(text_of(put.objects[0], "verdict"),
                      "0 of 9 guidelines are violated, and 3 more may be");
            json_decref(put.objects[0]);
            CHECK((strstr(said, "# 0 of 9 guidelines are violated") != NULL) == !json);
            CHECK((strstr(said, "judged from") != NULL) == (!json && cases[i].launches_text));
            CHECK((strstr(said, "could not be") != NULL) == (!json && cases[i].unmeasured_text));
            CHECK(json || !cases[i].launches_text || strstr(said, cases[i].launches_text));
            CHECK(json || !cases[i].unmeasured_text || strstr(said, cases[i].unmeasured_text));
        }
    }
}

/* Terminals see what needs attention, or all if asked; files have all in any case. */
static void terminals_see_what_matters(void)
{
    for (int all = 0; all < 2; all++) {
        char said[4096];
        struct written file, out;
        struct guideline_tally tally;
        struct guideline_options options = options_of();
        struct ictus_why why = {""};
        char *paths[1] = {file.path};
        written_open(&file);
        written_open(&out);
        const struct told good = {"bcast", 0.5, 0.01, 4.0, 8, 1, NULL};
        const struct told bad = {"scan", 2.0, 0.01, 4.0, 8, 1, NULL};
        told_write(file.file, &good);
        told_write(file.file, &bad);
        options.all = all;
        options.results.file = out.path;
        const int before = said_begin();
        REQUIRE(!guideline_merge(&options, 1, paths, &tally, &why));
        said_end(before, said, sizeof(said));
        CHECK(strstr(said, "scan") && (strstr(said, "bcast") != NULL) == all);
        json_t *objects = written_read(&out);
        CHECK(json_array_size(objects) == 4);
        json_decref(objects);
        written_close(&file);
        written_close(&out);
    }
}

int main(void)
{
    numbers_are_those_of_all();
    states_are_told();
    one_launch_is_not_sure();
    what_is_no_launch_is_refused();
    earlier_findings_are_found();
    series_are_compared(false);
    series_are_compared(true);
    the_end_is_told();
    terminals_see_what_matters();
    return check_result();
}
