/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Corrections of a message that is received too early, by so much that all numbers can be told
 * beforehand: how often the shift is worked off anew, where it ends, what the report says of it,
 * and what the archive says of its times.
 */
#include "../check.h"
#include "written_archive.h"

#include "archive/trace_open.h"

#include <ftw.h>
#include <ictus/correct.h>
#include <ictus/error.h>
#include <ictus/text.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <sys/stat.h>

/* A tick is 2 ns. The message is sent at SENT; the receiver sends another one later, as its last.
 */
enum {
    RANKS = 2,
    EVENTS = 3, /* of the last rank; the first has one more */
    TICK_NS = 2,
    OFFSET = 500000,
    BEGIN = 1000000,
    SENT = 10000000,
    LAST = 8 * SENT
};
static const uint64_t realtime = 1000000000;

static char root[CHECK_PATH];
static char in[2 * CHECK_PATH], out[2 * CHECK_PATH];

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void path_remove(const char *path)
{
    (void)nftw(path, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_definitions(OTF2_Archive *archive, uint64_t more)
{
    static const uint64_t ranks[] = {0, 1};
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000 / TICK_NS, OFFSET, 100000000, realtime);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t r = 0; r < RANKS; r++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, r, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, r, 0, OTF2_LOCATION_TYPE_CPU_THREAD,
                                           EVENTS + (r == 0 ? 1 : more), r);
    }
    OTF2_GlobalDefWriter_WriteRegion(d, 0, 0, 0, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                     OTF2_REGION_FLAG_NONE, 0, 0, 0);
    OTF2_GlobalDefWriter_WriteGroup(d, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, RANKS, ranks);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, RANKS, ranks);
    OTF2_GlobalDefWriter_WriteComm(d, 0, 0, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}

/*
 * The message arrives so many ticks before it was sent, and the last one is sent so much later.
 * After so many of these, unless after none, a function is entered.
 */
