/* SPDX-License-Identifier: BSD-3-Clause */
/* Result files, and all that is done with what they hold: text, page, comparison, choice. */
#include "fuzz.h"
#include "results/compare_waits.h"
#include "results/experiments.h"
#include "results/report.h"
#include "results/tune.h"

#include <ictus/result.h>
#include <stdio.h>

static void show(json_t *objects, int skipped)
{
    static const char page[] = "<script>@ICTUS_RESULTS@</script>";
    struct report_file file = {.path = "a/b.jsonl", .objects = objects, .skipped = skipped};
    struct ictus_why why;
    const struct report report = {&file, 1, 100};
    report_print_text(&report, 80);
    fuzz_require(report_write_page(&report, "/dev/null", page, sizeof(page) - 1, &why) == ICTUS_OK);
}

static void choose(const json_t *objects)
{
    struct winners winners = {0};
    struct ictus_why why;
    FILE *nowhere = fopen("/dev/null", "we");
    fuzz_require(nowhere);
    if (tune_choose(objects, NULL, 0.05, &winners, &why) == ICTUS_OK) {
        (void)tune_hand_back(&winners);
        (void)tune_write_han(&winners, nowhere);
        (void)tune_write_ompi(&winners, nowhere, &why);
        (void)tune_write_ompi_json(&winners, nowhere, &why);
        tune_free(&winners);
    }
    (void)fclose(nowhere);
}

static void compare(const char *path)
{
    struct experiments a = {.path = NULL};
    struct compared_list list = {NULL, 0, 0};
    struct ictus_why why;
    struct compare_how how = {.resamples = 20, .seed = 1};
    char text[256];
    if (experiments_read(path, NULL, &a, &why) == ICTUS_OK) {
        how.spread = compare_spread(&a, &a, 0.1);
        for (size_t i = 0; i < a.count && i < 4; i++) {
            bool several = false;
            const struct experiment *same = experiments_find(&a, &a.list[i], &several);
            experiment_describe(a.list[i].members, text, sizeof(text));
            if (same) {
                (void)compared_add(&list, same, &a.list[i], path, &how);
            }
        }
        compared_judge(&list, 0.01);
        for (size_t i = 0; i < list.count; i++) {
            compared_words(&list.items[i], text, sizeof(text));
        }
        (void)compared_mean_ratio(&list);
    }
    compared_free(&list);
    experiments_free(&a);
}

/* Waits of equals: whatever the file says, they are never more or less. */
static void compare_runs(const json_t *objects)
{
    struct wait_changes changes = {.count = 0};
    struct ictus_why why;
    if (compare_waits_held(objects) &&
        compare_waits_find(&changes, objects, objects, 0.01, &why) == ICTUS_OK) {
        for (size_t i = 0; i < changes.count; i++) {
            fuzz_require(changes.list[i].verdict != VERDICT_SLOWER &&
                         changes.list[i].verdict != VERDICT_FASTER);
        }
    }
    compare_waits_free(&changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *path = fuzz_file(bytes, length);
    json_t *objects = NULL;
    struct ictus_why why;
    int skipped = 0;
    if (ictus_result_read(path, &objects, &skipped, &why) == ICTUS_OK) {
        fuzz_require(json_array_size(objects) > 0 && skipped >= 0);
        show(objects, skipped);
        choose(objects);
        compare_runs(objects);
        json_decref(objects);
        compare(path);
    }
    return 0;
}
