/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report about an archive found, in words. */
#include "traces/trace_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The classes of pairs, as reports name them and as people do. */
struct class_words {
    const char *key, *one, *many;
};

static const struct class_words classes[] = {
    {"p2p", "message that arrives before it was sent",
     "messages that arrive before they were sent"},
    {"collective", "exit from a collective before an entry that it waits for",
     "exits from collectives before entries that they wait for"},
    {"openmp", "thread event before its cause", "thread events before their causes"},
    {"rma", "event of an RMA window before its cause", "events of RMA windows before their causes"},
};
enum { CLASSES = sizeof classes / sizeof *classes };

static json_int_t trace_words_count_of(const json_t *report, const char *prefix, const char *key)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s", prefix, key);
    return json_integer_value(json_object_get(report, name));
}

static double trace_words_number_of(const json_t *report, const char *prefix, const char *key)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s", prefix, key);
    return json_number_value(json_object_get(report, name));
}

/* The sum over all classes of a key that ends in the class's name. */
static json_int_t trace_words_sum_of(const json_t *report, const char *prefix, const char *stem)
{
    json_int_t sum = 0;
    for (int i = 0; i < CLASSES; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s%s", stem, classes[i].key);
        sum += trace_words_count_of(report, prefix, key);
    }
    return sum;
}

static void trace_words_print_duration(FILE *out, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    while (unit < 3 && (ns >= 999.5 || ns <= -999.5)) {
        ns /= 1000;
        unit++;
    }
    (void)fprintf(out, "%.3g %s", ns, units[unit]);
}

static void trace_words_print_count(FILE *out, json_int_t n, const char *one, const char *many)
{
    (void)fprintf(out, "%" JSON_INTEGER_FORMAT " %s", n, n == 1 ? one : many);
}

/* "3 violations of the clock condition (2 messages, 1 exit of a collective), the largest 2.1 us" */
static void trace_words_print_violations(FILE *out, const json_t *report, const char *prefix)
{
    const char *before = " (";
    const json_int_t all = trace_words_sum_of(report, prefix, "violations_");
    if (all == 0) {
        (void)fprintf(out, "no violation of the clock condition");
        return;
    }
    trace_words_print_count(out, all, "violation of the clock condition",
                            "violations of the clock condition");
    for (int i = 0; i < CLASSES; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "violations_%s", classes[i].key);
        const json_int_t n = trace_words_count_of(report, prefix, key);
        if (n > 0) {
            (void)fprintf(out, "%s", before);
            trace_words_print_count(out, n, classes[i].one, classes[i].many);
            before = ", ";
        }
    }
    (void)fprintf(out, "), the largest ");
    trace_words_print_duration(out, trace_words_number_of(report, prefix, "max_violation_ns"));
}

/* What could not be paired, and what is inconsistent. */
static void trace_words_print_oddities(FILE *out, const json_t *report)
{
    static const struct class_words odd[] = {
        {"unmatched_sends", "send without its receive", "sends without their receives"},
        {"unmatched_receives", "receive without its send", "receives without their sends"},
        {"incomplete", "collective or team that not all members joined",
         "collectives or teams that not all members joined"},
        {"unproven", "collective that does not show who waited for whom, left out",
         "collectives that do not show who waited for whom, left out"},
        {"decreasing", "time stamp smaller than the one before it",
         "time stamps smaller than the ones before them"},
        {"unknown_records", "record of unknown type", "records of unknown type"},
        {"open_calls", "call that never completed", "calls that never completed"},
        {"lone_collective_begins", "collective that was entered and never left",
         "collectives that were entered and never left"},
        {"lone_collective_ends", "collective that ended without beginning",
         "collectives that ended without beginning"},
        {"foreign", "event on an unknown communicator", "events on unknown communicators"},
        {"left_out", "event at the edge of an interval in which recording was off",
         "events at the edges of intervals in which recording was off"},
        {"cyclic", "dependency given up: it was part of a cycle",
         "dependencies given up: they were part of cycles"},
    };
    const char *before = "Not checked, or inconsistent: ";
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const json_int_t n = trace_words_count_of(report, "", odd[i].key);
        if (n > 0) {
            (void)fprintf(out, "%s", before);
            trace_words_print_count(out, n, odd[i].one, odd[i].many);
            before = ", ";
        }
    }
    if (*before == ',') {
        (void)fprintf(out, ".\n");
    }
}