static void archive_with(uint64_t early, uint64_t later, uint64_t entered)
{
    path_remove(in);
    OTF2_Archive *archive = written_archive_open(in, 1 << 18);
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(archive, 0);
    OTF2_EvtWriter_Enter(w, NULL, BEGIN, 0);
    OTF2_EvtWriter_MpiSend(w, NULL, SENT, 1, 0, 7, 8);
    OTF2_EvtWriter_MpiRecv(w, NULL, LAST, 1, 0, 7, 8);
    OTF2_EvtWriter_MpiRecv(w, NULL, LAST, 1, 0, 8, 8);
    OTF2_Archive_CloseEvtWriter(archive, w);
    w = OTF2_Archive_GetEvtWriter(archive, 1);
    OTF2_EvtWriter_MpiSend(w, NULL, BEGIN + 1, 0, 0, 8, 8);
    OTF2_EvtWriter_MpiRecv(w, NULL, SENT - early, 0, 0, 7, 8);
    if (entered > 0) {
        OTF2_EvtWriter_Enter(w, NULL, SENT - early + entered, 0);
    }
    OTF2_EvtWriter_MpiSend(w, NULL, SENT - early + later, 0, 0, 7, 8);
    OTF2_Archive_CloseEvtWriter(archive, w);
    OTF2_Archive_CloseEvtFiles(archive);
    write_definitions(archive, entered > 0);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

static void archive_write(uint64_t early, uint64_t later)
{
    archive_with(early, later, 0);
}

static struct ictus_correct_options options_make(void)
{
    struct ictus_correct_options o;
    ictus_correct_defaults(&o);
    o.in = in;
    o.out = out;
    o.presync = ICTUS_PRESYNC_NONE;
    o.latency_s = TICK_NS * 1e-9;
    return o;
}

static double told(const json_t *report, const char *name)
{
    const json_t *value = json_object_get(report, name);
    return value ? json_number_value(value) : -1;
}

static json_t *corrected(const struct ictus_correct_options *o)
{
    json_t *report = NULL;
    struct ictus_why why = {""};
    path_remove(out);
    REQUIRE(!ictus_correct(o, &report, &why));
    return report;
}

/*
 * A shift is worked off at a thousandth of the time, a hundredth or a tenth, but never at once: as
 * gently as is enough for the last event to be as near as is asked, or until the next pass would
 * hardly help.
 */
static void shifts_are_worked_off(void)
{
    static const struct {
        uint64_t shift, later;
        double begin, error_s;
        int most, passes;
        double gamma, left;
    } cases[] = {{300000, 1000000, 0.99, 581e-6, 3, 1, 0.99, 290000},
                 {300000, 1000000, 0.99, 579e-6, 3, 2, 0.9, 200000},
                 {300000, 1000000, 0.99, 580e-6, 3, 1, 0.99, 290000},
                 {300000, 1000000, 0.99, 0, 3, 2, 0.9, 200000},
                 {300000, 1000000, 0.99, 0, 1, 1, 0.99, 290000},
                 {300000, 1000000, 0.999, 0, 3, 3, 0.9, 200000},
                 {300000, 1000000, 0.999, 0, 9, 3, 0.9, 200000},
                 {300000, 1000000, 0.999, 0, 2, 2, 0.99, 290000},
                 {300000, 1000000, 0.999, 579e-6, 3, 3, 0.9, 200000},
                 {300000, 1000000, 0.999, 581e-6, 3, 2, 0.99, 290000},
                 {300000, 1000000, 0.9, 0, 3, 1, 0.9, 200000},
                 {300000, 1000000, 0.95, 0, 3, 2, 0.5, 0},
                 {300000, 1000, 0.999, 0, 3, 2, 0.99, 299990}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ictus_correct_options o = options_make();
        o.gamma = cases[i].begin;
        o.error_s = cases[i].error_s;
        o.passes = cases[i].most;
        archive_write(cases[i].shift - 1, cases[i].later);
        json_t *report = corrected(&o);
        CHECK(told(report, "passes") == cases[i].passes);
        CHECK_NEAR(told(report, "gamma"), cases[i].gamma, 1e-9);
        CHECK_NEAR(told(report, "error_end_ns"), cases[i].left * TICK_NS, 2 * TICK_NS);
        CHECK_NEAR(told(report, "max_shift_ns"), (double)cases[i].shift * TICK_NS, TICK_NS);
        CHECK(told(report, "raw_max_violation_ns") == (double)(cases[i].shift - 1) * TICK_NS);
        CHECK(told(report, "violations_p2p") == 0 && told(report, "raw_violations_p2p") == 1);
        json_decref(report);
    }
}

/* What comes after a point loses its shift no faster than points do. */
static void events_follow_points(void)
{
    struct ictus_correct_options o = options_make();
    archive_with(299999, 1000000, 500000);
    json_t *report = corrected(&o);
    const double eased = 0.01 * (SENT - 299999 - BEGIN - 1);
    CHECK(told(report, "moved_events") == 4 && told(report, "changed_intervals") == 3);
    CHECK_NEAR(told(report, "max_interval_change_ns"), eased * TICK_NS, 2 * TICK_NS);
    CHECK_NEAR(told(report, "max_interval_change_relative"), 0.01, 1e-6);
    json_decref(report);
}

/* The archive begins at its first event, lasts to its last one, and began when it did. */
static void times_are_told(void)
{
    struct ictus_correct_options o = options_make();
    struct trace *trace = NULL;
    struct ictus_why why = {""};
    archive_write(299999, 1000000);
    json_t *report = corrected(&o);
    REQUIRE(!ictusi_archive_open(out, &trace, &why));
    CHECK(trace->global_offset == BEGIN);
    CHECK(trace->layout.length == LAST - BEGIN + 1);
    CHECK(trace->realtime == realtime + (BEGIN - OFFSET) * TICK_NS);
    ictusi_archive_close(trace);
    CHECK_STR(json_string_value(json_object_get(report, "presync")), "none");
    CHECK(told(report, "asked_slope") == 0.01 && told(report, "ranks") == 1);
    /* The send that comes before is eased into the shift, a hundredth of the time. */
    const double eased = 0.01 * (SENT - 299999 - BEGIN - 1);
    CHECK(told(report, "ramps") == 1 && told(report, "limited_ramps") == 0);
    CHECK(told(report, "raised_ns") == 0 && told(report, "steep_intervals") == 0);
    CHECK_NEAR(told(report, "largest_slope"), 0.01, 1e-6);
    CHECK(told(report, "moved_events") == 3 && told(report, "changed_intervals") == 2);
    CHECK_NEAR(told(report, "max_interval_change_ns"), eased * TICK_NS, 2 * TICK_NS);
    CHECK_NEAR(told(report, "max_interval_change_relative"), 0.01, 1e-6);
    double counted[2] = {0, 0};
    static const char *const names[] = {"interval_changes", "interval_changes_relative"};
    for (int i = 0; i < 2; i++) {
        double edge = i ? 1e-9 : 10 * TICK_NS;
        size_t bin = 0;
        const json_t *one = NULL;
        json_array_foreach(json_object_get(report, names[i]), bin, one)
        {
            CHECK_NEAR(told(one, i ? "below" : "below_ns"), edge, 1e-9 * edge);
            counted[i] += told(one, "intervals");
            edge *= 10;
        }
    }
    CHECK(counted[0] == told(report, "changed_intervals") && counted[1] == counted[0]);
    json_decref(report);
}

/* What was in the archive, beside what was wrong with it. */
static void contents_are_counted(void)
{
    static const struct {
        const char *name;
        double value;
    } wanted[] = {{"locations", RANKS},
                  {"processes", RANKS},
                  {"nodes", 1},
                  {"ticks_per_second", 1e9 / TICK_NS},
                  {"events", 2 * EVENTS + 1},
                  {"messages", 3},
                  {"collectives", 0},
                  {"unmatched_sends", 0},
                  {"unmatched_receives", 0},
                  {"foreign", 0},
                  {"decreasing", 0},
                  {"incomplete", 0}};
    struct ictus_correct_options o = options_make();
    archive_write(99, 1000);
    json_t *report = corrected(&o);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (told(report, wanted[i].name) != wanted[i].value) {
            (void)fprintf(stderr, "%s\n", wanted[i].name);
        }
        CHECK(told(report, wanted[i].name) == wanted[i].value);
    }
    json_decref(report);
}

