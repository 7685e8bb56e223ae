/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keeps a timeline small: the longest calls, evenly thinned metrics, bins with the dominant
 * name.
 */
#include "../check.h"
#include "written_archive.h"

#include "core/random.h"
#include "view/density.h"
#include "view/series.h"
#include "view/slices.h"

#include <ftw.h>
#include <ictus/error.h>
#include <ictus/timeline.h>
#include <ictus/trace.h>
#include <math.h>
#include <otf2/otf2.h>
#include <stdlib.h>
#include <unistd.h>

/* The longest slices are kept in any order of arrival, and the others are counted. */
static void test_slices(void)
{
    enum { ALL = 5000, MOST = 300 };
    static int64_t durations[ALL];
    struct slices slices;
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    REQUIRE(ictusi_slices_init(&slices, MOST) == 0);
    for (int i = 0; i < ALL; i++) {
        durations[i] = (int64_t)(ictusi_random_next(&rng) % 1000) + 10L * (i % 3);
        ictusi_slices_add(&slices,
                          (struct slice){1000 - i % 7, durations[i], 1, (uint32_t)i % 5, 0});
    }
    ictusi_slices_finish(&slices);
    CHECK(slices.count == MOST);
    CHECK(slices.dropped == ALL - MOST);
    int longer = 0;
    for (int i = 0; i < ALL; i++) {
        longer += durations[i] > slices.least;
    }
    CHECK(longer < MOST);
    for (size_t i = 0; i < slices.count; i++) {
        const struct slice *s = &slices.list[i];
        const struct slice *before = i > 0 ? s - 1 : s;
        CHECK(s->duration >= slices.least);
        CHECK(before->track < s->track || (before->track == s->track && before->start <= s->start));
    }
    ictusi_slices_fini(&slices);
}

/* Calls with equal start and length: which of them are kept does not depend on their order. */
static void test_equal_slices(void)
{
    uint32_t kept[2][4];
    for (int turn = 0; turn < 2; turn++) {
        struct slices slices;
        REQUIRE(ictusi_slices_init(&slices, 4) == 0);
        for (uint32_t i = 0; i < 20; i++) {
            const uint32_t depth = turn ? 19 - i : i;
            ictusi_slices_add(&slices, (struct slice){5, 10, 0, 0, depth});
        }
        ictusi_slices_finish(&slices);
        REQUIRE(slices.count == 4);
        CHECK(slices.dropped == 16);
        for (int i = 0; i < 4; i++) {
            kept[turn][i] = slices.list[i].depth;
        }
        ictusi_slices_fini(&slices);
    }
    CHECK(memcmp(kept[0], kept[1], sizeof kept[0]) == 0);
}

/* Fewer than requested: all of them. */
static void test_few_slices(void)
{
    struct slices slices;
    REQUIRE(ictusi_slices_init(&slices, 100) == 0);
    for (int i = 0; i < 100; i++) {
        ictusi_slices_add(&slices, (struct slice){i, 0, 0, 0, 0});
    }
    ictusi_slices_finish(&slices);
    CHECK(slices.count == 100);
    CHECK(slices.dropped == 0);
    ictusi_slices_fini(&slices);
}

/* A request for no slices still shows the longest call. */
static void test_no_slices(void)
{
    struct slices slices;
    REQUIRE(ictusi_slices_init(&slices, 0) == 0);
    for (int i = 0; i < 9; i++) {
        ictusi_slices_add(&slices, (struct slice){.start = i, .duration = i % 5});
    }
    ictusi_slices_finish(&slices);
    CHECK(slices.count == 1 && slices.dropped == 8);
    CHECK(slices.list[0].start == 4 && slices.list[0].duration == 4);
    ictusi_slices_fini(&slices);
}