static void trace_words_print_size(FILE *out, const json_t *report)
{
    (void)fprintf(out, "%s: ", json_string_value(json_object_get(report, "archive")));
    trace_words_print_count(out, trace_words_count_of(report, "", "events"), "event", "events");
    (void)fprintf(out, " of ");
    trace_words_print_count(out, trace_words_count_of(report, "", "locations"), "location",
                            "locations");
    (void)fprintf(out, " on ");
    trace_words_print_count(out, trace_words_count_of(report, "", "nodes"), "node", "nodes");
    (void)fprintf(out, ", ");
    trace_words_print_count(out, trace_words_count_of(report, "", "messages"), "message",
                            "messages");
    (void)fprintf(out, ", ");
    trace_words_print_count(out, trace_words_count_of(report, "", "collectives"), "collective",
                            "collectives");
    (void)fprintf(out, ".\n");
}

static void trace_words_print_check(FILE *out, const json_t *report)
{
    trace_words_print_size(out, report);
    (void)fprintf(out, "Found ");
    trace_words_print_violations(out, report, "");
    (void)fprintf(out, ", in ");
    trace_words_print_count(out, trace_words_sum_of(report, "", "pairs_"), "pair", "pairs");
    (void)fprintf(out, ".\n");
    if (trace_words_sum_of(report, "raw_", "violations_") !=
        trace_words_sum_of(report, "", "violations_")) {
        (void)fprintf(out, "As recorded, without the archive's clock offsets: ");
        trace_words_print_violations(out, report, "raw_");
        (void)fprintf(out, ".\n");
    }
    trace_words_print_oddities(out, report);
}

/* The effect of the clocks' maps alone. */
static void trace_words_print_presync(FILE *out, const json_t *report)
{
    const char *presync = json_string_value(json_object_get(report, "presync"));
    if (presync && strcmp(presync, "none") != 0 &&
        trace_words_sum_of(report, "raw_", "violations_") !=
            trace_words_sum_of(report, "presync_", "violations_")) {
        (void)fprintf(out, "The archive's clock offsets leave ");
        trace_words_print_violations(out, report, "presync_");
        (void)fprintf(out, ".\n");
    }
    const json_int_t threads = trace_words_count_of(report, "", "thread_clocks");
    if (threads > 0) {
        trace_words_print_count(
            out, threads, "thread contradicts the clock of its process and has one of its own",
            "threads contradict the clocks of their processes and have clocks of their own");
        (void)fprintf(out, ".\n");
    }
    const json_int_t jumps = (json_int_t)json_array_size(json_object_get(report, "clock_jumps"));
    if (jumps > 0) {
        trace_words_print_count(out, jumps, "jump of a clock was removed",
                                "jumps of clocks were removed");
        (void)fprintf(out, ".\n");
    }
    if (presync && strcmp(presync, "messages") == 0) {
        (void)fprintf(out, "Clocks fitted to the messages leave ");
        trace_words_print_violations(out, report, "fit_");
        (void)fprintf(out, ".\n");
    }
}

/* The intervals that changed by more than the asked slope, the worst of them by name. */
static void trace_words_print_forced(FILE *out, const json_t *report)
{
    const json_int_t count = trace_words_count_of(report, "", "forced_intervals");
    const json_t *worst = json_array_get(json_object_get(report, "forced"), 0);
    if (count == 0 || !worst) {
        return;
    }
    (void)fprintf(out, "Messages force a larger change on ");
    trace_words_print_count(out, count, "interval", "intervals");
    (void)fprintf(
        out, " between neighbouring events; the largest is that of location %lld at %lld, from ",
        (long long)trace_words_count_of(worst, "", "location"),
        (long long)trace_words_count_of(worst, "", "stamp"));
    trace_words_print_duration(out, trace_words_number_of(worst, "", "input_ns"));
    (void)fprintf(out, " to ");
    trace_words_print_duration(out, trace_words_number_of(worst, "", "output_ns"));
    if (json_object_get(worst, "clock_error_ns")) {
        (void)fprintf(out, " (its clock is known to +-");
        trace_words_print_duration(out, trace_words_number_of(worst, "", "clock_error_ns"));
        (void)fprintf(out, ")");
    }
    (void)fprintf(out, ".\n");
}

