/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OTF2 archives by the way of check, correct, waits, arrivals or what shows them, as the length
 * says. Parts: a the
 * anchor, g the global definitions, e and d the next location's events and definitions in turn.
 */
#include "fuzz.h"

#include <ictus/correct.h>
#include <ictus/result.h>
#include <ictus/timeline.h>
#include <ictus/trace.h>
#include <ictus/waits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed)
{
    return fuzz_mutate_parts(bytes, length, room, seed);
}

static void unpack(const char *directory, const struct fuzz_part *parts, size_t count)
{
    char name[64];
    int events = 0;
    int definitions = 0;
    for (size_t i = 0; i < count; i++) {
        switch (parts[i].letter) {
        case 'a':
            (void)snprintf(name, sizeof(name), "traces.otf2");
            break;
        case 'g':
            (void)snprintf(name, sizeof(name), "traces.def");
            break;
        case 'e':
            (void)snprintf(name, sizeof(name), "traces/%d.evt", events++);
            break;
        default:
            (void)snprintf(name, sizeof(name), "traces/%d.def", definitions++);
            break;
        }
        fuzz_put(directory, name, parts[i].bytes, parts[i].length);
    }
}

static void correct(const char *in, const char *out, enum ictus_presync presync)
{
    struct ictus_correct_options options;
    struct ictus_why why;
    json_t *report = NULL;
    ictus_correct_defaults(&options);
    options.in = in;
    options.out = out;
    options.presync = presync;
    if (ictus_correct(&options, &report, &why) == ICTUS_OK) {
        json_decref(report);
    }
}

static void export(const char *in)
{
    struct ictus_why why;
    json_t *timeline = NULL;
    FILE *nowhere = fopen("/dev/null", "we");
    fuzz_require(nowhere);
    (void)ictus_trace_export_perfetto(in, NULL, nowhere, &why);
    (void)ictus_trace_print_profile(in, nowhere, &why);
    if (ictus_timeline_read(in, 50, &timeline, &why) == ICTUS_OK) {
        json_decref(timeline);
    }
    (void)fclose(nowhere);
}

static double seconds(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

/* Whatever the archive says: intervals hold what they are of, and nobody waits for a negative time.
 */
static void wait_states(const char *in)
{
    struct ictus_why why;
    json_t *report = NULL;
    size_t i = 0;
    const json_t *object = NULL;
    if (ictus_waits(in, &report, &why) != ICTUS_OK) {
        return;
    }
    fuzz_require(json_array_size(report) > 0);
    json_array_foreach(report, i, object)
    {
        fuzz_require(seconds(object, "wait_s") >= 0 && seconds(object, "wait_low_s") >= 0);
        fuzz_require(!json_is_number(json_object_get(object, "wait_high_s")) ||
                     seconds(object, "wait_high_s") >= seconds(object, "wait_low_s"));
    }
    FILE *nowhere = fopen("/dev/null", "we");
    fuzz_require(nowhere);
    (void)ictus_trace_export_perfetto(in, report, nowhere, &why);
    (void)fclose(nowhere);
    json_decref(report);
}

static void arrival_patterns(const char *in)
{
    struct ictus_why why;
    struct ictus_arrivals_list list = {NULL, 0};
    if (ictus_arrivals_extract(in, 10, &list, NULL, &why) == ICTUS_OK) {
        ictus_arrivals_list_free(&list);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct ictus_why why;
    char in[128];
    char out[128];
    char inner[160];
    json_t *report = NULL;
    const size_t count = fuzz_parts(bytes, length, parts);
    (void)snprintf(in, sizeof(in), "%s/in", fuzz_directory());
    (void)snprintf(out, sizeof(out), "%s/out", fuzz_directory());
    (void)snprintf(inner, sizeof(inner), "%s/in/traces", fuzz_directory());
    fuzz_empty(fuzz_directory());
    fuzz_require(mkdir(in, 0700) == 0 && mkdir(inner, 0700) == 0);
    unpack(in, parts, count);
    switch (length % 5) {
    case 0:
        if (ictus_check(in, &report, &why) == ICTUS_OK) {
            json_decref(report);
        }
        break;
    case 1:
        correct(in, out, (enum ictus_presync)(length % (ICTUS_PRESYNC_MESSAGES + 1)));
        break;
    case 2:
        export(in);
        break;
    case 3:
        wait_states(in);
        break;
    default:
        arrival_patterns(in);
        break;
    }
    return 0;
}