static void test_misuse(void)
{
    json_t *timeline = NULL;
    struct ictus_why why;
    CHECK(ictus_timeline_read(NULL, 10, &timeline, &why) == ICTUS_ERR_ARG && !timeline);
    CHECK(ictus_timeline_read("none.otf2", 10, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_timeline_read("none.otf2", 10, &timeline, &why) && !timeline && why.text[0]);
}

/* Every k-th of n values, k a power of two, in order, from the first to nearly the last. */
static void test_series(void)
{
    const int lengths[] = {1, SERIES_POINTS, SERIES_POINTS + 1, 12345};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct series_list series = {.count = 0};
        for (int i = 0; i < lengths[l]; i++) {
            CHECK(ictusi_series_add(&series, 3, 1, 10L * i, 0.5 * i) == 0);
        }
        REQUIRE(series.count == 1);
        const struct metric_series *one = series.list[0];
        const uint64_t n = (uint64_t)lengths[l];
        CHECK(one->seen == n && series.values == n && series.seen == 1);
        CHECK(one->count == (n - 1) / one->every + 1);
        CHECK(one->count <= SERIES_POINTS);
        CHECK(one->every == 1 || 2 * one->count >= SERIES_POINTS);
        for (uint32_t i = 0; i < one->count; i++) {
            CHECK(one->time[i] == (int64_t)(10 * one->every * i));
            CHECK_NEAR(one->value[i], 0.5 * (double)(one->every * i), 0);
        }
        ictusi_series_fini(&series);
    }
}

/* Series beyond the limit are counted, with their values. */
static void test_many_series(void)
{
    struct series_list series = {.count = 0};
    for (int turn = 0; turn < 3; turn++) {
        for (uint32_t track = 0; track < UINT32_C(2) * SERIES_MOST; track++) {
            CHECK(ictusi_series_add(&series, track, track % 3, turn, track) == 0);
        }
    }
    CHECK(series.count == SERIES_MOST);
    CHECK(series.seen == UINT64_C(2) * SERIES_MOST);
    CHECK(series.values == UINT64_C(6) * SERIES_MOST);
    for (uint32_t i = 0; i < SERIES_MOST; i++) {
        CHECK(series.list[i]->track == i && series.list[i]->member == i % 3);
        CHECK(series.list[i]->count == 3 && series.list[i]->value[2] == i);
    }
    ictusi_series_fini(&series);
}

/* Each bin has the name that took most of it; parts outside the run are ignored. */
static void test_density(void)
{
    struct density density;
    uint32_t name = 0;
    double share = 0;
    REQUIRE(ictusi_density_init(&density, 2, 512 * 100 - 1) == 0);
    CHECK(density.count == 512);
    CHECK(density.width == 100);
    ictusi_density_add(&density, 1, 4, -500, 130);      /* bin 0, and 30 of bin 1 */
    ictusi_density_add(&density, 1, 9, 130, 180);       /* 50 of bin 1 */
    ictusi_density_add(&density, 1, 4, 180, 190);       /* 10 more */
    ictusi_density_add(&density, 1, 7, 51150, 5000000); /* half of the last bin */
    CHECK(ictusi_density_most(&density, 1, 0, &name, &share) && name == 4);
    CHECK_NEAR(share, 1, 1e-6);
    CHECK(ictusi_density_most(&density, 1, 1, &name, &share) && name == 9);
    CHECK_NEAR(share, 0.5, 1e-6);
    CHECK(!ictusi_density_most(&density, 1, 2, &name, &share));
    CHECK(ictusi_density_most(&density, 1, 511, &name, &share) && name == 7);
    CHECK_NEAR(share, 0.5, 1e-6);
    for (uint32_t b = 0; b < density.count; b++) {
        CHECK(!ictusi_density_most(&density, 0, b, &name, &share));
    }
    ictusi_density_fini(&density);
    REQUIRE(ictusi_density_init(&density, 100000, 0) == 0);
    CHECK(density.count == 16 && density.width == 1);
    ictusi_density_fini(&density);
    REQUIRE(ictusi_density_init(&density, 1000, 65000) == 0);
    CHECK(density.count == 65);
    ictusi_density_fini(&density);
}

