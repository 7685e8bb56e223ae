/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a row of ictus overlap says. Its overlap is by the formula that was asked for; its note
 * tells a reader when not to trust it; among several intervals of the tests, the mark is at the
 * one that costs the processor least. Each answer is known from the figures that go in.
 */
#include "bench/overlap_record.h"

#include "../check.h"

static const struct ictus_overlap_result usual = {.n = 190,
                                                  .invalid = 10,
                                                  .blocking_s = 100e-6,
                                                  .compute_s = 99e-6,
                                                  .init_s = 5e-6,
                                                  .test_s = 7e-6,
                                                  .wait_s = 8e-6,
                                                  .overhead_s = 20e-6,
                                                  .total_s = 120e-6,
                                                  .tests = 3,
                                                  .work_error = -0.01,
                                                  .h08 = 0.8,
                                                  .osu = 0.7,
                                                  .imb = 0.6,
                                                  .unseen_s = 2e-6};

static json_t *row_of(const char *operation, enum overlap_formula formula,
                      const struct ictus_overlap_result *r)
{
    const struct ictus_overlap_plan plan = {
        .call = {.operation = operation,
                 .bytes = 4096,
                 .datatype = "double",
                 .layout = "vector:block=2",
                 .topology = "cart"},
        .method = ICTUS_OVERLAP_WORK,
        .progress = ICTUS_PROGRESS_TESTS,
        .kernel = ICTUS_KERNEL_MEMORY,
        .interval = 1024,
        .factor = 2.5,
    };
    json_t *row = overlap_record_create(&plan, 7, formula, r);
    CHECK(row != NULL);
    return row;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double number_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    CHECK(json_is_number(value));
    return json_number_value(value);
}

/* Every figure is under its own name. */
static void test_members(void)
{
    static const struct {
        const char *key;
        double value;
    } wanted[] = {{"bytes", 4096},          {"processes", 7},      {"factor", 2.5},
                  {"interval_bytes", 1024}, {"tests", 3},          {"blocking_s", 100e-6},
                  {"compute_s", 99e-6},     {"init_s", 5e-6},      {"test_s", 7e-6},
                  {"wait_s", 8e-6},         {"overhead_s", 20e-6}, {"total_s", 120e-6},
                  {"overlap_h08", 0.8},     {"overlap_osu", 0.7},  {"overlap_imb", 0.6},
                  {"work_error", -0.01},    {"unseen_s", 2e-6},    {"n", 190},
                  {"invalid", 10}};
    json_t *row = row_of("ialltoall", OVERLAP_FORMULA_H08, &usual);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CHECK_NEAR(number_of(row, wanted[i].key), wanted[i].value, 1e-12);
    }
    CHECK_STR(text_of(row, "type"), "overlap");
    CHECK_STR(text_of(row, "operation"), "ialltoall");
    CHECK_STR(text_of(row, "method"), "work");
    CHECK_STR(text_of(row, "strategy"), "tests");
    CHECK_STR(text_of(row, "kernel"), "memory");
    json_decref(row);
}

static void test_formula(void)
{
    static const double wanted[] = {0.8, 0.7, 0.6};
    for (int f = OVERLAP_FORMULA_H08; f <= OVERLAP_FORMULA_IMB; f++) {
        json_t *row = row_of("ialltoall", (enum overlap_formula)f, &usual);
        CHECK_NEAR(number_of(row, "overlap"), wanted[f], 1e-12);
        CHECK_NEAR(number_of(row, "overlap_percent"), 100 * wanted[f], 1e-9);
        CHECK_STR(text_of(row, "formula"), overlap_record_formula_texts[f]);
        json_decref(row);
    }
}

