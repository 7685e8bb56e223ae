/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report about an archive found, in words. */
#include "trace_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The classes of pairs, as reports name them and as people do. */
struct class_words {
    const char *key, *one, *many;
};

static const struct class_words classes[] = {
    {"p2p", "message", "messages"},
    {"collective", "exit of a collective", "exits of collectives"},
    {"openmp", "event of a thread", "events of threads"},
    {"rma", "event of an RMA window", "events of RMA windows"},
};
enum { CLASSES = sizeof classes / sizeof *classes };

static json_int_t count_of(const json_t *report, const char *prefix, const char *key)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s", prefix, key);
    return json_integer_value(json_object_get(report, name));
}

static double number_of(const json_t *report, const char *prefix, const char *key)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s", prefix, key);
    return json_number_value(json_object_get(report, name));
}

/* The sum over all classes of a key that ends in the class's name. */
static json_int_t sum_of(const json_t *report, const char *prefix, const char *stem)
{
    json_int_t sum = 0;
    for (int i = 0; i < CLASSES; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s%s", stem, classes[i].key);
        sum += count_of(report, prefix, key);
    }
    return sum;
}

static void print_duration(double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    while (unit < 3 && (ns >= 999.5 || ns <= -999.5)) {
        ns /= 1000;
        unit++;
    }
    printf("%.3g %s", ns, units[unit]);
}

static void print_count(json_int_t n, const char *one, const char *many)
{
    printf("%" JSON_INTEGER_FORMAT " %s", n, n == 1 ? one : many);
}

/* "3 violations of the clock condition (2 messages, 1 exit of a collective), the largest 2.1 us" */
static void print_violations(const json_t *report, const char *prefix)
{
    const char *before = " (";
    const json_int_t all = sum_of(report, prefix, "violations_");
    if (all == 0) {
        printf("no violation of the clock condition");
        return;
    }
    print_count(all, "violation of the clock condition", "violations of the clock condition");
    for (int i = 0; i < CLASSES; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "violations_%s", classes[i].key);
        const json_int_t n = count_of(report, prefix, key);
        if (n > 0) {
            printf("%s", before);
            print_count(n, classes[i].one, classes[i].many);
            before = ", ";
        }
    }
    printf("), the largest ");
    print_duration(number_of(report, prefix, "max_violation_ns"));
}

/* What could not be paired, and what is odd. */
static void print_oddities(const json_t *report)
{
    static const struct class_words odd[] = {
        {"unmatched_sends", "send without its receive", "sends without their receives"},
        {"unmatched_receives", "receive without its send", "receives without their sends"},
        {"incomplete", "collective or team that not all joined",
         "collectives or teams that not all joined"},
        {"decreasing", "stamp less than the one before", "stamps less than the one before"},
        {"unknown_records", "record of unknown type", "records of unknown type"},
        {"open_calls", "call that never completed", "calls that never completed"},
        {"lone_collective_ends", "collective that ended without beginning",
         "collectives that ended without beginning"},
        {"foreign", "event on an unknown communicator", "events on unknown communicators"},
        {"cyclic", "dependency given up: it was part of a cycle",
         "dependencies given up: they were part of cycles"},
    };
    const char *before = "Not looked at, or odd: ";
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const json_int_t n = count_of(report, "", odd[i].key);
        if (n > 0) {
            printf("%s", before);
            print_count(n, odd[i].one, odd[i].many);
            before = ", ";
        }
    }
    if (*before == ',') {
        printf(".\n");
    }
}

static void print_size(const json_t *report)
{
    printf("%s: ", json_string_value(json_object_get(report, "archive")));
    print_count(count_of(report, "", "events"), "event", "events");
    printf(" of ");
    print_count(count_of(report, "", "locations"), "location", "locations");
    printf(" on ");
    print_count(count_of(report, "", "nodes"), "node", "nodes");
    printf(", ");
    print_count(count_of(report, "", "messages"), "message", "messages");
    printf(", ");
    print_count(count_of(report, "", "collectives"), "collective", "collectives");
    printf(".\n");
}

static void print_check(const json_t *report)
{
    print_size(report);
    printf("Found ");
    print_violations(report, "");
    printf(", in ");
    print_count(sum_of(report, "", "pairs_"), "pair", "pairs");
    printf(".\n");
    if (sum_of(report, "raw_", "violations_") != sum_of(report, "", "violations_")) {
        printf("As recorded, without the archive's clock offsets: ");
        print_violations(report, "raw_");
        printf(".\n");
    }
    print_oddities(report);
}

/* What the clocks' maps alone did. */
static void print_presync(const json_t *report)
{
    const char *presync = json_string_value(json_object_get(report, "presync"));
    if (presync && strcmp(presync, "none") != 0 &&
        sum_of(report, "raw_", "violations_") != sum_of(report, "presync_", "violations_")) {
        printf("The archive's clock offsets leave ");
        print_violations(report, "presync_");
        printf(".\n");
    }
    if (presync && strcmp(presync, "messages") == 0) {
        printf("Clocks fitted to the messages leave ");
        print_violations(report, "fit_");
        printf(".\n");
    }
}

static void print_amortisation(const json_t *report)
{
    const json_int_t passes = count_of(report, "", "passes");
    if (passes == 0) {
        return;
    }
    printf("The logical clock (");
    print_count(passes, "pass", "passes");
    printf(", gamma %g) moved ", number_of(report, "", "gamma"));
    print_count(count_of(report, "", "moved_events"), "event", "events");
    printf(" by up to ");
    print_duration(number_of(report, "", "max_shift_ns"));
    printf(", at a slope of up to %.3g %% (%.3g %% asked",
           100 * number_of(report, "", "largest_slope"),
           100 * number_of(report, "", "asked_slope"));
    const json_int_t steep = count_of(report, "", "steep_intervals");
    if (steep > 0) {
        printf("; sends force more on ");
        print_count(steep, "interval", "intervals");
    }
    printf(").\n");
}

static void print_truth(const json_t *truth)
{
    if (truth) {
        printf("Root mean square distance to the truth: ");
        print_duration(number_of(truth, "", "input_rms_ns"));
        printf(" before, ");
        print_duration(number_of(truth, "", "output_rms_ns"));
        printf(" now.\n");
    }
}

static void print_correct(const json_t *report)
{
    print_size(report);
    printf("Found ");
    print_violations(report, "raw_");
    printf(".\n");
    print_presync(report);
    print_amortisation(report);
    printf("%s, written now, has ", json_string_value(json_object_get(report, "output")));
    print_violations(report, "");
    printf(".\n");
    print_truth(json_object_get(report, "truth"));
    print_oddities(report);
}

void trace_words_print(const json_t *report)
{
    const char *type = json_string_value(json_object_get(report, "type"));
    if (type && strcmp(type, "check") == 0) {
        print_check(report);
        printf("\n");
    } else if (type && strcmp(type, "correct") == 0) {
        print_correct(report);
        printf("\n");
    }
}