/* More names than a bin can store: the dominant one stays. */
static void test_crowded_bin(void)
{
    struct density density;
    uint32_t name = 0;
    double share = 0;
    REQUIRE(ictusi_density_init(&density, 1, 512 * 1000 - 1) == 0);
    for (int i = 0; i < 50; i++) {
        const int64_t from = 10L * i;
        ictusi_density_add(&density, 0, (uint32_t)i, from, from + (i == 20 ? 10 : 2));
    }
    CHECK(ictusi_density_most(&density, 0, 0, &name, &share) && name == 20);
    CHECK_NEAR(share, 0.01, 1e-6);
    ictusi_density_fini(&density);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/*
 * Two processes on a clock with a given resolution that begins at ORIGIN. Each spends 2000 ticks in
 * one call, and then 400 in another one that contains a call without a defined name. That one never
 * ends, so it ends at the last event. A metric is 3000 at tick 100. Another one is 1.5 at tick 200,
 * between values that are no numbers. The run is 5000 ticks long.
 */
enum { ORIGIN = 7000, RUN = 5000, REGIONS = 2, TRACKS = 2 };

static void track_write(OTF2_Archive *archive, uint64_t location)
{
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, location);
    const OTF2_Type type = OTF2_TYPE_INT64;
    const OTF2_MetricValue value = {.signed_int = 3};
    OTF2_EvtWriter_Leave(writer, NULL, ORIGIN, 1); /* of a call that began before the trace */
    OTF2_EvtWriter_Metric(writer, NULL, ORIGIN + 100, 0, 1, &type, &value);
    for (int i = 0; i < 3; i++) {
        const OTF2_Type real = OTF2_TYPE_DOUBLE;
        const OTF2_MetricValue rate = {.floating_point = i == 0 ? NAN : i == 1 ? 1.5 : INFINITY};
        OTF2_EvtWriter_Metric(writer, NULL, ORIGIN + 150 + 50 * (uint64_t)i, 1, 1, &real, &rate);
    }
    OTF2_EvtWriter_Enter(writer, NULL, ORIGIN + 300 + location, 0);
    OTF2_EvtWriter_Leave(writer, NULL, ORIGIN + 2300 + location, 0);
    OTF2_EvtWriter_Enter(writer, NULL, ORIGIN + 2500, 99); /* an undefined region */
    OTF2_EvtWriter_Enter(writer, NULL, ORIGIN + 2600, 1);
    OTF2_EvtWriter_Leave(writer, NULL, ORIGIN + 3000, 1);
    OTF2_Archive_CloseEvtWriter(archive, writer);
}

static void run_write(const char *path, uint64_t resolution)
{
    static const char *const strings[] = {"", "solve", "wait", "load", "J", "rate"};
    static const OTF2_MetricMemberRef members[] = {0, 1};
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    for (uint64_t l = 0; l < TRACKS; l++) {
        track_write(archive, l);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, resolution, ORIGIN, RUN, 0);
    for (uint32_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, strings[i]);
    }
    for (uint32_t r = 0; r <= REGIONS; r++) { /* the last one is never called */
        OTF2_GlobalDefWriter_WriteRegion(d, r, 1 + r, 1 + r, 0, OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    OTF2_GlobalDefWriter_WriteMetricMember(d, 0, 3, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_INT64,
                                           OTF2_BASE_DECIMAL, 3, 4);
    OTF2_GlobalDefWriter_WriteMetricMember(d, 1, 5, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE,
                                           OTF2_BASE_DECIMAL, 0, 0);
    for (uint32_t m = 0; m < 2; m++) {
        OTF2_GlobalDefWriter_WriteMetricClass(d, m, 1, &members[m], OTF2_METRIC_ASYNCHRONOUS,
                                              OTF2_RECORDER_KIND_ABSTRACT);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t l = 0; l < TRACKS; l++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, l, 3 + l, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, l, 1 + (uint32_t)l, OTF2_LOCATION_TYPE_CPU_THREAD, 10,
                                           l);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/* A track of calls within calls, each a tick longer at both ends than the one within it. */
static void nest_write(const char *path, uint64_t depth)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, 0);
    for (uint64_t i = 0; i < depth; i++) {
        OTF2_EvtWriter_Enter(writer, NULL, ORIGIN + i, 0);
    }
    for (uint64_t i = 0; i < depth; i++) {
        OTF2_EvtWriter_Leave(writer, NULL, ORIGIN + depth + i, 0);
    }
    OTF2_Archive_CloseEvtWriter(archive, writer);
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, ORIGIN, RUN, 0);
    OTF2_GlobalDefWriter_WriteString(d, 0, "f");
    OTF2_GlobalDefWriter_WriteRegion(d, 0, 0, 0, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                     OTF2_REGION_FLAG_NONE, 0, 0, 0);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 0, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(d, 0, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 2 * depth, 0);
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