/* Only what concerns the operation, and only where it is not the usual. */
static void test_shape(void)
{
    const struct ictus_overlap_plan plain = {.call = {.operation = "ineighbor_alltoall",
                                                      .datatype = "char",
                                                      .layout = "contiguous",
                                                      .topology = "ring"}};
    json_t *row = row_of("ineighbor_alltoall", OVERLAP_FORMULA_H08, &usual);
    CHECK_STR(text_of(row, "datatype"), "double");
    CHECK_STR(text_of(row, "layout"), "vector:block=2");
    CHECK_STR(text_of(row, "topology"), "cart");
    json_decref(row);
    row = row_of("ialltoall", OVERLAP_FORMULA_H08, &usual);
    CHECK_STR(text_of(row, "layout"), "vector:block=2");
    CHECK(!json_object_get(row, "topology"));
    json_decref(row);
    row = row_of("ibarrier", OVERLAP_FORMULA_H08, &usual);
    CHECK(!json_object_get(row, "datatype") && !json_object_get(row, "layout"));
    json_decref(row);
    row = overlap_record_create(&plain, 2, OVERLAP_FORMULA_H08, &usual);
    CHECK(!json_object_get(row, "datatype") && !json_object_get(row, "layout"));
    CHECK(!json_object_get(row, "topology"));
    json_decref(row);
}

static void check_note(double unseen_s, double blocking_s, double work_error, const char *note)
{
    struct ictus_overlap_result r = usual;
    r.unseen_s = unseen_s;
    r.blocking_s = blocking_s;
    r.work_error = work_error;
    json_t *row = row_of("ialltoall", OVERLAP_FORMULA_H08, &r);
    CHECK_STR(text_of(row, "note"), note);
    json_decref(row);
}

static void test_notes(void)
{
    check_note(0, 100e-6, 0, "-");
    check_note(9e-6, 100e-6, 0, "-");           /* below a tenth */
    check_note(11e-6, 100e-6, 0, "preempted?"); /* above it */
    check_note(0.9e-6, 1e-6, 0, "-");           /* too little to be seen by a clock */
    check_note(1.1e-6, 1e-6, 0, "preempted?");
    check_note(0, 100e-6, 0.019, "-");
    check_note(0, 100e-6, 0.021, "work off");       /* too much work */
    check_note(0, 100e-6, -0.021, "work off");      /* too little */
    check_note(11e-6, 100e-6, 0.021, "preempted?"); /* which may be the reason of the other */
}

/* Rows with these overheads (us; 0: failed), and the notes that they have after the mark is set. */
static void check_best(const double *overheads, const double *unseen, size_t count,
                       const char *const *notes)
{
    json_t *rows[4] = {NULL};
    for (size_t i = 0; i < count; i++) {
        struct ictus_overlap_result r = usual;
        r.overhead_s = 1e-6 * overheads[i];
        r.unseen_s = 1e-6 * unseen[i];
        rows[i] = overheads[i] > 0 ? row_of("ialltoall", OVERLAP_FORMULA_H08, &r) : NULL;
    }
    overlap_record_mark_best(rows, count);
    for (size_t i = 0; i < count; i++) {
        CHECK_STR(text_of(rows[i], "note"), notes[i]);
        json_decref(rows[i]);
    }
}

static void test_best(void)
{
    static const double none[4] = {0};
    static const double unseen[] = {0, 20, 0};
    check_best((const double[]){30, 10, 20}, none, 3, (const char *[]){"-", "best interval", "-"});
    check_best((const double[]){10, 30}, none, 2, (const char *[]){"best interval", "-"});
    check_best((const double[]){30, 20, 10}, none, 3, (const char *[]){"-", "-", "best interval"});
    check_best((const double[]){10, 10}, none, 2, (const char *[]){"best interval", "-"});
    check_best((const double[]){0, 30, 20}, none, 3, (const char *[]){"", "-", "best interval"});
    check_best((const double[]){0, 0}, none, 2, (const char *[]){"", ""});
    check_best((const double[]){30}, none, 1, (const char *[]){"-"}); /* nothing to choose from */
    /* Being the best takes no doubt away. */
    check_best((const double[]){30, 10, 20}, unseen, 3,
               (const char *[]){"-", "best interval, preempted?", "-"});
    check_best((const double[]){5, 10, 20}, unseen, 3,
               (const char *[]){"best interval", "preempted?", "-"});
}

int main(void)
{
    test_members();
    test_formula();
    test_shape();
    test_notes();
    test_best();
    return check_result();
}