/* What cannot be is refused, before anything is read or written. */
static void options_are_checked(void)
{
    static const struct {
        double gamma, slope;
        int passes;
        bool good;
    } cases[] = {{0.99, 0.01, 1, true},         {0, 1, 1, true},
                 {-1e-9, 0.01, 1, false},       {1, 0.01, 1, false},
                 {(double)NAN, 0.01, 1, false}, {0.99, 0, 1, false},
                 {0.99, 1.001, 1, false},       {0.99, (double)NAN, 1, false},
                 {0.99, 0.01, 0, false}};
    json_t *report = NULL;
    struct ictus_why why = {""};
    archive_write(99, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ictus_correct_options o = options_make();
        o.gamma = cases[i].gamma;
        o.slope = cases[i].slope;
        o.passes = cases[i].passes;
        path_remove(out);
        CHECK(ictus_correct(&o, &report, &why) == (cases[i].good ? ICTUS_OK : ICTUS_ERR_ARG));
        if (cases[i].good) {
            json_decref(report);
        }
    }
    struct ictus_correct_options o = options_make();
    CHECK(ictus_correct(&o, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_correct(NULL, &report, &why) == ICTUS_ERR_ARG);
    o.size--;
    CHECK(ictus_correct(&o, &report, &why) == ICTUS_ERR_ARG);
    o = options_make();
    o.in = NULL;
    CHECK(ictus_correct(&o, &report, &why) == ICTUS_ERR_ARG);
    o = options_make();
    o.truth = "/nowhere";
    CHECK(ictus_correct(&o, &report, &why) == ICTUS_ERR_ARG);
    CHECK(strstr(why.text, "/nowhere") != NULL);
}

/* The report says what the times were taken from. */
static void sources_are_named(void)
{
    static const struct {
        enum ictus_presync presync;
        const char *name;
    } cases[] = {{ICTUS_PRESYNC_NONE, "none"},
                 {ICTUS_PRESYNC_OFFSET, "offset"},
                 {ICTUS_PRESYNC_ARCHIVE, "archive"},
                 {ICTUS_PRESYNC_LINEAR, "linear"}};
    archive_write(99, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ictus_correct_options o = options_make();
        o.presync = cases[i].presync;
        json_t *report = corrected(&o);
        CHECK_STR(json_string_value(json_object_get(report, "presync")), cases[i].name);
        json_decref(report);
    }
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(root, "corrections")));
    (void)snprintf(in, sizeof in, "%s/in", root);
    (void)snprintf(out, sizeof out, "%s/out", root);
    shifts_are_worked_off();
    times_are_told();
    events_follow_points();
    contents_are_counted();
    options_are_checked();
    sources_are_named();
    path_remove(root);
    return check_result();
}