static json_int_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Start (relative to the previous one), duration, name and depth of each call. */
static void slices_are(const json_t *list, const json_int_t *wanted, size_t count)
{
    REQUIRE(json_array_size(list) == count);
    for (size_t i = 0; i < count; i++) {
        CHECK(json_integer_value(json_array_get(list, i)) == wanted[i]);
    }
}

static void timeline_is(const json_t *t, json_int_t tick, uint64_t track)
{
    const json_int_t first = (json_int_t)(300 + track) * tick;
    const json_int_t wanted[] = {
        first,      2000 * tick, 0, 0, 2500 * tick - first, 500 * tick, 3, 0,
        100 * tick, 400 * tick,  1, 1};
    const json_t *metric = json_array_get(json_object_get(t, "metrics"), 2 * track);
    const json_t *points = json_object_get(metric, "points");
    const json_t *rate = json_array_get(json_object_get(t, "metrics"), 2 * track + 1);
    const json_t *rates = json_object_get(rate, "points");
    slices_are(json_array_get(json_object_get(t, "slices"), track), wanted, 12);
    CHECK(number_of(metric, "track") == (json_int_t)track && number_of(metric, "n") == 1);
    CHECK_STR(json_string_value(json_object_get(metric, "name")), "load");
    CHECK_STR(json_string_value(json_object_get(metric, "unit")), "J");
    CHECK(json_integer_value(json_array_get(points, 0)) == 100 * tick);
    CHECK_NEAR(json_real_value(json_array_get(points, 1)), 3000, 0);
    CHECK_STR(json_string_value(json_object_get(rate, "name")), "rate");
    CHECK(json_array_size(rates) == 2 &&
          json_integer_value(json_array_get(rates, 0)) == 200 * tick);
    CHECK_NEAR(json_real_value(json_array_get(rates, 1)), 1.5, 0);
}

/* An export is JSON that a strict reader accepts, with one counter for each value of a metric. */
static void export_is(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    size_t i = 0;
    int counters = 0;
    const json_t *event = NULL;
    FILE *out = open_memstream(&text, &length);
    REQUIRE(out);
    REQUIRE(ictus_trace_export_perfetto(path, NULL, out, NULL) == ICTUS_OK);
    (void)fclose(out);
    json_t *exported = json_loadb(text, length, 0, NULL);
    REQUIRE(exported);
    json_array_foreach(json_object_get(exported, "traceEvents"), i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        counters += phase && strcmp(phase, "C") == 0;
    }
    CHECK(counters == 2 * TRACKS);
    json_decref(exported);
    free(text);
}

static void profile_is(const json_t *t, json_int_t tick)
{
    static const struct {
        const char *name;
        double ticks;
    } wanted[REGIONS] = {{"solve", 2000}, {"wait", 400}};
    const json_t *list = json_object_get(t, "profile");
    REQUIRE(json_array_size(list) == REGIONS);
    for (size_t r = 0; r < REGIONS; r++) {
        const json_t *row = json_array_get(list, r);
        const double one_s = wanted[r].ticks * (double)tick * 1e-9;
        CHECK_STR(json_string_value(json_object_get(row, "name")), wanted[r].name);
        CHECK(number_of(row, "count") == TRACKS);
        CHECK_NEAR(json_real_value(json_object_get(row, "total_s")), TRACKS * one_s, 1e-12);
        CHECK_NEAR(json_real_value(json_object_get(row, "mean_s")), one_s, 1e-12);
        CHECK_NEAR(json_real_value(json_object_get(row, "min_s")), one_s, 1e-12);
        CHECK_NEAR(json_real_value(json_object_get(row, "max_s")), one_s, 1e-12);
    }
}

/* Each track has the names of its thread and its process. */
static void tracks_are(const json_t *list)
{
    static const char *const threads[TRACKS] = {"solve", "wait"};
    static const char *const processes[TRACKS] = {"load", "J"};
    REQUIRE(json_array_size(list) == TRACKS);
    for (size_t i = 0; i < TRACKS; i++) {
        const json_t *track = json_array_get(list, i);
        CHECK_STR(json_string_value(json_object_get(track, "name")), threads[i]);
        CHECK_STR(json_string_value(json_object_get(track, "process")), processes[i]);
        CHECK(number_of(track, "location") == (json_int_t)i);
    }
}