static void trace_words_print_amortisation(FILE *out, const json_t *report)
{
    const json_int_t passes = trace_words_count_of(report, "", "passes");
    if (passes == 0) {
        return;
    }
    (void)fprintf(out, "The logical clock (");
    trace_words_print_count(out, passes, "pass", "passes");
    (void)fprintf(out, ", gamma %g) moved ", trace_words_number_of(report, "", "gamma"));
    trace_words_print_count(out, trace_words_count_of(report, "", "moved_events"), "event",
                            "events");
    (void)fprintf(out, " by up to ");
    trace_words_print_duration(out, trace_words_number_of(report, "", "max_shift_ns"));
    (void)fprintf(out, ", at a slope of up to %.3g %% (%.3g %% asked",
                  100 * trace_words_number_of(report, "", "largest_slope"),
                  100 * trace_words_number_of(report, "", "asked_slope"));
    (void)fprintf(out, ").\n");
    trace_words_print_forced(out, report);
}

static void trace_words_print_truth(FILE *out, const json_t *truth)
{
    if (truth) {
        (void)fprintf(out, "Root mean square distance to the truth: ");
        trace_words_print_duration(out, trace_words_number_of(truth, "", "input_rms_ns"));
        (void)fprintf(out, " before, ");
        trace_words_print_duration(out, trace_words_number_of(truth, "", "output_rms_ns"));
        (void)fprintf(out, " now; apart from a line that all have in common ");
        trace_words_print_duration(out, trace_words_number_of(truth, "", "input_aligned_rms_ns"));
        (void)fprintf(out, " before, ");
        trace_words_print_duration(out, trace_words_number_of(truth, "", "output_aligned_rms_ns"));
        (void)fprintf(out, " now.\n");
    }
}

static void trace_words_print_correct(FILE *out, const json_t *report)
{
    trace_words_print_size(out, report);
    (void)fprintf(out, "Found ");
    trace_words_print_violations(out, report, "raw_");
    (void)fprintf(out, ".\n");
    trace_words_print_presync(out, report);
    trace_words_print_amortisation(out, report);
    (void)fprintf(out, "%s, written now, has ",
                  json_string_value(json_object_get(report, "output")));
    trace_words_print_violations(out, report, "");
    (void)fprintf(out, ".\n");
    trace_words_print_truth(out, json_object_get(report, "truth"));
    trace_words_print_oddities(out, report);
}

/* Lines no longer than a terminal, broken between words. */
static void trace_words_print_wrapped(const char *text)
{
    enum { WIDTH = 80 };
    while (*text) {
        const size_t line = strcspn(text, "\n");
        size_t end = line;
        if (line > WIDTH) {
            for (end = WIDTH; end > 0 && text[end] != ' '; end--) {
            }
            end = end > 0 ? end : strcspn(text, " \n");
        }
        printf("%.*s\n", (int)end, text);
        text += end;
        text += *text != '\0';
    }
}

void trace_words_print(const json_t *report)
{
    const char *type = json_string_value(json_object_get(report, "type"));
    char *text = NULL;
    size_t size = 0;
    const bool check = type && strcmp(type, "check") == 0;
    FILE *out =
        check || (type && strcmp(type, "correct") == 0) ? open_memstream(&text, &size) : NULL;
    if (!out) {
        return;
    }
    if (check) {
        trace_words_print_check(out, report);
    } else {
        trace_words_print_correct(out, report);
    }
    if (fclose(out) == 0) {
        trace_words_print_wrapped(text);
        printf("\n");
    }
    free(text);
}