/* However deep calls are, each has its own length, and the profile the shortest and longest. */
static void test_nest(void)
{
    static const uint64_t depths[] = {1, 2, 64, 65, 300};
    char root[CHECK_PATH];
    REQUIRE(mkdtemp(check_scratch(root, "nest")));
    for (int i = 0; i < 5; i++) {
        const uint64_t depth = depths[i];
        char path[128];
        json_t *t = NULL;
        (void)snprintf(path, sizeof path, "%s/nest%d", root, i);
        nest_write(path, depth);
        REQUIRE(ictus_timeline_read(path, 1000, &t, NULL) == ICTUS_OK);
        const json_t *list = json_array_get(json_object_get(t, "slices"), 0);
        const json_t *row = json_array_get(json_object_get(t, "profile"), 0);
        REQUIRE(json_array_size(list) == 4 * depth);
        for (uint64_t k = 0; k < depth; k++) {
            const json_int_t lasted = json_integer_value(json_array_get(list, 4 * k + 1));
            CHECK(lasted == (json_int_t)(2 * (depth - k) - 1));
            CHECK(json_integer_value(json_array_get(list, 4 * k + 3)) == (json_int_t)k);
        }
        CHECK(number_of(row, "count") == (json_int_t)depth);
        CHECK_NEAR(json_real_value(json_object_get(row, "min_s")), 1e-9, 1e-15);
        CHECK_NEAR(json_real_value(json_object_get(row, "max_s")), (double)(2 * depth - 1) * 1e-9,
                   1e-15);
        json_decref(t);
    }
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* A timeline shows in nanoseconds what was recorded in ticks, and its bins cover the whole run. */
static void test_timeline(void)
{
    static const uint64_t resolutions[] = {1000000000, 1000000, 250000000};
    char root[CHECK_PATH];
    char path[128];
    REQUIRE(mkdtemp(check_scratch(root, "view")));
    for (int i = 0; i < 3; i++) {
        const json_int_t tick = (json_int_t)(1000000000 / resolutions[i]);
        json_t *t = NULL;
        struct ictus_why why = {""};
        (void)snprintf(path, sizeof path, "%s/run%d", root, i);
        run_write(path, resolutions[i]);
        REQUIRE(ictus_timeline_read(path, 100, &t, &why) == ICTUS_OK);
        const json_int_t bins = number_of(t, "bin_count"), width = number_of(t, "bin_ns");
        CHECK(bins > 1 && bins * width > RUN * tick && bins * (width - 1) <= RUN * tick);
        CHECK(number_of(t, "first_ns") == 300 * tick);
        CHECK(number_of(t, "events") == INT64_C(10) * TRACKS && number_of(t, "dropped") == 0);
        CHECK(number_of(t, "metric_count") == INT64_C(2) * TRACKS);
        CHECK(number_of(t, "series_count") == INT64_C(2) * TRACKS);
        CHECK(json_array_size(json_object_get(t, "slices")) == TRACKS);
        tracks_are(json_object_get(t, "tracks"));
        export_is(path);
        CHECK(json_array_size(json_object_get(t, "density")) == 0);
        CHECK(number_of(t, "shortest_ns") == 0);
        for (uint64_t track = 0; track < TRACKS; track++) {
            timeline_is(t, tick, track);
        }
        profile_is(t, tick);
        json_decref(t);
        REQUIRE(ictus_timeline_read(path, 4, &t, &why) == ICTUS_OK); /* of six */
        CHECK(number_of(t, "dropped") == 2 && number_of(t, "shortest_ns") == 500 * tick);
        for (uint64_t track = 0; track < TRACKS; track++) {
            const json_t *bin = json_array_get(json_object_get(t, "density"), track);
            CHECK(json_array_size(bin) == (size_t)(2 * bins));
            CHECK(json_integer_value(json_array_get(bin, 0)) == -1);
            CHECK(json_integer_value(json_array_get(bin, (size_t)(2 * (bins / 5)))) == 0);
            CHECK(json_integer_value(json_array_get(bin, (size_t)(2 * (bins / 5)) + 1)) == 100);
            CHECK(json_integer_value(json_array_get(bin, (size_t)(2 * (bins * 28 / 50)))) == 1);
        }
        json_decref(t);
    }
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    test_timeline();
    test_nest();
    test_slices();
    test_equal_slices();
    test_few_slices();
    test_no_slices();
    test_misuse();
    test_series();
    test_many_series();
    test_density();
    test_crowded_bin();
    return check_result();
}
